//! Databases of the present format version are checked in, and every later foldb reads them. A file
//! of any other version is refused and stays as it is.
//!
//! `FOLDB_REGENERATE_FIXTURE=1 cargo test -p foldb --test engine format::` writes the missing
//! fixtures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::{env, fs};

use foldb::env::{Env, FileSystem, MemFs};
use foldb::garbage::GcOptions;
use foldb::internals::Knobs;
use foldb::repair::RepairOptions;
use foldb::{
    CompactionPreset, Compression, Db, Error, ErrorKind, KeyspaceOptions, LogAdoption, Options,
    Reader, WriteBatch,
};

use crate::support::{AnyDb, error_of, skipped_where_files_only_grow};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

/// A checked-in database.
struct Fixture {
    name: &'static str,
    generate: fn() -> MemFs,
    assert_holds: fn(&dyn AnyDb),
}

/// Puts, deletes and operands in two levels and the log; compressed blocks.
const HISTORY: Fixture =
    Fixture { name: "history", generate: generate_history, assert_holds: assert_holds_the_history };
/// Three keyspaces, range deletes.
const KEYSPACES: Fixture = Fixture {
    name: "keyspaces",
    generate: generate_keyspaces,
    assert_holds: assert_holds_the_keyspaces,
};
/// Separated values.
const SEGMENTS: Fixture = Fixture {
    name: "segments",
    generate: generate_segments,
    assert_holds: assert_holds_the_segments,
};
/// Logs that became value segments, separable puts in a log.
const ADOPTED: Fixture =
    Fixture { name: "adopted", generate: generate_adopted, assert_holds: assert_holds_the_adopted };
/// Three logs at the close.
const CLOSED: Fixture =
    Fixture { name: "closed", generate: generate_closed, assert_holds: assert_holds_the_closed };

const ALL: [Fixture; 5] = [HISTORY, KEYSPACES, SEGMENTS, ADOPTED, CLOSED];

impl Fixture {
    /// Returns its directory.
    fn directory(&self) -> PathBuf {
        static WRITTEN: Once = Once::new();
        WRITTEN.call_once(|| {
            if env::var("FOLDB_REGENERATE_FIXTURE").is_ok_and(|wanted| wanted == "1") {
                ALL.iter().for_each(Fixture::write_if_missing);
            }
        });
        self.path()
    }

    fn path(&self) -> PathBuf {
        Path::new(FIXTURES).join("format-1").join(self.name)
    }

    fn write_if_missing(&self) {
        let directory = self.path();
        if !directory.exists() {
            fs::create_dir_all(&directory).unwrap();
            for (name, bytes) in files(&(self.generate)()) {
                fs::write(directory.join(name), bytes).unwrap();
            }
        }
    }

    /// Returns a copy, because an open changes the files.
    fn copy(&self) -> tempfile::TempDir {
        copy_of(&self.directory())
    }

    /// Returns the names of its files.
    fn files(&self) -> Vec<String> {
        contents(&self.directory()).into_keys().collect()
    }
}

fn copy_of(fixture: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for (name, bytes) in contents(fixture) {
        fs::write(copy.path().join(name), bytes).unwrap();
    }
    copy
}

/// Returns the files of a directory.
fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    let named = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    files.map(|path| (named(path.clone()), fs::read(path).unwrap())).collect()
}

/// Path of databases in memory.
const IN_MEMORY: &str = "db";

const COUNT: &str = "uint64add";
const LIST: &str = "stringappend:;";

