//! A database of each format version is checked in, and every later foldb reads it.
//!
//! `format-0` was written when all formats were at version 0, `format-1` when they were frozen as
//! version 1, `format-2` when logs got version 2, `format-3` when a clean close left a record; none
//! is ever made anew (see `docs/format/README.md`). `FOLDB_REGENERATE_FIXTURE=1 cargo test -p foldb
//! --test engine format::` writes a fixture that is not there yet, for the version to come.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs};

use foldb::env::{Env, FileSystem, MemFs};
use foldb::{
    CompactionPreset, Compression, Db, ErrorKind, GcOptions, KeyspaceOptions, LogAdoption, Options,
    WriteBatch,
};

const FORMAT_0: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/format-0");
const KEYSPACES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/format-1/keyspaces");
const SEGMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/format-1/segments");
const ADOPTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/format-2");

const CLOSED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/format-3");

/// Where databases in memory live.
const IN_MEMORY: &str = "db";

const COUNT: &str = "uint64add";
const LIST: &str = "stringappend:;";

/// What was done to the fixture, in order.
enum Step {
    Put(String, Vec<u8>),
    Delete(String),
    Merge(&'static str, String, Vec<u8>),
    Batch(Vec<Step>),
    /// Keeps what it sees: the next flush writes several versions of a key.
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

/// Text long enough for the table to have several blocks.
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

/// Puts, deletes and operands over what is below, in several versions, uncompressed.
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

/// What only the log holds.
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

/// What the keys hold after the history.
fn expected() -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut entries = BTreeMap::new();
    history().iter().for_each(|step| apply(step, &mut entries));
    entries
}

/// The operators once more, in as few words as can be.
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
        merge_operator: Some(COUNT.to_owned()),
        block_size: 16 << 10,
        min_level_to_compress: 1,
        num_levels: 3,
        disable_auto_compactions: true,
        env: Env { seed: Some(0xf01d_b000), ..Env::in_memory(fs.clone()) },
        ..Options::default()
    }
}

/// Makes the fixture of format 0 in today's, in memory: nothing in it depends on time, chance or
/// threads.
fn generate() -> MemFs {
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
            _ => panic!("this cannot be in a batch"),
        };
    }
    batch
}

/// The files of a generated database, without the lock.
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
/// operands, in two keyspaces; the last are in the log.
fn generate_segments() -> MemFs {
    let fs = MemFs::new();
    let open = |value_hints| {
        let separating = Options {
            value_separation_min: Some(40),
            segment_size: 4096,
            value_hints,
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
    db.collect_garbage(&none_dead).unwrap();
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

fn assert_holds_the_segments(db: &Db) {
    for n in 0..40usize {
        let expected = match n {
            10..15 => Some(separated(n, "third")),
            0..20 => Some(separated(n, "second")),
            30..35 => None,
            39 => Some(separated(n, "fourth")),
            35..39 => Some(separated(n, "first") + "+"),
            _ => Some(separated(n, "first")),
        };
        let found = db.get(format!("{n:02}")).unwrap();
        assert_eq!(found.as_deref(), expected.as_deref().map(str::as_bytes), "{n}");
        let all = db.keyspace("all").unwrap();
        assert_eq!(all.get(format!("{n:02}")).unwrap().unwrap(), n.to_string().as_bytes());
    }
    assert_eq!(db.iter().unwrap().filter(Result::is_ok).count(), 35);
    db.verify().unwrap();
}

/// Logs that became segments: one that is as it was, one that was rewritten; the last values are in
/// the log.
fn generate_adopted() -> MemFs {
    let fs = MemFs::new();
    let options = Options {
        value_separation_min: Some(300),
        segment_size: 8192,
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
    db.collect_garbage(&GcOptions { max_dead_fraction: 0.0, ..GcOptions::default() }).unwrap();
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

fn assert_holds_the_adopted(db: &Db) {
    for n in 0..22usize {
        let expected = match n {
            0..6 => Some(adopted(n, "second")),
            11 => None,
            6..12 => Some(adopted(n, "first")),
            12..18 => Some(adopted(n, "third")),
            _ => Some(adopted(n, "fourth")),
        };
        let found = db.get(format!("{n:02}")).unwrap();
        assert_eq!(found.as_deref(), expected.as_deref().map(str::as_bytes), "{n}");
    }
    assert_eq!(db.get("small").unwrap().unwrap(), b"inline");
    assert_eq!(db.iter().unwrap().filter(Result::is_ok).count(), 22);
    db.verify().unwrap();
}

/// A database that was closed while sealed memtables were not flushed: three logs.
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

fn assert_holds_the_closed(db: &Db) {
    for n in 0..50usize {
        let expected = (n != 7).then(|| separated(n, "second"));
        let found = db.get(format!("{n:02}")).unwrap();
        assert_eq!(found.as_deref(), expected.as_deref().map(str::as_bytes), "{n}");
    }
    db.verify().unwrap();
}

/// Where the fixtures of format 1 are.
fn keyspaces_fixture() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| fixture_of(KEYSPACES, generate_keyspaces))
}

fn segments_fixture() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| fixture_of(SEGMENTS, generate_segments))
}

fn adopted_fixture() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| fixture_of(ADOPTED, generate_adopted))
}

