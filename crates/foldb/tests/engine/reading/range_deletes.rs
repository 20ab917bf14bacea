//! Hazard H10: tests range deletes in logs, memtables, flushes, tables, compactions, replay and
//! reads.
//!
//! Histories are written `key.KIND.seqno(operand)`, range deletes `[a, f).RDEL.seqno`. The sequence
//! numbers follow from the order of the writes.

use std::ops::Bound;
use std::time::{Duration, Instant};

use foldb::custom::Comparator;
use foldb::env::MemFs;
use foldb::operators::{Base, Operator};
use foldb::{
    BatchOp, CompactionPreset, Db, ErrorKind, KeyspaceOptions, Options, ReadOptions, Snapshot,
    WriteBatch, WriteOptions,
};

use crate::support::orders::Descending;
use crate::support::{
    PATH, PRESETS, assert_error, count, number, open, options, reopen, sliced, steps, text,
};

fn key(n: usize) -> String {
    format!("key-{n:04}")
}

fn list(db: &Db) -> Operator {
    db.operator("stringappend:,").unwrap()
}

/// Returns all entries as text, forwards, after checking that they are the same backwards.
fn scan(db: &Db) -> String {
    let show = |entry: foldb::Result<(Vec<u8>, foldb::Value)>| {
        let (key, value) = entry.unwrap();
        format!("{}={}", key.escape_ascii(), value.escape_ascii())
    };
    let forwards: Vec<_> = db.iter().unwrap().map(show).collect();
    let mut backwards: Vec<_> = db.iter().unwrap().rev().map(show).collect();
    backwards.reverse();
    assert_eq!(forwards, backwards);
    forwards.join(" ")
}

/// `[a, z).RDEL` above, points below it: a slice `[a, m)` takes the points down. If the whole
/// tombstone stayed above, it would lie over the newer k.MERGE. A reader that trusts levels would
/// then delete that record.
#[test]
fn h10_tombstones_are_compared_by_seqno_not_by_level() {
    for preset in PRESETS {
        let fs = MemFs::new();
        let db = Db::open(PATH, sliced(&fs, preset)).unwrap();
        for n in 0..300 {
            db.put(key(n), number(10)).unwrap();
        }
        db.flush().unwrap();
        steps::run_background(&db, |_| {});
        db.delete_range(key(0)..key(300)).unwrap();
        db.flush().unwrap();
        for _ in 0..3 {
            for n in 0..300 {
                db.merge(key(n), number(1)).unwrap();
            }
            db.flush().unwrap();
        }
        let slices_before = db.stats().compaction_slices;
        steps::run_background(&db, |step| {
            for n in 0..300 {
                assert_eq!(count(&db, &key(n)), 3, "{preset:?}: {} after slice {step}", key(n));
            }
            let scanned: Vec<_> = db.iter().unwrap().map(|entry| entry.unwrap().1).collect();
            assert_eq!(scanned.len(), 300, "{preset:?}: after slice {step}");
            assert!(scanned.iter().all(|value| *value == number(3)), "{preset:?}: a scan");
            let survivor = Db::open(PATH, sliced(&fs.crash(), preset)).unwrap();
            assert_eq!(count(&survivor, &key(7)), 3, "{preset:?}: crash after slice {step}");
            assert_eq!(count(&survivor, &key(113)), 3, "{preset:?}: crash after slice {step}");
        });
        let slices = db.stats().compaction_slices - slices_before;
        assert!(slices > 3, "{preset:?}: only {slices} slices are too few to test anything");
        db.verify().unwrap();
    }
}

