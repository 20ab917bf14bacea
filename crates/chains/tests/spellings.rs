//! Keys with several spellings: an order in which different bytes are equal.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use foldb_chains::{
    ArenaPool, Chains, CompareKeys, Cover, Cursor, DELETED, Inserted, KeyOrder, NewRecord, Way,
    Writer, bytes_needed, bytes_with_spellings, folded_bytes_needed,
};
use xxhash_rust::xxh3::xxh3_64;

fn create(capacity: usize, compare: Arc<CompareKeys>) -> (Writer, Arc<Chains>) {
    Chains::create(&ArenaPool::new(0), capacity, KeyOrder::Spelled(compare))
}

/// Letters of either case are equal.
fn without_case(a: &[u8], b: &[u8]) -> Ordering {
    a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
}

/// Keys are numbers in brackets, decimal or hexadecimal.
fn by_number(a: &[u8], b: &[u8]) -> Ordering {
    let number = |key: &[u8]| {
        let text = std::str::from_utf8(key).unwrap().trim_matches(['[', ']']);
        text.strip_prefix("0x").map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16))
    };
    number(a).unwrap().cmp(&number(b).unwrap())
}

fn put(writer: &mut Writer, key: &[u8], seqno: u64, value: &[u8]) {
    writer.insert(0, key, seqno, 1, 0, value).unwrap();
}

/// All records of a cursor, from the first on.
fn walk(cursor: &mut Cursor) -> Vec<(Vec<u8>, u64)> {
    let mut shown = Vec::new();
    cursor.seek_to_first();
    while cursor.valid() {
        shown.push((cursor.key().to_vec(), cursor.seqno()));
        cursor.next();
    }
    shown
}

#[test]
fn any_spelling_of_a_number_finds_it() {
    let (mut writer, chains) = create(1 << 16, Arc::new(by_number));
    put(&mut writer, b"[10]", 1, b"ten");
    put(&mut writer, b"[0x14]", 2, b"twenty");
    for (spellings, value) in [(["[10]", "[0xa]"], &b"ten"[..]), (["[20]", "[0x14]"], b"twenty")] {
        for spelling in spellings {
            let node = chains.find(0, spelling.as_bytes()).unwrap();
            assert_eq!(node.versions(u64::MAX).next().unwrap().value, value);
        }
    }
    assert!(chains.find(0, b"[15]").is_none() && chains.find(0, b"[0xf]").is_none());
    assert_eq!(chains.len(), 2);
}

#[test]
fn each_record_keeps_its_spelling() {
    let (mut writer, chains) = create(1 << 16, Arc::new(without_case));
    for (seqno, key) in [b"key", b"Key", b"Key", b"KEY", b"key"].into_iter().enumerate() {
        put(&mut writer, key, seqno as u64 + 1, b"value");
    }
    put(&mut writer, b"else", 6, b"");
    let all = |max: u64| {
        let spelled = [("key", 5), ("KEY", 4), ("Key", 3), ("Key", 2), ("key", 1)];
        let spelled = spelled.map(|(key, seqno)| (key.as_bytes().to_vec(), seqno));
        let first = (max >= 6).then(|| (b"else".to_vec(), 6));
        first.into_iter().chain(spelled).filter(|(_, seqno)| *seqno <= max).collect::<Vec<_>>()
    };
    for max in 0..8 {
        assert_eq!(walk(&mut chains.cursor(max)), all(max), "at {max}");
    }
    let mut cursor = chains.cursor(4);
    cursor.seek(b"kEy");
    assert_eq!((cursor.key(), cursor.newest_key(u64::MAX)), (&b"KEY"[..], &b"KEY"[..]));
    // The last record is the oldest; its key is still shown as the newest one spells it.
    cursor.seek_to_last();
    assert_eq!((cursor.key(), cursor.newest_key(u64::MAX)), (&b"key"[..], &b"KEY"[..]));
    assert_eq!(&*cursor.pinned_key(), b"key");
    // An older reader sees an older spelling, whatever the cursor may see.
    assert_eq!(cursor.newest_key(2), b"Key");
    assert_eq!(cursor.newest_key(1), b"key");
    cursor.seek_before(b"KEY");
    assert!(!cursor.valid());
}

