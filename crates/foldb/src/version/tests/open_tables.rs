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

/// Opens a table with a filter of some KiB. Returns how often reads of absent keys were told that
/// the table may hold them, before the first that was told the truth.
fn asks_before_the_load(bench: &Workbench, room: impl Fn(usize) -> usize) -> (usize, usize) {
    let records: Vec<_> = (0..4000).map(|n| format!("k{n:04}.PUT.1(1)")).collect();
    let version = bench.draw(&format!("L1 r1: [{}]", records.join(" ")));
    let table = version.tables().next().unwrap();
    let open = bench.tables.get_owned(&table.file).unwrap();
    bench.pool.set_room(room(bench.pool.memory_bytes()));
    let key = b"no such key";
    let hash = crate::encoding::key_hash(key);
    let admits = || bench.tables.may_contain(&open, hash, key).unwrap();
    let asks = (0..1000).take_while(|_| admits()).count();
    assert!(!admits(), "a loaded filter stays");
    (asks, open.filter_bytes())
}

/// A filter is larger than all else of a table in memory. If reads loaded filters that have no
/// room, each read would close other tables, and reopen its own.
#[test]
fn a_filter_without_room_is_left_out_until_enough_reads_lacked_it() {
    let bench = Workbench::new();
    let (asks, bytes) = asks_before_the_load(&bench, |indexes| indexes);
    assert!(bytes > 4096, "{bytes} bytes");
    assert_eq!(asks, bytes / 1024 + 1);
    assert_eq!(bench.tables.filters_left_out(), asks as u64);
}

#[test]
fn a_filter_with_room_is_loaded_at_once() {
    let bench = Workbench::new();
    let (asks, _) = asks_before_the_load(&bench, |indexes| indexes + (1 << 20));
    assert_eq!((asks, bench.tables.filters_left_out()), (0, 0));
}
