//! What the tests share: a queue in memory with a clock that tests move, and an audit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use foldb::env::{Env, ManualClock, MemFs};
use foldb::{Db, Options};
use foldb_queue::{Claimed, Error, Queue, QueueOptions};

pub(crate) const LEASE: Duration = Duration::from_secs(60);

/// A database in memory, and its queue `jobs`.
pub(crate) struct Stage {
    pub(crate) fs: MemFs,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) options: QueueOptions,
    pub(crate) db: Db,
    pub(crate) jobs: Queue,
}

fn open(fs: &MemFs, options: &QueueOptions) -> (Db, Queue) {
    open_with(fs, options, Options::default())
}

fn open_with(fs: &MemFs, options: &QueueOptions, of_db: Options) -> (Db, Queue) {
    let env = Env::in_memory(fs.clone());
    let db = Db::open("db", Options { create_if_missing: true, env, ..of_db }).unwrap();
    let jobs = Queue::open(&db, "jobs", options.clone()).unwrap();
    (db, jobs)
}

impl Stage {
    pub(crate) fn new(options: QueueOptions) -> Stage {
        let (fs, clock) = (MemFs::new(), Arc::new(ManualClock::default()));
        let options = QueueOptions { clock: Arc::clone(&clock) as _, ..options };
        let (db, jobs) = open(&fs, &options);
        Stage { fs, clock, options, db, jobs }
    }

    /// A stage whose memtable is flushed only when the test says so.
    pub(crate) fn with_room(options: QueueOptions) -> Stage {
        let stage = Stage::new(options);
        let room = Options { write_buffer_size: 1 << 30, ..Options::default() };
        let fs = MemFs::new();
        let (db, jobs) = open_with(&fs, &stage.options, room);
        Stage { fs, db, jobs, ..stage }
    }

    /// Closes the database and opens it again.
    pub(crate) fn reopen(&mut self) {
        // Another database takes its place for a moment, so that the last handle is dropped.
        (self.db, self.jobs) = open(&MemFs::new(), &self.options);
        (self.db, self.jobs) = open(&self.fs, &self.options);
    }

    /// Opens what a power loss leaves.
    pub(crate) fn after_power_loss(&self) -> Stage {
        let (fs, clock, options) = (self.fs.crash(), Arc::clone(&self.clock), self.options.clone());
        let (db, jobs) = open(&fs, &options);
        Stage { fs, clock, options, db, jobs }
    }

    pub(crate) fn claim(&self) -> Option<Claimed> {
        self.jobs.claim("ann", LEASE).unwrap()
    }

    pub(crate) fn later(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }
}

/// Returns whether a call told that the lease is lost.
pub(crate) fn is_lost<T>(outcome: &Result<T, Error>) -> bool {
    matches!(outcome, Err(Error::LeaseLost { .. }))
}

/// Checks that the counters tell the entries, and that each job has one body and one state.
pub(crate) fn audit(db: &Db, jobs: &Queue) {
    let own = db.keyspace(jobs.name()).unwrap();
    let (mut bodies, mut states) = (BTreeSet::new(), BTreeSet::new());
    let mut of = BTreeMap::new();
    for entry in own.iter().unwrap() {
        let (key, _) = entry.unwrap();
        let id = || u64::from_be_bytes(*key.last_chunk().unwrap());
        match key[0] {
            b'j' => assert!(bodies.insert(id())),
            b'd' | b'l' | b'r' | b'x' => {
                assert!(states.insert(id()), "job {} has two states", id());
                *of.entry(key[0]).or_default() += 1;
            }
            b'c' | b'f' | b'n' => {}
            other => panic!("an entry with the first byte {other}"),
        }
    }
    assert_eq!(bodies, states);
    let depth = jobs.depth().unwrap();
    let counted = [depth.delayed, depth.leased, depth.ready, depth.dead];
    assert_eq!(counted, [b'd', b'l', b'r', b'x'].map(|tag| of.get(&tag).copied().unwrap_or(0)));
}
