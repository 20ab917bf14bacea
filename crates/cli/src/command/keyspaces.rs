//! `keyspaces`: lists, creates and drops keyspaces.

use std::time::Duration;

use foldb::expiry::Expiry;
use foldb::stats::KeyspaceStats;
use foldb::{KeyspaceOptions, Options, ReadOnlyDb};
use indicatif::{HumanBytes, HumanCount};
use serde_json::json;

use crate::args::{Common, Keyspaces};
use crate::columns::{Side, align};
use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;
use crate::form::json::integer;
use crate::ingest::Progresses;
use crate::keyspace::Opened;
use crate::location::{self, Location};
use crate::operator::Spec;
use crate::output::Output;

/// The name for "no operator".
const NO_OPERATOR: &str = "none";
/// The name for "no schema".
const NO_SCHEMA: &str = "none";
/// The name for "entries never expire".
const NO_EXPIRY: &str = "never";

/// Runs the command.
pub(super) fn run(args: &Keyspaces, common: &Common) -> Outcome {
    if let (Some(name), Some(seconds)) = (&args.set_lifetime, args.lifetime) {
        return set_lifetime(args, name, Duration::from_secs(seconds), common.options());
    }
    match (&args.create, &args.unset_operator, &args.drop) {
        (Some(name), _, _) => create(args, name, common.options()),
        (None, Some(name), _) => unset_operator(args, name, common.options()),
        (None, None, Some(name)) => drop_one(args, name, common.options()),
        (None, None, None) => list(args, common),
    }
}

fn create(args: &Keyspaces, name: &str, options: Options) -> Outcome {
    let without = args.operator.as_deref() == Some(NO_OPERATOR);
    let operator = args.operator.as_deref().filter(|_| !without).map(Spec::parse).transpose()?;
    let own = KeyspaceOptions {
        merge_operator: operator.map(|spec| spec.text().to_owned()),
        value_separation_min: args.separate,
        expiry: args.expiry,
        ..KeyspaceOptions::default()
    };
    check_name(name)?;
    let db = match Location::of(&args.db)? {
        Location::Database => location::open(&args.db, options)?,
        Location::Free => location::create(&args.db, options)?,
    };
    if db.keyspaces().iter().any(|known| known == name) {
        let (name, db) = (quoted(name.as_bytes()), location::shown(&args.db));
        return Err(Exit::failed(format!("there is already a keyspace {name} in {db}")));
    }
    // Any stored progress of counts belongs to an earlier keyspace of this name.
    Progresses::forget(&db, name)?;
    let created = db.create_keyspace(name, own)?;
    if without {
        created.unset_default_operator()?;
    }
    Ok(db.close()?)
}

/// Checks a name before a database is created for it.
pub(super) fn check_name(name: &str) -> Outcome {
    if name.is_empty() || name.len() > 255 || name.chars().any(char::is_control) {
        let name = quoted(name.as_bytes());
        return Err(Exit::usage(format!(
            "a keyspace cannot be called {name}: expected 1 to 255 bytes without control characters"
        )));
    }
    Ok(())
}

fn unset_operator(args: &Keyspaces, name: &str, options: Options) -> Outcome {
    let opened = Opened::open(&args.db, name, options)?;
    opened.keyspace.unset_default_operator()?;
    opened.close()
}

fn set_lifetime(args: &Keyspaces, name: &str, lifetime: Duration, options: Options) -> Outcome {
    let opened = Opened::open(&args.db, name, options)?;
    opened.keyspace.set_lifetime(lifetime)?;
    opened.close()
}

fn drop_one(args: &Keyspaces, name: &str, options: Options) -> Outcome {
    let opened = Opened::open(&args.db, name, options)?;
    opened.db.drop_keyspace(name)?;
    Progresses::forget(&opened.db, name)?;
    opened.close()
}

fn list(args: &Keyspaces, common: &Common) -> Outcome {
    let db = location::open_to_read(&args.db, common.options())?;
    let stats = db.stats();
    let rows = stats.keyspaces.iter().map(|own| Row::of(&db, own)).collect::<Outcome<Vec<_>>>()?;
    let mut output = Output::new();
    if common.json {
        for row in &rows {
            output.json(&row.to_json())?;
        }
    } else {
        output.text(&table(&rows))?;
    }
    output.flush()?;
    Ok(db.close()?)
}

struct Row {
    name: String,
    operator: Option<String>,
    comparator: String,
    expiry: Option<Expiry>,
    schema: Option<String>,
    memtable_bytes: u64,
    table_bytes: u64,
    runs: u64,
}

impl Row {
    fn of(db: &ReadOnlyDb, stats: &KeyspaceStats) -> Outcome<Row> {
        let keyspace = db.keyspace(&stats.name)?;
        let options = keyspace.options();
        Ok(Row {
            name: stats.name.clone(),
            operator: options.merge_operator,
            comparator: keyspace.comparator().name().to_owned(),
            expiry: options.expiry,
            schema: options.schema,
            memtable_bytes: stats.memtable_bytes,
            table_bytes: stats.levels.iter().map(|level| level.bytes).sum(),
            runs: stats.levels.iter().map(|level| level.runs).sum(),
        })
    }

    fn to_json(&self) -> serde_json::Value {
        json!({
            "name": self.name,
            "operator": self.operator,
            "comparator": self.comparator,
            "expiry": self.expiry.map(|expiry| expiry.to_string()),
            "schema": self.schema,
            "memtable_bytes": integer(self.memtable_bytes),
            "table_bytes": integer(self.table_bytes),
            "runs": integer(self.runs),
        })
    }
}

fn table(rows: &[Row]) -> String {
    let heading = ["NAME", "OPERATOR", "COMPARATOR", "EXPIRY", "IN MEMORY", "IN TABLES", "RUNS"];
    let mut lines = vec![heading.map(str::to_owned).to_vec()];
    let has_schemas = rows.iter().any(|row| row.schema.is_some());
    lines[0].extend(has_schemas.then(|| "SCHEMA".to_owned()));
    lines.extend(rows.iter().map(|row| {
        let schema = row.schema.clone().unwrap_or_else(|| NO_SCHEMA.to_owned());
        let mut cells = vec![
            row.name.clone(),
            row.operator.clone().unwrap_or_else(|| NO_OPERATOR.to_owned()),
            row.comparator.clone(),
            row.expiry.map_or_else(|| NO_EXPIRY.to_owned(), |expiry| expiry.to_string()),
            HumanBytes(row.memtable_bytes).to_string(),
            HumanBytes(row.table_bytes).to_string(),
            HumanCount(row.runs).to_string(),
        ];
        cells.extend(has_schemas.then_some(schema));
        cells
    }));
    let (left, right) = (Side::Left, Side::Right);
    align("", &[left, left, left, left, right, right, right, left], &lines)
}
