//! Files that another program holds: on Windows, such a file can neither be removed nor replaced.
//! The database waits for a while. Then the call fails, and nothing else does.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use foldb::env::mem::Operation;
use foldb::env::{Env, FileSystem, MemFs, NothingDone, Watch};
use foldb::repair::verify;
use foldb::{Db, ErrorKind, Options};

use crate::support::{PATH, assert_error, options, reopen, text, watched};

/// A program that holds one file. The calls of one kind for this file fail, and change nothing.
#[derive(Debug)]
struct Holder {
    refuses: Operation,
    name: String,
    holds: AtomicBool,
    refused: AtomicU64,
}

impl Holder {
    fn of(name: &str, refuses: Operation) -> Arc<Holder> {
        let (holds, refused) = (AtomicBool::new(false), AtomicU64::new(0));
        Arc::new(Holder { refuses, name: name.to_owned(), holds, refused })
    }

    /// Lets go. The holder must have been in the way.
    fn let_go(&self) {
        self.holds.store(false, SeqCst);
        assert!(self.refused.load(SeqCst) > 0, "nothing was refused");
    }
}

impl Watch for Holder {
    fn before(&self, operation: Operation, path: &Path) -> io::Result<()> {
        let is_held = operation == self.refuses && path.ends_with(&self.name);
        if !is_held || !self.holds.load(SeqCst) {
            return Ok(());
        }
        self.refused.fetch_add(1, SeqCst);
        let refusal = "sharing violation".to_owned();
        Err(io::Error::new(io::ErrorKind::ResourceBusy, NothingDone { refusal }))
    }
}

fn beside(fs: &MemFs, holder: &Arc<Holder>) -> Options {
    Options { env: Env { fs: watched(fs, holder), ..options(fs).env }, ..options(fs) }
}

fn manifests(fs: &MemFs) -> usize {
    let names = fs.list(PATH.as_ref()).unwrap();
    names.iter().filter(|name| name.starts_with("MANIFEST")).count()
}

/// A database that was closed cleanly, with one key.
fn closed() -> MemFs {
    let fs = MemFs::new();
    let db = Db::open(PATH, options(&fs)).unwrap();
    db.put("a", "1").unwrap();
    db.close().unwrap();
    fs
}

/// A regression test: an error of the rename poisoned the database, although it surely had not
/// happened.
#[test]
fn a_program_that_holds_current_poisons_no_database() {
    let fs = closed();
    let holder = Holder::of("CURRENT", Operation::Rename);
    let db = Db::open(PATH, beside(&fs, &holder)).unwrap();
    db.put("b", "2").unwrap();
    holder.holds.store(true, SeqCst);
    for _ in 0..3 {
        // The first edit after a clean close needs a manifest of its own.
        let error = assert_error(db.flush(), ErrorKind::Io, Some("CURRENT"));
        assert!(error.to_string().contains("another program"), "{error}");
        assert_eq!(manifests(&fs), 1, "failed attempts leave nothing");
    }
    db.put("c", "3").unwrap();
    assert_eq!(text(&db, "b").as_deref(), Some("2"));
    let survivor = fs.crash();
    holder.let_go();
    db.flush().unwrap();
    db.put("d", "4").unwrap();
    db.close().unwrap();
    for (fs, last) in [(survivor, None), (fs, Some("4"))] {
        let db = reopen(&fs).unwrap();
        assert_eq!(text(&db, "a").as_deref(), Some("1"));
        assert_eq!(text(&db, "d").as_deref(), last);
        db.close().unwrap();
        assert!(verify(PATH, options(&fs)).unwrap().is_sound());
    }
}

#[test]
fn an_open_that_a_program_stops_leaves_the_database_as_it_was() {
    let fs = closed();
    // After a kill an open begins a manifest.
    let db = reopen(&fs).unwrap();
    db.put("b", "2").unwrap();
    let fs = fs.kill();
    drop(db);
    let holder = Holder::of("CURRENT", Operation::Rename);
    holder.holds.store(true, SeqCst);
    let before = fs.list(PATH.as_ref()).unwrap().len();
    for _ in 0..3 {
        assert_error(Db::open(PATH, beside(&fs, &holder)), ErrorKind::Io, Some("CURRENT"));
        assert_eq!(manifests(&fs), 1, "failed attempts leave nothing");
        assert!(fs.list(PATH.as_ref()).unwrap().len() <= before);
    }
    holder.let_go();
    let db = Db::open(PATH, beside(&fs, &holder)).unwrap();
    assert_eq!(text(&db, "b").as_deref(), Some("2"));
}

