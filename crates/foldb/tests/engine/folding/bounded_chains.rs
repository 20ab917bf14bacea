//! Tests that chains stay short however often a key is merged. Only the time of a read shows the
//! length of a chain.
//!
//! Hazards H2, H3, H5, H9 and H14, as far as they concern folds in the memtable. Histories are
//! written as in `hazards.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use foldb::env::mem::{Fault, Operation};
use foldb::env::{Env, MemFs};
use foldb::operators::Operator;
use foldb::{Db, KeyspaceOptions, Options, Snapshot, WriteBatch};

use crate::support;
use crate::support::{PATH, count, number, open, options, reopen, text};

/// Returns how many operands a read of the key folds.
fn chain_len(db: &Db, key: &str) -> usize {
    db.get_operands(key).unwrap().len()
}

/// Opens a database with space for a million merges.
fn roomy(fs: &MemFs) -> Db {
    Db::open(PATH, Options { write_buffer_size: 256 << 20, ..options(fs) }).unwrap()
}

#[test]
fn h02_a_counter_that_no_reader_pins_is_one_record() {
    let db = open(&MemFs::new()).unwrap();
    for n in 1..=1000 {
        db.merge("a", number(1)).unwrap();
        // A get does not pin.
        assert_eq!(count(&db, "a"), n);
    }
    assert_eq!(chain_len(&db, "a"), 1);
    assert_eq!(db.stats().merges, 1000);
}

/// The memtable of a keyspace of its own is smaller than the write buffer. The writer stopped
/// folding once records and index together were as large as the space for records.
#[test]
fn a_counter_stays_short_until_the_memtable_of_its_keyspace_is_full() {
    let buffer = Options { write_buffer_size: 4 << 20, ..options(&MemFs::new()) };
    let db = Db::open(PATH, buffer).unwrap();
    let counts = KeyspaceOptions::with_operator("uint64add");
    let counts = db.create_keyspace("counts", counts).unwrap();
    let mut longest = 0;
    for n in 0..40_000_u64 {
        let mut batch = WriteBatch::new();
        batch.put_in(&counts, n.to_be_bytes(), "").merge_in(&counts, "all", number(1));
        db.write(&batch).unwrap();
        if n % 500 == 0 {
            longest = longest.max(counts.get_operands("all").unwrap().len());
        }
    }
    // In the memtable, in sealed ones, and in tables.
    assert!(longest <= 300, "{longest} records, {} flushes", db.stats().flushes);
}

/// A reader pins S = 100, then the writer folds op 101 into a.MERGE.90: a second read at 100 would
/// see 101.
#[test]
fn h02_two_reads_at_one_snapshot_see_the_same() {
    let db = open(&MemFs::new()).unwrap();
    let add = |times: u64| (0..times).for_each(|_| db.merge("a", number(1)).unwrap());
    add(10);
    let snapshot = db.snapshot();
    let mut iter = db.iter().unwrap();
    add(10);
    let mut later = db.iter().unwrap();
    let between = db.snapshot();
    add(10);
    let check = || {
        assert_eq!(snapshot.get("a").unwrap().unwrap(), number(10));
        assert_eq!(between.get("a").unwrap().unwrap(), number(20));
        assert_eq!(count(&db, "a"), 30);
    };
    check();
    for (iter, expected) in [(&mut iter, 10), (&mut later, 20)] {
        assert!(iter.seek_to_last().unwrap());
        assert_eq!(*iter.value().unwrap(), number(expected));
    }
    assert_eq!(chain_len(&db, "a"), 3, "one record for each pinned moment");
    db.flush().unwrap();
    check();
    drop((snapshot.clone(), iter, later));
    db.compact(..).unwrap();
    check();
}

/// Reads of several keys, and reads of a chain, pin as a snapshot does.
#[test]
fn h02_multi_get_and_get_operands_pin() {
    let db = open(&MemFs::new()).unwrap();
    for expected in 1..=5 {
        db.merge("a", number(1)).unwrap();
        db.merge("a", number(1)).unwrap();
        if expected % 2 == 0 {
            db.multi_get(["a", "b"]).unwrap();
        } else {
            db.get_operands("a").unwrap();
        }
    }
    assert_eq!(chain_len(&db, "a"), 5);
    assert_eq!(count(&db, "a"), 10);
}

