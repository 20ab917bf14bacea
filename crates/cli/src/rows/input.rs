//! The bytes of a file or of standard input. A thread reads ahead, so Ctrl-C ends a read that
//! waits.

use std::cell::Cell;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use indicatif::ProgressBar;

use crate::exit::{Exit, Outcome};
use crate::ingest::input::{self, Event, Source};
use crate::interrupt::Watch;
use crate::location::shown;
use crate::progress;
use crate::rows::MAX_ROW;

/// Longest time between two checks for Ctrl-C while no input arrives.
const IDLE: Duration = Duration::from_millis(100);
/// Chunks that are read ahead.
const CHUNKS_AHEAD: usize = 4;

/// The bytes of one source.
pub(crate) struct Input<'a> {
    events: Receiver<Event>,
    chunk: Vec<u8>,
    at: usize,
    bar: ProgressBar,
    watch: &'a Watch,
    allowance: Allowance,
}

/// How many bytes the current row may still take.
#[derive(Clone, Debug)]
pub(crate) struct Allowance(Rc<Cell<u64>>);

impl Allowance {
    /// Begins a row.
    pub(crate) fn renew(&self) {
        self.0.set(MAX_ROW);
    }
}

impl<'a> Input<'a> {
    /// Opens a file, or standard input if it is `-`. Also returns its progress bar.
    ///
    /// # Errors
    /// Fails for a file that cannot be read.
    pub(crate) fn open(file: &Path, watch: &'a Watch) -> Outcome<(Input<'a>, ProgressBar)> {
        let sources = input::sources(&[PathBuf::from(file)])?;
        let bar = bar_of(&sources);
        let (send, events) = sync_channel(CHUNKS_AHEAD);
        std::thread::Builder::new()
            .name("foldb-input".to_owned())
            .spawn(move || input::read(sources, &send))
            .map_err(|error| Exit::failed(format!("cannot start a thread: {error}")))?;
        let allowance = Allowance(Rc::new(Cell::new(MAX_ROW)));
        let input = Input { events, chunk: Vec::new(), at: 0, bar: bar.clone(), watch, allowance };
        Ok((input, bar))
    }

    /// Returns the handle that bounds rows.
    pub(crate) fn allowance(&self) -> Allowance {
        self.allowance.clone()
    }

    /// Waits for more bytes; none at the end.
    fn refill(&mut self) -> io::Result<()> {
        loop {
            if self.watch.interrupted() {
                return Err(io::Error::other("interrupted"));
            }
            match self.events.recv_timeout(IDLE) {
                Ok(Event::Chunk(chunk)) => {
                    self.bar.inc(chunk.len() as u64);
                    (self.chunk, self.at) = (chunk, 0);
                    return Ok(());
                }
                Ok(Event::Failed(why)) => return Err(io::Error::other(why)),
                Ok(Event::Begin(_)) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Event::End) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.chunk.len() {
            self.refill()?;
        }
        let rest = &self.chunk[self.at..];
        let len = rest.len().min(buffer.len());
        let left = self.allowance.0.get();
        if len as u64 > left {
            let most = MAX_ROW >> 20;
            return Err(io::Error::other(format!(
                "a row is longer than {most} MiB: is there a quote without its end?"
            )));
        }
        self.allowance.0.set(left - len as u64);
        buffer[..len].copy_from_slice(&rest[..len]);
        self.at += len;
        Ok(len)
    }
}

fn bar_of(sources: &[Source]) -> ProgressBar {
    let bar = match input::total_len(sources) {
        _ if sources.iter().any(Source::is_typed) => progress::none(),
        Some(bytes) => progress::bar(
            bytes,
            "importing",
            "{prefix} {wide_bar} {bytes} of {total_bytes}, {msg} rows, {eta} left",
        ),
        None => progress::spinner(
            "importing",
            "{prefix} {spinner} {bytes} read, {bytes_per_sec}, {msg} rows, {elapsed}",
        ),
    };
    bar.set_message("0");
    bar
}

/// Returns how a message names the source.
pub(crate) fn name_of(file: &Path) -> String {
    if file.as_os_str() == "-" { "standard input".to_owned() } else { shown(file) }
}
