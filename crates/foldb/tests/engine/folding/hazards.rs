//! One test for each known way in which an engine of this kind gives wrong answers. Each is named
//! after its hazard and plays the history that shows it.
//!
//! Histories are written `key.KIND.seqno(operand)`. The sequence numbers follow from the order of
//! the writes.

use std::sync::Arc;

use foldb::env::mem::{Fault, Operation};
use foldb::env::{FileSystem, MemFs};
use foldb::operators::{Full, MergeOperator, Partial};
use foldb::{
    CompactionPreset, Db, ErrorKind, KeyspaceOptions, Options, ReadOptions, WriteBatch,
    WriteOptions,
};

use crate::support;
use crate::support::{
    PATH, PRESETS, assert_error, count, number, open, options, reopen, sliced, steps, text,
};

fn key(n: usize) -> String {
    format!("key-{n:04}")
}

/// A table t over [a, z) holds k.MERGE(+1), the level below k.PUT(10). The slice [a, m) installs
/// k.PUT(11) below. If t still showed its k, a read would answer 12.
#[test]
fn h01_sliced_install_applies_merges_once() {
    for preset in PRESETS {
        let fs = MemFs::new();
        let db = Db::open(PATH, sliced(&fs, preset)).unwrap();
        for n in 0..300 {
            db.put(key(n), number(10)).unwrap();
        }
        db.flush().unwrap();
        steps::run_background(&db, |_| {});
        for _ in 0..4 {
            for n in 0..300 {
                db.merge(key(n), number(1)).unwrap();
            }
            db.flush().unwrap();
        }
        let slices_before = db.stats().compaction_slices;
        steps::run_background(&db, |step| {
            for n in 0..300 {
                assert_eq!(count(&db, &key(n)), 14, "{preset:?}: {} after slice {step}", key(n));
            }
            let scanned: Vec<_> = db.iter().unwrap().map(|entry| entry.unwrap().1).collect();
            assert_eq!(scanned.len(), 300, "{preset:?}: after slice {step}");
            assert!(scanned.iter().all(|value| *value == number(14)), "{preset:?}: a scan");
            // Each slice is a state that a crash must leave whole.
            let survivor = Db::open(PATH, sliced(&fs.crash(), preset)).unwrap();
            assert_eq!(count(&survivor, &key(7)), 14, "{preset:?}: crash after slice {step}");
            assert_eq!(count(&survivor, &key(113)), 14, "{preset:?}: crash after slice {step}");
        });
        let slices = db.stats().compaction_slices - slices_before;
        assert!(slices > 3, "{preset:?}: only {slices} slices are too few to test anything");
    }
}

/// A get takes S = 100, then loads the tables. Meanwhile a compaction folds k.MERGE.90 and
/// k.MERGE.110 into one record of 110, since no snapshot prevents it: 90 is gone. A view that was
/// loaded first keeps the tables that still have 90, however slow its reader is.
#[test]
fn h03_reads_keep_the_tables_they_began_with() {
    let fs = MemFs::new();
    let db = Db::open(PATH, sliced(&fs, CompactionPreset::Leveled)).unwrap();
    for n in 0..50 {
        db.merge(key(n), number(1)).unwrap();
    }
    db.flush().unwrap();
    for n in 0..50 {
        db.merge(key(n), number(1)).unwrap();
    }
    // Made before the third round, read after everything was folded together.
    let mut forwards = db.iter().unwrap();
    let mut backwards = db.iter().unwrap();
    assert!(forwards.seek_to_first().unwrap());
    for n in 0..50 {
        db.merge(key(n), number(1)).unwrap();
    }
    db.flush().unwrap();
    db.compact(..).unwrap();
    for n in 0..50 {
        assert_eq!(forwards.key(), key(n).as_bytes());
        assert_eq!(*forwards.value().unwrap(), number(2), "{}", key(n));
        forwards.advance().unwrap();
    }
    for n in (0..50).rev() {
        assert!(backwards.retreat().unwrap());
        assert_eq!(*backwards.value().unwrap(), number(2), "{}", key(n));
    }
    assert_eq!(count(&db, &key(0)), 3);
}

