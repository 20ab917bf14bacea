//! A new file of another engine's database.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use foldb_leveldb_format::builder::Output;

use crate::exit::{Exit, Outcome};
use crate::location::shown;

/// A file being written.
#[derive(Debug)]
pub(crate) struct OutputFile(BufWriter<File>);

impl Output for OutputFile {
    type Error = io::Error;

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }
}

impl OutputFile {
    /// Creates the file.
    ///
    /// # Errors
    /// Fails if it exists.
    pub(crate) fn create(path: &Path) -> Outcome<OutputFile> {
        let file = File::create_new(path)
            .map_err(|error| Exit::failed(format!("cannot create {}: {error}", shown(path))))?;
        Ok(OutputFile(BufWriter::with_capacity(256 << 10, file)))
    }

    /// Makes the bytes durable.
    ///
    /// # Errors
    /// Fails if a write fails.
    pub(crate) fn finish(self, path: &Path) -> Outcome {
        let failed = |error| cannot_write(path, &error);
        let file = self.0.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)
    }
}

/// Returns the error of a write that failed.
pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Exit {
    Exit::failed(format!("cannot write {}: {error}", shown(path)))
}
