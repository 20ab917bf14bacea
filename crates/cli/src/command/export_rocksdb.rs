//! `export --to rocksdb-sst`: writes the entries of each keyspace into tables that RocksDB ingests.
//!
//! Invariants: the export refuses what RocksDB cannot hold, so nothing is lost silently. The new
//! directory has its name only if every entry was written and read back equal.

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use foldb::custom::{BytewiseComparator, Comparator};
use foldb::{KeyspaceReader, ReadOnlyDb};
use indicatif::{HumanBytes, HumanCount, ProgressBar};
use serde_json::json;

use crate::args::{Common, Export};
use crate::command::import_entries::check_interrupt;
use crate::command::scan::{Walk, once};
use crate::digest::Digest;
use crate::exit::{Exit, Outcome};
use crate::foreign::Stream;
use crate::form::escape::quoted;
use crate::form::json::integer;
use crate::interrupt::Watch;
use crate::keyspace::{DEFAULT, Shown};
use crate::location::{self, shown};
use crate::output::{Output, key_in_message};
use crate::progress;
use crate::rocksdb::Tables;
use crate::staging::Staging;

/// The tables of a keyspace.
struct Exported {
    keyspace: String,
    directory: String,
    files: Vec<String>,
    digest: Digest,
}

/// Exports, compares, and reports.
pub(super) fn run(args: &Export, common: &Common) -> Outcome {
    let started = Instant::now();
    let db = location::open_to_read(&args.db, common.options())?;
    let keyspaces = chosen(args, &db)?;
    let watch = Watch::start();
    let staging = Staging::begin(&args.dst, &args.db)?;
    let bar = progress::spinner(
        "exporting",
        "{prefix} {spinner} {human_pos} entries, {per_sec}, {elapsed}",
    );
    let mut all = Vec::new();
    for (number, keyspace) in keyspaces.iter().enumerate() {
        let directory = directory_of(keyspace.name(), number);
        let to = staging.path().join(&directory);
        let (files, digest) = write(keyspace, &to, &bar, common, &watch)?;
        let keyspace = keyspace.name().to_owned();
        all.push(Exported { keyspace, directory, files, digest });
    }
    bar.finish_and_clear();
    db.close()?;
    staging.finish()?;
    report(args, &all, started, common)
}

/// Returns the keyspaces to export.
fn chosen(args: &Export, db: &ReadOnlyDb) -> Outcome<Vec<KeyspaceReader>> {
    let names = match &args.keyspace {
        Some(name) => vec![name.clone()],
        None => db.keyspaces().into_iter().collect(),
    };
    let open = |name: &String| Ok(Shown::of(db.clone(), &args.db, name)?.keyspace);
    let all = names.iter().map(open).collect::<Outcome<Vec<_>>>()?;
    let custom =
        all.iter().find(|keyspace| keyspace.comparator().name() != BytewiseComparator.name());
    match custom {
        None => Ok(all),
        Some(keyspace) => Err(Exit::failed(format!(
            "the comparator {} orders keyspace {}: an export takes only keyspaces that are ordered \
             by the bytes of their keys",
            quoted(keyspace.comparator().name().as_bytes()),
            quoted(keyspace.name().as_bytes())
        ))),
    }
}

/// Returns the name of the directory of a keyspace: its own, if any file system takes it.
fn directory_of(keyspace: &str, number: usize) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let is_short = (1..=60).contains(&keyspace.len());
    match is_short && keyspace.bytes().all(is_plain) {
        true => keyspace.to_owned(),
        false => format!("keyspace.{number}"),
    }
}

/// Writes all entries, and compares them with what is read back.
fn write(
    keyspace: &KeyspaceReader,
    to: &Path,
    bar: &ProgressBar,
    common: &Common,
    watch: &Watch,
) -> Outcome<(Vec<String>, Digest)> {
    let begun = bar.position();
    let mut tables = Tables::create(to)?;
    let mut written = Digest::default();
    let entries = keyspace.with(&once()).iter()?;
    Walk { entries, reverse: false, limit: u64::MAX }.each(|entries| {
        let key = entries.key();
        let value = entries.value().map_err(|error| {
            let key = key_in_message(common.key_form(), key);
            Exit::failed(format!("{key}: {error}; nothing was exported"))
        })?;
        written.add(key, value);
        tables.add(key, value)?;
        bar.set_position(begun + written.entries());
        check_interrupt(watch)
    })?;
    let (files, mut entries) = tables.finish()?;
    let mut found = Digest::default();
    while entries.advance()? {
        found.add(entries.key(), entries.base().unwrap_or_default());
        check_interrupt(watch)?;
    }
    match written.difference(&found) {
        None => Ok((files, written)),
        Some(difference) => Err(Exit::failed(format!(
            "the tables differ from the keyspace, so they were removed: {difference}"
        ))),
    }
}

/// Says how RocksDB takes the files.
fn commands(args: &Export, exported: &Exported) -> Vec<String> {
    let family = match exported.keyspace.as_str() {
        DEFAULT => String::new(),
        name => format!(" --column_family={}", quoted(name.as_bytes())),
    };
    let create = match exported.keyspace.as_str() {
        DEFAULT => None,
        name => {
            let name = quoted(name.as_bytes());
            Some(format!("ldb --db=DB create_column_family {name}"))
        }
    };
    // The command that creates families creates no database.
    let create_if_missing = if create.is_none() { " --create_if_missing" } else { "" };
    let load = exported.files.iter().map(|file| {
        let path = args.dst.join(&exported.directory).join(file);
        format!("ldb --db=DB{family}{create_if_missing} ingest_extern_sst {}", shown(&path))
    });
    create.into_iter().chain(load).collect()
}

fn report(args: &Export, all: &[Exported], started: Instant, common: &Common) -> Outcome {
    let of = |part: fn(&Digest) -> u64| all.iter().map(|one| part(&one.digest)).sum::<u64>();
    let mut output = Output::new();
    if common.json {
        let keyspaces = all.iter().map(|one| {
            json!({
                "keyspace": one.keyspace,
                "entries": integer(one.digest.entries()),
                "bytes": integer(one.digest.bytes()),
                "checksum": one.digest.checksum(),
                "directory": one.directory,
                "files": one.files,
                "commands": commands(args, one),
            })
        });
        output.json(&json!({ "keyspaces": keyspaces.collect::<Vec<_>>() }))?;
        return output.flush();
    }
    for line in all.iter().flat_map(|one| commands(args, one)) {
        output.text(&format!("{line}\n"))?;
    }
    output.flush()?;
    let _ = writeln!(
        io::stderr(),
        "exported {} entries ({}) in {:.1} s; all keys and values were read back and are equal; \
         the lines above load them into a RocksDB database DB",
        HumanCount(of(Digest::entries)),
        HumanBytes(of(Digest::bytes)),
        started.elapsed().as_secs_f64()
    );
    Ok(())
}
