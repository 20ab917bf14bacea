//! Checks the promises of a memtable, case by case.

use std::sync::Arc;

use foldb_chains::{
    ArenaPool, Chains, Full, Inserted, KeyOrder, NewRecord, PinnedBytes, ValueBytes, Writer,
    bytes_needed, folded_bytes_needed,
};
use xxhash_rust::xxh3::xxh3_64;

const PUT: u8 = 1;

fn create(capacity: usize) -> (Writer, Arc<Chains>) {
    Chains::create(&ArenaPool::new(0), capacity, KeyOrder::Bytewise)
}

fn put(writer: &mut Writer, key: &[u8], seqno: u64, value: &[u8]) -> Result<(), Full> {
    writer.insert(xxh3_64(key), key, seqno, PUT, 0, value)
}

fn get(chains: &Chains, key: &[u8], max_seqno: u64) -> Option<Vec<u8>> {
    let node = chains.find(xxh3_64(key), key)?;
    Some(node.versions(max_seqno).next()?.value.to_vec())
}

fn numbered(n: u64) -> [u8; 16] {
    let mut key = *b"key-____________";
    key[8..].copy_from_slice(&n.to_be_bytes());
    key
}

#[test]
fn a_16_byte_key_with_an_8_byte_value_takes_one_node() {
    let (mut writer, chains) = create(1 << 16);
    let before = chains.free_bytes();
    put(&mut writer, &[1; 16], 1, &[2; 8]).unwrap();
    assert_eq!(before - chains.free_bytes(), 64);
    assert_eq!(bytes_needed(16, 8), 64);
    assert_eq!(bytes_needed(24, 8), 64);
    assert_eq!(bytes_needed(25, 8), 64 + 8);
    assert_eq!(bytes_needed(16, 10 << 10), 64 + (10 << 10));
}

/// a.MERGE.1 may one day fold a.MERGE.2 in place by one atomic store: its word is its own.
#[test]
fn h2_small_values_are_aligned_words() {
    let (mut writer, chains) = create(1 << 18);
    for (seqno, (key_len, value_len)) in (1..).step_by(2).zip(
        (0..40).step_by(if cfg!(miri) { 7 } else { 1 }).flat_map(|k| (1..=8).map(move |v| (k, v))),
    ) {
        let key = [(seqno % 251) as u8; 40];
        let key = &key[..key_len];
        put(&mut writer, key, seqno, &[3; 8][..value_len]).unwrap();
        let node = chains.find(xxh3_64(key), key).unwrap();
        match node.versions(u64::MAX).next().unwrap().value {
            ValueBytes::Word(word) => assert_eq!((value_len, word.0), (8, [3; 8])),
            ValueBytes::Lent(bytes) => assert_eq!(bytes.as_ptr().addr() % 8, 0),
        }
        let record = NewRecord { seqno: seqno + 1, kind: PUT, operator: 0, value: &[1; 8] };
        let folded = writer.insert_or_fold(xxh3_64(key), key, record, 0, |word: [u8; 8]| {
            Some(word.map(|b| b + 1))
        });
        assert_eq!(folded == Ok(Inserted::InPlace), value_len == 8, "{key_len} {value_len}");
        if value_len == 8 {
            assert_eq!(get(&chains, key, seqno), Some(vec![4; 8]), "under its first number");
        }
        assert_eq!(node.key(), key);
    }
}

#[test]
fn empty_keys_and_values_are_legal() {
    let (mut writer, chains) = create(1 << 16);
    put(&mut writer, b"", 1, b"").unwrap();
    put(&mut writer, b"", 2, b"x").unwrap();
    put(&mut writer, b"\0", 3, b"").unwrap();
    assert_eq!(get(&chains, b"", 1), Some(vec![]));
    assert_eq!(get(&chains, b"", 9), Some(b"x".to_vec()));
    let mut cursor = chains.cursor(9);
    cursor.seek(b"");
    assert_eq!((cursor.key(), cursor.seqno()), (&b""[..], 2));
    cursor.next_key();
    assert_eq!((cursor.key(), &*cursor.value()), (&b"\0"[..], &b""[..]));
    assert!(cursor.pinned_value().is_empty());
}