/// Batch {a += 1, b += 1}: no reader may see half of it, however it is folded.
#[test]
fn h02_batches_are_seen_whole_while_single_merges_fold_in_place() {
    let db = roomy(&MemFs::new());
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (db, done) = (db.clone(), Arc::clone(&done));
            thread::spawn(move || {
                while !done.load(Ordering::Acquire) {
                    let [a, b]: [_; 2] = db.multi_get(["a", "b"]).unwrap().try_into().unwrap();
                    let (a, b) = (a.unwrap(), b.unwrap());
                    assert_eq!(a, b, "a reader saw half a batch");
                    let snapshot = db.snapshot();
                    let before = snapshot.get("c").unwrap();
                    thread::yield_now();
                    assert_eq!(snapshot.get("c").unwrap(), before, "a snapshot changed");
                    assert_eq!(snapshot.get("a").unwrap(), snapshot.get("b").unwrap());
                }
            })
        })
        .collect();
    let rounds = 3000;
    for _ in 0..rounds {
        let mut batch = WriteBatch::new();
        batch.merge("a", number(1)).merge("b", number(1)).merge("a", number(1));
        batch.merge("b", number(1));
        db.write(&batch).unwrap();
        (0..5).for_each(|_| db.merge("c", number(1)).unwrap());
    }
    done.store(true, Ordering::Release);
    readers.into_iter().for_each(|reader| reader.join().unwrap());
    assert_eq!((count(&db, "a"), count(&db, "b")), (2 * rounds, 2 * rounds));
    assert_eq!(count(&db, "c"), 5 * rounds);
}

/// k.MERGE.1 stays below k.PUT, other operators and deletes: only the newest record changes.
#[test]
fn h02_only_an_operand_of_the_same_operator_is_folded_in_place() {
    let db = open(&MemFs::new()).unwrap();
    let max = db.operator("uint64max").unwrap();
    db.put("a", number(10)).unwrap();
    db.merge("a", number(1)).unwrap();
    db.merge_with(&max, "a", number(100)).unwrap();
    db.merge_with(&max, "a", number(50)).unwrap();
    db.merge("a", number(1)).unwrap();
    db.merge("a", number(1)).unwrap();
    assert_eq!(count(&db, "a"), 102);
    assert_eq!(chain_len(&db, "a"), 3);
    db.delete("a").unwrap();
    db.merge("a", number(7)).unwrap();
    assert_eq!(count(&db, "a"), 7);
    db.put("a", number(1)).unwrap();
    db.merge("a", number(1)).unwrap();
    db.merge("a", number(1)).unwrap();
    assert_eq!(count(&db, "a"), 3);
}

/// k.MERGE.90 absorbed 101 in place. Its table says 90, but replay must skip all that was applied.
#[test]
fn h05_what_was_absorbed_in_place_is_not_replayed_after_its_flush() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    for _ in 0..12 {
        db.merge("k", number(1)).unwrap();
    }
    assert_eq!(chain_len(&db, "k"), 1);
    // The log stays behind, as if the crash came before its removal.
    fs.inject(Fault::on(Operation::Remove).path(".log").forever());
    db.flush().unwrap();
    for survivor in [fs.kill(), fs.crash(), fs.kill().kill()] {
        assert_eq!(count(&reopen(&survivor).unwrap(), "k"), 12);
    }
    db.merge("k", number(1)).unwrap();
    db.sync().unwrap();
    for survivor in [fs.kill(), fs.crash()] {
        assert_eq!(count(&reopen(&survivor).unwrap(), "k"), 13);
    }
}

/// A value that was read keeps its bytes, though its record changes.
#[test]
fn h14_a_value_is_a_copy_of_what_may_change() {
    let db = open(&MemFs::new()).unwrap();
    db.merge("a", number(1)).unwrap();
    let value = db.get("a").unwrap().unwrap();
    db.merge("a", number(1)).unwrap();
    assert_eq!(value, number(1));
    assert_eq!(count(&db, "a"), 2);
}

