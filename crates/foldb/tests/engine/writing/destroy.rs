//! Which directories hold a database, and what `Db::destroy` removes.

use std::fs;
use std::path::Path;

use foldb::env::mem::Fault;
use foldb::env::{FileSystem, MemFs};
use foldb::{Db, ErrorKind, Options};
use tempfile::TempDir;

use super::durability::key;
use crate::support::{PATH, assert_error, error_of, options, reopen};

#[test]
fn one_database_is_open_once() {
    let dir = TempDir::new().unwrap();
    let on_disk = || Options { create_if_missing: true, ..Options::default() };
    let db = Db::open(dir.path(), on_disk()).unwrap();
    let error = assert_error(Db::open(dir.path(), on_disk()), ErrorKind::Locked, None);
    assert!(error.to_string().contains("LOCK"), "{error}");
    assert_error(Db::destroy(dir.path(), &on_disk()), ErrorKind::Locked, None);
    let clone = db.clone();
    drop(db);
    assert_error(Db::open(dir.path(), on_disk()), ErrorKind::Locked, None);
    clone.close().unwrap();
    drop(Db::open(dir.path(), on_disk()).unwrap());
}

#[test]
fn create_if_missing_and_error_if_exists() {
    let fs = MemFs::new();
    assert_error(reopen(&fs), ErrorKind::DatabaseMissing, None);
    assert!(!fs.exists(PATH.as_ref()), "a refused open creates nothing");
    let fresh = || Options { error_if_exists: true, ..options(&fs) };
    drop(Db::open(PATH, fresh()).unwrap());
    assert_error(Db::open(PATH, fresh()), ErrorKind::DatabaseExists, None);
    assert!(reopen(&fs).is_ok());
}

#[test]
fn a_directory_without_a_database_is_refused_and_left_alone() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("notes.txt");
    fs::write(&file, "notes").unwrap();
    let other = dir.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("photo"), "photo").unwrap();
    for create_if_missing in [false, true] {
        let on_disk = Options { create_if_missing, ..Options::default() };
        error_of(Db::open(&file, on_disk.clone()));
        assert_eq!(fs::read(&file).unwrap(), b"notes");
        if !create_if_missing {
            assert_error(Db::open(&other, on_disk), ErrorKind::DatabaseMissing, None);
            assert_eq!(names(&other), ["photo"]);
        }
    }
    Db::destroy(&other, &Options::default()).unwrap();
    assert_eq!(names(&other), ["photo"]);
    assert_eq!(fs::read(other.join("photo")).unwrap(), b"photo");
}

#[test]
fn destroy_removes_only_files_it_knows() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("db");
    let on_disk = Options { create_if_missing: true, ..Options::default() };
    Db::destroy(&path, &on_disk).unwrap();
    let db = Db::open(&path, on_disk.clone()).unwrap();
    db.put("a", "1").unwrap();
    db.flush().unwrap();
    drop(db);
    for strange in ["notes.txt", "1.tbl", "000001.sst", "MANIFEST-old", "000001.log.bak"] {
        fs::write(path.join(strange), "mine").unwrap();
    }
    Db::destroy(&path, &on_disk).unwrap();
    let mut expected = ["notes.txt", "1.tbl", "000001.sst", "MANIFEST-old", "000001.log.bak"];
    expected.sort_unstable();
    assert_eq!(names(&path), expected);
    for strange in expected {
        fs::remove_file(path.join(strange)).unwrap();
    }
    drop(Db::open(&path, on_disk.clone()).unwrap());
    Db::destroy(&path, &on_disk).unwrap();
    assert!(!path.exists(), "destroy removes the empty directory");
}

/// A directory without a database, with files of the user's that have names like a database's.
#[test]
fn destroy_leaves_files_that_foldb_did_not_write() {
    let mine = [
        "000007.log",
        "000008.tbl",
        "000010.seg",
        "000011.arc",
        "MANIFEST-000009",
        "CURRENT.tmp",
        "CLOSED",
        "LOCK",
    ];
    let text = "a text of the user's that is longer than all magics and footers: ".repeat(4);
    for beside in [None, Some("CURRENT")] {
        let dir = TempDir::new().unwrap();
        for name in mine.into_iter().chain(beside) {
            fs::write(dir.path().join(name), &text).unwrap();
        }
        let on_disk = Options { create_if_missing: true, ..Options::default() };
        let refused = Db::destroy(dir.path(), &on_disk);
        let error = assert_error(refused, ErrorKind::InvalidArgument, None);
        assert!(error.to_string().contains("nothing is removed"), "{error}");
        for name in mine.into_iter().chain(beside) {
            assert_eq!(fs::read_to_string(dir.path().join(name)).unwrap(), text, "{name}");
        }
    }
}

#[cfg(unix)]
#[test]
fn destroy_through_a_link_removes_the_database_and_leaves_the_link() {
    if crate::support::skipped_where_files_only_grow("they have no links") {
        return;
    }
    let dir = TempDir::new().unwrap();
    let (path, link) = (dir.path().join("db"), dir.path().join("link"));
    let on_disk = Options { create_if_missing: true, ..Options::default() };
    Db::open(&path, on_disk.clone()).unwrap().put("a", "1").unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    Db::destroy(&link, &on_disk).unwrap();
    assert_eq!(names(&path), Vec::<String>::new());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

/// A destroy that stops at any call can be finished by another.
#[test]
fn an_interrupted_destroy_can_be_finished() {
    let whole = MemFs::new();
    let db = Db::open(PATH, options(&whole)).unwrap();
    for n in 0..100 {
        db.put(key(n), [b'v'; 60]).unwrap();
    }
    db.flush().unwrap();
    db.put("logged", "value").unwrap();
    drop(db);
    for point in 1.. {
        let left = whole.kill();
        left.inject(Fault::on_mutation().nth(point).forever());
        let done = Db::destroy(PATH, &options(&left)).is_ok();
        for left in [left.kill(), left.crash_with(point)] {
            Db::destroy(PATH, &options(&left)).unwrap();
            let is_gone = !left.exists(Path::new(PATH));
            assert!(is_gone || left.list(Path::new(PATH)).unwrap().is_empty(), "call {point}");
        }
        if done {
            assert!(point > 4, "{point}");
            break;
        }
    }
}

/// RocksDB and LevelDB use the same names for their files as foldb.
#[test]
fn destroy_and_open_leave_the_database_of_another_engine() {
    let dir = TempDir::new().unwrap();
    let files: [(&str, &[u8]); 5] = [
        ("CURRENT", b"MANIFEST-000002\n"),
        ("MANIFEST-000002", b"\x56\xf9\xb8\xf8\x1c\0\x01\x01\x1aleveldb.BytewiseComparator\x02\0"),
        ("000003.log", b""),
        ("LOCK", b""),
        ("LOG", b"opened"),
    ];
    for (name, bytes) in files {
        fs::write(dir.path().join(name), bytes).unwrap();
    }
    let on_disk = Options { create_if_missing: true, ..Options::default() };
    let error = assert_error(Db::destroy(dir.path(), &on_disk), ErrorKind::ForeignDatabase, None);
    assert!(error.to_string().contains("a LevelDB database"), "{error}");
    let error = assert_error(Db::open(dir.path(), on_disk), ErrorKind::ForeignDatabase, None);
    assert!(error.to_string().contains("foldb import --from leveldb SRC DST"), "{error}");
    assert_eq!(names(dir.path()).len(), files.len());
    for (name, bytes) in files {
        assert_eq!(fs::read(dir.path().join(name)).unwrap(), bytes, "{name}");
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}
