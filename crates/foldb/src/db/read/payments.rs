//! Payments: reads report the time that a compaction would have saved them.
//!
//! A *payment* is that time, as the bytes that a compaction could have read in it. The *account* of
//! a keyspace adds up the payments ([`ReadAccount`](crate::db::state::read_account::ReadAccount)).
//! The policy sets the *price* of each compaction that would make reads cheaper: a share of its
//! work, counted in bytes too. Once payments reach the price, the policy may pick the compaction.
//!
//! A seek positions a cursor in each run. Each step of a scan costs more with each further run. A
//! point read that no filter stops searches one run after another. In a tree of one run, a read
//! searches only that run:
//!
//! ```text
//! 5 runs, 100 000 seeks    4 runs too many x 512 B each    200 MB paid
//! 82 MB of 5 M records     82 MB and 64 B a record         402 MB of work, done at half
//! ```
//!
//! A scan over keys that were deleted one by one visits each tombstone. It pays for compactions
//! that move the tombstones down to the oldest data, where they are dropped:
//!
//! ```text
//! 1 scan over 1 M of them    185 B each               185 MB paid
//! 1 M tombstones, 1 M puts   50 MB and 64 B a record  178 MB of work, done at half
//! ```
//!
//! Flushes and compactions fold neighbouring records. So a chain grows long only if its operator
//! cannot fold operands with each other and the base lies deeper. To fold such a chain, a
//! compaction rewrites the tables around the key. The reads of that key pay for it:
//!
//! ```text
//! a.MERGE x 100 over 4 MiB of tables     82 reads of 100 operands x 64 B = 512 KiB = 4 MiB / 8
//! ```
//!
//! The policy picks these compactions if the tree needs no other. An iterator pays when it is
//! dropped, and every thousand seeks. Between payments it touches no shared memory. In a tree of
//! one run without tombstones, reads pay nothing.

use crate::compaction::policy::BYTES_PER_GONE;
use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::view::View;
use crate::iterator::Effort;

/// Bytes that a seek or a point read pays for each run after the first: 1 µs at 2 ns a byte.
const BYTES_PER_RUN: u64 = 512;

/// Bytes that a step of a scan pays for each run after the first: about 4 ns.
const BYTES_PER_STEP: u64 = 2;

/// Bytes that a read pays for each operand that it folds.
const BYTES_PER_OPERAND: u64 = 64;

/// Most operands of a chain in tables that is not long. A tree in which no compaction is due has
/// fewer runs.
pub(crate) const LONG_CHAIN: usize = 64;

impl Core {
    /// Notes the effort of an iterator over a view of a keyspace.
    pub(crate) fn iterator_paid(&self, keyspace: &KeyspaceState, view: &View, effort: Effort) {
        let runs = view.version.runs().count() as u64;
        let too_many = runs.saturating_sub(1);
        let bytes = too_many * (effort.seeks * BYTES_PER_RUN + effort.steps * BYTES_PER_STEP);
        let account = &keyspace.read_account;
        self.reads_paid(bytes, |bytes| account.fewer_runs.pay(bytes));
        let bytes = effort.gone * BYTES_PER_GONE;
        self.reads_paid(bytes, |bytes| account.fewer_tombstones.pay(bytes));
    }

    /// Notes that a point read searched `runs` runs after the first.
    #[cold]
    pub(crate) fn looked_into_more_runs(&self, keyspace: &KeyspaceState, runs: u64) {
        let account = &keyspace.read_account;
        self.reads_paid(runs * BYTES_PER_RUN, |bytes| account.fewer_runs.pay(bytes));
    }

    /// Notes that a read folded a long chain.
    #[cold]
    pub(crate) fn note_long_chain(&self, keyspace: &KeyspaceState, key: &[u8], operands: usize) {
        // In another order than byte order the successor of a key is unknown.
        if keyspace.comparator.bytewise_order() {
            let account = &keyspace.read_account;
            let bytes = operands as u64 * BYTES_PER_OPERAND;
            self.reads_paid(bytes, |bytes| account.pay_for_key(key, bytes));
        }
    }

    /// Pays, and wakes a worker if the payments now reach the price of a compaction. Without
    /// automatic compaction, reads pay nothing.
    fn reads_paid(&self, bytes: u64, pay: impl FnOnce(u64) -> bool) {
        let is_compacted = !self.standing.is_read_only() && !self.settings.disable_auto_compactions;
        if bytes > 0 && is_compacted && pay(bytes) {
            self.background.note_news();
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
    fn without_automatic_compaction_reads_pay_for_nothing() {
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
                // No worker runs, so no compaction uses up the payments before the test checks
                // them.
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
            let has_paid = db.core().keyspaces.default().read_account.has_keys();
            assert_eq!(has_paid, !disable_auto_compactions);
        }
    }
}
