//! A read shows one moment, whatever happens at any of its scheduling points.

use std::sync::Arc;

use foldb_env::{Env, MemFs};

use crate::db::handle::database::Db;
use crate::db::handle::keyspace::Keyspace;
use crate::db::handle::read_options::ReadOptions;
use crate::iterator::Iter;
use crate::options::{KeyspaceOptions, Options};
use crate::testing::expiring::{lives, open_at};
use crate::testing::points::act_at_point;

fn open(options: Options) -> Arc<Db> {
    Arc::new(Db::open("db", Options { create_if_missing: true, ..options }).unwrap())
}

fn shown(iter: Iter) -> Vec<(u8, Vec<u8>)> {
    let entries = iter.map(|entry| entry.unwrap()).filter(|(key, _)| key[0] < 40);
    entries.map(|(key, value)| (key[0], value.to_vec())).collect()
}

/// An iterator loads its view. Before it takes its number, the memtable is sealed, keys are deleted
/// in the next one, and a walk notes them. The iterator then shows the state before the deletes or
/// after them, and no mixture.
#[test]
fn an_iterator_whose_memtable_is_sealed_while_it_is_made_shows_one_moment() {
    for points in 0.. {
        let db = open(Options {
            default: KeyspaceOptions::with_operator("stringappend:,"),
            write_buffer_size: 64 << 10,
            max_write_buffers: 4,
            env: Env::in_memory(MemFs::new()),
            ..Options::default()
        });
        for key in 0..40_u8 {
            db.put([key], "base").unwrap();
        }
        db.compact(..).unwrap();
        for key in 0..3_u8 {
            db.delete([key]).unwrap();
        }
        db.merge([5], "more").unwrap();
        let before = shown(db.iter().unwrap());
        let other = Arc::clone(&db);
        let delete = move || {
            for key in [100_u8, 101] {
                other.put([key], vec![0; 40 << 10]).unwrap();
            }
            for key in 0..30_u8 {
                other.delete([key]).unwrap();
            }
            assert_eq!(other.iter().unwrap().next().unwrap().unwrap().0, [30]);
        };
        let Some(iter) = act_at_point(points, delete, || db.iter().unwrap()) else {
            assert!(points > 0, "the call has points");
            return;
        };
        let (found, after) = (shown(iter), shown(db.iter().unwrap()));
        assert_eq!(after.len(), 10);
        assert!(found == before || found == after, "point {points}: {found:?}");
    }
}

/// A sorted load ends and a later key is put while a range is counted: the bounds hold before the
/// load, after it, or after the put.
#[test]
fn counts_beside_a_sorted_load_are_those_of_one_moment() {
    for points in 0.. {
        let db = open(Options { env: Env::in_memory(MemFs::new()), ..Options::default() });
        db.put("z1", "").unwrap();
        let other = Arc::clone(&db);
        let load = move || {
            let mut load = other.sorted_load().unwrap();
            (0..100_u8).for_each(|key| load.put([key / 10, key % 10], "").unwrap());
            load.finish().unwrap();
            other.put("z2", "").unwrap();
        };
        let Some(count) = act_at_point(points, load, || db.approximate_count(..).unwrap()) else {
            assert!(points > 0, "the call has points");
            return;
        };
        let holds = |keys| (count.at_least..=count.at_most).contains(&keys);
        assert!([1, 101, 102].into_iter().any(holds), "point {points}: {count:?}");
    }
}

/// The clock was ahead by mistake. While a key is read, the time is reset to the clock, and the key
/// is put for a life that ends before the mistaken time. The key has a value at every moment.
#[test]
fn a_read_beside_a_reset_of_the_time_shows_what_was_written_after_it() {
    const START: u64 = 1_800_000_000;
    const AHEAD: u64 = 1_000_000;
    type Read = fn(&Keyspace) -> bool;
    let reads: [Read; 3] = [
        |own| own.get("k").unwrap().is_some(),
        |own| own.multi_get(["k"]).unwrap().remove(0).unwrap().is_some(),
        |own| own.iter().unwrap().next().is_some(),
    ];
    for read in reads {
        for points in 0.. {
            let (db, own, clock) = open_at(START);
            own.with(&lives(2 * AHEAD)).put("k", "before").unwrap();
            clock.set_time_of_day(START + AHEAD);
            assert!(read(&own), "the time is that of the clock");
            clock.set_time_of_day(START);
            let other = own.clone();
            let reset = move || {
                db.reset_clock().unwrap();
                other.with(&lives(100)).put("k", "after").unwrap();
            };
            let Some(is_there) = act_at_point(points, reset, || read(&own)) else {
                assert!(points > 0, "the call has points");
                break;
            };
            assert!(is_there, "point {points}");
        }
    }
}

/// A snapshot is taken while a write has an older moment, and the write ends, both while a flush
/// finds out what it may drop. The snapshot keeps its time.
#[test]
fn a_flush_drops_nothing_that_a_snapshot_beside_an_older_write_shows() {
    const START: u64 = 1_800_000_000;
    for points in 0.. {
        let (db, own, clock) = open_at(START);
        own.with(&lives(5)).put("k", "").unwrap();
        // The moment of a write that goes on. The action is `'static`, so the database is leaked.
        let write = Box::leak(Box::new(Arc::clone(&db))).core().time.begin_write();
        clock.set_time_of_day(START + 10);
        let (sender, receiver) = std::sync::mpsc::channel();
        let other = Arc::clone(&db);
        let take = move || {
            let snapshot = std::thread::spawn(move || {
                let snapshot = other.snapshot();
                drop(write);
                snapshot
            });
            sender.send(snapshot.join().unwrap()).unwrap();
        };
        if act_at_point(points, take, || db.flush().unwrap()).is_none() {
            assert!(points > 0, "the call has points");
            return;
        }
        let snapshot = Some(receiver.recv().unwrap());
        let options = ReadOptions { snapshot, ..ReadOptions::default() };
        let value = own.with(&options).get("k").unwrap();
        assert!(value.is_some(), "point {points}");
    }
}