#[test]
fn h16_shards_grow_and_lose_nothing() {
    let keys = if cfg!(miri) { 100 } else { 300_000 };
    let (mut writer, chains) = create(keys as usize * 64);
    for n in 1..=keys {
        put(&mut writer, &numbered(n), n, &n.to_le_bytes()).unwrap();
    }
    assert_eq!(chains.len() as u64, keys);
    assert_eq!(chains.free_bytes(), 0);
    assert!(chains.bytes_used() > chains.capacity(), "the index counts, too");
    for n in 1..=keys {
        assert_eq!(get(&chains, &numbered(n), u64::MAX), Some(n.to_le_bytes().to_vec()));
    }
    assert_eq!(get(&chains, &numbered(keys + 1), u64::MAX), None);
}

/// All keys in one shard, all with one tag: the index is slow then, but right, and its part of
/// the arena suffices.
#[test]
fn equal_hashes_only_cost_time() {
    let keys = if cfg!(miri) { 40 } else { 2_000 };
    let (mut writer, chains) = create(keys as usize * 64);
    for n in 1..=keys {
        writer.insert(0, &numbered(n), n, PUT, 0, b"").unwrap();
    }
    for n in 1..=keys {
        assert!(chains.find(0, &numbered(n)).is_some());
    }
}

#[test]
fn a_full_memtable_refuses_and_stays_whole() {
    let (mut writer, chains) = create(64 * 20);
    put(&mut writer, b"first", 1, &[7; 100]).unwrap();
    let mut seqno = 1;
    while chains.fits(bytes_needed(4, 8)) {
        seqno += 1;
        put(&mut writer, &(seqno as u32).to_be_bytes(), seqno, &[seqno as u8; 8]).unwrap();
    }
    let before = format!("{chains:?}");
    assert_eq!(put(&mut writer, b"next", seqno + 1, b""), Err(Full));
    assert_eq!(put(&mut writer, b"first", seqno + 1, &[0; 100]), Err(Full));
    assert_eq!(format!("{chains:?}"), before);
    assert_eq!(get(&chains, b"first", u64::MAX), Some(vec![7; 100]));
    assert_eq!(get(&chains, b"next", u64::MAX), None);
    for seqno in 2..=seqno {
        let key = (seqno as u32).to_be_bytes();
        assert_eq!(get(&chains, &key, u64::MAX), Some(vec![seqno as u8; 8]));
    }
}

#[test]
fn dropped_arenas_are_used_again_and_show_nothing_of_their_past() {
    let pool = ArenaPool::new(1 << 20);
    let (mut writer, chains) = Chains::create(&pool, 1 << 12, KeyOrder::Bytewise);
    put(&mut writer, b"past", 1, b"value").unwrap();
    assert_eq!(pool.pooled_bytes(), 0);
    let cursor = {
        let mut cursor = chains.cursor(1);
        cursor.seek_to_first();
        cursor
    };
    drop((writer, chains));
    assert_eq!(pool.pooled_bytes(), 0, "a cursor keeps the arena");
    assert_eq!(cursor.key(), b"past");
    drop(cursor);
    let pooled = pool.pooled_bytes();
    // Under Miri indexes are so small that all of it may have less.
    assert!(pooled >= if cfg!(miri) { 1 } else { 1 << 12 });

    let (mut writer, chains) = Chains::create(&pool, 1 << 12, KeyOrder::Bytewise);
    assert_eq!(pool.pooled_bytes(), 0);
    assert_eq!(get(&chains, b"past", u64::MAX), None);
    put(&mut writer, b"present", 1, b"value").unwrap();
    let mut cursor = chains.cursor(1);
    cursor.seek_to_last();
    assert_eq!(cursor.key(), b"present");
    let (_, _other_size) = Chains::create(&pool, 1 << 13, KeyOrder::Bytewise);
    drop((writer, chains, cursor));
    assert_eq!(pool.pooled_bytes(), pooled);
}

#[test]
fn a_pool_keeps_no_more_than_it_may() {
    let (writer, chains) = create(1 << 12);
    drop((writer, chains));
    let pool = ArenaPool::new(150 << 10);
    let tables: Vec<_> =
        (0..5).map(|_| Chains::create(&pool, 4 << 10, KeyOrder::Bytewise)).collect();
    drop(tables);
    assert!(pool.pooled_bytes() > 0 && pool.pooled_bytes() <= 150 << 10);
}

