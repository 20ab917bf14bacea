//! Tests that use internals of the database: error paths that must not damage it, and background
//! work that must not run twice at once.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use foldb_env::mem::{Fault, Operation};
use foldb_env::{Env, FileSystem, ManualClock, MemFs, SystemThreads};

use crate::db::state::patience::Patience;
use crate::db::throttle::full_disk::Waiting;
use crate::error::Error;
use crate::explain::OptionSource;
use crate::files::FileNames;
use crate::key::DEFAULT_KEYSPACE;
use crate::options::WriteOptions;
use crate::settings::CompactionPreset;
use crate::version::{Edit, KeyspaceEdit, Manifest};
use crate::{Db, ErrorKind, KeyspaceOptions, Options, Runtime, RuntimeOptions};

const PATH: &str = "db";

fn options(fs: &MemFs) -> Options {
    Options {
        create_if_missing: true,
        default: KeyspaceOptions::with_operator("uint64add"),
        write_buffer_size: 4096,
        max_write_buffers: 17,
        env: Env::in_memory(fs.clone()),
        ..Options::default()
    }
}

fn open(fs: &MemFs) -> crate::Result<Db> {
    Db::open(PATH, options(fs))
}

/// Opens a database in memory, with workers.
fn open_with_threads(fs: &MemFs, compaction: CompactionPreset) -> Db {
    let env = Env { threads: Arc::new(SystemThreads), ..Env::in_memory(fs.clone()) };
    let small = Options {
        env,
        default: KeyspaceOptions { compaction: Some(compaction), ..options(fs).default },
        target_file_size: 2048,
        ..options(fs)
    };
    Db::open(PATH, small).unwrap()
}

fn files(fs: &MemFs, extension: &str) -> Vec<String> {
    let mut names = fs.list(Path::new(PATH)).unwrap();
    names.retain(|name| name.ends_with(extension));
    names.sort();
    names
}

fn one() -> [u8; 8] {
    1u64.to_le_bytes()
}

fn count(db: &Db, key: &str) -> u64 {
    db.get(key).unwrap().map_or(0, |value| u64::from_le_bytes((*value).try_into().unwrap()))
}

/// Options that the database stores are reported as stored.
#[test]
fn stored_options_are_reported_as_stored() {
    let dir = tempfile::tempdir().unwrap();
    let named = |db: &Db, name| {
        let all = db.explain_options();
        let option = all.into_iter().find(|option| option.name == name).unwrap();
        (option.value.to_string(), option.source)
    };
    let options = Options {
        create_if_missing: true,
        default: KeyspaceOptions::with_operator("stringappend:,"),
        num_levels: 9,
        ..Options::default()
    };
    let db = Db::open(dir.path(), options).unwrap();
    assert_eq!(named(&db, "merge_operator"), ("stringappend:,".to_owned(), OptionSource::Given));
    assert_eq!(named(&db, "num_levels"), ("9".to_owned(), OptionSource::Given));
    db.close().unwrap();
    let db = Db::open(dir.path(), Options::default()).unwrap();
    assert_eq!(named(&db, "merge_operator"), ("stringappend:,".to_owned(), OptionSource::Stored));
    assert_eq!(named(&db, "num_levels"), ("9".to_owned(), OptionSource::Stored));
    assert_eq!(named(&db, "bloom_bits"), ("10".to_owned(), OptionSource::Default));
    let own = KeyspaceOptions { bloom_bits: Some(0), ..KeyspaceOptions::default() };
    let own = db.create_keyspace("own", own).unwrap().explain_options();
    let bits = own.iter().find(|option| option.name == "bloom_bits").unwrap();
    assert_eq!((bits.value.to_string(), bits.source), ("0".to_owned(), OptionSource::Stored));
}

#[test]
fn h11_damage_is_seen_from_any_later_log() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let mut writes = 0;
    while files(&fs, ".log").len() < 3 {
        db.put(format!("{writes:06}"), "unsynced").unwrap();
        writes += 1;
    }
    let synced = WriteOptions { sync: true, ..WriteOptions::default() };
    db.with(&synced).put("last", "synced").unwrap();
    db.put("later", "says so").unwrap();
    assert_eq!(files(&fs, ".log").len(), 3);
    let killed = fs.kill();
    assert_eq!(open(&killed.kill()).unwrap().iter().unwrap().count(), writes + 2);

    let first = Path::new(PATH).join(&files(&fs, ".log")[0]);
    let mut bytes = killed.read(&first).unwrap();
    let tail = bytes.windows(8).rposition(|window| window == b"unsynced").unwrap();
    bytes[tail] ^= 1;
    killed.create(&first).unwrap().write_at(&bytes, 0).unwrap();
    let error = open(&killed).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Corruption, Some(&*first)), "{error}");
}

