//! Whether a process runs.

/// Returns whether a process of this machine runs. Where that cannot be asked, it may.
#[cfg(unix)]
pub(crate) fn runs(process: u64) -> bool {
    let id = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw);
    let Some(id) = id else { return false };
    // A process of another user exists too.
    !matches!(rustix::process::test_kill_process(id), Err(rustix::io::Errno::SRCH))
}

/// Returns whether a process of this machine runs. Where that cannot be asked, it may.
#[cfg(not(unix))]
pub(crate) fn runs(_process: u64) -> bool {
    true
}