/// A pool counts the memory that arenas hold, not the addresses they reserve.
#[test]
fn what_was_never_touched_costs_nothing() {
    let pool = ArenaPool::new(usize::MAX);
    let (writer, chains) = Chains::create(&pool, 16 << 20, KeyOrder::Bytewise);
    assert!(chains.bytes_resident() < 256 << 10, "{}", chains.bytes_resident());
    drop((writer, chains));
    assert!((1..256 << 10).contains(&pool.pooled_bytes()), "{}", pool.pooled_bytes());

    let (mut writer, chains) = Chains::create(&pool, 16 << 20, KeyOrder::Bytewise);
    let keys = if cfg!(miri) { 2_000 } else { 100_000u32 };
    for n in 0..keys {
        put(&mut writer, &n.to_be_bytes(), u64::from(n), &[1; 8]).unwrap();
    }
    let full = chains.bytes_resident();
    assert!((chains.bytes_used()..2 * chains.bytes_used()).contains(&full), "{full}");
    drop((writer, chains));
    assert_eq!(pool.pooled_bytes(), full);
    let (writer, chains) = Chains::create(&pool, 16 << 20, KeyOrder::Bytewise);
    assert_eq!(chains.bytes_resident(), full, "its pages are there already");
    drop((writer, chains));
    pool.trim(full);
    assert_eq!(pool.pooled_bytes(), full);
    pool.trim(full - 1);
    assert_eq!(pool.pooled_bytes(), 0);
}

#[test]
fn h14_pinned_bytes_outlive_everything_else() {
    let (mut writer, chains) = create(1 << 16);
    put(&mut writer, b"key", 1, &[5; 3000]).unwrap();
    let version = chains.find(xxh3_64(b"key"), b"key").unwrap().versions(1).next().unwrap();
    assert_eq!(version.value_len(), 3000);
    let pinned = PinnedBytes::new(&chains, version);
    let clone = pinned.clone();
    drop((writer, chains, pinned));
    let elsewhere = std::thread::spawn(move || clone.to_vec()).join().unwrap();
    assert_eq!(elsewhere, vec![5; 3000]);
}

#[test]
#[should_panic(expected = "only bytes of this memtable")]
fn bytes_of_others_cannot_be_pinned() {
    let (_writer, chains) = create(1 << 12);
    PinnedBytes::pin(&chains, b"static");
}

#[test]
#[should_panic(expected = "is not above 7")]
fn versions_must_ascend() {
    let (mut writer, _) = create(1 << 12);
    put(&mut writer, b"k", 7, b"").unwrap();
    let _ = put(&mut writer, b"k", 7, b"");
}

/// a.PUT.1 b.PUT.2 | cursor at 2 | a.PUT.3 c.PUT.4
#[test]
fn h17_a_cursor_shows_the_past_it_was_created_in() {
    let (mut writer, chains) = create(1 << 16);
    put(&mut writer, b"a", 1, b"").unwrap();
    put(&mut writer, b"b", 2, b"").unwrap();
    let mut cursor = chains.cursor(2);
    put(&mut writer, b"a", 3, b"").unwrap();
    put(&mut writer, b"c", 4, b"").unwrap();
    let mut late = chains.cursor(2); // has c in its list, but no version of it
    for cursor in [&mut cursor, &mut late] {
        cursor.seek_to_first();
        assert_eq!((cursor.key(), cursor.seqno()), (&b"a"[..], 1));
        cursor.next();
        assert_eq!((cursor.key(), cursor.seqno()), (&b"b"[..], 2));
        cursor.next();
        assert!(!cursor.valid());
        cursor.seek_to_last();
        assert_eq!(cursor.key(), b"b");
    }
}

#[test]
fn h17_no_scan_no_sort() {
    let (mut writer, chains) = create(1 << 20);
    let keys = if cfg!(miri) { 50 } else { 1000 };
    for n in 1..=keys {
        put(&mut writer, &numbered(n), n, b"").unwrap();
    }
    assert_eq!(chains.order_bytes(), 0);
    // A prefix and a node. On 32-bit x86 this takes 12 bytes, because `u64` is aligned to 4 there.
    let entry = size_of::<(u64, u32)>() as u64;
    let (entries, samples) = (entry * keys, 8 * keys.div_ceil(32));
    drop(chains.cursor(keys));
    assert_eq!(chains.order_bytes() as u64, entries + samples);
    chains.order_all();
    assert_eq!(chains.order_bytes() as u64, entries + samples);
    assert!(!chains.wants_merge());
}

