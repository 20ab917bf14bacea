//! `import --from ldb-dump`: makes a database of the text that RocksDB's tool `ldb` prints.
//!
//! Invariant: the new database has its name only if every line was read, and every entry was
//! written and read back equal.

use std::io::{self, Write};
use std::time::Instant;

use foldb::ReadOnlyDb;
use indicatif::{HumanBytes, HumanCount};
use serde_json::json;

use crate::args::{Common, Import};
use crate::command::import_entries::{Copy, TEMPLATE, compare, create, end, only_operator};
use crate::digest::Digest;
use crate::exit::Outcome;
use crate::form::json::integer;
use crate::interrupt::Watch;
use crate::output::Output;
use crate::progress;
use crate::rocksdb::Dump;
use crate::staging::Staging;

/// Imports, compares, and reports.
pub(super) fn run(args: &Import, common: &Common) -> Outcome {
    args.check_not_of_rocksdb()?;
    let merge_operator = only_operator(args)?;
    let started = Instant::now();
    let watch = Watch::start();
    let staging = Staging::begin(&args.dst, &args.src)?;
    let mut dump = Dump::open(&args.src)?;
    let mut options = common.options();
    options.default.merge_operator = merge_operator;
    let db = create(&staging.path(), &options)?;
    let keyspace = db.default_keyspace().clone();
    let bar = progress::spinner("importing", "{prefix} {spinner} {bytes}, {elapsed}");
    let copy = Copy { db: &db, keyspace: &keyspace, operator: None, bar: &bar, watch: &watch };
    let read = copy.all(&mut dump)?;
    bar.finish_and_clear();
    end(db)?;
    let db = ReadOnlyDb::open(staging.path(), options)?;
    let bar = progress::bar(read.bytes(), "comparing", TEMPLATE);
    compare(&read, db.default_keyspace(), &bar, &watch)?;
    bar.finish_and_clear();
    db.close()?;
    staging.finish()?;
    report(&read, started, common)
}

fn report(read: &Digest, started: Instant, common: &Common) -> Outcome {
    if common.json {
        let mut output = Output::new();
        output.json(&json!({
            "entries": integer(read.entries()),
            "bytes": integer(read.bytes()),
            "checksum": read.checksum(),
        }))?;
        return output.flush();
    }
    let _ = writeln!(
        io::stderr(),
        "imported {} entries ({}) in {:.1} s; all keys and values were read back and are equal",
        HumanCount(read.entries()),
        HumanBytes(read.bytes()),
        started.elapsed().as_secs_f64()
    );
    Ok(())
}