/// The steps that made the fixture, in order.
enum Step {
    Put(String, Vec<u8>),
    Delete(String),
    Merge(&'static str, String, Vec<u8>),
    Batch(Vec<Step>),
    /// Keeps a snapshot: the next flush writes several versions of a key.
    Snapshot,
    Flush,
    Compact,
}

fn put(key: impl Into<String>, value: impl Into<Vec<u8>>) -> Step {
    Step::Put(key.into(), value.into())
}

fn delete(key: impl Into<String>) -> Step {
    Step::Delete(key.into())
}

fn merge(operator: &'static str, key: impl Into<String>, operand: impl Into<Vec<u8>>) -> Step {
    Step::Merge(operator, key.into(), operand.into())
}

fn count(key: impl Into<String>, amount: u64) -> Step {
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
fn log() -> Vec<Step> {
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
fn expected() -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut entries = BTreeMap::new();
    history().iter().for_each(|step| apply(step, &mut entries));
    entries
}

/// Implements the operators once more, as briefly as possible.
fn apply(step: &Step, entries: &mut BTreeMap<Vec<u8>, Vec<u8>>) {
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
fn generate_history() -> MemFs {
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

fn batch(db: &Db, steps: Vec<Step>) -> WriteBatch {
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
fn files(fs: &MemFs) -> BTreeMap<String, Vec<u8>> {
    let directory = Path::new(IN_MEMORY);
    let names = fs.list(directory).unwrap().into_iter().filter(|name| name != "LOCK");
    names.map(|name| (name.clone(), fs.read(&directory.join(name)).unwrap())).collect()
}

/// The same history in two keyspaces beside the default one, which has a few keys of its own. One
/// range delete is in a table, another in the log.
fn generate_keyspaces() -> MemFs {
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
fn generate_segments() -> MemFs {
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

fn assert_holds_the_segments(db: &dyn AnyDb) {
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
fn generate_adopted() -> MemFs {
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

fn adopted(n: usize, round: &str) -> String {
    format!("{round} value number {n}, ") + &"which is large. ".repeat(25)
}

fn assert_holds_the_adopted(db: &dyn AnyDb) {
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
fn generate_closed() -> MemFs {
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

fn assert_holds_the_closed(db: &dyn AnyDb) {
    let default = db.reader("default").unwrap();
    for n in 0..50usize {
        let expected = (n != 7).then(|| separated(n, "second"));
        let found = default.get(format!("{n:02}")).unwrap();
        assert_eq!(found.as_deref(), expected.as_deref().map(str::as_bytes), "{n}");
    }
    db.verified().unwrap();
}

fn entries(db: &impl Reader) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let entries = db.iter().unwrap().map(|entry| entry.unwrap());
    entries.map(|(key, value)| (key, value.into_owned())).collect()
}

fn assert_holds_the_history(db: &dyn AnyDb) {
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

/// Reading a fixture needs no option: files describe themselves, with operators.
#[test]
fn every_fixture_is_read() {
    for fixture in &ALL {
        let copy = fixture.copy();
        let db = Db::open_read_only(copy.path(), Options::default()).unwrap();
        (fixture.assert_holds)(&db);
        drop(db);
        assert_eq!(contents(copy.path()), contents(&fixture.directory()), "{}", fixture.name);
        let report = foldb::repair::verify(copy.path(), Options::default()).unwrap();
        assert!(report.faults.is_empty(), "{}: {report:?}", fixture.name);
        let db = Db::open(copy.path(), Options::default()).unwrap();
        (fixture.assert_holds)(&db);
    }
}

/// Needs no file system of the machine, so Miri can run it for other platforms.
#[test]
fn every_fixture_opens_in_memory() {
    for fixture in &ALL {
        let fs = MemFs::new();
        fs.create_dir_all(Path::new(IN_MEMORY)).unwrap();
        for (name, bytes) in contents(&fixture.directory()) {
            fs.create(&Path::new(IN_MEMORY).join(name)).unwrap().write_at(&bytes, 0).unwrap();
        }
        let options = Options { env: Env::in_memory(fs), ..Options::default() };
        (fixture.assert_holds)(&Db::open(IN_MEMORY, options).unwrap());
    }
}

/// The makers of the fixtures still make databases with the same contents, in the same files.
#[test]
fn fixtures_regenerated_are_the_same_databases() {
    if skipped_where_files_only_grow("the fixtures have adopted logs") {
        return;
    }
    for fixture in &ALL {
        let made = (fixture.generate)();
        let made_files = files(&made);
        let names: Vec<String> = made_files.keys().cloned().collect();
        assert_eq!(names, fixture.files(), "{}", fixture.name);
        assert_eq!(made_files, files(&(fixture.generate)()), "{}", fixture.name);
        let options = Options { env: Env::in_memory(made), ..Options::default() };
        (fixture.assert_holds)(&Db::open(IN_MEMORY, options).unwrap());
    }
}

/// Both levels are there, and the writes of the log become a run of their own.
#[test]
fn the_history_has_its_levels() {
    let copy = HISTORY.copy();
    let as_it_is = Options { disable_auto_compactions: true, ..Options::default() };
    let db = Db::open(copy.path(), as_it_is).unwrap();
    let runs: Vec<u64> = db.stats().levels.iter().map(|level| level.runs).collect();
    assert_eq!((runs[0], runs[1], runs[2]), (2, 0, 1));
}

/// Old and new records meet in one key, and in one table.
#[test]
fn the_history_is_written_to() {
    let copy = HISTORY.copy();
    let mut expected = expected();
    let steps = [
        put("text-003", "later"),
        count("count-019", 1),
        merge(LIST, "list-02", "later"),
        delete("text-005"),
    ];
    steps.iter().for_each(|step| apply(step, &mut expected));
    let db = Db::open(copy.path(), Options::default()).unwrap();
    db.write(&batch(&db, steps.into())).unwrap();
    assert_eq!(entries(&db), expected);
    db.delete_range("list-03"..="list-06").unwrap();
    expected.retain(|key, _| !(&b"list-03"[..]..=&b"list-06"[..]).contains(&&key[..]));
    assert_eq!(entries(&db), expected);
    db.flush().unwrap();
    assert_eq!(entries(&db), expected);
    db.compact(..).unwrap();
    assert_eq!(entries(&db), expected);
    drop(db);
    let db = Db::open(copy.path(), Options::default()).unwrap();
    assert_eq!(entries(&db), expected);
    db.verify().unwrap();
}

fn assert_holds_the_keyspaces(db: &dyn AnyDb) {
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

#[test]
fn the_keyspaces_are_written_to() {
    let copy = KEYSPACES.copy();
    let db = Db::open(copy.path(), Options::default()).unwrap();
    assert_holds_the_keyspaces(&db);
    // New ids follow that of the dropped keyspace.
    let another = db.create_keyspace("dropped", KeyspaceOptions::default()).unwrap();
    assert_eq!(another.iter().unwrap().count(), 0);
    another.put("key", "value").unwrap();
    db.keyspace("lists").unwrap().merge("new", "x").unwrap();
    db.drop_keyspace("dropped").unwrap();
    db.keyspace("lists").unwrap().delete("new").unwrap();
    db.compact(..).unwrap();
    drop(another);
    drop(db);
    assert_holds_the_keyspaces(&Db::open(copy.path(), Options::default()).unwrap());
}

#[test]
fn separated_values_are_written_to() {
    let copy = SEGMENTS.copy();
    let db = Db::open(copy.path(), Options::default()).unwrap();
    assert_holds_the_segments(&db);
    db.compact(..).unwrap();
    let none_dead = GcOptions { max_dead_fraction: 0.0, ..GcOptions::default() };
    db.with(&none_dead).collect_garbage().unwrap();
    assert_eq!(db.stats().segments.dead_bytes, 0);
    assert_holds_the_segments(&db);
    drop(db);
    assert_holds_the_segments(&Db::open(copy.path(), Options::default()).unwrap());
}

#[test]
fn adopted_logs_are_written_to() {
    let copy = ADOPTED.copy();
    let adopted = |file: &fs::DirEntry| {
        let is_segment = file.path().extension().is_some_and(|extension| extension == "seg");
        is_segment && !fs::read(file.path()).unwrap().starts_with(b"seg/fold")
    };
    let files = fs::read_dir(copy.path()).unwrap().map(Result::unwrap);
    assert_eq!(files.filter(adopted).count(), 1, "of the two that were logs one was rewritten");
    let db = Db::open(copy.path(), Options::default()).unwrap();
    assert_holds_the_adopted(&db);
    db.compact(..).unwrap();
    let none_dead = GcOptions { max_dead_fraction: 0.0, ..GcOptions::default() };
    db.with(&none_dead).collect_garbage().unwrap();
    assert_eq!(db.stats().segments.dead_bytes, 0);
    assert_holds_the_adopted(&db);
    drop(db);
    assert_holds_the_adopted(&Db::open(copy.path(), Options::default()).unwrap());
}

#[test]
fn a_closed_database_is_written_to() {
    let copy = CLOSED.copy();
    assert_eq!(CLOSED.files().iter().filter(|name| name.ends_with(".log")).count(), 3);
    let record = copy.path().join("CLOSED");
    assert!(record.exists());
    let db = Db::open(copy.path(), Options::default()).unwrap();
    assert!(!record.exists(), "the open removes the record of the close");
    assert_holds_the_closed(&db);
    db.put("new", "1").unwrap();
    drop(db);
    assert!(record.exists());
    assert_holds_the_closed(&Db::open(copy.path(), Options::default()).unwrap());
}

/// The open accepts the record of the close.
#[test]
fn a_closed_database_is_read_as_it_was_closed() {
    for name in CLOSED.files().iter().filter(|name| name.ends_with(".log")) {
        let copy = CLOSED.copy();
        let path = copy.path().join(name);
        let log = fs::read(&path).unwrap();
        fs::write(&path, &log[..log.len() - 1]).unwrap();
        let error = Db::open(copy.path(), Options::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
        assert!(error.path().unwrap().ends_with(name), "{error}");
    }
}

/// Returns a checksum as every format version computes it.
fn checksum(seed: u64, bytes: &[u8]) -> [u8; 8] {
    xxhash_rust::xxh3::xxh3_64_with_seed(bytes, seed).to_le_bytes()
}

fn seed(file: u64, offset: u64) -> u64 {
    file.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
        ^ offset.wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// Where a kind of file has its magic and version, and how to correct its checksum.
struct Kind {
    fixture: Fixture,
    /// The beginning or end of the changed file's name.
    name: &'static str,
    /// The magic before version 1.
    before: &'static [u8; 8],
    /// The offsets of magic and version.
    places: fn(&[u8]) -> (usize, usize),
    seal: fn(&mut [u8], u64),
    /// Whether an open reads the file before it changes anything.
    is_read_first: bool,
}

fn seal_frame(file: &mut [u8], number: u64) {
    let sum = checksum(seed(number, 0), &file[4..85]);
    file[..4].copy_from_slice(&sum[..4]);
}

fn seal_footer(file: &mut [u8], number: u64) {
    let footer = file.len() - 96;
    let sum = checksum(seed(number, footer as u64), &file[footer..footer + 80]);
    file[footer + 80..footer + 88].copy_from_slice(&sum);
}

fn seal_segment(file: &mut [u8], number: u64) {
    let sum = checksum(seed(number, 0), &file[..32]);
    file[32..40].copy_from_slice(&sum);
}

fn seal_closed(file: &mut [u8], _number: u64) {
    let end = file.len() - 8;
    let sum = checksum(0, &file[..end]);
    file[end..].copy_from_slice(&sum);
}

const KINDS: [Kind; 5] = [
    Kind {
        fixture: CLOSED,
        name: "CLOSED",
        before: b"foldbend",
        places: |_| (0, 8),
        seal: seal_closed,
        is_read_first: true,
    },
    Kind {
        fixture: CLOSED,
        name: "MANIFEST-",
        before: b"foldblog",
        places: |_| (33, 41),
        seal: seal_frame,
        is_read_first: true,
    },
    Kind {
        fixture: CLOSED,
        name: ".log",
        before: b"foldblog",
        places: |_| (33, 41),
        seal: seal_frame,
        is_read_first: true,
    },
    Kind {
        fixture: SEGMENTS,
        name: ".tbl",
        before: b"foldbtbl",
        places: |file| (file.len() - 8, file.len() - 24),
        seal: seal_footer,
        is_read_first: false,
    },
    Kind {
        fixture: SEGMENTS,
        name: ".seg",
        before: b"foldbseg",
        places: |_| (0, 8),
        seal: seal_segment,
        is_read_first: false,
    },
];

/// Asserts that an error names what was found in which file, what was expected, and what to do.
#[track_caller]
fn assert_says(error: &Error, file: &str, found: &str) {
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let path = error.path().unwrap_or_else(|| panic!("the error names no file: {error}"));
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(name.contains(file), "{error} should name {file}");
    for part in [found, "expected", "version 1", "the foldb that wrote"] {
        assert!(error.to_string().contains(part), "{error} should say {part}");
    }
}

/// Makes every call that reads a database and may change it. Each names a file of another format,
/// and leaves all files unchanged.
#[track_caller]
fn assert_refused(path: &Path, file: &str, found: &str) {
    let before = contents(path);
    let refused = |error: &Error| {
        assert_says(error, file, found);
        assert_eq!(error.path().unwrap().parent(), Some(path), "{error}");
        assert!(contents(path) == before, "files changed: {error}");
    };
    let creating = Options { create_if_missing: true, ..Options::default() };
    refused(&error_of(Db::open(path, creating)));
    refused(&error_of(Db::open_read_only(path, Options::default())));
    refused(&error_of(Db::repair(path, Options::default())));
    for dry_run in [false, true] {
        let copy_to = (!dry_run).then(|| path.with_extension("copy"));
        let how = RepairOptions { copy_to: copy_to.clone(), dry_run, ..RepairOptions::default() };
        refused(&error_of(Db::repair(path, how)));
        let is_left = copy_to.is_some_and(|copy| copy.exists());
        assert!(!is_left, "a refused copy leaves nothing behind");
    }
    let report = foldb::repair::verify(path, Options::default()).unwrap();
    let fault = report.faults.iter().find(|fault| fault.kind() == ErrorKind::Unsupported);
    refused(fault.unwrap_or_else(|| panic!("{report:?}")));
}

/// `fixtures/before-1` is the only database in the formats before version 1.
#[test]
fn a_database_of_an_older_format_is_refused_and_not_touched() {
    let older = Path::new(FIXTURES).join("before-1");
    let copy = copy_of(&older);
    fs::write(copy.path().join("LOCK"), "").unwrap();
    // The error names the manifest or the log.
    assert_refused(copy.path(), "0000", "\"foldblog\"");

    // A repair makes no manifest from the remains, whichever files are missing.
    for gone in ["CURRENT", "MANIFEST-", ".tbl", ".log"] {
        for name in contents(copy.path()).into_keys().filter(|name| name.contains(gone)) {
            fs::remove_file(copy.path().join(name)).unwrap();
        }
        let before = contents(copy.path());
        let error = error_of(Db::repair(copy.path(), Options::default()));
        assert_says(&error, "0000", "\"foldb");
        assert!(contents(copy.path()) == before, "without {gone}");
    }

    // It can be destroyed: its manifest has a magic of foldb.
    let copy = copy_of(&older);
    Db::destroy(copy.path(), &Options::default()).unwrap();
    assert!(!copy.path().exists());
}

/// Returns the first file of a kind in a copy of its fixture, as another foldb may have written it.
fn changed(kind: &Kind, is_later: bool) -> (tempfile::TempDir, String) {
    let copy = kind.fixture.copy();
    fs::write(copy.path().join("LOCK"), "").unwrap();
    let name = kind.fixture.files().into_iter().find(|name| name.contains(kind.name)).unwrap();
    let path = copy.path().join(&name);
    let mut file = fs::read(&path).unwrap();
    let (magic, version) = (kind.places)(&file);
    match is_later {
        true => file[version..version + 4].copy_from_slice(&2u32.to_le_bytes()),
        false => file[magic..magic + 8].copy_from_slice(kind.before),
    }
    let number: String = name.chars().filter(char::is_ascii_digit).collect();
    (kind.seal)(&mut file, number.parse().unwrap_or(0));
    fs::write(path, file).unwrap();
    (copy, name)
}

#[test]
fn a_file_of_another_format_is_refused_and_not_touched() {
    for kind in &KINDS {
        for is_later in [false, true] {
            let (copy, name) = changed(kind, is_later);
            let found = match is_later {
                true => "format version 2",
                false => std::str::from_utf8(kind.before).unwrap(),
            };
            if kind.is_read_first {
                assert_refused(copy.path(), &name, found);
                continue;
            }
            let file = fs::read(copy.path().join(&name)).unwrap();
            assert_says(
                &error_of(Db::open_read_only(copy.path(), Options::default())),
                &name,
                found,
            );
            let report = foldb::repair::verify(copy.path(), Options::default()).unwrap();
            assert!(report.faults.iter().all(|fault| fault.kind() == ErrorKind::Unsupported));
            assert_says(&report.faults[0], &name, found);
            let opened = Db::open(copy.path(), Options::default());
            assert_says(&error_of(opened.and_then(|db| db.verify())), &name, found);
            if kind.name == ".tbl" {
                assert_says(&error_of(Db::repair(copy.path(), Options::default())), &name, found);
            }
            assert_eq!(fs::read(copy.path().join(&name)).unwrap(), file, "{name}");
        }
    }
}
