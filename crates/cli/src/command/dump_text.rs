//! `dump --text`: prints a whole database as text, from which `load` makes an equal database.
//!
//! ```text
//! {"foldb_dump":1,"keyspaces":[{"name":"default","operator":"uint64add",…},…]}
//! {"keyspace":"default"}
//! {"key":"a","value":2}
//! {"end":1}
//! ```
//!
//! Invariant: the same entries and keyspaces give the same dump, and no bytes are lost. The last
//! line proves that the dump is complete.

use std::sync::Arc;

use foldb::custom::{BytewiseComparator, Comparator};
use foldb::{KeyspaceOptions, KeyspaceReader, Options};
use serde::{Deserialize, Serialize};

use crate::args::{Common, Dump};
use crate::command::dump::incomplete;
use crate::command::keyspaces::check_name;
use crate::command::scan::{Tally, Walk, once, value_of};
use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;
use crate::form::{Form, json};
use crate::keyspace::{DEFAULT, Shown};
use crate::location;
use crate::operator::Spec;
use crate::output::{EntryStyle, Output};

/// The version of the format: this program writes it, and reads no newer version.
const VERSION: u64 = 1;

/// The first line.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    foldb_dump: u64,
    /// All keyspaces, in the order of their names.
    pub keyspaces: Vec<Described>,
}

/// How to create a keyspace. `default` has no options here, because each open sets them.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Described {
    /// Its name.
    pub name: String,
    operator: Option<String>,
    comparator: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    options: Option<Settings>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    compression: String,
    bloom_bits: u32,
    compaction: String,
    value_separation_min: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expiry: Option<String>,
}

/// The line before the entries of a keyspace.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Section {
    /// Its name.
    pub keyspace: String,
}

/// The last line.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    /// Entries of all keyspaces.
    pub end: u64,
}

/// Prints a database.
pub(super) fn run(args: &Dump, common: &Common) -> Outcome {
    print_all(args, common).map_err(incomplete)
}

fn print_all(args: &Dump, common: &Common) -> Outcome {
    let db = location::open_to_read(&args.db, common.options())?;
    let names = db.keyspaces().into_iter();
    let all = names.map(|name| Shown::of(db.clone(), &args.db, &name));
    let all = all.collect::<Outcome<Vec<_>>>()?;
    let mut output = Output::new();
    let keyspaces = all.iter().map(|own| Described::of(&own.keyspace)).collect();
    output.json(&Header { foldb_dump: VERSION, keyspaces })?;
    let mut tally = Tally::new(args.skip_failed);
    for own in &all {
        let printed = print(own, &mut tally, &mut output);
        // Print the entries before a bad one.
        output.flush()?;
        printed?;
    }
    output.json(&End { end: tally.printed() })?;
    output.flush()?;
    tally.finish()?;
    Ok(db.close()?)
}

fn print(own: &Shown, tally: &mut Tally, output: &mut Output) -> Outcome {
    let form = own.operator_text().map_or(Form::Utf8, Form::from);
    let style = EntryStyle { key: Form::Utf8, value: form, or_text: true, json: true, types: None };
    output.json(&Section { keyspace: own.keyspace.name().to_owned() })?;
    let entries = own.keyspace.with(&once()).iter()?;
    Walk { entries, reverse: false, limit: u64::MAX }.each(|entries| {
        let printed = value_of(entries, &style).and_then(|value| {
            let key = json::exact(Form::Utf8, entries.key());
            output.json(&json::Entry { key, value: json::exact(form, value) })
        });
        tally.note(printed)
    })
}

impl Header {
    /// Parses a line as a header. Returns `None` if the line is no header.
    ///
    /// # Errors
    /// A message for a header whose keyspaces cannot be created.
    pub(super) fn read(line: &[u8]) -> Option<Result<Header, String>> {
        let object: serde_json::Value = serde_json::from_slice(line).ok()?;
        let version = object.get("foldb_dump")?;
        if version.as_u64() != Some(VERSION) {
            return Some(Err(format!(
                "expected a dump of version {VERSION}, found {version}: load it with a newer foldb"
            )));
        }
        let header = serde_json::from_value(object).map_err(|error| error.to_string());
        Some(header.and_then(|header: Header| header.check().map(|()| header)))
    }

    /// Checks the header before the restore creates anything.
    fn check(&self) -> Result<(), String> {
        let mut names: Vec<&str> = self.keyspaces.iter().map(|own| own.name.as_str()).collect();
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("keyspace {} is listed twice", quoted(twice[0].as_bytes())));
        }
        if names.binary_search(&DEFAULT).is_err() {
            return Err(format!("expected a keyspace '{DEFAULT}', found none"));
        }
        self.keyspaces.iter().try_for_each(|own| {
            own.check().map_err(|why| format!("keyspace {}: {why}", quoted(own.name.as_bytes())))
        })
    }
}

impl Described {
    fn of(keyspace: &KeyspaceReader) -> Described {
        let options = keyspace.options();
        let settings = || {
            Some(Settings {
                compression: options.compression?.name().to_owned(),
                bloom_bits: options.bloom_bits?,
                compaction: options.compaction?.name().to_owned(),
                value_separation_min: options.value_separation_min.filter(|&min| min < usize::MAX),
                expiry: options.expiry.map(|expiry| expiry.to_string()),
            })
        };
        Described {
            name: keyspace.name().to_owned(),
            comparator: keyspace.comparator().name().to_owned(),
            options: if keyspace.name() == DEFAULT { None } else { settings() },
            schema: options.schema,
            operator: options.merge_operator,
        }
    }

    fn check(&self) -> Result<(), String> {
        let words = |exit: Exit| exit.message();
        check_name(&self.name).map_err(words)?;
        self.operator_spec().map_err(words)?;
        if self.comparator != BytewiseComparator.name() {
            let comparator = quoted(self.comparator.as_bytes());
            return Err(format!(
                "there is no comparator {comparator}: load it with a program that has it"
            ));
        }
        let own = self.options().map_err(|error| error.to_string())?;
        let default = KeyspaceOptions { merge_operator: None, expiry: None, ..own };
        let options = Options { default, ..Options::default() };
        options.validate().map_err(|error| error.to_string())
    }

    /// Returns its operator.
    pub(super) fn operator_spec(&self) -> Outcome<Option<Spec>> {
        self.operator.as_deref().map(Spec::parse).transpose()
    }

    /// Returns its schema.
    pub(super) fn schema(&self) -> Option<&str> {
        self.schema.as_deref()
    }

    /// Returns the options with which to create it.
    pub(super) fn options(&self) -> foldb::Result<KeyspaceOptions> {
        let mut options = KeyspaceOptions {
            merge_operator: self.operator.clone(),
            schema: self.schema.clone(),
            comparator: Some(Arc::new(BytewiseComparator)),
            ..KeyspaceOptions::default()
        };
        if let Some(settings) = &self.options {
            options.compression = Some(settings.compression.parse()?);
            options.bloom_bits = Some(settings.bloom_bits);
            options.compaction = Some(settings.compaction.parse()?);
            options.value_separation_min = settings.value_separation_min;
            options.expiry = settings.expiry.as_deref().map(str::parse).transpose()?;
        }
        Ok(options)
    }
}
