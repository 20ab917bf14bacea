//! `count`: one merge for each line, in batches with a time limit.
//!
//! With `--resume`, each batch also stores the progress of its source. A restart after any end of
//! the process then adds every line once.

use std::borrow::Cow;
use std::convert::Infallible;
use std::io::{self, Write};
use std::path::Path;

use foldb::expiry::Expires;
use foldb::operators::Operator;

use crate::args::{Common, Count};
use crate::command::ends;
use crate::exit::{Exit, Outcome};
use crate::form::Form;
use crate::ingest::{Destination, Entry, Line, Progress, Progresses, Sink, ingest};
use crate::keyspace::Opened;
use crate::operator::{OperandText, Target};
use crate::output::Output;

/// Runs the command.
pub(super) fn run(args: &Count, common: &Common) -> Outcome {
    let asked = args.operator.as_deref();
    let within = &args.within.keyspace;
    ends::check_default(&args.ends, within)?;
    let target = Target::find(&args.db, within, asked, Some("uint64add"), common.options())?;
    if let Some(opened) = target.opened() {
        ends::check(&args.ends, opened)?;
    }
    let mut counting = Counting {
        operands: target.operands(common.value_format)?,
        spec: target.spec(),
        database: Database::Closed(Some(Box::new(target))),
        resume: args.resume,
        expires: args.ends.expires,
        key_form: common.key_form(),
        acks: args.ack.then(|| Acks { output: Output::new(), json: common.json }),
    };
    let ingested = ingest(&args.files, &mut counting)?;
    let done = format!("merged with {}", counting.spec);
    counting.database.close()?;
    let _ = writeln!(io::stderr(), "{}", ingested.summary(&done));
    Ok(())
}

/// The state of a count.
struct Counting {
    spec: String,
    operands: OperandText,
    database: Database,
    /// Whether to skip lines that an earlier count added.
    resume: bool,
    expires: Option<Expires>,
    key_form: Form,
    acks: Option<Acks>,
}

impl Sink for Counting {
    const DOING: &'static str = "counting";
    const NEEDS_NEWLINE: bool = false;

    /// Parses `key` or `key<TAB>operand`. Only newline and the first TAB have a meaning.
    type Note = Infallible;

    fn line<'a>(&mut self, line: &'a [u8]) -> Result<Line<'a, Infallible>, String> {
        let (key, operand) = match memchr::memchr(b'\t', line) {
            Some(tab) => (&line[..tab], Some(&line[tab + 1..])),
            None => (line, None),
        };
        let value = Cow::Owned(match operand {
            Some(text) => self.operands.parse(text)?,
            None => self.operands.one()?,
        });
        if self.key_form == Form::Utf8 {
            return Ok(Line::Entry(Entry { key: Cow::Borrowed(key), value }));
        }
        let key = self.key_form.parse(key).ok_or_else(|| {
            let (name, expected) = (self.key_form.name(), self.key_form.expected());
            format!("the key is not {name}: expected {expected}")
        })?;
        Ok(Line::Entry(Entry { key: Cow::Owned(key), value }))
    }

    fn obey(&mut self, note: Infallible) -> Result<(), String> {
        match note {}
    }

    fn open(&mut self) -> Outcome<Destination<'_>> {
        let to = self.database.open(self.resume)?;
        Ok(Destination { expires: self.expires, ..to })
    }

    fn resume(&mut self, file: Option<&Path>) -> Outcome<Option<Progress>> {
        if !self.resume {
            return Ok(None);
        }
        Ok(Some(match self.database.opened() {
            Some(opened) => Progresses::read(&opened.db, opened.keyspace.name(), file)?,
            // A new database, or one without progress, has no counted lines.
            None => Progress::default(),
        }))
    }

    fn committed(&mut self, lines: u64) -> Outcome {
        self.acks.as_mut().map_or(Ok(()), |acks| acks.print(lines))
    }

    fn kept(&self, _lines: u64) -> String {
        "the lines before it are kept".to_owned()
    }
}

/// The keyspace. The first commit opens it.
enum Database {
    /// Not open yet; empty only during the open.
    Closed(Option<Box<Target>>),
    Open(Opened, Operator, Option<Progresses>),
}

impl Database {
    fn open(&mut self, resume: bool) -> Outcome<Destination<'_>> {
        if let Database::Closed(target) = self {
            let target = target.take().ok_or_else(|| Exit::failed("the database did not open"))?;
            let (opened, operator) = target.open()?;
            let into = opened.keyspace.name();
            let progresses = resume.then(|| Progresses::open(&opened.db, into)).transpose()?;
            *self = Database::Open(opened, operator, progresses);
        }
        match self {
            Database::Open(opened, operator, progresses) => Ok(Destination {
                opened,
                operator: Some(operator),
                progresses: progresses.as_ref(),
                expires: None,
            }),
            Database::Closed(_) => unreachable!("opened above"),
        }
    }

    /// Returns the keyspace, if it is open.
    fn opened(&self) -> Option<&Opened> {
        match self {
            Database::Open(opened, ..) => Some(opened),
            Database::Closed(target) => target.as_ref()?.opened(),
        }
    }

    fn close(self) -> Outcome {
        match self {
            Database::Open(opened, ..) => opened.close(),
            Database::Closed(_) => Ok(()),
        }
    }
}

/// Prints `committed N` for `--ack`.
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
