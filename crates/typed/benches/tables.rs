//! What types cost: keys alone, and calls of a table beside those of its keyspace.

#![allow(missing_docs)] // criterion generates a public function

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use foldb_typed::foldb::Db;
use foldb_typed::{Counter, MergeTable, Table, decode, encode};

const ENTRIES: u32 = 100_000;

fn keys(criterion: &mut Criterion) {
    let key = ("berlin", 7_u64);
    let bytes = encode::<(String, u64)>(key);
    criterion.bench_function("key/encode", |bencher| {
        bencher.iter(|| encode::<(String, u64)>(black_box(key)));
    });
    criterion.bench_function("key/decode", |bencher| {
        bencher.iter(|| decode::<(String, u64)>(black_box(&bytes)).unwrap());
    });
}

fn calls(criterion: &mut Criterion) {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::create(dir.path().join("db")).unwrap();
    let table = Table::<(String, u32), u64>::open(&db, "table").unwrap();
    for number in 0..ENTRIES {
        table.put(("berlin", number), u64::from(number)).unwrap();
    }
    db.flush().unwrap();
    let raw = table.keyspace();
    let mut number = 0;
    let mut next = || {
        number = (number + 7919) % ENTRIES;
        number
    };
    criterion.bench_function("get/typed", |bencher| {
        bencher.iter(|| table.get(("berlin", next())).unwrap());
    });
    criterion.bench_function("get/bytes", |bencher| {
        bencher.iter(|| {
            let mut key = *b"berlin\0....";
            key[7..].copy_from_slice(&next().to_be_bytes());
            raw.get(key).unwrap()
        });
    });
    criterion.bench_function("scan of 100/typed", |bencher| {
        bencher.iter(|| table.range(("berlin", next()..)).unwrap().take(100).count());
    });
    criterion.bench_function("scan of 100/bytes", |bencher| {
        bencher.iter(|| {
            let mut key = *b"berlin\0....";
            key[7..].copy_from_slice(&next().to_be_bytes());
            raw.range(key..).unwrap().take(100).count()
        });
    });
    let counts = MergeTable::<u32, Counter>::open(&db, "counts").unwrap();
    criterion.bench_function("merge/typed", |bencher| {
        bencher.iter(|| counts.add(next() % 1000, 1).unwrap());
    });
    criterion.bench_function("merge/bytes", |bencher| {
        let raw = counts.keyspace();
        bencher.iter(|| raw.merge((next() % 1000).to_be_bytes(), 1_i64.to_le_bytes()).unwrap());
    });
}

criterion_group!(benches, keys, calls);
criterion_main!(benches);
