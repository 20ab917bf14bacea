//! The time that a keyspace's reads lost ([`crate::db::read::lost_time`]), and the prices of the
//! compactions that would make reads cheaper.
//!
//! There are three counters: for several runs, for tombstones, and for long chains. Each counts the
//! bytes that a compaction could have read in the time that reads lost. The policy sets the price
//! of each [`ReadJob`]. When a job begins, its price is subtracted. So the bytes rewritten for
//! reads stay in proportion to the reads.
//!
//! All long chains share one counter. The read that brings it to the price names the key. A key
//! whose reads lose more is thus named more often.
//!
//! Invariant: readers only add to a counter. A thread that subtracts holds the tree lock.
//!
//! All accesses of the counters are `Relaxed`: a thread that sees an older sum or price asks a
//! little earlier or later for the same job.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::compaction::policy::{CutRange, Loss, ReadJob};
use crate::locks::Lock;
use crate::locks::rank::READ_CHAIN;

/// The price if there is nothing to compact.
const NO_JOB: u64 = u64::MAX;

/// The same for long chains. One key whose chain stays must not end the jobs of the others. Reads
/// lose about 30 ms before they ask the policy again.
const NO_JOB_OF_THIS_KEY: u64 = 16 << 20;

/// The time that a keyspace's reads lost.
#[derive(Debug, Default)]
pub(crate) struct LostTime {
    /// In reads that searched several runs.
    pub(crate) in_runs: Counter,
    /// In scans that passed deleted keys.
    pub(crate) at_tombstones: Counter,
    /// In reads that folded the long chain of a key.
    in_chains: Counter,
    /// The key of the read that brought `in_chains` to the price.
    long_chain: Lock<Option<Arc<[u8]>>, READ_CHAIN>,
}

impl LostTime {
    /// Adds the time of a read that folded the long chain of `key`. Returns whether to ask the
    /// policy for a job now.
    pub(crate) fn add_for_chain(&self, key: &[u8], bytes: u64) -> bool {
        let asks = self.in_chains.add(bytes);
        if asks {
            *self.long_chain.lock() = Some(key.into());
        }
        asks
    }

    /// Returns the losses that may reach the price of a job. The job for a long chain comes first.
    /// It is small, so it is the only one if `writers_are_slow`.
    pub(crate) fn losses(&self, writers_are_slow: bool) -> Vec<Loss> {
        let mut losses = Vec::new();
        if self.in_chains.is_due()
            && let Some(key) = &*self.long_chain.lock()
        {
            let job = ReadJob::FoldedKey(only(key));
            losses.push(Loss { job, bytes: self.in_chains.lost() });
        }
        let of_tree =
            [(ReadJob::FewerRuns, &self.in_runs), (ReadJob::FewerTombstones, &self.at_tombstones)];
        let due = of_tree.into_iter().filter(|(_, counter)| !writers_are_slow && counter.is_due());
        losses.extend(due.map(|(job, counter)| Loss { job, bytes: counter.lost() }));
        losses
    }

    /// Notes the price of a job; `None` if there is no such job.
    pub(crate) fn note_price(&self, job: &ReadJob, price: Option<u64>) {
        match (job, price) {
            (ReadJob::FoldedKey(_), None) => {
                *self.long_chain.lock() = None;
                self.in_chains.set(0, NO_JOB_OF_THIS_KEY);
            }
            _ => self.counter(job).note_price(price.unwrap_or(NO_JOB)),
        }
    }

    /// Subtracts the price of a job that has begun. The next long chain has a price of its own.
    pub(crate) fn subtract(&self, job: &ReadJob, price: u64) {
        match job {
            ReadJob::FoldedKey(_) => {
                *self.long_chain.lock() = None;
                self.in_chains.set(0, 0);
            }
            _ => self.counter(job).subtract(price),
        }
    }

    /// Forgets prices after a change of the tree, because they may differ now. Drops the time that
    /// was lost while there was no job.
    pub(crate) fn tree_changed(&self) {
        self.in_runs.forget_price();
        self.at_tombstones.forget_price();
        // The price of a chain's job is kept: to ask for it again would slow every flush.
        if self.in_chains.price() == NO_JOB_OF_THIS_KEY {
            self.in_chains.set(0, 0);
        }
    }

    fn counter(&self, job: &ReadJob) -> &Counter {
        match job {
            ReadJob::FewerRuns => &self.in_runs,
            ReadJob::FewerTombstones => &self.at_tombstones,
            ReadJob::FoldedKey(_) => &self.in_chains,
        }
    }
}

/// Returns the range that holds this key alone, in byte order.
fn only(key: &Arc<[u8]>) -> CutRange {
    let mut behind = key.to_vec();
    behind.push(0);
    CutRange { lo: Some(Arc::clone(key)), hi: Some(behind.into()) }
}

/// The time lost for want of one kind of job, and the job's price. Each counter has a cache line of
/// its own, because readers write to it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Counter {
    lost: AtomicU64,
    /// The known price of the job; 0 before the policy has set it.
    price: AtomicU64,
}

impl Counter {
    /// Adds lost time. Returns whether the sum reaches the price with it.
    pub(crate) fn add(&self, bytes: u64) -> bool {
        let before = self.lost.fetch_add(bytes, Ordering::Relaxed);
        let price = self.price().max(1);
        before < price && before.saturating_add(bytes) >= price
    }

    fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    fn price(&self) -> u64 {
        self.price.load(Ordering::Relaxed)
    }

    /// Returns whether to ask the policy for a job.
    fn is_due(&self) -> bool {
        let lost = self.lost();
        lost > 0 && lost >= self.price()
    }

    /// Sets the price first. Otherwise a read in between could add time that already exceeds the
    /// new price, and no later read would ask.
    fn set(&self, lost: u64, price: u64) {
        self.note_price(price);
        self.lost.store(lost, Ordering::Relaxed);
    }

    fn note_price(&self, price: u64) {
        self.price.store(price, Ordering::Relaxed);
    }

    fn subtract(&self, price: u64) {
        let rest = |lost: u64| Some(lost.saturating_sub(price));
        let _always_taken = self.lost.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest);
    }

    fn forget_price(&self) {
        match self.price() {
            NO_JOB => self.set(0, 0),
            _ => self.note_price(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks for the job of the first loss, whose price is `price`. Returns whether the job begins.
    fn begins(time: &LostTime, price: Option<u64>) -> bool {
        let losses = time.losses(false);
        let Some(loss) = losses.first() else { return false };
        time.note_price(&loss.job, price);
        let Some(price) = price.filter(|price| loss.bytes >= *price) else { return false };
        time.subtract(&loss.job, price);
        true
    }

    #[test]
    fn a_job_begins_once_reads_have_lost_its_price() {
        let time = LostTime::default();
        assert!(time.losses(false).is_empty(), "no read has lost time");
        assert!(time.in_runs.add(10), "the first loss asks for the price");
        assert!(!begins(&time, Some(100)));
        assert!(!time.in_runs.add(80) && time.losses(false).is_empty());
        assert!(time.in_runs.add(30), "so does the loss that reaches the price");
        assert!(begins(&time, Some(100)));
        assert!(!begins(&time, Some(100)), "it was subtracted: 20 are left");
    }

    #[test]
    fn time_lost_without_a_job_is_dropped_when_the_tree_changes() {
        let time = LostTime::default();
        time.at_tombstones.add(10);
        assert!(!begins(&time, None));
        assert!(!time.at_tombstones.add(1 << 40), "the price is not asked for again");
        assert!(time.losses(false).is_empty());
        time.tree_changed();
        assert!(time.losses(false).is_empty());
        assert!(time.at_tombstones.add(10), "only later losses count");
    }

    #[test]
    fn a_key_is_folded_when_its_reads_have_lost_enough() {
        let time = LostTime::default();
        for n in 0..10 {
            let asks = time.add_for_chain(b"a", 100);
            assert_eq!(asks, n == 0 || n == 9, "new, or at the price");
            assert_eq!(begins(&time, Some(1000)), n == 9);
        }
        assert!(time.losses(false).is_empty(), "subtracted");
        time.add_for_chain(b"b", 999);
        assert!(!begins(&time, Some(1000)));
        time.add_for_chain(b"b", 1);
        assert!(begins(&time, Some(1000)));
    }

    /// The policy looks at a wall that no operator folds only after the tree changed, or after much
    /// more lost time. It does not look at each read.
    #[test]
    fn a_key_with_nothing_to_fold_delays_the_next_look_only() {
        let time = LostTime::default();
        assert!(time.add_for_chain(b"wall", 100));
        assert!(!begins(&time, None));
        assert!(!time.add_for_chain(b"wall", 100) && time.losses(false).is_empty());
        time.tree_changed();
        assert!(time.add_for_chain(b"wall", 100));
        assert!(!begins(&time, None));
        assert!(!time.add_for_chain(b"wall", NO_JOB_OF_THIS_KEY - 1));
        assert!(time.add_for_chain(b"other", 1), "reads of another key ask in the end");
        assert_eq!(time.losses(false)[0].job, ReadJob::FoldedKey(only(&b"other"[..].into())));
    }

    #[test]
    fn a_long_chain_comes_first_and_alone_while_writers_are_slow() {
        let time = LostTime::default();
        time.at_tombstones.add(1);
        time.in_runs.add(1);
        time.add_for_chain(b"a", 1);
        let jobs =
            |slow| -> Vec<ReadJob> { time.losses(slow).into_iter().map(|loss| loss.job).collect() };
        let key = ReadJob::FoldedKey(only(&b"a"[..].into()));
        assert_eq!(jobs(true), std::slice::from_ref(&key));
        assert_eq!(jobs(false), [key, ReadJob::FewerRuns, ReadJob::FewerTombstones]);
    }

    /// Each job folds one key, so the key that costs most must not wait for all others.
    #[test]
    fn the_key_whose_reads_lose_most_is_named_most() {
        let time = LostTime::default();
        let (mut rng, mut hot) = (fastrand::Rng::with_seed(1), 0);
        let mut jobs = 0;
        while jobs < 100 {
            let key: u8 = if rng.bool() { 0 } else { rng.u8(1..100) };
            time.add_for_chain(&[key], 100);
            let named = time.losses(false).into_iter().next();
            if begins(&time, Some(1000)) {
                jobs += 1;
                hot += usize::from(named.unwrap().job == ReadJob::FoldedKey(only(&[0][..].into())));
            }
        }
        assert!(hot > 30, "half of the reads, {hot} of {jobs} jobs");
    }
}
