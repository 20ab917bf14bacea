//! Tests keys, values, merge results, batches and options at their limits, and just beyond the
//! limits.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{PATH, error_of, options, reopen, text};
use foldb::env::MemFs;
use foldb::limits::{LEAST_MAX_BATCH_BYTES, MAX_KEY_BYTES, MAX_VALUE_BYTES};
use foldb::operators::{Full, MergeOperator, Partial};
use foldb::{Db, Error, ErrorKind, Options, WriteBatch, WriteOptions};

const SYNC: WriteOptions = WriteOptions { sync: true, ..WriteOptions::DEFAULT };

/// The smallest write buffer.
fn smallest(fs: &MemFs) -> Options {
    Options { write_buffer_size: 4096, ..options(fs) }
}

fn assert_names(error: &Error, limit: &str, number: usize) {
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    let message = error.to_string();
    assert!(message.contains(limit) && message.contains(&number.to_string()), "{message}");
}

/// Keys have a limit of their own. The manifest stores each key of a table's bounds several times,
/// so keys of many MiB once made manifests of many MiB.
#[test]
fn keys_up_to_their_limit_work_and_longer_ones_are_refused_everywhere() {
    let fs = MemFs::new();
    let db = Db::open(PATH, smallest(&fs)).unwrap();
    let key = |n: u8, len: usize| [vec![n], vec![b'k'; len - 1]].concat();
    for n in 0..8 {
        db.put(key(n, MAX_KEY_BYTES), "value").unwrap();
    }
    db.merge(key(9, MAX_KEY_BYTES), 1u64.to_le_bytes()).unwrap();
    db.delete(key(1, MAX_KEY_BYTES)).unwrap();
    db.delete_range(key(2, MAX_KEY_BYTES)..key(4, MAX_KEY_BYTES)).unwrap();
    db.compact(key(0, MAX_KEY_BYTES)..key(9, MAX_KEY_BYTES)).unwrap();
    let long = key(5, MAX_KEY_BYTES + 1);
    let mut batches = vec![WriteBatch::new(); 5];
    batches[0].put(&long, "");
    batches[1].delete(&long);
    batches[2].merge(&long, 1u64.to_le_bytes());
    batches[3].delete_range(&long..);
    batches[4].put("good", "").delete_range(..&long);
    let before = db.stats().bytes_log;
    let mut refused = vec![
        db.put(&long, ""),
        db.delete(&long),
        db.merge(&long, 1u64.to_le_bytes()),
        db.delete_range(&long..),
        db.delete_range(..&long),
        db.delete_range((Bound::Excluded(key(0, 3)), Bound::Included(long.clone()))),
        db.compact(&long..),
        db.compact(..&long),
    ];
    refused.extend(batches.iter().map(|batch| db.write(batch)));
    for result in refused {
        assert_names(&error_of(result), "MAX_KEY_BYTES", MAX_KEY_BYTES);
    }
    assert_eq!(db.stats().bytes_log, before, "nothing refused was logged");
    assert_eq!(db.get("good").unwrap(), None);
    // Keys that are only looked up may be longer.
    assert_eq!(db.get(&long).unwrap(), None);
    let mut iter = db.iter().unwrap();
    iter.seek(&long).unwrap();
    assert_eq!(iter.key()[0], 6);
    drop((iter, db));
    let db = reopen(&fs.kill()).unwrap();
    let left = (0..10).filter(|&n| db.get(key(n, MAX_KEY_BYTES)).unwrap().is_some());
    assert_eq!(left.collect::<Vec<_>>(), [0, 4, 5, 6, 7, 9]);
}

/// The longest value, with the longest key, passes log, memtable, table and compaction with the
/// smallest write buffer.
#[test]
fn the_longest_value_works_with_the_smallest_write_buffer() {
    let fs = MemFs::new();
    let db = Db::open(PATH, smallest(&fs)).unwrap();
    let key = vec![b'k'; MAX_KEY_BYTES];
    let mut value = vec![b'v'; MAX_VALUE_BYTES + 1];
    assert_names(&error_of(db.put(&key, &value)), "MAX_VALUE_BYTES", MAX_VALUE_BYTES);
    assert_names(
        &error_of(db.merge_with(&db.operator("append").unwrap(), &key, &value)),
        "MAX_VALUE_BYTES",
        MAX_VALUE_BYTES,
    );
    value.pop();
    db.with(&SYNC).put(&key, &value).unwrap();
    drop(db);
    let db = Db::open(PATH, smallest(&fs)).unwrap();
    assert!(*db.get(&key).unwrap().unwrap() == *value);
    db.compact(..).unwrap();
    assert!(*db.get(&key).unwrap().unwrap() == *value);
}

/// A batch that no memtable can hold once panicked after it was logged, with half of it visible.
/// The database did not open again.
#[test]
fn a_batch_beyond_its_limit_is_refused_whole_before_it_is_logged() {
    let fs = MemFs::new();
    let db = Db::open(PATH, smallest(&fs)).unwrap();
    let other = db.create_keyspace("other", Default::default()).unwrap();
    db.with(&SYNC).put("before", "1").unwrap();
    let before = db.stats().bytes_log;
    let half = vec![b'v'; LEAST_MAX_BATCH_BYTES / 2 - 64];
    let mut batch = WriteBatch::new();
    batch.put("a", &half).put_in(&other, "b", &half);
    assert_eq!(batch.memtable_bytes(), LEAST_MAX_BATCH_BYTES);
    let mut longer = batch.clone();
    longer.delete("c");
    for _ in 0..2 {
        let error = error_of(db.write(&longer));
        assert_names(&error, "max_batch_bytes", LEAST_MAX_BATCH_BYTES);
    }
    assert_eq!(db.stats().bytes_log, before, "nothing refused was logged");
    assert_eq!((db.get("a").unwrap(), other.get("b").unwrap()), (None, None));
    drop(longer);
    db.write(&batch).unwrap();
    db.with(&SYNC).put("after", "1").unwrap();
    drop((other, db));
    let db = Db::open(PATH, smallest(&fs)).unwrap();
    assert_eq!(db.get("a").unwrap().map(|value| value.len()), Some(half.len()));
    let other = db.keyspace("other").unwrap();
    assert_eq!(other.get("b").unwrap().map(|value| value.len()), Some(half.len()));
    assert_eq!(text(&db, "after").as_deref(), Some("1"));
}

