//! The time that reads lose and a compaction would have saved.
//!
//! Lost time is counted as the bytes that a compaction could have read in it, and added up for each
//! keyspace ([`LostTime`](crate::db::state::lost_time::LostTime)). The policy sets the *price* of
//! each compaction that would make reads cheaper: a share of its work, counted in bytes too. Once
//! reads have lost the price, the policy may pick the compaction.
//!
//! A seek positions a cursor in each run. Each step of a scan costs more with each further run. A
//! point read that no filter stopped searches one run after another. In a tree of one run, a read
//! searches only that run:
//!
//! ```text
//! 5 runs, 100 000 seeks    4 runs too many x 512 B each    200 MB lost
//! 82 MB of 5 M records     82 MB and 64 B a record         402 MB of work, done at half
//! ```
//!
//! A scan over keys that were deleted one by one visits each tombstone. Compactions move the
//! tombstones down to the oldest data, where they are dropped:
//!
//! ```text
//! 1 scan over 1 M of them    185 B each               185 MB lost
//! 1 M tombstones, 1 M puts   50 MB and 64 B a record  178 MB of work, done at half
//! ```
//!
//! Flushes and compactions fold neighbouring records. So a chain grows long only if its operator
//! cannot fold operands with each other and the base lies deeper. To fold such a chain, a
//! compaction rewrites the tables around the key:
//!
//! ```text
//! a.MERGE x 100 over 4 MiB of tables     82 reads of 100 operands x 64 B = 512 KiB = 4 MiB / 8
//! ```
//!
//! The policy picks these compactions if the tree needs no other. An iterator reports its effort
//! when it is dropped, and every thousand seeks. Between reports it touches no shared memory. In a
//! tree of one run without tombstones, reads lose nothing.

use crate::compaction::policy::BYTES_PER_GONE;
use crate::counters::Total;
use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::view::View;
use crate::iterator::Effort;

/// Bytes that a seek or a point read loses at each run after the first: 1 µs at 2 ns a byte.
const BYTES_PER_RUN: u64 = 512;

/// Bytes that a step of a scan loses at each run after the first: about 4 ns.
const BYTES_PER_STEP: u64 = 2;

/// Bytes that a read loses at each operand that it folds.
const BYTES_PER_OPERAND: u64 = 64;

/// Most operands of a chain in tables that is not long. A tree in which no compaction is due has
/// fewer runs.
pub(crate) const LONG_CHAIN: usize = 64;

impl Core {
    /// Notes the effort of an iterator over a view of a keyspace.
    pub(crate) fn note_iterator(&self, keyspace: &KeyspaceState, view: &View, effort: Effort) {
        let runs = view.version.runs().count() as u64;
        let too_many = runs.saturating_sub(1);
        let bytes = too_many * (effort.seeks * BYTES_PER_RUN + effort.steps * BYTES_PER_STEP);
        let lost = &keyspace.lost_time;
        self.note_lost(bytes, |bytes| lost.in_runs.add(bytes));
        if effort.gone > 0 {
            self.totals.add(Total::SkippedDeletes, effort.gone);
        }
        let bytes = effort.gone * BYTES_PER_GONE;
        self.note_lost(bytes, |bytes| lost.at_tombstones.add(bytes));
    }

    /// Notes that a point read searched `runs` runs after the first.
    #[cold]
    pub(crate) fn note_more_runs(&self, keyspace: &KeyspaceState, runs: u64) {
        self.note_lost(runs * BYTES_PER_RUN, |bytes| keyspace.lost_time.in_runs.add(bytes));
    }

    /// Notes that a read folded a long chain.
    #[cold]
    pub(crate) fn note_long_chain(&self, keyspace: &KeyspaceState, key: &[u8], operands: usize) {
        if let Some(recorder) = &self.recorder {
            recorder.folded_long_chain(&keyspace.name, key, operands);
        }
        // In another order than byte order the successor of a key is unknown.
        if keyspace.comparator.bytewise_order() {
            let bytes = operands as u64 * BYTES_PER_OPERAND;
            self.note_lost(bytes, |bytes| keyspace.lost_time.add_for_chain(key, bytes));
        }
    }

    /// Adds lost time, and wakes a worker if it now reaches the price of a compaction. Without
    /// automatic compaction, no time is added.
    fn note_lost(&self, bytes: u64, add: impl FnOnce(u64) -> bool) {
        let is_compacted = !self.standing.is_read_only() && !self.settings.disable_auto_compactions;
        if bytes > 0 && is_compacted && add(bytes) {
            self.background.rest.note_news();
            self.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::LONG_CHAIN;

    /// Without automatic compaction each long read once took two locks of the database, and woke
    /// workers without work.
    #[test]
    fn without_automatic_compaction_reads_lose_nothing() {
        for disable_auto_compactions in [false, true] {
            let runtime = crate::Runtime::new(crate::RuntimeOptions {
                threads: std::sync::Arc::new(foldb_env::Stepped),
                ..crate::RuntimeOptions::default()
            });
            let runtime = runtime.unwrap();
            let options = crate::Options {
                create_if_missing: true,
                default: crate::KeyspaceOptions::with_operator("float64add"),
                disable_auto_compactions,
                // No worker runs, so no compaction begins before the test looks.
                runtime: Some(runtime),
                env: foldb_env::Env::in_memory(foldb_env::MemFs::new()),
                ..crate::Options::default()
            };
            let db = crate::Db::open("db", options).unwrap();
            db.put("key", 0f64.to_le_bytes()).unwrap();
            db.flush().unwrap();
            (0..2 * LONG_CHAIN).for_each(|_| db.merge("key", 1f64.to_le_bytes()).unwrap());
            db.flush().unwrap();
            assert!(db.get("key").unwrap().is_some());
            let losses = db.core().keyspaces.default().lost_time.losses(true);
            assert_eq!(losses.is_empty(), disable_auto_compactions);
        }
    }
}
