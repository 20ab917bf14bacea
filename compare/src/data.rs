//! Keys and values. Every engine gets the same ones, because the same code draws them from the same
//! seed.
//!
//! A key has the form of RocksDB's `db_bench`: a number in 8 bytes, big-endian, then eight `0`
//! characters. Values are consecutive slices of a buffer that is made before the clock starts, so a
//! value costs an addition.

/// Bytes of a key.
pub const KEY_SIZE: usize = 16;
/// Bytes of a wide key.
pub const WIDE_KEY_SIZE: usize = 24;
/// Bytes of the buffer that values are cut from, the longest value not counted.
const BUFFER: usize = 1 << 20;
/// Bytes of a piece, which compresses to the given fraction by itself, as in LevelDB's and
/// RocksDB's benchmarks.
const PIECE: usize = 100;
/// Base of all seeds.
const SEED: u64 = 0x5eed_f01d;

/// The bytes of key `number`.
#[inline]
pub fn key(number: u64) -> [u8; KEY_SIZE] {
    let mut bytes = [b'0'; KEY_SIZE];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// The bytes of the wide key `number`.
#[inline]
pub fn wide_key(number: u64) -> [u8; WIDE_KEY_SIZE] {
    let mut bytes = [b'0'; WIDE_KEY_SIZE];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// A wide key between the key `number` and the next one.
#[inline]
pub fn absent_wide_key(number: u64) -> [u8; WIDE_KEY_SIZE] {
    let mut bytes = wide_key(number);
    bytes[WIDE_KEY_SIZE - 1] = b'1';
    bytes
}

/// A wide key that looks random: no two numbers have the same.
#[inline]
pub fn random_wide_key(number: u64) -> [u8; WIDE_KEY_SIZE] {
    let mut bytes = [0; WIDE_KEY_SIZE];
    // An odd factor permutes all numbers of 64 bits, and so does each shift.
    let mut word = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for part in bytes.chunks_exact_mut(8) {
        word = (word ^ word >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        word ^= word >> 32;
        part.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

/// The wide key `number` of those that follow all random ones.
#[inline]
pub fn wide_key_behind_all(number: u64) -> [u8; WIDE_KEY_SIZE] {
    let mut bytes = [u8::MAX; WIDE_KEY_SIZE];
    bytes[16..].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// Draws the keys of one thread.
#[derive(Clone, Debug)]
pub struct Draws(fastrand::Rng);

impl Draws {
    /// Returns the draws of `stream`. Each thread and each part of a workload has its own stream.
    pub fn new(stream: u64) -> Draws {
        Draws(fastrand::Rng::with_seed(SEED ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// A number below `count`.
    #[inline]
    pub fn below(&mut self, count: u64) -> u64 {
        self.0.u64(..count)
    }

    /// The key of a number below `count`.
    #[inline]
    pub fn key(&mut self, count: u64) -> [u8; KEY_SIZE] {
        key(self.below(count))
    }
}

/// Returns each number below `count` once, in an order that looks random. Consecutive numbers
/// differ by about `count` over the golden ratio; the step shares no factor with `count`.
pub fn each_once(count: u64) -> impl Iterator<Item = u64> {
    let count = count.max(1);
    let golden = (count as f64 * 0.618_033_988_75) as u64;
    let stride = (golden.max(1)..).find(|&stride| coprime(stride, count)).unwrap_or(1) % count;
    (0..count).scan(0_u64, move |at, _| {
        let number = *at;
        *at = (*at + stride) % count;
        Some(number)
    })
}

fn coprime(mut a: u64, mut b: u64) -> bool {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}

/// Values of one length, one after another.
#[derive(Clone, Debug)]
pub struct Values {
    buffer: Vec<u8>,
    size: usize,
    at: usize,
}

impl Values {
    /// Makes values of `size` bytes that compress to the fraction `compressed` of their size,
    /// between 0 and 1.
    pub fn new(size: usize, compressed: f64) -> Values {
        let mut random = fastrand::Rng::with_seed(SEED);
        let kept = ((PIECE as f64 * compressed) as usize).clamp(1, PIECE);
        let mut buffer = Vec::with_capacity(BUFFER + size + PIECE);
        while buffer.len() < BUFFER + size {
            let piece: [u8; PIECE] = std::array::from_fn(|_| random.u8(..));
            buffer.extend((0..PIECE).map(|i| piece[i % kept]));
        }
        Values { buffer, size, at: 0 }
    }

    /// Returns the next value.
    #[inline]
    pub fn take(&mut self) -> &[u8] {
        if self.at > BUFFER {
            self.at = 0;
        }
        let value = &self.buffer[self.at..self.at + self.size];
        self.at += self.size;
        value
    }

    /// Returns the value of entry `number`: always the same one.
    #[inline]
    pub fn of(&self, number: u64) -> &[u8] {
        let places = (BUFFER / self.size) as u64;
        let at = (number % places) as usize * self.size;
        &self.buffer[at..at + self.size]
    }

    /// Continues at another place of the buffer, so that threads do not write the same values.
    pub fn skip_to(mut self, stream: u64) -> Values {
        self.at = (stream as usize * 4096) % BUFFER;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_of_draws_is_always_the_same_and_streams_differ() {
        let drawn = |stream| {
            let mut draws = Draws::new(stream);
            (0..8).map(|_| draws.below(1_000_000)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn each_number_comes_once() {
        for count in [1, 2, 10, 97, 1000] {
            let mut numbers: Vec<u64> = each_once(count).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn values_are_as_compressible_as_asked() {
        let mut whole = Values::new(100, 1.0);
        let mut half = Values::new(100, 0.5);
        let (whole, half) = (whole.take().to_vec(), half.take().to_vec());
        assert_eq!(half[..50], half[50..]);
        assert_ne!(whole[..50], whole[50..]);
    }

    #[test]
    fn the_value_of_an_entry_is_always_the_same_and_neighbours_differ() {
        let values = Values::new(150, 0.5);
        assert_eq!(values.of(7), values.of(7));
        assert_ne!(values.of(7), values.of(8));
        assert_eq!(values.of(u64::MAX).len(), 150);
    }

    #[test]
    fn absent_keys_lie_between_the_others() {
        assert!(wide_key(7) < absent_wide_key(7) && absent_wide_key(7) < wide_key(8));
    }

    #[test]
    fn random_wide_keys_differ_and_others_follow_them() {
        let mut keys: Vec<_> = (0..10_000).map(random_wide_key).collect();
        keys.sort_unstable();
        assert!(keys.is_sorted_by(|a, b| a < b));
        assert!(keys[9999] < wide_key_behind_all(0));
        assert!(wide_key_behind_all(0) < wide_key_behind_all(256));
    }

    #[test]
    fn values_go_round_without_running_out() {
        let mut values = Values::new(10_240, 0.5);
        assert!((0..500).all(|_| values.take().len() == 10_240));
    }
}
