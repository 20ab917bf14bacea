//! Where rows go, and how a failed write ends the command.

use std::io::{self, Write};
use std::path::Path;

use crate::exit::{Exit, Outcome};
use crate::location::shown;
use crate::new_file::NewFile;

/// Where rows go: a file that appears when it is complete, or standard output.
pub(super) enum Sink {
    File(NewFile),
    Stdout,
}

impl Sink {
    /// Begins a file, or standard output if it is `-`. Also returns the file's name in messages.
    ///
    /// # Errors
    /// As [`NewFile::begin`].
    pub(super) fn begin(file: &Path) -> Outcome<(Sink, Option<String>)> {
        match file.as_os_str() == "-" {
            true => Ok((Sink::Stdout, None)),
            false => Ok((Sink::File(NewFile::begin(file)?), Some(shown(file)))),
        }
    }

    /// Gives the file its name.
    pub(super) fn finish(self) -> Outcome {
        match self {
            Sink::File(new) => new.finish(),
            Sink::Stdout => Ok(()),
        }
    }
}

/// Returns the exit for a failed write to this file, or to standard output.
pub(super) fn write_failed(name: Option<&str>, error: &io::Error) -> Exit {
    match name {
        Some(name) => Exit::failed(format!("cannot write {name}: {error}")),
        None => Exit::stdout(error),
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Sink::File(new) => new.file.write(bytes),
            Sink::Stdout => io::stdout().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Sink::File(new) => new.file.flush(),
            Sink::Stdout => io::stdout().flush(),
        }
    }
}
