//! Writes the lines of files and standard input into a database, for `count` and `load`.
//!
//! One thread reads; the calling thread splits, batches and commits. A batch is one atomic write of
//! at most [`BATCH_LINES`] lines or [`pending::BATCH_BYTES`] bytes. It is committed at the latest
//! [`pending::BATCH_AGE`] after its first line, even if the input pauses. Invariant: the database
//! holds exactly the first N lines of the input, where N is at least the last acknowledged number.

pub(crate) mod input;
mod lines;
mod pending;
mod resume;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use foldb::expiry::Expires;
use foldb::operators::Operator;
use foldb::{ErrorKind, WriteBatch};
use indicatif::{HumanCount, ProgressBar};

use crate::exit::{Exit, Outcome};
use crate::interrupt::Watch;
use crate::keyspace::Opened;
use crate::location::shown;
use crate::progress;
use input::{Event, Source};
use lines::{LineTooLong, Lines};
use pending::{BATCH_LINES, Pending};
use resume::Resume;

pub(crate) use resume::{Progress, Progresses};

/// Longest time between two checks for Ctrl-C while no input arrives.
const IDLE: Duration = Duration::from_millis(100);
/// Chunks that are read ahead.
const CHUNKS_AHEAD: usize = 4;

/// The receiver of the lines.
pub(crate) trait Sink {
    /// Title of the progress bar: `counting`.
    const DOING: &'static str;
    /// Whether a last line without a newline is refused as cut off.
    const NEEDS_NEWLINE: bool;

    /// The content of lines that are not entries.
    type Note;

    /// Parses a line that is not empty.
    ///
    /// # Errors
    /// A message that says what is wrong with the line.
    fn line<'a>(&mut self, line: &'a [u8]) -> Result<Line<'a, Self::Note>, String>;

    /// Applies a line that is not an entry. All entries before it are in the database.
    ///
    /// # Errors
    /// A message that says why the note cannot be applied.
    fn obey(&mut self, note: Self::Note) -> Result<(), String>;

    /// Checks the whole input at its end.
    ///
    /// # Errors
    /// A message that says what is missing.
    fn finish(&self) -> Result<(), String> {
        Ok(())
    }

    /// Returns the destination of entries. The first commit opens or creates the database, so a bad
    /// first line creates none.
    fn open(&mut self) -> Outcome<Destination<'_>>;

    /// Returns the stored progress of a file (`None`: standard input), if progress is stored.
    fn resume(&mut self, _file: Option<&Path>) -> Outcome<Option<Progress>> {
        Ok(None)
    }

    /// Reports that `lines` lines of the input are in the database.
    fn committed(&mut self, _lines: u64) -> Outcome {
        Ok(())
    }

    /// Returns the end of the message about a bad line: which of the `lines` lines before it are in
    /// the database.
    fn kept(&self, lines: u64) -> String;
}

/// A parsed line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a, Note> {
    /// An entry.
    Entry(Entry<'a>),
    /// A note about the lines that follow.
    Note(Note),
}

/// A key with its value or operand.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    /// The key.
    pub key: Cow<'a, [u8]>,
    /// Its value, or an operand.
    pub value: Cow<'a, [u8]>,
}

/// The destination of entries.
#[derive(Clone, Copy)]
pub(crate) struct Destination<'a> {
    /// The keyspace.
    pub opened: &'a Opened,
    /// The operator that merges the entries; `None` puts them.
    pub operator: Option<&'a Operator>,
    /// The stored progress of sources, if there is any.
    pub progresses: Option<&'a Progresses>,
    /// When the entries expire; `None`: as the keyspace says.
    pub expires: Option<Expires>,
}

impl Destination<'_> {
    fn add(self, batch: &mut WriteBatch, key: &[u8], value: &[u8]) {
        batch.set_expires(self.expires);
        match self.operator {
            Some(operator) => batch.merge_with_in(operator, &self.opened.keyspace, key, value),
            None => batch.put_in(&self.opened.keyspace, key, value),
        };
    }
}

/// The result of [`ingest`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ingested {
    lines: u64,
    skipped: u64,
    empty: u64,
    took: Duration,
}

impl Ingested {
    /// Returns a text such as `3 lines loaded in 0.01 s, 300 a second, 1 empty line skipped`.
    pub(crate) fn summary(&self, done: &str) -> String {
        let lines = self.lines - self.skipped - self.empty;
        let rate = lines as f64 / self.took.as_secs_f64().max(1e-3);
        let empty = match self.empty {
            0 => String::new(),
            1 => ", 1 empty line skipped".to_owned(),
            more => format!(", {} empty lines skipped", HumanCount(more)),
        };
        let skipped = match self.skipped {
            0 => String::new(),
            1 => ", 1 line was there before".to_owned(),
            more => format!(", {} lines were there before", HumanCount(more)),
        };
        format!(
            "{} line{} {done} in {:.2} s, {} a second{empty}{skipped}",
            HumanCount(lines),
            if lines == 1 { "" } else { "s" },
            self.took.as_secs_f64(),
            HumanCount(rate as u64),
        )
    }
}

