//! A counter that many threads add to.
//!
//! All accesses are `Relaxed`: nothing else depends on a count.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Parts of a counter. Threads beyond this number share parts.
const STRIPES: usize = 16;

/// A counter in parts: each thread adds to its own, so that no cache line moves between them.
#[derive(Debug, Default)]
pub(crate) struct Striped([Stripe; STRIPES]);

#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe(AtomicU64);

impl Striped {
    #[inline]
    pub(crate) fn add(&self, amount: u64) {
        STRIPE.with(|own| self.0[*own % STRIPES].0.fetch_add(amount, Ordering::Relaxed));
    }

    /// Returns the sum of all parts.
    pub(crate) fn get(&self) -> u64 {
        self.0.iter().map(|stripe| stripe.0.load(Ordering::Relaxed)).sum()
    }
}

/// The number of the next thread that counts.
static NEXT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static STRIPE: usize = NEXT.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_all_threads_add_up() {
        let counter = Striped::default();
        std::thread::scope(|scope| {
            for amount in 0..40 {
                let counter = &counter;
                scope.spawn(move || (0..100).for_each(|_| counter.add(amount)));
            }
        });
        assert_eq!(counter.get(), 100 * (0..40).sum::<u64>());
    }
}
