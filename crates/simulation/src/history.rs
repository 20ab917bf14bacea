//! The clients' calls and their answers: the record that a checker reads.
//!
//! Time is a counter. Every call increments it twice: when the call begins and when it returns. If
//! a call returned before another began, it has the smaller numbers.
//!
//! Invariant: an entry has only data that its client could see. The exception is the sequence
//! numbers of writes, which the engine reports to its tests.

use std::ops::{Range, RangeInclusive};
use std::sync::atomic::{AtomicU64, Ordering};

use foldb_model::{Operation, Reset};

/// A moment: a value of the counter [`Ticks`].
pub type Tick = u64;

/// The counter of moments.
#[derive(Debug, Default)]
pub struct Ticks(AtomicU64);

impl Ticks {
    /// Returns the next moment.
    pub fn next(&self) -> Tick {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// The last byte of a value that lives for [`BRIEF_SECONDS`], because its put said so. Other values
/// do not end with it. So an older value of the key may outlive a newer one.
pub const BRIEF: u8 = b'!';

/// Seconds that a brief value lives, in a keyspace whose entries expire.
pub const BRIEF_SECONDS: u64 = 1;

/// The outcome of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The write returned `Ok`. With a sync, the write is durable.
    Done {
        /// Whether it asked for a sync.
        synced: bool,
    },
    /// The write returned an error, or a stop interrupted it. The whole write may be visible, or no
    /// part of it.
    Open,
}

/// One write.
#[derive(Clone, Debug)]
pub struct Write {
    /// When it was begun.
    pub began: Tick,
    /// When it returned.
    pub returned: Tick,
    /// Sequence numbers of its operations.
    pub numbers: RangeInclusive<u64>,
    /// Place of the write in the order in which the writes of a run got their numbers.
    pub rank: u64,
    /// Its operations, which are atomic.
    pub operations: Vec<Operation>,
    /// How it ended.
    pub outcome: Outcome,
    /// The second of the database's time at which it ran.
    pub second: u64,
    /// What a conditional write or transaction read, if it succeeded: true directly before it.
    pub before: Vec<Seen>,
    /// What it returned: true directly after it.
    pub after: Vec<Seen>,
    /// Whether it is in the log. A sorted load is not.
    pub is_logged: bool,
}

/// One entry of the change feed.
#[derive(Clone, Debug)]
pub struct Fed {
    /// The sequence numbers.
    pub numbers: RangeInclusive<u64>,
    /// What happened at these numbers.
    pub entry: Entry,
}

/// What the change feed tells.
#[derive(Clone, Debug)]
pub enum Entry {
    /// The operations of a batch.
    Batch(Vec<Operation>),
    /// The numbers are in no log.
    Unlogged,
    /// The feed did not continue, and the follower copied the database anew.
    Anew,
}

/// The answer of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The number of a snapshot.
    Snapshot(u64),
    /// The value of a key.
    Value {
        /// Index of the keyspace in the run.
        keyspace: usize,
        /// The key.
        key: Vec<u8>,
        /// The value.
        value: Option<Vec<u8>>,
    },
    /// All entries of a range, in the order of keys.
    Entries {
        /// Index of the keyspace in the run.
        keyspace: usize,
        /// From the first key to before the second; `None`: all keys.
        range: Option<Range<Vec<u8>>>,
        /// The entries found.
        entries: Vec<(Vec<u8>, Vec<u8>)>,
    },
    /// Several answers, all at one moment.
    Together(Vec<Seen>),
}

/// One read. The read of an iterator begins when the iterator is made: the iterator shows that
/// moment.
#[derive(Clone, Debug)]
pub struct Read {
    /// When it was begun.
    pub began: Tick,
    /// When it returned.
    pub returned: Tick,
    /// The second of the database's time that it shows.
    pub second: u64,
    /// The sequence number of the read's snapshot, if it has one.
    pub at: Option<u64>,
    /// Whether it read the files as another process does. It may then show a write that is logged
    /// and not published yet, so a later read of the writer's process may show an earlier moment.
    pub is_ahead: bool,
    /// What it found.
    pub seen: Seen,
}

/// The calls of one thread, or of all threads, in one life of a database.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Writes that got sequence numbers.
    pub writes: Vec<Write>,
    /// Reads, in the order in which they returned.
    pub reads: Vec<Read>,
    /// For each successful call that makes all earlier writes durable: when it began.
    pub syncs: Vec<Tick>,
    /// Resets of the time, in their order.
    pub resets: Vec<Reset>,
    /// What a follower of the change feed read, in its order.
    pub feed: Vec<Fed>,
}

impl History {
    /// Adds the history of another thread.
    pub fn append(&mut self, mut other: History) {
        self.writes.append(&mut other.writes);
        self.reads.append(&mut other.reads);
        self.syncs.append(&mut other.syncs);
        self.resets.append(&mut other.resets);
        self.feed.append(&mut other.feed);
    }
}
