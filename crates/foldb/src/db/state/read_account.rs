//! The account of a keyspace's reads: their payments ([`crate::db::read::payments`]), and the
//! prices of the compactions that would make reads cheaper.
//!
//! The account has an entry for fewer runs, one for fewer tombstones, and one for each key whose
//! chain took long to fold. Each entry counts the bytes that a compaction could have read in the
//! time that reads lost. The policy sets the price of the job for each [`Wish`]. When a job
//! begins, its price is subtracted from its entry. So the bytes rewritten for reads stay in
//! proportion to the reads.
//!
//! Invariant: readers only add to an entry. A thread that subtracts from an entry holds the tree
//! lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::compaction::policy::{CutRange, Payment, Wish};
use crate::locks::rank::READS;
use crate::locks::{Lock, LockGuard};

/// The price if there is nothing to compact.
const NOTHING_TO_BUY: u64 = u64::MAX;

/// The most keys with an entry.
const MOST_KEYS: usize = 64;

/// The payments of a keyspace's reads.
#[derive(Debug, Default)]
pub(crate) struct ReadAccount {
    /// Payments of reads that searched several runs.
    pub(crate) fewer_runs: Entry,
    /// Payments of scans that passed deleted keys.
    pub(crate) fewer_tombstones: Entry,
    /// Payments of reads that folded the chains of single keys.
    keys: Lock<Vec<(Arc<[u8]>, Entry)>, READS>,
    /// Whether `keys` has entries. Threads check this before they take the lock.
    has_keys: AtomicBool,
}

impl ReadAccount {
    /// Adds the payment of a read that folded the chain of `key`. Returns whether to ask the policy
    /// for a job now.
    pub(crate) fn pay_for_key(&self, key: &[u8], bytes: u64) -> bool {
        let mut keys = self.lock_keys();
        if let Some((_, entry)) = keys.iter().find(|(of, _)| **of == *key) {
            return entry.pay(bytes);
        }
        if keys.len() == MOST_KEYS {
            // The entry with the smallest payment is dropped.
            keys.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.paid()));
            keys.pop();
        }
        let entry = Entry::default();
        let asks = entry.pay(bytes);
        keys.push((key.into(), entry));
        self.has_keys.store(true, Ordering::Release);
        asks
    }

    /// Returns the payments that may reach the price of a job: payments for keys first, the largest
    /// first. If `writers_are_slow`, returns only payments for keys, because their jobs are small.
    pub(crate) fn payments(&self, writers_are_slow: bool) -> Vec<Payment> {
        let mut payments = Vec::new();
        if self.has_keys.load(Ordering::Acquire) {
            let keys = self.lock_keys();
            let asking = keys.iter().filter(|(_, entry)| entry.may_buy());
            payments.extend(asking.map(|(key, entry)| Payment {
                wish: Wish::FoldedKey(only(key)),
                bytes: entry.paid(),
            }));
            payments.sort_by_key(|payment| std::cmp::Reverse(payment.bytes));
        }
        let of_tree =
            [(Wish::FewerRuns, &self.fewer_runs), (Wish::FewerTombstones, &self.fewer_tombstones)];
        let asking = of_tree.into_iter().filter(|(_, entry)| !writers_are_slow && entry.may_buy());
        payments.extend(asking.map(|(wish, entry)| Payment { wish, bytes: entry.paid() }));
        payments
    }

    /// Notes the price of a wish's job; `None` if there is no job.
    pub(crate) fn note_price(&self, wish: &Wish, price: Option<u64>) {
        self.with_entry(wish, |entry| entry.note_price(price));
    }

    /// Subtracts the price of a job that has begun.
    pub(crate) fn spend(&self, wish: &Wish, price: u64) {
        self.with_entry(wish, |entry| entry.spend(price));
        if let Wish::FoldedKey(range) = wish {
            let mut keys = self.lock_keys();
            keys.retain(|(key, _)| Some(key) != range.lo.as_ref());
            self.has_keys.store(!keys.is_empty(), Ordering::Release);
        }
    }

    /// Forgets prices after a change of the tree, because they may differ now. Drops the payments
    /// for which there was no job.
    pub(crate) fn tree_changed(&self) {
        self.fewer_runs.forget_price();
        self.fewer_tombstones.forget_price();
        if self.has_keys.load(Ordering::Acquire) {
            // Jobs of keys keep their prices: asking for each price again would slow every flush.
            self.lock_keys().iter().for_each(|(_, entry)| entry.forget_that_nothing_is_there());
        }
    }

    fn with_entry(&self, wish: &Wish, then: impl FnOnce(&Entry)) {
        match wish {
            Wish::FewerRuns => then(&self.fewer_runs),
            Wish::FewerTombstones => then(&self.fewer_tombstones),
            Wish::FoldedKey(range) => {
                let keys = self.lock_keys();
                if let Some((_, entry)) =
                    keys.iter().find(|(key, _)| Some(key) == range.lo.as_ref())
                {
                    then(entry);
                }
            }
        }
    }

    fn lock_keys(&self) -> LockGuard<'_, Vec<(Arc<[u8]>, Entry)>, READS> {
        self.keys.lock()
    }

    /// Returns whether reads of any key have paid.
    #[cfg(test)]
    pub(crate) fn has_keys(&self) -> bool {
        self.has_keys.load(Ordering::Relaxed)
    }
}

/// Returns the range that holds this key alone, in byte order.
fn only(key: &Arc<[u8]>) -> CutRange {
    let mut behind = key.to_vec();
    behind.push(0);
    CutRange { lo: Some(Arc::clone(key)), hi: Some(behind.into()) }
}