/// A write in place would show the key in a spelling that no write of that moment had.
#[test]
fn a_write_in_another_spelling_is_not_folded_in_place() {
    let (mut writer, chains) = create(1 << 16, Arc::new(without_case));
    let mut add = |key: &[u8], seqno| {
        let value = 1u64.to_le_bytes();
        let record = NewRecord { seqno, kind: 2, operator: 1, value: &value };
        let fold = |word: [u8; 8]| Some((u64::from_le_bytes(word) + 1).to_le_bytes());
        writer.insert_or_fold(0, key, record, 0, fold).unwrap()
    };
    assert_eq!(add(b"hits", 1), Inserted::Version(1));
    assert_eq!(add(b"hits", 2), Inserted::InPlace);
    assert_eq!(add(b"Hits", 3), Inserted::Version(2));
    assert_eq!(add(b"Hits", 4), Inserted::InPlace);
    assert_eq!(add(b"hits", 5), Inserted::Version(3));
    let spelled =
        [(b"hits", 5), (b"Hits", 3), (b"hits", 1)].map(|(key, seqno)| (key.to_vec(), seqno));
    assert_eq!(walk(&mut chains.cursor(9)), spelled);
    let node = chains.find(0, b"HITS").unwrap();
    let values = node.versions(u64::MAX).map(|version| version.value[0]);
    assert_eq!(values.collect::<Vec<_>>(), [1, 2, 2]);
}

/// Keys that are gone come back in any spelling. The ends of a cover may be spelled anyhow, too.
#[test]
fn keys_that_are_gone_come_back_in_another_spelling() {
    let (mut writer, chains) = create(1 << 18, Arc::new(without_case));
    let keys = if cfg!(miri) { 20 } else { 200u64 };
    for n in 0..keys {
        put(&mut writer, format!("key{n:04}").as_bytes(), n + 1, b"value");
    }
    let deleted = keys + 1;
    writer.note_range_delete(deleted);
    chains.order_all();
    let (from, to) = (format!("KEY{:04}", 2), format!("Key{:04}", keys - 3));
    let cover = Cover {
        seqno: deleted,
        from: std::ops::Bound::Excluded(from.as_bytes()),
        to: std::ops::Bound::Included(to.as_bytes()),
    };
    let seen = |chains: &Arc<Chains>| {
        let mut cursor = chains.cursor(u64::MAX);
        cursor.seek(b"KEY0003");
        let mut seen = Vec::new();
        while cursor.valid() && without_case(cursor.key(), to.as_bytes()).is_le() {
            if !cursor.pass_gone(Way::Forward, u64::MAX, Some(cover), None) {
                seen.push(cursor.key().to_vec());
                cursor.next_key();
            }
        }
        seen
    };
    assert!(seen(&chains).is_empty());
    writer.insert(0, b"KEY0005", deleted + 1, DELETED, 0, b"").unwrap();
    assert!(seen(&chains).is_empty());
    put(&mut writer, b"kEy0005", deleted + 2, b"back");
    put(&mut writer, b"keY0009", deleted + 3, b"back");
    assert_eq!(seen(&chains), [b"kEy0005", b"keY0009"]);
}

/// A version, and the versions that it was folded from, newest first.
#[derive(Clone, Debug)]
struct Entry {
    key: Vec<u8>,
    seqno: u64,
    value: Vec<u8>,
    unfolded: Vec<Entry>,
}

impl Entry {
    fn first(&self) -> u64 {
        self.unfolded.last().map_or(self.seqno, Entry::first)
    }