/// More versions than a quadratic walk would ever get through.
#[test]
fn long_chains_are_walked_backwards_in_linear_time() {
    let versions = if cfg!(miri) { 50 } else { 200_000 };
    let (mut writer, chains) = create(64 + 40 * versions as usize);
    for seqno in 1..=versions {
        put(&mut writer, b"key", seqno, &[1]).unwrap();
    }
    let mut cursor = chains.cursor(versions - 1);
    cursor.seek_to_last();
    for seqno in 1..versions {
        assert_eq!(cursor.seqno(), seqno);
        cursor.prev();
    }
    assert!(!cursor.valid());
    cursor.seek_to_first();
    assert_eq!(cursor.seqno(), versions - 1);
    assert_eq!(cursor.versions().count() as u64, versions - 1);
    let node = chains.find(xxh3_64(b"key"), b"key").unwrap();
    assert_eq!(u64::from(node.version_count()), versions);
}

/// Stretches that cursors leave alone are merged in the background, and nothing changes.
#[test]
fn h17_background_merges_keep_the_order() {
    let keys = if cfg!(miri) { 600 } else { 300_000u64 };
    let (mut writer, chains) = create(keys as usize * 64);
    for n in 1..=keys {
        let scattered = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        put(&mut writer, &scattered.to_be_bytes(), n, b"").unwrap();
        if n % (keys / 6) == 0 {
            drop(chains.cursor(n));
        }
    }
    assert!(chains.wants_merge());
    chains.merge_stretches();
    assert!(!chains.wants_merge());
    let mut cursor = chains.cursor(keys);
    let (mut seen, mut last) = (0, None);
    cursor.seek_to_first();
    while cursor.valid() {
        assert!(last < Some(cursor.key().to_vec()));
        last = Some(cursor.key().to_vec());
        seen += 1;
        cursor.next_key();
    }
    assert_eq!(seen, keys);
}

/// If a thread sorts pieces while the memtable fills, cursors sort little. The flush merges the
/// sorted pieces into its one stretch.
#[test]
fn h17_pieces_are_sorted_while_the_memtable_fills_and_never_again() {
    let keys = if cfg!(miri) { 600 } else { 200_000u64 };
    let piece = if cfg!(miri) { 64 } else { 32 << 10 };
    let (mut writer, chains) = create(keys as usize * 64);
    for n in 1..=keys {
        put(&mut writer, &n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes(), n, b"").unwrap();
        while chains.wants_order() {
            assert!(chains.advance_order());
        }
    }
    assert!(!chains.advance_order(), "less than a piece is left");
    let before = chains.keys_sorted();
    assert!(before <= keys && before + piece > keys, "{before} of {keys} keys");
    let mut cursors = vec![chains.cursor(keys)];
    assert_eq!(chains.keys_sorted(), keys, "the rest, by the first cursor");
    chains.order_all();
    cursors.push(chains.cursor(keys));
    assert_eq!(chains.keys_sorted(), keys, "nothing is sorted twice");
    for cursor in &mut cursors {
        cursor.seek_to_first();
        let mut seen = 0;
        let mut last = Vec::new();
        while cursor.valid() {
            assert!(last.as_slice() < cursor.key());
            last = cursor.key().to_vec();
            seen += 1;
            cursor.next_key();
        }
        assert_eq!(seen, keys);
    }
}

/// A regression test: the first cursor over a million keys sorted all of them, in 36 ms.
#[test]
#[cfg_attr(miri, ignore = "many keys")]
fn the_first_entry_needs_a_few_keys_sorted_however_many_there_are() {
    let keys = 300_000u64;
    let scattered = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let (mut writer, chains) = create(keys as usize * 64);
    for n in 1..=keys {
        put(&mut writer, &scattered(n).to_be_bytes(), n, b"").unwrap();
    }
    let mut all: Vec<[u8; 8]> = (1..=keys).map(|n| scattered(n).to_be_bytes()).collect();
    all.sort_unstable();
    let middle = all.len() / 2;
    let mut sorted = 0;
    let mut check = |key: &[u8], expected: [u8; 8], most: u64| {
        assert_eq!(key, expected);
        let now = chains.keys_sorted();
        let more = now - std::mem::replace(&mut sorted, now);
        assert!(more < most, "{more} keys were sorted for one entry");
    };
    // A share for all readers, and a window.
    let few = 30_000;
    let mut cursor = chains.cursor(keys);
    cursor.seek_to_first();
    check(cursor.key(), all[0], few);
    let mut cursor = chains.cursor(keys);
    cursor.seek_to_last();
    check(cursor.key(), all[all.len() - 1], few);
    let mut cursor = chains.cursor(keys);
    cursor.seek(&all[middle]);
    check(cursor.key(), all[middle], few);
    // Neighbours on both sides are known, too.
    for at in (middle - 500..middle + 500).rev() {
        cursor.seek(&all[at]);
        cursor.prev_key();
        check(cursor.key(), all[at - 1], 1);
    }
    // Cursors that are positioned elsewhere sort their shares, and the last of them what is left.
    for n in 1..40 {
        let at = middle + n * 2500;
        let mut cursor = chains.cursor(keys);
        cursor.seek_before(&all[at]);
        check(cursor.key(), all[at - 1], 64 << 10);
        chains.merge_stretches();
    }
    let before = chains.keys_sorted();
    chains.cursor(keys).seek_to_first();
    assert_eq!(chains.keys_sorted(), before, "nothing is left to sort");
}

