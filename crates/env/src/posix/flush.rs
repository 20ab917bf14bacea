//! Syncs of files, as strong as the file system allows.
//!
//! On Apple's systems a plain `fsync` leaves the bytes in the cache of the disk. The standard
//! library asks for `F_FULLFSYNC` there, which empties that cache. Some file systems refuse that
//! call (SMB and other network disks, disks mounted through a library). A plain `fsync` is then all
//! they offer. Without it, no database could be written there.
//!
//! Invariant: after an error that may stand for lost bytes, no second sync hides it. Only a
//! refusal, which comes before any work, leads to the plain call.

use std::fs::File;
use std::io;

use rustix::io::Errno;

/// Makes the bytes of a file durable, and the length needed to read them.
pub(super) fn sync_data(file: &File) -> io::Result<()> {
    strongest(|| file.sync_data(), || plain(file))
}

/// Makes all of a file or directory durable.
pub(super) fn sync_all(file: &File) -> io::Result<()> {
    strongest(|| file.sync_all(), || plain(file))
}

fn plain(file: &File) -> io::Result<()> {
    Ok(rustix::fs::fsync(file)?)
}

fn strongest(
    full: impl FnOnce() -> io::Result<()>,
    plain: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    match full() {
        Err(error) if is_refusal(&error) => plain(),
        synced => synced,
    }
}

/// Returns whether a sync was refused before it did anything. Elsewhere than on Apple's systems the
/// standard library makes the plain call itself.
fn is_refusal(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    let is_unknown = matches!(code, Some(Errno::NOTSUP | Errno::NOTTY | Errno::INVAL));
    // The tests check this on every system.
    is_unknown && (cfg!(target_vendor = "apple") || cfg!(test))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// The outcome of a sync whose full call ends in `full`, and whether it made the plain call,
    /// which ends in `plain`.
    fn outcome(full: Result<(), Errno>, plain: Result<(), Errno>) -> (Option<Errno>, bool) {
        let asked = Cell::new(false);
        let plain = || {
            asked.set(true);
            Ok(plain?)
        };
        let outcome = strongest(|| Ok(full?), plain);
        let code = outcome.err().and_then(|error| error.raw_os_error());
        (code.map(Errno::from_raw_os_error), asked.get())
    }

    #[test]
    fn a_refused_full_sync_becomes_a_plain_one() {
        for refusal in [Errno::NOTSUP, Errno::NOTTY, Errno::INVAL] {
            assert_eq!(outcome(Err(refusal), Ok(())), (None, true));
            assert_eq!(outcome(Err(refusal), Err(Errno::IO)), (Some(Errno::IO), true));
        }
    }

    #[test]
    fn a_failed_full_sync_is_not_tried_again() {
        for failure in [Errno::IO, Errno::NOSPC, Errno::DQUOT, Errno::BADF] {
            assert_eq!(outcome(Err(failure), Ok(())), (Some(failure), false));
        }
        assert_eq!(outcome(Ok(()), Err(Errno::IO)), (None, false));
    }

    #[test]
    fn files_and_directories_are_synced() {
        let directory = tempfile::tempdir().unwrap();
        let file = File::create(directory.path().join("file")).unwrap();
        sync_data(&file).unwrap();
        sync_all(&File::open(directory.path()).unwrap()).unwrap();
        plain(&file).unwrap();
    }
}
