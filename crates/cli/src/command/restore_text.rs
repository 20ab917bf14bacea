//! Loads a dump as text into a new database that is equal to the dumped one.
//!
//! Invariant: a restore checks all keyspaces of the dump before it creates anything. If the last
//! line of the dump is missing, the restore fails, and its error says that the dump was cut off.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use foldb::Options;
use serde::Deserialize;
use serde_json::Value;

use crate::command::dump_text::Header;
use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;
use crate::form::{Form, json};
use crate::ingest::{Entry, Line};
use crate::keyspace::{DEFAULT, Opened};
use crate::location::{self, Location};

/// A line of a dump that is not an entry.
pub(super) enum Note {
    /// The first line.
    Header(Header),
    /// The keyspace of the entries that follow.
    Section(String),
    /// The last line: the number of entries.
    End(u64),
}

/// A database during its restore.
pub(super) struct Restore {
    path: PathBuf,
    /// The keyspace of the current entries.
    opened: Opened,
    /// The form of the values of each keyspace.
    forms: BTreeMap<String, Form>,
    /// The form of the current keyspace; `None` before the first.
    form: Option<Form>,
    /// Entries read.
    entries: u64,
    ended: bool,
}

/// A line after the first one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    key: Option<Value>,
    value: Option<Value>,
    keyspace: Option<String>,
    end: Option<u64>,
}

impl Restore {
    /// Creates the database and its keyspaces.
    ///
    /// # Errors
    /// Fails if the database, a keyspace or an operator cannot be created. If the database exists
    /// by then, the error says that it is incomplete.
    pub(super) fn begin(path: &Path, header: &Header, options: &Options) -> Outcome<Restore> {
        let mut forms = BTreeMap::new();
        let mut default_operator = None;
        let mut options = options.clone();
        for own in &header.keyspaces {
            let spec = own.operator_spec()?;
            let form = spec.as_ref().map_or(Form::Utf8, |spec| Form::from(spec.text_form()));
            forms.insert(own.name.clone(), form);
            if own.name == DEFAULT {
                default_operator = spec.map(|spec| spec.text().to_owned());
                options.default.schema = own.schema().map(str::to_owned);
            }
        }
        let create = || -> Outcome<Opened> {
            // The default keyspace gets its operator last: a keyspace without one would inherit it.
            let mut db = location::create(path, options.clone())?;
            for own in header.keyspaces.iter().filter(|own| own.name != DEFAULT) {
                db.create_keyspace(&own.name, own.options()?)?;
            }
            if default_operator.is_some() {
                db.close()?;
                let mut options = options.clone();
                options.default.merge_operator.clone_from(&default_operator);
                db = location::open(path, options)?;
            }
            Opened::of(db, path, DEFAULT)
        };
        let opened = create().map_err(|failed| match Location::of(path) {
            Ok(Location::Database) => {
                failed.and(&format!("; {} is incomplete", location::shown(path)))
            }
            _ => failed,
        })?;
        let path = path.to_owned();
        Ok(Restore { path, opened, forms, form: None, entries: 0, ended: false })
    }

    /// Parses a line.
    ///
    /// # Errors
    /// A message if the line cannot stand at this place of a dump.
    pub(super) fn line<'a>(&mut self, line: &[u8]) -> Result<Line<'a, Note>, String> {
        if self.ended {
            return Err("expected no line after the last line of the dump".to_owned());
        }
        let written: Written = serde_json::from_slice(line).map_err(|error| {
            let column = error.column();
            let why = error.to_string();
            let why = why.split(" at line ").next().unwrap_or_default();
            format!("expected a line of a dump, but column {column} is wrong: {why}")
        })?;
        match written {
            Written { key: Some(key), value: Some(value), keyspace: None, end: None } => {
                let form =
                    self.form.ok_or("expected the line of a keyspace before its first entry")?;
                let key = json::restored(Form::Utf8, &key).map_err(|why| format!("the key: {why}"));
                let value =
                    json::restored(form, &value).map_err(|why| format!("the value: {why}"))?;
                let entry = Entry { key: Cow::Owned(key?), value: Cow::Owned(value) };
                self.entries += 1;
                Ok(Line::Entry(entry))
            }
            Written { key: None, value: None, keyspace: Some(name), end: None } => {
                Ok(Line::Note(Note::Section(name)))
            }
            Written { key: None, value: None, keyspace: None, end: Some(entries) } => {
                Ok(Line::Note(Note::End(entries)))
            }
            _ => Err("expected a key with its value, a keyspace or the end of the dump".to_owned()),
        }
    }

    /// Applies a line that is not an entry.
    ///
    /// # Errors
    /// A message if the note contradicts other lines.
    pub(super) fn obey(&mut self, note: Note) -> Result<(), String> {
        match note {
            Note::Header(_) => {
                Err("expected one dump, found the first line of a second dump".to_owned())
            }
            Note::Section(name) => {
                let form = self.forms.get(&name).ok_or_else(|| {
                    let name = quoted(name.as_bytes());
                    format!("there is no keyspace {name} in the first line of the dump")
                })?;
                self.form = Some(*form);
                let db = self.opened.db.clone();
                self.opened = Opened::of(db, &self.path, &name).map_err(Exit::message)?;
                Ok(())
            }
            Note::End(expected) if expected != self.entries => {
                Err(format!("expected {expected} entries in the dump, found {}", self.entries))
            }
            Note::End(_) => {
                self.ended = true;
                Ok(())
            }
        }
    }

    /// Checks that the dump is complete.
    ///
    /// # Errors
    /// A message if its last line is missing.
    pub(super) fn finish(&self) -> Result<(), String> {
        if self.ended {
            return Ok(());
        }
        let entries = self.entries;
        Err(format!("the dump was cut off after {entries} entries: its last line is missing"))
    }

    /// Returns the keyspace of the current entries.
    pub(super) fn opened(&self) -> &Opened {
        &self.opened
    }

    /// Closes the database.
    pub(super) fn close(self) -> Outcome {
        self.opened.close()
    }
}
