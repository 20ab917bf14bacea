//! Tests reads other than get and iterators.

use foldb::env::MemFs;
use foldb::operators::{Base, Operands};
use foldb::stats::ReadReport;
use foldb::{Compression, Db, ErrorKind, KeyspaceOptions, Options, ReadOptions};

use crate::support::{PATH, assert_error, number, open, options};

fn values(operands: &Operands) -> Vec<(String, Vec<u8>)> {
    let pair = |operand: &foldb::operators::Operand| {
        (operand.operator().to_owned(), operand.value().to_vec())
    };
    operands.oldest_first().map(pair).collect()
}

fn pair(operator: &str, value: &[u8]) -> (String, Vec<u8>) {
    (operator.to_owned(), value.to_vec())
}

#[test]
fn operands_are_returned_with_operator_base_and_order() {
    let db = open(&MemFs::new()).unwrap();
    let list = db.operator("stringappend:,").unwrap();
    db.put("a", number(1)).unwrap();
    db.flush().unwrap();
    db.merge("a", number(2)).unwrap();
    db.flush().unwrap();
    let snapshot = db.snapshot();
    db.merge_with(&list, "a", "a longer operand than a value holds inline").unwrap();

    let read = db.get_operands("a").unwrap();
    let expected = vec![
        pair("uint64add", &number(2)),
        pair("stringappend:,", b"a longer operand than a value holds inline"),
    ];
    assert_eq!(values(&read), expected);
    assert_eq!(read.base(), &Base::Put(number(1).as_slice().into()));
    let newest: Vec<_> = read.newest_first().map(|operand| operand.operator()).collect();
    assert_eq!(newest, ["stringappend:,", "uint64add"]);
    assert_eq!((read.len(), read.is_empty()), (2, false));

    let before = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
    let before = db.default_keyspace().with(&before).get_operands("a").unwrap();
    assert_eq!(values(&before), expected[..1]);
}

#[test]
fn operands_tell_a_deleted_base_from_none() {
    let db = open(&MemFs::new()).unwrap();
    assert_eq!(db.get_operands("a").unwrap().base(), &Base::Nothing);
    db.delete("a").unwrap();
    db.merge("a", number(1)).unwrap();
    let read = db.get_operands("a").unwrap();
    assert_eq!((read.base(), read.len()), (&Base::Deleted, 1));
    db.merge("b", number(1)).unwrap();
    let read = db.get_operands("b").unwrap();
    assert_eq!((read.base(), read.len()), (&Base::Nothing, 1));
}

/// a.PUT.1(abc) a.MERGE.2(+1): the value is no counter.
#[test]
fn operands_of_a_failed_merge_can_be_read() {
    let db = open(&MemFs::new()).unwrap();
    db.put("a", "abc").unwrap();
    db.merge("a", number(1)).unwrap();
    for _ in 0..2 {
        assert_error(db.get("a"), ErrorKind::MergeFailed, None);
        let read = db.get_operands("a").unwrap();
        assert_eq!(values(&read), [pair("uint64add", &number(1))]);
        assert_eq!(read.base(), &Base::Put(b"abc".as_slice().into()));
        db.flush().unwrap();
        db.compact(..).unwrap();
    }
}

#[test]
fn operands_want_an_open_database_and_its_own_snapshot() {
    let db = open(&MemFs::new()).unwrap();
    let other = Db::open(PATH, options(&MemFs::new())).unwrap();
    let foreign = ReadOptions { snapshot: Some(other.snapshot()), ..ReadOptions::default() };
    assert_error(
        db.default_keyspace().with(&foreign).get_operands("a"),
        ErrorKind::InvalidArgument,
        None,
    );
    db.close().unwrap();
    assert_error(db.get_operands("a"), ErrorKind::Closed, None);
}

/// Many keys over many tables and a memtable: each answer equals that of a get, in the caller's
/// order.
#[test]
fn multi_get_answers_as_gets_do_in_the_callers_order() {
    let fs = MemFs::new();
    let small = Options { block_size: 512, target_file_size: 4000, ..options(&fs) };
    let db = Db::open(PATH, small).unwrap();
    for n in 0..600 {
        db.put(format!("{n:04}"), number(n)).unwrap();
    }
    db.flush().unwrap();
    db.compact(..).unwrap();
    for n in (0..600).step_by(3) {
        db.merge(format!("{n:04}"), number(1000)).unwrap();
    }
    db.flush().unwrap();
    for n in (0..600).step_by(7) {
        db.delete(format!("{n:04}")).unwrap();
    }
    // Backwards, in between, behind the end, and each twice.
    let keys: Vec<String> = (0..650).rev().chain(0..650).map(|n| format!("{n:04}")).collect();
    let read = db.multi_get(&keys).unwrap();
    assert_eq!(read.len(), keys.len());
    for (key, value) in keys.iter().zip(read) {
        assert_eq!(value.unwrap(), db.get(key).unwrap(), "{key}");
    }
    assert!(db.multi_get::<&str>([]).unwrap().is_empty());
}

