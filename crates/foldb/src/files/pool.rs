//! Open files: how many there may be, and which one is closed to make room for another.
//!
//! Several databases may share a [`FilePool`]. It knows neither tables nor segments. It knows only
//! that a file can be closed unless it was used lately (second chance).
//!
//! Limits and figures are `Relaxed`. A thread that holds more tables, and one that opens a table,
//! then takes the lock of the open tables: the second of them sees what the first did. The bytes of
//! a table that opens while the room shrinks may be missed. The next check of the memory ledger
//! counts them.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use crate::counters::LongestHold;
use crate::locks::rank::{OPEN_SEGMENTS, OPEN_TABLES};
use crate::locks::{Lock, LockGuard};
use crate::memory::{Charge, Gauge};

/// The file was used since the pool last asked.
#[derive(Debug)]
pub(crate) struct InUse;

/// A file that a pool may close.
pub(crate) trait PooledFile: Debug + Send + Sync {
    /// Closes the file unless it was used since the last call. The file itself is closed when the
    /// caller drops the returned value.
    ///
    /// # Errors
    /// [`InUse`] if the file was used since the last call.
    fn close_unless_used(&self) -> Result<Option<Arc<dyn Any + Send + Sync>>, InUse>;

    #[cfg(test)]
    fn is_open(&self) -> bool;
}

/// The limit on the open tables of all databases that share it.
#[derive(Debug)]
pub(crate) struct FilePool {
    /// Bytes of the indexes and properties of open tables.
    indexes: Arc<Gauge>,
    /// Bytes of the filters of open tables.
    filters: Arc<Gauge>,
    /// Most tables open at once. A quarter as many segment files may be open too.
    limit: usize,
    /// Bytes that indexes and filters may use, in addition to the one table that a reader needs.
    room: AtomicUsize,
    /// Tables that stay open for read-only databases, beside those that may be closed.
    held: AtomicUsize,
    /// Open tables, in the order the eviction hand visits them (second chance).
    clock: Lock<VecDeque<Weak<dyn PooledFile>>, OPEN_TABLES>,
    /// Open segment files, in the order of their own clock hand.
    segments: Lock<VecDeque<Weak<dyn PooledFile>>, OPEN_SEGMENTS>,
    /// The longest time that a thread held the lock of the segments.
    pub(crate) longest_segments_hold: LongestHold,
}

/// The share of the open files that may be segments, as a divisor.
const SEGMENTS_SHARE: usize = 4;

impl FilePool {
    pub(crate) fn new(indexes: Arc<Gauge>, filters: Arc<Gauge>, limit: usize) -> FilePool {
        let (room, held) = (AtomicUsize::new(usize::MAX), AtomicUsize::new(0));
        let (clock, segments) = (Lock::default(), Lock::default());
        let longest_segments_hold = LongestHold::default();
        FilePool { indexes, filters, limit, room, held, clock, segments, longest_segments_hold }
    }

    /// Notes an open segment file, and closes others beyond the limit, whichever database owns
    /// them.
    pub(crate) fn note_segment(&self, file: Weak<dyn PooledFile>) {
        let limit = (self.limit / SEGMENTS_SHARE).max(1);
        // Closed, and perhaps removed, after the lock is released.
        let mut let_go = Vec::new();
        let mut clock = self.segments.lock();
        self.longest_segments_hold.measure(|| {
            let mut seen = 2 * clock.len();
            while clock.len() >= limit && seen > 0 {
                seen -= 1;
                let Some(candidate) = clock.pop_front() else { break };
                let Some(other) = candidate.upgrade() else { continue };
                match other.close_unless_used() {
                    Ok(open) => let_go.push((other, open)),
                    Err(InUse) => {
                        clock.push_back(candidate);
                        let_go.push((other, None));
                    }
                }
            }
            clock.push_back(file);
        });
        drop(clock);
        drop(let_go);
    }