/// Outputs [a..e] and [h..m] of one job over `[a, z).RDEL`. If the tombstone were clipped to the
/// tables' keys, the keys f and g between the two would come back from below.
#[test]
fn h10_no_key_falls_between_two_outputs() {
    for preset in PRESETS {
        let fs = MemFs::new();
        let db = Db::open(PATH, sliced(&fs, preset)).unwrap();
        for n in 0..200 {
            db.put(key(n), "old").unwrap();
        }
        db.flush().unwrap();
        db.compact(..).unwrap();
        let before = db.snapshot();
        db.delete_range(key(0)..).unwrap();
        // Every fourth key is written again, so the outputs have gaps between them.
        for n in (0..200).step_by(4) {
            db.put(key(n), "a new value of some length").unwrap();
        }
        let check = |when: &str| {
            for n in 0..200 {
                assert_eq!(text(&db, &key(n)).is_some(), n % 4 == 0, "{preset:?} {when}: {n}");
                let old = before.get(key(n)).unwrap();
                assert_eq!(old.unwrap(), b"old", "{preset:?} {when}: {n} before");
            }
            assert_eq!(db.iter().unwrap().count(), 50, "{preset:?} {when}");
            assert_eq!(before.iter().unwrap().count(), 200, "{preset:?} {when}");
        };
        check("in the memtable");
        db.flush().unwrap();
        check("flushed");
        steps::run_background(&db, |step| check(&format!("after step {step}")));
        db.compact(..).unwrap();
        check("compacted under a snapshot");
        db.verify().unwrap();
    }
}

/// a.MERGE.90, `[a, z).RDEL`.95, a.MERGE.101. If 101 folded onto 90, in place or by a flush, the
/// range delete would delete it, or 90 would come back.
#[test]
fn h10_folds_stop_at_a_range_delete_between_two_operands() {
    let db = open(&MemFs::new()).unwrap();
    let list = list(&db);
    let write = |what: &str| db.merge_with(&list, "a", what).unwrap();
    write("1");
    write("2");
    db.delete_range("a".."z").unwrap();
    write("3");
    assert_eq!(text(&db, "a").unwrap(), "3");
    let snapshot = db.snapshot();
    db.delete_range(..="a").unwrap();
    write("4");
    write("5");
    let check = |when: &str| {
        assert_eq!(text(&db, "a").unwrap(), "4,5", "{when}");
        assert_eq!(snapshot.get("a").unwrap().unwrap(), b"3", "{when}");
    };
    check("in the memtable");
    db.flush().unwrap();
    check("flushed");
    db.compact(..).unwrap();
    check("compacted");
    let chain = db.get_operands("a").unwrap();
    assert!(chain.is_empty() || *chain.base() == Base::Deleted);
}

/// a.MERGE.90, `[a, b).RDEL`.95, a.MERGE.101 of an operator that folds in place, and of long chains
/// that fold in the memtable. An operand folded onto a record that a range delete ends would be
/// deleted with it.
#[test]
fn h10_nothing_folds_in_the_memtable_across_a_range_delete() {
    let db = open(&MemFs::new()).unwrap();
    let list = list(&db);
    let mut moments = Vec::new();
    for round in 0..5 {
        for n in 0..100 {
            db.merge("count", number(1)).unwrap();
            db.merge_with(&list, "list", format!("{n}")).unwrap();
            if n % 30 == 29 {
                // First a range delete elsewhere, then one over this key.
                db.delete_range("a".."b").unwrap();
                db.delete_range(if n == 59 { "c"..="list" } else { "x"..="y" }).unwrap();
            }
            if n % 41 == 40 {
                let seen = (count(&db, "count"), text(&db, "list"));
                moments.push((db.snapshot(), seen));
            }
        }
        let texts: Vec<String> = (60..100).map(|n| n.to_string()).collect();
        let check = |db: &Db| {
            assert_eq!(count(db, "count"), 40, "round {round}");
            assert_eq!(text(db, "list").unwrap(), texts.join(","), "round {round}");
            for (snapshot, (counted, listed)) in &moments {
                let counted = (*counted > 0).then(|| number(*counted).to_vec());
                assert_eq!(snapshot.get("count").unwrap().map(|v| v.to_vec()), counted);
                let found = snapshot.get("list").unwrap().map(|v| v.to_vec());
                assert_eq!(found, listed.clone().map(String::into_bytes), "round {round}");
            }
        };
        check(&db);
        if round % 2 == 1 {
            db.flush().unwrap();
            check(&db);
        }
        db.delete_range(..).unwrap();
    }
}

/// put, range delete, merge, flush: the old value stays gone, whichever of the three is flushed or
/// compacted when. A bug report to another engine stood open for years over this.
#[test]
fn h10_put_range_delete_merge_in_every_place() {
    for places in 0..3usize.pow(4) {
        let db = open(&MemFs::new()).unwrap();
        let list = list(&db);
        let mut places = places;
        let mut settle = || {
            match places % 3 {
                0 => {}
                1 => db.flush().unwrap(),
                _ => db.compact(..).unwrap(),
            }
            places /= 3;
        };
        db.put("k", "old").unwrap();
        db.put("l", "old").unwrap();
        settle();
        db.delete_range("k"..="l").unwrap();
        settle();
        db.merge_with(&list, "k", "1").unwrap();
        settle();
        db.merge_with(&list, "k", "2").unwrap();
        settle();
        assert_eq!(scan(&db), "k=1,2");
        assert_eq!(text(&db, "l"), None);
    }
}