#[test]
fn multi_get_reads_one_moment() {
    let db = open(&MemFs::new()).unwrap();
    db.put("a", "1").unwrap();
    let snapshot = db.snapshot();
    db.put("a", "2").unwrap();
    db.put("b", "2").unwrap();
    let before = ReadOptions { snapshot: Some(snapshot), ..ReadOptions::default() };
    let read = db.default_keyspace().with(&before).multi_get(["b", "a"]).unwrap();
    assert!(read[0].as_ref().unwrap().is_none());
    assert_eq!(read[1].as_ref().unwrap().as_ref().unwrap(), b"1");
    db.close().unwrap();
    assert_error(db.multi_get(["a"]), ErrorKind::Closed, None);
}

#[test]
fn multi_get_fails_the_key_whose_merge_fails_and_no_other() {
    let db = open(&MemFs::new()).unwrap();
    db.put("a", number(1)).unwrap();
    db.put("b", "abc").unwrap();
    db.put("c", number(3)).unwrap();
    for key in ["a", "b", "c"] {
        db.merge(key, number(1)).unwrap();
    }
    let failed = db.stats().failed_merges;
    let mut read = db.multi_get(["a", "b", "c"]).unwrap();
    assert_eq!(read.pop().unwrap().unwrap().unwrap(), number(4));
    assert_error(read.pop().unwrap(), ErrorKind::MergeFailed, None);
    assert_eq!(read.pop().unwrap().unwrap().unwrap(), number(2));
    assert_eq!(db.stats().failed_merges, failed + 1);
}

/// Keys of one sub-block cost one cache lookup together, not one each.
#[test]
fn multi_get_reads_neighbouring_keys_with_one_look_at_their_block() {
    let db = open(&MemFs::new()).unwrap();
    let keys: Vec<String> = (0..20).map(|n| format!("{n:04}")).collect();
    for key in &keys {
        db.put(key, "value").unwrap();
    }
    db.flush().unwrap();
    let looks = || db.stats().block_cache_hits + db.stats().block_cache_misses;
    let before = looks();
    assert!(db.multi_get(&keys).unwrap().into_iter().all(|value| value.unwrap().is_some()));
    let of_multi_get = looks() - before;
    keys.iter().for_each(|key| assert!(db.get(key).unwrap().is_some()));
    let of_gets = looks() - before - of_multi_get;
    assert!(of_multi_get * 10 <= of_gets, "{of_multi_get} looks, {of_gets} by gets");
}

#[test]
fn approximate_count_is_near_and_its_bound_holds_the_truth() {
    let fs = MemFs::new();
    let small = Options { target_file_size: 4000, block_size: 512, ..options(&fs) };
    let db = Db::open(PATH, small).unwrap();
    for n in 0..2000 {
        db.put(format!("{n:04}"), number(n)).unwrap();
    }
    db.flush().unwrap();
    db.compact(..).unwrap();
    for n in 1900..2100 {
        db.put(format!("{n:04}"), number(n)).unwrap();
    }
    for (from, to, keys) in [("0", "9", 2100), ("0500", "1500", 1000), ("0007", "0008", 1)] {
        let count = db.approximate_count(from..to).unwrap();
        assert!(count.at_least <= keys && keys <= count.at_most, "{from}..{to}: {count:?}");
        assert!(count.estimate.abs_diff(keys) <= 150, "{from}..{to}: {count:?}");
        assert!(count.error() <= count.at_most);
    }
    let memtable_only = db.approximate_count("2000"..).unwrap();
    assert_eq!((memtable_only.at_least, memtable_only.at_most), (100, 100));
    assert_eq!(db.approximate_count("x".."a").unwrap().at_most, 0);
    assert_eq!(db.approximate_count("x"..).unwrap().at_most, 0);
}

#[test]
fn approximate_size_follows_the_share_of_the_keys() {
    let fs = MemFs::new();
    let raw = Options {
        default: KeyspaceOptions { compression: Some(Compression::None), ..options(&fs).default },
        ..options(&fs)
    };
    let db = Db::open(PATH, raw).unwrap();
    for n in 0..2000 {
        db.put(format!("{n:04}"), [n as u8; 100]).unwrap();
    }
    let in_memtable = db.approximate_size("0500".."1500").unwrap();
    assert!((80_000..220_000).contains(&in_memtable), "{in_memtable}");
    db.flush().unwrap();
    let whole = db.approximate_size(..).unwrap();
    assert!((200_000..240_000).contains(&whole), "{whole}");
    let half = db.approximate_size("0500".."1500").unwrap();
    assert!(half.abs_diff(whole / 2) <= whole / 10, "{half} of {whole}");
    assert_eq!(db.approximate_size("x".."a").unwrap(), 0);
}