/// The same with a snapshot. Records from before it may be folded into one; later records never
/// join them.
#[test]
fn h03_snapshots_hold_back_the_fold() {
    let fs = MemFs::new();
    let db = Db::open(PATH, sliced(&fs, CompactionPreset::Tiered)).unwrap();
    let mut snapshots = Vec::new();
    for round in 1..=6u64 {
        for n in 0..20 {
            db.merge(key(n), number(1)).unwrap();
        }
        if round % 2 == 0 {
            db.flush().unwrap();
        }
        snapshots.push((round, db.snapshot()));
    }
    db.compact(..).unwrap();
    for (round, snapshot) in &snapshots {
        for n in 0..20 {
            assert_eq!(snapshot.get(key(n)).unwrap().unwrap(), number(*round));
        }
    }
    drop(snapshots);
    db.compact(..).unwrap();
    assert_eq!(count(&db, &key(3)), 6);
}

/// L1.R2 = {k.PUT.9}, L1.R1 = {k.PUT.3}. If R2 moved to level 2 because it overlaps nothing there,
/// reads would find k.PUT.3 first. The newest value must win at every step, and no table may pass
/// an older run.
#[test]
fn h04_moves_never_pass_an_older_run() {
    for preset in PRESETS {
        let fs = MemFs::new();
        let db = Db::open(PATH, sliced(&fs, preset)).unwrap();
        let filler = "f".repeat(100);
        for generation in 0..12 {
            // The runs overlap in one key and lie side by side in all others, so that moving them
            // is tempting.
            db.put("k", format!("{generation}")).unwrap();
            for n in 0..12 {
                db.put(key(generation * 12 + n), &filler).unwrap();
            }
            db.flush().unwrap();
            let expected = generation.to_string();
            assert_eq!(text(&db, "k").unwrap(), expected, "{preset:?}");
            for _ in 0..3 {
                db.step_background().unwrap();
                assert_eq!(text(&db, "k").unwrap(), expected, "{preset:?}");
            }
        }
        steps::run_background(&db, |step| {
            assert_eq!(text(&db, "k").unwrap(), "11", "{preset:?} after step {step}");
        });
        assert_eq!(db.iter().unwrap().count(), 12 * 12 + 1, "{preset:?}");
    }
}

/// k.DEL.8 is flushed and compacted to the bottom, where it is dropped, while k.PUT.5 waits in an
/// older memtable: k would be back. Memtables are installed in the order of their seals. A delete
/// is dropped only where nothing older is left.
#[test]
fn h04_a_delete_outlives_what_it_hides() {
    for preset in PRESETS {
        let fs = MemFs::new();
        let db = Db::open(PATH, sliced(&fs, preset)).unwrap();
        db.put("k", "1").unwrap();
        db.flush().unwrap();
        db.compact(..).unwrap();
        db.put("k", "5").unwrap();
        db.flush().unwrap();
        db.delete("k").unwrap();
        db.flush().unwrap();
        assert_eq!(text(&db, "k"), None, "{preset:?}");
        // Only a range without k goes to the bottom.
        db.compact("a".."j").unwrap();
        assert_eq!(text(&db, "k"), None, "{preset:?}");
        steps::run_background(&db, |_| assert_eq!(text(&db, "k"), None, "{preset:?}"));
        db.compact("k"..="k").unwrap();
        assert_eq!(text(&db, "k"), None, "{preset:?}");
        assert_eq!(db.iter().unwrap().count(), 0, "{preset:?}");
        let tables: u64 = db.stats().levels.iter().map(|level| level.tables).sum();
        assert_eq!(tables, 0, "{preset:?}: put and deletes are gone from the tables");
    }
}

