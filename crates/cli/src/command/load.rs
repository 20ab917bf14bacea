//! `load`: what `scan` printed, back into a database.
//!
//! Together they are dump and restore: scanning what was loaded prints what was read, for whatever
//! bytes, in both forms (`key<TAB>value` and JSON). Values are stored as puts.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::PathBuf;

use foldb::{Options, TextForm};
use indicatif::HumanCount;

use crate::args::{Common, Load};
use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;
use crate::form::{Form, json};
use crate::ingest::{Destination, Entry, Sink, ingest};
use crate::keyspace::{self, Opened};
use crate::location::Location;
use crate::operator::Spec;

/// Loads what is read.
pub fn run(args: &Load, common: &Common) -> Outcome {
    let target = Target::find(args, common.options())?;
    let value = common.value_format.resolve(target.operator_text());
    if value == Form::Sketch {
        return Err(Exit::usage(
            "of a sketch scan shows the estimate only: give --as hex to scan and to load",
        ));
    }
    let mut loading = Loading { target, key: common.key_form(), value, json: common.json };
    let ingested = ingest(&args.files, &mut loading)?;
    loading.target.close()?;
    let _ = writeln!(io::stderr(), "{}", ingested.summary("loaded"));
    Ok(())
}

struct Loading {
    target: Target,
    key: Form,
    value: Form,
    json: bool,
}

impl Sink for Loading {
    const DOING: &'static str = "loading";
    /// A dump that was cut off inside a value would otherwise pass for a shorter value.
    const NEEDS_NEWLINE: bool = true;

    fn entry<'a>(&self, line: &'a [u8]) -> Result<Entry<'a>, String> {
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

    fn open(&mut self) -> Outcome<Destination<'_>> {
        Ok(Destination { opened: self.target.open()?, operator: None, progresses: None })
    }

    fn kept(&self, lines: u64) -> String {
        match lines {
            0 => "nothing is loaded".to_owned(),
            1 => "the line before it is loaded".to_owned(),
            more => format!("the {} lines before it are loaded", HumanCount(more)),
        }
    }
}

/// The keyspace, or the place for it.
struct Target {
    path: PathBuf,
    keyspace: String,
    options: Options,
    /// The operator that is to become the default.
    fix: Option<Spec>,
    state: State,
}

/// Nothing is written before it is open.
enum State {
    Open(Opened),
    Closed,
    Missing,
}

impl Target {
    /// Finds out what stands there.
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

    /// How the values of its operator are written.
    fn operator_text(&self) -> Option<TextForm> {
        match (&self.fix, &self.state) {
            (Some(spec), _) => Some(spec.text_form()),
            (None, State::Open(opened)) => opened.operator_text(),
            (None, State::Closed | State::Missing) => None,
        }
    }

    fn open(&mut self) -> Outcome<&Opened> {
        if !matches!(self.state, State::Open(_)) {
            let merge_operator = self.fix.as_ref().map(|spec| spec.text().to_owned());
            let options = Options { merge_operator, ..self.options.clone() };
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

/// Whether the operator that was asked for becomes the default of what is there.
///
/// # Errors
/// Failed where it has another one, or can get none any more.
fn fixes(opened: &Opened, asked: Option<&Spec>) -> Outcome<bool> {
    let name = opened.keyspace.name();
    match (opened.keyspace.default_operator(), asked) {
        (_, None) => Ok(false),
        (Some(default), Some(asked)) if default.spec() == asked.text() => Ok(false),
        (None, Some(_)) if name == keyspace::DEFAULT => Ok(true),
        (default, Some(_)) => {
            let name = quoted(name.as_bytes());
            let operator = default.map_or_else(|| "none".to_owned(), |operator| operator.spec());
            Err(Exit::failed(format!(
                "the operator of keyspace {name} is {operator} already: leave --operator out"
            )))
        }
    }
}
