//! Databases of the present format version are checked in, and every later foldb reads them.
//! `FOLDB_REGENERATE_FIXTURE=1 cargo test -p foldb --test engine format::` writes the missing
//! fixtures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::{env, fs};

use foldb::env::{Env, FileSystem, MemFs};
use foldb::garbage::GcOptions;
use foldb::{Db, ErrorKind, KeyspaceOptions, Options};

use super::history::{
    IN_MEMORY, LIST, apply, assert_holds_the_adopted, assert_holds_the_closed,
    assert_holds_the_history, assert_holds_the_keyspaces, assert_holds_the_segments, batch, count,
    delete, entries, expected, files, generate_adopted, generate_closed, generate_history,
    generate_keyspaces, generate_segments, merge, put,
};
use crate::support::{AnyDb, skipped_where_files_only_grow};

pub(super) const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

/// A checked-in database.
pub(super) struct Fixture {
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
pub(super) const SEGMENTS: Fixture = Fixture {
    name: "segments",
    generate: generate_segments,
    assert_holds: assert_holds_the_segments,
};

/// Logs that became value segments, separable puts in a log.
const ADOPTED: Fixture =
    Fixture { name: "adopted", generate: generate_adopted, assert_holds: assert_holds_the_adopted };

/// Three logs at the close.
pub(super) const CLOSED: Fixture =
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
    pub(super) fn copy(&self) -> tempfile::TempDir {
        copy_of(&self.directory())
    }

    /// Returns the names of its files.
    pub(super) fn files(&self) -> Vec<String> {
        contents(&self.directory()).into_keys().collect()
    }
}

pub(super) fn copy_of(fixture: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for (name, bytes) in contents(fixture) {
        fs::write(copy.path().join(name), bytes).unwrap();
    }
    copy
}

/// Returns the files of a directory.
pub(super) fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
    let named = |path: PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    files.map(|path| (named(path.clone()), fs::read(path).unwrap())).collect()
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

/// Returns the names of files without the numbers, sorted.
fn kinds(names: &[String]) -> Vec<String> {
    let kind = |name: &String| name.replace(|c: char| c.is_ascii_digit(), "");
    let mut kinds: Vec<String> = names.iter().map(kind).collect();
    kinds.sort_unstable();
    kinds
}

/// The makers of the fixtures still make databases with the same contents, in as many files of each
/// kind.
#[test]
fn fixtures_regenerated_are_the_same_databases() {
    if skipped_where_files_only_grow("the fixtures have adopted logs") {
        return;
    }
    for fixture in &ALL {
        let made = (fixture.generate)();
        let made_files = files(&made);
        let names: Vec<String> = made_files.keys().cloned().collect();
        assert_eq!(kinds(&names), kinds(&fixture.files()), "{}", fixture.name);
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
