//! Plain databases: reads, writes, families, iterators, snapshots and properties.

use foldb_rocksdb_crate::{creating, directory, joining};
use rocksdb::{
    ColumnFamilyDescriptor, DB, Direction, IteratorMode, Options, ReadOptions, SliceTransform,
    WriteBatch, WriteOptions, properties,
};

fn keys<'a>(
    entries: impl Iterator<Item = Result<(Box<[u8]>, Box<[u8]>), rocksdb::Error>> + 'a,
) -> Vec<String> {
    entries.map(|entry| String::from_utf8(entry.unwrap().0.into_vec()).unwrap()).collect()
}

#[test]
fn values_are_there_after_opening_anew() {
    let dir = directory();
    let db = DB::open(&creating(), dir.path()).unwrap();
    db.put(b"key", b"value").unwrap();
    db.put(b"empty", b"").unwrap();
    db.put(b"deleted", b"value").unwrap();
    db.delete(b"deleted").unwrap();
    drop(db);
    let db = DB::open(&Options::default(), dir.path()).unwrap();
    assert_eq!(db.get(b"key").unwrap().as_deref(), Some(&b"value"[..]));
    assert_eq!(db.get_pinned(b"empty").unwrap().as_deref(), Some(&b""[..]));
    assert_eq!(db.get(b"deleted").unwrap(), None);
    assert_eq!(db.multi_get([b"key", b"non"])[1].as_ref().unwrap(), &None);
}

#[test]
fn errors_have_kinds() {
    let dir = directory();
    let error = DB::open(&Options::default(), dir.path().join("none")).unwrap_err();
    assert_eq!(error.kind(), rocksdb::ErrorKind::InvalidArgument, "{error}");
    let _db = DB::open(&creating(), dir.path()).unwrap();
    let error = DB::open(&creating(), dir.path()).unwrap_err();
    assert_eq!(error.kind(), rocksdb::ErrorKind::IOError, "{error}");
}

#[test]
fn families_keep_their_keys_apart() {
    let dir = directory();
    let named = |name: &str| ColumnFamilyDescriptor::new(name, joining());
    let mut db =
        DB::open_cf_descriptors(&creating(), dir.path(), vec![named("a"), named("b")]).unwrap();
    let family = db.cf_handle("a").unwrap();
    db.put_cf(family, b"key", b"of a").unwrap();
    db.merge_cf(family, b"key", b"more").unwrap();
    assert_eq!(db.get_cf(family, b"key").unwrap().unwrap(), b"of a,more");
    assert_eq!(db.get_cf(db.cf_handle("b").unwrap(), b"key").unwrap(), None);
    assert_eq!(db.get(b"key").unwrap(), None);
    db.create_cf("c", &creating()).unwrap();
    db.drop_cf("b").unwrap();
    drop(db);
    let names = DB::list_cf(&Options::default(), dir.path()).unwrap();
    assert_eq!(names, ["default", "a", "c"]);
}

#[test]
fn a_batch_is_atomic_and_can_be_looked_through() {
    #[derive(Default)]
    struct Seen(Vec<String>);
    impl rocksdb::WriteBatchIterator for Seen {
        fn put(&mut self, key: &[u8], value: &[u8]) {
            self.0.push(format!("put {key:?} {value:?}"));
        }
        fn delete(&mut self, key: &[u8]) {
            self.0.push(format!("delete {key:?}"));
        }
    }
    let dir = directory();
    let db = DB::open(&joining(), dir.path()).unwrap();
    let mut batch = WriteBatch::default();
    batch.put(b"a", b"1");
    batch.put(b"b", b"2");
    batch.delete(b"a");
    let mut seen = Seen::default();
    batch.iterate(&mut seen);
    assert_eq!(seen.0, ["put [97] [49]", "put [98] [50]", "delete [97]"]);
    let copy = WriteBatch::from_data(batch.data());
    assert_eq!(copy.len(), 3);
    batch.merge(b"b", b"3");
    batch.delete_range(b"x", b"z");
    let mut synced = WriteOptions::default();
    synced.set_sync(true);
    db.write_opt(batch, &synced).unwrap();
    assert_eq!(keys(db.iterator(IteratorMode::Start)), ["b"]);
    assert_eq!(db.get(b"b").unwrap().unwrap(), b"2,3");
}