/// Recovery replays the log of three memtables, flushes the first and crashes. Replaying the same
/// log again would double that part. Wherever recovery stops, the next one must count each merge
/// once.
#[test]
fn h05_replay_counts_each_merge_once_wherever_recovery_stops() {
    let small = |fs: &MemFs| Options { write_buffer_size: 4096, ..options(fs) };
    let fs = MemFs::new();
    {
        let db = Db::open(PATH, Options { write_buffer_size: 1 << 20, ..options(&fs) }).unwrap();
        for _ in 0..5 {
            for n in 0..60 {
                db.merge(key(n), number(1)).unwrap();
            }
        }
        db.sync().unwrap();
    }
    let full = fs.crash();
    let probe = full.crash();
    drop(Db::open(PATH, small(&probe)).unwrap());
    let mutations = probe.counts().mutations();
    assert!(mutations > 10, "recovery has {mutations} moments to stop at");
    for stop in 1..=mutations {
        let fs = full.crash();
        fs.inject(Fault::on_mutation().nth(stop).forever());
        drop(Db::open(PATH, small(&fs)));
        for survivor in [fs.crash(), fs.kill(), fs.crash_with(stop)] {
            let db = Db::open(PATH, small(&survivor)).unwrap();
            for n in 0..60 {
                assert_eq!(count(&db, &key(n)), 5, "{} after a stop at {stop}", key(n));
            }
            assert_eq!(db.iter().unwrap().count(), 60);
        }
    }
}

/// k.MERGE.1 and k.MERGE.2 fold into one record at a flush. If replay skipped records by that
/// record's own number, it would apply 2 again.
#[test]
fn h05_a_folded_record_says_nothing_about_what_was_flushed() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    for _ in 0..10 {
        db.merge("k", number(1)).unwrap();
    }
    // The log stays behind, as if the crash came before its removal.
    fs.inject(Fault::on(Operation::Remove).path(".log").forever());
    db.flush().unwrap();
    db.merge("k", number(1)).unwrap();
    for survivor in [fs.kill(), fs.kill().kill()] {
        assert_eq!(count(&reopen(&survivor).unwrap(), "k"), 11);
    }
}

/// A merge that deletes, above an older value. The delete must hide that value at every level, and
/// go only at the bottom.
#[test]
fn h08_an_operator_that_deletes_leaves_a_tombstone() {
    for preset in PRESETS {
        let fs = MemFs::new();
        let db = Db::open(PATH, sliced(&fs, preset)).unwrap();
        let register = db.operator("test.register").unwrap();
        db.put("k", "old").unwrap();
        db.put("l", "kept").unwrap();
        db.flush().unwrap();
        db.compact(..).unwrap();
        // Two operands that are a delete whatever the base is: L0 k.[new, gone], bottom k.PUT.1.
        db.merge_with(&register, "k", "new").unwrap();
        db.merge_with(&register, "k", "").unwrap();
        db.flush().unwrap();
        assert_eq!(text(&db, "k"), None, "{preset:?}");
        steps::run_background(&db, |_| assert_eq!(text(&db, "k"), None, "{preset:?}"));
        db.compact(..).unwrap();
        assert_eq!(text(&db, "k"), None, "{preset:?}");
        assert_eq!(text(&db, "l").unwrap(), "kept");
        // A later operand finds no base.
        let list = db.operator("append").unwrap();
        db.merge_with(&list, "k", "x").unwrap();
        assert_eq!(text(&db, "k").unwrap(), "x", "{preset:?}");
    }
}