/// Snapshots all along a chain that is folded by sixteens again and again. Each finds its part: in
/// the memtable, through iterators both ways, and in tables.
#[test]
fn h03_every_snapshot_finds_its_part_of_a_folded_chain() {
    let fs = MemFs::new();
    let db = roomy(&fs);
    let list = db.operator("append").unwrap();
    let snapshots: Vec<(usize, Snapshot)> = (1..=600usize)
        .filter_map(|n| {
            db.merge_with(&list, "k", [b'a' + (n % 26) as u8]).unwrap();
            (n % 7 == 0 || n > 580).then(|| (n, db.snapshot()))
        })
        .collect();
    let whole: Vec<u8> = (1..=600usize).map(|n| b'a' + (n % 26) as u8).collect();
    let check = |db: &Db| {
        for (n, snapshot) in &snapshots {
            assert_eq!(snapshot.get("k").unwrap().unwrap(), whole[..*n], "at {n}");
            let mut iter = snapshot.iter().unwrap();
            assert!(iter.seek_to_last().unwrap());
            assert_eq!(*iter.value().unwrap(), whole[..*n], "backwards at {n}");
            assert!(iter.seek_to_first().unwrap());
            assert_eq!(*iter.value().unwrap(), whole[..*n], "forwards at {n}");
        }
        assert_eq!(db.get("k").unwrap().unwrap(), whole[..]);
    };
    let length = chain_len(&db, "k");
    assert!(length <= 45, "snapshots keep {length} operands apart");
    check(&db);
    db.flush().unwrap();
    check(&db);
    db.compact(..).unwrap();
    check(&db);
    drop(snapshots);
    db.merge_with(&list, "k", "!").unwrap();
    db.compact(..).unwrap();
    assert_eq!(chain_len(&db, "k"), 0, "nothing keeps them apart any more");
    assert_eq!(db.get("k").unwrap().unwrap().len(), 601);
}

/// Alternating operators do not fold, and lose nothing.
#[test]
fn h09_what_does_not_fold_is_kept() {
    let db = open(&MemFs::new()).unwrap();
    let (a, b) = (db.operator("append").unwrap(), db.operator("stringappend:,").unwrap());
    for _ in 0..100 {
        db.merge_with(&a, "k", "x").unwrap();
        db.merge_with(&b, "k", "y").unwrap();
    }
    assert_eq!(chain_len(&db, "k"), 200);
    assert_eq!(text(&db, "k").unwrap(), format!("x{}", ",yx".repeat(99) + ",y"));
    let sums = db.operator("float64add").unwrap();
    for _ in 0..100 {
        db.merge_with(&sums, "f", 0.5f64.to_le_bytes()).unwrap();
    }
    assert_eq!(chain_len(&db, "f"), 100, "sums of fractions need their base");
    assert_eq!(db.get("f").unwrap().unwrap(), 50f64.to_le_bytes());
}

/// A batch that just fits is applied whole, though no space is left for folds.
#[test]
fn h09_folds_take_no_room_that_a_batch_needs() {
    for write_buffer_size in [4096, 8192, 16_384] {
        let db = Db::open(PATH, Options { write_buffer_size, ..options(&MemFs::new()) }).unwrap();
        let list = db.operator("append").unwrap();
        let mut expected = String::new();
        for len in [10, 50, 100, 170, 200] {
            let mut batch = WriteBatch::new();
            for n in 0..len {
                let operand = (n % 10).to_string().repeat(20);
                expected.push_str(&operand);
                batch.merge_with(&list, "k", operand);
            }
            db.write(&batch).unwrap();
            assert_eq!(text(&db, "k").unwrap(), expected);
        }
    }
}

/// Folding n operands again at every cap would copy n * n / cap bytes: 78 GB for a million of 10
/// bytes.
#[test]
fn h09_appends_take_memory_in_proportion_to_their_number() {
    let db = roomy(&MemFs::new());
    let list = db.operator("append").unwrap();
    let before = db.stats().memtable_bytes;
    let appends = 300_000;
    for _ in 0..appends {
        db.merge_with(&list, "k", "0123456789").unwrap();
    }
    let each = (db.stats().memtable_bytes - before) / appends;
    println!("{each} bytes for each append of 10");
    assert!(each <= 80, "{each} bytes an append");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn time_of_gets(db: &Db, key: &str, gets: usize) -> Duration {
    median((0..gets).map(|_| time_of(|| db.get(key).unwrap())).collect())
}

fn time_of<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    std::hint::black_box(work());
    start.elapsed()
}

fn append_many(db: &Db, list: &Operator, appends: usize) {
    for _ in 0..appends {
        db.merge_with(list, "k", "0123456789").unwrap();
    }
}