/// The payments for one kind of job, and its price. Each entry has a cache line of its own, because
/// readers write to it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Entry {
    paid: AtomicU64,
    /// The known price of the job; 0 before the policy has set it.
    price: AtomicU64,
}

impl Entry {
    /// Adds a payment. Returns whether the payments reach the price with it.
    pub(crate) fn pay(&self, bytes: u64) -> bool {
        let before = self.paid.fetch_add(bytes, Ordering::Relaxed);
        let price = self.price.load(Ordering::Relaxed).max(1);
        before < price && before.saturating_add(bytes) >= price
    }

    fn paid(&self) -> u64 {
        self.paid.load(Ordering::Relaxed)
    }

    /// Returns whether to ask the policy for a job.
    fn may_buy(&self) -> bool {
        let paid = self.paid();
        paid > 0 && paid >= self.price.load(Ordering::Relaxed)
    }

    fn note_price(&self, price: Option<u64>) {
        self.price.store(price.unwrap_or(NOTHING_TO_BUY), Ordering::Relaxed);
    }

    fn spend(&self, price: u64) {
        let taken = |paid: u64| Some(paid.saturating_sub(price));
        let _always_taken = self.paid.fetch_update(Ordering::Relaxed, Ordering::Relaxed, taken);
    }

    fn forget_price(&self) {
        self.forget_that_nothing_is_there();
        self.price.store(0, Ordering::Relaxed);
    }

    /// Drops payments that were made while there was no job.
    fn forget_that_nothing_is_there(&self) {
        if self.price.load(Ordering::Relaxed) == NOTHING_TO_BUY {
            self.paid.store(0, Ordering::Relaxed);
            self.price.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks for the job of the only payment, which costs `price`. Returns whether the job begins.
    fn buy(account: &ReadAccount, price: Option<u64>) -> bool {
        let payments = account.payments(false);
        let Some(payment) = payments.first() else { return false };
        account.note_price(&payment.wish, price);
        let Some(price) = price.filter(|price| payment.bytes >= *price) else { return false };
        account.spend(&payment.wish, price);
        true
    }

    #[test]
    fn a_job_begins_once_reads_have_paid_its_price_and_spends_the_payments() {
        let account = ReadAccount::default();
        assert!(account.payments(false).is_empty(), "no read has paid");
        assert!(account.fewer_runs.pay(10), "the first payment asks for the price");
        assert!(!buy(&account, Some(100)));
        assert!(!account.fewer_runs.pay(80) && account.payments(false).is_empty());
        assert!(account.fewer_runs.pay(30), "so does the payment that reaches the price");
        assert!(buy(&account, Some(100)));
        assert!(!buy(&account, Some(100)), "paid for once: 20 are left");
    }

    #[test]
    fn payments_without_a_job_are_dropped_when_the_tree_changes() {
        let account = ReadAccount::default();
        account.fewer_tombstones.pay(10);
        assert!(!buy(&account, None));
        assert!(!account.fewer_tombstones.pay(1 << 40), "the price is not asked for again");
        assert!(account.payments(false).is_empty());
        account.tree_changed();
        assert!(account.payments(false).is_empty());
        assert!(account.fewer_tombstones.pay(10), "only new payments count");
    }

    #[test]
    fn a_key_is_folded_when_its_reads_have_paid_for_it() {
        let account = ReadAccount::default();
        for n in 0..10 {
            let asks = account.pay_for_key(b"a", 100);
            assert_eq!(asks, n == 0 || n == 9, "new, or able to pay");
            assert_eq!(buy(&account, Some(1000)), n == 9);
        }
        assert!(account.payments(false).is_empty() && !account.has_keys(), "spent");
        account.pay_for_key(b"b", 999);
        assert!(!buy(&account, Some(1000)));
        account.pay_for_key(b"b", 1);
        assert!(buy(&account, Some(1000)));
    }

    /// The policy checks a wall that no operator folds only after the tree changed, not at each
    /// read.
    #[test]
    fn a_key_with_nothing_to_fold_is_remembered_until_the_tree_changes() {
        let account = ReadAccount::default();
        assert!(account.pay_for_key(b"wall", 100));
        assert!(!buy(&account, None));
        assert!(!account.pay_for_key(b"wall", 100) && account.payments(false).is_empty());
        account.tree_changed();
        assert!(account.pay_for_key(b"wall", 100));
    }

    #[test]
    fn keys_come_first_by_payment_and_alone_while_writers_are_slow() {
        let account = ReadAccount::default();
        account.fewer_tombstones.pay(1);
        account.fewer_runs.pay(1);
        account.pay_for_key(b"poor", 1);
        account.pay_for_key(b"rich", 2);
        let wishes = |slow| -> Vec<Wish> {
            account.payments(slow).into_iter().map(|payment| payment.wish).collect()
        };
        let key = |key: &[u8]| Wish::FoldedKey(only(&key.into()));
        let keys = [key(b"rich"), key(b"poor")];
        assert_eq!(wishes(true), keys);
        let all = [&keys[..], &[Wish::FewerRuns, Wish::FewerTombstones]].concat();
        assert_eq!(wishes(false), all);
    }

    #[test]
    fn the_number_of_keys_is_bounded() {
        let account = ReadAccount::default();
        for n in 0..1000u32 {
            account.pay_for_key(&n.to_be_bytes(), u64::from(n) + 1);
        }
        assert_eq!(account.lock_keys().len(), MOST_KEYS);
    }
}