fn closed_fixture() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| fixture_of(CLOSED, generate_closed))
}

fn fixture_of(directory: &str, generate: fn() -> MemFs) -> PathBuf {
    let directory = PathBuf::from(directory);
    if env::var("FOLDB_REGENERATE_FIXTURE").is_ok_and(|wanted| wanted == "1") {
        if directory.exists() {
            return directory;
        }
        fs::create_dir_all(&directory).unwrap();
        for (name, bytes) in files(&generate()) {
            fs::write(directory.join(name), bytes).unwrap();
        }
    }
    directory
}

/// A copy of a fixture, for an open changes it.
fn copy_of(fixture: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in fs::read_dir(fixture).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), copy.path().join(file.file_name())).unwrap();
    }
    copy
}

fn copy_of_the_fixture() -> tempfile::TempDir {
    copy_of(Path::new(FORMAT_0))
}

/// Without the record of the close, which older formats do not have.
fn without_closed(mut names: Vec<String>) -> Vec<String> {
    names.retain(|name| name != "CLOSED");
    names
}

/// Names of the files of a fixture that is checked in.
fn checked_in(fixture: &Path) -> Vec<String> {
    let files = fs::read_dir(fixture).unwrap();
    let mut names: Vec<_> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn entries(db: &Db) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let entries = db.iter().unwrap().map(|entry| entry.unwrap());
    entries.map(|(key, value)| (key, value.into_owned())).collect()
}

fn assert_holds_the_history(db: &Db) {
    let expected = expected();
    assert_eq!(entries(db), expected);
    for (key, value) in &expected {
        assert_eq!(db.get(key).unwrap().unwrap(), value[..], "{}", key.escape_ascii());
    }
    for gone in ["text-001", "text-002", "large", "nobody"] {
        assert_eq!(db.get(gone).unwrap(), None, "{gone}");
    }
    db.verify().unwrap();
}

/// No option is needed to read it: files describe themselves, operators included.
#[test]
fn format_0_is_read() {
    let copy = copy_of_the_fixture();
    let db = Db::open(copy.path(), Options::default()).unwrap();
    assert_holds_the_history(&db);
    assert_eq!(db.default_operator().unwrap().spec(), COUNT);
}

/// Both its levels are there, and what the log held becomes a run of its own.
#[test]
fn format_0_has_its_levels() {
    let copy = copy_of_the_fixture();
    let as_it_is = Options { disable_auto_compactions: true, ..Options::default() };
    let db = Db::open(copy.path(), as_it_is).unwrap();
    let runs: Vec<u64> = db.stats().levels.iter().map(|level| level.runs).collect();
    assert_eq!((runs[0], runs[1], runs[2]), (2, 0, 1));
}

