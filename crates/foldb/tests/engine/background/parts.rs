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

/// Lets the workers that end a slice wait until two of them do at the same time.
#[derive(Debug, Default)]
struct Meeting {
    seen: Mutex<Seen>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Seen {
    /// Workers that end a slice now.
    here: usize,
    /// Whether two were here at the same time.
    have_met: bool,
    /// Slices that ended.
    slices: usize,
    /// Workers that waited in vain for another one.
    in_vain: usize,
}

impl EventListener for Meeting {
    fn on_event(&self, event: &Event) {
        // A job that only moves tables stays whole.
        if !matches!(event, Event::Compaction { bytes_written: 1.., .. }) {
            return;
        }
        let mut seen = self.seen.lock().unwrap();
        seen.here += 1;
        seen.slices += 1;
        seen.have_met |= seen.here == 2;
        self.changed.notify_all();
        if seen.in_vain == 0 {
            let waits = |seen: &mut Seen| !seen.have_met;
            let (now, outcome) =
                self.changed.wait_timeout_while(seen, Duration::from_secs(20), waits).unwrap();
            seen = now;
            seen.in_vain += usize::from(outcome.timed_out());
        }
        seen.here -= 1;
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

/// Returns an operand whose bytes do not compress, so that tables have many blocks.
fn operand(n: u64, round: u64) -> u64 {
    (n * ROUNDS + round).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8
}

/// Leaves runs in level 0 that all have the same keys.
fn leave_runs(fs: &MemFs, meeting: &Arc<Meeting>) {
    let db = Db::open(PATH, options(fs, false, meeting)).unwrap();
    for round in 0..ROUNDS {
        for n in 0..KEYS {
            db.merge(n.to_be_bytes(), operand(n, round).to_le_bytes()).unwrap();
        }
        db.flush().unwrap();
    }
}

fn check(db: &Db) {
    let mut expected = 0u64;
    for entry in db.iter().unwrap() {
        let (key, value) = entry.unwrap();
        let sum: u64 = (0..ROUNDS).map(|round| operand(expected, round)).sum();
        assert_eq!((&key[..], &value[..]), (&expected.to_be_bytes()[..], &sum.to_le_bytes()[..]));
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
    {
        let seen = meeting.seen.lock().unwrap();
        assert!(seen.have_met && seen.in_vain == 0 && seen.here == 0, "{seen:?}");
    }
    assert_eq!(db.stats().runs_per_read(), 1);
    check(&db);
}

#[test]
fn a_caller_that_compacts_waits_for_all_parts() {
    let (fs, meeting) = (MemFs::new(), Arc::new(Meeting::default()));
    leave_runs(&fs, &meeting);
    let db = Db::open(PATH, options(&fs, true, &meeting)).unwrap();
    while meeting.seen.lock().unwrap().slices == 0 {
        std::thread::yield_now();
    }
    db.compact(..).unwrap();
    assert_eq!(meeting.seen.lock().unwrap().here, 0, "no slice ends beside the caller");
    check(&db);
}

#[test]
fn a_close_between_the_slices_of_parts_loses_nothing() {
    let (fs, meeting) = (MemFs::new(), Arc::new(Meeting::default()));
    leave_runs(&fs, &meeting);
    let db = Db::open(PATH, options(&fs, true, &meeting)).unwrap();
    while meeting.seen.lock().unwrap().slices < 2 {
        std::thread::yield_now();
    }
    drop(db);
    let db = Db::open(PATH, options(&fs, true, &meeting)).unwrap();
    check(&db);
    db.wait_for_background().unwrap();
    check(&db);
}
