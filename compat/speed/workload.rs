//! The keys and values of the speed comparisons; workload.h has the same in C and C++.
//!
//! Invariant: every driver writes and reads the same keys and values in the same order.

/// How many values the pool has.
pub(crate) const POOL_VALUES: u64 = 10_000;

/// The numbers of Marsaglia's xorshift.
pub(crate) fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// A key of 16 digits.
pub(crate) fn key_of(mut number: u64) -> [u8; 16] {
    let mut key = [0; 16];
    for digit in key.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    key
}

/// The pool of values. Each value is 50 random bytes twice, so it shrinks to about a half.
pub(crate) fn pool() -> Vec<[u8; 100]> {
    let mut state = 7;
    let value = |_| {
        let mut value = [0; 100];
        for at in 0..50 {
            value[at] = b' ' + (next(&mut state) % 95) as u8;
            value[at + 50] = value[at];
        }
        value
    };
    (0..POOL_VALUES).map(value).collect()
}
