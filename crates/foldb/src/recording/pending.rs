//! What the next tick writes: events, and keys that stood out.
//!
//! Events of one kind, keyspace and reason become one record with their number and sums. So a
//! second with ten thousand stalls takes no more room than one with a single stall.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use crate::encoding::key_hash;
use crate::events::{Event, FailedMerge};
use crate::recording::format::{EventRecord, KeyRecord};

/// Most different events of a tick. Further ones are counted in [`Pending::lost`].
const MOST_EVENTS: usize = 64;

/// Keys in a list.
const KEYS: usize = 8;

/// Candidates for the hottest keys.
const CANDIDATES: usize = 32;

/// Bytes of a key that are recorded.
pub(super) const KEY_BYTES: usize = 64;

/// Why a key is recorded. The numbers are on disk: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Why {
    /// Many of the timed calls were for it. The figure is their number.
    Hot = 1,
    /// A timed call for it took long. The figure is nanoseconds.
    Slow = 2,
    /// A read folded many operands of it. The figure is their number.
    LongChain = 3,
    /// A timed call read or wrote many bytes of it. The figure is their number, with the key's own.
    Large = 4,
}

/// Events of one kind.
#[derive(Debug)]
struct Happened {
    name: &'static str,
    keyspace: Option<Arc<str>>,
    detail: String,
    level: Option<u64>,
    count: u64,
    total: Duration,
    longest: Duration,
    bytes_read: u64,
    bytes_written: u64,
}

impl Happened {
    fn new(name: &'static str) -> Happened {
        Happened {
            name,
            keyspace: None,
            detail: String::new(),
            level: None,
            count: 1,
            total: Duration::ZERO,
            longest: Duration::ZERO,
            bytes_read: 0,
            bytes_written: 0,
        }
    }

    fn of(event: &Event) -> Happened {
        let mut own = Happened::new(event.name());
        match event {
            Event::Flush { keyspace, bytes_written, duration, .. } => {
                own.keyspace = Some(Arc::clone(keyspace));
                own.bytes_written = *bytes_written;
                own.total = *duration;
            }
            Event::Compaction {
                keyspace,
                output_level,
                reason,
                bytes_read,
                bytes_written,
                duration,
                ..
            } => {
                own.keyspace = Some(Arc::clone(keyspace));
                own.level = Some(*output_level as u64);
                own.detail = (*reason).to_owned();
                (own.bytes_read, own.bytes_written) = (*bytes_read, *bytes_written);
                own.total = *duration;
            }
            Event::GarbageCollection { keyspace, bytes_read, bytes_written, duration, .. } => {
                own.keyspace = Some(Arc::clone(keyspace));
                (own.bytes_read, own.bytes_written) = (*bytes_read, *bytes_written);
                own.total = *duration;
            }
            Event::Stall { reason, duration } => {
                own.detail = reason.to_string();
                own.total = *duration;
            }
            Event::MergeFailed(FailedMerge { keyspace, key, operator }) => {
                own.keyspace = Some(Arc::clone(keyspace));
                own.detail = format!("{operator} rejects '{}'", cut(key).escape_ascii());
            }
            other => own.detail = other.to_string(),
        }
        own.longest = own.total;
        own
    }

    fn is_like(&self, other: &Happened) -> bool {
        (self.name, &self.keyspace, self.level, &self.detail)
            == (other.name, &other.keyspace, other.level, &other.detail)
    }

    fn add(&mut self, other: &Happened) {
        self.count += other.count;
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
    }

    fn record(&self) -> EventRecord<'_> {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        EventRecord {
            name: self.name,
            keyspace: self.keyspace.as_deref().unwrap_or_default(),
            detail: &self.detail,
            count: self.count,
            total_micros: micros(self.total),
            longest_micros: micros(self.longest),
            bytes_read: self.bytes_read,
            bytes_written: self.bytes_written,
            level: self.level,
        }
    }
}

/// A key that stood out. Its buffer is used again for the next one.
#[derive(Debug)]
struct Key {
    keyspace: Arc<str>,
    start: Vec<u8>,
    len: usize,
}

impl Key {
    fn new(seen: &Seen<'_>) -> Key {
        let keyspace = Arc::clone(seen.keyspace);
        Key { keyspace, start: cut(seen.key).to_vec(), len: seen.key.len() }
    }

    fn set(&mut self, seen: &Seen<'_>) {
        if !Arc::ptr_eq(&self.keyspace, seen.keyspace) {
            self.keyspace = Arc::clone(seen.keyspace);
        }
        self.start.clear();
        self.start.extend_from_slice(cut(seen.key));
        self.len = seen.key.len();
    }
}

/// A key of a timed call.
struct Seen<'a> {
    keyspace: &'a Arc<str>,
    key: &'a [u8],
    /// The hash of the key, by which the lists tell keys apart. Two keys with one hash would be
    /// taken for one, which a list of remarkable keys can bear.
    hash: u64,
}

