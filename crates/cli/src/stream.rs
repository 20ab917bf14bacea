//! A stream whose bytes move a progress bar, and that Ctrl-C ends.

use std::io::{self, Read, Write};

use indicatif::ProgressBar;

use crate::interrupt::Watch;

/// A reader or writer. Dropping it removes the bar.
pub(crate) struct Stream<'a, S> {
    pub(crate) inner: S,
    pub(crate) bar: ProgressBar,
    pub(crate) watch: &'a Watch,
}

impl<S> Stream<'_, S> {
    fn check(&self) -> io::Result<()> {
        match self.watch.interrupted() {
            false => Ok(()),
            true => Err(io::Error::other("interrupted")),
        }
    }
}

impl<S: Read> Read for Stream<'_, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.check()?;
        let read = self.inner.read(buffer)?;
        self.bar.inc(read as u64);
        if read == 0 {
            self.bar.set_prefix("comparing");
        }
        Ok(read)
    }
}

impl<S: Write> Write for Stream<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.check()?;
        let written = self.inner.write(bytes)?;
        self.bar.inc(written as u64);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<S> Drop for Stream<'_, S> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