    /// Adds the records for a reader that sees whole folds from `first` to `last` as told.
    fn show(&self, sees_whole: &impl Fn(u64, u64) -> bool, shown: &mut Vec<(Vec<u8>, u64)>) {
        if self.unfolded.is_empty() || sees_whole(self.first(), self.seqno) {
            shown.push((self.key.clone(), self.seqno));
        } else {
            self.unfolded.iter().for_each(|entry| entry.show(sees_whole, shown));
        }
    }
}

/// The entries of each key, newest first, by the key in small letters.
type Model = BTreeMap<Vec<u8>, Vec<Entry>>;

fn shown(model: &Model, max_seqno: u64) -> Vec<(Vec<u8>, u64)> {
    let mut all = Vec::new();
    for entries in model.values() {
        entries.iter().for_each(|entry| entry.show(&|_, last| last <= max_seqno, &mut all));
    }
    all.retain(|(_, seqno)| *seqno <= max_seqno);
    all
}

fn shown_for(model: &Model, snapshots: &[u64]) -> Vec<(Vec<u8>, u64)> {
    let mut all = Vec::new();
    let whole = |first, last| !snapshots.iter().any(|s| (first..last).contains(s));
    for entries in model.values() {
        entries.iter().for_each(|entry| entry.show(&whole, &mut all));
    }
    all
}

struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = xxh3_64(&self.0.to_le_bytes());
        self.0 % end
    }

    /// One of a few dozen keys, some too long for a node, in one of its spellings.
    fn key(&mut self) -> Vec<u8> {
        let n = self.below(40);
        let key = match n % 4 {
            0 => format!("k{n}"),
            1 => format!("user name {n:02}"),
            2 => format!("{n:02}{}", "long key ".repeat(n as usize / 4)),
            _ => String::new(),
        };
        self.spelled(key.as_bytes())
    }

    fn spelled(&mut self, key: &[u8]) -> Vec<u8> {
        let (mostly_small, bits) = (self.below(3) > 0, self.below(u64::MAX));
        let upper = |at: usize| !mostly_small && bits >> (at % 64) & 1 == 1;
        let letters = key.iter().enumerate();
        letters.map(|(at, b)| if upper(at) { b.to_ascii_uppercase() } else { *b }).collect()
    }
}

/// Applies random writes. Compares what finds, cursors in both directions and flushes show with the
/// model.
fn compare_with_model(seed: u64, writes: u64) {
    let mut random = Random(seed);
    let (mut writer, chains) = create(1 << 20, Arc::new(without_case));
    let mut model = Model::new();
    for seqno in 1..=writes {
        let key = random.key();
        let entries = model.entry(key.to_ascii_lowercase()).or_default();
        let value: Vec<u8> = match random.below(3) {
            0 => vec![seqno as u8; random.below(60) as usize],
            _ => seqno.to_le_bytes().to_vec(),
        };
        let floor = random.below(2 * seqno);
        let record = NewRecord { seqno, kind: 2, operator: 0, value: &value };
        let inserted =
            writer.insert_or_fold(0, &key, record, floor, |_: [u8; 8]| Some([7; 8])).unwrap();
        let in_place = entries.first().is_some_and(|newest| {
            newest.key == key
                && newest.unfolded.is_empty()
                && newest.seqno > floor
                && (newest.value.len(), value.len()) == (8, 8)
        });
        assert_eq!(inserted == Inserted::InPlace, in_place, "seed {seed}, write {seqno}");
        if in_place {
            entries[0].value = vec![7; 8];
        } else {
            entries.insert(0, Entry { key: key.clone(), seqno, value, unfolded: Vec::new() });
        }
        let count = (2 + random.below(4) as usize).min(entries.len() - 1);
        if random.below(6) == 0 && count >= 2 {
            let spelled = random.spelled(&key);
            writer.fold_newest(0, &spelled, count, 2, 0, b"folded").unwrap();
            let unfolded: Vec<Entry> = entries.drain(..count).collect();
            let Entry { key, seqno, .. } = unfolded[0].clone();
            entries.insert(0, Entry { key, seqno, value: b"folded".to_vec(), unfolded });
        }
        match random.below(40) {
            0 => chains.order_all(),
            1 => _ = chains.advance_order(),
            2 => check(&chains, &model, seqno, &mut random),
            _ => {}
        }
    }
    check(&chains, &model, writes, &mut random);
    assert_eq!(chains.len(), model.len());
}

