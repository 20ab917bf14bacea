//! Keys that come in order are written to tables once. Tables of tiny records end by the number of
//! their keys, long before they have the size of a table. Compactions once wrote them again at
//! each level.

use foldb::env::MemFs;
use foldb::{Db, Options, WriteOptions};

use super::order::tables;
use crate::support::{PATH, options, steps};

const KEYS: u64 = 120_000;

/// With so little memory for compactions a table ends after at most 58 254 keys.
fn few_keys_a_table(fs: &MemFs) -> Options {
    Options { compaction_memory_budget: 1 << 20, write_buffer_size: 4 << 20, ..options(fs) }
}

#[test]
fn tables_of_a_load_with_tiny_records_move_down_and_are_not_rewritten() {
    let fs = MemFs::new();
    let db = Db::open(PATH, few_keys_a_table(&fs)).unwrap();
    for part in 0..4 {
        let mut load = db.sorted_load().unwrap();
        for n in part * KEYS..(part + 1) * KEYS {
            load.put(n.to_be_bytes(), "").unwrap();
        }
        load.finish().unwrap();
        steps::run_background(&db, |_| {});
    }
    assert!(tables(&fs) >= 4 * KEYS as usize / 58_254);
    let stats = db.stats();
    assert_eq!(stats.bytes_compaction, 0, "{stats:?}");
    assert_eq!(db.iter().unwrap().count(), 4 * KEYS as usize);
}

#[test]
fn ascending_puts_of_tiny_records_are_written_to_tables_once() {
    let fs = MemFs::new();
    let db = Db::open(PATH, few_keys_a_table(&fs)).unwrap();
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    for n in 0..8 * KEYS {
        db.with(&unlogged).put(n.to_be_bytes(), "").unwrap();
        if n % 50_000 == 0 {
            steps::run_background(&db, |_| {});
        }
    }
    db.flush().unwrap();
    steps::run_background(&db, |_| {});
    let stats = db.stats();
    assert!(stats.bytes_compaction * 20 <= stats.bytes_flush, "{stats:?}");
    assert_eq!(db.iter().unwrap().count(), 8 * KEYS as usize);
}
