//! Slots: blocks that reads find without the cache, and how they leave together with the cache.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::table::data_block::DataBlock;
use crate::table::kept_block::{Held, KeptBlock};
use crate::table::order::KeyOrder;
use crate::table::slots::Home;

const RECORDS: u64 = 4000;

fn key(n: u64) -> Vec<u8> {
    format!("key{n:06}").into_bytes()
}

fn records() -> Vec<Record> {
    (0..RECORDS).map(|n| put(key(n), 1, vec![n as u8; 100])).collect()
}

fn open_in(file: &Arc<MemoryFile>, cache: &Arc<BlockCache>) -> Arc<TableReader> {
    let comparator = Arc::new(BytewiseComparator);
    let file = Arc::clone(file);
    TableReader::open(file, Path::new("t"), FILE_NUMBER, comparator, None, cache.clone()).unwrap()
}

fn check_get(table: &TableReader, n: u64) {
    let found = get(table, &key(n), 1).unwrap();
    assert_eq!(found.len(), 1, "{n}");
    assert_eq!(found[0].value, vec![n as u8; 100]);
}

#[test]
fn a_block_comes_into_its_slot_when_it_is_found_in_the_cache() {
    let (file, _) = build(&records(), options());
    let cache = Arc::new(BlockCache::new(16 << 20));
    let table = open_in(&file, &cache);
    (0..RECORDS).step_by(100).for_each(|n| check_get(&table, n));
    (0..RECORDS).for_each(|n| check_get(&table, n));
    assert_eq!(table.filled_slots(), table.index().len());
    let (blocks, lookups) = (table.index().len() as u64, RECORDS + RECORDS / 100);
    assert_eq!(cache.misses(), blocks, "each block was read once");
    assert!(cache.hits() + cache.misses() >= lookups, "finds in slots count as hits");
}

/// The cache evicts blocks, and a slot kept one of them: memory that no budget counted.
#[test]
fn slots_hold_no_block_that_the_cache_has_evicted() {
    let (file, _) = build(&records(), options());
    let cache = Arc::new(BlockCache::new(100 << 10));
    let tables: Vec<_> = (0..2).map(|_| open_in(&file, &cache)).collect();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let tables = &tables;
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(thread);
                for _ in 0..10_000 {
                    // Both tables find their blocks under the same keys of the cache.
                    let table = &tables[random.usize(..2)];
                    // A few blocks are used often, so some are in slots at any time.
                    let end = if random.bool() { 200 } else { RECORDS };
                    let n = random.u64(..end);
                    check_get(table, n);
                }
            });
        }
    });
    assert!(cache.used_bytes() <= 100 << 10, "{}", cache.used_bytes());
    let filled: usize = tables.iter().map(|table| table.filled_slots()).sum();
    assert!(filled > 0, "slots were in use");
}

#[test]
fn a_lent_block_outlives_its_eviction() {
    let (file, _) = build(&records(), options());
    let cache = Arc::new(BlockCache::new(16 << 20));
    let table = open_in(&file, &cache);
    (0..2).for_each(|_| check_get(&table, 7));
    let mut values = Vec::new();
    table
        .get(&key(7), 1, CursorOptions::default(), |_, value| {
            cache.clear();
            assert_eq!(table.filled_slots(), 0);
            values.push(value.to_value());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(*values[0], [7; 100]);
}

#[test]
fn a_table_that_is_opened_again_finds_its_blocks_in_slots_again() {
    let (file, _) = build(&records(), options());
    let cache = Arc::new(BlockCache::new(16 << 20));
    let table = open_in(&file, &cache);
    (0..RECORDS).for_each(|n| check_get(&table, n));
    drop(table);
    let (loaded, used) = (cache.misses(), cache.used_bytes());
    let table = open_in(&file, &cache);
    (0..RECORDS).for_each(|n| check_get(&table, n));
    assert_eq!((cache.misses(), cache.used_bytes()), (loaded, used));
    assert_eq!(table.filled_slots(), table.index().len());
}

/// A block that was read only through its slot looked unused to the cache, which evicted it.
#[test]
fn a_block_that_is_used_in_its_slot_stays_cached() {
    let (file, _) = build(&records(), options());
    let cache = Arc::new(BlockCache::new(100 << 10));
    let table = open_in(&file, &cache);
    (0..3).for_each(|_| check_get(&table, 0));
    let mut missed = 0;
    for n in (50..RECORDS).step_by(10) {
        check_get(&table, n);
        let before = cache.misses();
        check_get(&table, 0);
        missed += cache.misses() - before;
    }
    assert!(missed < 10, "{missed} of {} reads of a hot block", RECORDS / 10);
}

/// A block that came into a full cache, and was then read only through its slot, was evicted after
/// one round of the cache over its used blocks, however often it was read.
#[test]
fn a_block_that_came_into_a_full_cache_stays_if_it_is_used_in_its_slot() {
    let (file, _) = build(&records(), options());
    let cache = Arc::new(BlockCache::new(100 << 10));
    let table = open_in(&file, &cache);
    // Fills the cache with blocks that reads find a second time, as those of later rounds.
    let mut n = 50;
    let mut round = |reads_between: &dyn Fn()| {
        for _ in 0..100 {
            n = 50 + (n + 10) % (RECORDS - 50);
            (0..2).for_each(|_| check_get(&table, n));
            reads_between();
        }
    };
    round(&|| {});
    let missed = std::cell::Cell::new(0);
    let read_hot = || {
        let before = cache.misses();
        (0..3).for_each(|_| check_get(&table, 0));
        missed.set(missed.get() + cache.misses() - before);
    };
    (0..10).for_each(|_| round(&read_hot));
    assert!(missed.get() < 4, "{} of 3000 reads of a hot block", missed.get());
}

#[test]
fn caches_that_do_not_tell_what_they_drop_have_no_slots() {
    let (file, _) = build(&records(), options());
    let none = Arc::new(BlockCache::new(0));
    let table = open_in(&file, &none);
    (0..3).for_each(|_| check_get(&table, 0));
    assert_eq!(table.filled_slots(), 0);
}

/// Reads race with the close of their table and with evictions, and each finds its value.
#[test]
fn reads_through_slots_race_with_closed_tables() {
    let (file, _) = build(&records(), options());
    let cache = Arc::new(BlockCache::new(100 << 10));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            let (file, cache, done) = (&file, &cache, &done);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(thread);
                while !done.load(Ordering::Relaxed) {
                    let table = open_in(file, cache);
                    (0..500).for_each(|_| check_get(&table, random.u64(..400)));
                }
            });
        }
        let table = open_in(&file, &cache);
        (0..20).for_each(|_| (0..RECORDS).step_by(20).for_each(|n| check_get(&table, n)));
        done.store(true, Ordering::Relaxed);
    });
    assert!(cache.used_bytes() <= 100 << 10);
}

