//! Tests a disk that hangs in one call for seconds. Calls keep their deadlines, reads go on, memory
//! stays within its bounds, and no acknowledged write is lost.
//!
//! The full length takes a minute: `cargo test -p foldb --test engine hanging_disks:: -- --ignored
//! --nocapture`.

use std::io;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use foldb::env::mem::Operation;
use foldb::env::{Env, MemFs, SystemClock, SystemThreads, Watch};
use foldb::{Db, ErrorKind, Options, WriteOptions};

use crate::support::{PATH, RaisedAtEnd, watched};

const WRITE_BUFFER: usize = 64 << 10;
const MOST_BUFFERS: usize = 4;
const BUDGET: usize = 8 << 20;
/// Deadline of calls that may not wait long.
const DEADLINE: Duration = Duration::from_millis(100);

/// Hangs once in a call of one kind, on a file of one kind.
#[derive(Debug)]
struct Hang {
    operation: Operation,
    file: &'static str,
    length: Duration,
    armed: AtomicBool,
    ended: AtomicBool,
    /// The thread that was in the call.
    victim: Mutex<Option<ThreadId>>,
}

impl Watch for Hang {
    fn before(&self, operation: Operation, path: &Path) -> io::Result<()> {
        let is_meant = operation == self.operation && path.to_string_lossy().contains(self.file);
        if is_meant && self.armed.swap(false, Relaxed) {
            *self.victim.lock().unwrap() = Some(thread::current().id());
            thread::sleep(self.length);
            self.ended.store(true, Relaxed);
        }
        Ok(())
    }
}

/// The observations of a thread.
#[derive(Default)]
struct Seen {
    acknowledged: Vec<String>,
    busy: u64,
    longest: Duration,
    /// Whether the thread was in the call that hung.
    is_victim: bool,
}

/// Writes until the hang is over, with a deadline or without.
fn write(db: &Db, hang: &Hang, thread: usize, options: WriteOptions) -> Seen {
    let mut seen = Seen::default();
    let mut n = 0;
    while !hang.ended.load(Relaxed) {
        let key = format!("{thread}-{n:07}");
        let begun = Instant::now();
        let outcome = db.with(&options).put(&key, [7; 300]);
        seen.longest = seen.longest.max(begun.elapsed());
        match outcome {
            Ok(()) => seen.acknowledged.push(key),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
                seen.busy += 1;
            }
        }
        n += 1;
        thread::sleep(Duration::from_micros(200));
    }
    seen.is_victim = *hang.victim.lock().unwrap() == Some(thread::current().id());
    seen
}

/// Runs four writers and a reader while a call hangs. One writer syncs, and one has no deadline.
fn hang(operation: Operation, file: &'static str, length: Duration) {
    let hang = Arc::new(Hang {
        operation,
        file,
        length,
        armed: AtomicBool::new(false),
        ended: AtomicBool::new(false),
        victim: Mutex::default(),
    });
    let fs = MemFs::new();
    let env = Env {
        fs: watched(&fs, &hang),
        clock: Arc::new(SystemClock::default()),
        threads: Arc::new(SystemThreads),
        seed: Some(1),
    };
    let options = Options {
        create_if_missing: true,
        write_buffer_size: WRITE_BUFFER,
        max_write_buffers: MOST_BUFFERS,
        memory_budget: BUDGET,
        env,
        ..Options::default()
    };
    let db = Db::open(PATH, options).unwrap();
    db.put("read", "always").unwrap();
    let (ends, most_memory) = (AtomicBool::new(false), AtomicU64::new(0));
    let soon = WriteOptions { deadline: Some(DEADLINE), ..WriteOptions::default() };
    let (seen, longest_read) = thread::scope(|scope| {
        let (db, hang, ends, most_memory) = (&db, &*hang, &ends, &most_memory);
        let reader = scope.spawn(move || {
            let mut longest = Duration::ZERO;
            while !ends.load(Relaxed) {
                let begun = Instant::now();
                assert_eq!(&db.get("read").unwrap().unwrap()[..], b"always");
                longest = longest.max(begun.elapsed());
                most_memory.fetch_max(db.memory().total(), Relaxed);
                thread::sleep(Duration::from_millis(1));
            }
            longest
        });
        let ended = RaisedAtEnd(ends);
        let syncs = WriteOptions { sync: true, ..soon };
        let writers = [soon, soon, syncs, WriteOptions::default()];
        let writers: Vec<_> = (0..)
            .zip(writers)
            .map(|(thread, options)| scope.spawn(move || write(db, hang, thread, options)))
            .collect();
        thread::sleep(Duration::from_millis(100));
        hang.armed.store(true, Relaxed);
        let seen: Vec<Seen> = writers.into_iter().map(|it| it.join().unwrap()).collect();
        drop(ended);
        (seen, reader.join().unwrap())
    });
    let with_deadline = seen[..2].iter().filter(|seen| !seen.is_victim);
    let longest = with_deadline.map(|seen| seen.longest).max().unwrap_or_default();
    let busy: u64 = seen.iter().map(|seen| seen.busy).sum();
    let memory = most_memory.into_inner();
    println!(
        "{operation:?} of '{file}' hangs {length:?}: a write with a deadline of {DEADLINE:?} took \
         {longest:?} at most, {busy} were refused as busy; a read took {longest_read:?} at most; \
         memory {memory} of {BUDGET}"
    );
    // A thread may come late on a busy machine, but not by as long as the disk hangs.
    assert!(longest < length * 3 / 4, "{longest:?} for a deadline of {DEADLINE:?}");
    assert!(longest_read < length * 3 / 4, "a read waits {longest_read:?} for a hanging write");
    assert!(memory <= BUDGET as u64, "{memory} bytes of a budget of {BUDGET}");
    // The disk works again: every write is there, and new writes succeed.
    db.put("after", "it").unwrap();
    db.wait_for_background().unwrap();
    let all = seen.iter().flat_map(|seen| &seen.acknowledged);
    for key in all.clone() {
        assert!(db.get(key).unwrap().is_some(), "{key} was acknowledged");
    }
    db.sync().unwrap();
    let left = fs.crash();
    drop(db);
    let own = Options { env: Env::in_memory(left), ..Options::default() };
    let db = Db::open(PATH, own).unwrap();
    assert_eq!(db.iter().unwrap().count(), all.count() + 2);
}

/// The calls that hang, one after the other.
const CALLS: [(Operation, &str); 6] = [
    (Operation::Write, ".log"),
    (Operation::Sync, ".log"),
    (Operation::Create, ".log"),
    (Operation::Write, ".tbl"),
    (Operation::Sync, ".tbl"),
    (Operation::Sync, "MANIFEST"),
];

#[test]
fn a_hanging_disk_delays_no_deadline_and_no_read() {
    for (operation, file) in CALLS {
        hang(operation, file, Duration::from_millis(1500));
    }
}

#[test]
#[ignore = "takes a minute"]
fn a_disk_that_hangs_for_ten_seconds_delays_no_deadline_and_no_read() {
    for (operation, file) in CALLS {
        hang(operation, file, Duration::from_secs(10));
    }
}