impl<'a> Seen<'a> {
    fn new(keyspace: &'a Arc<str>, key: &'a [u8]) -> Seen<'a> {
        let of_keyspace = Arc::as_ptr(keyspace).cast::<u8>() as u64;
        Seen { keyspace, key, hash: key_hash(key) ^ of_keyspace }
    }
}

/// Keys with the largest figures. Hashes and figures lie apart from the keys: each timed call looks
/// through them, and so reads a few cache lines.
#[derive(Debug, Default)]
struct Keys {
    hashes: Vec<u64>,
    figures: Vec<u64>,
    keys: Vec<Key>,
}

impl Keys {
    /// Counts a key. When all places are taken, it takes that of the key with the smallest count,
    /// and goes on from there: the *space-saving* sketch of Metwally, Agrawal and El Abbadi, 2005.
    fn count(&mut self, seen: &Seen<'_>, calls: u64) {
        if let Some(place) = self.place_of(seen) {
            self.figures[place] += calls;
        } else if self.keys.len() < CANDIDATES {
            self.push(seen, calls);
        } else {
            let least = self.least();
            self.replace(least, seen, self.figures[least] + calls);
        }
    }

    /// Keeps a key if its figure is among the largest.
    fn keep(&mut self, seen: &Seen<'_>, figure: u64) {
        if figure <= self.floor() {
            return;
        }
        if let Some(place) = self.place_of(seen) {
            self.figures[place] = self.figures[place].max(figure);
        } else if self.keys.len() < KEYS {
            self.push(seen, figure);
        } else {
            self.replace(self.least(), seen, figure);
        }
    }

    /// Returns the figure that a key must exceed to be kept.
    fn floor(&self) -> u64 {
        if self.keys.len() < KEYS { 0 } else { self.figures[self.least()] }
    }

    fn place_of(&self, seen: &Seen<'_>) -> Option<usize> {
        self.hashes.iter().position(|hash| *hash == seen.hash)
    }

    /// Returns the place of the smallest figure, 0 if there is none.
    fn least(&self) -> usize {
        let smallest = self.figures.iter().min();
        smallest.and_then(|it| self.figures.iter().position(|own| own == it)).unwrap_or(0)
    }

    fn push(&mut self, seen: &Seen<'_>, figure: u64) {
        self.hashes.push(seen.hash);
        self.figures.push(figure);
        self.keys.push(Key::new(seen));
    }

    fn replace(&mut self, place: usize, seen: &Seen<'_>, figure: u64) {
        (self.hashes[place], self.figures[place]) = (seen.hash, figure);
        self.keys[place].set(seen);
    }

    /// Calls `write` for the keys with the largest figures, and forgets all.
    fn take(&mut self, mut write: impl FnMut(&Key, u64)) {
        let mut order: Vec<usize> = (0..self.keys.len()).collect();
        order.sort_by_key(|place| Reverse(self.figures[*place]));
        order.iter().take(KEYS).for_each(|place| write(&self.keys[*place], self.figures[*place]));
        *self = Keys::default();
    }
}

/// What the next tick writes.
#[derive(Debug, Default)]
pub(super) struct Pending {
    events: Vec<Happened>,
    /// Events that found no room.
    pub(super) lost: u64,
    hot: Keys,
    slow: Keys,
    chains: Keys,
    large: Keys,
}

impl Pending {
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(super) fn event(&mut self, event: &Event) {
        self.add(Happened::of(event));
    }

    fn add(&mut self, happened: Happened) {
        if let Some(own) = self.events.iter_mut().find(|own| own.is_like(&happened)) {
            own.add(&happened);
        } else if self.events.len() < MOST_EVENTS {
            self.events.push(happened);
        } else {
            self.lost += happened.count;
        }
    }

    /// Notes a timed call for a key, which stands for so many of them. `bytes` are those of the key
    /// with its value or operand.
    pub(super) fn called(
        &mut self,
        keyspace: &Arc<str>,
        key: &[u8],
        stands_for: u64,
        nanos: u64,
        bytes: u64,
    ) {
        let seen = Seen::new(keyspace, key);
        if stands_for > 0 {
            self.hot.count(&seen, stands_for);
        }
        self.slow.keep(&seen, nanos);
        self.large.keep(&seen, bytes);
    }

    /// Returns the nanoseconds that a call must exceed to be among the slowest.
    pub(super) fn slowest_floor(&self) -> u64 {
        self.slow.floor()
    }

    /// Returns the bytes that a call must exceed to be among the largest.
    pub(super) fn largest_floor(&self) -> u64 {
        self.large.floor()
    }

    pub(super) fn slow_read(&mut self, keyspace: &Arc<str>, key: &[u8], took: Duration) {
        let detail = format!("{} ({} bytes)", shape_of(key), key.len());
        let keyspace = Some(Arc::clone(keyspace));
        let own = Happened::new("slow_read");
        self.add(Happened { keyspace, detail, total: took, longest: took, ..own });
    }

