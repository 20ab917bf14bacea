//! Repair of damaged tables: it keeps every readable block, and reports the losses by their keys.
//!
//! Three changed bytes in a table of 50 000 keys once cost all its keys, without a report.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use foldb::env::mem::Fault;
use foldb::env::{FileSystem, MemFs};
use foldb::repair::{LostTable, RepairReport};
use foldb::{Db, ErrorKind, Options};

use crate::support::segments::{key, put_all, separating, value};
use crate::support::{PATH, count, number};

/// Options whose blocks have directories of sub-blocks.
fn options(fs: &MemFs) -> Options {
    Options { disable_auto_compactions: true, block_size: 16 << 10, ..separating(fs) }
}

/// Returns text that hardly compresses, so that a table has many blocks.
fn text(round: &str, n: usize) -> String {
    let mut state = n as u64 + round.len() as u64;
    let mut next = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        format!("{:08x}", state >> 32)
    };
    let noise: String = (0..9).map(|_| next()).collect();
    format!("{round} {n} {noise}")
}

fn files(fs: &MemFs, part: &str) -> Vec<PathBuf> {
    let mut names = fs.list(Path::new(PATH)).unwrap();
    names.retain(|name| name.ends_with(part) || name.starts_with(part));
    names.sort();
    names.into_iter().map(|name| Path::new(PATH).join(name)).collect()
}

fn change(fs: &MemFs, file: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs.read(file).unwrap();
    change(&mut bytes);
    let file = fs.create(file).unwrap();
    file.write_at(&bytes, 0).unwrap();
    file.sync().unwrap();
}

/// Returns whether the report says that a key may be wrong.
fn is_told(report: &RepairReport, key: &str) -> bool {
    let key = key.as_bytes();
    report.lost_tables.iter().any(|table: &LostTable| {
        let around = table.first_key.as_slice() <= key && key <= table.last_key.as_slice();
        let lost = table.lost.iter();
        let mut inside = lost.filter(|it| *it.first_key <= *key && *key <= *it.last_key);
        table.keyspace.is_empty() || (table.lost_range_deletes && around) || inside.next().is_some()
    })
}

fn get(db: &Db, key: &str) -> Option<Vec<u8>> {
    db.get(key).unwrap().map(|value| value.to_vec())
}

#[test]
fn three_bytes_cost_the_keys_of_one_block() {
    let fs = MemFs::new();
    let db = Db::open(PATH, options(&fs)).unwrap();
    let keys: Vec<String> = (0..20_000).map(|n| format!("user{n:06}")).collect();
    keys.iter().for_each(|key| db.put(key, format!("the value of {key}")).unwrap());
    db.flush().unwrap();
    drop(db);
    let table = files(&fs, ".tbl").remove(0);
    change(&fs, &table, |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle..middle + 3].iter_mut().for_each(|byte| *byte ^= 0x55);
    });
    let report = Db::repair(PATH, options(&fs)).unwrap();
    let [lost] = &report.lost_tables[..] else { panic!("{report:?}") };
    assert_eq!((&lost.file, lost.error.kind()), (&table, ErrorKind::Corruption));
    assert!(!report.lost_nothing() && !lost.lost_range_deletes && lost.lost.len() == 1);
    let db = Db::open(PATH, options(&fs)).unwrap();
    let mut missing = 0;
    for key in &keys {
        let found = get(&db, key);
        if found.is_none() && is_told(&report, key) {
            missing += 1;
            continue;
        }
        assert_eq!(found, Some(format!("the value of {key}").into_bytes()), "{key}");
    }
    assert!((1..400).contains(&missing), "{missing} keys are lost");
    assert_eq!(lost.records_salvaged + missing, keys.len() as u64);
    drop(db);
    // A second repair finds nothing to do and loses nothing more.
    let again = Db::repair(PATH, options(&fs)).unwrap();
    assert!(again.found_nothing() && again.lost_nothing(), "{again:?}");
}

/// Values inline and separated, versions, operands, deletes and a range delete, in two tables of
/// which the newer hides much of the older. Returns the value of each key.
fn rich(fs: &MemFs) -> BTreeMap<String, Option<Vec<u8>>> {
    let db = Db::open(PATH, options(fs)).unwrap();
    let mut expected: BTreeMap<String, Option<Vec<u8>>> = BTreeMap::new();
    let counter = |n: usize| format!("count{n:04}");
    for n in 0..300 {
        db.put(format!("inline{n:04}"), text("old", n)).unwrap();
        db.merge(counter(n), number(n as u64)).unwrap();
    }
    put_all(&db, 0..60, 0);
    db.flush().unwrap();
    for n in 0..300 {
        let inline = format!("inline{n:04}");
        match n % 3 {
            0 => db.put(&inline, text("new", n)).unwrap(),
            1 => db.delete(&inline).unwrap(),
            _ => {}
        }
        let text = match n % 3 {
            0 => Some(text("new", n)),
            1 => None,
            _ => Some(text("old", n)),
        };
        expected.insert(inline, text.map(String::into_bytes));
        db.merge(counter(n), number(1000)).unwrap();
        expected.insert(counter(n), Some(number(1000 + n as u64).to_vec()));
    }
    put_all(&db, 0..30, 1);
    (0..60).for_each(|n| drop(expected.insert(key(n), Some(value(n, usize::from(n < 30))))));
    db.delete_range("inline0100".."inline0120").unwrap();
    (100..120).for_each(|n| drop(expected.insert(format!("inline{n:04}"), None)));
    db.flush().unwrap();
    expected
}

