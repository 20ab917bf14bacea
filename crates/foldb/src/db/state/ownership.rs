//! The lock of the directory. While the database holds it, the files belong to this open.

use crate::locks::rank::DIRECTORY;
use crate::locks::{Lock, LockGuard};
use foldb_env::FileLock;

/// The lock of the directory; none in a database that is only read.
pub(crate) struct Ownership(Lock<Option<Box<dyn FileLock>>, DIRECTORY>);

/// Keeps the lock from being released.
pub(crate) struct Owned<'a>(LockGuard<'a, Option<Box<dyn FileLock>>, DIRECTORY>);

impl Ownership {
    pub(crate) fn new(lock: Option<Box<dyn FileLock>>) -> Ownership {
        Ownership(Lock::new(lock))
    }

    fn lock(&self) -> LockGuard<'_, Option<Box<dyn FileLock>>, DIRECTORY> {
        self.0.lock()
    }

    /// Keeps the lock until the guard is dropped. Returns `None` if it was released: the files may
    /// belong to another open.
    pub(crate) fn hold(&self) -> Option<Owned<'_>> {
        Some(self.lock()).filter(|lock| lock.is_some()).map(Owned)
    }

    /// Gives the lock up.
    pub(crate) fn take(&self) -> Option<Box<dyn FileLock>> {
        self.lock().take()
    }
}

impl Owned<'_> {
    /// Checks that the path still leads to the locked directory.
    ///
    /// # Errors
    /// If it leads elsewhere.
    pub(crate) fn check_place(&self) -> std::io::Result<()> {
        let place = self.0.as_ref().and_then(|lock| lock.place());
        place.map_or(Ok(()), |place| place.check())
    }
}
