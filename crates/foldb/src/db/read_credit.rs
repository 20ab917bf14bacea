//! What reads pay for meeting several runs, or keys that are gone: a merge is done for them when
//! they have paid for it.
//!
//! A seek positions a cursor in each run, each step of a scan plays a match more the more runs
//! there are, and a point read that no filter stops looks into one run after the other. A tree of
//! one run would spare them all but the first. What they lose is counted in bytes, those that a
//! merge could have read in that time, and added up for each keyspace:
//!
//! ```text
//! 5 runs, 100 000 seeks    4 runs too many x 512 B each    200 MB paid
//! 82 MB of 5 M records     82 MB and 64 B a record         402 MB of work, done for half of it
//! ```
//!
//! A scan over keys that were deleted one by one looks at each of them. That is paid into a second
//! account, from which the tombstones are carried to the oldest data, where they end:
//!
//! ```text
//! 1 scan over 1 M of them    185 B each               185 MB paid
//! 1 M tombstones, 1 M puts   50 MB and 64 B a record  178 MB of work, done for half of it
//! ```
//!
//! Both are done when nothing else is to be done and no writer is held back, and paid for then:
//! what is rewritten for reads stays in proportion to them. An iterator pays when it is dropped,
//! and every thousand seeks; nothing shared is touched in between, nor ever where there is one run
//! and no tombstone.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::compaction::policy::{self, Pick, Policy, RunningJob, TreeShape};
use crate::db::core::Core;
use crate::db::keyspace::{Keyspace, KeyspaceState};
use crate::db::schedule::{Claim, in_turn};
use crate::db::tree::Tree;
use crate::db::view::View;
use crate::iterator::{Effort, Payee};
use crate::key::Comparator;

/// What a run too many costs a seek or a point read: 1 µs, at 2 ns a byte.
const BYTES_PER_RUN: u64 = 512;

/// What it costs a step of a scan: about 4 ns.
const BYTES_PER_STEP: u64 = 2;

/// The price where there is nothing to buy.
const NOTHING_TO_BUY: u64 = u64::MAX;

/// The account of a keyspace's reads. On a cache line of its own: readers write to it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct ReadCredit {
    paid: AtomicU64,
    /// What the next job costs, as far as known: 0 where nobody has asked.
    price: AtomicU64,
}

impl ReadCredit {
    /// Whether with this payment the job is paid for.
    fn pay(&self, bytes: u64) -> bool {
        let before = self.paid.fetch_add(bytes, Ordering::Relaxed);
        let price = self.price.load(Ordering::Relaxed).max(1);
        before < price && before.saturating_add(bytes) >= price
    }

    /// The tree changed: another job may be worth more, and what was paid where there was nothing
    /// to buy was not worth it.
    pub(crate) fn tree_changed(&self) {
        if self.price.swap(0, Ordering::Relaxed) == NOTHING_TO_BUY {
            self.paid.store(0, Ordering::Relaxed);
        }
    }

    /// Whether it is worth asking what there is to buy.
    fn may_buy(&self) -> bool {
        let paid = self.paid.load(Ordering::Relaxed);
        paid > 0 && paid >= self.price.load(Ordering::Relaxed)
    }

    /// Takes what something costs off the account, if it suffices.
    fn buy<T>(&self, found: Option<(u64, T)>) -> Option<T> {
        let Some((price, thing)) = found else {
            self.price.store(NOTHING_TO_BUY, Ordering::Relaxed);
            return None;
        };
        self.price.store(price, Ordering::Relaxed);
        let enough = |paid: u64| paid.checked_sub(price);
        self.paid.fetch_update(Ordering::Relaxed, Ordering::Relaxed, enough).ok()?;
        Some(thing)
    }
}

/// What the policy has for an account, and its price.
type Offer = fn(&Policy, &TreeShape, &[RunningJob], &dyn Comparator) -> Option<(u64, Pick)>;

/// What an iterator keeps alive, and who it pays.
pub(crate) struct Reader {
    pub(crate) keyspace: Keyspace,
    pub(crate) view: std::sync::Arc<View>,
}

impl Payee for Reader {
    #[cold]
    fn pay(&self, effort: Effort) {
        let runs = self.view.version.runs().count() as u64;
        let too_many = runs.saturating_sub(1);
        let bytes = too_many * (effort.seeks * BYTES_PER_RUN + effort.steps * BYTES_PER_STEP);
        let (core, keyspace) = (self.keyspace.core(), self.keyspace.state());
        core.reads_paid(&keyspace.read_credit, bytes);
        core.reads_paid(&keyspace.gone_credit, effort.gone * policy::BYTES_PER_GONE);
    }
}

impl Core {
    /// A point read looked into so many runs after the first.
    #[cold]
    pub(crate) fn looked_into_more_runs(&self, keyspace: &KeyspaceState, runs: u64) {
        self.reads_paid(&keyspace.read_credit, runs * BYTES_PER_RUN);
    }

    fn reads_paid(&self, account: &ReadCredit, bytes: u64) {
        let is_compacted = !self.read_only && !self.settings.disable_auto_compactions;
        if bytes > 0 && is_compacted && account.pay(bytes) {
            self.wake();
        }
    }

    /// The job that reads have paid for, if any.
    pub(crate) fn pick_for_reads(&self, tree: &Tree) -> Option<Claim> {
        if self.holds_writers_back(tree) {
            return None;
        }
        let refold = self.refold();
        let (id, pick) = in_turn(tree).find_map(|id| {
            let own = &tree.keyspaces[&id];
            let accounts: [(&ReadCredit, Offer); 2] = [
                (&own.keyspace.read_credit, Policy::for_reads),
                (&own.keyspace.gone_credit, Policy::for_scans),
            ];
            accounts.into_iter().find_map(|(credit, offer)| {
                if !credit.may_buy() {
                    return None;
                }
                let found = own.ask(|policy, comparator| {
                    offer(policy, &own.shape(&refold), &own.running_jobs(), comparator)
                });
                Some((id, credit.buy(found)?))
            })
        })?;
        Some(self.claim_of(id, &pick, tree))
    }

    /// Whether writes are slowed, or would soon be.
    fn holds_writers_back(&self, tree: &Tree) -> bool {
        let is_slowed = tree.keyspaces.values().any(|own| !own.keyspace.pace.per_mib().is_zero());
        is_slowed || 2 * self.sealed.len() > self.settings.write_buffers.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_done_when_reads_have_paid_for_it_and_paid_for_once() {
        let credit = ReadCredit::default();
        assert!(!credit.may_buy(), "nobody read");
        assert!(credit.pay(10), "the first payment asks for the price");
        assert_eq!(credit.buy(Some((100, "job"))), None);
        assert!(!credit.pay(80) && !credit.may_buy());
        assert!(credit.pay(30), "and the one that completes it");
        assert_eq!(credit.buy(Some((100, "job"))), Some("job"));
        assert_eq!(credit.buy(Some((100, "job"))), None, "paid for once: 20 are left");
    }

    #[test]
    fn what_was_paid_where_there_was_nothing_to_buy_is_gone_when_the_tree_changes() {
        let credit = ReadCredit::default();
        credit.pay(10);
        assert_eq!(credit.buy(None::<(u64, ())>), None);
        assert!(!credit.pay(1 << 40) && !credit.may_buy(), "nothing is asked for again");
        credit.tree_changed();
        assert!(!credit.may_buy());
        assert!(credit.pay(10), "but for what is paid now");
    }
}
