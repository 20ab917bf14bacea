//! What is left when the process, or the machine, stops.
//!
//! The original stays as it is, with all open handles. The copy never sees what threads of a
//! stopped engine still do to the original.

use super::directory::Directory;
use super::file_system::{MemFs, Tree};

impl MemFs {
    /// Simulates a power loss that loses as much as possible: returns a new file system with what
    /// is durable and nothing else. In it no file is locked, no rule is in force, and no call is
    /// counted.
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
    /// If not, it is as of that sync, and zeroes beyond the end. The file's length is the synced
    /// one, the current one, or a multiple of 4 KiB that it may have had in between. Each unsynced
    /// change of a directory survives or does not, independent of earlier ones: a rename without
    /// the creation of what it renames leaves the file under its new name. Only the changes of one
    /// name have an order.
    pub fn crash_with(&self, seed: u64) -> MemFs {
        let mut rng = fastrand::Rng::with_seed(seed);
        self.copy(|directory| directory.crash_with(&mut rng))
    }

    /// Simulates a killed process: returns a new file system with everything that was written,
    /// synced or not, and no lock held. A crash of it can still lose what was not synced.
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
