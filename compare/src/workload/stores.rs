//! The jobs of a general store, and their rows.

use super::job::{Call, Job, StoreTask, Task};
use super::table::{COUNTERS, row};
use crate::engine::Name;
use crate::store::WideValue;

const M: u64 = 1_000_000;
/// The rate that takes 1.2 times the time of another rate.
const TIME_OF_1_2: f64 = 0.833;
/// Bytes of a cache that holds all read data.
const AMPLE: Option<usize> = Some(256 << 20);

const UNSYNCED: &[Name] = &[
    Name::Foldb,
    Name::RocksDb,
    Name::FjallSingleWriter,
    Name::FjallOptimistic,
    Name::Redb,
    Name::Lmdb,
];
const SYNCED: &[Name] = &[
    Name::Foldb,
    Name::RocksDb,
    Name::FjallSingleWriter,
    Name::FjallOptimistic,
    Name::Redb,
    Name::Lmdb,
    Name::Bare,
];
/// fjall loads in one way, whatever its transactions.
const LOADING: &[Name] =
    &[Name::Foldb, Name::RocksDb, Name::FjallOptimistic, Name::Redb, Name::Lmdb];

const STORE: Job = Job {
    task: Task::Store { task: StoreTask::Count, threads: 1 },
    wal: true,
    operations: 500_000,
    keys: M,
    compressed: 1.0,
    cache: AMPLE,
    engines: UNSYNCED,
    ..COUNTERS
};

const fn transact(synced: bool, threads: u64) -> Task {
    Task::Store { task: StoreTask::Transact { synced }, threads }
}

/// One transaction of one get and one put, on one thread.
pub const TRANSACT_1: Job = Job {
    name: "store/transact-1",
    task: transact(false, 1),
    rows: &[row("store/transact-1", "a get and a put of one key of 1 M a transaction, unsynced")
        .needs_of_fastest(1.0, 2.0)],
    seconds: 10.0,
    ..STORE
};

/// The same on four threads.
pub const TRANSACT_4: Job = Job {
    name: "store/transact-4",
    task: transact(false, 4),
    rows: &[row("store/transact-4", "the same by 4 threads").needs_of_fastest(1.0, 2.0)],
    seconds: 15.0,
    ..STORE
};

/// The same with a sync before each return.
pub const SYNCED_1: Job = Job {
    name: "store/synced-1",
    task: transact(true, 1),
    operations: 10_000,
    engines: SYNCED,
    rows: &[row("store/synced-1", "the same by 1 thread, each commit synced")
        .needs_no_less(Name::Bare, TIME_OF_1_2)],
    seconds: 8.0,
    ..STORE
};

/// The same on four threads.
pub const SYNCED_4: Job = Job {
    name: "store/synced-4",
    task: transact(true, 4),
    operations: 10_000,
    engines: SYNCED,
    rows: &[row("store/synced-4", "the same by 4 threads").aims_at(Name::Bare, TIME_OF_1_2)],
    seconds: 8.0,
    ..STORE
};

/// One transaction of one merge, on four threads.
pub const COUNT_4: Job = Job {
    name: "store/count-4",
    task: Task::Store { task: StoreTask::Count, threads: 4 },
    keys: 1000,
    keys_scale: false,
    rows: &[row("store/count-4", "a merge of one key of 1000 a transaction, 4 threads, unsynced")
        .needs(Name::RocksDb, 10.0, 30.0)],
    seconds: 15.0,
    ..STORE
};

/// One sorted load. Its two rows have one run, beside different peers.
pub const LOAD: Job =
    Job {
        name: "store/load",
        task: Task::Store { task: StoreTask::Load, threads: 1 },
        operations: 10 * M,
        engines: LOADING,
        rows: &[
            row("store/load", "sorted load of 10 M entries of 16 + 8 bytes, synced at the end")
                .needs(Name::Lmdb, 1.0, 1.5),
            row("store/load-ingested", "the same, beside RocksDB's tables and their ingestion")
                .needs_no_less(Name::RocksDb, 2.0)
                .only(&[Name::Foldb, Name::RocksDb]),
        ],
        seconds: 20.0,
        ..STORE
    };

const WIDE: Job = Job {
    operations: M,
    keys: 2 * M,
    value: size_of::<WideValue>(),
    compressed: 0.5,
    engines: LOADING,
    ..STORE
};

/// Gets and ranges at random places of a store at rest, all in memory.
pub const READ: Job =
    Job {
        name: "store/read",
        task: Task::Store { task: StoreTask::Read, threads: 1 },
        cache: Some(1 << 30),
        rows: &[
            row("store/get", "gets of 2 M entries of 24 + 150 bytes, at rest, all in memory")
                .needs(Name::Lmdb, 1.2, 1.5),
            row("store/get-absent", "gets of keys between them").needs(Name::Lmdb, 3.0, 5.0),
            row("store/range-10", "ranges of 10 entries from random keys on").needs(
                Name::Lmdb,
                1.0,
                1.3,
            ),
            row("store/range-100", "ranges of 100 entries").needs(Name::Lmdb, 1.1, 1.3),
        ],
        seconds: 20.0,
        ..WIDE
    };

