//! `import --from leveldb`: copies the entries of a LevelDB database into a new database.
//!
//! Invariants: the import changes nothing in the LevelDB database. The new database has its name
//! only if every entry was read, written, and read back equal.

use std::io::{self, Write};
use std::time::Instant;

use foldb::ReadOnlyDb;
use indicatif::{HumanBytes, HumanCount};
use serde_json::{Value, json};

use crate::args::{Common, Import};
use crate::command::import_entries::{
    Copy, TEMPLATE, check_source, compare, create, end, only_operator,
};
use crate::digest::Digest;
use crate::exit::Outcome;
use crate::form::json::integer;
use crate::interrupt::Watch;
use crate::leveldb::{Facts, Source};
use crate::output::Output;
use crate::progress;
use crate::staging::Staging;

/// Imports, compares, and reports.
pub(super) fn run(args: &Import, common: &Common) -> Outcome {
    args.check_not_of_rocksdb()?;
    let merge_operator = only_operator(args)?;
    check_source(&args.src, "LevelDB")?;
    let started = Instant::now();
    let watch = Watch::start();
    let staging = Staging::begin(&args.dst, &args.src)?;
    let mut source = Source::open(&args.src)?;
    let facts = *source.facts();
    let mut options = common.options();
    options.default.merge_operator = merge_operator;
    let db = create(&staging.path(), &options)?;
    let keyspace = db.default_keyspace().clone();
    let bar = progress::bar(facts.table_bytes + facts.log_bytes, "importing", TEMPLATE);
    let read = Copy { db: &db, keyspace: &keyspace, operator: None, bar: &bar, watch: &watch }
        .all(&mut source)?;
    bar.finish_and_clear();
    end(db)?;
    source.check_unchanged()?;
    let db = ReadOnlyDb::open(staging.path(), options)?;
    let bar = progress::bar(read.bytes(), "comparing", TEMPLATE);
    compare(&read, db.default_keyspace(), &bar, &watch)?;
    bar.finish_and_clear();
    db.close()?;
    staging.finish()?;
    report(&read, &facts, started, common)
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