/// A batch of many small writes takes far more of a memtable than its own bytes.
#[test]
fn a_batch_counts_as_its_memtable_does() {
    let fs = MemFs::new();
    let db = Db::open(PATH, smallest(&fs)).unwrap();
    let keyspaces: Vec<_> =
        (0..20).map(|n| db.create_keyspace(&n.to_string(), Default::default()).unwrap()).collect();
    let mut batch = WriteBatch::new();
    for n in 0..20_000u32 {
        let keyspace = &keyspaces[n as usize % 20];
        match n % 5 {
            0 => batch.put_in(keyspace, n.to_be_bytes(), vec![1; n as usize % 100]),
            1 => batch.delete_in(keyspace, vec![1; n as usize % 100]),
            2 => batch.merge_in(keyspace, n.to_be_bytes(), 1u64.to_le_bytes()),
            3 => batch.merge(n.to_be_bytes(), 1u64.to_le_bytes()),
            _ => batch.delete_range((n - 1).to_be_bytes()..n.to_be_bytes()),
        };
    }
    db.write(&batch).unwrap();
    assert_eq!(db.get(19_998u32.to_be_bytes()).unwrap(), None);
    assert!(keyspaces[17].get(19_997u32.to_be_bytes()).unwrap().is_some());
    drop((keyspaces, db));
    let db = reopen(&fs.kill()).unwrap();
    assert_eq!(db.get(19_998u32.to_be_bytes()).unwrap(), None);
    let last = db.keyspace("17").unwrap();
    assert!(last.get(19_997u32.to_be_bytes()).unwrap().is_some());
}

/// Makes a result of the length it is set to.
#[derive(Debug, Default)]
struct Bomb {
    bytes: AtomicUsize,
    partials: AtomicUsize,
}

impl Bomb {
    fn make(&self, out: &mut Vec<u8>) {
        *out = vec![b'b'; self.bytes.load(Ordering::Relaxed)];
    }
}

impl MergeOperator for Bomb {
    fn name(&self) -> &str {
        "test.bomb"
    }
    fn full(&self, _: &[u8], _: Option<&[u8]>, _: &[&[u8]], out: &mut Vec<u8>) -> Full {
        self.make(out);
        Full::Value
    }
    fn partial(&self, _: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        self.partials.fetch_add(1, Ordering::Relaxed);
        self.make(out);
        if operands.len().is_multiple_of(2) { Partial::Operand } else { Partial::Value }
    }
}

/// A merge result that no table can hold once made flush, open and repair fail for ever.
#[test]
fn a_merge_result_beyond_the_limit_harms_its_key_only() {
    let fs = MemFs::new();
    let bomb = Arc::new(Bomb::default());
    bomb.bytes.store(MAX_VALUE_BYTES + 1, Ordering::Relaxed);
    let with = |fs: &MemFs| Options { operators: vec![bomb.clone()], ..options(fs) };
    let db = Db::open(PATH, with(&fs)).unwrap();
    let operator = db.operator("test.bomb").unwrap();
    let fails = |db: &Db| {
        let failed = |error: Error| {
            assert_eq!(error.kind(), ErrorKind::MergeFailed, "{error}");
            let limit = format!("MAX_VALUE_BYTES = {MAX_VALUE_BYTES}");
            assert!(error.to_string().contains(&limit), "{error}");
        };
        failed(error_of(db.get("bomb")));
        failed(error_of(db.multi_get(["bomb"]).unwrap().pop().unwrap()));
        let mut iter = db.iter().unwrap();
        iter.seek("bomb").unwrap();
        failed(error_of(iter.value()));
        let explained = db.explain("bomb").unwrap();
        assert!(explained.failure.unwrap().contains(&MAX_VALUE_BYTES.to_string()));
        assert_eq!(text(db, "innocent").as_deref(), Some("1"));
    };
    db.put("bomb", "base").unwrap();
    db.with(&SYNC).put("innocent", "1").unwrap();
    for _ in 0..17 {
        db.merge_with(&operator, "bomb", "x").unwrap();
    }
    assert!(bomb.partials.load(Ordering::Relaxed) > 0, "the memtable tried to fold");
    fails(&db);
    db.flush().unwrap();
    for _ in 0..3 {
        db.merge_with(&operator, "bomb", "x").unwrap();
    }
    db.sync().unwrap();
    let db = Db::open(PATH, with(&fs.kill())).unwrap();
    fails(&db);
    db.compact(..).unwrap();
    fails(&db);
    drop(db);
    let repaired = fs.kill();
    Db::repair(PATH, with(&repaired)).unwrap();
    fails(&Db::open(PATH, with(&repaired)).unwrap());
    // At the limit it is a value, and no operand is lost.
    bomb.bytes.store(MAX_VALUE_BYTES, Ordering::Relaxed);
    let db = Db::open(PATH, with(&repaired)).unwrap();
    assert_eq!(db.get("bomb").unwrap().map(|value| value.len()), Some(MAX_VALUE_BYTES));
}