/// The samples of restarts led a search to another record than a walk over all of them.
#[test]
fn a_search_by_samples_finds_what_a_walk_finds() {
    let mut random = fastrand::Rng::with_seed(5);
    for round in 0..300 {
        let prefix = "p".repeat(random.usize(..20));
        let mut keys: Vec<Vec<u8>> = (0..random.usize(1..900))
            .map(|_| {
                let most = if round % 3 == 0 { 4 } else { 12 };
                let len = random.usize(..most);
                let tail = (0..len).map(|_| random.u8(b'a'..b'e')).collect::<Vec<_>>();
                [prefix.as_bytes(), &tail].concat()
            })
            .collect();
        keys.sort();
        let value_len = random.usize(..if round % 2 == 0 { 1 } else { 300 });
        // Several versions of a key may lie on both sides of a restart.
        let mut records: Vec<Record> = Vec::new();
        for key in keys {
            let seqno = match records.last() {
                Some(last) if last.key == key => last.header.seqno - 1,
                _ => 100_000,
            };
            records.push(put(key, seqno, vec![7; value_len]));
        }
        let block_size = random.usize(256..8192);
        let (file, _) = build(&records, TableBuilderOptions { block_size, ..options() });
        let table = open(file).unwrap();
        for blocks in 0..2 {
            for _ in 0..100 {
                let mut target = records[random.usize(..records.len())].key.clone();
                match random.u8(..4) {
                    0 => target.push(random.u8(b'a'..b'e')),
                    1 => target.truncate(random.usize(..=target.len())),
                    2 if !target.is_empty() => {
                        let at = random.usize(..target.len());
                        target[at] = random.u8(b'a'..=b'z');
                    }
                    _ => {}
                }
                let expected = records.iter().find(|record| record.key >= target);
                let mut cursor = TableCursor::new(table.clone(), CursorOptions::default());
                cursor.seek(&target).unwrap();
                assert_eq!(record(&cursor).as_ref(), expected, "round {round}, {blocks}");
                let versions: Vec<_> =
                    records.iter().filter(|record| record.key == target).cloned().collect();
                assert_eq!(get(&table, &target, u64::MAX).unwrap(), versions);
            }
        }
    }
}

/// Blocks of many restarts, and targets that do not begin as all keys do.
#[test]
fn a_block_with_many_restarts_is_searched_through_samples() {
    let order = KeyOrder::new(Arc::new(BytewiseComparator));
    for count in [1, 15, 16, 17, 127, 128, 129, 300, 5000] {
        let keys: Vec<_> = (0..count).map(|n| format!("same{:05}", 2 * n)).collect();
        let block = DataBlock::parse(&encoded(&keys)).unwrap();
        let kept = KeptBlock::new(block, &order, Home::default()).unwrap();
        let held = Held::Kept(Arc::new(kept));
        let near = (0..2 * count).step_by(7).map(|n| format!("same{n:05}"));
        let far = ["", "a", "same", "samf", "sama99", "z", "sa", "same9999999"];
        for target in near.chain(far.map(String::from)) {
            let found = held.seek(target.as_bytes(), &order, &mut Default::default()).unwrap();
            let expected = keys.iter().position(|key| *key >= target);
            let place = found.map(|found| place_of(held.block(), found.at));
            assert_eq!(place, expected, "{count} keys, {target}");
            let equal = found.is_some_and(|found| found.equal);
            assert_eq!(equal, expected.is_some_and(|place| keys[place] == target));
        }
    }
}

/// Returns a sub-block with these keys, and a restart at every third.
fn encoded(keys: &[String]) -> Vec<u8> {
    let (mut bytes, mut restarts) = (Vec::new(), Vec::new());
    for (n, key) in keys.iter().enumerate() {
        let is_restart = n % 3 == 0;
        if is_restart {
            restarts.push(bytes.len() as u32);
        }
        let shared = if is_restart {
            0
        } else {
            crate::encoding::common_prefix(keys[n - 1].as_bytes(), key.as_bytes())
        };
        let mut out = [0; 100];
        let suffix = &key.as_bytes()[shared..];
        let header = header(1, Kind::Put);
        let len = crate::table::entry::encode_entry(&mut out, header, shared, suffix, b"v");
        bytes.extend_from_slice(&out[..len]);
    }
    let count = restarts.len() as u32;
    for number in restarts.into_iter().chain([count]) {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes
}

/// Returns how many records lie before this position.
fn place_of(block: &DataBlock, position: usize) -> usize {
    let (mut at, mut place) = (0, 0);
    while at < position {
        at = block.entry(at).unwrap().end;
        place += 1;
    }
    place
}