/// An operator that answers "the base, unchanged" over nothing makes no key.
#[test]
fn h08_existing_over_nothing_is_absent() {
    #[derive(Debug)]
    struct Keep;
    impl MergeOperator for Keep {
        fn name(&self) -> &str {
            "test.keep"
        }
        fn full(&self, _: &[u8], _: Option<&[u8]>, _: &[&[u8]], _: &mut Vec<u8>) -> Full {
            Full::Existing
        }
        fn partial(&self, _: &[u8], _: &[&[u8]], _: &mut Vec<u8>) -> Partial {
            Partial::Operand
        }
    }
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { operators: vec![Arc::new(Keep)], ..options(&fs) }).unwrap();
    let keep = db.operator("test.keep").unwrap();
    db.put("there", "1").unwrap();
    for key in ["there", "missing"] {
        db.merge_with(&keep, key, "anything").unwrap();
    }
    for _ in 0..2 {
        assert_eq!(text(&db, "there").unwrap(), "1");
        assert_eq!(text(&db, "missing"), None);
        assert_eq!(db.iter().unwrap().count(), 1);
        db.compact(..).unwrap();
    }
}

/// PUT.1 A2 U4 A5 A6 with U4 a counter over text: it fails, and only its key. Records below U4
/// stay, records above it do not fold past it, and a put heals the key.
#[test]
fn h08_a_failed_stretch_is_a_wall() {
    for preset in PRESETS {
        let fs = MemFs::new();
        let db = Db::open(PATH, sliced(&fs, preset)).unwrap();
        let list = db.operator("stringappend:,").unwrap();
        db.put("k", "1").unwrap();
        db.put("neighbour", "fine").unwrap();
        db.merge_with(&list, "k", "2").unwrap();
        let before_the_wall = db.snapshot();
        db.merge("k", number(4)).unwrap();
        db.flush().unwrap();
        db.merge_with(&list, "k", "5").unwrap();
        db.merge_with(&list, "k", "6").unwrap();
        for _ in 0..2 {
            let error = assert_error(db.get("k"), ErrorKind::MergeFailed, None);
            assert!(error.to_string().contains("uint64add"), "{error}");
            assert!(error.to_string().contains("'k'"), "{error}");
            assert_eq!(text(&db, "neighbour").unwrap(), "fine");
            assert_eq!(before_the_wall.get("k").unwrap().unwrap(), b"1,2");
            let entries: Vec<_> = db.iter().unwrap().collect();
            assert_eq!(entries.len(), 2);
            assert_eq!(entries[0].as_ref().unwrap_err().kind(), ErrorKind::MergeFailed);
            assert_eq!(entries[1].as_ref().unwrap().0, b"neighbour");
            db.compact(..).unwrap();
        }
        assert!(db.stats().failed_merges > 0);
        drop(before_the_wall);
        db.compact(..).unwrap();
        assert_error(db.get("k"), ErrorKind::MergeFailed, None);
        db.put("k", "healed").unwrap();
        db.merge_with(&list, "k", "7").unwrap();
        assert_eq!(text(&db, "k").unwrap(), "healed,7");
        db.compact(..).unwrap();
        assert_eq!(text(&db, "k").unwrap(), "healed,7");
    }
}

/// An operator that rejects stored bytes or panics over them fails only reads of that key. Its
/// operands survive flushes, compactions and a reopen unchanged.
#[test]
fn h08_rejected_operands_are_carried_along_untouched() {
    for poison in ["!", "?"] {
        support::quiet::catch(|| {
            let fs = MemFs::new();
            let db = open(&fs).unwrap();
            let fussy = db.operator("test.fussy").unwrap();
            for operand in ["a", poison, "b"] {
                db.merge_with(&fussy, "k", operand).unwrap();
                db.merge_with(&fussy, "l", "x").unwrap();
                db.flush().unwrap();
            }
            db.compact(..).unwrap();
            assert_error(db.get("k"), ErrorKind::MergeFailed, None);
            assert_eq!(text(&db, "l").unwrap(), "xxx");
            db.close().unwrap();
            drop(db);
            let db = reopen(&fs).unwrap();
            assert_error(db.get("k"), ErrorKind::MergeFailed, None);
            assert_eq!(text(&db, "l").unwrap(), "xxx");
        })
        .unwrap();
    }
}