fn check(chains: &Arc<Chains>, model: &Model, last: u64, random: &mut Random) {
    let max_seqno = random.below(last + 2);
    let expected = shown(model, max_seqno);
    let mut cursor = chains.cursor(max_seqno);
    assert_eq!(walk(&mut cursor), expected);
    let mut backward = Vec::new();
    cursor.seek_to_last();
    while cursor.valid() {
        backward.push((cursor.key().to_vec(), cursor.seqno()));
        cursor.prev();
    }
    assert!(backward.iter().rev().eq(&expected), "backwards at {max_seqno}");
    for key in model.keys() {
        let versions = expected.iter().filter(|(own, _)| own.to_ascii_lowercase() == *key);
        let node = chains.find(0, &random.spelled(key)).expect("any spelling finds it");
        let found = node.versions(max_seqno).map(|version| version.seqno);
        assert!(found.eq(versions.clone().map(|(_, seqno)| *seqno)), "versions at {max_seqno}");
        cursor.seek(&random.spelled(key));
        if let Some((newest, _)) = versions.clone().next() {
            assert_eq!((cursor.key(), cursor.newest_key(u64::MAX)), (&newest[..], &newest[..]));
        }
    }
    let mut snapshots = [random.below(last + 1), random.below(last + 1)];
    snapshots.sort_unstable();
    let flushed = walk(&mut chains.cursor_for(&snapshots));
    assert_eq!(flushed, shown_for(model, &snapshots), "flushed for {snapshots:?}");
}

#[test]
fn spelled_keys_are_those_of_the_model() {
    let (seeds, writes) = if cfg!(miri) { (2, 60) } else { (60, 1200) };
    for seed in 0..seeds {
        compare_with_model(seed, writes);
    }
}

/// Fills memtables with records of one size. Every spelling is new, so each takes space.
#[test]
fn what_fits_with_spellings_can_be_inserted() {
    for (key_len, value_len) in (0..40).flat_map(|key| (0..40).map(move |value| (key, value))) {
        if cfg!(miri) && (key_len % 9, value_len % 9) != (0, 8) {
            continue;
        }
        let same = |a: &[u8], b: &[u8]| a.len().cmp(&b.len());
        let (mut writer, chains) = create(8 << 10, Arc::new(same));
        let needed = bytes_needed(key_len, value_len);
        let folded = folded_bytes_needed(value_len);
        for n in 1u64.. {
            if !chains.fits(bytes_with_spellings(needed + folded)) {
                break;
            }
            let mut key = vec![0; key_len];
            key.iter_mut().zip(n.to_le_bytes()).for_each(|(to, byte)| *to = byte);
            writer.insert(0, &key, n, 2, 0, &vec![1; value_len]).unwrap();
            if n > 2 {
                writer.fold_newest(0, &key, 2, 2, 0, &vec![1; value_len]).unwrap();
            }
        }
        assert_eq!(chains.len(), 1);
    }
}

/// A search takes few comparisons in whatever order the keys come.
#[test]
#[cfg_attr(miri, ignore = "counts only")]
fn a_search_takes_logarithmic_comparisons() {
    let keys = 1u64 << 16;
    let scattered = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let arrivals: [&dyn Fn(u64) -> u64; 4] =
        [&|n| n, &|n| keys - n, &scattered, &|n| scattered(n % 4) ^ n];
    for arrival in arrivals {
        let compared = Arc::new(AtomicU64::new(0));
        let counts = Arc::clone(&compared);
        let (mut writer, chains) = create(
            64 << 20,
            Arc::new(move |a: &[u8], b: &[u8]| {
                counts.fetch_add(1, Relaxed);
                a.cmp(b)
            }),
        );
        for n in 0..keys {
            put(&mut writer, &arrival(n).to_be_bytes(), n + 1, b"");
        }
        let of_writes = compared.swap(0, Relaxed) / keys;
        for n in 0..keys {
            assert!(chains.find(0, &arrival(n).to_be_bytes()).is_some());
        }
        let of_reads = compared.swap(0, Relaxed) / keys;
        // A balanced tree takes 16, a skiplist about twice as many.
        assert!(of_writes <= 40 && of_reads <= 40, "{of_writes} and {of_reads} comparisons");
        chains.order_all();
        assert_eq!(compared.load(Relaxed), 0, "the list is in order already");
    }
}

