//! Proves that tests detect *planted faults*: deliberate bugs in the engine that a test switches
//! on.
//!
//! Every test here plays one history twice. Without the bug, the history must pass. With the bug,
//! it must fail by an assertion, a panic or an error. If no test notices a bug, the tests around it
//! prove nothing.

#![cfg(debug_assertions)]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use foldb::env::FileSystem;
use foldb::env::mem::{Fault as FileFault, Operation};
use foldb::env::{MemFs, SystemClock};
use foldb::faults::{Fault, plant};
use foldb::internals::Knobs;
use foldb::{
    CompactionPreset, Db, KeyspaceOptions, LogAdoption, Options, WriteBatch, WriteOptions,
};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::support::model::program::{self, Program};
use crate::support::model::run;
use crate::support::{
    PATH, count, number, open, options, quiet, reopen, skipped_where_files_only_grow, steps, text,
};

/// Plays `history` without the fault, then with it.
fn assert_noticed(fault: Fault, history: fn()) {
    history();
    plant(Some(fault));
    let outcome = quiet::catch(history);
    plant(None);
    match outcome {
        Ok(()) => panic!("no test notices {fault:?}"),
        Err(how) => println!("{fault:?} is noticed: {how}"),
    }
}

#[test]
fn stopping_a_chain_early_is_noticed() {
    assert_noticed(Fault::StopChainEarly, || {
        let db = open(&MemFs::new()).unwrap();
        let list = db.operator("append").unwrap();
        for _ in 0..5 {
            db.merge_with(&list, "a", "+").unwrap();
        }
        assert_eq!(text(&db, "a").unwrap(), "+++++");
    });
}

#[test]
fn an_operand_folded_by_the_wrong_operator_is_noticed() {
    assert_noticed(Fault::WrongOperator, || {
        let db = open(&MemFs::new()).unwrap();
        let (list, longest) = (db.operator("append").unwrap(), db.operator("max").unwrap());
        db.merge_with(&list, "a", "b").unwrap();
        db.merge_with(&longest, "a", "c").unwrap();
        db.merge_with(&list, "a", "d").unwrap();
        assert_eq!(text(&db, "a").unwrap(), "cd");
    });
}

#[test]
fn folding_in_place_under_a_snapshot_is_noticed() {
    assert_noticed(Fault::FoldInPlaceUnderSnapshot, || {
        let db = open(&MemFs::new()).unwrap();
        db.merge("a", number(1)).unwrap();
        let snapshot = db.snapshot();
        db.merge("a", number(1)).unwrap();
        assert_eq!(snapshot.get("a").unwrap().unwrap(), number(1));
        assert_eq!(count(&db, "a"), 2);
    });
}

#[test]
fn flushing_what_was_folded_whole_under_a_snapshot_is_noticed() {
    assert_noticed(Fault::FlushFoldedWhole, || {
        let db = open(&MemFs::new()).unwrap();
        let list = db.operator("append").unwrap();
        let mut snapshot = None;
        for n in 0..40 {
            db.merge_with(&list, "a", "+").unwrap();
            if n == 19 {
                snapshot = Some(db.snapshot());
            }
        }
        db.flush().unwrap();
        assert_eq!(*snapshot.unwrap().get("a").unwrap().unwrap(), *"+".repeat(20).as_bytes());
        assert_eq!(text(&db, "a").unwrap(), "+".repeat(40));
    });
}

#[test]
fn folding_across_a_snapshot_is_noticed() {
    assert_noticed(Fault::FoldAcrossSnapshot, || {
        let db = open(&MemFs::new()).unwrap();
        db.merge("a", number(1)).unwrap();
        let snapshot = db.snapshot();
        db.merge("a", number(1)).unwrap();
        db.flush().unwrap();
        assert_eq!(snapshot.get("a").unwrap().unwrap(), number(1));
        assert_eq!(count(&db, "a"), 2);
    });
}

