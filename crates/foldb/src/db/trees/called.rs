//! Compactions that a caller asks for.
//!
//! Those of many keyspaces join their slices, so that many small trees cost few edits of the
//! manifest and few syncs one after the other:
//!
//! ```text
//! one by one    write a  sync a  directory  edit   write b  sync b  directory  edit   ...
//! together      write a  write b  ...  (sync a | sync b | ...)  directory  edit
//! ```

use std::ops::Bound;
use std::sync::Arc;

use crate::compaction::job::Called;
use crate::compaction::policy::CutRange;
use crate::counters::Total;
use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::tree::Claim;
use crate::db::trees::schedule::Rewritten;
use crate::db::trees::steps::ClaimGuard;
use crate::error::Result;
use crate::key::{Comparator, KeyBounds};
use crate::limits;
use crate::runtime::Work;
use crate::table::LaterSyncs;
use crate::user_code::Inside;

/// Most keyspaces whose slices one edit installs.
const MOST_TOGETHER: usize = 64;

/// A keyspace that is being compacted, and its job.
struct Compacted<'a> {
    keyspace: &'a Arc<KeyspaceState>,
    range: CutRange,
    rewritten: Rewritten,
    job: ClaimGuard<'a>,
}

impl Core {
    /// Compacts a key range of every keyspace into the last level, and waits for the compactions.
    pub(crate) fn compact_all(&self, range: KeyBounds<'_>) -> Result<()> {
        check_ends(range)?;
        let keyspaces = self.keyspaces.all();
        keyspaces.iter().try_for_each(|keyspace| keyspace.check_ends(range))?;
        self.flush_sealed()?;
        // A comparator that fails should fail the compaction of its own keyspace only.
        let (own_order, bytewise): (Vec<_>, Vec<_>) =
            keyspaces.iter().partition(|keyspace| keyspace.custom_order);
        self.run_alone(|| self.compact_together(&bytewise, range))?;
        own_order.into_iter().try_for_each(|keyspace| {
            let range = widened(range, &*keyspace.comparator);
            self.compact_range(keyspace, range, unfiltered(self, keyspace), || Ok(()))
        })
    }

    /// Compacts a range of keyspaces whose keys are in the order of the bytes.
    fn compact_together(
        &self,
        keyspaces: &[&Arc<KeyspaceState>],
        range: KeyBounds<'_>,
    ) -> Result<()> {
        let mut waiting = keyspaces.iter();
        let mut begun: Vec<Compacted<'_>> = Vec::new();
        loop {
            while begun.len() < MOST_TOGETHER
                && let Some(keyspace) = waiting.next()
            {
                keyspace.check_comparator()?;
                let range = widened(range, &*keyspace.comparator);
                if !range.is_empty(&*keyspace.comparator) {
                    let rewritten = unfiltered(self, keyspace);
                    let job = ClaimGuard { core: self, job: None };
                    begun.push(Compacted { keyspace, range, rewritten, job });
                }
            }
            if begun.is_empty() {
                return Ok(());
            }
            self.check_open()?;
            for Compacted { keyspace, range, rewritten, job } in &mut begun {
                if job.job.is_none() {
                    job.job = self.claim_called(keyspace, range, *rewritten);
                }
            }
            let (still, done): (Vec<_>, Vec<_>) =
                begun.into_iter().partition(|compacted| compacted.job.job.is_some());
            begun = still;
            let stepped = self.step_together(&mut begun);
            let outcome = stepped.or_else(|error| self.retry_step(error).map(drop));
            self.background.stepped(Work::Compaction, &outcome.clone().map(|()| true));
            outcome?;
            done.iter().try_for_each(|done| self.check_compacted(done.keyspace, &done.range))?;
        }
    }

