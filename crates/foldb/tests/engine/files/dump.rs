//! Dumps, and the databases that are restored from them.

use std::cmp::Ordering;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use foldb::custom::Comparator;
use foldb::dump::DumpReport;
use foldb::env::mem::Fault;
use foldb::env::{FileSystem, MemFs};
use foldb::operators::{Base, Operands};
use foldb::{
    CompactionPreset, Compression, Db, ErrorKind, Keyspace, KeyspaceOptions, Options, WriteOptions,
};
use proptest::prelude::*;

use crate::support::{PATH, assert_error, number, open, options, reopen};

const NEW: &str = "new";

/// Options of a program without operators of its own.
fn without_operators(fs: &MemFs) -> Options {
    Options { operators: Vec::new(), allow_unresolved_operators: true, ..options(fs) }
}

fn dump(db: &Db) -> Vec<u8> {
    let mut stream = Vec::new();
    let report = db.dump(&mut stream).unwrap();
    assert_eq!(report.bytes, stream.len() as u64);
    stream
}

/// Restores, and opens the new database.
fn restored(fs: &MemFs, stream: &[u8]) -> Db {
    Db::restore(stream, NEW, options(fs)).unwrap();
    opened(fs)
}

fn opened(fs: &MemFs) -> Db {
    let db =
        Db::open(NEW, Options { default: KeyspaceOptions::default(), ..reopened(fs) }).unwrap();
    db.verify().unwrap();
    db
}

fn reopened(fs: &MemFs) -> Options {
    Options { create_if_missing: false, ..options(fs) }
}

/// A key as it reads: its value, or how its merge fails.
type Read = (Vec<u8>, Result<Vec<u8>, String>);

fn entries(keyspace: &Keyspace) -> Vec<Read> {
    let mut iter = keyspace.iter().unwrap();
    let mut entries = Vec::new();
    while iter.advance().unwrap() {
        let value = match iter.value() {
            Ok(value) => Ok(value.to_vec()),
            Err(error) => Err(error.failed_merge().expect("a failed merge").1.to_owned()),
        };
        entries.push((iter.key().to_vec(), value));
    }
    entries
}

fn assert_same(one: &Db, other: &Db) {
    assert_eq!(one.keyspaces(), other.keyspaces());
    for name in one.keyspaces() {
        let (one, other) = (one.keyspace(&name).unwrap(), other.keyspace(&name).unwrap());
        assert_eq!(entries(&one), entries(&other), "{name}");
        let (one, other) = (one.options(), other.options());
        assert_eq!(one.merge_operator, other.merge_operator, "{name}");
        if name != "default" {
            // Each open gives the options of the default keyspace.
            assert_eq!(format!("{one:?}"), format!("{other:?}"), "{name}");
        }
    }
}

/// Three keyspaces with everything that a dump may meet.
fn make(fs: &MemFs) -> Db {
    let db = open(fs).unwrap();
    let plain = KeyspaceOptions {
        compression: Some(Compression::None),
        bloom_bits: Some(3),
        compaction: Some(CompactionPreset::Leveled),
        value_separation_min: Some(100),
        merge_operator: Some("stringappend:;".to_owned()),
        ..KeyspaceOptions::default()
    };
    let plain = db.create_keyspace("plain", plain).unwrap();
    db.create_keyspace("empty", KeyspaceOptions::default()).unwrap();
    for n in 0..2000u64 {
        db.merge(format!("{:03}", n % 300), number(n)).unwrap();
        plain.put(format!("{n:04}"), vec![n as u8; (n % 250) as usize]).unwrap();
        if n == 1000 {
            db.flush().unwrap();
            plain.delete_range("0100".."0200").unwrap();
            plain.merge("0150", "again").unwrap();
            db.delete("007").unwrap();
        }
    }
    plain.put("", "the empty key").unwrap();
    plain.put("no value", "").unwrap();
    plain.put("large", vec![7; 3 << 20]).unwrap();
    plain.put(vec![0xff; 5000], vec![0xff; 300_000]).unwrap();
    plain.merge("0001", "more").unwrap();
    plain.delete_range("1990"..).unwrap();
    db
}