/// Without CURRENT no manifest claims the tables, and a new database would remove them.
#[test]
fn a_database_without_current_is_not_a_new_one() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("a", "1").unwrap();
    db.flush().unwrap();
    drop(db);
    let tables = files(&fs, ".tbl");
    assert!(!tables.is_empty());
    let current = Path::new(PATH).join("CURRENT");
    let content = fs.read(&current).unwrap();
    fs.remove(&current).unwrap();
    let error = open(&fs).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Corruption, Some(&*current)));
    assert_eq!(files(&fs, ".tbl"), tables);
    fs.create(&current).unwrap().write_at(&content, 0).unwrap();
    assert_eq!(open(&fs).unwrap().get("a").unwrap().unwrap(), b"1");
}

#[test]
fn an_absurd_number_of_levels_is_damage() {
    let fs = MemFs::new();
    fs.create_dir_all(Path::new(PATH)).unwrap();
    let levels = KeyspaceEdit { num_levels: Some(1 << 60), ..KeyspaceEdit::default() };
    let edit = Edit { database: Some(1), ..Edit::of_keyspace(levels) };
    let handle: Arc<dyn FileSystem> = Arc::new(fs.clone());
    Manifest::create(&handle, &FileNames::new(Path::new(PATH)), 1, 1, &edit).unwrap();
    let error = open(&fs).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(error.to_string().contains("expected at most 32 levels"), "{error}");
}

/// After a failed sync it is unknown what is durable. From then on nothing may be flushed,
/// installed or removed, even if the work is retried.
#[test]
fn a_poisoned_database_changes_nothing() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    for n in 0..200 {
        db.merge(format!("{n:06}"), one()).unwrap();
    }
    fs.inject(Fault::on(Operation::Sync).path("MANIFEST-"));
    db.flush().unwrap_err();
    let all = || fs.list(Path::new(PATH)).unwrap().len();
    let (before, logs) = (all(), files(&fs, ".log"));
    let changes = fs.counts().mutations();
    for _ in 0..5 {
        assert_eq!(db.step_background().unwrap_err().kind(), ErrorKind::Poisoned);
        assert_eq!(db.flush().unwrap_err().kind(), ErrorKind::Poisoned);
    }
    assert_eq!((all(), files(&fs, ".log")), (before, logs));
    assert_eq!(fs.counts().mutations(), changes);
    drop(db);
    let db = open(&fs.crash_with(7)).unwrap();
    assert!(db.iter().unwrap().count() <= 200);
}

/// A flush whose edit meets a full disk runs again once there is space.
#[test]
fn a_full_disk_under_the_manifest_heals() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.merge("a", one()).unwrap();
    let full = Fault::on(Operation::Write).path("MANIFEST").kind(std::io::ErrorKind::StorageFull);
    fs.inject(full.torn_at(10));
    assert_eq!(db.flush().unwrap_err().kind(), ErrorKind::NoSpace);
    db.merge("a", one()).unwrap();
    db.flush().unwrap();
    assert_eq!(count(&db, "a"), 2);
    let survivor = open(&fs.crash()).unwrap();
    assert_eq!(count(&survivor, "a"), 2);
}

/// The memory of a large memtable may count although it holds little: the system gives it in huge
/// pages.
#[test]
fn a_reopened_database_of_a_shared_runtime_has_a_small_memtable() {
    let fs = MemFs::new();
    let runtime = Runtime::new(RuntimeOptions::default()).unwrap();
    let env = Env { fs: Arc::new(fs), ..Env::system() };
    let options = |runtime| Options {
        create_if_missing: true,
        env: env.clone(),
        runtime,
        ..Options::default()
    };
    let takes =
        |db: &Db, bytes| db.core().lock_writer().unwrap().buffers.is_ready(DEFAULT_KEYSPACE, bytes);
    let half = Options::default().write_buffer_size / 2;
    for (runtime, takes_half) in [(Some(runtime), false), (None, true)] {
        for is_new in [true, false] {
            let db = Db::open(PATH, options(runtime.clone())).unwrap();
            if is_new {
                db.put("a", "1").unwrap();
            }
            assert_eq!((takes(&db, 1000), takes(&db, half)), (true, takes_half), "{is_new}");
        }
    }
}

/// A regression test: a delete failed if a worker ended the shortage between the delete's error and
/// its wait for space.
#[test]
fn a_delete_tries_again_once_if_the_shortage_ended_before_its_wait() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let mut waited = Waiting::default();
    let mut wait = |kind| {
        db.core().wait_for_space(Error::new(kind, "an error"), &mut waited, Patience::ENDLESS)
    };
    assert_eq!(wait(ErrorKind::Io).unwrap_err().kind(), ErrorKind::Io);
    wait(ErrorKind::NoSpace).unwrap();
    assert_eq!(wait(ErrorKind::NoSpace).unwrap_err().kind(), ErrorKind::NoSpace);
}

