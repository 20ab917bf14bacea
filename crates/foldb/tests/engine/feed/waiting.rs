//! Waits for the next update: what ends them, and that no wake-up is lost.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use foldb::env::MemFs;
use foldb::feed::{Position, Updates, UpdatesOptions};
use foldb::{Db, ErrorKind, KeyspaceOptions, Options, WriteOptions};

use super::support::{keeping, line, open_keeping, told, unsynced_since};
use crate::support::{PATH, RaisedAtEnd, assert_error};

const SYNC: WriteOptions = WriteOptions { sync: true, ..WriteOptions::DEFAULT };
const UNLOGGED: WriteOptions = WriteOptions { disable_wal: true, ..WriteOptions::DEFAULT };
/// No wait of a test that passes takes this long.
const LONG: Duration = Duration::from_secs(60);

/// Returns the updates from the end of the history on.
fn from_now(db: &Db, include_unsynced: bool) -> Updates {
    let options = UpdatesOptions { include_unsynced };
    db.with(&options).updates_since(&db.position().unwrap()).unwrap()
}

/// Waits on another thread, acts here once that thread has had time to sleep, and returns the
/// update as text.
fn woken_by(mut updates: Updates, act: impl FnOnce()) -> String {
    let waiter = thread::spawn(move || {
        assert!(updates.wait(LONG).unwrap(), "no update came");
        line(&updates.next().unwrap().unwrap())
    });
    thread::sleep(Duration::from_millis(20));
    let begin = Instant::now();
    act();
    let line = waiter.join().unwrap();
    assert!(begin.elapsed() < LONG / 2, "only the end of its time woke the reader");
    line
}

#[test]
fn each_kind_of_update_wakes_a_reader_of_durable_updates() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    let write = || db.with(&SYNC).put("a", "1").unwrap();
    assert_eq!(woken_by(from_now(&db, false), write), "default:a=1");

    let reader = from_now(&db, false);
    db.put("b", "2").unwrap();
    assert_eq!(woken_by(reader, || db.sync().unwrap()), "default:b=2");

    let reader = from_now(&db, false);
    db.put("c", "3").unwrap();
    assert_eq!(woken_by(reader, || db.flush().unwrap()), "default:c=3");

    let reader = from_now(&db, false);
    db.with(&UNLOGGED).put("d", "4").unwrap();
    assert_eq!(woken_by(reader, || db.flush().unwrap()), "unlogged 4..=4");

    let reader = from_now(&db, false);
    let create = || {
        db.create_keyspace("x", KeyspaceOptions::default()).unwrap();
        db.sync().unwrap();
    };
    assert_eq!(woken_by(reader, create), "dropped [] created [\"x\"]");
}

#[test]
fn each_kind_of_unsynced_update_wakes_its_reader() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    let reader = from_now(&db, true);
    assert_eq!(woken_by(reader, || db.put("a", "1").unwrap()), "default:a=1");
    let create = || drop(db.create_keyspace("x", KeyspaceOptions::default()).unwrap());
    assert_eq!(woken_by(from_now(&db, true), create), "dropped [] created [\"x\"]");
    let drops = || db.drop_keyspace("x").unwrap();
    assert_eq!(woken_by(from_now(&db, true), drops), "dropped [\"x\"] created []");
}

/// A reader once slept for a millisecond or more between two looks.
#[test]
fn a_wait_ends_with_the_write_and_not_with_a_pause() {
    const ROUNDS: u64 = 100;
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    let mut updates = from_now(&db, true);
    let mut fastest = LONG;
    for _ in 0..30 {
        let seen = AtomicU64::new(0);
        let begin = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    db.put("a", "1").unwrap();
                    while seen.load(Ordering::Acquire) <= round {
                        thread::yield_now();
                    }
                }
            });
            for round in 0..ROUNDS {
                assert!(updates.wait(LONG).unwrap(), "round {round}");
                updates.next().unwrap().unwrap();
                seen.store(round + 1, Ordering::Release);
            }
        });
        fastest = fastest.min(begin.elapsed());
    }
    assert!(fastest < Duration::from_millis(50), "{ROUNDS} rounds take {fastest:?}");
}

/// A writer makes its next write once every reader has the last one, so a lost wake-up stops the
/// test. Readers find what they were woken for: it is visible, and nothing else is there.
fn ping_pong(options: Options, write: &WriteOptions, rounds: u64) {
    let db = Db::open(PATH, options).unwrap();
    let behind = [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)];
    thread::scope(|scope| {
        for (index, seen) in behind.iter().enumerate() {
            let mut updates = from_now(&db, !write.sync || index == 0);
            let db = &db;
            scope.spawn(move || {
                for round in 1..=rounds {
                    let begin = Instant::now();
                    assert!(updates.wait(LONG).unwrap(), "round {round}");
                    assert!(begin.elapsed() < LONG / 2, "a wake-up was lost in round {round}");
                    let update = updates.next().unwrap().unwrap();
                    assert_eq!(line(&update), format!("default:key={round}"));
                    assert_eq!(db.get("key").unwrap().unwrap(), round.to_string().as_bytes());
                    seen.store(round, Ordering::Release);
                }
            });
        }
        for round in 1..=rounds {
            db.with(write).put("key", round.to_string()).unwrap();
            while behind.iter().any(|seen| seen.load(Ordering::Acquire) < round) {
                thread::yield_now();
            }
        }
    });
}