/// Keys after the window of a cursor are sorted once, by the walk that needs them.
#[test]
#[cfg_attr(miri, ignore = "many keys")]
fn a_walk_over_keys_that_are_not_sorted_sorts_them_once() {
    let keys = 200_000u64;
    let (mut writer, chains) = create(keys as usize * 64);
    for n in 1..=keys {
        put(&mut writer, &n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes(), n, b"").unwrap();
    }
    let mut cursor = chains.cursor(keys);
    cursor.seek_to_first();
    let (mut seen, mut last) = (0, Vec::new());
    while cursor.valid() {
        assert!(last.as_slice() < cursor.key());
        last.clear();
        last.extend_from_slice(cursor.key());
        seen += 1;
        cursor.next_key();
    }
    assert_eq!(seen, keys);
    let sorted = chains.keys_sorted();
    assert!(sorted < keys + 20_000, "{sorted} keys were sorted, of {keys}");
}

/// Threads that need the order at the same time wait for the one that sorts.
#[test]
#[cfg_attr(miri, ignore = "many keys")]
fn h17_cursors_made_at_once_share_one_sort() {
    let keys = 60_000u64;
    for flushing in [false, true] {
        let (mut writer, chains) = create(keys as usize * 64);
        for n in 1..=keys {
            put(&mut writer, &n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes(), n, b"").unwrap();
        }
        std::thread::scope(|scope| {
            if flushing {
                scope.spawn(|| chains.order_all());
            }
            for _ in 0..8 {
                scope.spawn(|| drop(chains.cursor(keys)));
            }
        });
        assert_eq!(chains.keys_sorted(), keys);
    }
}

/// Creates a cursor every few keys, while a thread merges. The cursors merge the stretches that the
/// thread has not merged yet.
#[test]
#[cfg_attr(miri, ignore = "many keys")]
fn h17_stretches_stay_few_while_a_thread_merges() {
    let keys = 400_000u64;
    let (mut writer, chains) = create(keys as usize * 64);
    let done = std::sync::atomic::AtomicBool::new(false);
    let most = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                chains.advance_order();
                std::thread::yield_now();
            }
        });
        let mut most = 0;
        for n in 1..=keys {
            let key = n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
            put(&mut writer, &key, n, b"").unwrap();
            if n % 40 == 0 {
                most = most.max(chains.cursor(n).stretches());
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        most
    });
    assert!(most <= 24, "a cursor merged {most} stretches");
}

/// k.{80..110} are folded into F.110: a get that began at 100 must not lose 80 to 100.
#[test]
fn h3_a_reader_of_a_part_of_a_fold_sees_unfolded_versions() {
    let (mut writer, chains) = create(1 << 16);
    let hash = xxh3_64(b"k");
    for seqno in 70..=110 {
        put(&mut writer, b"k", seqno, &seqno.to_le_bytes()).unwrap();
    }
    writer.fold_newest(hash, b"k", 31, PUT, 7, b"80 to 110").unwrap();
    for seqno in 111..=120 {
        put(&mut writer, b"k", seqno, &seqno.to_le_bytes()).unwrap();
    }
    let node = chains.find(hash, b"k").unwrap();
    let seqnos = |max_seqno| node.versions(max_seqno).map(|v| v.seqno).collect::<Vec<_>>();
    let down = |from: u64, to: u64| (to..=from).rev().collect::<Vec<_>>();
    for max_seqno in 70..=125 {
        let expected = match max_seqno {
            110.. => [down(max_seqno.min(120), 110), down(79, 70)].concat(),
            _ => down(max_seqno, 70),
        };
        assert_eq!(seqnos(max_seqno), expected, "at {max_seqno}");
        let whole = node.versions(max_seqno).any(|version| version.value == b"80 to 110");
        assert_eq!(whole, max_seqno >= 110);
    }
    assert_eq!(node.version_count(), 51, "what was folded counts, the fold does not");
}