/// The contents at a moment, and the snapshot that still shows it.
struct Moment {
    snapshot: Snapshot,
    seen: Vec<(Vec<u8>, Vec<u8>)>,
}

fn entries(db: &Db, snapshot: Option<&Snapshot>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let options = ReadOptions { snapshot: snapshot.cloned(), ..ReadOptions::default() };
    let entries = db.with(&options).range(..).unwrap();
    entries.map(|entry| entry.unwrap()).map(|(key, value)| (key, value.to_vec())).collect()
}

/// Between writes with an order-sensitive operator, the test plays each sequence of five of {flush,
/// compact, one background step, snapshot, drop a snapshot, reopen}. Nothing deleted comes back,
/// nothing newer goes, and each snapshot sees its own state for ever.
#[test]
fn h10_no_reversal_by_any_mix_of_background_work() {
    const WORKS: usize = 6;
    const ROUNDS: usize = 4;
    for (at, preset) in (0..WORKS.pow(ROUNDS as u32)).zip(PRESETS.into_iter().cycle()) {
        let fs = MemFs::new();
        let mut db = Db::open(PATH, sliced(&fs, preset)).unwrap();
        let mut moments: Vec<Moment> = Vec::new();
        let mut mix = at;
        for round in 0..ROUNDS {
            let list = list(&db);
            for n in (round % 2..24).step_by(2) {
                db.merge_with(&list, key(n), format!("{round}{}", "x".repeat(30))).unwrap();
            }
            db.delete_range(key(3 * round)..key(3 * round + 7)).unwrap();
            db.merge_with(&list, key(3 * round + 1), format!("{round}!")).unwrap();
            let expected = entries(&db, None);
            match mix % WORKS {
                0 => db.flush().unwrap(),
                1 => db.compact(..).unwrap(),
                2 => {
                    db.flush().unwrap();
                    db.step_background().unwrap();
                }
                3 => {
                    moments.push(Moment { snapshot: db.snapshot(), seen: expected.clone() });
                    db.flush().unwrap();
                }
                4 => {
                    moments.pop();
                    db.compact(key(2)..key(9)).unwrap();
                }
                _ => {
                    moments.clear();
                    db.close().unwrap();
                    db = Db::open(PATH, sliced(&fs, preset)).unwrap();
                }
            }
            mix /= WORKS;
            assert_eq!(entries(&db, None), expected, "mix {at}, round {round}");
            for n in 0..24 {
                let value = db.get(key(n)).unwrap();
                let found = expected.iter().find(|(other, _)| other == key(n).as_bytes());
                assert_eq!(value.as_deref(), found.map(|entry| &entry.1[..]), "{at} {round} {n}");
            }
            for moment in &moments {
                assert_eq!(entries(&db, Some(&moment.snapshot)), moment.seen, "mix {at}");
            }
        }
        steps::run_background(&db, |_| {});
        for moment in &moments {
            assert_eq!(entries(&db, Some(&moment.snapshot)), moment.seen, "mix {at}, at rest");
        }
    }
}

/// A table whose filter rejects a key may hold the tombstone that deletes it. One table here has no
/// records at all, another has records of other keys.
#[test]
fn h10_a_filter_says_nothing_about_range_tombstones() {
    let db = Db::open(
        PATH,
        Options {
            default: KeyspaceOptions { bloom_bits: Some(10), ..options(&MemFs::new()).default },
            ..options(&MemFs::new())
        },
    )
    .unwrap();
    for n in 0..100 {
        db.put(key(n), "old").unwrap();
    }
    db.flush().unwrap();
    db.delete_range(key(10)..key(20)).unwrap();
    db.flush().unwrap();
    db.delete_range(key(30)..key(40)).unwrap();
    db.put("zzz", "").unwrap();
    db.flush().unwrap();
    let keys: Vec<_> = (0..100).map(key).collect();
    let values = db.multi_get(&keys).unwrap();
    for (n, value) in values.into_iter().enumerate() {
        let there = !(10..20).contains(&n) && !(30..40).contains(&n);
        assert_eq!(value.unwrap().is_some(), there, "{n}");
        assert_eq!(db.get(key(n)).unwrap().is_some(), there, "{n}");
    }
    let operands = db.get_operands(key(15)).unwrap();
    assert_eq!((operands.len(), operands.base()), (0, &Base::Deleted));
    assert_eq!(db.iter().unwrap().count(), 81);
}