#[test]
fn a_restored_database_is_equal_and_goes_on() {
    let fs = MemFs::new();
    let db = make(&fs);
    let stream = dump(&db);
    let new = restored(&fs, &stream);
    assert_same(&db, &new);
    assert!(new.keyspace("plain").unwrap().get("1995").unwrap().is_none());
    assert_eq!(dump(&new), stream, "the dump of the restored database");
    for db in [&db, &new] {
        db.merge("000", number(1)).unwrap();
        db.keyspace("plain").unwrap().merge("0150", "on").unwrap();
        db.compact(..).unwrap();
    }
    assert_same(&db, &new);
}

#[test]
fn a_new_database_can_be_dumped() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let new = restored(&fs, &dump(&db));
    assert_same(&db, &new);
    assert_eq!(new.iter().unwrap().count(), 0);
}

/// Writes to the database with every write of the stream.
struct Writer<'a> {
    db: &'a Db,
    stream: Vec<u8>,
    writes: u64,
}

impl Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.extend_from_slice(bytes);
        self.writes += 1;
        let (first, last) = (format!("{:04}", self.writes), format!("9{:04}", self.writes));
        self.db.delete(first)?;
        self.db.put(last, "later")?;
        self.db.put("5000", "later")?;
        if self.writes == 2 {
            self.db.create_keyspace("later", KeyspaceOptions::default())?;
            self.db.compact(..)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_dump_shows_one_moment_while_writes_go_on() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    for n in 0..9000 {
        db.put(format!("{n:04}"), [n as u8; 100]).unwrap();
    }
    let before = entries(db.default_keyspace());
    let mut writer = Writer { db: &db, stream: Vec::new(), writes: 0 };
    db.dump(&mut writer).unwrap();
    assert!(writer.writes > 3, "{}", writer.writes);
    let new = restored(&fs, &writer.stream);
    assert!(entries(new.default_keyspace()) == before, "not one moment");
    assert_eq!(new.keyspaces(), ["default"]);
}

/// Base and operands in words.
fn words(chain: &Operands) -> String {
    let base = match chain.base() {
        Base::Put(value) => value.escape_ascii().to_string(),
        Base::Deleted | Base::Nothing => "nothing".to_owned(),
    };
    chain.oldest_first().fold(base, |words, operand| {
        format!("{words} {}({})", operand.operator(), operand.value().escape_ascii())
    })
}