/// Reads must not slow down as operands pile up. A read costs a fixed multiple of copying its
/// value, whether that came in 250 thousand pieces or in a million. This holds in the memtable and
/// in a table that is not cached.
#[test]
fn ask_1_a_key_of_a_million_appends_reads_in_linear_time() {
    for appends in [250_000, 1_000_000] {
        let options = Options { block_cache_size: 0, ..options(&MemFs::new()) };
        let db = Db::open(PATH, Options { write_buffer_size: 256 << 20, ..options }).unwrap();
        let list = db.operator("append").unwrap();
        append_many(&db, &list, appends);
        let value = db.get("k").unwrap().unwrap();
        assert_eq!(value.len(), 10 * appends);
        let copy = median((0..9).map(|_| time_of(|| value.to_vec())).collect());
        let in_memory = time_of_gets(&db, "k", 9);
        let records = chain_len(&db, "k");
        db.flush().unwrap();
        assert_eq!(db.get("k").unwrap().unwrap(), value);
        let in_table = time_of_gets(&db, "k", 9);
        println!(
            "{appends}: {records} records, {in_memory:?}, flushed {in_table:?}, copy {copy:?}"
        );
        assert!(records <= appends / 200, "{records} records are left of {appends}");
        // Searching each piece anew, or folding folds, would cost far more. The table's bytes are
        // checked and decompressed, by code that is hardly optimized here.
        assert!(in_memory < copy * 50 + Duration::from_millis(5), "{in_memory:?}");
        assert!(in_table < copy * 200 + Duration::from_millis(20), "{in_table:?}");
    }
}

/// A million counter merges on one key, with a snapshot after every thousandth: kept, dropped at
/// once, or none taken.
#[test]
fn ask_1_a_key_of_a_million_merges_reads_at_once() {
    for (every, keep) in [(0, false), (1000, false), (1000, true)] {
        let db = roomy(&MemFs::new());
        let mut kept = Vec::new();
        for n in 1..=1_000_000u64 {
            db.merge("k", number(1)).unwrap();
            if every > 0 && n % every == 0 {
                let snapshot = db.snapshot();
                if keep {
                    kept.push((n, snapshot));
                }
            }
        }
        let time = time_of_gets(&db, "k", 1001);
        let records = chain_len(&db, "k");
        println!("snapshots every {every}, kept: {keep}: {records} records, {time:?}");
        assert!(records <= 45, "{records} records are left of a million merges");
        // 10 µs in optimized code on an idle machine.
        assert!(time < Duration::from_micros(100), "a read takes {time:?}");
        assert_eq!(count(&db, "k"), 1_000_000);
        for (n, snapshot) in &kept {
            assert_eq!(snapshot.get("k").unwrap().unwrap(), number(*n));
        }
        db.flush().unwrap();
        for (n, snapshot) in kept.iter().step_by(37) {
            assert_eq!(snapshot.get("k").unwrap().unwrap(), number(*n));
        }
        assert_eq!(count(&db, "k"), 1_000_000);
    }
}

/// Snapshots must stay exact through folding, and folding must catch up after they are released.
#[test]
fn ask_11_folding_catches_up_when_snapshots_are_released() {
    let db = roomy(&MemFs::new());
    for n in 1..=100u64 {
        let snapshot = db.snapshot();
        db.merge("k", number(1)).unwrap();
        drop(snapshot);
        assert_eq!(count(&db, "k"), n);
    }
    assert!(chain_len(&db, "k") <= 30, "{} records", chain_len(&db, "k"));
    for _ in 0..100 {
        db.merge("k", number(1)).unwrap();
    }
    db.flush().unwrap();
    assert!(chain_len(&db, "k") <= 1, "{} records in the table", chain_len(&db, "k"));
    assert_eq!(count(&db, "k"), 200);
}

/// An operator panics when it folds words: the merge is accepted, and the key reads as before.
#[test]
fn a_panic_while_folding_in_place_is_caught() {
    use foldb::operators::{Full, MergeOperator};

    #[derive(Debug)]
    struct Shy;

    impl MergeOperator for Shy {
        fn name(&self) -> &str {
            "test.shy"
        }

        fn full(&self, _: &[u8], _: Option<&[u8]>, operands: &[&[u8]], _: &mut Vec<u8>) -> Full {
            Full::Operand(operands.len() - 1)
        }

        fn fold_word(&self, _: [u8; 8], _: [u8; 8]) -> Option<[u8; 8]> {
            panic!("not in front of others")
        }
    }

    let env = Env::in_memory(MemFs::new());
    let operators: Vec<Arc<dyn MergeOperator>> = vec![Arc::new(Shy)];
    let options = Options { create_if_missing: true, env, operators, ..Options::default() };
    let db = Db::open(PATH, options).unwrap();
    let shy = db.operator("test.shy").unwrap();
    support::quiet::catch(|| {
        for n in 0..3 {
            db.merge_with(&shy, "k", number(n)).unwrap();
        }
        assert_eq!(db.get("k").unwrap().unwrap(), number(2));
        let snapshot = db.snapshot();
        db.merge_with(&shy, "k", number(9)).unwrap();
        assert_eq!(snapshot.get("k").unwrap().unwrap(), number(2));
    })
    .unwrap();
}
