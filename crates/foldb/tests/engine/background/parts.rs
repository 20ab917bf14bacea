//! Large compactions, which several workers share.

use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use foldb::env::{Env, MemFs, SystemThreads, Thread, ThreadBody, Threads};
use foldb::events::{Event, EventListener};
use foldb::{Db, KeyspaceOptions, Options};

use crate::support::PATH;

const KEYS: u64 = 20_000;
const ROUNDS: u64 = 6;

/// Threads of a machine with two processors.
#[derive(Debug)]
struct TwoProcessors;

impl Threads for TwoProcessors {
    fn spawn(&self, name: &str, body: ThreadBody) -> io::Result<Option<Thread>> {
        SystemThreads.spawn(name, body)
    }

    fn processors(&self) -> usize {
        2
    }
}

/// Lets the first workers that end a slice wait until two of them do at the same time.
#[derive(Debug, Default)]
struct Meeting {
    /// The workers that are here now, the most that ever were, and how many have come.
    here: Mutex<(usize, usize, usize)>,
    changed: Condvar,
}

impl EventListener for Meeting {
    fn on_event(&self, event: &Event) {
        if !matches!(event, Event::Compaction { .. }) {
            return;
        }
        let mut here = self.here.lock().unwrap();
        *here = (here.0 + 1, here.1.max(here.0 + 1), here.2 + 1);
        self.changed.notify_all();
        if here.2 <= 4 {
            let waits = |here: &mut (usize, usize, usize)| here.1 < 2;
            here = self.changed.wait_timeout_while(here, Duration::from_secs(5), waits).unwrap().0;
        }
        here.0 -= 1;
    }
}

fn options(fs: &MemFs, compacts: bool, meeting: &Arc<Meeting>) -> Options {
    Options {
        create_if_missing: true,
        env: Env { threads: Arc::new(TwoProcessors), ..Env::in_memory(fs.clone()) },
        default: KeyspaceOptions::with_operator("uint64add"),
        disable_auto_compactions: !compacts,
        max_background_compactions: 2,
        target_file_size: 64 << 10,
        listeners: vec![Arc::clone(meeting) as _],
        ..Options::default()
    }
}

/// Leaves runs in level 0 that all have the same keys.
fn leave_runs(fs: &MemFs, meeting: &Arc<Meeting>) {
    let db = Db::open(PATH, options(fs, false, meeting)).unwrap();
    for _ in 0..ROUNDS {
        for n in 0..KEYS {
            db.merge(n.to_be_bytes(), 1u64.to_le_bytes()).unwrap();
        }
        db.flush().unwrap();
    }
}

fn check(db: &Db) {
    let mut expected = 0u64;
    for entry in db.iter().unwrap() {
        let (key, value) = entry.unwrap();
        assert_eq!(
            (&key[..], &value[..]),
            (&expected.to_be_bytes()[..], &ROUNDS.to_le_bytes()[..])
        );
        expected += 1;
    }
    assert_eq!(expected, KEYS);
    db.verify().unwrap();
}

#[test]
fn workers_share_a_large_compaction() {
    let (fs, meeting) = (MemFs::new(), Arc::new(Meeting::default()));
    leave_runs(&fs, &meeting);
    let db = Db::open(PATH, options(&fs, true, &meeting)).unwrap();
    db.wait_for_background().unwrap();
    let (here, most, come) = *meeting.here.lock().unwrap();
    assert_eq!((here, most), (0, 2), "after {come} slices");
    assert_eq!(db.stats().runs_per_read(), 1);
    check(&db);
}

#[test]
fn a_caller_that_compacts_waits_for_all_parts() {
    let (fs, meeting) = (MemFs::new(), Arc::new(Meeting::default()));
    leave_runs(&fs, &meeting);
    let db = Db::open(PATH, options(&fs, true, &meeting)).unwrap();
    while meeting.here.lock().unwrap().2 == 0 {
        std::thread::yield_now();
    }
    db.compact(..).unwrap();
    assert_eq!(meeting.here.lock().unwrap().0, 0, "no slice ends beside the caller");
    check(&db);
}

#[test]
fn a_close_between_the_slices_of_parts_loses_nothing() {
    let (fs, meeting) = (MemFs::new(), Arc::new(Meeting::default()));
    leave_runs(&fs, &meeting);
    let db = Db::open(PATH, options(&fs, true, &meeting)).unwrap();
    while meeting.here.lock().unwrap().2 < 2 {
        std::thread::yield_now();
    }
    drop(db);
    let db = Db::open(PATH, options(&fs, true, &meeting)).unwrap();
    check(&db);
    db.wait_for_background().unwrap();
    check(&db);
}