#[test]
fn no_wake_up_by_an_unsynced_write_is_lost() {
    ping_pong(keeping(&MemFs::new(), 1), &WriteOptions::DEFAULT, 5000);
}

#[test]
fn no_wake_up_by_a_synced_write_is_lost() {
    ping_pong(keeping(&MemFs::new(), 1), &SYNC, 3000);
}

#[test]
fn no_wake_up_by_a_write_that_is_visible_when_durable_is_lost() {
    let options = Options { visible_when_durable: true, ..keeping(&MemFs::new(), 1) };
    ping_pong(options, &SYNC, 3000);
}

/// Several writers sync for each other, and a log may be synced before the write is visible.
#[test]
fn no_wake_up_among_writers_that_sync_for_each_other_is_lost() {
    const EACH: u64 = 1000;
    let options = Options { visible_when_durable: true, ..keeping(&MemFs::new(), 1) };
    let db = Db::open(PATH, options).unwrap();
    for _ in 0..3 {
        let mut updates = from_now(&db, false);
        thread::scope(|scope| {
            for writer in 0..3 {
                let db = &db;
                scope.spawn(move || {
                    for n in 0..EACH {
                        match n % 3 {
                            0 => db.put(format!("{writer}"), "").and_then(|()| db.sync()),
                            1 => db.with(&SYNC).put(format!("{writer}"), ""),
                            _ => db.put(format!("{writer}"), ""),
                        }
                        .unwrap();
                    }
                    db.sync().unwrap();
                });
            }
            for n in 0..3 * EACH {
                assert!(updates.wait(LONG).unwrap(), "after {n} updates");
                updates.next().unwrap().unwrap();
            }
        });
        assert!(updates.next().is_none());
    }
}

#[test]
fn a_write_without_a_sync_does_not_end_a_wait_for_durable_updates() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    let mut updates = from_now(&db, false);
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                db.put("a", "1").unwrap();
            }
        });
        let _ended = RaisedAtEnd(&ended);
        assert!(!updates.wait(Duration::from_millis(50)).unwrap());
    });
    db.sync().unwrap();
    assert!(updates.wait(Duration::ZERO).unwrap());
}

#[test]
fn a_close_ends_every_wait() {
    for include_unsynced in [false, true] {
        let fs = MemFs::new();
        let db = open_keeping(&fs, 1);
        let waiters: Vec<_> = (0..3)
            .map(|_| {
                let mut updates = from_now(&db, include_unsynced);
                thread::spawn(move || assert_error(updates.wait(LONG), ErrorKind::Closed, None))
            })
            .collect();
        thread::sleep(Duration::from_millis(20));
        let begin = Instant::now();
        db.close().unwrap();
        for waiter in waiters {
            waiter.join().unwrap();
        }
        assert!(begin.elapsed() < LONG / 2, "only the end of its time woke a reader");
    }
}

#[test]
fn a_wait_without_an_update_takes_its_time() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    for include_unsynced in [false, true] {
        let mut updates = from_now(&db, include_unsynced);
        for millis in [0, 1, 30] {
            let (begin, time) = (Instant::now(), Duration::from_millis(millis));
            assert!(!updates.wait(time).unwrap());
            assert!(begin.elapsed() >= time);
        }
    }
    db.put("a", "1").unwrap();
    let mut all = unsynced_since(&db, &Position::BEGINNING);
    assert!(all.wait(Duration::MAX).unwrap(), "the update is there already");
    assert_eq!(told(&mut all), ["default:a=1"]);
}

/// The other process cannot wake the reader, so it looks again.
#[test]
fn a_read_only_handle_looks_again_until_another_handle_has_written() {
    let fs = MemFs::new();
    let db = open_keeping(&fs, 1);
    let shown = Db::open_read_only(PATH, keeping(&fs, 2)).unwrap();
    let options = UpdatesOptions { include_unsynced: true };
    let updates = shown.with(&options).updates_since(&db.position().unwrap()).unwrap();
    assert_eq!(woken_by(updates, || db.put("a", "1").unwrap()), "default:a=1");
    let mut updates = shown.with(&options).updates_since(&db.position().unwrap()).unwrap();
    let waiter = thread::spawn(move || assert_error(updates.wait(LONG), ErrorKind::Closed, None));
    shown.close().unwrap();
    waiter.join().unwrap();
}