#[test]
fn a_used_up_slice_that_stays_visible_is_noticed() {
    assert_noticed(Fault::KeepUsedUpSlice, || {
        let db = sliced(&MemFs::new());
        for generation in 1..=4u64 {
            for n in 0..300 {
                db.merge(format!("k{n:03}"), number(1)).unwrap();
            }
            db.flush().unwrap();
            for n in 0..300 {
                assert_eq!(count(&db, &format!("k{n:03}")), generation);
            }
        }
        let steps = steps::run_background(&db, |step| {
            for n in 0..300 {
                assert_eq!(count(&db, &format!("k{n:03}")), 4, "k{n:03} after step {step}");
            }
        });
        assert!(steps > 2, "one slice is too few to test anything");
    });
}

#[test]
fn moving_a_table_past_an_older_run_is_noticed() {
    assert_noticed(Fault::MovePastOlderRun, || {
        let db = sliced(&MemFs::new());
        for value in ["1", "2", "3", "4", "5"] {
            db.put("a", value).unwrap();
            db.put("b", value).unwrap();
            db.flush().unwrap();
        }
        steps::run_background(&db, |_| assert_eq!(text(&db, "a").unwrap(), "5"));
        assert_eq!(text(&db, "b").unwrap(), "5");
    });
}

#[test]
fn replaying_flushed_records_is_noticed() {
    assert_noticed(Fault::ReplayFlushed, || {
        let fs = MemFs::new();
        let db = open(&fs).unwrap();
        db.merge("a", number(1)).unwrap();
        // The log stays behind, as after a crash between the flush and its removal.
        fs.inject(FileFault::on(Operation::Remove).path(".log").forever());
        db.flush().unwrap();
        let db = reopen(&fs.kill()).unwrap();
        assert_eq!(count(&db, "a"), 1);
    });
}

#[test]
fn dropping_a_tombstone_above_the_last_level_is_noticed() {
    assert_noticed(Fault::DropTombstoneEarly, || {
        let db = open(&MemFs::new()).unwrap();
        db.put("a", "1").unwrap();
        db.flush().unwrap();
        db.delete("a").unwrap();
        db.flush().unwrap();
        assert_eq!(text(&db, "a"), None);
    });
}

#[test]
fn skipping_the_sync_of_the_directory_is_noticed_at_creation() {
    if skipped_where_files_only_grow("a sync of a manifest syncs its directory") {
        return;
    }
    assert_noticed(Fault::SkipDirSync, || {
        let fs = MemFs::new();
        let db = open(&fs).unwrap();
        db.put("a", "1").unwrap();
        db.flush().unwrap();
        let db = reopen(&fs.crash()).unwrap();
        assert_eq!(text(&db, "a").unwrap(), "1");
    });
}

#[test]
fn skipping_the_sync_of_the_directory_is_noticed_at_a_flush() {
    if skipped_where_files_only_grow("a sync of a manifest syncs its directory") {
        return;
    }
    assert_noticed(Fault::SkipDirSync, || {
        let fs = MemFs::new();
        let db = open(&fs).unwrap();
        // The database directory itself is durable in any case.
        foldb::env::FileSystem::sync_dir(&fs, PATH.as_ref()).unwrap();
        db.put("a", "1").unwrap();
        db.flush().unwrap();
        let db = reopen(&fs.crash()).unwrap();
        assert_eq!(text(&db, "a").unwrap(), "1");
    });
}

