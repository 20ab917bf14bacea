//! `count`: one merge a line, in batches, as fast as they come and never later than they must.
//!
//! A thread reads, this one splits, batches and commits. A batch is one atomic write of at most
//! [`BATCH_LINES`] lines or [`pending::BATCH_BYTES`] bytes, and is committed at the latest
//! [`pending::BATCH_AGE`] after its first line, also when the input pauses. Invariant: the database
//! holds exactly the first N lines of the input, N at least what was last acknowledged.

mod input;
mod lines;
mod pending;

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use foldb::{Db, ErrorKind, Operator, WriteBatch};
use indicatif::{HumanCount, ProgressBar};

use crate::args::{Common, Count};
use crate::exit::{Exit, Outcome};
use crate::form::Form;
use crate::interrupt::Watch;
use crate::location::shown;
use crate::operator::{OperandText, Target};
use crate::output::Output;
use crate::progress;
use input::{Event, Source};
use lines::{Line, LineTooLong, Lines};
use pending::{BATCH_LINES, Pending};

/// How long Ctrl-C may go unnoticed while no input comes.
const IDLE: Duration = Duration::from_millis(100);
/// Chunks that are read ahead.
const CHUNKS_AHEAD: usize = 4;

/// Counts what is read.
pub fn run(args: &Count, common: &Common) -> Outcome {
    let target = Target::find(&args.db, args.operator.as_deref(), Some("uint64add"))?;
    let operands = target.operands(common.value_format)?;
    let sources = input::sources(&args.files)?;
    let watch = Watch::start();
    let mut counting = Counting {
        spec: target.spec(),
        database: Database::Closed(Some(target)),
        operands,
        key_form: common.key_form(),
        acks: args.ack.then(|| Acks { output: Output::new(), json: common.json }),
        bar: progress_bar(&sources),
        pending: Pending::default(),
        batch: WriteBatch::new(),
        place: None,
        lines_in_source: 0,
        lines: 0,
        empty: 0,
        committed: 0,
    };
    let started = Instant::now();
    let counted = counting.all(sources, &watch);
    counting.bar.finish_and_clear();
    counted?;
    counting.finish(started.elapsed())
}

/// Everything `count` knows as it goes.
struct Counting {
    spec: String,
    database: Database,
    operands: OperandText,
    key_form: Form,
    acks: Option<Acks>,
    bar: ProgressBar,
    pending: Pending,
    batch: WriteBatch,
    /// The file that is being read; nothing for standard input.
    place: Option<PathBuf>,
    lines_in_source: u64,
    /// Lines understood so far, empty ones included.
    lines: u64,
    empty: u64,
    /// Lines in the database so far, empty ones included.
    committed: u64,
}