/// A read with a report counts operands, tables, blocks and bytes. Other reads count nothing.
#[test]
fn reads_report_what_they_cost() {
    let fs = MemFs::new();
    // Two runs: in the older one the operands became the base.
    let db = open(&fs).unwrap();
    for _ in 0..2 {
        db.merge("a", number(1)).unwrap();
        db.merge("b", number(1)).unwrap();
        db.flush().unwrap();
    }
    let reported = |db: &Db, read: &dyn Fn(&Db, &ReadOptions)| {
        let report = ReadReport::default();
        let options = ReadOptions { report: Some(report.clone()), ..ReadOptions::default() };
        read(db, &options);
        report
    };
    let get = |db: &Db, options: &ReadOptions| drop(db.with(options).get("b").unwrap());
    let cold = reported(&db, &get);
    assert_eq!((cold.operands_seen(), cold.tables_touched()), (1, 2));
    assert_eq!((cold.cached_blocks(), cold.read_blocks()), (0, 2));
    assert!(cold.bytes_read() > 2 * number(1).len() as u64);
    db.get("b").unwrap();
    let warm = reported(&db, &get);
    assert_eq!((warm.operands_seen(), warm.tables_touched()), (1, 2));
    assert_eq!((warm.cached_blocks(), warm.read_blocks(), warm.bytes_read()), (2, 0, 0));

    let many = |db: &Db, options: &ReadOptions| {
        assert_eq!(db.default_keyspace().with(options).multi_get(["a", "b"]).unwrap().len(), 2);
    };
    let scan = |db: &Db, options: &ReadOptions| {
        assert_eq!(db.with(options).range(..).unwrap().count(), 2);
    };
    for report in [reported(&db, &many), reported(&db, &scan)] {
        assert_eq!((report.operands_seen(), report.tables_touched()), (2, 2));
        assert_eq!((report.cached_blocks(), report.read_blocks()), (2, 0));
    }
}

/// `range(..)` and `range(..b"z")` once needed a type annotation for the key (E0283).
#[test]
fn every_form_of_a_range_needs_no_annotation() {
    use std::ops::Bound::{Excluded, Included, Unbounded};

    let db = open(&MemFs::new()).unwrap();
    for key in ["a", "b", "c"] {
        db.put(key, "").unwrap();
    }
    let keyspace = db.default_keyspace();
    let held = String::from("b")..String::from("c");
    let owned = || (String::from("b"), vec![b'b']);
    let counts = [
        db.range(..).unwrap().count(),
        db.range(..b"b").unwrap().count(),
        db.range(..="b").unwrap().count(),
        db.range("b"..).unwrap().count(),
        db.range("a".."c").unwrap().count(),
        keyspace.range("a"..="b").unwrap().count(),
        keyspace.range(owned().0..).unwrap().count(),
        keyspace.range(..owned().1).unwrap().count(),
        keyspace.range((Excluded("a"), Unbounded)).unwrap().count(),
        keyspace.range(&held).unwrap().count(),
        keyspace.range((Included(b"b"), Excluded(b"c"))).unwrap().count(),
        db.with(&ReadOptions::default()).range(..).unwrap().count(),
    ];
    assert_eq!(counts, [3, 1, 2, 2, 2, 2, 2, 1, 2, 1, 1, 3]);

    db.compact(..).unwrap();
    db.compact(..b"z").unwrap();
    keyspace.compact("a"..="b").unwrap();
    keyspace.compact(&held).unwrap();
    assert!(db.approximate_size(..).unwrap() > 0);
    assert_eq!(db.approximate_count(..=b"c").unwrap().estimate, 3);
    let mut batch = foldb::WriteBatch::new();
    batch.delete_range(..b"b").delete_range_in(keyspace, (Excluded("b"), Included("c")));
    db.write(&batch).unwrap();
    assert_eq!(db.iter().unwrap().count(), 1);
    db.delete_range(..).unwrap();
    assert_eq!(db.iter().unwrap().count(), 0);
}

/// Options without a snapshot leave a reader at its moment. Options with one read there.
#[test]
fn options_keep_the_moment_of_a_reader() {
    let db = open(&MemFs::new()).unwrap();
    let earlier = db.snapshot();
    db.put("a", "before").unwrap();
    let then = db.snapshot();
    db.put("a", "after").unwrap();
    let report = ReadReport::default();
    let reported = ReadOptions { report: Some(report.clone()), ..ReadOptions::default() };
    assert_eq!(then.with(&reported).get("a").unwrap().unwrap(), b"before");
    let of_keyspace = then.keyspace(db.default_keyspace());
    assert_eq!(of_keyspace.with(&reported).get("a").unwrap().unwrap(), b"before");
    assert_eq!(of_keyspace.with(&reported).iter().unwrap().count(), 1);
    let now = db.default_keyspace().reader();
    assert_eq!(now.with(&reported).get("a").unwrap().unwrap(), b"after");
    let at_earlier = ReadOptions { snapshot: Some(earlier), ..ReadOptions::default() };
    assert_eq!(of_keyspace.with(&at_earlier).get("a").unwrap(), None);
    assert_eq!(then.with(&at_earlier).multi_get(["a"]).unwrap().len(), 1);
    assert!(report.bytes_read() == 0, "all of it is in memory");
}
