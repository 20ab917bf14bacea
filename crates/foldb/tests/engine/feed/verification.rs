//! Archived logs that are damaged, missing, or of another history: what a verification and an open
//! tell of them.

use std::path::Path;
use std::sync::{Arc, Mutex};

use foldb::env::{FileSystem, MemFs};
use foldb::events::{Event, EventListener};
use foldb::feed::Position;
use foldb::{Db, Error, ErrorKind, Options};

use super::archives::write_logs;
use super::support::{files, keeping, open_keeping};
use crate::support::{PATH, assert_error, options};

/// Keeps why an open shortened the feed.
#[derive(Debug, Default)]
struct Shortened(Mutex<Vec<Error>>);

impl EventListener for Shortened {
    fn on_event(&self, event: &Event) {
        if let Event::FeedShortened { error } = event {
            self.0.lock().unwrap().push(error.clone());
        }
    }
}

/// Opens a database that keeps all logs. Returns why the open shortened the feed, if it did.
pub(super) fn open_and_hear(fs: &MemFs, seed: u64) -> (Db, Option<Error>) {
    let shortened = Arc::new(Shortened::default());
    let options = Options { listeners: vec![shortened.clone()], ..keeping(fs, seed) };
    let db = Db::open(PATH, options).unwrap();
    let mut told = shortened.0.lock().unwrap();
    assert!(told.len() < 2, "{told:?}");
    (db, told.pop())
}

/// Writes three archived logs and closes. Returns the files, and the names of the archived logs.
pub(super) fn three_archives() -> (MemFs, Vec<String>) {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    write_logs(&db, 3);
    db.close().unwrap();
    drop(db);
    let archives = files(&fs, ".arc");
    assert_eq!(archives.len(), 3);
    (fs, archives)
}

/// Returns what a verification finds, and the names of the files that it did not need.
fn verified(fs: &MemFs) -> (Vec<Error>, Vec<String>) {
    let report = foldb::repair::verify(PATH, options(fs)).unwrap();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    (report.faults, report.leftovers.iter().map(|path| name(path)).collect())
}

#[track_caller]
fn assert_sound(fs: &MemFs) {
    let (faults, leftovers) = verified(fs);
    assert!(faults.is_empty() && leftovers.is_empty(), "{faults:?} {leftovers:?}");
}

fn put_file(fs: &MemFs, name: &str, bytes: &[u8]) {
    let file = fs.create(&Path::new(PATH).join(name)).unwrap();
    file.write_at(bytes, 0).unwrap();
}

/// Every byte of an archived log counts, because the log after it names its end: header, lineage,
/// batches, and each field of a frame's header. A file that is shorter is damaged. A longer one is
/// not: a power loss may bring back space that was reserved behind the last frame.
#[test]
fn verification_finds_each_flip_and_cut_of_an_archive() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    db.create_keyspace("x", foldb::KeyspaceOptions::default()).unwrap();
    for n in 0..3 {
        db.merge_with(&db.operator("uint64add").unwrap(), "n", 1u64.to_le_bytes()).unwrap();
        db.put("k", format!("{n}")).unwrap();
        db.flush().unwrap();
    }
    db.close().unwrap();
    drop(db);
    assert_sound(&fs);
    let archives = files(&fs, ".arc");
    assert_eq!(archives.len(), 3);
    for name in &archives {
        let good = fs.read(&Path::new(PATH).join(name)).unwrap();
        let assert_found = |bytes: &[u8], what: &str| {
            put_file(&fs, name, bytes);
            let (faults, leftovers) = verified(&fs);
            let is_named = |error: &Error| error.to_string().contains(name.as_str());
            assert!(faults.len() == 1 && is_named(&faults[0]), "{what}: {faults:?}");
            assert_eq!(leftovers, [""; 0], "{what}");
            assert!(faults[0].offset().is_some_and(|at| at <= good.len() as u64), "{faults:?}");
        };
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert_found(&bad, &format!("byte {at} of {name}"));
        }
        for length in 0..good.len() {
            assert_found(&good[..length], &format!("{name} cut to {length} bytes"));
        }
        put_file(&fs, name, &[&good[..], &[0; 5000]].concat());
        assert_sound(&fs);
        put_file(&fs, name, &good);
    }
    assert_sound(&fs);
}

/// The oldest archived log may be gone, because the bound removes it. One in the middle may not.
#[test]
fn verification_and_an_open_tell_a_missing_archive() {
    let (whole, archives) = three_archives();
    for (index, name) in archives.iter().enumerate() {
        let fs = whole.kill();
        fs.remove(&Path::new(PATH).join(name)).unwrap();
        let (faults, leftovers) = verified(&fs);
        assert!(leftovers.is_empty());
        let (db, why) = open_and_hear(&fs, 2);
        let told: Vec<_> = faults.into_iter().chain(why).collect();
        assert_eq!(told.len(), if index == 0 { 0 } else { 2 }, "{told:?}");
        for error in told {
            assert!(error.to_string().contains("missing") && error.to_string().contains(name));
        }
        assert_error(db.updates_since(&Position::BEGINNING), ErrorKind::PositionLost, None);
        db.close().unwrap();
        // The open removed what the feed cannot reach.
        assert_sound(&fs);
    }
}

/// A copy of the directory was put back over a database that had written more, or the archived log
/// of another database got the name of one.
#[test]
fn verification_and_an_open_tell_an_archive_of_another_history() {
    let (fs, archives) = three_archives();
    let other = MemFs::new();
    let db = open_keeping(&other, 77);
    write_logs(&db, 3);
    db.close().unwrap();
    assert_eq!(files(&other, ".arc"), archives);
    for name in &archives[1..] {
        let fs = fs.kill();
        put_file(&fs, name, &other.read(&Path::new(PATH).join(name)).unwrap());
        let (faults, _) = verified(&fs);
        let (_db, why) = open_and_hear(&fs, 2);
        for error in [&faults[..], &[why.unwrap()]].concat() {
            let text = error.to_string();
            assert!(text.contains("expected the log of id") && text.contains(name), "{text}");
        }
    }
}
