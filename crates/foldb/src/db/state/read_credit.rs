//! The account of a keyspace's reads: what they paid, and what the next job for them costs.

use std::sync::atomic::{AtomicU64, Ordering};

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
    pub(crate) fn pay(&self, bytes: u64) -> bool {
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
    pub(crate) fn may_buy(&self) -> bool {
        let paid = self.paid.load(Ordering::Relaxed);
        paid > 0 && paid >= self.price.load(Ordering::Relaxed)
    }

    /// Takes what something costs off the account, if it suffices.
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
