//! Tests that open tables stay bounded in number and in memory.

use crate::testing::tree::Workbench;
use crate::version::Version;

const TABLES: usize = 8;

fn tree(bench: &Workbench) -> Version {
    let tables: Vec<_> = (0..TABLES).map(|n| format!("[k{n}.PUT.{}(v{n})]", n + 1)).collect();
    bench.draw(&format!("L1 r1: {}", tables.join(" ")))
}

fn read_all(bench: &Workbench, version: &Version) {
    for n in 0..TABLES {
        assert_eq!(bench.read(version, format!("k{n}").as_bytes(), 100), format!("v{n}"));
    }
}

#[test]
fn no_more_tables_are_open_than_may_be() {
    let bench = Workbench::new();
    let version = tree(&bench);
    for _ in 0..3 {
        read_all(&bench, &version);
        assert_eq!(bench.pool.open_tables(), 3);
    }
}

/// A table in use by a reader stays open, and counts, until the reader drops it.
#[test]
fn tables_are_closed_when_memory_is_needed_but_not_under_a_reader() {
    let bench = Workbench::new();
    let version = tree(&bench);
    read_all(&bench, &version);
    let table = version.tables().last().unwrap();
    let held = bench.tables.get_owned(&table.file).unwrap();
    assert!(bench.tables.may_contain(&held, crate::encoding::key_hash(b"k7"), b"k7").unwrap());
    let three = bench.pool.memory_bytes();
    bench.pool.set_room(0);
    assert_eq!(bench.pool.open_tables(), 1, "one table may always be open");
    let after = bench.pool.memory_bytes();
    assert!(after < three && after > 0, "{after} of {three}");
    read_all(&bench, &version);
    assert_eq!(bench.pool.open_tables(), 1);
    assert!(held.may_contain(crate::encoding::key_hash(b"k7"), b"k7").unwrap());
    drop((held, version));
    assert_eq!(bench.pool.memory_bytes(), 0, "closed tables are not counted");
}

/// A filter is larger than all else of a table in memory. If reads loaded filters that have no
/// room, each read would close other tables, and reopen its own.
#[test]
fn a_filter_without_room_is_left_out_until_enough_reads_lacked_it() {
    let bench = Workbench::new();
    let version = tree(&bench);
    let table = version.tables().next().unwrap();
    let open = bench.tables.get_owned(&table.file).unwrap();
    let asks_absent_key = || {
        let key = b"no such key";
        bench.tables.may_contain(&open, crate::encoding::key_hash(key), key).unwrap()
    };
    let indexes = bench.pool.memory_bytes();
    bench.pool.set_room(indexes);
    let before_the_load = (0..1000).take_while(|_| asks_absent_key()).count();
    let expected = open.filter_bytes() / 1024 + 1;
    assert_eq!(before_the_load, expected);
    assert_eq!(bench.tables.filters_left_out(), expected as u64);
    assert!(bench.pool.memory_bytes() > indexes, "the filter is in memory");
    assert!(!asks_absent_key());
    assert_eq!(bench.tables.filters_left_out(), expected as u64, "later reads ask it");
}

#[test]
fn a_filter_with_room_is_loaded_at_once() {
    let bench = Workbench::new();
    let version = tree(&bench);
    let table = version.tables().next().unwrap();
    let open = bench.tables.get_owned(&table.file).unwrap();
    let key = b"no such key";
    assert!(!bench.tables.may_contain(&open, crate::encoding::key_hash(key), key).unwrap());
    assert_eq!(bench.tables.filters_left_out(), 0);
}