#[test]
fn publishing_before_applying_is_noticed() {
    assert_noticed(Fault::PublishBeforeApply, || {
        let fs = MemFs::new();
        let mut options = options(&fs);
        options.env.clock = Arc::new(SystemClock::default());
        let db = Db::open(PATH, options).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let reader = thread::spawn({
            let (db, stop) = (db.clone(), Arc::clone(&stop));
            move || quiet::catch(|| read_twice_until(&stop, &db))
        });
        // The fault is planted on this thread, which writes.
        for _ in 0..100 {
            let mut batch = WriteBatch::new();
            batch.merge("a", number(1)).merge("b", number(1));
            db.write(&batch).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        reader.join().expect("panics are caught").expect("the reader's assertion");
    });
}

/// Takes snapshots and asserts that each reads the same twice.
fn read_twice_until(stop: &AtomicBool, db: &Db) {
    while !stop.load(Ordering::Relaxed) {
        let snapshot = db.snapshot();
        let before = snapshot.get("a").unwrap();
        thread::sleep(Duration::from_micros(500));
        assert_eq!(before, snapshot.get("a").unwrap(), "a snapshot changed");
    }
}

#[test]
fn range_deletes_by_level_are_noticed() {
    assert_noticed(Fault::RangeDeleteByLevel, || {
        let db = open(&MemFs::new()).unwrap();
        db.put("a", "1").unwrap();
        db.flush().unwrap();
        db.delete_range("a".."b").unwrap();
        db.put("a", "2").unwrap();
        db.flush().unwrap();
        assert_eq!(text(&db, "a").unwrap(), "2");
    });
}

#[test]
fn range_deletes_behind_a_filter_are_noticed() {
    assert_noticed(Fault::RangeDeleteBehindFilter, || {
        let db = open(&MemFs::new()).unwrap();
        db.put("a", "1").unwrap();
        db.flush().unwrap();
        db.delete_range("a".."b").unwrap();
        db.flush().unwrap();
        assert_eq!(text(&db, "a"), None);
    });
}

#[test]
fn range_deletes_cut_short_are_noticed() {
    assert_noticed(Fault::RangeDeleteCutShort, || {
        let db = sliced(&MemFs::new());
        for n in 0..100 {
            db.put(format!("k{n:03}"), "an old value").unwrap();
        }
        db.flush().unwrap();
        db.delete_range("k"..).unwrap();
        for n in (0..100).step_by(2) {
            db.put(format!("k{n:03}"), [b'x'; 100]).unwrap();
        }
        db.flush().unwrap();
        assert_eq!(text(&db, "k099"), None);
    });
}

#[test]
fn folding_across_a_range_delete_is_noticed() {
    assert_noticed(Fault::FoldAcrossRangeDelete, || {
        let db = open(&MemFs::new()).unwrap();
        db.merge("a", number(1)).unwrap();
        db.delete_range("a".."b").unwrap();
        db.merge("a", number(2)).unwrap();
        db.flush().unwrap();
        assert_eq!(count(&db, "a"), 2);
    });
}

#[test]
fn dropping_a_range_delete_above_the_last_level_is_noticed() {
    assert_noticed(Fault::DropRangeDeleteEarly, || {
        let db = open(&MemFs::new()).unwrap();
        db.put("a", "1").unwrap();
        db.flush().unwrap();
        db.delete_range("a".."b").unwrap();
        db.flush().unwrap();
        assert_eq!(text(&db, "a"), None);
    });
}

#[test]
fn operands_in_the_wrong_order_are_noticed() {
    assert_noticed(Fault::WrongOperandOrder, || {
        let db = open(&MemFs::new()).unwrap();
        let list = db.operator("stringappend:,").unwrap();
        db.merge_with(&list, "a", "1").unwrap();
        db.merge_with(&list, "a", "2").unwrap();
        assert_eq!(text(&db, "a").unwrap(), "1,2");
    });
}

#[test]
fn losing_the_last_log_record_is_noticed() {
    assert_noticed(Fault::LoseLastLogRecord, || {
        let fs = MemFs::new();
        let db = open(&fs).unwrap();
        db.put("a", "1").unwrap();
        db.put("b", "2").unwrap();
        let db = reopen(&fs.kill()).unwrap();
        assert_eq!(text(&db, "a").unwrap(), "1");
        assert_eq!(text(&db, "b").unwrap(), "2");
    });
}

/// The model notices each way in which a range delete may fail to hold or delete too much. The
/// model knows nothing of levels, filters, slices and stripes.
#[test]
fn h10_the_model_notices_what_is_wrong_with_range_deletes() {
    for fault in [
        Fault::RangeDeleteByLevel,
        Fault::RangeDeleteBehindFilter,
        Fault::RangeDeleteCutShort,
        Fault::FoldAcrossRangeDelete,
        Fault::DropRangeDeleteEarly,
    ] {
        let seed = (0..PROGRAMS).find(|&seed| {
            let program = draw(seed);
            plant(Some(fault));
            let outcome = quiet::catch(|| run::play(&program));
            plant(None);
            outcome.is_err()
        });
        match seed {
            None => panic!("none of {PROGRAMS} programs notices {fault:?}"),
            Some(seed) => {
                println!("program {seed} notices {fault:?}");
                run::play(&draw(seed));
            }
        }
    }
}

#[test]
fn a_collection_that_drops_a_live_value_is_noticed() {
    assert_noticed(Fault::GcDropsLiveValue, || {
        let fs = MemFs::new();
        let options = Options {
            default: KeyspaceOptions { value_separation_min: Some(10), ..options(&fs).default },
            ..options(&fs)
        };
        let db = Db::open(PATH, options).unwrap();
        for n in 0..40 {
            db.put(format!("k{n:02}"), [n; 100]).unwrap();
        }
        db.compact(..).unwrap();
        for n in 0..30 {
            db.put(format!("k{n:02}"), [n + 100; 100]).unwrap();
        }
        db.compact(..).unwrap();
        db.collect_garbage().unwrap();
        for n in 0..40 {
            let expected = if n < 30 { n + 100 } else { n };
            assert_eq!(db.get(format!("k{n:02}")).unwrap().unwrap(), [expected; 100]);
        }
    });
}

#[test]
fn verify_notices_that_a_collection_dropped_a_live_value() {
    assert_noticed(Fault::GcDropsLiveValue, || {
        let fs = MemFs::new();
        let options = Options {
            default: KeyspaceOptions { value_separation_min: Some(10), ..options(&fs).default },
            ..options(&fs)
        };
        let db = Db::open(PATH, options).unwrap();
        (0..40).for_each(|n| db.put([n], [n; 100]).unwrap());
        db.compact(..).unwrap();
        (0..30).for_each(|n| db.delete([n]).unwrap());
        db.compact(..).unwrap();
        assert!(db.collect_garbage().unwrap().commits > 0);
        db.verify().unwrap();
    });
}

/// Opens a database that adopts its logs as segments.
fn adopting(fs: &MemFs) -> Db {
    let options = Options {
        default: KeyspaceOptions { value_separation_min: Some(500), ..options(fs).default },
        knobs: Knobs { segment_size: 16 << 10, ..Knobs::default() },
        adopt_logs: LogAdoption::Always,
        ..options(fs)
    };
    Db::open(PATH, options).unwrap()
}

#[test]
fn a_log_that_goes_though_it_became_a_segment_is_noticed() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    assert_noticed(Fault::UnlinkAdoptedLog, || {
        let fs = MemFs::new();
        let db = adopting(&fs);
        (0..20).for_each(|n| db.put([n], [n; 1000]).unwrap());
        db.flush().unwrap();
        assert!(db.stats().bytes_adopted > 0);
        drop(db);
        let db = adopting(&fs);
        (0..20).for_each(|n| assert_eq!(db.get([n]).unwrap().unwrap(), [n; 1000]));
    });
}