/// An operand of 100 bytes for `uint64add` counts 0 in RocksDB and would poison the key here. It is
/// refused before it is logged, unless the operator is the lenient one.
#[test]
fn h08_malformed_operands_are_refused_before_the_log() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let logged = db.stats().bytes_log;
    let error = assert_error(db.merge("k", [7; 100]), ErrorKind::InvalidArgument, None);
    assert!(error.to_string().contains("8 bytes"), "{error}");
    let mut batch = WriteBatch::new();
    batch.put("j", "1").merge("k", [7; 100]);
    assert_error(db.write(&batch), ErrorKind::InvalidArgument, None);
    let mut batch = WriteBatch::new();
    batch.put("j", "1").merge_with(&db.operator("int64add").unwrap(), "k", "short");
    assert_error(db.write(&batch), ErrorKind::InvalidArgument, None);
    assert_eq!((db.stats().bytes_log, db.stats().merges, db.stats().puts), (logged, 0, 0));
    assert_eq!(db.iter().unwrap().count(), 0);

    let lenient = db.operator("uint64add:rocksdb_lenient").unwrap();
    db.merge_with(&lenient, "k", [7; 100]).unwrap();
    db.merge_with(&lenient, "k", number(3)).unwrap();
    assert_eq!(count(&db, "k"), 3);
}

/// log 1: 1..50 unsynced; roll; write 51 synced in log 2. If the sync covered log 2 alone, a power
/// loss would keep 51 and drop 1..50.
#[test]
fn h11_a_synced_write_takes_all_earlier_logs_along() {
    let fs = MemFs::new();
    let small = Options { write_buffer_size: 4096, max_write_buffers: 8, ..options(&fs) };
    let db = Db::open(PATH, small).unwrap();
    let mut writes = 0;
    while logs(&fs).len() < 3 {
        db.put(key(writes), "unsynced").unwrap();
        writes += 1;
    }
    let synced = WriteOptions { sync: true, ..WriteOptions::default() };
    db.with(&synced).put("last", "synced").unwrap();
    for survivor in [fs.crash(), fs.crash_with(1), fs.crash_with(2)] {
        let db = reopen(&survivor).unwrap();
        assert_eq!(text(&db, "last").unwrap(), "synced");
        assert_eq!(db.iter().unwrap().count(), writes + 1);
    }
}

/// Unsynced pages 2 and 3 of a log: 3 reached the disk, 2 did not. The database is healthy, cut at
/// 2. No frame after the cut is applied, neither of this log nor of a later one.
#[test]
fn h11_a_hole_in_the_unsynced_tail_is_cut() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.with(&WriteOptions { sync: true, ..Default::default() }).put(key(0), "synced").unwrap();
    let filler = "f".repeat(500);
    for n in 1..60 {
        db.put(key(n), &filler).unwrap();
    }
    let mut lengths = Vec::new();
    for seed in 0..40 {
        let db = reopen(&fs.crash_with(seed)).unwrap();
        let keys: Vec<_> = db.iter().unwrap().map(|entry| entry.unwrap().0).collect();
        let prefix: Vec<_> = (0..keys.len()).map(|n| key(n).into_bytes()).collect();
        assert_eq!(keys, prefix, "seed {seed}: not a prefix");
        assert!(!keys.is_empty(), "seed {seed}: the synced write is lost");
        lengths.push(keys.len());
    }
    lengths.sort_unstable();
    lengths.dedup();
    assert!(lengths.len() > 3, "the crashes all left the same: {lengths:?}");
}