/// Single puts in key order.
pub const INSERT_PUTS: Job = Job {
    name: "store/insert-in-order-puts",
    task: Task::Store { task: StoreTask::Insert { batch: 1 }, threads: 1 },
    rows: &[row(
        "store/insert-in-order-puts",
        "2 M entries of 24 + 150 bytes in key order by single puts; LMDB and redb in one transaction",
    )
    .needs(Name::Lmdb, 0.8, 1.2)],
    seconds: 8.0,
    ..WIDE
};

/// The same in batches.
pub const INSERT_BATCHES: Job = Job {
    name: "store/insert-in-order-batches",
    task: Task::Store { task: StoreTask::Insert { batch: 1000 }, threads: 1 },
    rows: &[row("store/insert-in-order-batches", "the same by batches of 1000").needs(
        Name::Lmdb,
        0.8,
        1.2,
    )],
    seconds: 8.0,
    ..WIDE
};

/// redb's published benchmark.
pub const PUBLISHED: Job = Job {
    name: "redb-bench",
    task: Task::Store { task: StoreTask::Published, threads: 1 },
    operations: 5 * M,
    keys: 5 * M,
    compressed: 1.0,
    cache: Some(4 << 30),
    rows: &[
        row(
            "redb-bench/bulk-load",
            "5 M entries of 24 + 150 bytes with random keys, synced at the end",
        )
        .needs_of_fastest(1.0, 1.0),
        row("redb-bench/single-writes", "1000 more, each synced").needs_of_fastest(1.0, 1.0),
        row("redb-bench/batch-writes", "100 batches of 1000, each synced")
            .needs_of_fastest(1.0, 1.0),
        row("redb-bench/unsynced-writes", "50 000 single ones, unsynced")
            .needs_of_fastest(1.0, 1.0),
        row("redb-bench/count", "the exact number of entries").needs_of_fastest(1.0, 1.0),
        row("redb-bench/gets", "1 M random gets, median of three passes")
            .needs_of_fastest(1.0, 1.0),
        row(
            "redb-bench/ranges",
            "500 000 ranges of 10 from random keys on, median of three passes",
        )
        .needs_of_fastest(1.0, 1.0),
        row("redb-bench/gets-4", "a random get for each entry, by 4 threads")
            .needs_of_fastest(1.0, 1.0),
        row("redb-bench/gets-32", "the same by 32 threads").needs_of_fastest(1.0, 1.0),
        row("redb-bench/removals", "half of the entries removed, synced at the end")
            .needs_of_fastest(1.0, 1.0),
        row(
            "redb-bench/sorted-inserts",
            "1 M entries in key order behind all others, synced at the end",
        )
        .needs_of_fastest(1.0, 1.0),
    ],
    seconds: 150.0,
    ..WIDE
};

/// A queue in memory.
pub const QUEUE_MEMORY: Job = Job {
    name: "store/queue-memory",
    task: Task::Store { task: StoreTask::Queue { flushed: false }, threads: 1 },
    operations: M,
    engines: &[Name::Foldb],
    rows: &[
        row("store/queue-memory-first", "1 M entries pushed, then popped, in the memtable"),
        row("store/queue-memory", "the next 1 M, behind the popped ones")
            .needs_no_less_of("store/queue-memory-first", TIME_OF_1_2),
    ],
    seconds: 5.0,
    ..STORE
};

/// A queue in tables.
pub const QUEUE_FLUSHED: Job = Job {
    name: "store/queue-flushed",
    task: Task::Store { task: StoreTask::Queue { flushed: true }, threads: 1 },
    operations: M,
    engines: &[Name::Foldb],
    rows: &[
        row("store/queue-flushed-first", "1 M entries pushed, flushed, then popped"),
        row("store/queue-flushed", "the next 1 M, behind the popped ones, which are flushed too")
            .needs_no_less_of("store/queue-flushed-first", TIME_OF_1_2),
    ],
    seconds: 5.0,
    ..STORE
};

/// Calls on one thread, in memory. Only foldb has them, or they compare with no other engine's.
const CALLS: Job = Job {
    operations: M,
    keys: 10_000,
    keys_scale: false,
    engines: &[Name::Foldb],
    seconds: 3.0,
    ..STORE
};

/// Takes from a queue in the memtable.
pub const TAKE_FIRST: Job = Job {
    name: "store/take-first",
    task: Task::Store { task: StoreTask::Call(Call::TakeFirst), threads: 1 },
    rows: &[row("store/take-first", "take_first of a queue of 1 M entries, in the memtable")],
    ..CALLS
};

/// Merges that return the value.
pub const MERGE_GET: Job = Job {
    name: "store/merge-get",
    task: Task::Store { task: StoreTask::Call(Call::MergeGet), threads: 1 },
    rows: &[row("store/merge-get", "merge_get of uint64add on 10 000 counters, in the memtable")],
    ..CALLS
};

/// Transactions without contention.
pub const TRANSACT_IN_MEMORY: Job = Job {
    name: "store/transact-in-memory",
    task: Task::Store { task: StoreTask::Call(Call::Transact), threads: 1 },
    rows: &[row(
        "store/transact-in-memory",
        "a get and a put of one counter of 10 000 a transaction, in the memtable",
    )],
    ..CALLS
};