#[test]
fn a_log_that_becomes_a_segment_though_it_is_mostly_dead_is_noticed() {
    if skipped_where_files_only_grow("hard links adopt a log") {
        return;
    }
    assert_noticed(Fault::AdoptUnexamined, || {
        let db = adopting(&MemFs::new());
        (0..40).for_each(|n| db.put([n % 4], [n; 1000]).unwrap());
        db.flush().unwrap();
        let segments = db.stats().segments;
        assert!(segments.dead_bytes * 4 <= segments.bytes, "{segments:?}");
    });
}

/// Among this many programs, each fault must be noticed.
const PROGRAMS: u64 = 2000;

/// Returns the program of a seed.
fn draw(seed: u64) -> Program {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    program::programs(320).new_tree(&mut runner).expect("a program").current()
}

/// Opens a leveled database whose compactions take several slices.
fn sliced(fs: &MemFs) -> Db {
    let options = Options {
        default: KeyspaceOptions {
            compaction: Some(CompactionPreset::Leveled),
            ..options(fs).default
        },
        level0_compaction_trigger: 4,
        target_file_size: 1024,
        block_size: 256,
        max_bytes_for_level_base: 100_000,
        ..options(fs)
    };
    Db::open(PATH, options).unwrap()
}

const SYNC: WriteOptions = WriteOptions { sync: true, ..WriteOptions::DEFAULT };