#[test]
fn a_new_database_that_a_program_stops_is_created_later() {
    let fs = MemFs::new();
    let holder = Holder::of("CURRENT", Operation::Rename);
    holder.holds.store(true, SeqCst);
    assert_error(Db::open(PATH, beside(&fs, &holder)), ErrorKind::Io, Some("CURRENT"));
    holder.let_go();
    Db::open(PATH, beside(&fs, &holder)).unwrap().put("a", "1").unwrap();
}

#[test]
fn a_program_that_holds_the_record_of_the_close_fails_one_write() {
    let fs = closed();
    let holder = Holder::of("CLOSED", Operation::Remove);
    let db = Db::open(PATH, beside(&fs, &holder)).unwrap();
    holder.holds.store(true, SeqCst);
    assert_error(db.put("b", "2"), ErrorKind::Io, Some("CLOSED"));
    assert_error(db.put("b", "2"), ErrorKind::Io, Some("CLOSED"));
    assert_eq!(text(&db, "b"), None);
    assert_eq!(text(&reopen(&fs.crash()).unwrap(), "a").as_deref(), Some("1"));
    holder.let_go();
    db.put("b", "3").unwrap();
    drop(db);
    assert_eq!(text(&reopen(&fs).unwrap(), "b").as_deref(), Some("3"));
}

/// Returns the number of tables that the trees of a database have.
fn tables_of(db: &Db) -> u64 {
    db.stats().levels.iter().map(|level| level.tables).sum()
}

fn table_files(fs: &MemFs) -> Vec<String> {
    let names = fs.list(PATH.as_ref()).unwrap().into_iter();
    names.filter(|name| name.ends_with(".tbl")).collect()
}

#[test]
fn a_replaced_table_that_a_program_holds_stays_until_a_later_open() {
    let fs = MemFs::new();
    let db = Db::open(PATH, options(&fs)).unwrap();
    db.put("a", "1").unwrap();
    db.flush().unwrap();
    db.close().unwrap();
    let [held] = &table_files(&fs)[..] else { panic!("{:?}", table_files(&fs)) };
    let holder = Holder::of(held, Operation::Remove);
    holder.holds.store(true, SeqCst);
    let db = Db::open(PATH, beside(&fs, &holder)).unwrap();
    db.put("a", "2").unwrap();
    db.flush().unwrap();
    db.compact(..).unwrap();
    assert_eq!(tables_of(&db), 1);
    db.close().unwrap();
    assert!(table_files(&fs).contains(held), "no call removes what a program holds");
    holder.let_go();
    let db = reopen(&fs).unwrap();
    assert_eq!(text(&db, "a").as_deref(), Some("2"));
    let tables = tables_of(&db);
    db.close().unwrap();
    assert!(!table_files(&fs).contains(held), "no program holds it");
    assert_eq!(table_files(&fs).len() as u64, tables);
}

/// Programs that hold files of a database on the disk, as virus scanners and copy tools do.
#[cfg(windows)]
mod by_share_modes {
    use std::fs::{File, OpenOptions, read_dir};
    use std::os::windows::fs::OpenOptionsExt;
    use std::path::{Path, PathBuf};
    use std::thread::{JoinHandle, sleep, spawn};
    use std::time::{Duration, Instant};

    use foldb::repair::verify;
    use foldb::{Db, ErrorKind, Options};

    use super::tables_of;
    use crate::support::{assert_error, text};

    /// Others may read and write the file.
    const READ_AND_WRITE: u32 = 1 | 2;
    /// No other program may open the file.
    const NOTHING: u32 = 0;

    fn options() -> Options {
        Options { create_if_missing: true, ..Options::default() }
    }

    /// Holds the files of the directory whose name ends so.
    fn hold(path: &Path, ending: &str, shared: u32) -> Vec<File> {
        let mut options = OpenOptions::new();
        options.read(true).share_mode(shared);
        let paths = named(path, ending);
        assert!(!paths.is_empty(), "there is no {ending}");
        paths.iter().map(|path| options.open(path).unwrap()).collect()
    }