/// A flush gives each snapshot its part.
#[test]
fn h3_flushes_show_what_every_snapshot_sees() {
    let (mut writer, chains) = create(1 << 16);
    let hash = xxh3_64(b"k");
    for seqno in 1..=20 {
        put(&mut writer, b"k", seqno, b"").unwrap();
        if seqno % 5 == 0 {
            let count = if seqno == 5 { 4 } else { 5 };
            writer.fold_newest(hash, b"k", count, PUT, 0, b"five").unwrap();
        }
    }
    writer.fold_newest(hash, b"k", 4, PUT, 0, b"twenty").unwrap();
    let shown = |snapshots: &[u64]| {
        let mut cursor = chains.cursor_for(snapshots);
        cursor.seek_to_first();
        let mut shown = Vec::new();
        while cursor.valid() {
            shown.push(cursor.seqno());
            cursor.next();
        }
        shown
    };
    assert_eq!(shown(&[]), [20, 1]);
    assert_eq!(shown(&[1, 20]), [20, 1], "they see all of it or nothing");
    assert_eq!(shown(&[10]), [20, 15, 10, 5, 1]);
    assert_eq!(shown(&[12]), [20, 15, 14, 13, 12, 11, 10, 5, 1]);
    assert_eq!(shown(&[2, 19]), [20, 19, 18, 17, 16, 15, 10, 5, 4, 3, 2, 1]);
}

#[test]
fn a_full_memtable_refuses_to_fold_and_stays_whole() {
    let (mut writer, chains) = create(64 * 4);
    for seqno in 1..=5 {
        put(&mut writer, b"k", seqno, &[seqno as u8; 8]).unwrap();
    }
    let refused = writer.fold_newest(xxh3_64(b"k"), b"k", 3, PUT, 0, &[0; 100]);
    assert_eq!(refused, Err(Full));
    assert_eq!(get(&chains, b"k", 9), Some(vec![5; 8]));
    assert!(!chains.fits(folded_bytes_needed(100)));
}

#[test]
#[should_panic(expected = "the oldest version is never folded")]
fn the_version_inside_the_node_stays() {
    let (mut writer, _chains) = create(1 << 12);
    put(&mut writer, b"k", 1, b"").unwrap();
    put(&mut writer, b"k", 2, b"").unwrap();
    let _ = writer.fold_newest(xxh3_64(b"k"), b"k", 2, PUT, 0, b"");
}

/// Makes enough keys, with chains of different lengths, that a walk prefetches. The walk must show
/// the same keys in both directions, after a turn, and while the chains grow.
#[test]
fn a_walk_shows_the_same_whatever_it_fetches_ahead() {
    let keys = if cfg!(miri) { 50 } else { 300u64 };
    let (mut writer, chains) = create(1 << 22);
    let mut seqno = 0;
    for round in 0..20 {
        for n in (0..keys).filter(|n| round <= n % 20) {
            seqno += 1;
            let value = [round as u8; 100];
            put(&mut writer, &numbered(n * 7919 % keys), seqno, &value[..(n % 100) as usize])
                .unwrap();
        }
    }
    let shown = |cursor: &foldb_chains::Cursor| -> (Vec<u8>, Vec<(u64, Vec<u8>)>) {
        let versions = cursor.versions().map(|version| (version.seqno, version.value.to_vec()));
        (cursor.key().to_vec(), versions.collect())
    };
    let expected: Vec<_> = (0..keys)
        .map(|n| {
            let node = chains.find(xxh3_64(&numbered(n)), &numbered(n)).unwrap();
            let versions = node.versions(seqno).map(|v| (v.seqno, v.value.to_vec()));
            (numbered(n).to_vec(), versions.collect::<Vec<_>>())
        })
        .collect();
    let mut cursor = chains.cursor(seqno);
    cursor.seek_to_first();
    for (n, expected) in (0..).zip(&expected) {
        assert_eq!(shown(&cursor), *expected);
        cursor.looked_at(expected.1.len());
        put(&mut writer, &numbered((n + 20) % keys), seqno + 1 + n, b"later").unwrap();
        cursor.next_key();
    }
    assert!(!cursor.valid());
    cursor.seek_to_last();
    for expected in expected.iter().rev() {
        assert_eq!(shown(&cursor), *expected);
        cursor.looked_at(expected.1.len());
        cursor.prev_key();
    }
    assert!(!cursor.valid());
    for from in [0, keys / 2] {
        cursor.seek(&numbered(from));
        for n in from..from + 30.min(keys - from - 1) {
            assert_eq!(shown(&cursor), expected[n as usize]);
            cursor.next_key();
        }
        for n in (from..=from + 30.min(keys - from - 1)).rev() {
            assert_eq!(shown(&cursor), expected[n as usize]);
            cursor.prev_key();
        }
    }
}