impl Counting {
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
                Ok(Event::End) => self.take(|each| lines.finish(each))?,
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
        self.place = place;
        self.lines_in_source = 0;
        Ok(())
    }

    /// Takes the lines that `feed` hands over. What stands before a bad one is committed.
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
        if line.is_empty() {
            self.empty += 1;
        } else if let Err(why) = self.add(line) {
            self.commit()?;
            return Err(self.bad_line(self.lines_in_source, &why));
        }
        self.lines += 1;
        // Empty lines count too, so that no acknowledgement spans more than a batch.
        let full = self.pending.is_full() || self.lines - self.committed >= BATCH_LINES as u64;
        if full { self.commit() } else { Ok(()) }
    }

    fn add(&mut self, line: &[u8]) -> Result<(), String> {
        let line = Line::of(line);
        let operand = match line.operand {
            Some(text) => self.operands.parse(text)?,
            None => self.operands.one()?,
        };
        let number = (self.lines_in_source, self.lines + 1);
        if self.key_form == Form::Utf8 {
            self.pending.add(line.key, &operand, number);
        } else {
            let key = self.key_form.parse(line.key).ok_or_else(|| {
                let (name, expected) = (self.key_form.name(), self.key_form.expected());
                format!("the key is not {name}: expected {expected}")
            })?;
            self.pending.add(&key, &operand, number);
        }
        Ok(())
    }

    fn bad_line(&self, number: u64, why: &str) -> Exit {
        let place = match &self.place {
            Some(file) => format!("{} line {number}", shown(file)),
            None => format!("line {number}"),
        };
        Exit::failed(format!("{place}: {why}; the lines before it are kept"))
    }

    /// Writes what is pending, and acknowledges it.
    fn commit(&mut self) -> Outcome {
        if !self.pending.is_empty() {
            let (db, operator) = self.database.open()?;
            self.batch.clear();
            for (key, operand, _) in self.pending.merges() {
                self.batch.merge_with(operator, key, operand);
            }
            match db.write(&self.batch) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::InvalidArgument => self.commit_singly()?,
                Err(error) => return Err(error.into()),
            }
            self.pending.clear();
        }
        self.acknowledge(self.lines)
    }

    /// Finds the line for which the database refused the whole batch, and keeps those before it.
    fn commit_singly(&mut self) -> Outcome {
        let (db, operator) = self.database.open()?;
        let refused = self.pending.merges().find_map(|(key, operand, number)| {
            db.merge_with(operator, key, operand).err().map(|error| (number, error))
        });
        let Some(((in_source, in_all), error)) = refused else { return Ok(()) };
        self.pending.clear();
        self.acknowledge(in_all - 1)?;
        Err(self.bad_line(in_source, &error.to_string()))
    }

    fn acknowledge(&mut self, lines: u64) -> Outcome {
        if lines > self.committed {
            self.committed = lines;
            if let Some(acks) = &mut self.acks {
                acks.print(lines)?;
            }
        }
        Ok(())
    }

    fn show_progress(&self) {
        if !self.bar.is_hidden() {
            self.bar.set_message(HumanCount(self.lines).to_string());
        }
    }

    /// Makes everything durable and says what was done.
    fn finish(mut self, took: Duration) -> Outcome {
        let (db, _) = self.database.open()?;
        db.sync()?;
        db.close()?;
        let counted = self.lines - self.empty;
        let rate = counted as f64 / took.as_secs_f64().max(1e-3);
        let empty = match self.empty {
            0 => String::new(),
            1 => ", 1 empty line skipped".to_owned(),
            more => format!(", {} empty lines skipped", HumanCount(more)),
        };
        let _ = writeln!(
            io::stderr(),
            "{} line{} merged with {} in {:.2} s, {} a second{empty}",
            HumanCount(counted),
            if counted == 1 { "" } else { "s" },
            self.spec,
            took.as_secs_f64(),
            HumanCount(rate as u64),
        );
        Ok(())
    }
}

/// The database, opened at the first commit: a first line that is bad creates none.
enum Database {
    /// Not yet; empty only while it is being opened.
    Closed(Option<Target>),
    Open(Db, Operator),
}

impl Database {
    fn open(&mut self) -> Outcome<(&Db, &Operator)> {
        if let Database::Closed(target) = self {
            let target = target.take().ok_or_else(|| Exit::failed("the database did not open"))?;
            let (db, operator) = target.open()?;
            *self = Database::Open(db, operator);
        }
        match self {
            Database::Open(db, operator) => Ok((db, operator)),
            Database::Closed(_) => unreachable!("opened above"),
        }
    }
}

/// `--ack`: `committed N`.
struct Acks {
    output: Output,
    json: bool,
}

impl Acks {
    fn print(&mut self, lines: u64) -> Outcome {
        if self.json {
            let committed = crate::form::json::integer(lines);
            self.output.json(&serde_json::json!({ "committed": committed }))?;
        } else {
            self.output.text(&format!("committed {lines}\n"))?;
        }
        self.output.flush()
    }
}

fn read_in_background(sources: Vec<Source>, events: SyncSender<Event>) -> Outcome {
    std::thread::Builder::new()
        .name("foldb-input".to_owned())
        .spawn(move || input::read(sources, &events))
        .map(drop)
        .map_err(|error| Exit::failed(format!("cannot start a thread: {error}")))
}

fn progress_bar(sources: &[Source]) -> ProgressBar {
    let bar = match input::total_len(sources) {
        _ if sources.iter().any(Source::is_typed) => progress::none(),
        Some(bytes) => progress::bar(
            bytes,
            "counting",
            "{prefix} {wide_bar} {bytes} of {total_bytes}, {msg} lines, {eta} left",
        ),
        None => progress::spinner(
            "counting",
            "{prefix} {spinner} {bytes} read, {bytes_per_sec}, {msg} lines, {elapsed}",
        ),
    };
    bar.set_message("0");
    bar
}
