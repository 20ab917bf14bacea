//! One writer and three readers at once. What the reader at S must see is computed from S alone:
//! write n goes to key n % keys, and its value says so.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use foldb_chains::{ArenaPool, Chains, Inserted, KeyOrder, NewRecord, Pins, Version, Writer};
use xxhash_rust::xxh3::xxh3_64;

const READERS: u64 = if cfg!(miri) { 2 } else { 3 };

/// Ends the readers' loops on drop, so that readers also stop if the writer fails.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

struct History {
    /// Whether keys have spellings: the order ignores the last byte of a key.
    spelled: bool,
    keys: u64,
    writes: u64,
    chains: Arc<Chains>,
    published: AtomicU64,
    done: AtomicBool,
}

impl History {
    fn key(&self, n: u64) -> Vec<u8> {
        // scattered over the order of keys, some too long for a node
        let scattered = (n % self.keys).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
        let long = (n % self.keys).is_multiple_of(5);
        let mut key = if long { scattered.repeat(6) } else { scattered.to_vec() };
        if self.spelled {
            key.push((n / self.keys % 3) as u8);
        }
        key
    }

    /// The part of a key that the order looks at.
    fn ordered<'a>(&self, key: &'a [u8]) -> &'a [u8] {
        if self.spelled { without_last(key) } else { key }
    }

    fn value(&self, n: u64) -> Vec<u8> {
        n.to_le_bytes().into_iter().cycle().take((n % 90) as usize).collect()
    }

    fn write_all(&self, mut writer: Writer) {
        let _done = Done(&self.done);
        for n in 1..=self.writes {
            let key = self.key(n);
            writer.insert(xxh3_64(&key), &key, n, n as u8, n as u32, &self.value(n)).unwrap();
            self.published.store(n, Ordering::Release);
        }
    }

    fn read_until_done(&self, mut random: u64, read: impl Fn(&Self, u64, u64)) {
        loop {
            let done = self.done.load(Ordering::Acquire);
            let seqno = self.published.load(Ordering::Acquire);
            random = xxh3_64(&random.to_le_bytes());
            read(self, seqno, random);
            if done {
                return;
            }
        }
    }

    /// The newest write to `key` at or below `seqno`.
    fn newest(&self, key: u64, seqno: u64) -> Option<u64> {
        (seqno >= key).then(|| seqno - (seqno - key) % self.keys).filter(|&n| n > 0)
    }

    fn check(&self, version: Version<'_>, expected: u64) {
        assert_eq!(version.seqno, expected);
        assert_eq!((version.kind, version.operator), (expected as u8, expected as u32));
        assert_eq!(version.value, self.value(expected));
    }

    fn get(&self, seqno: u64, random: u64) {
        for n in random % self.keys..(random % self.keys + 20).min(self.keys) {
            let key = self.key(n);
            let node = self.chains.find(xxh3_64(&key), &key);
            let mut versions = node.map(|node| node.versions(seqno)).into_iter().flatten();
            let mut expected = self.newest(n, seqno);
            for _ in 0..5 {
                match (versions.next(), expected) {
                    (Some(version), Some(n)) => self.check(version, n),
                    (None, None) => break,
                    (found, expected) => panic!("{found:?}, expected {expected:?} at {seqno}"),
                }
                expected = expected.and_then(|n| n.checked_sub(self.keys)).filter(|&n| n > 0);
            }
        }
    }

    fn scan(&self, seqno: u64, random: u64) {
        let mut cursor = self.chains.cursor(seqno);
        let forward = random.is_multiple_of(2);
        if forward {
            cursor.seek_to_first()
        } else {
            cursor.seek_to_last()
        }
        let (mut keys, mut last) = (0, Vec::new());
        while cursor.valid() {
            assert!(keys == 0 || (self.ordered(&last) < self.ordered(cursor.key())) == forward);
            last.clear();
            last.extend_from_slice(cursor.newest_key(u64::MAX));
            keys += 1;
            let newest = cursor.versions().next().unwrap();
            assert_eq!(self.key(newest.seqno), last);
            self.check(newest, self.newest(newest.seqno % self.keys, seqno).unwrap());
            if forward {
                cursor.next_key();
            } else {
                while cursor.valid() && self.ordered(cursor.key()) == self.ordered(&last) {
                    let n = cursor.seqno();
                    self.check(cursor.version(), n);
                    assert_eq!(cursor.key(), self.key(n));
                    cursor.prev();
                }
            }
        }
        assert_eq!(keys, seqno.min(self.keys));
    }
}

fn without_last(key: &[u8]) -> &[u8] {
    key.split_last().map_or(&[], |(_, before)| before)
}

fn stress(keys: u64, writes: u64) {
    for spelled in [false, true] {
        stress_with(spelled, keys, writes);
    }
}

