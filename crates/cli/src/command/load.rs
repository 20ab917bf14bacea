//! `load`: loads the output of `dump` or `scan` into a database.
//!
//! The first line tells which of the two the input is. A dump becomes a new, equal database
//! ([`super::restore`]). Entries from `scan` are put into one keyspace. A scan of the result prints
//! the loaded lines again, for all bytes, in both forms (`key<TAB>value` and JSON).

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::PathBuf;

use foldb::Options;
use foldb::expiry::Expires;
use foldb::operators::TextForm;
use indicatif::HumanCount;

use crate::args::{Common, Load};
use crate::command::dump_text::Header;
use crate::command::ends;
use crate::command::restore_text::{Note, Restore};
use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;
use crate::form::{Form, KeyFormat, ValueFormat, json};
use crate::ingest::{Destination, Entry, Line, Sink, ingest};
use crate::keyspace::{self, Opened};
use crate::location::{Location, shown};
use crate::operator::Spec;

/// Runs the command.
pub(super) fn run(args: &Load, common: &Common) -> Outcome {
    ends::check_default(&args.ends, &args.within.keyspace)?;
    let target = Target::find(args, common.options())?;
    if let State::Open(opened) = &target.state {
        ends::check(&args.ends, opened)?;
    }
    let value = common.value_format.resolve(target.operator_text());
    if value.shows_summary() {
        return Err(Exit::usage(format!(
            "scan shows only a summary of {} values: give --as hex to scan and to load",
            value.name()
        )));
    }
    let expires = args.ends.expires;
    let is_plain = args.operator.is_none()
        && common.value_format == ValueFormat::Auto
        && common.key_format == KeyFormat::Utf8;
    let entries = Entries { key: common.key_form(), value, json: common.json };
    let mut loading = Loading { target, entries, expires, is_plain, begun: false, restore: None };
    let ingested = ingest(&args.files, &mut loading);
    let ingested = ingested.map_err(|failed| match &loading.restore {
        Some(_) => failed.and(&format!("; {} is incomplete", shown(&args.db))),
        None => failed,
    })?;
    match loading.restore {
        Some(restore) => restore.close()?,
        None => loading.target.close()?,
    }
    let _ = writeln!(io::stderr(), "{}", ingested.summary("loaded"));
    Ok(())
}

struct Loading {
    target: Target,
    entries: Entries,
    expires: Option<Expires>,
    /// Whether no flag sets the form of entries.
    is_plain: bool,
    /// Whether a line was read: only the first one begins a dump.
    begun: bool,
    /// The new database, when the input is a dump.
    restore: Option<Restore>,
}

/// The form of the entries from `scan`.
struct Entries {
    key: Form,
    value: Form,
    json: bool,
}

impl Sink for Loading {
    const DOING: &'static str = "loading";
    /// A dump that was cut off inside a value would otherwise pass for a shorter value.
    const NEEDS_NEWLINE: bool = true;

    type Note = Note;

    fn line<'a>(&mut self, line: &'a [u8]) -> Result<Line<'a, Note>, String> {
        if let Some(restore) = &mut self.restore {
            return restore.line(line);
        }
        let is_first = !std::mem::replace(&mut self.begun, true);
        if is_first && line.starts_with(b"dmp/fold") {
            return Err("this dump is not text: foldb restore reads it".to_owned());
        }
        if is_first && let Some(header) = Header::read(line) {
            return header.map(|header| Line::Note(Note::Header(header)));
        }
        self.entries.read(line).map(Line::Entry)
    }

    fn obey(&mut self, note: Note) -> Result<(), String> {
        match (note, &mut self.restore) {
            (Note::Header(header), _) => {
                let target = &self.target;
                if !matches!(target.state, State::Missing) {
                    let db = shown(&target.path);
                    return Err(format!("a dump makes a new database, but {db} exists already"));
                }
                if !self.is_plain {
                    return Err("a dump defines its own form: leave out --operator, --as and \
                                --key-format"
                        .to_owned());
                }
                let restore = Restore::begin(&target.path, &header, &target.options);
                self.restore = Some(restore.map_err(Exit::message)?);
                Ok(())
            }
            (note, Some(restore)) => restore.obey(note),
            (_, None) => Ok(()),
        }
    }

    fn finish(&self) -> Result<(), String> {
        self.restore.as_ref().map_or(Ok(()), Restore::finish)
    }

    fn open(&mut self) -> Outcome<Destination<'_>> {
        let opened = match &self.restore {
            Some(restore) => restore.opened(),
            None => self.target.open()?,
        };
        Ok(Destination { opened, operator: None, progresses: None, expires: self.expires })
    }

    fn kept(&self, lines: u64) -> String {
        match lines {
            0 => "nothing is loaded".to_owned(),
            1 => "the line before it is loaded".to_owned(),
            more => format!("the {} lines before it are loaded", HumanCount(more)),
        }
    }
}