#[test]
fn a_synced_batch_of_nothing_that_syncs_nothing_is_noticed() {
    assert_noticed(Fault::EmptySyncSyncsNothing, || {
        let fs = MemFs::new();
        let db = open(&fs).unwrap();
        db.put("a", "1").unwrap();
        db.with(&SYNC).write(&WriteBatch::new()).unwrap();
        assert_eq!(text(&reopen(&fs.crash()).unwrap(), "a").unwrap(), "1");
    });
}

#[test]
fn a_current_that_is_durable_before_what_it_leads_to_is_noticed() {
    if skipped_where_files_only_grow("a sync of a manifest syncs its directory") {
        return;
    }
    assert_noticed(Fault::CurrentBeforeNames, || {
        let whole = MemFs::new();
        open(&whole).unwrap();
        for point in 1..=whole.counts().mutations() {
            let fs = MemFs::new();
            fs.inject(FileFault::on_mutation().nth(point).forever());
            let _stopped = open(&fs);
            for seed in 0..20 {
                open(&fs.crash_with(seed)).unwrap();
            }
        }
    });
}

/// The record after a failed record ends where the failed record's second frame begins.
#[test]
fn frames_that_a_failed_write_left_are_noticed() {
    assert_noticed(Fault::KeepFailedFrames, || {
        let fs = MemFs::new();
        let db = open(&fs).unwrap();
        fs.inject(FileFault::on(Operation::Write).path(".log").nth(3));
        db.put("big", vec![b'x'; 3 << 20]).unwrap_err();
        // A frame holds 1 MiB: kind, keyspace and lengths of the batch, its key and this value.
        db.with(&SYNC).put("k", vec![b'y'; (1 << 20) - 17 - 4 - 3]).unwrap();
        assert!(reopen(&fs.kill()).unwrap().get("big").unwrap().is_none());
    });
}

#[test]
fn a_close_without_a_record_is_noticed() {
    assert_noticed(Fault::NoCloseRecord, || {
        let fs = MemFs::new();
        let db = open(&fs).unwrap();
        db.put("a", "1").unwrap();
        db.close().unwrap();
        assert!(fs.exists(&Path::new(PATH).join("CLOSED")));
    });
}

/// Opens a database that keeps its logs for the change feed.
fn keeping(fs: &MemFs) -> Db {
    Db::open(PATH, Options { wal_retention_bytes: 1 << 30, ..options(fs) }).unwrap()
}

/// Returns the number of writes that the feed yields, unsynced ones not included.
fn writes_in_feed(db: &Db) -> usize {
    let updates = db.updates_since(&foldb::feed::Position::BEGINNING).unwrap();
    let batches = updates
        .filter(|update| matches!(update.as_ref().unwrap().change, foldb::feed::Change::Batch(_)));
    batches.count()
}

#[test]
fn a_feed_that_skips_a_batch_is_noticed() {
    assert_noticed(Fault::FeedSkipsBatch, || {
        let db = keeping(&MemFs::new());
        for n in 0..10 {
            db.merge("n", number(1)).unwrap();
            if n % 4 == 3 {
                db.flush().unwrap();
            }
        }
        db.sync().unwrap();
        assert_eq!(writes_in_feed(&db), 10);
    });
}

#[test]
fn a_feed_that_yields_what_power_losses_take_back_is_noticed() {
    assert_noticed(Fault::FeedYieldsUnsynced, || {
        let fs = MemFs::new();
        let db = keeping(&fs);
        db.with(&SYNC).put("a", "1").unwrap();
        db.put("a", "2").unwrap();
        let yielded = writes_in_feed(&db);
        assert_eq!(writes_in_feed(&keeping(&fs.crash())), yielded);
    });
}

/// Takes a dump, and writes to the database meanwhile.
struct WritesBack<'a>(&'a foldb::Keyspace, Vec<u8>);