    /// Counts tables that another pool keeps open whatever the limit is. They lower the limit for
    /// the other tables.
    pub(crate) fn hold(pool: &Arc<FilePool>, tables: usize) -> HeldFiles {
        pool.held.fetch_add(tables, Ordering::Relaxed);
        pool.evict(&mut pool.lock(), 0);
        HeldFiles { pool: Arc::clone(pool), tables }
    }

    /// Returns the bytes that indexes and filters use.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.indexes.get() + self.filters.get()
    }

    /// Returns the bytes that indexes and filters may use.
    pub(crate) fn room(&self) -> usize {
        self.room.load(Ordering::Relaxed)
    }

    /// Returns whether an index or filter of this size fits beside those that are open.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.memory_bytes() + bytes <= self.room()
    }

    /// Counts an index of other files together with those of tables; `None` if there is no room to
    /// keep it.
    pub(crate) fn charge_index(&self, bytes: usize) -> Option<Charge> {
        self.has_room(bytes).then(|| Charge::new(&self.indexes, bytes))
    }

    /// Counts an index that is kept even without room. It must be small compared with its file.
    pub(crate) fn charge_small_index(&self, bytes: usize) -> Charge {
        Charge::new(&self.indexes, bytes)
    }

    /// Sets the bytes that indexes and filters may use, and closes tables beyond that.
    pub(crate) fn set_room(&self, bytes: usize) {
        self.room.store(bytes, Ordering::Relaxed);
        self.trim();
    }

    /// Closes tables until the remaining ones fit the limits.
    pub(crate) fn trim(&self) {
        if self.memory_bytes() > self.room() {
            self.evict(&mut self.lock(), 0);
        }
    }

    /// Notes an open table, and closes others beyond the limit.
    pub(crate) fn note_table(&self, file: Weak<dyn PooledFile>) {
        let mut clock = self.lock();
        self.evict(&mut clock, 1);
        clock.push_back(file);
    }

    /// Closes tables until `more` bytes fit beside the rest. The last table always stays: otherwise
    /// its reader would reopen it for every read.
    fn evict(&self, clock: &mut VecDeque<Weak<dyn PooledFile>>, more: usize) {
        let mut seen = 2 * clock.len();
        while clock.len() + more + self.held.load(Ordering::Relaxed) > self.limit
            || seen > 0
                && clock.len() + more > 1
                && self.memory_bytes() > self.room.load(Ordering::Relaxed)
        {
            if clock.is_empty() {
                return;
            }
            seen = seen.saturating_sub(1);
            evict_one(clock);
        }
    }

    fn lock(&self) -> LockGuard<'_, VecDeque<Weak<dyn PooledFile>>, OPEN_TABLES> {
        self.clock.lock()
    }

    #[cfg(test)]
    pub(crate) fn open_tables(&self) -> usize {
        let open = |file: &Weak<dyn PooledFile>| file.upgrade().is_some_and(|file| file.is_open());
        self.lock().iter().filter(|file| open(file)).count()
    }
}

/// Tables that count in a pool's limit but are not bounded by it, until dropped.
#[derive(Debug)]
pub(crate) struct HeldFiles {
    pool: Arc<FilePool>,
    tables: usize,
}

impl HeldFiles {
    pub(crate) fn pool(&self) -> &FilePool {
        &self.pool
    }
}

impl Drop for HeldFiles {
    fn drop(&mut self) {
        let held = self.pool.held.fetch_sub(self.tables, Ordering::Relaxed);
        assert!(held >= self.tables, "a pool gets back what was held");
    }
}

/// Closes the first table that was not used since the hand last passed.
fn evict_one(clock: &mut VecDeque<Weak<dyn PooledFile>>) {
    while let Some(candidate) = clock.pop_front() {
        let Some(file) = candidate.upgrade() else { return };
        match file.close_unless_used() {
            Err(InUse) => clock.push_back(candidate),
            Ok(_closed) => return,
        }
    }
}