/// Passes all lines of `files`, or of standard input, to `sink`, and makes them durable.
///
/// # Errors
/// Fails at a file that cannot be read, or at the first bad line; the lines before it are kept.
/// Ctrl-C interrupts it.
pub(crate) fn ingest<S: Sink>(files: &[PathBuf], sink: &mut S) -> Outcome<Ingested> {
    let sources = input::sources(files)?;
    let watch = Watch::start();
    let started = Instant::now();
    let mut ingest = Ingest {
        bar: progress_bar(&sources, S::DOING),
        sink,
        pending: Pending::default(),
        batch: WriteBatch::new(),
        place: None,
        resume: None,
        lines_in_source: 0,
        lines: 0,
        skipped: 0,
        empty: 0,
        committed: 0,
    };
    let done = ingest.all(sources, &watch);
    ingest.bar.finish_and_clear();
    done?;
    let ingested = Ingested {
        lines: ingest.lines,
        skipped: ingest.skipped,
        empty: ingest.empty,
        took: started.elapsed(),
    };
    sink.finish().map_err(Exit::Failed)?;
    sink.open()?.opened.db.sync()?;
    Ok(ingested)
}

/// The state of an ingestion.
struct Ingest<'a, S> {
    sink: &'a mut S,
    bar: ProgressBar,
    pending: Pending,
    batch: WriteBatch,
    /// The current file; `None` for standard input.
    place: Option<PathBuf>,
    /// The progress of the current file, if progress is stored.
    resume: Option<Resume>,
    lines_in_source: u64,
    /// Lines parsed so far, empty ones included.
    lines: u64,
    /// Parsed lines that an earlier run added to the database.
    skipped: u64,
    empty: u64,
    /// Lines in the database so far, empty ones included.
    committed: u64,
}

