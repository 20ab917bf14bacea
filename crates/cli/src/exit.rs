//! How a command ends: its exit code and its one line on standard error.

use std::any::Any;
use std::io::{self, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;

use crate::form::escape;

/// The result of a step of a command.
pub(crate) type Outcome<T = ()> = Result<T, Exit>;

/// Why a command ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command failed: exit 1.
    Failed(String),
    /// The command line has an error: exit 2. Nothing was changed.
    Usage(String),
    /// The command is done, but something is missing from the result: exit 3.
    Partial(String),
    /// Ctrl-C: exit 130. Everything committed is kept.
    Interrupted(String),
    /// The reader of standard output closed it: exit 0, quietly.
    ClosedPipe,
    /// Help or version, for standard output: exit 0.
    Answer(String),
}

impl Exit {
    /// Returns a failure with this message.
    pub(crate) fn failed(message: impl Into<String>) -> Exit {
        Exit::Failed(message.into())
    }

    /// Returns a usage error with this message.
    pub(crate) fn usage(message: impl Into<String>) -> Exit {
        Exit::Usage(message.into())
    }

    /// Returns the exit for a failed write to standard output.
    pub(crate) fn stdout(error: &io::Error) -> Exit {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Exit::ClosedPipe,
            _ => Exit::Failed(format!("cannot write to standard output: {error}")),
        }
    }

    /// Returns the process's exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Exit::ClosedPipe | Exit::Answer(_) => 0,
            Exit::Failed(_) => 1,
            Exit::Usage(_) => 2,
            Exit::Partial(_) => 3,
            Exit::Interrupted(_) => 130,
        }
    }

    /// Returns the message.
    pub(crate) fn message(self) -> String {
        match self {
            Exit::Failed(message)
            | Exit::Usage(message)
            | Exit::Partial(message)
            | Exit::Interrupted(message)
            | Exit::Answer(message) => message,
            Exit::ClosedPipe => "standard output was closed".to_owned(),
        }
    }

    /// Appends text to the message.
    pub(crate) fn and(self, more: &str) -> Exit {
        match self {
            Exit::Failed(message) => Exit::Failed(message + more),
            Exit::Interrupted(message) => Exit::Interrupted(message + more),
            other => other,
        }
    }

    /// Returns the text for standard error; `None` if the exit is quiet. The text is one line, even
    /// if the message quotes bytes with line ends.
    pub(crate) fn line(&self) -> Option<String> {
        match self {
            Exit::Failed(message)
            | Exit::Usage(message)
            | Exit::Partial(message)
            | Exit::Interrupted(message) => Some(format!("foldb: {}", escape::one_line(message))),
            Exit::ClosedPipe | Exit::Answer(_) => None,
        }
    }
}

impl From<foldb::Error> for Exit {
    fn from(error: foldb::Error) -> Exit {
        Exit::Failed(error.to_string())
    }
}

/// Runs the whole command and turns its outcome into an exit code. A panic in any thread also
/// prints one line, without a backtrace.
pub(crate) fn guarded(run: impl FnOnce() -> Outcome) -> u8 {
    static PANIC: Mutex<Option<String>> = Mutex::new(None);
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!(" ({}:{})", at.file(), at.line()));
        let message = format!("{}{}", panic_message(info.payload()), place.unwrap_or_default());
        if let Ok(mut first) = PANIC.lock() {
            first.get_or_insert(message);
        }
    }));
    let outcome = panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        let message = PANIC.lock().ok().and_then(|mut message| message.take());
        Err(Exit::Failed(format!(
            "internal error, please report it: {}",
            message.unwrap_or_default()
        )))
    });
    match outcome {
        Ok(()) => 0,
        Err(exit) => tell(exit),
    }
}

/// Prints how the command ended, and returns the exit code.
fn tell(exit: Exit) -> u8 {
    if let Exit::Answer(text) = &exit {
        let mut out = io::stdout().lock();
        return match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => 0,
            Err(error) => tell(Exit::stdout(&error)),
        };
    }
    if let Some(line) = exit.line() {
        // If standard error is closed, there is no place to report that.
        let _ = writeln!(io::stderr(), "{line}");
    }
    exit.code()
}

fn panic_message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes() {
        assert_eq!(Exit::failed("x").code(), 1);
        assert_eq!(Exit::usage("x").code(), 2);
        assert_eq!(Exit::Partial(String::new()).code(), 3);
        assert_eq!(Exit::Interrupted(String::new()).code(), 130);
        assert_eq!(Exit::ClosedPipe.code(), 0);
        assert_eq!(Exit::Answer(String::new()).code(), 0);
    }

    #[test]
    fn exactly_one_line_on_stderr() {
        let line = Exit::failed("a\nb\r\u{1b}[31m").line().unwrap();
        assert_eq!(line, "foldb: a\\nb\\r\\x1b[31m");
        assert_eq!(Exit::ClosedPipe.line(), None);
    }

    #[test]
    fn closed_pipe_is_quiet_and_a_full_disk_is_not() {
        let closed = io::Error::from(io::ErrorKind::BrokenPipe);
        assert_eq!(Exit::stdout(&closed), Exit::ClosedPipe);
        let full = io::Error::from(io::ErrorKind::StorageFull);
        assert_eq!(Exit::stdout(&full).code(), 1);
    }
}
