//! Lines that wait for their commit.

use std::ops::Range;
use std::time::{Duration, Instant};

/// Most lines in a batch.
pub(super) const BATCH_LINES: usize = 4096;
/// Bytes of keys and values that fill a batch. They bound its memory.
pub(super) const BATCH_BYTES: usize = 4 << 20;
/// How long a batch waits for more lines. A batch must be committed within 50 ms of its first line;
/// the rest of that time is for the write itself on a busy machine.
pub(super) const BATCH_AGE: Duration = Duration::from_millis(25);

/// Number of a line in its source, and in all.
pub(super) type Number = (u64, u64);

/// Lines that wait for their commit, in one buffer.
#[derive(Default)]
pub(super) struct Pending {
    bytes: Vec<u8>,
    entries: Vec<(Range<usize>, Range<usize>, Number)>,
    since: Option<Instant>,
}

impl Pending {
    /// Adds a line. The first line starts the clock.
    pub(super) fn add(&mut self, key: &[u8], value: &[u8], number: Number) {
        self.since.get_or_insert_with(Instant::now);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.entries.push((start..middle, middle..self.bytes.len(), number));
    }

    /// Returns key, value and number of each line, in order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&[u8], &[u8], Number)> {
        self.entries.iter().map(|(key, value, number)| {
            (&self.bytes[key.clone()], &self.bytes[value.clone()], *number)
        })
    }

    /// Whether there is nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the batch must be written now because of its size.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= BATCH_BYTES
    }

    /// Returns how long the batch may still wait; `None` if it is empty.
    pub(super) fn age_left(&self) -> Option<Duration> {
        self.since.map(|since| BATCH_AGE.saturating_sub(since.elapsed()))
    }

    /// Removes all lines.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(2 * BATCH_BYTES);
        self.entries.clear();
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_full_by_its_bytes() {
        let mut pending = Pending::default();
        pending.add(&vec![0; BATCH_BYTES - 1], b"", (1, 1));
        assert!(!pending.is_full());
        pending.add(b"", b"x", (2, 2));
        assert!(pending.is_full());
        pending.clear();
        assert!(pending.is_empty() && !pending.is_full());
    }

    #[test]
    fn pending_lines_come_back_as_they_were() {
        let mut pending = Pending::default();
        pending.add(b"", b"1", (1, 5));
        pending.add(b"k", b"", (2, 6));
        let entries: Vec<_> = pending.entries().collect();
        assert_eq!(entries, [(&b""[..], &b"1"[..], (1, 5)), (b"k", b"", (2, 6))]);
    }

    #[test]
    fn the_clock_of_a_batch_starts_with_its_first_line() {
        let mut pending = Pending::default();
        assert_eq!(pending.age_left(), None);
        pending.add(b"a", b"", (1, 1));
        let first = pending.since;
        assert!(pending.age_left().unwrap() <= BATCH_AGE);
        pending.add(b"b", b"", (2, 2));
        assert_eq!(pending.since, first);
    }

    #[test]
    fn a_batch_is_committed_well_within_50_ms() {
        assert!(BATCH_AGE <= Duration::from_millis(30));
    }
}