/// A dump by a program without the operators keeps the operands. With the operators, the restored
/// database has the values of the first.
#[test]
fn operands_of_unknown_operators_are_kept() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let fussy = db.operator("test.fussy").unwrap();
    let references = KeyspaceOptions::with_operator("test.references");
    let references = db.create_keyspace("references", references).unwrap();
    db.put("base", "b").unwrap();
    db.delete("deleted").unwrap();
    for key in ["base", "deleted", "none"] {
        for operand in ["1", "!", "2", "3"] {
            db.merge_with(&fussy, key, operand).unwrap();
        }
    }
    db.merge_with(&fussy, "sound", "whole").unwrap();
    references.merge("gone", number(5)).unwrap();
    references.merge("gone", number(5u64.wrapping_neg())).unwrap();
    references.merge("kept", number(5)).unwrap();
    db.flush().unwrap();
    db.close().unwrap();

    let db = Db::open(PATH, without_operators(&fs)).unwrap();
    let stream = dump(&db);
    let shown: Vec<String> =
        ["base", "deleted", "none"].map(|key| words(&db.get_operands(key).unwrap())).to_vec();
    assert!(shown[0].starts_with("b test.fussy("), "{shown:?}");
    db.close().unwrap();

    // Without the operators: refused by name, unless the options allow it.
    let refused = Options { allow_unresolved_operators: false, ..without_operators(&fs) };
    let error = assert_error(
        Db::restore(&stream[..], NEW, refused).map(|_| ()),
        ErrorKind::UnknownOperator,
        None,
    );
    assert!(error.to_string().contains("'test.fussy'"), "{error}");
    assert!(!fs.exists(Path::new(NEW)), "the refused restore left files");
    let report = Db::restore(&stream[..], NEW, without_operators(&fs)).unwrap();
    assert!(report.operands > 4, "{report:?}");
    let new =
        Db::open(NEW, Options { default: KeyspaceOptions::default(), ..without_operators(&fs) })
            .unwrap();
    for (key, expected) in ["base", "deleted", "none"].iter().zip(&shown) {
        assert_eq!(words(&new.get_operands(key).unwrap()), *expected, "{key}");
    }
    assert_eq!(dump(&new), stream, "a dump of the restored database");
    new.close().unwrap();
    drop(new);

    // The operators are there again, in both databases.
    assert_same(&reopen(&fs).unwrap(), &opened(&fs));
    let new = opened(&fs);
    let references = new.keyspace("references").unwrap();
    assert_eq!(references.get("gone").unwrap(), None);
    assert_eq!(references.get("kept").unwrap().unwrap(), number(5));
    references.merge("kept", number(1)).unwrap();
    assert_eq!(references.get("kept").unwrap().unwrap(), number(6));
    drop((references, new));

    // A restore with the operators folds what the dump could not.
    Db::destroy(NEW, &options(&fs)).unwrap();
    let new = restored(&fs, &stream);
    assert_same(&reopen(&fs).unwrap(), &new);
    assert_eq!(new.get("sound").unwrap().unwrap(), b"whole");
}

#[test]
fn a_failed_merge_stays_with_its_key() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("bad", "not a number").unwrap();
    for n in 1..=3 {
        db.merge("bad", number(n)).unwrap();
        db.merge("good", number(n)).unwrap();
    }
    let new = restored(&fs, &dump(&db));
    assert_same(&db, &new);
    let chain = new.get_operands("bad").unwrap();
    assert!(matches!(chain.base(), Base::Put(value) if value == b"not a number"));
    // A put makes the key whole again.
    new.put("bad", number(1)).unwrap();
    new.merge("bad", number(1)).unwrap();
    assert_eq!(new.get("bad").unwrap().unwrap(), number(2));
}

/// The last byte of a key counts first.
#[derive(Debug)]
struct Backwards;