    /// Returns the files of the directory whose name ends so.
    fn named(path: &Path, ending: &str) -> Vec<PathBuf> {
        let paths = read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        paths.filter(|path| path.to_str().unwrap().ends_with(ending)).collect()
    }

    /// Lets go after a while.
    fn let_go_later(held: Vec<File>) -> JoinHandle<()> {
        spawn(move || {
            sleep(Duration::from_millis(300));
            drop(held);
        })
    }

    fn closed() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let db = Db::open(&path, options()).unwrap();
        db.put("a", "1").unwrap();
        db.close().unwrap();
        (directory, path)
    }

    #[test]
    fn a_database_waits_for_a_program_that_lets_go() {
        let (_directory, path) = closed();
        let db = Db::open(&path, options()).unwrap();
        let holder = let_go_later(hold(&path, "CLOSED", READ_AND_WRITE));
        db.put("b", "2").unwrap();
        holder.join().unwrap();
        let holder = let_go_later(hold(&path, "CURRENT", READ_AND_WRITE));
        db.flush().unwrap();
        holder.join().unwrap();
        db.close().unwrap();
        // After a kill or not, an open reads each of these.
        for name in ["CURRENT", "CLOSED"] {
            let holder = let_go_later(hold(&path, name, NOTHING));
            let db = Db::open(&path, options()).unwrap();
            assert_eq!(text(&db, "b").as_deref(), Some("2"));
            holder.join().unwrap();
            db.close().unwrap();
        }
        assert!(verify(&path, options()).unwrap().is_sound());
    }

    #[test]
    fn a_program_that_does_not_let_go_costs_one_call() {
        let (_directory, path) = closed();
        let db = Db::open(&path, options()).unwrap();
        let held = hold(&path, "CLOSED", READ_AND_WRITE);
        let error = assert_error(db.put("b", "2"), ErrorKind::Io, Some("CLOSED"));
        assert!(error.to_string().contains("another program"), "{error}");
        drop(held);
        db.put("b", "2").unwrap();
        let held = hold(&path, "CURRENT", READ_AND_WRITE);
        assert_error(db.flush(), ErrorKind::Io, Some("CURRENT"));
        db.put("c", "3").unwrap();
        drop(held);
        // The workers try again by and by. Until then a flush gets the error of their last try.
        let begun = Instant::now();
        while let Err(error) = db.flush() {
            assert!(begun.elapsed() < Duration::from_secs(20), "{error}");
            sleep(Duration::from_millis(10));
        }
        db.close().unwrap();
        let held = hold(&path, "CURRENT", NOTHING);
        assert_error(Db::open(&path, options()), ErrorKind::Io, Some("CURRENT"));
        drop(held);
        assert_eq!(text(&Db::open(&path, options()).unwrap(), "c").as_deref(), Some("3"));
        assert!(verify(&path, options()).unwrap().is_sound());
    }

    #[test]
    fn held_tables_and_logs_stay_until_a_later_open() {
        let (_directory, path) = closed();
        let db = Db::open(&path, options()).unwrap();
        db.put("b", "2").unwrap();
        db.flush().unwrap();
        // The log of what is flushed goes first.
        db.wait_for_background().unwrap();
        db.put("c", "3").unwrap();
        let names = [named(&path, ".log"), named(&path, ".tbl")].concat();
        let held = [hold(&path, ".log", READ_AND_WRITE), hold(&path, ".tbl", READ_AND_WRITE)];
        db.flush().unwrap();
        db.compact(..).unwrap();
        db.put("d", "4").unwrap();
        db.close().unwrap();
        assert!(names.iter().all(|name| name.exists()), "no call removes what a program holds");
        drop(held);
        let db = Db::open(&path, options()).unwrap();
        for (key, value) in [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")] {
            assert_eq!(text(&db, key).as_deref(), Some(value), "{key}");
        }
        db.flush().unwrap();
        db.compact(..).unwrap();
        // "d" comes after the keys of the last level, so its table stands beside theirs.
        let tables = tables_of(&db);
        db.close().unwrap();
        // Until then Wine keeps the names of removed tables.
        drop(db);
        assert!(verify(&path, options()).unwrap().is_sound());
        assert!(names.iter().all(|name| !name.exists()), "no program holds them");
        assert_eq!(named(&path, ".tbl").len() as u64, tables, "a replaced table is left");
    }
}