    /// Runs the next slice of several jobs, and installs all slices in one edit. Ends with the
    /// slice that makes them as large as one table: the other jobs do theirs in the next call.
    fn step_together(&self, jobs: &mut [Compacted<'_>]) -> Result<()> {
        let _inside = Inside::enter(self.events.mark());
        let _dropping = self.background.locks.drop_expired();
        let (later, mut bytes) = (LaterSyncs::default(), 0);
        let (mut slices, mut written, mut failed) = (Vec::new(), Vec::new(), Ok(()));
        for (at, compacted) in jobs.iter_mut().enumerate() {
            let ClaimGuard { job, .. } = &mut compacted.job;
            let Some(claim) = job else { continue };
            match self.write_slice(claim, Some(&later)) {
                Ok(Some(slice)) => {
                    bytes += slice.slice.bytes_written;
                    slices.push(slice);
                    written.push(at);
                }
                Ok(None) => {
                    self.totals.add(Total::Compactions, 1);
                    self.end_job(job);
                }
                Err(error) => {
                    let found_damage = self.set_damage_aside(claim, &error);
                    self.end_job(job);
                    if !found_damage {
                        failed = Err(error);
                        break;
                    }
                }
            }
            if bytes >= self.settings.tree.target_file_size || later.is_full() {
                break;
            }
        }
        let synced = self.sync_tables(&later);
        synced.inspect_err(|_| self.discard_slices(&slices, &self.lock_tree()))?;
        let are_installed = self.install_slices(slices)?;
        for at in written {
            if let Some(claim) = &mut jobs[at].job.job {
                claim.note_installed(are_installed);
            }
        }
        failed
    }

    /// Compacts a key range of a keyspace into the last level, and waits for the compaction.
    pub(crate) fn compact(&self, keyspace: &KeyspaceState, range: KeyBounds<'_>) -> Result<()> {
        check_ends(range)?;
        keyspace.check_ends(range)?;
        self.flush_sealed()?;
        let rewritten = unfiltered(self, keyspace);
        self.compact_range(keyspace, widened(range, &*keyspace.comparator), rewritten, || Ok(()))
    }

    /// Folds everything in a keyspace that can be folded, including operands that no other rule
    /// would fold.
    pub(crate) fn fold_all(&self, keyspace: &KeyspaceState) -> Result<()> {
        self.flush_sealed()?;
        // Tables written from now on are folded already.
        let operands_below = self.new_file_number();
        let rewritten = Rewritten { operands_below, ..Rewritten::default() };
        self.compact_range(keyspace, CutRange::ALL, rewritten, || Ok(()))
    }

    /// Compacts a range of a keyspace into one run of the deepest level, and waits. Also rewrites
    /// these tables where they have keys in the range. Calls `stepped` after each slice.
    ///
    /// # Errors
    /// `Corruption` if a part of a table in the range cannot be read. The rest is compacted then.
    pub(crate) fn compact_range(
        &self,
        keyspace: &KeyspaceState,
        range: CutRange,
        rewritten: Rewritten,
        stepped: impl Fn() -> Result<()>,
    ) -> Result<()> {
        keyspace.check_comparator()?;
        if keyspace.guarded("a compaction", || Ok(range.is_empty(&*keyspace.comparator)))? {
            return Ok(());
        }
        self.run_alone(|| {
            while let Some(job) = self.claim_called(keyspace, &range, rewritten) {
                let mut job = ClaimGuard { core: self, job: Some(job) };
                while job.job.is_some() {
                    self.check_open()?;
                    let worked = self.compaction_step(&mut job.job);
                    let outcome = worked.or_else(|error| self.retry_step(error).map(drop));
                    self.background.stepped(Work::Compaction, &outcome.clone().map(|()| true));
                    outcome?;
                    stepped()?;
                }
            }
            Ok(())
        })?;
        self.check_compacted(keyspace, &range)
    }

    /// # Errors
    /// `ComparatorFailed`, and `Corruption` if a part of a table in the range cannot be read.
    fn check_compacted(&self, keyspace: &KeyspaceState, range: &CutRange) -> Result<()> {
        keyspace.check_comparator()?;
        keyspace.guarded("a compaction", || keyspace.damage.check(range, &*keyspace.comparator))
    }

    /// Claims the next job that a caller's compaction of a range needs.
    fn claim_called(
        &self,
        keyspace: &KeyspaceState,
        range: &CutRange,
        rewritten: Rewritten,
    ) -> Option<Claim> {
        let mut tree = self.lock_tree();
        let mut claim = self.pick_manual(&tree, keyspace.id, range, rewritten)?;
        let filtered_from = match rewritten.unfiltered_below {
            0 => u64::MAX,
            below => below,
        };
        claim.job.called = Some(Called { filtered_from });
        tree.claim(&claim);
        Some(claim)
    }
}

/// Returns the tables whose values a filter has to see: all that there are now, if the keyspace has
/// one.
fn unfiltered(core: &Core, keyspace: &KeyspaceState) -> Rewritten {
    let unfiltered_below = keyspace.filters().map_or(0, |_| core.new_file_number());
    Rewritten { unfiltered_below, ..Rewritten::default() }
}

/// # Errors
/// `InvalidArgument` if an end of the range is too long, because edits of the tree store both ends.
fn check_ends((start, end): KeyBounds<'_>) -> Result<()> {
    let ends = [("the start of a range", start), ("the end of a range", end)];
    ends.into_iter().try_for_each(|(what, end)| match end {
        Bound::Included(key) | Bound::Excluded(key) => limits::check_key(what, key),
        Bound::Unbounded => Ok(()),
    })
}

/// Returns a caller's range as `[lo, hi)`, widened if its ends cannot be expressed exactly.
fn widened((start, end): KeyBounds<'_>, comparator: &dyn Comparator) -> CutRange {
    let lo = match start {
        Bound::Unbounded => None,
        Bound::Included(key) | Bound::Excluded(key) => Some(Arc::from(key)),
    };
    let hi = match end {
        Bound::Unbounded => None,
        Bound::Excluded(key) => Some(Arc::from(key)),
        Bound::Included(key) if comparator.bytewise_order() => {
            // The first key after it in byte order.
            let mut successor = key.to_vec();
            successor.push(0);
            Some(successor.into())
        }
        Bound::Included(_) => None,
    };
    CutRange { lo, hi }
}
