//! The ranks of all locks, lowest first. A thread that holds a lock may wait only for locks further
//! down. ARCHITECTURE.md shows this list; `cargo xtask layers` compares them.

macro_rules! ranks {
    ($($(#[doc = $doc:literal])+ $name:ident)+) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Order { $($name),+ }

        $($(#[doc = $doc])+ pub(crate) const $name: u8 = Order::$name as u8;)+

        /// The names, by rank.
        #[cfg(debug_assertions)]
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),+];
    };
}

ranks! {
    /// The state of a transaction.
    TRANSACTION
    /// The walk of an iterator below a transaction's own writes.
    OWN_WALK
    /// What a transaction has read.
    CLAIMS
    /// Held while a close runs.
    CLOSE
    /// The next file of a scrub.
    SCRUB
    /// Held while value segments are collected.
    COLLECTING
    /// Held by a caller that compacts on its own thread.
    ALONE
    /// Held while sealed memtables are flushed.
    FLUSHING
    /// Held, shared, during a slice of a compaction. A reset of the time takes it alone.
    DROPPING
    /// Held while a write is logged, applied and published.
    WRITER
    /// The writers that wait for a time slice.
    WAITING_WRITERS
    /// Held to wait for the end of a transaction's turn.
    TURNS
    /// Held while the manifest is written and versions are made.
    TREE
    /// Fronts of queues, for `take_first`.
    FRONTS
    /// Held while a snapshot is taken, or kept from being taken.
    TAKING
    /// Live snapshots.
    SNAPSHOTS
    /// The directory's lock file.
    DIRECTORY
    /// The progress of background work.
    BACKGROUND
    /// The tenants of a runtime and their work.
    WORKERS
    /// The keyspaces by name.
    KEYSPACES
    /// The logs on disk.
    LOGS
    /// The logs of the change feed.
    LINKS
    /// Sealed memtables that wait for their flush.
    SEALED
    /// A change of what the readers of a keyspace see.
    VIEW
    /// Compactions that paused.
    PAUSED
    /// The failures of garbage collections.
    GC_BACKOFF
    /// Damaged parts of tables.
    DAMAGE
    /// The key whose long chain is folded next.
    READ_CHAIN
    /// The last look at the clocks.
    CLOCK
    /// The first open of a table.
    OPENING
    /// The first read of a table's filter and index.
    LOADING
    /// Stretches of deleted keys that walks have noted.
    DEAD
    /// The tables that wait for their syncs.
    TABLE_SYNCS
    /// The first failure among syncs of tables.
    FAILED_SYNC
    /// The sub-blocks that wait for the thread that writes them.
    TABLE_BATCHES
    /// Value segments that may take more values, and that no writer uses now.
    GROWING
    /// The value segments in use.
    SEGMENT_FILES
    /// The open tables, in the order in which the pool looks at them.
    OPEN_TABLES
    /// The open value segments, likewise.
    OPEN_SEGMENTS
    /// The syncs of a log.
    LOG_SYNC
    /// The readers of the change feed that sleep until the next update.
    NEWS
    /// The memtables whose memory a runtime counts.
    MEMTABLES
    /// Tables that belong to no version.
    GONE
    /// Tables that are unlinked, whose directory is not synced yet.
    UNLINKED
    /// Files to be unlinked.
    TRASH
    /// The files of a flight recorder.
    RING
    /// What a flight recorder writes next.
    RECORDER
    /// The databases whose flight recorders are awake.
    TICKER
}

/// Locks of the caller's own transactions and iterators, as bits. The caller's operators and
/// comparators may use them inside any call, as they may use the program's own locks. So no rank is
/// checked before them.
#[cfg(debug_assertions)]
pub(crate) const OF_CALLERS: u64 = 1 << TRANSACTION | 1 << OWN_WALK | 1 << CLAIMS;

/// Locks under which the caller's file system opens a file, as bits. A file system may use another
/// database there, so their holder counts as holding nothing.
#[cfg(debug_assertions)]
pub(crate) const AROUND_CALLERS: u64 = 1 << OPENING;

#[cfg(debug_assertions)]
const _: () = assert!(NAMES.len() <= 64, "a thread notes ranks in a word of 64 bits");