#[test]
fn a_pin_moves_within_its_memtable_and_lets_go_of_another() {
    let (mut first, chains) = create(1 << 16);
    let (mut second, others) = create(1 << 16);
    put(&mut first, b"a", 1, &[1; 40]).unwrap();
    put(&mut first, b"b", 2, &[2; 40]).unwrap();
    put(&mut second, b"c", 3, &[3; 40]).unwrap();
    let value = |chains: &Arc<Chains>, key: &[u8]| {
        let node = chains.find(xxh3_64(key), key).unwrap();
        PinnedBytes::new(chains, node.versions(9).next().unwrap())
    };
    let mut pinned = value(&chains, b"a");
    let kept = pinned.clone();
    pinned.pin_other(&chains, &value(&chains, b"b"));
    assert_eq!((&*kept, &*pinned), (&[1; 40][..], &[2; 40][..]));
    pinned.pin_other(&others, &value(&others, b"c"));
    drop((first, second));
    let alone = Arc::strong_count(&chains);
    drop((chains, others));
    assert_eq!(alone, 2, "the memtable itself and `kept`");
    assert_eq!((&*kept, &*pinned), (&[1; 40][..], &[3; 40][..]));
}

#[test]
#[should_panic(expected = "only bytes of this memtable")]
fn a_pin_does_not_move_to_bytes_outside() {
    let (mut writer, chains) = create(1 << 16);
    put(&mut writer, b"a", 1, &[1; 40]).unwrap();
    let node = chains.find(xxh3_64(b"a"), b"a").unwrap();
    let mut pinned = PinnedBytes::new(&chains, node.versions(9).next().unwrap());
    pinned.pin_other(&chains, &[0; 40]);
}

/// A regression test: a comparison that panicked during a sort left the lock poisoned. Later
/// cursors then took the lock for held, and each sorted all keys for itself: 200 ms for 200 000
/// keys.
#[test]
fn a_comparison_that_panics_once_costs_later_cursors_nothing() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    let compared = Arc::new(AtomicU64::new(0));
    let panics_at = Arc::new(AtomicU64::new(500));
    let (counts, limit) = (Arc::clone(&compared), Arc::clone(&panics_at));
    let order = KeyOrder::Custom(Arc::new(move |a: &[u8], b: &[u8]| {
        assert_ne!(counts.fetch_add(1, Relaxed), limit.load(Relaxed), "one comparison panics");
        b.cmp(a)
    }));
    let pool = ArenaPool::new(0);
    let (mut writer, chains) = Chains::create(&pool, 1 << 20, order);
    for n in 0..1000u32 {
        put(&mut writer, &n.wrapping_mul(0x9e37_79b9).to_be_bytes(), u64::from(n) + 1, b"")
            .unwrap();
    }
    assert!(catch_unwind(AssertUnwindSafe(|| chains.cursor(2000))).is_err());
    panics_at.store(u64::MAX, Relaxed);
    let mut cursor = chains.cursor(2000);
    let sorted = compared.load(Relaxed);
    for _ in 0..10 {
        drop(chains.cursor(2000));
    }
    assert_eq!(compared.load(Relaxed), sorted, "the first cursor sorted for all");
    cursor.seek_to_first();
    let mut last = cursor.key().to_vec();
    let mut count = 1;
    cursor.next();
    while cursor.valid() {
        assert!(cursor.key() < &last[..], "in the order given");
        last = cursor.key().to_vec();
        count += 1;
        cursor.next();
    }
    assert_eq!(count, 1000);
}