/// A panic of the order leaves the memtable as it was, whichever comparison panics.
#[test]
fn an_order_that_panics_changes_nothing() {
    let left = Arc::new(AtomicU64::new(u64::MAX));
    let counts = Arc::clone(&left);
    let (mut writer, chains) = create(
        1 << 18,
        Arc::new(move |a: &[u8], b: &[u8]| {
            assert!(counts.fetch_sub(1, Relaxed) != 0, "one comparison panics");
            without_case(a, b)
        }),
    );
    let keys = if cfg!(miri) { 30 } else { 300u64 };
    let key = |n: u64| format!("key {:03}", n.wrapping_mul(7919) % keys).into_bytes();
    let (mut seqno, mut panics) = (0, 0);
    for round in 0..3 {
        for n in 0..keys {
            left.store((n + round) % 23, Relaxed);
            let (key, before) = (key(n), (chains.records(), chains.bytes_used()));
            let key = if round == 1 { key.to_ascii_uppercase() } else { key };
            let write = || writer.insert(0, &key, seqno + 1, 1, 0, b"value").unwrap();
            if catch_unwind(AssertUnwindSafe(write)).is_err() {
                assert_eq!((chains.records(), chains.bytes_used()), before);
                panics += 1;
                left.store(u64::MAX, Relaxed);
                put(&mut writer, &key, seqno + 1, b"value");
            }
            seqno += 1;
        }
    }
    left.store(u64::MAX, Relaxed);
    assert!(panics > keys / 2, "{panics} panics");
    assert_eq!(chains.len() as u64, keys);
    let all = walk(&mut chains.cursor(u64::MAX));
    assert_eq!(all.len() as u64, 3 * keys);
    assert!(all.is_sorted_by(|(a, newer), (b, older)| {
        without_case(a, b).then(older.cmp(newer)).is_lt()
    }));
}

/// An order that contradicts itself puts keys in wrong places. But writes and reads end, every
/// record is in the list once, and no memory is touched that should not be.
#[test]
fn an_order_that_contradicts_itself_loses_no_record() {
    for mood in 0..4u64 {
        let calls = AtomicU64::new(mood);
        let (mut writer, chains) = create(
            1 << 20,
            Arc::new(move |a: &[u8], b: &[u8]| {
                let n = xxh3_64(&calls.fetch_add(1, Relaxed).to_le_bytes());
                match mood {
                    0 => n.cmp(&(u64::MAX / 2)),
                    1 => Ordering::Less,
                    2 => Ordering::Greater,
                    _ => {
                        if n.is_multiple_of(8) {
                            b.cmp(a)
                        } else {
                            a.cmp(b)
                        }
                    }
                }
            }),
        );
        let writes = if cfg!(miri) { 60 } else { 3000u64 };
        for n in 1..=writes {
            let key = n.wrapping_mul(7919).to_be_bytes();
            put(&mut writer, &key, n, b"value");
            let _any = chains.find(0, &key);
            if n % 100 == 0 {
                let _piece = chains.advance_order();
            }
        }
        chains.order_all();
        let mut all: Vec<u64> =
            walk(&mut chains.cursor(u64::MAX)).into_iter().map(|(_, seqno)| seqno).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(1..=writes), "order {mood}");
    }
}