/// A range delete is replayed exactly once, in its place among the other writes, wherever recovery
/// stops.
#[test]
fn h10_replay_applies_range_deletes_exactly_once() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let synced = WriteOptions { sync: true, ..WriteOptions::default() };
    db.merge("a", number(1)).unwrap();
    db.flush().unwrap();
    db.merge("a", number(2)).unwrap();
    db.delete_range("a".."b").unwrap();
    db.merge("a", number(4)).unwrap();
    let mut batch = WriteBatch::new();
    batch.put("b", number(1)).delete_range(..).merge("b", number(2));
    db.with(&synced).write(&batch).unwrap();
    db.merge("a", number(8)).unwrap();
    let expected = entries(&db, None);
    assert_eq!((count(&db, "a"), count(&db, "b")), (8, 2));
    let mut stopped = fs.kill();
    for _ in 0..3 {
        let again = reopen(&stopped).unwrap();
        assert_eq!(entries(&again, None), expected);
        again.flush().unwrap();
        assert_eq!(entries(&again, None), expected);
        stopped = stopped.kill();
    }
    // Synced writes survive a power loss too.
    let crashed = reopen(&fs.crash()).unwrap();
    assert_eq!(count(&crashed, "b"), 2);
    assert_eq!(crashed.stats().range_deletes, 2, "replayed writes that no manifest counts");
}

/// When nothing older lies below and no snapshot is live, compaction removes tombstones and all
/// that they cover. A range delete of everything leaves nothing on the disk.
#[test]
fn h10_space_comes_back_and_tombstones_go() {
    for preset in PRESETS {
        let fs = MemFs::new();
        let db = Db::open(PATH, sliced(&fs, preset)).unwrap();
        for n in 0..300 {
            db.put(key(n), "a value of some length").unwrap();
        }
        db.flush().unwrap();
        db.delete_range(..).unwrap();
        db.compact(..).unwrap();
        let tables: u64 = db.stats().levels.iter().map(|level| level.tables).sum();
        assert_eq!(tables, 0, "{preset:?}");
        // A tombstone over nothing is dropped before it reaches a table.
        db.delete_range(..).unwrap();
        db.flush().unwrap();
        assert_eq!(db.stats().levels.iter().map(|level| level.tables).sum::<u64>(), 0);
        // A tombstone over a record that a snapshot sees is kept.
        db.put("k", "1").unwrap();
        let snapshot = db.snapshot();
        db.delete_range(..).unwrap();
        db.compact(..).unwrap();
        assert_eq!(text(&db, "k"), None);
        assert_eq!(snapshot.get("k").unwrap().unwrap(), b"1");
        drop(snapshot);
        db.delete("k").unwrap();
        db.compact(..).unwrap();
        assert_eq!(db.stats().levels.iter().map(|level| level.tables).sum::<u64>(), 0);
    }
}

/// After a snapshot is dropped, the records that it kept go without new writes: deleted records,
/// and tombstones that hide nothing else.
#[test]
fn h10_folding_catches_up_when_a_snapshot_goes() {
    for preset in PRESETS {
        let db = Db::open(PATH, sliced(&MemFs::new(), preset)).unwrap();
        for n in 0..100 {
            db.put(key(n), "a value of some length").unwrap();
        }
        let snapshot = db.snapshot();
        db.delete_range(key(10)..).unwrap();
        db.compact(..).unwrap();
        assert_eq!(snapshot.iter().unwrap().count(), 100);
        let bytes = || db.stats().levels.iter().map(|level| level.bytes).sum::<u64>();
        let before = bytes();
        drop(snapshot);
        steps::run_background(&db, |_| {});
        assert_eq!(db.iter().unwrap().count(), 10);
        assert!(bytes() < before / 2, "{preset:?}: {before} bytes became {}", bytes());
    }
}

