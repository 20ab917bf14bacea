//! A disk in trouble: slow, hanging, or failing at random calls.
//!
//! [`MemFs`](crate::MemFs) fails the calls that a test names, one at a time. In this module, calls
//! fail, take long or hang at random. That works with any number of threads and over any file
//! system: see [`WatchedFs`](crate::WatchedFs).
//!
//! Invariant: a call that fails was not passed on, so it changed nothing below.
//!
//! All accesses are `Relaxed`: tests set the trouble, and no data follows from it.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::mem::Operation;
use crate::watched::Watch;

/// The trouble of a disk: none at first. It may change at any time.
///
/// ```
/// use std::path::Path;
/// use std::sync::Arc;
/// use foldb_env::{FileSystem, MemFs, Trouble, WatchedFs};
///
/// let trouble = Arc::new(Trouble::default());
/// let fs = WatchedFs::new(Arc::new(MemFs::new()), trouble.clone());
/// let file = fs.create(Path::new("file"))?;
/// trouble.fail_next_sync();
/// assert!(file.sync().is_err());
/// assert!(file.sync().is_ok());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Trouble {
    one_in: AtomicU64,
    /// State of the random draws.
    draws: AtomicU64,
    delay_nanos: AtomicU64,
    hang_nanos: AtomicU64,
    syncs_to_fail: AtomicU64,
    failed: AtomicU64,
    hung: AtomicU64,
}

impl Trouble {
    /// From now on, one in `calls` calls that change something fails; with 0, no call fails. Locks
    /// and removals never fail. So if a failed attempt leaves a file, the caller did not remove it.
    pub fn fail_one_in(&self, calls: u64, seed: u64) {
        self.draws.store(seed, Relaxed);
        self.one_in.store(calls, Relaxed);
    }

    /// Makes each call that changes something take this much longer.
    pub fn slow_down(&self, each_call: Duration) {
        self.delay_nanos.store(nanos(each_call), Relaxed);
    }

    /// Makes the next call that changes something take this much longer.
    pub fn hang_once(&self, length: Duration) {
        self.hang_nanos.store(nanos(length), Relaxed);
    }

    /// Makes the next sync of a file fail.
    pub fn fail_next_sync(&self) {
        self.syncs_to_fail.store(1, Relaxed);
    }

    /// Ends all trouble.
    pub fn end(&self) {
        let states = [&self.one_in, &self.delay_nanos, &self.hang_nanos, &self.syncs_to_fail];
        states.into_iter().for_each(|state| state.store(0, Relaxed));
    }

    /// Returns how many calls failed so far.
    pub fn failed(&self) -> u64 {
        self.failed.load(Relaxed)
    }

    /// Returns how many calls hung so far.
    pub fn hung(&self) -> u64 {
        self.hung.load(Relaxed)
    }

    fn draw_failure(&self) -> bool {
        let one_in = self.one_in.load(Relaxed);
        if one_in == 0 {
            return false;
        }
        // The constants of splitmix64 (Steele et al., 2014).
        let step = 0x9e37_79b9_7f4a_7c15u64;
        let mut draw = self.draws.fetch_add(step, Relaxed).wrapping_add(step);
        draw = (draw ^ (draw >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        draw = (draw ^ (draw >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (draw ^ (draw >> 31)).is_multiple_of(one_in)
    }
}

impl Watch for Trouble {
    fn before(&self, operation: Operation, _: &Path) -> io::Result<()> {
        if !operation.is_mutation() {
            return Ok(());
        }
        let hang = self.hang_nanos.swap(0, Relaxed);
        if hang > 0 {
            self.hung.fetch_add(1, Relaxed);
        }
        let wait = Duration::from_nanos(hang.saturating_add(self.delay_nanos.load(Relaxed)));
        if !wait.is_zero() {
            std::thread::sleep(wait);
        }
        let fails_sync = operation == Operation::Sync && self.syncs_to_fail.swap(0, Relaxed) > 0;
        let may_fail =
            !matches!(operation, Operation::Lock | Operation::Remove | Operation::RemoveDir);
        if fails_sync || may_fail && self.draw_failure() {
            self.failed.fetch_add(1, Relaxed);
            return Err(io::Error::other("the disk is in trouble"));
        }
        Ok(())
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{FileSystem, MemFs, WatchedFs, WritableFile};

    fn created() -> (Arc<Trouble>, WatchedFs, Arc<dyn WritableFile>) {
        let trouble = Arc::new(Trouble::default());
        let fs = WatchedFs::new(Arc::new(MemFs::new()), trouble.clone());
        let file = fs.create(Path::new("file")).unwrap();
        (trouble, fs, file)
    }

    #[test]
    fn about_one_call_in_ten_fails_and_leaves_the_file_as_it_was() {
        let (trouble, fs, file) = created();
        trouble.fail_one_in(10, 7);
        let written: Vec<bool> = (0..1000).map(|n| file.write_at(&[1], n).is_ok()).collect();
        let failed = written.iter().filter(|written| !**written).count();
        assert!((50..200).contains(&failed), "{failed} of 1000 calls failed");
        assert_eq!(trouble.failed(), failed as u64);
        trouble.end();
        file.write_at(&[1], 1000).unwrap();
        let bytes = fs.read(Path::new("file")).unwrap();
        assert!(written.iter().zip(bytes).all(|(written, byte)| *written == (byte == 1)));
    }

    #[test]
    fn a_disk_hangs_once_and_is_slow_until_it_is_told_otherwise() {
        let (trouble, _fs, file) = created();
        let milliseconds = Duration::from_millis;
        let took = || {
            let begun = std::time::Instant::now();
            file.write_at(&[1], 0).unwrap();
            begun.elapsed()
        };
        trouble.hang_once(milliseconds(60));
        assert!(took() >= milliseconds(60));
        assert_eq!(trouble.hung(), 1);
        trouble.slow_down(milliseconds(5));
        assert!(took() >= milliseconds(5) && took() >= milliseconds(5));
        assert_eq!(trouble.hung(), 1);
    }
}
