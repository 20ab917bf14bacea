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

    /// Draws once.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number from 0 up to 1, from one draw.
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number of the standard normal distribution, from two draws.
    pub(crate) fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.fraction(), self.fraction());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
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
/// Multiplier of RocksDB's that scatters skewed numbers over all keys.
const SCATTER: u64 = 0x5bd1_e995;

/// The numbers that random reads choose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Skew(pub f64);

impl Skew {
    /// Maps a draw to a number below `count`. With a skew, small numbers are the more frequent
    /// ones, before they are scattered (RocksDB: `GetRandomKey`).
    #[inline]
    pub(crate) fn map(self, draw: u64, count: u64) -> u64 {
        if self.0 == 0.0 {
            return draw % count;
        }
        let unit = 1_u64 << 62;
        let order = -((draw % unit) as f64) / unit as f64 * self.0;
        let number = (order.exp() * count as f64) as u64;
        number.wrapping_mul(SCATTER) % count
    }
}

/// The form of all keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyForm {
    /// Bytes of a key.
    pub size: usize,
    /// Bytes of the prefix.
    pub prefix_size: usize,
    /// Number of prefixes; 0: keys have none.
    pub prefixes: u64,
}

/// A key under construction.
///
/// ```text
/// | prefix, if keys have one | number, 8 bytes big-endian | '0' '0' '0' ... up to the key size |
/// ```
///
/// The prefix is the number modulo the number of prefixes, in the same form. A number without room
/// for 8 bytes has only its low bytes.
#[derive(Debug)]
pub(crate) struct Key {
    bytes: Vec<u8>,
    form: KeyForm,
}

impl Key {
    /// A key of this form.
    pub(crate) fn new(form: KeyForm) -> Key {
        Key { bytes: vec![b'0'; form.size], form }
    }

    /// Turns this key into the key of `number`.
    #[inline]
    pub(crate) fn set(&mut self, number: u64) -> &[u8] {
        let mut rest = &mut self.bytes[..];
        if self.form.prefixes > 0 {
            let (prefix, number_part) = rest.split_at_mut(self.form.prefix_size);
            fill(prefix, number % self.form.prefixes);
            rest = number_part;
        }
        fill(rest, number);
        &self.bytes
    }

    /// Turns this key into that of `number`, with `time` in place of what follows the number.
    pub(crate) fn set_timed(&mut self, number: u64, time: u64) -> &[u8] {
        self.set(number);
        let start = NUMBER_LEN.min(self.bytes.len());
        fill(&mut self.bytes[start..], time);
        &self.bytes
    }
}

/// Writes the low bytes of `number`, big-endian.
#[inline]
fn fill(part: &mut [u8], number: u64) {
    let len = part.len().min(NUMBER_LEN);
    part[..len].copy_from_slice(&number.to_be_bytes()[NUMBER_LEN - len..]);
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
    fn a_normal_number_is_between_minus_four_and_four_and_as_often_below_0() {
        let mut draws = Draws::new(1, 1);
        let numbers: Vec<f64> = (0..10_000).map(|_| draws.normal()).collect();
        let below = numbers.iter().filter(|number| **number < 0.0).count();
        let inner = numbers.iter().filter(|number| number.abs() < 1.0).count();
        assert!((4_800..5_200).contains(&below), "{below}");
        assert!((6_600..7_050).contains(&inner), "{inner}");
    }

    #[test]
    fn skewed_keys_crowd_and_even_ones_do_not() {
        let distinct = |skew: f64| {
            let mut draws = Draws::new(1, 1);
            let keys: std::collections::HashSet<u64> =
                (0..10_000).map(|_| Skew(skew).map(draws.next(), 10_000)).collect();
            keys.len()
        };
        assert!(distinct(0.0) > 6_000);
        assert!(distinct(15.0) < 3_000, "{}", distinct(15.0));
    }

    #[test]
    fn keys_may_begin_with_one_of_some_prefixes() {
        let form = KeyForm { size: 16, prefix_size: 3, prefixes: 10 };
        assert_eq!(Key::new(form).set(0x010d), b"\0\0\x09\0\0\0\0\0\0\x01\x0d00000");
        let form = KeyForm { size: 20, prefix_size: 10, prefixes: 10 };
        assert_eq!(Key::new(form).set(7), b"\0\0\0\0\0\0\0\x0700\0\0\0\0\0\0\0\x0700");
    }

    #[test]
    fn a_timed_key_ends_with_its_time() {
        let mut key = Key::new(of(16));
        assert_eq!(key.set_timed(3, 5), b"\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x05");
        assert_eq!(Key::new(of(10)).set_timed(3, 0x0102), b"\0\0\0\0\0\0\0\x03\x01\x02");
    }

    fn of(size: usize) -> KeyForm {
        KeyForm { size, ..KeyForm::default() }
    }

    #[test]
    fn keys_are_big_endian_and_padded_with_zero_digits() {
        assert_eq!(Key::new(of(16)).set(0x0102), b"\0\0\0\0\0\0\x01\x0200000000");
        assert_eq!(Key::new(of(17)).set(1), b"\0\0\0\0\0\0\0\x01000000000");
        assert_eq!(Key::new(of(8)).set(7), b"\0\0\0\0\0\0\0\x07");
        assert_eq!(Key::new(of(4)).set(0x0a0b_0c0d_0e0f), b"\x0c\x0d\x0e\x0f");
    }

    #[test]
    fn a_key_keeps_no_byte_of_the_key_before() {
        let mut key = Key::new(of(16));
        key.set(u64::MAX);
        assert_eq!(key.set(1), Key::new(of(16)).set(1));
    }
}
