//! What the fixtures of the file formats hold: how each is made, and how it is checked.

use std::collections::BTreeMap;
use std::path::Path;

use foldb::env::{Env, FileSystem, MemFs};
use foldb::garbage::GcOptions;
use foldb::internals::Knobs;
use foldb::{
    CompactionPreset, Compression, Db, KeyspaceOptions, LogAdoption, Options, Reader, WriteBatch,
};

use crate::support::AnyDb;

/// Path of databases in memory.
pub(super) const IN_MEMORY: &str = "db";

const COUNT: &str = "uint64add";

pub(super) const LIST: &str = "stringappend:;";

/// The steps that made the fixture, in order.
pub(super) enum Step {
    Put(String, Vec<u8>),
    Delete(String),
    Merge(&'static str, String, Vec<u8>),
    Batch(Vec<Step>),
    /// Keeps a snapshot: the next flush writes several versions of a key.
    Snapshot,
    Flush,
    Compact,
}

pub(super) fn put(key: impl Into<String>, value: impl Into<Vec<u8>>) -> Step {
    Step::Put(key.into(), value.into())
}

pub(super) fn delete(key: impl Into<String>) -> Step {
    Step::Delete(key.into())
}

pub(super) fn merge(
    operator: &'static str,
    key: impl Into<String>,
    operand: impl Into<Vec<u8>>,
) -> Step {
    Step::Merge(operator, key.into(), operand.into())
}

pub(super) fn count(key: impl Into<String>, amount: u64) -> Step {
    merge(COUNT, key, amount.to_le_bytes())
}

/// Returns text long enough for the table to have several blocks.
fn text(number: usize, round: &str) -> String {
    format!("{round} text number {number}: ") + &"to be or not to be, ".repeat(12)
}

fn history() -> Vec<Step> {
    let mut steps = Vec::new();
    steps.extend(last_level());
    steps.extend(level0());
    steps.extend(log());
    steps
}

/// Compressed blocks with a directory, folded counters and lists, no deletes.
fn last_level() -> Vec<Step> {
    let mut steps = Vec::new();
    for number in 0..40 {
        steps.push(put(format!("text-{number:03}"), text(number, "first")));
        steps.push(count(format!("count-{:03}", number % 20), number as u64));
        steps.push(merge(LIST, format!("list-{:02}", number % 8), format!("a{number}")));
        steps.push(merge("max", "max", format!("{:03}", number * 7 % 40)));
    }
    steps.push(put("large", "x".repeat(6000)));
    steps.push(put("mixed", "base,"));
    steps.push(put("", "the empty key"));
    steps.push(put("empty", ""));
    steps.push(Step::Compact);
    steps
}

/// Puts, deletes and operands over older records, in several versions, uncompressed.
fn level0() -> Vec<Step> {
    let mut steps = Vec::new();
    for number in 0..10 {
        steps.push(put(format!("text-{:03}", number * 4), format!("second {number}")));
        steps.push(delete(format!("text-{:03}", number * 4 + 1)));
        steps.push(count(format!("count-{:03}", number * 3), 1000));
    }
    steps.push(merge(LIST, "list-00", "b"));
    steps.push(merge("append", "mixed", "appended"));
    steps.push(Step::Snapshot);
    steps.push(count("count-000", 5));
    steps.push(merge(LIST, "list-00", "c"));
    steps.push(merge(LIST, "mixed", "listed"));
    steps.push(delete("list-01"));
    steps.push(Step::Flush);
    steps
}

/// The writes that are only in the log.
pub(super) fn log() -> Vec<Step> {
    vec![
        put("text-000", "third"),
        count("count-019", 7),
        merge(LIST, "list-01", "born again"),
        Step::Batch(vec![
            put("batch", "first"),
            put("batch", "second"),
            delete("text-002"),
            count("count-019", 70),
            merge(LIST, "list-02", "from a batch"),
            merge("min", "min", "7"),
        ]),
        delete("large"),
        merge("min", "min", "6"),
    ]
}

/// Returns the contents after the history.
pub(super) fn expected() -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut entries = BTreeMap::new();
    history().iter().for_each(|step| apply(step, &mut entries));
    entries
}