#[test]
fn iterators_go_both_ways_and_keep_bounds() {
    let dir = directory();
    let db = DB::open(&creating(), dir.path()).unwrap();
    for key in ["a", "b", "c", "d", "e"] {
        db.put(key, key).unwrap();
    }
    assert_eq!(keys(db.iterator(IteratorMode::End)), ["e", "d", "c", "b", "a"]);
    assert_eq!(keys(db.iterator(IteratorMode::From(b"cc", Direction::Forward))), ["d", "e"]);
    let back = IteratorMode::From(b"cc", Direction::Reverse);
    assert_eq!(keys(db.iterator(back)), ["c", "b", "a"]);
    for flushed in [false, true] {
        let mut bounded = ReadOptions::default();
        bounded.set_iterate_lower_bound("b");
        bounded.set_iterate_upper_bound("d");
        assert_eq!(keys(db.iterator_opt(IteratorMode::Start, bounded)), ["b", "c"], "{flushed}");
        db.flush().unwrap();
    }
    let mut raw = db.raw_iterator();
    raw.seek("c");
    raw.next();
    assert_eq!(raw.key(), Some(&b"d"[..]));
    raw.prev();
    assert_eq!(raw.key(), Some(&b"c"[..]));
    raw.seek_for_prev("0");
    assert!(!raw.valid());
    raw.status().unwrap();
}

#[test]
fn a_prefix_ends_an_iterator() {
    let dir = directory();
    let mut options = creating();
    options.set_prefix_extractor(SliceTransform::create_fixed_prefix(2));
    let db = DB::open(&options, dir.path()).unwrap();
    for key in ["aa1", "aa2", "ab1", "ac1"] {
        db.put(key, key).unwrap();
    }
    assert_eq!(keys(db.prefix_iterator("aa")), ["aa1", "aa2"]);
    assert_eq!(keys(db.prefix_iterator("ab")), ["ab1"]);
    assert_eq!(keys(db.full_iterator(IteratorMode::Start)).len(), 4);
}

#[test]
fn a_tailing_iterator_sees_later_writes() {
    let dir = directory();
    let db = DB::open(&creating(), dir.path()).unwrap();
    db.put(b"a", b"1").unwrap();
    let mut tailing = ReadOptions::default();
    tailing.set_tailing(true);
    let mut iterator = db.raw_iterator_opt(tailing);
    iterator.seek("a");
    db.put(b"b", b"2").unwrap();
    iterator.seek("b");
    assert_eq!(iterator.value(), Some(&b"2"[..]));
}

#[test]
fn a_snapshot_keeps_its_moment() {
    let dir = directory();
    let db = DB::open(&creating(), dir.path()).unwrap();
    db.put(b"key", b"old").unwrap();
    let snapshot = db.snapshot();
    db.put(b"key", b"new").unwrap();
    db.put(b"later", b"value").unwrap();
    db.flush().unwrap();
    db.compact_range(None::<&[u8]>, None::<&[u8]>);
    assert_eq!(snapshot.get(b"key").unwrap().unwrap(), b"old");
    assert_eq!(keys(snapshot.iterator(IteratorMode::Start)), ["key"]);
    assert_eq!(db.get(b"key").unwrap().unwrap(), b"new");
}

#[test]
fn properties_are_numbers_and_texts() {
    let dir = directory();
    let db = DB::open(&creating(), dir.path()).unwrap();
    let number = |name| db.property_int_value(name).unwrap();
    assert_eq!(number(properties::NUM_SNAPSHOTS), Some(0));
    let snapshot = db.snapshot();
    assert_eq!(number(properties::NUM_SNAPSHOTS), Some(1));
    drop(snapshot);
    assert!(number(properties::ESTIMATE_NUM_KEYS).is_some());
    assert!(db.property_value(properties::STATS).unwrap().is_some());
    assert_eq!(db.property_value("rocksdb.unknown").unwrap(), None);
    db.put(b"key", b"value").unwrap();
    db.flush().unwrap();
    let files = db.live_files().unwrap();
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].start_key.as_deref(), Some(&b"key"[..]));
    assert_eq!(files[0].column_family_name, "default");
}