fn check(
    fs: &MemFs,
    report: &RepairReport,
    expected: &BTreeMap<String, Option<Vec<u8>>>,
    at: &str,
) {
    let db = Db::open(PATH, options(fs)).unwrap();
    for (key, value) in expected {
        let found = get(&db, key);
        assert!(found == *value || is_told(report, key), "{at}: {key} reads {found:?}: {report:?}");
    }
    db.verify().unwrap();
    db.compact(..).unwrap();
}

/// Wherever a table is damaged, keys outside the reported losses read as before, with a manifest
/// and without.
#[test]
fn damage_anywhere_in_a_table_is_told_by_its_keys() {
    let whole = MemFs::new();
    let expected = rich(&whole);
    let tables = files(&whole, ".tbl");
    assert_eq!(tables.len(), 2);
    let mut salvaged_all = 0;
    for (index, table) in tables.iter().enumerate() {
        let len = whole.read(table).unwrap().len();
        let near_the_end = (len - 150..len).step_by(3);
        for at in (0..len).step_by(301).chain(near_the_end) {
            for manifest in [true, false] {
                let fs = whole.kill();
                change(&fs, table, |bytes| bytes[at] ^= 0x41);
                if !manifest {
                    files(&fs, "MANIFEST").iter().for_each(|file| fs.remove(file).unwrap());
                }
                let report = Db::repair(PATH, options(&fs)).unwrap();
                let place = format!("table {index}, byte {at} of {len}, manifest {manifest}");
                assert_eq!(report.lost_tables.len(), 1, "{place}");
                let lost = &report.lost_tables[0];
                if manifest {
                    assert!(lost.records_salvaged > 250, "{place}: {lost:?}");
                    salvaged_all += usize::from(lost.lost_nothing());
                }
                check(&fs, &report, &expected, &place);
            }
        }
    }
    assert!(salvaged_all > 50, "{salvaged_all}");
}

/// A file that lost its end keeps the blocks before.
#[test]
fn a_table_that_was_cut_short_keeps_its_beginning() {
    let whole = MemFs::new();
    let expected = rich(&whole);
    for (index, table) in files(&whole, ".tbl").iter().enumerate() {
        let len = whole.read(table).unwrap().len();
        for eighths in 0..8 {
            for zeros in [true, false] {
                let fs = whole.kill();
                change(&fs, table, |bytes| {
                    bytes.truncate(len * eighths / 8);
                    bytes.resize(if zeros { len } else { bytes.len() }, 0);
                });
                let report = Db::repair(PATH, options(&fs)).unwrap();
                let place = format!("table {index}, {eighths} eighths, zeros {zeros}");
                let salvaged = report.lost_tables[0].records_salvaged;
                assert!(salvaged >= 60 * eighths.saturating_sub(2) as u64, "{place}: {salvaged}");
                check(&fs, &report, &expected, &place);
            }
        }
    }
}

/// H1: of a table that a compaction has partly used up, repair rewrites only what was still
/// visible.
#[test]
fn h1_what_a_table_no_longer_showed_is_not_salvaged() {
    let mut trimmed = 0;
    for steps in 0..12 {
        let whole = MemFs::new();
        let options =
            || Options { target_file_size: 2000, block_size: 256, ..separating(&whole.clone()) };
        let db = Db::open(PATH, options()).unwrap();
        for round in 0..6u64 {
            for n in 0..120 {
                db.merge(format!("count{n:04}"), number(round + 1)).unwrap();
            }
            db.flush().unwrap();
        }
        for _ in 0..steps {
            db.step_background().unwrap();
        }
        drop(db);
        for table in files(&whole, ".tbl") {
            let fs = whole.kill();
            let options = || Options {
                target_file_size: 2000,
                block_size: 256,
                disable_auto_compactions: true,
                ..separating(&fs)
            };
            change(&fs, &table, |bytes| {
                let middle = bytes.len() / 3;
                bytes[middle] ^= 1;
            });
            let report = Db::repair(PATH, options()).unwrap();
            trimmed += usize::from(report.lost_tables.len() == 1);
            let db = Db::open(PATH, options()).unwrap();
            for n in 0..120 {
                let key = format!("count{n:04}");
                assert!(count(&db, &key) == 21 || is_told(&report, &key), "{key} after {steps}");
            }
            db.compact(..).unwrap();
            db.verify().unwrap();
        }
    }
    assert!(trimmed > 20, "{trimmed} tables were damaged");
}

/// A repair stopped at any moment and done again loses no more than one done once.
#[test]
fn a_salvage_that_is_cut_short_can_be_done_again() {
    let whole = MemFs::new();
    let expected = rich(&whole);
    let tables = files(&whole, ".tbl");
    let damage = |fs: &MemFs| {
        for table in &tables {
            change(fs, table, |bytes| {
                let at = bytes.len() / 3;
                bytes[at] ^= 1;
            });
        }
    };
    let reference = whole.kill();
    damage(&reference);
    let once = Db::repair(PATH, options(&reference)).unwrap();
    let lost = |report: &RepairReport| {
        report.lost_tables.iter().map(|it| it.lost.clone()).collect::<Vec<_>>()
    };
    for step in 0.. {
        let fs = whole.kill();
        damage(&fs);
        fs.inject(Fault::on_mutation().nth(step + 1).forever());
        let done = Db::repair(PATH, options(&fs)).is_ok();
        fs.clear_faults();
        for survive in [MemFs::kill, MemFs::crash] {
            let fs = survive(&fs);
            let again = Db::repair(PATH, options(&fs)).unwrap();
            assert!(again.found_nothing() || lost(&again) == lost(&once), "step {step}: {again:?}");
            check(&fs, &once, &expected, &format!("step {step}"));
        }
        if done {
            assert!(step > 10, "{step} steps");
            return;
        }
    }
}
