//! Calls that wait for other programs to let go of a file.
//!
//! Virus scanners, indexers and copy tools open the files of every directory for a moment. On
//! Windows, a file that a program opened without `FILE_SHARE_DELETE` can neither be removed nor
//! replaced, and one that it opened without sharing cannot be opened. The system then refuses the
//! call before it changes anything. So the call may be tried again, and an error at the end says
//! that nothing was done ([`NothingDone`]).
//!
//! Invariant: a call is repeated only after a refusal that surely changed nothing.

use std::io;
use std::path::Path;
use std::time::Duration;

use crate::clock::nap;
use crate::fs::NothingDone;

/// `ERROR_ACCESS_DENIED`: also said of a removed file that a program still has open.
const ACCESS_DENIED: i32 = 5;
/// `ERROR_SHARING_VIOLATION`.
const SHARING_VIOLATION: i32 = 32;
/// `ERROR_LOCK_VIOLATION`.
const LOCK_VIOLATION: i32 = 33;

/// The waits between the tries double from one millisecond. Together they take 1.023 seconds.
const WAITS: u32 = 10;

/// Calls `call` until no other program is in its way, for about a second.
///
/// # Errors
/// Those of `call`; [`NothingDone`], wrapped, if another program may still be in its way.
pub(super) fn patiently<T>(path: &Path, call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    // Elsewhere no program is in the way of another, and the numbers mean other errors. A directory
    // is refused with the same number, and no wait makes a file of it.
    let may_pass = |error: &io::Error| cfg!(windows) && is_refusal(error) && !path.is_dir();
    repeat(call, may_pass, nap)
}

fn repeat<T>(
    mut call: impl FnMut() -> io::Result<T>,
    may_pass: impl Fn(&io::Error) -> bool,
    wait: impl Fn(Duration),
) -> io::Result<T> {
    for doublings in 0..WAITS {
        match call() {
            Err(error) if may_pass(&error) => wait(Duration::from_millis(1 << doublings)),
            done => return done,
        }
    }
    call().map_err(|error| if may_pass(&error) { nothing_done(&error) } else { error })
}

/// Returns whether the system refused a call that it may allow later.
fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(ACCESS_DENIED | SHARING_VIOLATION | LOCK_VIOLATION))
}

fn nothing_done(error: &io::Error) -> io::Error {
    let kind = match error.raw_os_error() {
        Some(SHARING_VIOLATION | LOCK_VIOLATION) => io::ErrorKind::ResourceBusy,
        _ => error.kind(),
    };
    io::Error::new(kind, NothingDone { refusal: error.to_string() })
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// The outcome of a call that is refused with each code in turn, and how long it waited.
    fn outcome_of(codes: &[i32]) -> (io::Result<()>, Duration) {
        let (mut codes, waited) = (codes.iter(), RefCell::new(Duration::ZERO));
        let call = || codes.next().map_or(Ok(()), |code| Err(io::Error::from_raw_os_error(*code)));
        let outcome = repeat(call, is_refusal, |wait| *waited.borrow_mut() += wait);
        (outcome, waited.into_inner())
    }

    #[test]
    fn a_call_waits_until_the_other_program_lets_go() {
        let (outcome, waited) = outcome_of(&[ACCESS_DENIED, SHARING_VIOLATION, LOCK_VIOLATION]);
        assert!(outcome.is_ok());
        assert_eq!(waited, Duration::from_millis(1 + 2 + 4));
    }

    #[test]
    fn a_call_gives_up_after_a_second_and_says_that_nothing_was_done() {
        for (code, kind) in [
            (SHARING_VIOLATION, io::ErrorKind::ResourceBusy),
            (ACCESS_DENIED, io::Error::from_raw_os_error(ACCESS_DENIED).kind()),
        ] {
            let (outcome, waited) = outcome_of(&[code; 100]);
            let error = outcome.unwrap_err();
            assert!(NothingDone::is_why(&error), "{error}");
            assert_eq!(error.kind(), kind);
            assert_eq!(waited, Duration::from_millis(1023));
        }
    }

    #[test]
    fn an_error_that_may_have_changed_something_is_returned_at_once() {
        let (outcome, waited) = outcome_of(&[SHARING_VIOLATION, 1117]);
        let error = outcome.unwrap_err();
        assert!(!NothingDone::is_why(&error), "{error}");
        assert_eq!((error.raw_os_error(), waited), (Some(1117), Duration::from_millis(1)));
    }
}