fn stress_with(spelled: bool, keys: u64, writes: u64) {
    let pool = ArenaPool::new(1 << 30);
    let compare = |a: &[u8], b: &[u8]| without_last(a).cmp(without_last(b));
    for _life in 0..2 {
        let order = match spelled {
            true => KeyOrder::Spelled(Arc::new(compare)),
            false => KeyOrder::Bytewise,
        };
        let (writer, chains) = Chains::create(&pool, writes as usize * 230, order);
        let (published, done) = (AtomicU64::new(0), AtomicBool::new(false));
        let history = History { spelled, keys, writes, chains, published, done };
        thread::scope(|scope| {
            scope.spawn(|| history.write_all(writer));
            for reader in 0..READERS {
                let read = if reader == 0 { History::get } else { History::scan };
                let (history, seed) = (&history, xxh3_64(&reader.to_le_bytes()));
                scope.spawn(move || history.read_until_done(seed, read));
            }
            if !cfg!(miri) {
                scope.spawn(|| {
                    history.read_until_done(0, |history, _, _| {
                        history.chains.merge_stretches();
                        history.chains.advance_order();
                        thread::yield_now();
                    });
                });
            }
        });
    }
}

#[test]
fn readers_see_whole_records_of_new_keys() {
    let writes = if cfg!(miri) { 60 } else { 60_000 };
    stress(writes + 1, writes);
}

#[test]
fn readers_see_whole_chains_of_hot_keys() {
    stress(7, if cfg!(miri) { 60 } else { 30_000 });
}

#[test]
fn readers_see_whole_records_of_keys_old_and_new() {
    let writes = if cfg!(miri) { 80 } else { 60_000 };
    stress(writes / 4, writes);
}

/// Returns at a moment in which no reader is pinning.
fn wait_for_pins(pins: &Pins) {
    while pins.begin_apply().floor().is_none() {
        thread::yield_now();
    }
}

/// One thread adds to counters, in place if possible, and folds. The others pin, and check that the
/// counts are exact and do not change. Write n adds 1 to counter n % COUNTERS.
#[test]
fn h2_pinned_readers_see_exact_counters() {
    const COUNTERS: u64 = 3;
    const ADD: u8 = 2;
    let writes = if cfg!(miri) { 120 } else { 400_000u64 };
    let (mut writer, chains) =
        Chains::create(&ArenaPool::new(0), writes as usize * 80, KeyOrder::Bytewise);
    let (pins, done) = (Pins::new(0), AtomicBool::new(false));
    let start = Barrier::new(READERS as usize + 1);
    let one = 1u64.to_le_bytes();
    let count = |key: u64, seqno: u64| -> u64 {
        let node = chains.find(key << 32, &key.to_le_bytes());
        let versions = node.into_iter().flat_map(|node| node.versions(seqno));
        versions.map(|version| u64::from_le_bytes((*version.value).try_into().unwrap())).sum()
    };
    let expected = |key: u64, seqno: u64| (seqno + COUNTERS - 1 - key) / COUNTERS;
    thread::scope(|scope| {
        scope.spawn(|| {
            let _done = Done(&done);
            let mut in_place = 0;
            start.wait();
            for n in 1..=writes {
                if n % 1000 == 0 {
                    // A reader that was interrupted while it pinned keeps all from being folded in
                    // place; on a busy machine that can last as long as all the writes.
                    wait_for_pins(&pins);
                }
                let key = (n - 1) % COUNTERS;
                let (hash, key) = (key << 32, key.to_le_bytes());
                let phase = pins.begin_apply();
                let floor = phase.floor().unwrap_or(n);
                let record = NewRecord { seqno: n, kind: ADD, operator: 1, value: &one };
                let add = |word: [u8; 8]| Some((u64::from_le_bytes(word) + 1).to_le_bytes());
                match writer.insert_or_fold(hash, &key, record, floor, add).unwrap() {
                    Inserted::InPlace => in_place += 1,
                    Inserted::Version(versions) if versions % 8 == 0 => {
                        let node = writer.chains().find(hash, &key).unwrap();
                        let words = node.foldable().take(7).map(|f| f.version.value);
                        let sum: u64 =
                            words.map(|w| u64::from_le_bytes((*w).try_into().unwrap())).sum();
                        writer.fold_newest(hash, &key, 7, ADD, 1, &sum.to_le_bytes()).unwrap();
                    }
                    Inserted::Version(_) => {}
                }
                pins.publish(n);
                drop(phase);
            }
            assert!(in_place > 0 || cfg!(miri), "nothing was folded in place");
        });
        for _ in 0..READERS {
            scope.spawn(|| {
                let mut pinned = Vec::new();
                let mut last = 0;
                start.wait();
                while !done.load(Ordering::Acquire) {
                    // A read that does not pin sees at least what was published.
                    let published = pins.published();
                    let seen = count(0, published);
                    assert!(seen >= expected(0, published) && seen >= last);
                    last = seen;
                    pinned.push(pins.pin());
                    for seqno in pinned.iter().rev().take(4) {
                        for key in 0..COUNTERS {
                            assert_eq!(count(key, *seqno), expected(key, *seqno), "at {seqno}");
                        }
                    }
                    thread::yield_now();
                }
            });
        }
    });
    for key in 0..COUNTERS {
        assert_eq!(count(key, u64::MAX >> 8), expected(key, writes));
    }
}
