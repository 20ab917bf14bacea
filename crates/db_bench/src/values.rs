//! Generated values: bytes that compress to a given fraction of their size.
//!
//! A buffer of at least 1 MiB is filled once, with pieces of 100 bytes. Each piece repeats its
//! first `100 * ratio` random printable bytes. Values are consecutive slices of the buffer; after
//! its end they begin again at its start. Buffer and slices are RocksDB's, byte for byte. Source:
//! `RandomGenerator` in its `tools/db_bench_tool.cc`, `CompressibleString` in
//! `test_util/testutil.cc`.

/// Least bytes of the buffer.
const BUFFER_LEN: usize = 1 << 20;
/// Bytes of one piece.
const PIECE_LEN: usize = 100;
/// Seed of the buffer's generator.
const SEED: u32 = 301;

/// The buffer from which all threads take their values.
#[derive(Debug)]
pub(crate) struct ValueSource(Vec<u8>);

impl ValueSource {
    /// Makes a buffer for values of up to `largest` bytes.
    pub(crate) fn new(compression_ratio: f64, largest: usize) -> ValueSource {
        let mut random = ParkMiller(SEED);
        let raw = ((PIECE_LEN as f64 * compression_ratio) as usize).max(1);
        let len = BUFFER_LEN.max(largest);
        let mut buffer = Vec::with_capacity(len + PIECE_LEN);
        while buffer.len() < len {
            let piece: Vec<u8> = (0..raw).map(|_| random.printable()).collect();
            buffer.extend(piece.iter().cycle().take(PIECE_LEN));
        }
        ValueSource(buffer)
    }

    /// Values of `size` bytes, from the start of the buffer.
    pub(crate) fn values(&self, size: usize) -> Values<'_> {
        debug_assert!(size <= self.0.len());
        Values { buffer: &self.0, size, position: 0 }
    }
}

/// The values of one thread.
#[derive(Debug)]
pub(crate) struct Values<'a> {
    buffer: &'a [u8],
    size: usize,
    position: usize,
}

impl<'a> Values<'a> {
    /// The next value.
    #[inline]
    pub(crate) fn next(&mut self) -> &'a [u8] {
        if self.position + self.size > self.buffer.len() {
            self.position = 0;
        }
        let value = &self.buffer[self.position..self.position + self.size];
        self.position += self.size;
        value
    }
}

/// LevelDB's small generator: Park and Miller's `x * 16807 mod (2^31 - 1)`.
struct ParkMiller(u32);

impl ParkMiller {
    fn next(&mut self) -> u32 {
        self.0 = (u64::from(self.0) * 16807 % 0x7fff_ffff) as u32;
        self.0
    }

    /// A byte from space to `~`.
    fn printable(&mut self) -> u8 {
        b' ' + (self.next() % 95) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_repeat_their_first_bytes() {
        let source = ValueSource::new(0.25, 0);
        let mut values = source.values(PIECE_LEN);
        let first = values.next();
        assert_eq!(first[..25], first[25..50]);
        assert_eq!(first[..25], first[75..]);
        assert_ne!(first, values.next());
        assert!(first.iter().all(|byte| (b' '..=b'~').contains(byte)));
    }

    #[test]
    fn first_bytes_follow_from_the_seed() {
        // 301 * 16807 = 5058907, mod 95 = 62: ' ' + 62 = '^'.
        assert_eq!(ValueSource::new(1.0, 0).values(1).next(), b"^");
    }

    #[test]
    fn values_start_again_at_the_end_of_the_buffer() {
        let source = ValueSource::new(0.5, 0);
        let len = source.0.len();
        let mut values = source.values(len / 2 + 1);
        let first = values.next();
        assert_eq!(first, values.next());
    }

    #[test]
    fn buffer_grows_with_the_largest_value() {
        let large = 3 << 20;
        assert_eq!(ValueSource::new(0.5, large).values(large).next().len(), large);
    }

    #[test]
    fn park_miller_reaches_its_published_value() {
        // Park and Miller: starting from 1, the 10000th number is 1043618065.
        let mut random = ParkMiller(1);
        for _ in 0..9999 {
            random.next();
        }
        assert_eq!(random.next(), 1_043_618_065);
    }
}