/// Old and new records meet in one key, and in one table.
#[test]
fn format_0_is_written_to() {
    let copy = copy_of_the_fixture();
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

/// What the fixture says is still what its maker writes: one of today is no other.
#[test]
fn fixture_regenerated_is_the_same_database() {
    let made = generate();
    let made_files = files(&made);
    let names: Vec<String> = made_files.keys().cloned().collect();
    assert_eq!(without_closed(names), checked_in(Path::new(FORMAT_0)));
    assert_eq!(made_files, files(&generate()), "two fixtures of one history differ");

    let options = Options { env: Env::in_memory(made), ..Options::default() };
    assert_holds_the_history(&Db::open(IN_MEMORY, options).unwrap());
}

fn assert_holds_the_keyspaces(db: &Db) {
    assert_eq!(db.keyspaces(), ["counts ½", "default", "lists"]);
    let (lists, counts) = (db.keyspace("lists").unwrap(), db.keyspace("counts ½").unwrap());
    assert_eq!(lists.default_operator().unwrap().spec(), LIST);
    assert_eq!(counts.default_operator().unwrap().spec(), COUNT);
    for key in 0..7u64 {
        let rounds: Vec<u64> = (0..30).filter(|n| n % 7 == key).collect();
        let texts: Vec<String> = rounds.iter().map(u64::to_string).collect();
        let key = format!("{key:02}");
        let last = format!("round {}", rounds.last().unwrap());
        assert_eq!(db.get(&key).unwrap().unwrap(), last.as_bytes());
        assert_eq!(lists.get(&key).unwrap().unwrap(), texts.join(";").as_bytes());
        let sum: u64 = rounds.iter().sum();
        assert_eq!(counts.get(&key).unwrap().unwrap(), sum.to_le_bytes());
    }
    for keyspace in [db.default_keyspace(), &lists, &counts] {
        assert_eq!(keyspace.iter().unwrap().count(), 7);
    }
    db.verify().unwrap();
}

#[test]
fn format_1_is_read_and_written_to() {
    let copy = copy_of(keyspaces_fixture());
    let db = Db::open(copy.path(), Options::default()).unwrap();
    assert_holds_the_keyspaces(&db);
    // Ids go on behind the one that was dropped.
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

/// As for the other fixture: one of today is no other.
#[test]
fn keyspaces_regenerated_are_the_same_database() {
    let made = generate_keyspaces();
    let names: Vec<String> = files(&made).keys().cloned().collect();
    assert_eq!(without_closed(names), checked_in(keyspaces_fixture()));
    assert_eq!(files(&made), files(&generate_keyspaces()), "two fixtures of one history differ");
    let options = Options { env: Env::in_memory(made), ..Options::default() };
    assert_holds_the_keyspaces(&Db::open(IN_MEMORY, options).unwrap());
}

#[test]
fn format_1_with_separated_values_is_read_and_written_to() {
    let copy = copy_of(segments_fixture());
    let db = Db::open(copy.path(), Options::default()).unwrap();
    assert_holds_the_segments(&db);
    db.compact(..).unwrap();
    let none_dead = GcOptions { max_dead_fraction: 0.0, ..GcOptions::default() };
    db.collect_garbage(&none_dead).unwrap();
    assert_eq!(db.stats().segments.dead_bytes, 0);
    assert_holds_the_segments(&db);
    drop(db);
    assert_holds_the_segments(&Db::open(copy.path(), Options::default()).unwrap());
}

/// As for the other fixtures: one of today is no other.
#[test]
fn segments_regenerated_are_the_same_database() {
    let made = generate_segments();
    let names: Vec<String> = files(&made).keys().cloned().collect();
    assert_eq!(without_closed(names), checked_in(segments_fixture()));
    assert_eq!(files(&made), files(&generate_segments()), "two fixtures of one history differ");
    let options = Options { env: Env::in_memory(made), ..Options::default() };
    assert_holds_the_segments(&Db::open(IN_MEMORY, options).unwrap());
}

#[test]
fn format_2_with_adopted_logs_is_read_and_written_to() {
    let copy = copy_of(adopted_fixture());
    let adopted = |file: &fs::DirEntry| {
        let is_segment = file.path().extension().is_some_and(|extension| extension == "seg");
        is_segment && !fs::read(file.path()).unwrap().starts_with(b"foldbseg")
    };
    let files = fs::read_dir(copy.path()).unwrap().map(Result::unwrap);
    assert_eq!(files.filter(adopted).count(), 1, "of the two that were logs one was rewritten");
    let db = Db::open(copy.path(), Options::default()).unwrap();
    assert_holds_the_adopted(&db);
    db.compact(..).unwrap();
    let none_dead = GcOptions { max_dead_fraction: 0.0, ..GcOptions::default() };
    db.collect_garbage(&none_dead).unwrap();
    assert_eq!(db.stats().segments.dead_bytes, 0);
    assert_holds_the_adopted(&db);
    drop(db);
    assert_holds_the_adopted(&Db::open(copy.path(), Options::default()).unwrap());
}

/// As for the other fixtures: one of today is no other.
#[test]
fn adopted_logs_regenerated_are_the_same_database() {
    let made = generate_adopted();
    let names: Vec<String> = files(&made).keys().cloned().collect();
    assert_eq!(without_closed(names), checked_in(adopted_fixture()));
    assert_eq!(files(&made), files(&generate_adopted()), "two fixtures of one history differ");
    let options = Options { env: Env::in_memory(made), ..Options::default() };
    assert_holds_the_adopted(&Db::open(IN_MEMORY, options).unwrap());
}

#[test]
fn format_3_with_a_record_of_the_close_is_read_and_written_to() {
    let copy = copy_of(closed_fixture());
    let logs = checked_in(copy.path()).into_iter().filter(|name| name.ends_with(".log"));
    assert_eq!(logs.count(), 3);
    let record = copy.path().join("CLOSED");
    assert!(record.exists());
    let db = Db::open(copy.path(), Options::default()).unwrap();
    assert!(!record.exists(), "what the close said is over");
    assert_holds_the_closed(&db);
    db.put("new", "1").unwrap();
    drop(db);
    assert!(record.exists());
    assert_holds_the_closed(&Db::open(copy.path(), Options::default()).unwrap());
}

/// The record of the fixture is still believed.
#[test]
fn format_3_is_read_as_it_was_closed() {
    for name in checked_in(closed_fixture()).iter().filter(|name| name.ends_with(".log")) {
        let copy = copy_of(closed_fixture());
        let path = copy.path().join(name);
        let log = fs::read(&path).unwrap();
        fs::write(&path, &log[..log.len() - 1]).unwrap();
        let error = Db::open(copy.path(), Options::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
        assert!(error.path().unwrap().ends_with(name), "{error}");
    }
}

/// As for the other fixtures: one of today is no other.
#[test]
fn closed_regenerated_is_the_same_database() {
    let made = generate_closed();
    let names: Vec<String> = files(&made).keys().cloned().collect();
    assert_eq!(names, checked_in(closed_fixture()));
    assert_eq!(files(&made), files(&generate_closed()), "two fixtures of one history differ");
    let options = Options { env: Env::in_memory(made), ..Options::default() };
    assert_holds_the_closed(&Db::open(IN_MEMORY, options).unwrap());
}

/// The fixture with its first file of a kind changed; the change gets the file and its number.
fn changed(extension: &str, change: impl Fn(&mut [u8], u64)) -> tempfile::TempDir {
    let copy = copy_of(segments_fixture());
    let names = checked_in(segments_fixture());
    let name = names.iter().find(|name| name.ends_with(extension)).unwrap();
    let path = copy.path().join(name);
    let mut file = fs::read(&path).unwrap();
    change(&mut file, name[..6].parse().unwrap());
    fs::write(path, file).unwrap();
    copy
}

/// The checksum of `bytes` that belong at `offset` of a file, as every format version has it.
fn checksum(seed: u64, bytes: &[u8]) -> [u8; 8] {
    xxhash_rust::xxh3::xxh3_64_with_seed(bytes, seed).to_le_bytes()
}

fn seed(file: u64, offset: u64) -> u64 {
    file.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
        ^ offset.wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn newer_table(file: &mut [u8], number: u64) {
    let footer = file.len() - 120;
    file[footer + 108..footer + 112].copy_from_slice(&2u32.to_le_bytes());
    let sum = checksum(seed(seed(number, footer as u64), 2), &file[footer..footer + 96]);
    file[footer + 96..footer + 104].copy_from_slice(&sum);
}

fn newer_segment(file: &mut [u8], number: u64) {
    file[8..12].copy_from_slice(&2u32.to_le_bytes());
    let sum = checksum(seed(number, 0), &file[..32]);
    file[32..40].copy_from_slice(&sum);
}

/// Logs and manifests have their version inside a frame; what becomes of a newer one is tested
/// there.
#[test]
fn a_file_of_a_newer_format_says_that_a_newer_foldb_is_needed() {
    for copy in [changed(".tbl", newer_table), changed(".seg", newer_segment)] {
        let db = Db::open(copy.path(), Options::default());
        let error = db.and_then(|db| db.verify()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("use a newer foldb"), "{error}");
        assert!(error.path().is_some(), "{error}");
    }
}