impl Comparator for Backwards {
    fn name(&self) -> &str {
        "test.backwards"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.iter().rev().cmp(b.iter().rev())
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

#[test]
fn a_comparator_is_dumped_by_name() {
    let fs = MemFs::new();
    let with = |fs: &MemFs| Options { comparators: vec![Arc::new(Backwards)], ..options(fs) };
    let db = Db::open(PATH, with(&fs)).unwrap();
    let own = KeyspaceOptions {
        comparator: Some(Arc::new(Backwards)),
        merge_operator: Some("stringappend:,".to_owned()),
        ..KeyspaceOptions::default()
    };
    let own = db.create_keyspace("own", own).unwrap();
    for key in ["az", "zb", "mm", "ba"] {
        own.put(key, "").unwrap();
    }
    let stream = dump(&db);
    let refused = Db::restore(&stream[..], NEW, options(&fs)).map(|_| ());
    let error = assert_error(refused, ErrorKind::UnknownComparator, None);
    assert!(error.to_string().contains("'test.backwards' orders keyspace 'own'"), "{error}");
    assert!(!fs.exists(Path::new(NEW)));
    Db::restore(&stream[..], NEW, with(&fs)).unwrap();
    let new = Db::open(NEW, with(&fs)).unwrap();
    let keys: Vec<_> =
        new.keyspace("own").unwrap().iter().unwrap().map(|entry| entry.unwrap().0).collect();
    assert_eq!(keys, [&b"ba"[..], b"zb", b"mm", b"az"]);

    // The same for the default keyspace.
    let fs = MemFs::new();
    let with = |fs: &MemFs| Options {
        default: KeyspaceOptions { comparator: Some(Arc::new(Backwards)), ..options(fs).default },
        ..options(fs)
    };
    let db = Db::open(PATH, with(&fs)).unwrap();
    db.put("az", "").unwrap();
    db.put("ba", "").unwrap();
    let stream = dump(&db);
    let refused = Db::restore(&stream[..], NEW, options(&fs)).map(|_| ());
    assert_error(refused, ErrorKind::UnknownComparator, None);
    Db::restore(&stream[..], NEW, with(&fs)).unwrap();
    let new = Db::open(NEW, with(&fs)).unwrap();
    assert_eq!(&new.iter().unwrap().next().unwrap().unwrap().0[..], b"ba");
}

#[test]
fn a_database_in_the_place_of_the_new_one_stays() {
    let fs = MemFs::new();
    let stream = dump(&open(&fs).unwrap());
    let old = Db::open(NEW, options(&fs)).unwrap();
    old.put("old", "kept").unwrap();
    let refused = || Db::restore(&stream[..], NEW, options(&fs)).map(|_| ());
    assert!(matches!(refused().unwrap_err().kind(), ErrorKind::Locked | ErrorKind::DatabaseExists));
    old.close().unwrap();
    drop(old);
    assert_error(refused(), ErrorKind::DatabaseExists, None);
    assert_eq!(opened(&fs).get("old").unwrap().unwrap(), b"kept");
}

/// A stream that fails after some bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn errors_of_streams_and_disks_are_returned() {
    let fs = MemFs::new();
    let db = make(&fs);
    let DumpReport { bytes, .. } = db.dump(io::sink()).unwrap();
    for room in [0, 100, bytes as usize / 2, bytes as usize - 1] {
        let error = db.dump(Full(room)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSpace, "{room}: {error}");
        assert!(error.to_string().contains("cannot write the dump"), "{error}");
    }
    let stream = dump(&db);
    drop(db);
    // A disk that fails at the Nth change leaves no database, or the restore did not notice.
    let calls = {
        let fs = MemFs::new();
        Db::restore(&stream[..], NEW, options(&fs)).unwrap();
        fs.counts().mutations()
    };
    let mut failed = 0;
    for point in 1..=calls {
        let fs = MemFs::new();
        fs.inject(Fault::on_mutation().nth(point));
        match Db::restore(&stream[..], NEW, options(&fs)) {
            Ok(_) => assert_same(&opened(&fs), &restored(&MemFs::new(), &stream)),
            Err(error) => {
                failed += 1;
                assert!(
                    matches!(error.kind(), ErrorKind::Io | ErrorKind::Poisoned),
                    "{point}: {error}"
                );
                let current = Path::new(NEW).join("CURRENT");
                assert!(!fs.exists(&current), "{point} of {calls}: a database is left: {error}");
            }
        }
    }
    assert!(failed > 5, "{failed} of {calls}");
}

/// One write of a random history.
#[derive(Clone, Debug)]
enum Step {
    Put(u8, Vec<u8>),
    Merge(u8, u64),
    Append(u8, String),
    Delete(u8),
    DeleteRange(u8, u8),
    Flush,
    Compact,
}

fn step() -> impl Strategy<Value = (bool, Step)> {
    let key = 0..40u8;
    let step = prop_oneof![
        4 => (key.clone(), prop::collection::vec(any::<u8>(), 0..300))
            .prop_map(|(key, value)| Step::Put(key, value)),
        4 => (key.clone(), any::<u64>()).prop_map(|(key, n)| Step::Merge(key, n)),
        4 => (key.clone(), "[a-z!]{0,4}").prop_map(|(key, text)| Step::Append(key, text)),
        1 => key.clone().prop_map(Step::Delete),
        1 => (key.clone(), key).prop_map(|(a, b)| Step::DeleteRange(a.min(b), a.max(b))),
        1 => Just(Step::Flush),
        1 => Just(Step::Compact),
    ];
    (any::<bool>(), step)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Whatever was written, a restored database reads the same, with and without the operators.
    #[test]
    fn any_history_is_restored(steps in prop::collection::vec(step(), 0..120)) {
        let fs = MemFs::new();
        let with = |fs: &MemFs| Options { default: KeyspaceOptions { value_separation_min: Some(150), ..options(fs).default }, ..options(fs) };
        let db = Db::open(PATH, with(&fs)).unwrap();
        let other = db.create_keyspace("other", KeyspaceOptions::default()).unwrap();
        let fussy = db.operator("test.fussy").unwrap();
        for (is_other, step) in steps {
            let keyspace = if is_other { &other } else { db.default_keyspace() };
            match step {
                Step::Put(key, value) => keyspace.put([key], value),
                Step::Merge(key, n) => keyspace.merge([key], number(n)),
                Step::Append(key, text) => keyspace.merge_with(&fussy, [key], text),
                Step::Delete(key) => keyspace.delete([key]),
                Step::DeleteRange(from, to) => {
                    keyspace.with(&WriteOptions::default()).delete_range(&[from][..]..&[to][..])
                }
                Step::Flush => db.flush(),
                Step::Compact => keyspace.compact(..),
            }.unwrap();
        }
        assert_same(&db, &restored(&fs, &dump(&db)));
        db.close().unwrap();
        drop((db, other, fussy));
        let stream = dump(&Db::open(PATH, without_operators(&fs)).unwrap());
        Db::destroy(NEW, &options(&fs)).unwrap();
        Db::restore(&stream[..], NEW, without_operators(&fs)).unwrap();
        assert_same(&reopen(&fs).unwrap(), &opened(&fs));
    }
}

/// A power loss at every call of a restore: the new database is whole, or every open refuses it.
#[test]
fn a_crash_at_every_call_of_a_restore_leaves_no_part_that_opens() {
    let from = MemFs::new();
    let db = make(&from);
    let stream = dump(&db);
    let restore = |fs: &MemFs| Db::restore(&stream[..], "new", without_operators(fs));
    let calls = {
        let fs = MemFs::new();
        restore(&fs).unwrap();
        fs.counts().mutations()
    };
    let (mut refused, mut whole) = (0, 0);
    for point in 1..=calls {
        let fs = MemFs::new();
        fs.inject(Fault::on_mutation().nth(point).forever());
        let is_restored = restore(&fs).is_ok();
        for seed in 0..3 {
            let left = fs.crash_with(seed);
            let moment = format!("call {point} of {calls}, seed {seed}");
            let names = left.list(Path::new("new")).unwrap_or_default();
            match Db::open("new", Options { create_if_missing: false, ..reopened(&left) }) {
                Ok(new) => {
                    new.verify().unwrap_or_else(|error| panic!("{moment}: {error}"));
                    assert_same(&db, &new);
                    whole += 1;
                }
                Err(error) => {
                    assert!(!is_restored, "{moment}: {error}");
                    let is_marked = error.to_string().contains("restore was interrupted");
                    assert!(
                        is_marked || !names.contains(&"CURRENT".to_owned()),
                        "{moment}: {error}"
                    );
                    refused += u32::from(is_marked);
                    if is_marked {
                        assert_error(
                            Db::repair("new", reopened(&left)),
                            ErrorKind::Corruption,
                            None,
                        );
                        let shown = Db::open_read_only("new", reopened(&left));
                        assert_error(shown, ErrorKind::Corruption, None);
                    }
                    Db::destroy("new", &reopened(&left)).unwrap();
                    restore(&left).unwrap_or_else(|error| panic!("{moment}: {error}"));
                }
            }
        }
    }
    assert!(refused > 10 && whole > 0, "{refused} refused, {whole} whole");
}
