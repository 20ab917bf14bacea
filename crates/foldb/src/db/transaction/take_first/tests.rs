//! A queue beside other calls, which come at each scheduling point of a take.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use std::{iter, thread};

use foldb_env::{Env, MemFs};

use crate::db::handle::database::Db;
use crate::options::Options;
use crate::testing::expiring::{lives, open_at};
use crate::testing::points::act_at_point;

const START: u64 = 1_800_000_000;

/// Returns an action that runs on another thread, as far as the locks of this one let it go.
fn beside(act: impl FnOnce() + Send + 'static) -> impl FnOnce() {
    || {
        let (done, has_ended) = channel();
        thread::spawn(move || {
            act();
            let _this_thread_may_not_wait_for_it = done.send(());
        });
        let _may_wait_for_this_thread = has_ended.recv_timeout(Duration::from_millis(10));
    }
}

/// One entry comes and another goes, so the queue has an entry at every moment.
#[test]
fn a_queue_that_is_never_empty_is_never_found_empty() {
    for points in 0.. {
        let env = Env::in_memory(MemFs::new());
        let options = Options { create_if_missing: true, env, ..Options::default() };
        let db = Arc::new(Db::open("db", options).unwrap());
        for key in ["a", "b", "c"] {
            db.put(key, "").unwrap();
        }
        // The second take looks ahead, so the front knows c and the end of the range.
        for _ in 0..2 {
            db.take_first(..).unwrap().unwrap();
        }
        let other = Arc::clone(&db);
        let replace = beside(move || {
            other.put("e", "").unwrap();
            other.delete("c").unwrap();
        });
        let Some(taken) = act_at_point(points, replace, || db.take_first(..).unwrap()) else {
            assert!(points > 0, "the call has points");
            return;
        };
        let (key, _) = taken.unwrap_or_else(|| panic!("point {points}: nothing"));
        assert!(key == b"c" || key == b"e", "point {points}: {key:?}");
    }
}

/// A reset of the time brings entries back at the front of a queue, while another thread takes.
#[test]
fn what_a_reset_of_the_time_brings_back_is_taken_first() {
    for points in 0.. {
        let (db, own, clock) = open_at(START);
        for (key, seconds) in [("1", 100), ("2", 100), ("3", 1 << 20), ("4", 1 << 20)] {
            own.with(&lives(seconds)).put(key, "").unwrap();
        }
        clock.set_time_of_day(START + 1000);
        assert_eq!(own.take_first(..).unwrap().unwrap().0, b"3");
        clock.set_time_of_day(START);
        let (sender, receiver) = channel();
        let other = own.clone();
        let take = beside(move || sender.send(other.take_first(..).unwrap()).unwrap());
        if act_at_point(points, take, || db.reset_clock().unwrap()).is_none() {
            assert!(points > 0, "the call has points");
            return;
        }
        let taken = receiver.recv().unwrap();
        let rest = iter::from_fn(|| own.take_first(..).unwrap());
        let keys: Vec<_> = taken.into_iter().chain(rest).map(|(key, _)| key[0]).collect();
        // The take was before the reset, or after it.
        assert!(keys == *b"412" || keys == *b"124", "point {points}: {keys:?}");
    }
}

/// The decision of each attempt takes longer than a second, and no other write comes.
#[test]
fn an_update_may_take_longer_than_a_second() {
    let (_db, own, clock) = open_at(START);
    own.with(&lives(1000)).put("key", "1").unwrap();
    let seconds = Mutex::new(START);
    let slow = |_: Option<&[u8]>| {
        let mut second = seconds.lock().unwrap();
        *second += 2;
        clock.set_time_of_day(*second);
        Some(b"2".to_vec())
    };
    own.with(&lives(1000)).update("key", slow).unwrap();
    assert_eq!(own.get("key").unwrap().unwrap(), b"2");
    assert_eq!(*seconds.lock().unwrap(), START + 2, "one attempt is enough");
}