impl Entries {
    fn read<'a>(&self, line: &'a [u8]) -> Result<Entry<'a>, String> {
        let of_key = |why| format!("the key: {why}");
        let of_value = |why| format!("the value: {why}");
        if self.json {
            let json::Entry { key, value } = json::entry(line)?;
            return Ok(Entry {
                key: Cow::Owned(json::parse(self.key, &key).map_err(of_key)?),
                value: Cow::Owned(json::parse(self.value, &value).map_err(of_value)?),
            });
        }
        let mut tabs = memchr::memchr_iter(b'\t', line);
        let tab = tabs.next().ok_or("expected a key, a TAB and a value, found no TAB")?;
        if tabs.next().is_some() {
            return Err("expected one TAB, found more (inside a key or value it is \\t)".to_owned());
        }
        Ok(Entry {
            key: self.key.parse_escaped(&line[..tab]).map_err(of_key)?,
            value: self.value.parse_escaped(&line[tab + 1..]).map_err(of_value)?,
        })
    }
}

/// The keyspace, or the path at which it will be created.
struct Target {
    path: PathBuf,
    keyspace: String,
    options: Options,
    /// The operator that becomes the default.
    fix: Option<Spec>,
    state: State,
}

/// State of the target. Nothing is written before it is open.
enum State {
    Open(Opened),
    Closed,
    Missing,
}

impl Target {
    /// Looks at the path, and opens the keyspace if it exists.
    fn find(args: &Load, options: Options) -> Outcome<Target> {
        let mut fix = args.operator.as_deref().map(Spec::parse).transpose()?;
        let (path, keyspace) = (&args.db, &args.within.keyspace);
        let state = match Location::of(path)? {
            Location::Free => {
                keyspace::check_new(path, keyspace)?;
                State::Missing
            }
            Location::Database => {
                let opened = Opened::open(path, keyspace, options.clone())?;
                if fixes(&opened, fix.as_ref())? {
                    opened.close()?;
                    State::Closed
                } else {
                    fix = None;
                    State::Open(opened)
                }
            }
        };
        Ok(Target { path: path.clone(), keyspace: keyspace.clone(), options, fix, state })
    }

    /// Returns the text form of its operator.
    fn operator_text(&self) -> Option<TextForm> {
        match (&self.fix, &self.state) {
            (Some(spec), _) => Some(spec.text_form()),
            (None, State::Open(opened)) => opened.operator_text(),
            (None, State::Closed | State::Missing) => None,
        }
    }

    fn open(&mut self) -> Outcome<&Opened> {
        if !matches!(self.state, State::Open(_)) {
            let mut options = self.options.clone();
            options.default.merge_operator = self.fix.as_ref().map(|spec| spec.text().to_owned());
            self.state = State::Open(match self.state {
                State::Missing => Opened::create(&self.path, &self.keyspace, options)?,
                _ => Opened::open(&self.path, &self.keyspace, options)?,
            });
        }
        match &self.state {
            State::Open(opened) => Ok(opened),
            State::Closed | State::Missing => unreachable!("opened above"),
        }
    }

    fn close(self) -> Outcome {
        match self.state {
            State::Open(opened) => opened.close(),
            State::Closed | State::Missing => Ok(()),
        }
    }
}

/// Whether the operator of `--operator` becomes the default of the keyspace.
///
/// # Errors
/// Fails if the keyspace has another operator, or cannot get one any more.
fn fixes(opened: &Opened, asked: Option<&Spec>) -> Outcome<bool> {
    let Some(asked) = asked else { return Ok(false) };
    let name = opened.keyspace.name();
    let default = opened.keyspace.default_operator().map(|operator| operator.spec());
    if default.as_deref() == Some(asked.text()) {
        return Ok(false);
    }
    if default.is_none() {
        if let Some(missing) = opened.missing_operator() {
            return Err(missing);
        }
        if name == keyspace::DEFAULT {
            return Ok(true);
        }
    }
    let name = quoted(name.as_bytes());
    let operator = default.unwrap_or_else(|| "none".to_owned());
    Err(Exit::failed(format!(
        "the operator of keyspace {name} is already {operator}: leave out --operator"
    )))
}
