//! `export`: copies the entries of a keyspace into a new LevelDB database. ([`export_rows`] exports
//! rows.)
//!
//! Invariants: the export refuses what LevelDB cannot hold, so nothing is lost silently. The new
//! database has its name only if every entry was written and read back equal.

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use foldb::KeyspaceReader;
use foldb::custom::{BytewiseComparator, Comparator};
use indicatif::{HumanBytes, HumanCount};
use serde_json::{Value, json};

use crate::args::{Common, Export, Foreign};
use crate::command::import_entries::{TEMPLATE, check_interrupt};
use crate::command::scan::{Walk, once};
use crate::command::{export_rocksdb, export_rows};
use crate::digest::Digest;
use crate::exit::{Exit, Outcome};
use crate::foreign::Stream;
use crate::form::escape::quoted;
use crate::form::json::integer;
use crate::interrupt::Watch;
use crate::keyspace::{DEFAULT, Shown};
use crate::leveldb::{Source, Target, Written};
use crate::location::{self, shown};
use crate::output::{Output, key_in_message};
use crate::progress;
use crate::staging::Staging;

/// Exports, compares, and reports.
pub(super) fn run(args: &Export, common: &Common) -> Outcome {
    if let Some(layout) = args.rows.table.layout(args.to) {
        return export_rows::run(args, layout, common);
    }
    args.rows.check_none()?;
    match args.to {
        Foreign::RocksDbSst => return export_rocksdb::run(args, common),
        Foreign::RocksDb | Foreign::LdbDump => {
            return Err(Exit::usage(
                "--to rocksdb: an export makes tables that RocksDB ingests, with --to rocksdb-sst",
            ));
        }
        _ => {}
    }
    let started = Instant::now();
    let db = location::open_to_read(&args.db, common.options())?;
    let name = args.keyspace.as_deref().unwrap_or(DEFAULT);
    let opened = Shown::of(db, &args.db, name)?;
    check_nothing_is_lost(args, &opened)?;
    let watch = Watch::start();
    let staging = Staging::begin(&args.dst, &args.db)?;
    let path = staging.path();
    let (read, written) = write(&opened.keyspace, &path, common, &watch)?;
    compare(&read, &path, &watch)?;
    opened.close()?;
    staging.finish()?;
    report(&read, &written, started, common)
}

/// Refuses keyspaces that the export would leave out, and an order that LevelDB lacks.
fn check_nothing_is_lost(args: &Export, opened: &Shown) -> Outcome {
    let all = opened.db.keyspaces();
    if args.keyspace.is_none()
        && let others = all.iter().filter(|name| *name != DEFAULT)
        && let Some(other) = others.clone().next()
    {
        return Err(Exit::failed(format!(
            "{} has {} keyspaces besides {DEFAULT}, such as {}, and a LevelDB database has none: \
             export each with --keyspace NAME",
            shown(&args.db),
            others.count(),
            quoted(other.as_bytes())
        )));
    }
    let comparator = opened.keyspace.comparator().name();
    if comparator == BytewiseComparator.name() {
        return Ok(());
    }
    Err(Exit::failed(format!(
        "the comparator {} orders keyspace {}: an export takes only keyspaces that are ordered by \
         the bytes of their keys",
        quoted(comparator.as_bytes()),
        quoted(opened.keyspace.name().as_bytes())
    )))
}

/// Writes all entries, and returns what was read.
fn write(
    keyspace: &KeyspaceReader,
    path: &Path,
    common: &Common,
    watch: &Watch,
) -> Outcome<(Digest, Written)> {
    std::fs::create_dir(path)
        .map_err(|error| Exit::failed(format!("cannot create {}: {error}", shown(path))))?;
    let spinner = progress::spinner(
        "exporting",
        "{prefix} {spinner} {human_pos} entries, {per_sec}, {elapsed}",
    );
    let mut target = Target::new(path);
    let mut digest = Digest::default();
    let entries = keyspace.with(&once()).iter()?;
    Walk { entries, reverse: false, limit: u64::MAX }.each(|entries| {
        let key = entries.key();
        let value = entries.value().map_err(|error| {
            let key = key_in_message(common.key_form(), key);
            Exit::failed(format!(
                "{key}: {error}; LevelDB holds no operands, so nothing was exported"
            ))
        })?;
        digest.add(key, value);
        target.add(key, value)?;
        spinner.set_position(digest.entries());
        check_interrupt(watch)
    })?;
    let written = target.finish()?;
    spinner.finish_and_clear();
    Ok((digest, written))
}

/// Reads the new database, and compares it with what was read before.
fn compare(read: &Digest, path: &Path, watch: &Watch) -> Outcome {
    let bar = progress::bar(read.bytes(), "comparing", TEMPLATE);
    let mut source = Source::open(path)?;
    let mut found = Digest::default();
    while source.advance()? {
        found.add(source.key(), source.base().unwrap_or_default());
        bar.set_position(found.bytes());
        check_interrupt(watch)?;
    }
    bar.finish_and_clear();
    match read.difference(&found) {
        None => Ok(()),
        Some(difference) => Err(Exit::failed(format!(
            "the new database differs from the old one, so it was removed: {difference}"
        ))),
    }
}

fn report(read: &Digest, written: &Written, started: Instant, common: &Common) -> Outcome {
    if common.json {
        let mut output = Output::new();
        output.json(&to_json(read, written))?;
        return output.flush();
    }
    let _ = writeln!(
        io::stderr(),
        "exported {} entries ({}) in {:.1} s; all keys and values were read back and are equal",
        HumanCount(read.entries()),
        HumanBytes(read.bytes()),
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

fn to_json(read: &Digest, written: &Written) -> Value {
    json!({
        "entries": integer(read.entries()),
        "bytes": integer(read.bytes()),
        "checksum": read.checksum(),
        "tables": integer(written.tables),
        "table_bytes": integer(written.table_bytes),
    })
}
