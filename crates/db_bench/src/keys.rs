//! The keys of the benchmarks, the same numbers as in RocksDB's db_bench.
//!
//! Each thread draws from its own 64-bit Mersenne Twister, seeded with `--seed` plus the thread's
//! number. Numbers count from 1 through the whole benchmark list. RocksDB draws once to choose a
//! database among several. This program draws there too and ignores the result. So a run of one
//! thread uses RocksDB's keys in RocksDB's order. Source: `Random64`, `SelectDB` and
//! `GenerateKeyFromInt` in RocksDB's `util/random.h` and `tools/db_bench_tool.cc`.

use rand_mt::Mt64;

/// The random numbers of one thread.
#[derive(Debug)]
pub(crate) struct Draws(Mt64);

impl Draws {
    /// The draws of the `thread`-th thread of the run, counted from 1.
    pub(crate) fn new(seed: i64, thread: u64) -> Draws {
        Draws(Mt64::new((seed as u64).wrapping_add(thread)))
    }

    /// Draws once for RocksDB's choice of a database.
    #[inline]
    pub(crate) fn skip(&mut self) {
        self.0.next_u64();
    }

    /// Returns a number below `count`, from one draw.
    #[inline]
    pub(crate) fn below(&mut self, count: u64) -> u64 {
        self.0.next_u64() % count
    }

    /// Returns the key of an operation that first chooses its database: a number below `count`,
    /// from the second of two draws.
    #[inline]
    pub(crate) fn key(&mut self, count: u64) -> u64 {
        self.skip();
        self.below(count)
    }
}

/// Bytes of a key's number.
const NUMBER_LEN: usize = 8;

/// A key under construction.
///
/// ```text
/// | number, 8 bytes big-endian | '0' '0' '0' ... up to the key size |
/// ```
///
/// A key shorter than 8 bytes has only the low bytes of the number.
#[derive(Debug)]
pub(crate) struct Key(Vec<u8>);

impl Key {
    /// A key of `size` bytes.
    pub(crate) fn new(size: usize) -> Key {
        Key(vec![b'0'; size])
    }

    /// Turns this key into the key of `number`.
    #[inline]
    pub(crate) fn set(&mut self, number: u64) -> &[u8] {
        let bytes = number.to_be_bytes();
        let len = self.0.len().min(NUMBER_LEN);
        self.0[..len].copy_from_slice(&bytes[NUMBER_LEN - len..]);
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys that `updaterandom` finds: drawn before, or already stored.
    fn update_random(present: &mut [bool], seed: i64, thread: u64) -> usize {
        let mut draws = Draws::new(seed, thread);
        let num = present.len() as u64;
        (0..num).filter(|_| std::mem::replace(&mut present[draws.key(num) as usize], true)).count()
    }

    #[test]
    fn updaterandom_finds_what_rocksdb_finds() {
        assert_eq!(update_random(&mut vec![false; 200_000], 1, 1), 73_670);
    }

    #[test]
    fn merge_update_read_find_what_rocksdb_finds() {
        let num = 1_000_000;
        let mut present = vec![false; num as usize];
        let mut merges = Draws::new(1, 1);
        for _ in 0..num {
            present[merges.key(num) as usize] = true;
        }
        assert_eq!(update_random(&mut present, 1, 2), 767_724);
        let mut reads = Draws::new(1, 3);
        let found = (0..num).filter(|_| present[reads.key(num) as usize]).count();
        assert_eq!(found, 865_096);
    }

    #[test]
    fn generator_is_the_standard_mt19937_64() {
        // The C++ standard requires this 10000th draw of the generator seeded with 5489.
        let mut draws = Draws::new(5488, 1);
        for _ in 0..9999 {
            draws.skip();
        }
        assert_eq!(draws.below(u64::MAX), 9_981_545_732_273_789_042);
    }

    #[test]
    fn keys_are_big_endian_and_padded_with_zero_digits() {
        assert_eq!(Key::new(16).set(0x0102), b"\0\0\0\0\0\0\x01\x0200000000");
        assert_eq!(Key::new(17).set(1), b"\0\0\0\0\0\0\0\x01000000000");
        assert_eq!(Key::new(8).set(7), b"\0\0\0\0\0\0\0\x07");
        assert_eq!(Key::new(4).set(0x0a0b_0c0d_0e0f), b"\x0c\x0d\x0e\x0f");
    }

    #[test]
    fn a_key_keeps_no_byte_of_the_key_before() {
        let mut key = Key::new(16);
        key.set(u64::MAX);
        assert_eq!(key.set(1), Key::new(16).set(1));
    }
}