/// A database that never syncs closes the logs that it has removed.
#[test]
fn removed_logs_are_closed() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let first = Arc::downgrade(db.core().lock_writer().unwrap().log.sync_handle());
    for n in 0..2000 {
        db.put(format!("{n:06}"), "x").unwrap();
    }
    db.flush().unwrap();
    assert!(first.upgrade().is_none());
    let logs = db.core().logs.numbers();
    assert_eq!(logs.len(), files(&fs, ".log").len());
    assert_eq!(logs.len(), 1);
}

/// Without workers, two threads that flush must not flush the same memtable twice: its operands
/// would count twice.
#[test]
fn a_memtable_is_flushed_once() {
    let fs = MemFs::new();
    let db = Db::open(PATH, Options { disable_auto_compactions: true, ..options(&fs) }).unwrap();
    let flusher = || {
        let db = db.clone();
        thread::spawn(move || {
            for _ in 0..150 {
                db.merge("a", one()).unwrap();
                // The other thread may flush this memtable first. This call then waits for that
                // flush and finds nothing left to flush.
                let _done_by_either = db.flush();
            }
        })
    };
    let threads = [flusher(), flusher()];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    db.flush().unwrap();
    assert_eq!(count(&db, "a"), 300);
}

/// Calls of `flush` that wait at the same time all return, even if fewer memtables are sealed than
/// a background flush would wait for.
#[test]
fn all_waiting_flushes_end() {
    let db = open_with_threads(&MemFs::new(), CompactionPreset::LazyLeveled);
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let db = db.clone();
            thread::spawn(move || {
                for n in 0..100 {
                    db.merge(format!("{thread} {}", n % 7), one()).unwrap();
                    db.flush().unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let total: u64 = (0..4)
        .flat_map(|thread| (0..7).map(move |n| format!("{thread} {n}")))
        .map(|key| count(&db, &key))
        .sum();
    assert_eq!(total, 400);
}

/// A compaction that a caller asks for runs concurrently with no other compaction.
#[test]
fn compactions_of_callers_run_alone() {
    for preset in
        [CompactionPreset::Leveled, CompactionPreset::Tiered, CompactionPreset::LazyLeveled]
    {
        let db = open_with_threads(&MemFs::new(), preset);
        let writer = {
            let db = db.clone();
            thread::spawn(move || {
                for n in 0..12_000u64 {
                    db.merge(format!("{:04}", n * 7919 % 1500), one()).unwrap();
                }
            })
        };
        let compactors: Vec<_> = (0..2)
            .map(|_| {
                let db = db.clone();
                thread::spawn(move || (0..15).for_each(|_| db.compact(..).unwrap()))
            })
            .collect();
        writer.join().unwrap();
        compactors.into_iter().for_each(|thread| thread.join().unwrap());
        db.compact(..).unwrap();
        let total: u64 = (0..1500).map(|n| count(&db, &format!("{n:04}"))).sum();
        assert_eq!(total, 12_000, "{preset:?}");
    }
}

/// `compact` returns after a whole compaction, even if another one runs when it is called.
#[test]
fn a_compaction_that_returned_is_done() {
    for preset in [CompactionPreset::Tiered, CompactionPreset::LazyLeveled] {
        let db = open_with_threads(&MemFs::new(), preset);
        for round in 0..3 {
            for n in 0..4000 {
                db.put(format!("{n:04}"), format!("{round}")).unwrap();
            }
            let compactors: Vec<_> = (0..3)
                .map(|_| {
                    let db = db.clone();
                    thread::spawn(move || {
                        db.compact(..).unwrap();
                        db.stats().runs_per_read()
                    })
                })
                .collect();
            for compactor in compactors {
                assert_eq!(compactor.join().unwrap(), 1, "{preset:?}");
            }
        }
    }
}

/// Closes right after the open, while the workers may just be looking for work.
#[test]
fn close_wakes_every_worker() {
    let fs = MemFs::new();
    for _ in 0..300 {
        let db = open_with_threads(&fs, CompactionPreset::LazyLeveled);
        db.put("a", "1").unwrap();
        db.close().unwrap();
    }
}

/// The filters of 2000 records in level 0 have 16 bits for each.
#[test]
fn explain_options_tells_of_filters_without_room() {
    let env = Env::in_memory(MemFs::new());
    let db =
        Db::open(PATH, Options { create_if_missing: true, env, ..Options::default() }).unwrap();
    (0..2000).for_each(|n| db.put(format!("{n:08}"), "value").unwrap());
    db.flush().unwrap();
    let lack = || {
        let explained = db.explain_options();
        explained.into_iter().find(|option| option.name == "memory_budget").unwrap().lack
    };
    assert_eq!(lack(), None);
    let tables = &db.core().runtime.ledger().tables;
    tables.set_room(2400);
    let found = lack().unwrap();
    assert!(found.contains("about 4000 bytes, but 2400 are left"), "{found}");
}

/// `explain_options` returns the numbers that the engine and the compaction policy use, automatic
/// ones included.
#[test]
fn explain_options_the_engine_and_the_policy_see_the_same_numbers() {
    type Change = fn(&mut Options);
    let changes: [Change; 10] = [
        |_| {},
        |o| o.write_buffer_size = 2 << 20,
        |o| o.write_buffer_size = 8 << 20,
        |o| (o.write_buffer_size, o.max_write_buffers) = (8 << 20, 6),
        |o| o.max_write_buffers = 5,
        |o| o.memory_budget = 32 << 20,
        |o| (o.wal_limit, o.target_file_size) = (5 << 20, 3 << 20),
        |o| o.level0_slowdown_trigger = 6,
        |o| *o = Options::small_memory(),
        |o| *o = Options::small(),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut options = Options::default();
        change(&mut options);
        options.create_if_missing = true;
        options.env = Env::in_memory(MemFs::new());
        let db = Db::open(PATH, options).unwrap();
        let (core, policy) = (db.core(), &db.core().keyspaces.default().policy);
        let told = |name: &str| {
            let explained = db.explain_options();
            let option = explained.iter().find(|option| option.name == name).unwrap();
            match option.value {
                crate::explain::OptionValue::Number(value) => value,
                ref other => panic!("{name} is {other}"),
            }
        };
        let buffers = core.settings.write_buffers;
        assert_eq!(told("write_buffer_size"), buffers.size as u64, "{number}");
        assert_eq!(told("max_write_buffers"), buffers.most as u64, "{number}");
        assert_eq!(told("wal_limit"), core.settings.wal_limit, "{number}");
        assert_eq!(told("target_file_size"), core.settings.tree.target_file_size, "{number}");
        assert_eq!(told("target_file_size"), policy.target_file_size, "{number}");
        assert_eq!(told("memory_budget"), core.runtime.ledger().shares.budget as u64, "{number}");
        let together = buffers.size as u64 * buffers.flushed_together as u64;
        assert_eq!(policy.flush_bytes, together, "{number}");
        assert_eq!(told("level0_stop_trigger"), policy.level0_stop as u64, "{number}");
        assert_eq!(told("num_levels"), policy.num_levels as u64, "{number}");
    }
}

/// Statistics waited as long as a batch of many megabytes took, or a sync of the manifest.
#[test]
fn statistics_do_not_wait_for_a_write_or_a_change_of_the_tree_in_progress() {
    let db = open(&MemFs::new()).unwrap();
    db.put("a", "1").unwrap();
    let (writing, reading) = (db.core().lock_writer().unwrap(), db.clone());
    let changing = db.core().lock_tree();
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let told = (reading.stats().puts, reading.explain_options().len());
        sender.send(told).unwrap();
    });
    let told = receiver.recv_timeout(std::time::Duration::from_secs(60)).expect("no wait");
    drop((changing, writing));
    assert_eq!(told.0, 1);
}

/// Each drop of one among thousands of keyspaces woke a worker that walked over all of them.
#[test]
fn at_rest_a_drop_of_a_keyspace_makes_no_search_for_a_job() {
    let clock = Arc::new(ManualClock::default());
    let env = Env { clock: Arc::clone(&clock) as _, ..Env::in_memory(MemFs::new()) };
    let db = Db::open("db", Options { create_if_missing: true, env, ..Options::default() });
    let db = db.unwrap();
    let create = |name: &str| db.create_keyspace(name, Default::default()).unwrap();
    let kept = create("kept");
    create("a").put("key", "1").unwrap();
    create("b");
    let rest = || {
        for _ in 0..3 {
            clock.advance(std::time::Duration::from_secs(1));
            while db.step_background().unwrap() {}
        }
    };
    db.flush().unwrap();
    let rest_of = &db.core().background.rest;
    assert!(!rest_of.has_no_news());
    rest();
    assert!(rest_of.has_no_news());
    db.drop_keyspace("a").unwrap();
    db.drop_keyspace("b").unwrap();
    assert!(rest_of.has_no_news());
    // What makes a job is news.
    create("c");
    assert!(!rest_of.has_no_news());
    rest();
    assert!(rest_of.has_no_news());
    kept.put("key", "1").unwrap();
    db.flush().unwrap();
    assert!(!rest_of.has_no_news());
}