/// A table with only range tombstones over most of the data is compacted without new writes: its
/// space is debt.
#[test]
fn h10_range_tombstones_over_much_data_are_debt() {
    let fs = MemFs::new();
    let db = Db::open(PATH, sliced(&fs, CompactionPreset::LazyLeveled)).unwrap();
    for n in 0..1000 {
        db.put(key(n), "a value of some length").unwrap();
    }
    db.flush().unwrap();
    steps::run_background(&db, |_| {});
    let before: u64 = db.stats().levels.iter().map(|level| level.bytes).sum();
    db.delete_range(key(100)..key(900)).unwrap();
    db.flush().unwrap();
    steps::run_background(&db, |_| {});
    let after: u64 = db.stats().levels.iter().map(|level| level.bytes).sum();
    assert!(after < before / 2, "{before} bytes became {after}");
    assert_eq!(db.iter().unwrap().count(), 200);
}

/// Keys have the comparator's order, and no end needs a successor key.
#[test]
fn h10_ends_of_every_kind_in_every_order() {
    let bounds = |key: &'static str| [Bound::Included(key), Bound::Excluded(key), Bound::Unbounded];
    for descending in [false, true] {
        for (start, end) in
            bounds("b").into_iter().flat_map(|start| bounds("d").map(|end| (start, end)))
        {
            let (start, end) = if descending { (end, start) } else { (start, end) };
            for work in 0..3 {
                let fs = MemFs::new();
                let mut options = options(&fs);
                if descending {
                    options.default.comparator = Some(std::sync::Arc::new(Descending));
                }
                let db = Db::open(PATH, options).unwrap();
                for key in ["", "a", "b", "b\0", "c", "d", "d\0", "e"] {
                    db.put(key, "").unwrap();
                }
                if work > 0 {
                    db.flush().unwrap();
                }
                db.delete_range((start, end)).unwrap();
                if work > 1 {
                    db.flush().unwrap();
                }
                let (low, high) = if descending { (end, start) } else { (start, end) };
                for key in ["", "a", "b", "b\0", "c", "d", "d\0", "e"] {
                    let deleted = std::ops::RangeBounds::<&str>::contains(&(low, high), &key);
                    let what = format!("{start:?} {end:?} {key:?} work {work}");
                    assert_eq!(db.get(key).unwrap().is_none(), deleted, "{what}");
                }
            }
        }
    }
}

#[test]
fn empty_ranges_delete_nothing_and_reversed_ones_are_refused() {
    let db = open(&MemFs::new()).unwrap();
    db.put("b", "1").unwrap();
    db.delete_range("b".."b").unwrap();
    db.delete_range((Bound::Excluded("b"), Bound::Excluded("b"))).unwrap();
    db.delete_range((Bound::Excluded("b"), Bound::Included("b"))).unwrap();
    assert_eq!(db.stats().range_deletes, 0);
    let mut batch = WriteBatch::new();
    batch.delete_range("b".."b").put("c", "2");
    db.write(&batch).unwrap();
    assert_eq!(scan(&db), "b=1 c=2");
    let error = assert_error(db.delete_range("c".."b"), ErrorKind::InvalidArgument, None);
    assert!(error.to_string().contains("ends at 'b', before its start 'c'"), "{error}");
    let mut batch = WriteBatch::new();
    batch.put("d", "3").delete_range("c".."b");
    assert_error(db.write(&batch), ErrorKind::InvalidArgument, None);
    assert_eq!(scan(&db), "b=1 c=2", "a refused batch changes nothing");
    db.delete_range("b"..="b").unwrap();
    assert_eq!(scan(&db), "c=2");
}

#[test]
fn batches_show_their_range_deletes() {
    let mut batch = WriteBatch::new();
    batch.delete_range("a"..="f").delete_range(..).put("k", "v");
    let ops: Vec<_> = batch.iter().collect();
    let range = |start, end| BatchOp::DeleteRange { keyspace: "default", start, end };
    assert_eq!(ops[0], range(Bound::Included(&b"a"[..]), Bound::Included(&b"f"[..])));
    assert_eq!(ops[1], range(Bound::Unbounded, Bound::Unbounded));
    assert_eq!(batch.len(), 3);
}

