//! What the next tick writes: events, and keys that stood out.
//!
//! Events of one kind, keyspace and reason become one record with their number and sums. So a
//! second with ten thousand stalls takes no more room than one with a single stall.

use std::sync::Arc;
use std::time::Duration;

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
    figure: u64,
}

impl Key {
    fn is(&self, keyspace: &Arc<str>, key: &[u8]) -> bool {
        self.len == key.len() && self.start == cut(key) && Arc::ptr_eq(&self.keyspace, keyspace)
    }

    fn set(&mut self, keyspace: &Arc<str>, key: &[u8], figure: u64) {
        if !Arc::ptr_eq(&self.keyspace, keyspace) {
            self.keyspace = Arc::clone(keyspace);
        }
        self.start.clear();
        self.start.extend_from_slice(cut(key));
        (self.len, self.figure) = (key.len(), figure);
    }
}

/// Keys with the largest figures.
#[derive(Debug, Default)]
struct Keys(Vec<Key>);

impl Keys {
    /// Counts a key. When all places are taken, it takes that of the key with the smallest count,
    /// and goes on from there: the *space-saving* sketch of Metwally, Agrawal and El Abbadi, 2005.
    fn count(&mut self, keyspace: &Arc<str>, key: &[u8]) {
        if let Some(own) = self.0.iter_mut().find(|own| own.is(keyspace, key)) {
            own.figure += 1;
        } else if self.0.len() < CANDIDATES {
            self.push(keyspace, key, 1);
        } else if let Some(least) = self.0.iter_mut().min_by_key(|own| own.figure) {
            let figure = least.figure + 1;
            least.set(keyspace, key, figure);
        }
    }

    /// Keeps a key if its figure is among the largest.
    fn keep(&mut self, keyspace: &Arc<str>, key: &[u8], figure: u64) {
        if let Some(own) = self.0.iter_mut().find(|own| own.is(keyspace, key)) {
            own.figure = own.figure.max(figure);
        } else if self.0.len() < KEYS {
            self.push(keyspace, key, figure);
        } else if let Some(least) = self.0.iter_mut().min_by_key(|own| own.figure)
            && least.figure < figure
        {
            least.set(keyspace, key, figure);
        }
    }

    fn push(&mut self, keyspace: &Arc<str>, key: &[u8], figure: u64) {
        let start = cut(key).to_vec();
        self.0.push(Key { keyspace: Arc::clone(keyspace), start, len: key.len(), figure });
    }

    fn largest(&mut self) -> impl Iterator<Item = &Key> {
        self.0.sort_by_key(|own| std::cmp::Reverse(own.figure));
        self.0.iter().take(KEYS)
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

    /// Notes a timed call for a key.
    pub(super) fn called(&mut self, keyspace: &Arc<str>, key: &[u8], took: Duration) {
        self.hot.count(keyspace, key);
        self.slow.keep(keyspace, key, u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(super) fn slow_read(&mut self, keyspace: &Arc<str>, key: &[u8], took: Duration) {
        let detail = format!("{} ({} bytes)", shape_of(key), key.len());
        let keyspace = Some(Arc::clone(keyspace));
        let own = Happened::new("slow_read");
        self.add(Happened { keyspace, detail, total: took, longest: took, ..own });
    }

    pub(super) fn long_chain(&mut self, keyspace: &Arc<str>, key: &[u8], operands: usize) {
        self.chains.keep(keyspace, key, operands as u64);
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
        ];
        for (why, keys) in lists {
            for Key { keyspace, start, len, figure } in keys.largest() {
                let (why, len, figure) = (why as u8, *len as u64, *figure);
                write(KeyRecord { why, keyspace, key: start, len, figure });
            }
            keys.0.clear();
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
    fn the_hottest_and_the_slowest_key_are_found_among_many() {
        let mut pending = Pending::default();
        let keyspace = Arc::from("default");
        for call in 0..10_000u32 {
            let key = if call % 4 == 0 { 7 } else { call };
            let micros = if call == 5_001 { 900 } else { 3 };
            pending.called(&keyspace, &key.to_be_bytes(), Duration::from_micros(micros));
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
        assert!(keys_of(&mut pending).is_empty(), "each list begins anew");
    }

    #[test]
    fn shapes_show_what_keys_look_like_without_their_contents() {
        assert_eq!(shape_of(b"user:0042:Ann"), "a:9:Aa");
        assert_eq!(shape_of(b"\x00\x01\xff/x"), "./a");
        assert_eq!(shape_of(b""), "");
    }
}
