//! Read credit: reads that meet several runs or many tombstones pay for a compaction that helps
//! them.
//!
//! A seek positions a cursor in each run. Each step of a scan costs more the more runs there are. A
//! point read that no filter stops searches one run after the other. In a tree of one run they
//! would search only one. The lost time is counted in bytes that a compaction could have read in
//! that time, and added up per keyspace:
//!
//! ```text
//! 5 runs, 100 000 seeks     4 runs too many x 512 B each        200 MB paid
//! 82 MB of 5 M records      82 MB and 64 B a record             402 MB of work, done at half
//! ```
//!
//! A scan over keys that were deleted one by one visits each tombstone. It pays into a second
//! account, for compactions that carry the tombstones down to the oldest data, where they are
//! dropped:
//!
//! ```text
//! 1 scan over 1 M of them   185 B each                          185 MB paid
//! 1 M tombstones, 1 M puts  50 MB and 64 B a record             178 MB of work, done at half
//! ```
//!
//! These compactions run if no other work is due and no writer is slowed, and use up the credit. So
//! the bytes rewritten for reads stay in proportion to the reads. An iterator pays when it is
//! dropped, and every thousand seeks. Between payments it touches nothing shared. A tree of one run
//! without tombstones costs reads nothing.

use crate::compaction::policy::{self, Pick, Policy, RunningJob, TreeShape};
use crate::db::core::Core;
use crate::db::handle::keyspace::Keyspace;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::read_credit::ReadCredit;
use crate::db::state::tree::Claim;
use crate::db::state::tree::Tree;
use crate::db::state::view::View;
use crate::db::trees::schedule::in_turn;
use crate::iterator::{Effort, Payee};
use crate::key::Comparator;

/// The cost of each further run to a seek or a point read: 1 µs, at 2 ns a byte.
const BYTES_PER_RUN: u64 = 512;

/// The cost of each further run to a step of a scan: about 4 ns.
const BYTES_PER_STEP: u64 = 2;

/// Asks the policy for the compaction of an account, and its price.
type Offer = fn(&Policy, &TreeShape, &[RunningJob], &dyn Comparator) -> Option<(u64, Pick)>;

/// The data that an iterator keeps alive, and the accounts that it pays.
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
    /// Notes how many runs a point read searched after the first.
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

    /// Returns the compaction that reads have paid for, if any.
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

    /// Returns whether writes are slowed, or soon would be.
    fn holds_writers_back(&self, tree: &Tree) -> bool {
        let is_slowed = tree.keyspaces.values().any(|own| !own.keyspace.pace.per_mib().is_zero());
        is_slowed || 2 * self.sealed.len() > self.settings.write_buffers.most
    }
}