/// Implements the operators once more, as briefly as possible.
pub(super) fn apply(step: &Step, entries: &mut BTreeMap<Vec<u8>, Vec<u8>>) {
    match step {
        Step::Put(key, value) => drop(entries.insert(key.clone().into(), value.clone())),
        Step::Delete(key) => drop(entries.remove(key.as_bytes())),
        Step::Batch(steps) => steps.iter().for_each(|step| apply(step, entries)),
        Step::Merge(operator, key, operand) => {
            let merged = match (entries.remove(key.as_bytes()), *operator) {
                (None, _) => operand.clone(),
                (Some(base), COUNT) => {
                    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
                    (number(&base) + number(operand)).to_le_bytes().to_vec()
                }
                (Some(base), LIST) => [&base[..], operand].join(&b";"[..]),
                (Some(base), "append") => [&base[..], operand].concat(),
                (Some(base), "max") => base.max(operand.clone()),
                (Some(base), "min") => base.min(operand.clone()),
                (_, other) => panic!("the fixture has no operator {other}"),
            };
            entries.insert(key.clone().into(), merged);
        }
        Step::Snapshot | Step::Flush | Step::Compact => {}
    }
}

fn options_of(fs: &MemFs) -> Options {
    Options {
        create_if_missing: true,
        default: KeyspaceOptions::with_operator(COUNT),
        block_size: 16 << 10,
        knobs: Knobs { min_level_to_compress: 1, ..Knobs::default() },
        num_levels: 3,
        disable_auto_compactions: true,
        env: Env { seed: Some(0xf01d_b000), ..Env::in_memory(fs.clone()) },
        ..Options::default()
    }
}

/// Makes the database in memory. Nothing in it depends on time, chance or threads.
pub(super) fn generate_history() -> MemFs {
    let fs = MemFs::new();
    let db = Db::open(IN_MEMORY, options_of(&fs)).unwrap();
    let mut snapshots = Vec::new();
    for step in history() {
        match step {
            Step::Put(key, value) => db.put(key, value).unwrap(),
            Step::Delete(key) => db.delete(key).unwrap(),
            Step::Merge(COUNT, key, operand) => db.merge(key, operand).unwrap(),
            Step::Merge(operator, key, operand) => {
                db.merge_with(&db.operator(operator).unwrap(), key, operand).unwrap();
            }
            Step::Batch(steps) => {
                db.write(&batch(&db, steps)).unwrap();
                db.sync().unwrap();
            }
            Step::Snapshot => snapshots.push(db.snapshot()),
            Step::Flush => db.flush().unwrap(),
            Step::Compact => db.compact(..).unwrap(),
        }
    }
    db.close().unwrap();
    fs
}

pub(super) fn batch(db: &Db, steps: Vec<Step>) -> WriteBatch {
    let mut batch = WriteBatch::new();
    for step in steps {
        match step {
            Step::Put(key, value) => batch.put(key, value),
            Step::Delete(key) => batch.delete(key),
            Step::Merge(COUNT, key, operand) => batch.merge(key, operand),
            Step::Merge(operator, key, operand) => {
                batch.merge_with(&db.operator(operator).unwrap(), key, operand)
            }
            _ => panic!("this step cannot be in a batch"),
        };
    }
    batch
}

/// Returns the files of a generated database, without the lock.
pub(super) fn files(fs: &MemFs) -> BTreeMap<String, Vec<u8>> {
    let directory = Path::new(IN_MEMORY);
    let names = fs.list(directory).unwrap().into_iter().filter(|name| name != "LOCK");
    names.map(|name| (name.clone(), fs.read(&directory.join(name)).unwrap())).collect()
}

/// The same history in two keyspaces beside the default one, which has a few keys of its own. One
/// range delete is in a table, another in the log.
pub(super) fn generate_keyspaces() -> MemFs {
    let fs = MemFs::new();
    let db = Db::open(IN_MEMORY, options_of(&fs)).unwrap();
    drop(db.create_keyspace("dropped", KeyspaceOptions::default()).unwrap());
    let own = KeyspaceOptions {
        merge_operator: Some(LIST.to_owned()),
        compression: Some(Compression::None),
        bloom_bits: Some(0),
        compaction: Some(CompactionPreset::Leveled),
        ..KeyspaceOptions::default()
    };
    let lists = db.create_keyspace("lists", own).unwrap();
    let counts = db.create_keyspace("counts ½", KeyspaceOptions::default()).unwrap();
    for n in 0..30u64 {
        let key = format!("{:02}", n % 7);
        let mut batch = WriteBatch::new();
        batch.put(&key, format!("round {n}")).merge_in(&lists, &key, format!("{n}"));
        batch.merge_in(&counts, &key, n.to_le_bytes());
        db.write(&batch).unwrap();
        match n {
            3 => lists.put("gone", "in a table").unwrap(),
            15 => lists.delete_range("a"..="gone").unwrap(),
            24 => db.put("gone", "in the log").unwrap(),
            25 => db.delete_range("g"..).unwrap(),
            7 => db.drop_keyspace("dropped").unwrap(),
            10 => db.compact(..).unwrap(),
            20 => db.flush().unwrap(),
            _ => {}
        }
    }
    db.sync().unwrap();
    drop((lists, counts));
    db.close().unwrap();
    fs
}

