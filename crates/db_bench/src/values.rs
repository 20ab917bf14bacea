//! Generated values: bytes that compress to a given fraction of their size.
//!
//! A buffer of at least 1 MiB is filled once, with pieces of 100 bytes. Each piece repeats its
//! first `100 * ratio` random printable bytes. Values are consecutive slices of the buffer; after
//! its end they begin again at its start. Buffer and slices are RocksDB's, byte for byte. Source:
//! `RandomGenerator` in its `tools/db_bench_tool.cc`, `CompressibleString` in
//! `test_util/testutil.cc`.

use crate::keys::Draws;

/// Least bytes of the buffer.
const BUFFER_LEN: usize = 1 << 20;
/// Bytes of one piece.
const PIECE_LEN: usize = 100;
/// Seed of the buffer's generator.
const SEED: u32 = 301;

/// The sizes of generated values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueSizes {
    /// All have these bytes.
    Fixed(usize),
    /// Every size from `least` to `most` is as likely.
    Uniform { least: usize, most: usize },
    /// Most sizes are near the middle; 99.7 % of the distribution lies between the two.
    Normal { least: usize, most: usize },
}

impl ValueSizes {
    /// The most bytes of a value.
    pub(crate) fn most(self) -> usize {
        match self {
            ValueSizes::Fixed(size) => size,
            ValueSizes::Uniform { most, .. } | ValueSizes::Normal { most, .. } => most,
        }
    }

    fn draw(self, draws: &mut Draws) -> usize {
        match self {
            ValueSizes::Fixed(size) => size,
            ValueSizes::Uniform { least, most } => {
                least + draws.below((most - least) as u64 + 1) as usize
            }
            ValueSizes::Normal { least, most } => {
                let (middle, deviation) =
                    ((least + most) as f64 / 2.0, (most - least) as f64 / 6.0);
                let size = middle + deviation * draws.normal();
                (size.max(0.0) as usize).clamp(least, most)
            }
        }
    }
}

/// The buffer from which all threads take their values.
#[derive(Debug)]
pub(crate) struct ValueSource {
    buffer: Vec<u8>,
    /// Percent of values that are the first bytes of the buffer.
    same_percent: f64,
}

impl ValueSource {
    /// Makes a buffer for values of up to `largest` bytes.
    pub(crate) fn new(compression_ratio: f64, same_percent: f64, largest: usize) -> ValueSource {
        let mut random = ParkMiller(SEED);
        let raw = ((PIECE_LEN as f64 * compression_ratio) as usize).max(1);
        let len = BUFFER_LEN.max(largest);
        let mut buffer = Vec::with_capacity(len + PIECE_LEN);
        while buffer.len() < len {
            let piece: Vec<u8> = (0..raw).map(|_| random.printable()).collect();
            buffer.extend(piece.iter().cycle().take(PIECE_LEN));
        }
        ValueSource { buffer, same_percent }
    }

    /// Values of these sizes, from the start of the buffer. Sizes and repetitions follow from
    /// `seed`.
    pub(crate) fn values(&self, sizes: ValueSizes, seed: i64) -> Values<'_> {
        debug_assert!(sizes.most() <= self.buffer.len());
        let is_random = self.same_percent > 0.0 || !matches!(sizes, ValueSizes::Fixed(_));
        let draws = is_random.then(|| Box::new(Draws::new(seed, u64::from(SEED))));
        Values { source: self, sizes, draws, position: 0 }
    }
}

/// The values of one thread.
#[derive(Debug)]
pub(crate) struct Values<'a> {
    source: &'a ValueSource,
    sizes: ValueSizes,
    /// What sizes and repetitions are drawn from, if they are random.
    draws: Option<Box<Draws>>,
    position: usize,
}

impl<'a> Values<'a> {
    /// The next value.
    #[inline]
    pub(crate) fn next(&mut self) -> &'a [u8] {
        let size = match (self.sizes, &mut self.draws) {
            (ValueSizes::Fixed(size), _) => size,
            (sizes, Some(draws)) => sizes.draw(draws),
            (sizes, None) => sizes.most(),
        };
        self.of(size)
    }

    /// The next value of this size.
    #[inline]
    pub(crate) fn of(&mut self, size: usize) -> &'a [u8] {
        let buffer = &self.source.buffer[..];
        let size = size.min(buffer.len());
        if let Some(draws) = &mut self.draws {
            let same = self.source.same_percent;
            if same > 0.0 && draws.fraction() * 100.0 < same {
                return &buffer[..size];
            }
        }
        if self.position + size > buffer.len() {
            self.position = 0;
        }
        let value = &buffer[self.position..self.position + size];
        self.position += size;
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
        let source = ValueSource::new(0.25, 0.0, 0);
        let mut values = source.values(ValueSizes::Fixed(PIECE_LEN), 1);
        let first = values.next();
        assert_eq!(first[..25], first[25..50]);
        assert_eq!(first[..25], first[75..]);
        assert_ne!(first, values.next());
        assert!(first.iter().all(|byte| (b' '..=b'~').contains(byte)));
    }

    #[test]
    fn first_bytes_follow_from_the_seed() {
        // 301 * 16807 = 5058907, mod 95 = 62: ' ' + 62 = '^'.
        assert_eq!(ValueSource::new(1.0, 0.0, 0).values(ValueSizes::Fixed(1), 1).next(), b"^");
    }

    #[test]
    fn values_start_again_at_the_end_of_the_buffer() {
        let source = ValueSource::new(0.5, 0.0, 0);
        let len = source.buffer.len();
        let mut values = source.values(ValueSizes::Fixed(len / 2 + 1), 1);
        let first = values.next();
        assert_eq!(first, values.next());
    }

    #[test]
    fn buffer_grows_with_the_largest_value() {
        let large = 3 << 20;
        assert_eq!(
            ValueSource::new(0.5, 0.0, large).values(ValueSizes::Fixed(large), 1).next().len(),
            large
        );
    }

    #[test]
    fn sizes_lie_between_their_bounds() {
        let source = ValueSource::new(0.5, 0.0, 0);
        let bounds = [
            ValueSizes::Uniform { least: 10, most: 90 },
            ValueSizes::Normal { least: 10, most: 90 },
        ];
        for sizes in bounds {
            let mut values = source.values(sizes, 1);
            let lens: Vec<usize> = (0..1000).map(|_| values.next().len()).collect();
            assert!(lens.iter().all(|len| (10..=90).contains(len)), "{sizes:?}");
            let middle = lens.iter().sum::<usize>() / lens.len();
            assert!((45..55).contains(&middle), "{sizes:?}: {middle}");
            assert!(lens.iter().any(|len| *len != lens[0]));
        }
    }

    #[test]
    fn a_given_share_of_values_is_the_same() {
        let source = ValueSource::new(1.0, 30.0, 0);
        let mut values = source.values(ValueSizes::Fixed(20), 1);
        let first = source.buffer[..20].to_vec();
        let same = (0..1000).filter(|_| values.next() == &first[..]).count();
        assert!((250..350).contains(&same), "{same}");
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
