//! The ranks of the locks that a thread holds, in builds with debug assertions.

#[cfg(debug_assertions)]
mod checked {
    use std::cell::Cell;
    use std::marker::PhantomData;

    use crate::locks::rank::{AROUND_CALLERS, NAMES, OF_CALLERS};

    thread_local! {
        /// One bit for each rank that this thread holds.
        static HELD: Cell<u64> = const { Cell::new(0) };
    }

    /// A thread that ends has no more ranks: destructors of its values may still take locks.
    fn held() -> u64 {
        HELD.try_with(Cell::get).unwrap_or(0)
    }

    /// # Panics
    /// If this thread holds a lock of this rank or a higher one.
    pub(crate) fn check(rank: u8) {
        if OF_CALLERS & 1 << rank != 0 {
            return;
        }
        let above = held() >> rank;
        assert!(
            above == 0,
            "this thread would wait for {} while it holds {}",
            NAMES[usize::from(rank)],
            NAMES[usize::from(rank) + above.trailing_zeros() as usize],
        );
    }

    /// Notes that this thread holds a lock, until it is dropped.
    pub(crate) struct Held<const RANK: u8> {
        /// Whether another lock of the rank was held already. Only a thread that tries gets there.
        again: bool,
        /// The note belongs to its thread.
        _of_thread: PhantomData<*const ()>,
    }

    impl<const RANK: u8> Held<RANK> {
        pub(crate) fn note() -> Held<RANK> {
            let before = held();
            let noted = 1 << RANK & !AROUND_CALLERS;
            let _ending = HELD.try_with(|held| held.set(before | noted));
            Held { again: before & 1 << RANK != 0, _of_thread: PhantomData }
        }
    }

    impl<const RANK: u8> Drop for Held<RANK> {
        fn drop(&mut self) {
            if !self.again {
                let _ending = HELD.try_with(|held| held.set(held.get() & !(1 << RANK)));
            }
        }
    }
}

#[cfg(not(debug_assertions))]
mod checked {
    /// Does nothing in this build.
    #[inline(always)]
    pub(crate) fn check(_rank: u8) {}

    /// Notes nothing in this build.
    pub(crate) struct Held<const RANK: u8>;

    impl<const RANK: u8> Held<RANK> {
        #[inline(always)]
        pub(crate) fn note() -> Held<RANK> {
            Held
        }
    }
}

pub(crate) use checked::{Held, check};