/// Bytes flipped before a frame that calls them synced are damage, named by file and offset. After
/// all synced frames, flipped bytes are a torn tail.
#[test]
fn h11_damage_is_told_from_a_torn_tail() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let log = logs(&fs).pop().unwrap();
    let path = format!("{PATH}/{log}");
    db.put("a", "first").unwrap();
    db.sync().unwrap();
    db.put("b", "second").unwrap();
    db.put("c", "third").unwrap();
    let bytes = fs.read(path.as_ref()).unwrap();
    let find = |needle: &[u8]| bytes.windows(needle.len()).position(|w| w == needle).unwrap();

    let damaged = fs.kill();
    flip(&damaged, &path, find(b"first"));
    let error = assert_error(reopen(&damaged), ErrorKind::Corruption, Some(&path));
    let offset = error.offset().expect("the error names an offset");
    assert!(offset > 0 && offset < find(b"first") as u64, "{error}");

    let torn = fs.kill();
    flip(&torn, &path, find(b"second"));
    let db = reopen(&torn).unwrap();
    assert_eq!(text(&db, "a").unwrap(), "first");
    assert_eq!(text(&db, "b"), None);
    assert_eq!(text(&db, "c"), None, "nothing behind the tear is applied");
}

/// v = get(k) borrows an accumulator and merge(k) stores into it: the bytes would change under the
/// caller. A value keeps its bytes, whatever is written, flushed, compacted or closed.
#[test]
fn h14_a_value_never_changes_under_its_reader() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let large = "v".repeat(5000);
    db.merge("counter", number(1)).unwrap();
    db.put("large", &large).unwrap();
    let in_memtable = (db.get("counter").unwrap().unwrap(), db.get("large").unwrap().unwrap());
    db.flush().unwrap();
    let in_table = (db.get("counter").unwrap().unwrap(), db.get("large").unwrap().unwrap());
    for _ in 0..3 {
        db.merge("counter", number(1)).unwrap();
        db.put("large", "gone").unwrap();
        db.flush().unwrap();
    }
    db.compact(..).unwrap();
    db.close().unwrap();
    drop(db);
    for (counter, text) in [in_memtable, in_table] {
        assert_eq!(counter, number(1));
        assert_eq!(text, large.as_bytes());
    }
}

/// A thread that holds v pins a memtable and calls put. It would wait for memory that only it can
/// release: pinned memory must not count against writers.
#[test]
fn h14_pinned_values_do_not_stop_the_writer() {
    let fs = MemFs::new();
    let db =
        Db::open(PATH, Options { write_buffer_size: 8192, max_write_buffers: 2, ..options(&fs) })
            .unwrap();
    let value = "v".repeat(1000);
    let mut held = Vec::new();
    for n in 0..200 {
        db.put(key(n), &value).unwrap();
        held.push(db.get(key(n)).unwrap().unwrap());
    }
    assert!(db.stats().flushes > 10, "the writer went through many memtables");
    assert!(held.iter().all(|held| *held == value.as_bytes()));
}

/// An operator is first used after the last synced manifest edit, and its merge is synced in the
/// log. After a crash the id must still mean something.
#[test]
fn h27_an_operator_is_defined_before_its_first_record() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let list = db.operator("stringappend:;").unwrap();
    let durable = WriteOptions { sync: true, ..Default::default() };
    db.default_keyspace().with(&durable).merge_with(&list, "k", "1").unwrap();
    db.default_keyspace().with(&durable).merge_with(&list, "k", "2").unwrap();
    for survivor in [fs.crash(), fs.crash_with(1), fs.kill()] {
        let db = reopen(&survivor).unwrap();
        assert_eq!(text(&db, "k").unwrap(), "1;2");
    }
}