/// A range delete of one keyspace leaves the others alone: through a batch over several, a flush of
/// all and a crash. Its ends follow its own keyspace's order.
#[test]
fn h10_range_deletes_are_of_one_keyspace() {
    let fs = MemFs::new();
    let open_both = |fs: &MemFs| {
        let mut options = options(fs);
        options.comparators.push(std::sync::Arc::new(Descending));
        Db::open(PATH, options).unwrap()
    };
    let db = open_both(&fs);
    let comparator = Some(std::sync::Arc::new(Descending) as std::sync::Arc<dyn Comparator>);
    let down = db
        .create_keyspace("down", foldb::KeyspaceOptions { comparator, ..Default::default() })
        .unwrap();
    for key in ["a", "b", "c", "d"] {
        db.put(key, "").unwrap();
        down.put(key, "").unwrap();
    }
    db.flush().unwrap();
    let mut batch = WriteBatch::new();
    batch.delete_range("b".."d").delete_range_in(&down, "c"..="b").put_in(&down, "b", "new");
    let ops: Vec<_> = batch.iter().collect();
    let (start, end) = (Bound::Included(&b"c"[..]), Bound::Included(&b"b"[..]));
    assert_eq!(ops[1], BatchOp::DeleteRange { keyspace: "down", start, end });
    db.with(&WriteOptions { sync: true, ..WriteOptions::default() }).write(&batch).unwrap();
    let mut reversed = WriteBatch::new();
    reversed.delete_range_in(&down, "b".."c");
    assert_error(db.write(&reversed), ErrorKind::InvalidArgument, None);
    assert_error(down.delete_range("b".."c"), ErrorKind::InvalidArgument, None);

    let check = |db: &Db| {
        let down = db.keyspace("down").unwrap();
        let keys = |iter: foldb::Iter| -> String {
            iter.map(|entry| String::from_utf8(entry.unwrap().0).unwrap()).collect()
        };
        assert_eq!(keys(db.iter().unwrap()), "ad");
        assert_eq!(keys(down.iter().unwrap()), "dba");
        assert_eq!(down.get("b").unwrap().unwrap(), b"new");
    };
    check(&db);
    check(&open_both(&fs.crash()));
    db.flush().unwrap();
    check(&db);
    down.delete_range(..).unwrap();
    assert_eq!(down.iter().unwrap().count(), 0);
    assert_eq!(db.iter().unwrap().count(), 2);
}

/// Estimates count range deletes, and their bounds hold.
#[test]
fn h10_counts_stay_between_their_bounds() {
    let db = open(&MemFs::new()).unwrap();
    for n in 0..1000 {
        db.put(key(n), "value").unwrap();
    }
    for flushed in [false, true] {
        if flushed {
            db.flush().unwrap();
        }
        db.delete_range(key(0)..key(900)).unwrap();
        let count = db.approximate_count(..).unwrap();
        assert!(count.at_least <= 100 && 100 <= count.at_most, "{count:?}");
        assert!(count.estimate < 300, "{count:?}");
    }
    db.flush().unwrap();
    let count = db.approximate_count(..).unwrap();
    assert!(count.at_least <= 100 && 100 <= count.at_most && count.estimate < 300, "{count:?}");
}

/// Returns the time of `count` range deletes, with a read after each of the last hundred.
fn time_of(count: usize) -> Duration {
    let db = Db::open(PATH, Options { write_buffer_size: 64 << 20, ..options(&MemFs::new()) });
    let db = db.unwrap();
    let mid = 1_000_000;
    db.put(format!("{mid:08}"), "").unwrap();
    let start = Instant::now();
    for n in 0..count {
        db.delete_range(format!("{:08}", mid - n)..format!("{:08}", mid + n + 1)).unwrap();
        if n % (count / 100) == 0 {
            assert_eq!(db.get(format!("{mid:08}")).unwrap(), None);
        }
    }
    db.flush().unwrap();
    start.elapsed()
}

/// The cost of a range delete does not grow with the number of earlier ones. Ten times as many take
/// about 20 times as long, because of memory, and not a hundred times.
#[test]
fn h10_ten_thousand_range_deletes_take_their_time_and_no_more() {
    let best = |count| (0..4).map(|_| time_of(count)).min().expect("several");
    let (few, many) = (best(1_000), best(10_000));
    println!("1000 in {few:?}, 10 000 in {many:?}");
    assert!(many < few * 60, "1000 take {few:?}, 10 000 take {many:?}");
}
