//! The time needs no disk: it goes on over disks that hang, are full or have failed. Calls return
//! in time while a disk hangs with the second that another call saw.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use foldb::env::mem::Operation;
use foldb::env::{Clock, Env, ManualClock, MemFs, SystemThreads, Threads, WatchedFs};
use foldb::expiry::{Expires, Expiry};
use foldb::{Db, ErrorKind, Keyspace, KeyspaceOptions, Options, WriteOptions};

use crate::disks::deadlines::calls;
use crate::expiry::support::seconds;
use crate::support::{PATH, options};

/// What the disk does to calls that the switch is on for.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    LogSyncFails,
    ManifestSyncFails,
    IsFull,
    ManifestHangs,
    LogHangs,
}

/// How long a hanging call of the disk takes.
const HANG: Duration = Duration::from_secs(3);
/// Much longer than any call takes that does not wait for the disk.
const PATIENCE: Duration = Duration::from_millis(1500);

struct World {
    db: Db,
    own: Keyspace,
    clock: Arc<ManualClock>,
    is_on: Arc<AtomicBool>,
    /// Whether a call hangs.
    hangs: Arc<AtomicBool>,
    fs: MemFs,
}

fn world(trouble: Trouble, has_workers: bool) -> World {
    let (fs, clock) = (MemFs::new(), Arc::new(ManualClock::default()));
    let (is_on, hangs) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (on, hung) = (Arc::clone(&is_on), Arc::clone(&hangs));
    let watch = move |operation: Operation, path: &Path| -> io::Result<()> {
        let path = path.to_string_lossy();
        let of_manifest = path.contains("MANIFEST");
        match trouble {
            _ if !on.load(Ordering::SeqCst) => Ok(()),
            Trouble::LogSyncFails if operation == Operation::Sync && path.contains(".log") => {
                Err(io::Error::other("bad disk"))
            }
            Trouble::ManifestSyncFails if operation == Operation::Sync && of_manifest => {
                Err(io::Error::other("bad disk"))
            }
            Trouble::IsFull if operation == Operation::Write => {
                Err(io::Error::from(io::ErrorKind::StorageFull))
            }
            Trouble::LogHangs if operation == Operation::Write && path.contains(".log") => {
                // Later calls of the disk return at once.
                if on.swap(false, Ordering::SeqCst) {
                    hung.store(true, Ordering::SeqCst);
                    thread::sleep(HANG);
                    hung.store(false, Ordering::SeqCst);
                }
                Ok(())
            }
            Trouble::ManifestHangs if operation == Operation::Sync && of_manifest => {
                hung.store(true, Ordering::SeqCst);
                thread::sleep(HANG);
                hung.store(false, Ordering::SeqCst);
                Ok(())
            }
            _ => Ok(()),
        }
    };
    let threads: Arc<dyn Threads> = match has_workers {
        true => Arc::new(SystemThreads),
        false => Env::in_memory(fs.clone()).threads,
    };
    let env = Env {
        fs: Arc::new(WatchedFs::new(Arc::new(fs.clone()), Arc::new(watch))),
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        threads,
        seed: Some(1),
    };
    let merge_operator = Some("stringappend:,".to_owned());
    let options = Options {
        env,
        default: KeyspaceOptions { merge_operator, ..KeyspaceOptions::default() },
        map_log: false,
        ..options(&fs)
    };
    let db = Db::open(PATH, options).unwrap();
    let expiring = KeyspaceOptions {
        merge_operator: Some("stringappend:,".to_owned()),
        expiry: Some(Expiry::after_last_write(seconds(10))),
        ..KeyspaceOptions::default()
    };
    let own = db.create_keyspace("own", expiring).unwrap();
    World { db, own, clock, is_on, hangs, fs }
}

/// An entry expires on a poisoned database and on a full disk. What was not stored drops nothing.
#[test]
fn the_time_goes_on_when_it_cannot_be_stored() {
    for trouble in [Trouble::LogSyncFails, Trouble::ManifestSyncFails, Trouble::IsFull] {
        for has_workers in [false, true] {
            let World { db, own, clock, is_on, fs, .. } = world(trouble, has_workers);
            own.put("token", "1").unwrap();
            db.sync().unwrap();
            is_on.store(true, Ordering::SeqCst);
            let sync = WriteOptions { sync: true, ..WriteOptions::default() };
            let written = db.with(&sync).put("a", "b");
            assert!(written.is_err() || matches!(trouble, Trouble::ManifestSyncFails));
            clock.advance(seconds(9));
            assert!(own.contains_key("token").unwrap(), "{trouble:?}");
            clock.advance(seconds(2));
            assert!(own.get("token").unwrap().is_none(), "{trouble:?} {has_workers}");
            assert_eq!(own.expires_at("token").unwrap(), None);
            assert_eq!(own.iter().unwrap().count(), 0);
            assert!(own.is_empty().unwrap());
            let later = db.snapshot();
            assert!(later.keyspace(&own).get("token").unwrap().is_none());
            drop((later, own, db));
            let again = Db::open(PATH, options(&fs.kill())).unwrap();
            assert!(again.keyspace("own").is_ok_and(|own| own.get("token").is_ok()));
        }
    }
}