impl<S: Sink> Ingest<'_, S> {
    /// Reads all sources to their ends.
    fn all(&mut self, sources: Vec<Source>, watch: &Watch) -> Outcome {
        let (send, events) = sync_channel(CHUNKS_AHEAD);
        read_in_background(sources, send)?;
        let mut lines = Lines::default();
        loop {
            let wait = self.pending.age_left().unwrap_or(IDLE).min(IDLE);
            match events.recv_timeout(wait) {
                Ok(Event::Begin(place)) => self.begin(place)?,
                Ok(Event::Chunk(chunk)) => {
                    self.bar.inc(chunk.len() as u64);
                    self.take(|each| lines.feed(&chunk, each))?;
                    self.show_progress();
                }
                Ok(Event::End) => self.end(&mut lines)?,
                Ok(Event::Failed(why)) => {
                    self.commit()?;
                    return Err(Exit::failed(why));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.commit(),
            }
            if self.pending.age_left().is_some_and(|left| left.is_zero()) {
                self.commit()?;
            }
            if watch.interrupted() {
                self.commit()?;
                let lines = HumanCount(self.committed);
                return Err(Exit::Interrupted(format!(
                    "interrupted; the {lines} lines committed are kept"
                )));
            }
        }
    }

    fn begin(&mut self, place: Option<PathBuf>) -> Outcome {
        self.commit()?;
        self.resume = self.sink.resume(place.as_deref())?.map(Resume::after);
        self.place = place;
        self.lines_in_source = 0;
        Ok(())
    }

    fn end(&mut self, lines: &mut Lines) -> Outcome {
        if S::NEEDS_NEWLINE && lines.is_inside() {
            self.commit()?;
            let why = "the line does not end in a newline, so the input may be cut off";
            return Err(self.bad_line(self.lines_in_source + 1, why));
        }
        self.take(|each| lines.finish(each))?;
        match self.resume.as_ref().map(Resume::end) {
            Some(Err(why)) => Err(self.bad_source(&why)),
            Some(Ok(())) | None => Ok(()),
        }
    }

    /// Adds the lines that `feed` passes on. Lines before a bad one are committed.
    fn take(
        &mut self,
        feed: impl FnOnce(&mut dyn FnMut(&[u8]) -> Outcome) -> Result<Outcome, LineTooLong>,
    ) -> Outcome {
        let fed = feed(&mut |line| self.line(line));
        fed.unwrap_or_else(|LineTooLong| {
            self.commit()?;
            let limit = lines::MAX_LEN >> 20;
            Err(self.bad_line(self.lines_in_source + 1, &format!("longer than {limit} MiB")))
        })
    }

    fn line(&mut self, line: &[u8]) -> Outcome {
        self.lines_in_source += 1;
        if self.resume.as_ref().is_some_and(Resume::skips) {
            return self.skip(line);
        }
        if line.is_empty() {
            self.empty += 1;
        } else if let Err(why) = self.add(line)? {
            self.commit()?;
            return Err(self.bad_line(self.lines_in_source, &why));
        }
        self.pass(line)?;
        self.lines += 1;
        // Empty lines count too, so that `--ack` prints a number at least every BATCH_LINES lines.
        let full = self.pending.is_full() || self.lines - self.committed >= BATCH_LINES as u64;
        if full { self.commit() } else { Ok(()) }
    }

    /// Skips a line that is already in the database.
    fn skip(&mut self, line: &[u8]) -> Outcome {
        self.pass(line)?;
        self.lines += 1;
        self.skipped += 1;
        self.committed += 1;
        Ok(())
    }

    fn pass(&mut self, line: &[u8]) -> Outcome {
        let passed = self.resume.as_mut().map_or(Ok(()), |resume| resume.pass(line));
        passed.map_err(|why| self.bad_source(&why))
    }

    /// Adds one line. The inner error says what is wrong with a bad line.
    fn add(&mut self, line: &[u8]) -> Outcome<Result<(), String>> {
        match self.sink.line(line) {
            Ok(Line::Entry(entry)) => {
                let number = (self.lines_in_source, self.lines + 1);
                self.pending.add(&entry.key, &entry.value, number);
                Ok(Ok(()))
            }
            Ok(Line::Note(note)) => {
                self.commit()?;
                Ok(self.sink.obey(note))
            }
            Err(why) => Ok(Err(why)),
        }
    }

    fn bad_line(&self, number: u64, why: &str) -> Exit {
        let place = match &self.place {
            Some(file) => format!("{} line {number}", shown(file)),
            None => format!("line {number}"),
        };
        Exit::failed(format!("{place}: {why}; {}", self.sink.kept(self.committed)))
    }

    fn bad_source(&self, why: &str) -> Exit {
        let source = self.place.as_deref().map_or_else(|| "standard input".to_owned(), shown);
        Exit::failed(format!("{source}: {why}"))
    }

    /// Writes the pending lines, and acknowledges them.
    fn commit(&mut self) -> Outcome {
        if !self.pending.is_empty() {
            let to = self.sink.open()?;
            self.batch.clear();
            for (key, value, _) in self.pending.entries() {
                to.add(&mut self.batch, key, value);
            }
            if let (Some(progresses), Some(resume)) = (to.progresses, &self.resume) {
                self.batch.set_expires(None);
                progresses.add(&mut self.batch, self.place.as_deref(), resume.progress());
            }
            match to.opened.db.write(&self.batch) {
                Ok(()) => {}
                // Writes the lines one by one to find the refused one. With `resume` it must not:
                // the stored progress counts the whole batch.
                Err(error)
                    if error.kind() == ErrorKind::InvalidArgument && self.resume.is_none() =>
                {
                    self.commit_singly()?;
                }
                Err(error) => return Err(error.into()),
            }
            self.pending.clear();
        }
        self.acknowledge(self.lines)
    }

    /// Finds the line for which the database refused the batch, and writes the lines before it.
    fn commit_singly(&mut self) -> Outcome {
        let to = self.sink.open()?;
        let refused = self.pending.entries().find_map(|(key, value, number)| {
            self.batch.clear();
            to.add(&mut self.batch, key, value);
            to.opened.db.write(&self.batch).err().map(|error| (number, error))
        });
        let Some(((in_source, in_all), error)) = refused else { return Ok(()) };
        self.pending.clear();
        self.acknowledge(in_all - 1)?;
        Err(self.bad_line(in_source, &error.to_string()))
    }

    fn acknowledge(&mut self, lines: u64) -> Outcome {
        if lines > self.committed {
            self.committed = lines;
            self.sink.committed(lines)?;
        }
        Ok(())
    }

    fn show_progress(&self) {
        if !self.bar.is_hidden() {
            self.bar.set_message(HumanCount(self.lines).to_string());
        }
    }
}

fn read_in_background(sources: Vec<Source>, events: SyncSender<Event>) -> Outcome {
    std::thread::Builder::new()
        .name("foldb-input".to_owned())
        .spawn(move || input::read(sources, &events))
        .map(drop)
        .map_err(|error| Exit::failed(format!("cannot start a thread: {error}")))
}

fn progress_bar(sources: &[Source], doing: &str) -> ProgressBar {
    let bar = match input::total_len(sources) {
        _ if sources.iter().any(Source::is_typed) => progress::none(),
        Some(bytes) => progress::bar(
            bytes,
            doing,
            "{prefix} {wide_bar} {bytes} of {total_bytes}, {msg} lines, {eta} left",
        ),
        None => progress::spinner(
            doing,
            "{prefix} {spinner} {bytes} read, {bytes_per_sec}, {msg} lines, {elapsed}",
        ),
    };
    bar.set_message("0");
    bar
}