/// Separated values: with hints and with keys beside them, as written and rewritten, under
/// operands, in two keyspaces. The last are in the log.
pub(super) fn generate_segments() -> MemFs {
    let fs = MemFs::new();
    let open = |value_hints| {
        let separating = Options {
            default: KeyspaceOptions { value_separation_min: Some(40), ..options_of(&fs).default },
            knobs: Knobs { segment_size: 4096, value_hints, ..options_of(&fs).knobs },
            ..options_of(&fs)
        };
        Db::open(IN_MEMORY, separating).unwrap()
    };
    let db = open(true);
    let own = KeyspaceOptions { value_separation_min: Some(0), ..KeyspaceOptions::default() };
    let all = db.create_keyspace("all", own).unwrap();
    for n in 0..40 {
        db.put(format!("{n:02}"), separated(n, "first")).unwrap();
        all.put(format!("{n:02}"), n.to_string()).unwrap();
    }
    db.flush().unwrap();
    (0..20).for_each(|n| db.put(format!("{n:02}"), separated(n, "second")).unwrap());
    db.compact(..).unwrap();
    let none_dead = GcOptions { max_dead_fraction: 0.0, ..GcOptions::default() };
    db.with(&none_dead).collect_garbage().unwrap();
    drop(all);
    db.close().unwrap();
    let db = open(false);
    (10..15).for_each(|n| db.put(format!("{n:02}"), separated(n, "third")).unwrap());
    (30..35).for_each(|n| db.delete(format!("{n:02}")).unwrap());
    let append = db.operator("append").unwrap();
    (35..40).for_each(|n| db.merge_with(&append, format!("{n:02}"), "+").unwrap());
    db.flush().unwrap();
    db.put("39", separated(39, "fourth")).unwrap();
    db.sync().unwrap();
    db.close().unwrap();
    fs
}

fn separated(n: usize, round: &str) -> String {
    format!("{round} value number {n}, ") + &"which is not small. ".repeat(2 + n % 5)
}

pub(super) fn assert_holds_the_segments(db: &dyn AnyDb) {
    let default = db.reader("default").unwrap();
    for n in 0..40usize {
        let expected = match n {
            10..15 => Some(separated(n, "third")),
            0..20 => Some(separated(n, "second")),
            30..35 => None,
            39 => Some(separated(n, "fourth")),
            35..39 => Some(separated(n, "first") + "+"),
            _ => Some(separated(n, "first")),
        };
        let found = default.get(format!("{n:02}")).unwrap();
        assert_eq!(found.as_deref(), expected.as_deref().map(str::as_bytes), "{n}");
        let all = db.reader("all").unwrap();
        assert_eq!(all.get(format!("{n:02}")).unwrap().unwrap(), n.to_string().as_bytes());
    }
    assert_eq!(default.iter().unwrap().filter(Result::is_ok).count(), 35);
    db.verified().unwrap();
}

/// Logs that became segments: one unchanged, one rewritten. The last values are in the log.
pub(super) fn generate_adopted() -> MemFs {
    let fs = MemFs::new();
    let options = Options {
        default: KeyspaceOptions { value_separation_min: Some(300), ..options_of(&fs).default },
        knobs: Knobs { segment_size: 8192, ..options_of(&fs).knobs },
        adopt_logs: LogAdoption::Always,
        disable_auto_compactions: true,
        ..options_of(&fs)
    };
    let db = Db::open(IN_MEMORY, options).unwrap();
    (0..12).rev().for_each(|n| db.put(format!("{n:02}"), adopted(n, "first")).unwrap());
    db.flush().unwrap();
    let mut batch = WriteBatch::new();
    for n in 0..6 {
        batch.put(format!("{n:02}"), adopted(n, "second"));
    }
    batch.put("small", "inline").delete("11");
    db.write(&batch).unwrap();
    db.compact(..).unwrap();
    db.with(&GcOptions { max_dead_fraction: 0.0, ..GcOptions::default() })
        .collect_garbage()
        .unwrap();
    (12..20).rev().for_each(|n| db.put(format!("{n:02}"), adopted(n, "third")).unwrap());
    db.flush().unwrap();
    (18..22).for_each(|n| db.put(format!("{n:02}"), adopted(n, "fourth")).unwrap());
    db.sync().unwrap();
    db.close().unwrap();
    fs
}