/// A worker stores a second on a disk that hangs. No call waits for it, in keyspaces with expiry
/// and without, however far the clock moves meanwhile.
#[test]
fn no_call_waits_for_the_disk_to_learn_the_time() {
    let World { db, own, clock, is_on, hangs, .. } = world(Trouble::ManifestHangs, true);
    let soon = WriteOptions { deadline: Some(seconds(1)), ..WriteOptions::default() };
    own.put("a", "1").unwrap();
    let default = db.default_keyspace();
    for lag in [0, 1, 5] {
        is_on.store(true, Ordering::SeqCst);
        let began = Instant::now();
        clock.advance(seconds(1));
        own.get("a").unwrap();
        assert!(began.elapsed() < PATIENCE, "the read that saw the second waited for it");
        while !hangs.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        is_on.store(false, Ordering::SeqCst);
        clock.advance(seconds(lag));
        for (name, call) in calls() {
            for keyspace in [&own, default] {
                let began = Instant::now();
                let outcome = call(&db, keyspace, &soon);
                let took = began.elapsed();
                let name = format!("{name} in {}, {lag} s later", keyspace.name());
                assert!(took < PATIENCE, "{name} took {took:?}");
                outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
            }
        }
        assert!(hangs.load(Ordering::SeqCst), "the disk hung all the time");
        while hangs.load(Ordering::SeqCst) {
            thread::yield_now();
        }
    }
}

/// A put hangs in a write of the log, and holds the writer lock. The other calls end by their
/// deadlines, also those that turn on the notes of recent writes.
#[test]
fn deadlines_bound_calls_while_the_log_hangs() {
    for are_noted in [false, true] {
        let World { db, own, is_on, hangs, .. } = world(Trouble::LogHangs, true);
        let default = db.default_keyspace();
        for keyspace in [&own, default] {
            keyspace.merge("a", "1").unwrap();
        }
        if are_noted {
            assert!(db.put_if_absent("z", "1").unwrap());
        }
        let soon =
            WriteOptions { deadline: Some(Duration::from_millis(100)), ..Default::default() };
        thread::scope(|scope| {
            is_on.store(true, Ordering::SeqCst);
            scope.spawn(|| db.put("hangs", "1").unwrap());
            while !hangs.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            let (db, soon, hangs) = (&db, &soon, &hangs);
            for (name, call) in calls() {
                for keyspace in [&own, default] {
                    scope.spawn(move || {
                        let began = Instant::now();
                        let outcome = call(db, keyspace, soon);
                        let (took, name) =
                            (began.elapsed(), format!("{name} in {}", keyspace.name()));
                        assert!(took < PATIENCE, "{name} took {took:?}");
                        assert!(hangs.load(Ordering::SeqCst), "{name} came too late");
                        if let Err(error) = outcome {
                            assert_eq!(error.kind(), ErrorKind::Busy, "{name}: {error}");
                        }
                    });
                }
            }
        });
        db.put("after", "1").unwrap();
    }
}

/// A put is there when it has returned, and lives its lifetime, while another thread's second is
/// being stored.
#[test]
fn a_put_lives_its_lifetime_while_a_disk_hangs_with_the_time() {
    let World { db: _db, own, clock, is_on, hangs, .. } = world(Trouble::ManifestHangs, true);
    own.put("a", "1").unwrap();
    is_on.store(true, Ordering::SeqCst);
    clock.advance(seconds(1));
    own.get("a").unwrap();
    while !hangs.load(Ordering::SeqCst) {
        thread::yield_now();
    }
    is_on.store(false, Ordering::SeqCst);
    clock.advance(Duration::from_millis(2700));
    let options = WriteOptions { expires: Some(Expires::After(seconds(1))), ..Default::default() };
    own.with(&options).put("k", "1").unwrap();
    assert!(own.contains_key("k").unwrap());
    clock.advance(Duration::from_millis(999));
    assert!(own.contains_key("k").unwrap());
    while hangs.load(Ordering::SeqCst) {
        thread::yield_now();
    }
    clock.advance(seconds(1) + Duration::from_millis(1));
    assert!(!own.contains_key("k").unwrap());
}

/// Records are dropped only up to a stored second. So a crash with a clock that was set back brings
/// back all of an entry, or nothing.
#[test]
fn nothing_is_dropped_before_its_second_is_stored() {
    let World { db, own, clock, is_on, fs, .. } = world(Trouble::IsFull, false);
    own.put("a", "1").unwrap();
    db.sync().unwrap();
    is_on.store(true, Ordering::SeqCst);
    clock.advance(seconds(11));
    assert!(own.get("a").unwrap().is_none());
    is_on.store(false, Ordering::SeqCst);
    let crashed = fs.kill();
    let early = Arc::new(ManualClock::default());
    let env = Env { clock: early as Arc<dyn Clock>, ..Env::in_memory(crashed.clone()) };
    let again = Db::open(PATH, Options { env, ..options(&crashed) }).unwrap();
    let back = again.keyspace("own").unwrap();
    assert_eq!(back.get("a").unwrap().unwrap(), "1");
    drop((back, again));
    // A flush stores the second before it drops.
    db.flush().unwrap();
    own.compact(..).unwrap();
    let env = Env {
        clock: Arc::new(ManualClock::default()) as Arc<dyn Clock>,
        ..Env::in_memory(fs.kill())
    };
    let again = Db::open(PATH, Options { env, ..options(&fs) }).unwrap();
    assert!(again.keyspace("own").unwrap().get("a").unwrap().is_none());
}
