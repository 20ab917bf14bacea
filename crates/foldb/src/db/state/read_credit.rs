//! The account of a keyspace's reads: their credit, and the price of the next compaction for them.

use std::sync::atomic::{AtomicU64, Ordering};

/// The price if there is nothing to compact.
const NOTHING_TO_BUY: u64 = u64::MAX;

/// The account of a keyspace's reads. It has a cache line of its own, because readers write to it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct ReadCredit {
    paid: AtomicU64,
    /// The known price of the next compaction; 0 before the first query.
    price: AtomicU64,
}

impl ReadCredit {
    /// Adds credit. Returns whether this payment completes the price.
    pub(crate) fn pay(&self, bytes: u64) -> bool {
        let before = self.paid.fetch_add(bytes, Ordering::Relaxed);
        let price = self.price.load(Ordering::Relaxed).max(1);
        before < price && before.saturating_add(bytes) >= price
    }

    /// Notes a change of the tree: the price may differ now. Credit that was paid while there was
    /// nothing to compact is dropped.
    pub(crate) fn tree_changed(&self) {
        if self.price.swap(0, Ordering::Relaxed) == NOTHING_TO_BUY {
            self.paid.store(0, Ordering::Relaxed);
        }
    }

    /// Returns whether to ask for a compaction and its price.
    pub(crate) fn may_buy(&self) -> bool {
        let paid = self.paid.load(Ordering::Relaxed);
        paid > 0 && paid >= self.price.load(Ordering::Relaxed)
    }

    /// Takes the price of a compaction off the account, if the credit suffices.
    pub(crate) fn buy<T>(&self, found: Option<(u64, T)>) -> Option<T> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_done_when_reads_have_paid_for_it_and_paid_for_once() {
        let credit = ReadCredit::default();
        assert!(!credit.may_buy(), "no read has paid");
        assert!(credit.pay(10), "the first payment makes the price due");
        assert_eq!(credit.buy(Some((100, "job"))), None);
        assert!(!credit.pay(80) && !credit.may_buy());
        assert!(credit.pay(30), "so does the payment that completes it");
        assert_eq!(credit.buy(Some((100, "job"))), Some("job"));
        assert_eq!(credit.buy(Some((100, "job"))), None, "paid for once: 20 are left");
    }

    #[test]
    fn what_was_paid_where_there_was_nothing_to_buy_is_gone_when_the_tree_changes() {
        let credit = ReadCredit::default();
        credit.pay(10);
        assert_eq!(credit.buy(None::<(u64, ())>), None);
        assert!(!credit.pay(1 << 40) && !credit.may_buy(), "there is still nothing to compact");
        credit.tree_changed();
        assert!(!credit.may_buy());
        assert!(credit.pay(10), "only new payments count");
    }
}
