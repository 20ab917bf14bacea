//! `import --from rocksdb`: copies the column families of a RocksDB database into the keyspaces of
//! a new database.
//!
//! Invariants: the import changes nothing in the RocksDB database. The new database has its name
//! only if every entry was read, written, and read back equal.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

use foldb::custom::{BytewiseComparator, Comparator};
use foldb::operators::MergeOperator;
use foldb::{Db, Keyspace, KeyspaceOptions, Options, ReadOnlyDb};
use foldb_rocksdb_format::names;
use indicatif::{HumanBytes, HumanCount};
use serde_json::{Value, json};

use crate::args::{Common, Import};
use crate::command::import_entries::{Copy, TEMPLATE, check_source, compare, create, end};
use crate::digest::Digest;
use crate::exit::{Exit, Outcome};
use crate::form::counted;
use crate::form::escape::quoted;
use crate::form::json::integer;
use crate::interrupt::Watch;
use crate::keyspace::DEFAULT;
use crate::operator::Spec;
use crate::output::Output;
use crate::progress;
use crate::reverse::ReverseBytewise;
use crate::rocksdb::{Choices, Database, Facts, Family, Kept, Order};
use crate::staging::Staging;

/// Imports, compares, and reports.
pub(super) fn run(args: &Import, common: &Common) -> Outcome {
    let choices = Choices {
        operators: args.operator.clone(),
        comparators: args.comparator.clone(),
        skip_damaged: args.skip_damaged,
        only_default_column: args.only_default_column,
        logs: args.wal_dir.clone(),
    };
    check_source(&args.src, "RocksDB")?;
    let started = Instant::now();
    let watch = Watch::start();
    let staging = Staging::begin(&args.dst, &args.src)?;
    let mut source = Database::open(&args.src, &choices)?;
    let families = source.families();
    let facts = *source.facts();
    let mut options = common.options();
    let default = families.iter().find(|family| family.name == DEFAULT);
    if let Some(default) = default {
        options.default = settings(default, &options.default);
    }
    let brought: Vec<_> = families.iter().filter(|family| family.is_brought).collect();
    let operators = brought.iter().filter_map(|family| family.operator.as_ref());
    let kept = operators.clone().map(|own| Kept { name: own.text().to_owned() });
    let keeping = kept.map(|own| Arc::new(own) as Arc<dyn MergeOperator>).collect();
    let db = create(&staging.path(), &Options { operators: keeping, ..options.clone() })?;
    let bar = progress::bar(facts.table_bytes + facts.log_bytes, "importing", TEMPLATE);
    let mut read = Vec::new();
    for family in &families {
        let keyspace = keyspace(&db, family, &options.default)?;
        let operator = family.operator.as_ref();
        let copy = Copy { db: &db, keyspace: &keyspace, operator, bar: &bar, watch: &watch };
        let digest = copy.all(&mut source.entries(family)?).map_err(|exit| match exit {
            exit if families.len() == 1 => exit,
            exit => exit.and(&format!(" (column family {})", quoted(family.name.as_bytes()))),
        })?;
        read.push((family.name.clone(), digest));
    }
    bar.finish_and_clear();
    end(db)?;
    source.check_unchanged()?;
    options.operators.extend(operators.map(Spec::implementation));
    let db = ReadOnlyDb::open(staging.path(), options)?;
    let bytes = read.iter().map(|(_, digest)| digest.bytes()).sum();
    let bar = progress::bar(bytes, "comparing", TEMPLATE);
    for (name, digest) in &read {
        compare(digest, &db.keyspace(name)?, &bar, &watch)?;
    }
    bar.finish_and_clear();
    db.close()?;
    staging.finish()?;
    report(&read, &facts, &source.losses(), started, common)
}

/// Returns the options of the keyspace of a family.
fn settings(family: &Family, otherwise: &KeyspaceOptions) -> KeyspaceOptions {
    let merge_operator = family.operator.as_ref().map(|operator| operator.text().to_owned());
    let comparator: Arc<dyn Comparator> = match family.order {
        Order::Bytewise => Arc::new(BytewiseComparator),
        Order::Reverse => Arc::new(ReverseBytewise),
    };
    // A program that opens the database with librocksdb finds the families by their numbers.
    let schema = (family.name != DEFAULT).then(|| names::schema_of(family.id));
    KeyspaceOptions { merge_operator, comparator: Some(comparator), schema, ..otherwise.clone() }
}

fn keyspace(db: &Db, family: &Family, otherwise: &KeyspaceOptions) -> Outcome<Keyspace> {
    if family.name == DEFAULT {
        return Ok(db.default_keyspace().clone());
    }
    let keyspace = db.create_keyspace(&family.name, settings(family, otherwise))?;
    if family.operator.is_none() && keyspace.default_operator().is_some() {
        // A new keyspace takes the operator of the keyspace `default`.
        keyspace.unset_default_operator()?;
    }
    Ok(keyspace)
}

type Read = [(String, Digest)];

fn report(
    read: &Read,
    facts: &Facts,
    losses: &[String],
    started: Instant,
    common: &Common,
) -> Outcome {
    let (entries, bytes) = totals(read);
    if common.json {
        let mut output = Output::new();
        output.json(&to_json(read, facts, losses))?;
        output.flush()?;
    } else {
        tell(facts);
        let _ = writeln!(
            io::stderr(),
            "imported {} entries ({}) of {} in {:.1} s; all keys and values were read back and are \
             equal",
            HumanCount(entries),
            HumanBytes(bytes),
            counted(read.len() as u64, "keyspace"),
            started.elapsed().as_secs_f64()
        );
    }
    match losses.first() {
        None => Ok(()),
        Some(first) => Err(Exit::Partial(format!(
            "{} damaged and left out, with their entries; older values of these keys may have come \
             back; the first: {first}",
            match losses.len() {
                1 => "1 part is".to_owned(),
                parts => format!("{parts} parts are"),
            }
        ))),
    }
}

fn tell(facts: &Facts) {
    let mut err = io::stderr();
    if facts.tail_bytes > 0 {
        let bytes = facts.tail_bytes;
        let _ = writeln!(
            err,
            "the newest log ends with {bytes} bytes of an incomplete write, which RocksDB leaves \
             out, too"
        );
    }
    if facts.prepared > 0 {
        let _ = writeln!(
            err,
            "{} prepared and not committed: left out",
            counted(facts.prepared, "transaction")
        );
    }
}

fn totals(read: &Read) -> (u64, u64) {
    let of = |part: fn(&Digest) -> u64| read.iter().map(|(_, digest)| part(digest)).sum();
    (of(Digest::entries), of(Digest::bytes))
}

fn to_json(read: &Read, facts: &Facts, losses: &[String]) -> Value {
    let (entries, bytes) = totals(read);
    let keyspaces = read.iter().map(|(name, digest)| {
        json!({
            "name": name,
            "entries": integer(digest.entries()),
            "bytes": integer(digest.bytes()),
            "checksum": digest.checksum(),
        })
    });
    json!({
        "entries": integer(entries),
        "bytes": integer(bytes),
        "keyspaces": keyspaces.collect::<Vec<_>>(),
        "tables": integer(facts.tables),
        "table_bytes": integer(facts.table_bytes),
        "logs": integer(facts.logs),
        "log_bytes": integer(facts.log_bytes),
        "tail_bytes": integer(facts.tail_bytes),
        "prepared_transactions": integer(facts.prepared),
        "left_out": losses,
    })
}
