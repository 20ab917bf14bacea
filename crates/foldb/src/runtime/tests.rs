//! Tests of the ledger with budgets smaller than options allow.

use std::sync::Arc;

use foldb_env::SystemThreads;

use crate::settings::MemoryShares;
use crate::{Db, Options, Runtime};

const KIB: usize = 1 << 10;

fn shares(budget: usize) -> MemoryShares {
    MemoryShares {
        budget,
        memtables: 100 * KIB,
        with_spare: 100 * KIB,
        write_buffer: 50 * KIB,
        cache: 50 * KIB,
        background: 50 * KIB,
        tables: 50 * KIB,
        open_tables: 1000,
        threads: 2,
    }
}

fn runtime(shares: MemoryShares) -> Runtime {
    Runtime::with_shares(shares, Arc::new(SystemThreads))
}

/// If write buffers share memory, a spare arena that does not fit in addition to the filled
/// memtables is freed.
#[test]
fn spare_arenas_take_what_memtables_leave() {
    let spare = |with_spare: usize| {
        let directory = tempfile::tempdir().unwrap();
        let shares = MemoryShares { memtables: 4000 * KIB, with_spare, ..shares(64 << 20) };
        let options = Options {
            create_if_missing: true,
            runtime: Some(runtime(shares)),
            ..Options::default()
        };
        let db = Db::open(directory.path(), options).unwrap();
        let other = db.create_keyspace("other", Default::default()).unwrap();
        db.put("a", "1").unwrap();
        other.put("a", "1").unwrap();
        db.flush().unwrap();
        // The next memtable takes one of the two arenas.
        (0..100).for_each(|n| db.put(format!("key {n}"), [b'v'; 100]).unwrap());
        db.memory().spare_memtables
    };
    assert!(spare(4000 * KIB) > 0);
    assert_eq!(spare(1), 0);
}

/// A database that wrote much and now only reads can use the memory of flushed memtables otherwise.
#[test]
fn spare_arenas_are_given_back_when_all_is_flushed() {
    let directory = tempfile::tempdir().unwrap();
    let open = || {
        let options = Options { create_if_missing: true, ..Options::default() };
        Db::open(directory.path(), options).unwrap()
    };
    let fill = |db: &Db| {
        for n in 0..20_000 {
            db.put(format!("key {n}"), [b'v'; 400]).unwrap();
        }
        assert!(db.memory().active_memtables > 8 << 20);
    };
    let assert_given_back = |db: &Db| {
        let memory = db.memory();
        assert!(memory.active_memtables + memory.spare_memtables <= 2 << 20, "{memory:?}");
    };
    let db = open();
    fill(&db);
    db.flush().unwrap();
    assert_given_back(&db);
    fill(&db);
    db.close().unwrap();
    // What the log held became tables.
    assert_given_back(&open());
}

/// Tables are closed when their indexes and filters do not fit, and reads stay correct.
#[test]
fn open_tables_keep_to_the_budget() {
    const KEYS: u64 = 60_000;
    let directory = tempfile::tempdir().unwrap();
    let open = |budget: usize| {
        let options = Options {
            create_if_missing: true,
            runtime: Some(runtime(shares(budget))),
            target_file_size: 32 << 10,
            disable_auto_compactions: true,
            ..Options::default()
        };
        Db::open(directory.path(), options).unwrap()
    };
    let key = |n: u64| format!("{:016x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    // Nearly every get opens a table, which takes 20 milliseconds under Wine.
    let step = if cfg!(windows) { 310 } else { 31 };
    let read = |db: &Db| {
        (0..KEYS).step_by(step).all(|n| *db.get(key(n)).unwrap().unwrap() == n.to_le_bytes())
    };
    let roomy = open(64 << 20);
    (0..KEYS).for_each(|n| roomy.put(key(n), n.to_le_bytes()).unwrap());
    roomy.flush().unwrap();
    assert!(read(&roomy));
    let all = roomy.memory();
    roomy.close().unwrap();
    let tight = open(200 * KIB);
    assert!(read(&tight));
    let (need, have) = (all.indexes + all.filters, tight.memory().indexes + tight.memory().filters);
    // All but the 100 KiB of cache and background work; and one table that a reader holds.
    assert!(need > 110 << 10, "{need}: all would have fit");
    assert!(have <= 110 << 10, "{have} of {need}");
}

/// Each check of the ledger visits every memtable. Once there was a check for each 64 KiB written,
/// and one for each new memtable: a put among 4 000 keyspaces took 12 to 16 microseconds instead of
/// one.
#[test]
#[cfg(target_pointer_width = "64")] // 500 memtables need more addresses than 32 bits have.
fn a_check_of_the_ledger_costs_a_write_the_same_for_any_number_of_memtables() {
    let met_by = |keyspaces: usize| {
        let directory = tempfile::tempdir().unwrap();
        let options = Options {
            create_if_missing: true,
            write_buffer_size: 256 << 20,
            disable_auto_compactions: true,
            ..Options::default()
        };
        let db = Db::open(directory.path(), options).unwrap();
        let met = &db.core().runtime.ledger().met;
        let create = |n| db.create_keyspace(&format!("{n}"), Default::default()).unwrap();
        let all: Vec<_> = (0..keyspaces).map(create).collect();
        all.iter().for_each(|keyspace| keyspace.put("first", "x").unwrap());
        let begun = met.swap(0, std::sync::atomic::Ordering::Relaxed);
        (0..40_000u32).for_each(|n| all[0].put(n.to_be_bytes(), [b'v'; 100]).unwrap());
        (begun, met.load(std::sync::atomic::Ordering::Relaxed))
    };
    // 4 MiB: about 64 checks with one memtable; with 500 memtables, one check for each 500 KiB.
    let (begun, met) = met_by(500);
    assert!(begun < 50 * 500, "{begun} memtables met while 500 were begun");
    assert!(met < 50 * 500, "{met} memtables met while one was filled");
    let (_, met) = met_by(1);
    assert!(met > 20, "the ledger is checked: {met}");
}
