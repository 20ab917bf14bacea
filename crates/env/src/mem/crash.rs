//! Copies of the file system as a stopped process or a power loss leaves it.
//!
//! The original does not change, and its handles stay open. Threads of the stopped engine may still
//! write to the original; the copy never shows these writes.

use super::directory::Directory;
use super::file_system::{MemFs, Tree};

impl MemFs {
    /// Simulates a power loss that loses as much as possible: returns a new file system with the
    /// durable state and nothing else. The new file system has no locked file, no fault and no
    /// counted call.
    ///
    /// ```
    /// use std::path::Path;
    /// use foldb_env::{FileSystem, MemFs};
    ///
    /// let (fs, path) = (MemFs::new(), Path::new("f"));
    /// let file = fs.create(path)?;
    /// file.write_at(b"synced", 0)?;
    /// file.sync()?;
    /// assert!(!fs.crash().exists(path)); // the bytes are on the medium, the name is not
    /// fs.sync_dir(Path::new(""))?;
    /// file.write_at(b", not synced", 6)?;
    /// assert_eq!(fs.crash().read(path)?, b"synced");
    /// assert_eq!(fs.kill().read(path)?, b"synced, not synced");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn crash(&self) -> MemFs {
        self.copy(Directory::crash)
    }

    /// Simulates a power loss after which a random part of the unsynced state is on the medium,
    /// too. One `seed` gives one outcome.
    ///
    /// Each page of 4 KiB that was written or cut since its file's last sync survives or does not.
    /// A page that does not survive has its bytes as of that sync, and zeroes after the end. The
    /// file has its synced length, its current length, or a multiple of 4 KiB that it may have had
    /// in between. Each unsynced change of a directory survives or does not, independent of earlier
    /// changes. So a rename may survive without the creation of its file, which then has the new
    /// name. Only changes of the same name survive in order.
    pub fn crash_with(&self, seed: u64) -> MemFs {
        let mut rng = fastrand::Rng::with_seed(seed);
        self.copy(|directory| directory.crash_with(&mut rng))
    }

    /// Simulates a killed process: returns a new file system with all written bytes, synced or not,
    /// and no lock held. A later crash of the copy can still lose the unsynced bytes.
    pub fn kill(&self) -> MemFs {
        self.copy(Directory::kill)
    }

    fn copy(&self, mut survive: impl FnMut(&Directory) -> Directory) -> MemFs {
        let tree = self.tree();
        let directories =
            tree.directories.iter().map(|(path, directory)| (path.clone(), survive(directory)));
        MemFs::from(Tree::of(directories.collect()))
    }
}
