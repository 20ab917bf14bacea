//! Writes that are taken back: with `visible_when_durable`, the record of a synced write whose sync
//! fails leaves the log again. While the directory is elsewhere, such a sync fails, and later ones
//! succeed. No follower and no copy may keep the write or miss the next one.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use foldb::env::mem::{Fault, Operation};
use foldb::env::{DirectoryLost, Env, MemFs, Watch};
use foldb::feed::{Position, Updates, UpdatesOptions};
use foldb::{Db, ErrorKind, Options, ReadOnlyDb, WriteOptions};

use super::support::{keeping, line, open_keeping, since, told};
use crate::support::{PATH, assert_error, only_appends, reopen, watched};

const SYNC: WriteOptions = WriteOptions { sync: true, ..WriteOptions::DEFAULT };
const ALL: UpdatesOptions = UpdatesOptions { include_unsynced: true };

/// A directory that one sync does not find. Before the sync fails, a test looks at the database.
#[derive(Default)]
struct Away {
    is_next: AtomicBool,
    meanwhile: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Watch for Away {
    fn before(&self, operation: Operation, path: &Path) -> io::Result<()> {
        if operation != Operation::SyncDir || !self.is_next.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        let meanwhile = self.meanwhile.lock().unwrap().take();
        meanwhile.into_iter().for_each(|look| look());
        Err(DirectoryLost { opened: path.to_owned(), now: None }.into())
    }
}

/// Opens a database whose synced writes are visible when they are durable. Its log has no durable
/// name yet, so the next sync looks for the directory.
fn open_with(fs: &MemFs, watch: &Arc<impl Watch + 'static>) -> Db {
    let env = Env { fs: watched(fs, watch), ..keeping(fs, 1).env };
    let options = Options { env, visible_when_durable: true, ..keeping(fs, 1) };
    let db = Db::open(PATH, options).unwrap();
    db.with(&SYNC).put("a", "1").unwrap();
    db.flush().unwrap();
    db
}

/// Makes a synced write that is taken back. `look` runs while it is in the log.
fn lose(db: &Db, disk: &Away, value: &str, look: impl FnOnce() + Send + 'static) {
    *disk.meanwhile.lock().unwrap() = Some(Box::new(look));
    disk.is_next.store(true, Ordering::Relaxed);
    assert_error(db.with(&SYNC).put("b", value), ErrorKind::DirectoryLost, None);
    assert_eq!(db.get("b").unwrap(), None);
}

/// The follower had read the write, and once yielded it after another write had taken its number.
#[test]
fn a_follower_never_gets_a_write_that_was_taken_back() {
    for include_unsynced in [false, true] {
        let (fs, disk) = (MemFs::new(), Arc::new(Away::default()));
        let db = open_with(&fs, &disk);
        let how = UpdatesOptions { include_unsynced };
        let mut updates = db.with(&how).updates_since(&Position::BEGINNING).unwrap();
        assert_eq!(told(&mut updates), ["default:a=1"]);
        let updates = Arc::new(Mutex::new(updates));
        let follower = Arc::clone(&updates);
        let look = move || assert!(told(&mut follower.lock().unwrap()).is_empty());
        lose(&db, &disk, "a lost value", look);
        let mut updates = updates.lock().unwrap();
        assert!(told(&mut updates).is_empty());
        db.with(&SYNC).put("b", "kept").unwrap();
        db.with(&SYNC).put("c", "3").unwrap();
        assert_eq!(told(&mut updates), ["default:b=kept", "default:c=3"]);
        assert_eq!(updates.position(), db.position().unwrap());
        assert_eq!(
            since(&db, &Position::BEGINNING),
            ["default:a=1", "default:b=kept", "default:c=3"]
        );
    }
}

/// Lets a follower in another process read a write that is then taken back. Returns the follower's
/// database, its updates, and its position behind the write.
fn mislead(db: &Db, fs: &MemFs, disk: &Arc<Away>) -> (ReadOnlyDb, Arc<Mutex<Updates>>, Position) {
    let beside = Db::open_read_only(PATH, keeping(fs, 9)).unwrap();
    let updates =
        Arc::new(Mutex::new(beside.with(&ALL).updates_since(&Position::BEGINNING).unwrap()));
    assert_eq!(told(&mut updates.lock().unwrap()), ["default:a=1"]);
    let follower = Arc::clone(&updates);
    let look = move || assert_eq!(told(&mut follower.lock().unwrap()), ["default:b=lost"]);
    lose(db, disk, "lost", look);
    let position = updates.lock().unwrap().position();
    (beside, updates, position)
}

/// Another process cannot know that the write will be taken back. Its position is lost then.
#[test]
fn a_position_behind_a_write_that_was_taken_back_is_lost() {
    for closes in [false, true] {
        let (fs, disk) = (MemFs::new(), Arc::new(Away::default()));
        let db = open_with(&fs, &disk);
        let (beside, updates, position) = mislead(&db, &fs, &disk);
        if !closes {
            db.with(&SYNC).put("b", "kept").unwrap();
            db.with(&SYNC).put("c", "3").unwrap();
            let error = updates.lock().unwrap().next().unwrap();
            assert_error(error, ErrorKind::PositionLost, None);
            assert_error(db.updates_since(&position), ErrorKind::PositionLost, None);
            assert_error(beside.updates_since(&position), ErrorKind::PositionLost, None);
        }
        db.close().unwrap();
        let db = open_keeping(&fs, 2);
        db.with(&SYNC).put("d", "4").unwrap();
        assert_error(db.updates_since(&position), ErrorKind::PositionLost, None);
    }
}

/// A record of a new keyspace once took the frame of the write, and a sorted load took its number.
/// So the position looked like one behind both, and the follower kept the write.
#[test]
fn a_position_behind_a_write_that_was_taken_back_is_lost_to_keyspaces_and_loads() {
    let (fs, disk) = (MemFs::new(), Arc::new(Away::default()));
    let db = open_with(&fs, &disk);
    let (beside, updates, position) = mislead(&db, &fs, &disk);
    db.create_keyspace("x", Default::default()).unwrap();
    let mut load = db.sorted_load().unwrap();
    load.put("l", "loaded").unwrap();
    load.finish().unwrap();
    db.with(&SYNC).put("c", "3").unwrap();
    db.with(&SYNC).put("d", "4").unwrap();
    assert_error(db.updates_since(&position), ErrorKind::PositionLost, None);
    assert_error(beside.updates_since(&position), ErrorKind::PositionLost, None);
    let error = updates.lock().unwrap().next().unwrap();
    assert_error(error, ErrorKind::PositionLost, None);
    let line = "dropped [] created [\"x\"]";
    let expected = ["default:a=1", line, "unlogged 2..=2", "default:c=3", "default:d=4"];
    assert_eq!(since(&db, &Position::BEGINNING), expected);
}

/// A follower in another process had seen the write in the log, and did not yield it. It once
/// waited for ever where the write had been.
#[test]
fn a_read_only_follower_goes_on_after_a_write_that_was_taken_back() {
    for value in ["lost", "kept", "a lost value"] {
        let (fs, disk) = (MemFs::new(), Arc::new(Away::default()));
        let db = open_with(&fs, &disk);
        let beside = Db::open_read_only(PATH, keeping(&fs, 9)).unwrap();
        let updates = Arc::new(Mutex::new(beside.updates_since(&Position::BEGINNING).unwrap()));
        assert_eq!(told(&mut updates.lock().unwrap()), ["default:a=1"]);
        let follower = Arc::clone(&updates);
        lose(&db, &disk, value, move || {
            assert!(told(&mut follower.lock().unwrap()).is_empty());
        });
        let mut updates = updates.lock().unwrap();
        assert!(told(&mut updates).is_empty());
        let position = updates.position();
        // Without the last sync, which shows only when the next write comes.
        let mut all = beside.with(&ALL).updates_since(&position).unwrap();
        assert!(told(&mut all).is_empty());
        for n in 0..5 {
            db.with(&SYNC).put("b", format!("{n}")).unwrap();
        }
        let expected: Vec<_> = (0..5).map(|n| format!("default:b={n}")).collect();
        assert_eq!(told(&mut updates), expected[..4]);
        assert_eq!(told(&mut all), expected);
        db.close().unwrap();
        assert_eq!(told(&mut updates), expected[4..]);
    }
}

/// Which thread goes on, by what the calls of the other threads reach.
#[derive(Default)]
struct Turns {
    is_armed: AtomicBool,
    /// The flush holds the tree, so the checkpoint waits for it.
    flushes: Option<Arc<Barrier>>,
    /// The checkpoint has made its directory, and waits for the tree next.
    copies: Option<Arc<Barrier>>,
    has_begun: AtomicBool,
    /// The checkpoint has noted the end of the log.
    noted: Option<Arc<Barrier>>,
}

impl Watch for Turns {
    fn before(&self, operation: Operation, path: &Path) -> io::Result<()> {
        if !self.is_armed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let is = |ending: &str| path.to_string_lossy().contains(ending);
        match operation {
            Operation::Write
                if is("MANIFEST") && std::thread::current().name() == Some("flush") =>
            {
                self.flushes.as_ref().unwrap().wait();
                self.copies.as_ref().unwrap().wait();
                std::thread::sleep(Duration::from_millis(300));
            }
            Operation::CreateDir
                if std::thread::current().name() == Some("copy")
                    && !self.has_begun.swap(true, Ordering::Relaxed) =>
            {
                self.copies.as_ref().unwrap().wait();
            }
            Operation::Open if is(".log") && std::thread::current().name() == Some("copy") => {
                self.noted.as_ref().unwrap().wait();
                self.noted.as_ref().unwrap().wait();
            }
            Operation::SyncDir if std::thread::current().name() == Some("write") => {
                self.noted.as_ref().unwrap().wait();
                return Err(DirectoryLost { opened: path.to_owned(), now: None }.into());
            }
            _ => {}
        }
        Ok(())
    }
}

/// The checkpoint noted the end of the log while the write was there, and then found the frame
/// damaged, or copied the write.
#[test]
fn a_checkpoint_has_no_write_that_was_taken_back() {
    let barrier = |threads| Some(Arc::new(Barrier::new(threads)));
    let turns =
        Turns { flushes: barrier(2), copies: barrier(3), noted: barrier(2), ..Turns::default() };
    let (fs, disk) = (MemFs::new(), Arc::new(turns));
    let db = open_with(&fs, &disk);
    db.put("x", "1").unwrap();
    disk.is_armed.store(true, Ordering::Relaxed);
    std::thread::scope(|scope| {
        let start = |name: &str| std::thread::Builder::new().name(name.to_owned());
        start("flush").spawn_scoped(scope, || db.flush().unwrap()).unwrap();
        disk.flushes.as_ref().unwrap().wait();
        let copy = start("copy").spawn_scoped(scope, || db.checkpoint("copy")).unwrap();
        // A write that came before the checkpoint waits for the tree would hold it up, and wait for
        // it.
        disk.copies.as_ref().unwrap().wait();
        std::thread::sleep(Duration::from_millis(100));
        let lost = start("write")
            .spawn_scoped(scope, || {
                let lost = db.with(&SYNC).put("b", "lost");
                // Until here the copy holds the tree.
                disk.noted.as_ref().unwrap().wait();
                lost
            })
            .unwrap();
        assert_error(lost.join().unwrap(), ErrorKind::DirectoryLost, None);
        copy.join().unwrap().unwrap();
    });
    disk.is_armed.store(false, Ordering::Relaxed);
    db.with(&SYNC).put("b", "kept").unwrap();
    let copy = Db::open("copy", keeping(&fs, 5)).unwrap();
    assert_eq!(copy.get("x").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(copy.get("b").unwrap(), None);
    drop(db);
    assert_eq!(reopen(&fs.kill()).unwrap().get("b").unwrap().as_deref(), Some(&b"kept"[..]));
}

/// A follower, and what it was told since the beginning.
struct Follower {
    begin: Box<dyn Fn() -> Updates + Send>,
    updates: Updates,
    seen: Vec<String>,
    /// Whether it may be told of writes that are taken back. It then loses its position.
    may_lose: bool,
}

impl Follower {
    fn new(may_lose: bool, begin: impl Fn() -> Updates + Send + 'static) -> Follower {
        let (updates, begin) = (begin(), Box::new(begin));
        Follower { begin, updates, seen: Vec::new(), may_lose }
    }

    fn look(&mut self) {
        while let Some(update) = self.updates.next() {
            match update {
                Ok(update) => self.seen.push(line(&update)),
                Err(error) if error.kind() == ErrorKind::PositionLost && self.may_lose => {
                    self.updates = (self.begin)();
                    self.seen.clear();
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Followers of a database from its beginning, by both handles and with both options.
fn all_followers(db: &Arc<Db>, beside: &Arc<ReadOnlyDb>) -> Vec<Follower> {
    let mut followers = Vec::new();
    for include_unsynced in [false, true] {
        let how = UpdatesOptions { include_unsynced };
        let (own, others, its_how) = (Arc::clone(db), Arc::clone(beside), how.clone());
        followers.push(Follower::new(false, move || {
            own.with(&how).updates_since(&Position::BEGINNING).unwrap()
        }));
        followers.push(Follower::new(include_unsynced, move || {
            others.with(&its_how).updates_since(&Position::BEGINNING).unwrap()
        }));
    }
    followers
}

/// Writes, writes that are taken back, and records of keyspaces that fail, in any order. Every
/// follower ends with the same updates as a new one, whenever it looked.
#[test]
fn followers_agree_after_any_failures() {
    for seed in 0..80u64 {
        let (fs, disk) = (MemFs::new(), Arc::new(Away::default()));
        let db = Arc::new(open_with(&fs, &disk));
        let beside = Arc::new(Db::open_read_only(PATH, keeping(&fs, 9)).unwrap());
        let followers = Arc::new(Mutex::new(all_followers(&db, &beside)));
        let mut state = seed;
        let mut draw = |most: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        let mut lost = 0;
        for n in 0..30 {
            match draw(10) {
                0..3 => db.put("k", format!("{n}")).unwrap(),
                3..5 => db.with(&SYNC).put("k", format!("{n}")).unwrap(),
                5 => db.flush().unwrap(),
                6 | 7 => {
                    db.put("k", format!("{n}")).unwrap();
                    db.flush().unwrap(); // The next log has no durable name yet.
                    (0..draw(3)).for_each(|m| db.put("k", format!("{n}.{m}")).unwrap());
                    let (followers, who) = (Arc::clone(&followers), draw(16));
                    lose(&db, &disk, &"lost".repeat(1 + draw(3) as usize), move || {
                        let mut followers = followers.lock().unwrap();
                        let asked = |(index, _): &(usize, &mut Follower)| who >> index & 1 == 1;
                        let asked = followers.iter_mut().enumerate().filter(asked);
                        asked.for_each(|(_, follower)| follower.look());
                    });
                    lost += 1;
                }
                8 => {
                    if draw(2) == 0 && !only_appends() {
                        fs.inject(Fault::on(Operation::Write).path(".log").nth(1));
                    }
                    match db.keyspace("x") {
                        Ok(_) => db.drop_keyspace("x").unwrap(),
                        Err(_) => drop(db.create_keyspace("x", Default::default()).unwrap()),
                    }
                    fs.clear_faults();
                }
                _ => followers.lock().unwrap()[draw(4) as usize].look(),
            }
        }
        // A follower in another process learns of a sync when the next write comes.
        db.with(&SYNC).put("last", "1").unwrap();
        let expected = since(&db, &Position::BEGINNING);
        assert!(!expected.iter().any(|line| line.contains("lost")), "{expected:?}");
        db.with(&SYNC).put("last", "2").unwrap();
        for (index, follower) in followers.lock().unwrap().iter_mut().enumerate() {
            follower.look();
            let seen = &follower.seen[..follower.seen.len().min(expected.len())];
            assert_eq!(seen, expected, "seed {seed}, follower {index}, {lost} lost");
        }
    }
}
