//! What is left when the process, or the machine, stops.
//!
//! The original stays as it is, open handles and all: what a stopped engine's threads still do to
//! it the copy never sees.

use super::directory::Directory;
use super::file_system::{MemFs, Tree};

impl MemFs {
    /// Power loss, at its most forgetful: a new file system with what is durable and nothing else.
    /// No file is locked in it, no rule in force, nothing counted.
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

    /// Power loss, with a random part of what was not synced on the medium all the same; one
    /// `seed`, one outcome.
    ///
    /// Each page of 4 KiB written or cut since its file's last sync survived or did not (then it is
    /// as of that sync, zeroes if it was beyond the end). The file's length is the synced one, the
    /// current one or a multiple of 4 KiB that it may have had meanwhile. Each unsynced change of a
    /// directory survived or did not, whatever became of those before it: a rename without the
    /// creation of what it renames leaves the file under its new name. Nothing knows an order but
    /// the changes of one name.
    pub fn crash_with(&self, seed: u64) -> MemFs {
        let mut rng = fastrand::Rng::with_seed(seed);
        self.copy(|directory| directory.crash_with(&mut rng))
    }

    /// A killed process: a new file system with everything that was written, synced or not, and no
    /// lock held. A crash of it can still lose what was not synced.
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