    pub(super) fn long_chain(&mut self, keyspace: &Arc<str>, key: &[u8], operands: usize) {
        self.chains.keep(&Seen::new(keyspace, key), operands as u64);
        let own = Happened::new("long_fold");
        self.add(Happened { keyspace: Some(Arc::clone(keyspace)), ..own });
    }

    /// Calls `write` for each event, and forgets the events.
    pub(super) fn take_events(&mut self, mut write: impl FnMut(EventRecord<'_>)) {
        self.events.drain(..).for_each(|own| write(own.record()));
    }

    /// Calls `write` for each key that stood out, and forgets the keys.
    pub(super) fn take_keys(&mut self, mut write: impl FnMut(KeyRecord<'_>)) {
        let lists = [
            (Why::Hot, &mut self.hot),
            (Why::Slow, &mut self.slow),
            (Why::LongChain, &mut self.chains),
            (Why::Large, &mut self.large),
        ];
        for (why, keys) in lists {
            keys.take(|Key { keyspace, start, len }, figure| {
                let (why, len) = (why as u8, *len as u64);
                write(KeyRecord { why, keyspace, key: start, len, figure });
            });
        }
    }
}

fn cut(key: &[u8]) -> &[u8] {
    &key[..key.len().min(KEY_BYTES)]
}

/// Returns the shape of a key: `user:0042:Ann` has the shape `a:9:Aa`. Runs of digits, of small and
/// of capital letters become one character each; other bytes that no one can read become a dot.
fn shape_of(key: &[u8]) -> String {
    let mut shape = String::new();
    for &byte in cut(key) {
        let class = match byte {
            b'0'..=b'9' => '9',
            b'a'..=b'z' => 'a',
            b'A'..=b'Z' => 'A',
            b' '..=b'~' => {
                shape.push(byte as char);
                continue;
            }
            _ => '.',
        };
        if !shape.ends_with(class) {
            shape.push(class);
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::StallReason;

    fn keys_of(pending: &mut Pending) -> Vec<(u8, Vec<u8>, u64)> {
        let mut keys = Vec::new();
        pending.take_keys(|key| keys.push((key.why, key.key.to_vec(), key.figure)));
        keys
    }

    #[test]
    fn events_of_one_kind_become_one_record() {
        let mut pending = Pending::default();
        for millis in [3, 9, 5] {
            let duration = Duration::from_millis(millis);
            pending.event(&Event::Stall { reason: StallReason::Memtables, duration });
        }
        let duration = Duration::from_millis(1);
        pending.event(&Event::Stall { reason: StallReason::Memory, duration });
        let mut found = Vec::new();
        pending.take_events(|event| {
            found.push((event.count, event.total_micros, event.longest_micros));
        });
        assert_eq!(found, [(3, 17_000, 9_000), (1, 1_000, 1_000)]);
        assert!(pending.is_empty());
    }

    #[test]
    fn a_tick_has_room_for_some_events_and_counts_the_others() {
        let mut pending = Pending::default();
        let keyspace = Arc::from("default");
        for key in 0..2 * MOST_EVENTS {
            let key = "x".repeat(key);
            pending.slow_read(&keyspace, key.as_bytes(), Duration::from_secs(1));
        }
        assert_eq!(pending.lost, MOST_EVENTS as u64);
    }

    #[test]
    fn the_hottest_the_slowest_and_the_largest_key_are_found_among_many() {
        let mut pending = Pending::default();
        let keyspace = Arc::from("default");
        for call in 0..10_000u32 {
            let key = if call % 4 == 0 { 7 } else { call };
            let nanos = if call == 5_001 { 900_000 } else { 3_000 };
            let bytes = if call == 17 { 5_000 } else { 12 };
            pending.called(&keyspace, &key.to_be_bytes(), 1, nanos, bytes);
        }
        pending.long_chain(&keyspace, b"chain", 500);
        let keys = keys_of(&mut pending);
        let first = |why: Why| keys.iter().find(|key| key.0 == why as u8).unwrap();
        assert_eq!(first(Why::Hot).1, 7u32.to_be_bytes());
        assert!(first(Why::Hot).2 >= 2_500);
        assert_eq!(
            (&first(Why::Slow).1[..], first(Why::Slow).2),
            (&5_001u32.to_be_bytes()[..], 900_000)
        );
        assert_eq!((&first(Why::LongChain).1[..], first(Why::LongChain).2), (&b"chain"[..], 500));
        let large = first(Why::Large);
        assert_eq!((&large.1[..], large.2), (&17u32.to_be_bytes()[..], 5_000));
        assert!(keys_of(&mut pending).is_empty(), "each list begins anew");
    }

    #[test]
    fn shapes_show_what_keys_look_like_without_their_contents() {
        assert_eq!(shape_of(b"user:0042:Ann"), "a:9:Aa");
        assert_eq!(shape_of(b"\x00\x01\xff/x"), "./a");
        assert_eq!(shape_of(b""), "");
    }
}
