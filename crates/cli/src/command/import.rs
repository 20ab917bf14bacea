//! `import`: copies the entries of a LevelDB database into a new database. ([`import_rows`] imports
//! rows.)
//!
//! Invariants: the import changes nothing in the LevelDB database. The new database has its name
//! only if every entry was read, written, and read back equal.

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use foldb::{Db, ErrorKind, KeyspaceReader, Options, ReadOnlyDb, WriteBatch, WriteOptions};
use indicatif::{HumanBytes, HumanCount, ProgressBar};
use serde_json::{Value, json};

use crate::args::{Common, Import};
use crate::command::import_rows;
use crate::command::scan::{Walk, once};
use crate::digest::Digest;
use crate::exit::{Exit, Outcome};
use crate::form::json::integer;
use crate::interrupt::Watch;
use crate::leveldb::{Facts, Source};
use crate::location::shown;
use crate::operator::Spec;
use crate::output::Output;
use crate::progress;
use crate::staging::Staging;

/// Bytes of keys and values that fill a batch.
const BATCH_BYTES: u64 = 1 << 20;

pub(super) const TEMPLATE: &str = "{prefix} {wide_bar} {bytes} of {total_bytes}, {elapsed}";

/// Imports, compares, and reports.
pub(super) fn run(args: &Import, common: &Common) -> Outcome {
    if let Some(layout) = args.rows.table.layout(args.from) {
        return import_rows::run(args, layout, common);
    }
    args.rows.check_none()?;
    let merge_operator = match &args.operator {
        Some(text) => Some(Spec::parse(text)?.text().to_owned()),
        None => None,
    };
    check_is_leveldb(&args.src)?;
    let started = Instant::now();
    let watch = Watch::start();
    let staging = Staging::begin(&args.dst, &args.src)?;
    let mut source = Source::open(&args.src)?;
    let facts = *source.facts();
    let mut options = common.options();
    options.default.merge_operator = merge_operator;
    let read = write(&mut source, &staging.path(), &options, &watch)?;
    source.check_unchanged()?;
    compare(&read, &staging.path(), options, &watch)?;
    staging.finish()?;
    report(&read, &facts, started, common)
}

/// Refuses everything but a LevelDB database, by name if the engine knows it.
fn check_is_leveldb(src: &Path) -> Outcome {
    let name = shown(src);
    if src.metadata().is_ok_and(|found| !found.is_dir()) {
        return Err(Exit::failed(format!(
            "{name} is not a LevelDB database: it is a file, not a directory"
        )));
    }
    match ReadOnlyDb::open(src, Options { allow_unresolved_operators: true, ..Options::default() })
    {
        Ok(_) => Err(Exit::failed(format!(
            "{name} is a foldb database already: to copy it, use foldb checkpoint"
        ))),
        Err(error) if error.kind() == ErrorKind::ForeignDatabase => {
            if !src.join("CURRENT").exists() {
                return Err(Exit::failed(format!(
                    "{name} has files of LevelDB, but no CURRENT: repair the database with LevelDB \
                     first"
                )));
            }
            match error.to_string().contains("RocksDB") {
                true => Err(error.into()),
                false => Ok(()),
            }
        }
        Err(error) if !src.is_dir() => {
            Err(Exit::failed(format!("there is no LevelDB database at {name}: {error}")))
        }
        Err(_) => Err(Exit::failed(format!("{name} is not a LevelDB database"))),
    }
}

/// Copies all entries, and returns what was read.
fn write(source: &mut Source, to: &Path, options: &Options, watch: &Watch) -> Outcome<Digest> {
    let create = Options { create_if_missing: true, error_if_exists: true, ..options.clone() };
    let db = Db::open(to, create)?;
    let facts = source.facts();
    let bar = progress::bar(facts.table_bytes + facts.log_bytes, "importing", TEMPLATE);
    let mut batch = WriteBatch::new();
    let mut digest = Digest::default();
    let mut pending = 0;
    // The import is repeated after a crash, so nothing needs a log.
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    while source.advance()? {
        let (key, value) = (source.key(), source.value());
        digest.add(key, value);
        batch.put(key, value);
        pending += (key.len() + value.len()) as u64;
        if pending >= BATCH_BYTES {
            db.with(&unlogged).write(&batch)?;
            batch.clear();
            bar.set_position(digest.bytes());
            pending = 0;
            check_interrupt(watch)?;
        }
    }
    db.with(&unlogged).write(&batch)?;
    bar.finish_and_clear();
    db.flush()?;
    db.close()?;
    Ok(digest)
}

/// Reads the new database, and compares it with what was read before.
fn compare(read: &Digest, path: &Path, options: Options, watch: &Watch) -> Outcome {
    let db = ReadOnlyDb::open(path, options)?;
    let bar = progress::bar(read.bytes(), "comparing", TEMPLATE);
    let found = digest_of(db.default_keyspace(), &bar, watch)?;
    bar.finish_and_clear();
    db.close()?;
    match read.difference(&found) {
        None => Ok(()),
        Some(difference) => Err(Exit::failed(format!(
            "the new database differs from the old one, so it was removed: {difference}"
        ))),
    }
}

/// Reads all entries of a keyspace.
fn digest_of(keyspace: &KeyspaceReader, bar: &ProgressBar, watch: &Watch) -> Outcome<Digest> {
    let entries = keyspace.with(&once()).iter()?;
    let mut digest = Digest::default();
    Walk { entries, reverse: false, limit: u64::MAX }.each(|entries| {
        digest.add(entries.key(), entries.value()?);
        bar.set_position(digest.bytes());
        check_interrupt(watch)
    })?;
    Ok(digest)
}

/// Ends the command after Ctrl-C. Dropping the staged directory removes it.
pub(super) fn check_interrupt(watch: &Watch) -> Outcome {
    match watch.interrupted() {
        false => Ok(()),
        true => Err(Exit::Interrupted("interrupted; the new database was removed".to_owned())),
    }
}

fn report(read: &Digest, facts: &Facts, started: Instant, common: &Common) -> Outcome {
    if common.json {
        let mut output = Output::new();
        output.json(&to_json(read, facts))?;
        return output.flush();
    }
    let mut err = io::stderr();
    if facts.tail_bytes > 0 {
        let bytes = facts.tail_bytes;
        let _ = writeln!(
            err,
            "the newest log ends with {bytes} bytes of an incomplete write, which LevelDB leaves \
             out, too"
        );
    }
    let _ = writeln!(
        err,
        "imported {} entries ({}) in {:.1} s; all keys and values were read back and are equal",
        HumanCount(read.entries()),
        HumanBytes(read.bytes()),
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

fn to_json(read: &Digest, facts: &Facts) -> Value {
    json!({
        "entries": integer(read.entries()),
        "bytes": integer(read.bytes()),
        "checksum": read.checksum(),
        "tables": integer(facts.tables),
        "table_bytes": integer(facts.table_bytes),
        "logs": integer(facts.logs),
        "log_bytes": integer(facts.log_bytes),
        "tail_bytes": integer(facts.tail_bytes),
    })
}