pub(super) fn adopted(n: usize, round: &str) -> String {
    format!("{round} value number {n}, ") + &"which is large. ".repeat(25)
}

pub(super) fn assert_holds_the_adopted(db: &dyn AnyDb) {
    let default = db.reader("default").unwrap();
    for n in 0..22usize {
        let expected = match n {
            0..6 => Some(adopted(n, "second")),
            11 => None,
            6..12 => Some(adopted(n, "first")),
            12..18 => Some(adopted(n, "third")),
            _ => Some(adopted(n, "fourth")),
        };
        let found = default.get(format!("{n:02}")).unwrap();
        assert_eq!(found.as_deref(), expected.as_deref().map(str::as_bytes), "{n}");
    }
    assert_eq!(default.get("small").unwrap().unwrap(), b"inline");
    assert_eq!(default.iter().unwrap().filter(Result::is_ok).count(), 22);
    db.verified().unwrap();
}

/// A database that was closed with sealed memtables that were not flushed: three logs.
pub(super) fn generate_closed() -> MemFs {
    let fs = MemFs::new();
    let options = Options { write_buffer_size: 4096, ..options_of(&fs) };
    let db = Db::open(IN_MEMORY, options).unwrap();
    (0..20).for_each(|n| db.put(format!("{n:02}"), separated(n, "first")).unwrap());
    db.flush().unwrap();
    (0..50).for_each(|n| db.put(format!("{n:02}"), separated(n, "second")).unwrap());
    db.delete("07").unwrap();
    db.close().unwrap();
    fs
}

pub(super) fn assert_holds_the_closed(db: &dyn AnyDb) {
    let default = db.reader("default").unwrap();
    for n in 0..50usize {
        let expected = (n != 7).then(|| separated(n, "second"));
        let found = default.get(format!("{n:02}")).unwrap();
        assert_eq!(found.as_deref(), expected.as_deref().map(str::as_bytes), "{n}");
    }
    db.verified().unwrap();
}

pub(super) fn entries(db: &impl Reader) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let entries = db.iter().unwrap().map(|entry| entry.unwrap());
    entries.map(|(key, value)| (key, value.into_owned())).collect()
}

pub(super) fn assert_holds_the_history(db: &dyn AnyDb) {
    let default = db.reader("default").unwrap();
    let expected = expected();
    assert_eq!(entries(&default), expected);
    for (key, value) in &expected {
        assert_eq!(default.get(key).unwrap().unwrap(), value[..], "{}", key.escape_ascii());
    }
    for gone in ["text-001", "text-002", "large", "nobody"] {
        assert_eq!(default.get(gone).unwrap(), None, "{gone}");
    }
    db.verified().unwrap();
}

pub(super) fn assert_holds_the_keyspaces(db: &dyn AnyDb) {
    let default = db.reader("default").unwrap();
    assert_eq!(db.names(), ["counts ½", "default", "lists"]);
    let (lists, counts) = (db.reader("lists").unwrap(), db.reader("counts ½").unwrap());
    assert_eq!(lists.default_operator().unwrap().spec(), LIST);
    assert_eq!(counts.default_operator().unwrap().spec(), COUNT);
    for key in 0..7u64 {
        let rounds: Vec<u64> = (0..30).filter(|n| n % 7 == key).collect();
        let texts: Vec<String> = rounds.iter().map(u64::to_string).collect();
        let key = format!("{key:02}");
        let last = format!("round {}", rounds.last().unwrap());
        assert_eq!(default.get(&key).unwrap().unwrap(), last.as_bytes());
        assert_eq!(lists.get(&key).unwrap().unwrap(), texts.join(";").as_bytes());
        let sum: u64 = rounds.iter().sum();
        assert_eq!(counts.get(&key).unwrap().unwrap(), sum.to_le_bytes());
    }
    for keyspace in [&default, &lists, &counts] {
        assert_eq!(keyspace.iter().unwrap().count(), 7);
    }
    db.verified().unwrap();
}