impl std::io::Write for WritesBack<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.put("z", "new").map_err(std::io::Error::other)?;
        self.1.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_dump_of_several_moments_is_noticed() {
    assert_noticed(Fault::DumpWithoutSnapshot, || {
        let fs = MemFs::new();
        let db = open(&fs).unwrap();
        for n in 0..9000 {
            db.put(format!("{n:04}"), [0; 100]).unwrap();
        }
        // The dump reads this keyspace last, after it wrote blocks of the first.
        let last = db.create_keyspace("last", foldb::KeyspaceOptions::default()).unwrap();
        let mut stream = WritesBack(&last, Vec::new());
        db.dump(&mut stream).unwrap();
        assert_eq!(last.get("z").unwrap().unwrap(), b"new", "nothing was written meanwhile");
        Db::restore(&stream.1[..], "new", options(&fs)).unwrap();
        let new = Db::open("new", Options { create_if_missing: false, ..options(&fs) }).unwrap();
        assert!(new.keyspace("last").unwrap().get("z").unwrap().is_none());
    });
}

/// Gives a dump, and copies the disk at its middle, as a kill would leave it.
struct Kills<'a> {
    stream: &'a [u8],
    half: usize,
    fs: &'a MemFs,
    left: Option<MemFs>,
}

impl std::io::Read for Kills<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.left.is_none() && self.stream.len() < self.half {
            self.left = Some(self.fs.kill());
        }
        self.stream.read(out)
    }
}

#[test]
fn a_restore_without_its_mark_is_noticed() {
    assert_noticed(Fault::RestoreUnmarked, || {
        let fs = MemFs::new();
        let db = open(&fs).unwrap();
        for n in 0..9000 {
            db.put(format!("{n:04}"), [0; 100]).unwrap();
        }
        let mut stream = Vec::new();
        db.dump(&mut stream).unwrap();
        let half = stream.len() / 2;
        let mut kills = Kills { stream: &stream, half, fs: &fs, left: None };
        Db::restore(&mut kills, "new", options(&fs)).unwrap();
        let left = kills.left.expect("a kill in the middle");
        assert!(left.exists(Path::new("new/CURRENT")), "the kill came too early");
        let opened = Db::open("new", Options { create_if_missing: false, ..options(&left) });
        assert!(opened.is_err(), "a part of a database opens");
    });
}

#[test]
fn a_backup_that_skips_a_sync_is_noticed() {
    assert_noticed(Fault::BackupSkipsSync, || {
        let fs = MemFs::new();
        let db = open(&fs).unwrap();
        for n in 0..100 {
            db.put(format!("{n:03}"), [0; 100]).unwrap();
        }
        db.flush().unwrap();
        foldb::backup::Backups::at("backups", &options(&fs)).create(&db).unwrap();
        let left = fs.crash();
        let check = foldb::backup::Backups::at("backups", &options(&left)).verify().unwrap();
        assert!(check.faults.is_empty(), "{:?}", check.faults);
    });
}

#[test]
fn a_verification_that_skips_blocks_is_noticed() {
    assert_noticed(Fault::VerifySkipsBlocks, || {
        let fs = MemFs::new();
        let db = open(&fs).unwrap();
        db.put("a", "1").unwrap();
        db.flush().unwrap();
        let names = fs.list(Path::new(PATH)).unwrap();
        let table = names.iter().find(|name| name.ends_with(".tbl")).unwrap();
        let table = Path::new(PATH).join(table);
        let mut bytes = fs.read(&table).unwrap();
        bytes[5] ^= 1;
        fs.create(&table).unwrap().write_at(&bytes, 0).unwrap();
        assert!(db.verify().is_err(), "verification misses a flipped byte");
    });
}

#[test]
fn a_load_above_older_writes_in_memtables_is_noticed() {
    assert_noticed(Fault::LoadOverUnflushed, || {
        let db = open(&MemFs::new()).unwrap();
        db.put("a", "1").unwrap();
        let mut load = db.sorted_load().unwrap();
        load.put("a", "2").unwrap();
        load.finish().unwrap();
        assert_eq!(text(&db, "a").unwrap(), "2");
    });
}

#[test]
fn a_load_without_its_number_is_noticed() {
    assert_noticed(Fault::LoadWithoutNumber, || {
        let db = open(&MemFs::new()).unwrap();
        let before = db.snapshot();
        let mut load = db.sorted_load().unwrap();
        load.put("a", "1").unwrap();
        load.finish().unwrap();
        assert!(before.get("a").unwrap().is_none());
    });
}
