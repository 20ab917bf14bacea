//! How a memory budget is divided.
//!
//! ```text
//! 256 MiB  ├ memtables 120 ┤ cache 32 ┤ background 32 ┤ tables, rest ┤
//! ```
//!
//! The 120 MiB are 1 1/2 write buffers of 64 MiB and a quarter of them on top. During its flush a
//! memtable takes up to this quarter more than its write buffer: 16 bytes a key for the key order,
//! and partly filled pages. An automatic budget grows with the other given sizes. A given budget
//! wins over them: they shrink until they fit, like a write buffer under RocksDB's
//! `WriteBufferManager`.

const MIB: usize = 1 << 20;

/// The budget if none is given.
const DEFAULT_BUDGET: usize = 256 * MIB;

/// Smallest budget that can be kept. Background work gets an eighth of it, 1 MiB. Writing a table
/// takes some 400 KiB of that, whatever its records are.
pub(crate) const SMALLEST_BUDGET: usize = 8 * MIB;

/// Smallest budget of background work.
pub(crate) const SMALLEST_BACKGROUND: usize = SMALLEST_BUDGET / 8;

/// Most bytes of an automatic number of write buffers together, if their size is at most two thirds
/// of this. Larger write buffers may use one and a half times their size ([`memtable_bytes`]).
const AUTOMATIC_BUFFERS: usize = 64 * MIB;

/// Largest automatic budget of background work on each thread.
const AUTOMATIC_BACKGROUND: usize = 16 * MIB;

/// Bytes of a large budget that are kept for open tables.
const LEAST_FOR_TABLES: usize = 16 * MIB;

/// Smallest write buffer, in bytes.
pub(crate) const SMALLEST_BUFFER: usize = 4 << 10;

/// The parts of a memory budget, in bytes, and other limits that follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryShares {
    pub(crate) budget: usize,
    /// The share of memtables: filling, sealed and spare, each with its key order.
    pub(crate) memtables: usize,
    /// While memtables in use and spare arenas exceed this together, spare arenas are freed. Equal
    /// to `memtables`, except for an automatic number of large write buffers. These share memory,
    /// and this limit is then one write buffer with its key order.
    pub(crate) with_spare: usize,
    /// The largest write buffer of a database.
    pub(crate) write_buffer: usize,
    pub(crate) cache: usize,
    /// Flushes and compactions, on all threads.
    pub(crate) background: usize,
    /// The bytes that indexes and filters of open tables may always use.
    pub(crate) tables: usize,
    /// Most tables open at once.
    pub(crate) open_tables: usize,
    pub(crate) threads: usize,
}

/// The sizes asked for beside memtables. Budgets of 0 are automatic.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) budget: usize,
    pub(crate) cache: usize,
    pub(crate) background: usize,
    pub(crate) open_tables: usize,
    pub(crate) threads: usize,
}

impl Wanted {
    /// Divides the budget of a runtime for several databases.
    pub(crate) fn divided_among_several(self) -> MemoryShares {
        let buffers = match self.budget {
            0 => DEFAULT_BUDGET / 2,
            given => given / 2,
        };
        // One database fills at most half: the other half may hold memtables that are being
        // flushed.
        self.divide(buffers / 2, with_order(buffers))
    }

    pub(crate) fn divide(self, write_buffer: usize, memtables: usize) -> MemoryShares {
        let Wanted { cache, open_tables, threads, .. } = self;
        let base = if self.budget == 0 { DEFAULT_BUDGET } else { self.budget };
        let tables = (base / 16).min(LEAST_FOR_TABLES);
        let background = match self.background {
            0 => (base / 8).min(AUTOMATIC_BACKGROUND.saturating_mul(threads)),
            given if self.budget == 0 => given,
            given => given.min(base / 4),
        };
        let beside = memtables.saturating_add(background).saturating_add(tables);
        let (budget, cache) = match self.budget {
            0 => (base.max(beside.saturating_add(cache)), cache),
            given => (given, cache.min(given.saturating_sub(beside))),
        };
        MemoryShares {
            budget,
            memtables,
            with_spare: memtables,
            write_buffer,
            cache,
            background,
            tables,
            open_tables,
            threads,
        }
    }
}

/// Returns the most bytes that memtables of this size use, key order included.
pub(crate) fn with_order(buffers: usize) -> usize {
    buffers.saturating_add(buffers / 4)
}

/// Returns the bytes that `count` write buffers may use together. If their number is automatic,
/// large ones are sealed early enough to make do with one and a half.
pub(crate) fn memtable_bytes(size: usize, count: usize, is_automatic: bool) -> usize {
    let all = size.saturating_mul(count);
    if !is_automatic {
        return all;
    }
    all.min(size.saturating_add(size / 2).max(AUTOMATIC_BUFFERS))
}

/// Returns the automatic number of write buffers of a size.
pub(crate) fn automatic_count(size: usize, most: usize) -> usize {
    (AUTOMATIC_BUFFERS.min(most) / size).clamp(2, 17)
}