/// stringappend(',') reopened as (';'): old operands keep their own operator in the log, in level 0
/// and at the bottom.
#[test]
fn h27_old_operands_keep_their_operator() {
    let fs = MemFs::new();
    let with =
        |spec: &str| Options { default: KeyspaceOptions::with_operator(spec), ..options(&fs) };
    let db = Db::open(PATH, with("stringappend:,")).unwrap();
    db.merge("k", "1").unwrap();
    db.merge("k", "2").unwrap();
    db.close().unwrap();
    drop(db);
    let db = Db::open(PATH, with("stringappend:;")).unwrap();
    assert_eq!(db.default_operator().unwrap().spec(), "stringappend:;");
    db.merge("k", "3").unwrap();
    db.merge("k", "4").unwrap();
    assert_eq!(text(&db, "k").unwrap(), "1,2;3;4");
    db.compact(..).unwrap();
    assert_eq!(text(&db, "k").unwrap(), "1,2;3;4");
    db.close().unwrap();
    drop(db);
    // Without a default operator in the options, the database keeps the last one.
    let db =
        Db::open(PATH, Options { default: KeyspaceOptions::default(), ..options(&fs) }).unwrap();
    db.merge("k", "5").unwrap();
    assert_eq!(text(&db, "k").unwrap(), "1,2;3;4;5");
}

/// A program without a custom operator cannot use its id. The open names the operator and changes
/// nothing.
#[test]
fn h27_an_unknown_operator_is_named_at_open() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.merge_with(&db.operator("test.register").unwrap(), "k", "1").unwrap();
    db.close().unwrap();
    drop(db);
    let without = Options { operators: Vec::new(), ..options(&fs) };
    let error = assert_error(Db::open(PATH, without), ErrorKind::UnknownOperator, None);
    assert!(error.to_string().contains("test.register"), "{error}");
    assert_eq!(text(&reopen(&fs).unwrap(), "k").unwrap(), "1");
}

/// Another version of an operator is another operator.
#[test]
fn h27_another_version_of_an_operator_is_refused() {
    #[derive(Debug)]
    struct Newer;
    impl MergeOperator for Newer {
        fn name(&self) -> &str {
            "test.register"
        }
        fn version(&self) -> u32 {
            1
        }
        fn full(&self, _: &[u8], _: Option<&[u8]>, _: &[&[u8]], _: &mut Vec<u8>) -> Full {
            Full::Delete
        }
    }
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.merge_with(&db.operator("test.register").unwrap(), "k", "1").unwrap();
    drop(db);
    let newer = Options { operators: vec![Arc::new(Newer)], ..options(&fs) };
    assert_error(Db::open(PATH, newer), ErrorKind::UnknownOperator, None);
}

/// Another database refuses these handles: ids differ between databases.
#[test]
fn h27_operators_and_snapshots_belong_to_their_database() {
    let (one, other) = (open(&MemFs::new()).unwrap(), open(&MemFs::new()).unwrap());
    let list = one.operator("stringappend:;").unwrap();
    let _shifts_the_ids = other.operator("test.register").unwrap();
    assert_error(other.merge_with(&list, "k", "1"), ErrorKind::InvalidArgument, None);
    let mut batch = WriteBatch::new();
    batch.merge_with(&list, "k", "1");
    assert_error(other.write(&batch), ErrorKind::InvalidArgument, None);
    let read = ReadOptions { snapshot: Some(one.snapshot()), ..ReadOptions::default() };
    assert_error(other.with(&read).get("k"), ErrorKind::InvalidArgument, None);
    assert_error(other.with(&read).range(..), ErrorKind::InvalidArgument, None);
    assert_eq!(other.iter().unwrap().count(), 0);
}

/// Returns the names of the logs, oldest first.
fn logs(fs: &MemFs) -> Vec<String> {
    let mut logs = fs.list(PATH.as_ref()).unwrap();
    logs.retain(|name| name.ends_with(".log"));
    logs.sort_unstable();
    logs
}

/// Changes one byte of a file.
fn flip(fs: &MemFs, path: &str, offset: usize) {
    let mut bytes = fs.read(path.as_ref()).unwrap();
    bytes[offset] ^= 0x20;
    let file = fs.create(path.as_ref()).unwrap();
    file.write_at(&bytes, 0).unwrap();
    file.sync().unwrap();
}
