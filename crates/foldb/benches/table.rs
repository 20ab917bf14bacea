//! Tables: what a record costs to write, to walk over and to look up. Figures are per record.
//!
//! Records are 16-byte keys (random, sorted) and 8-byte values, 256 Ki of them; files are in
//! memory, so this measures the processor alone.
#![allow(missing_docs, reason = "criterion's macros make public functions")]

use std::hint::black_box;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use foldb::Compression;
use foldb::custom::BytewiseComparator;
use foldb::env::{RandomAccessFile, WritableFile};
use foldb::internals::{
    BlockCache, CursorOptions, Kind, RecordHeader, TableBuilder, TableBuilderOptions, TableCursor,
    TableReader, key_hash,
};

const RECORDS: usize = 256 << 10;

/// Where a write goes: nowhere, or into memory.
#[derive(Debug, Default)]
struct BenchFile {
    discard: bool,
    bytes: Mutex<Vec<u8>>,
}

impl WritableFile for BenchFile {
    fn write_at(&self, bytes: &[u8], _: u64) -> io::Result<()> {
        black_box(bytes);
        if !self.discard {
            self.bytes.lock().expect("one thread").extend_from_slice(bytes);
        }
        Ok(())
    }
    fn preallocate(&self, _: u64) -> io::Result<()> {
        Ok(())
    }
    fn truncate(&self, _: u64) -> io::Result<()> {
        Ok(())
    }
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

impl RandomAccessFile for BenchFile {
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let bytes = self.bytes.lock().expect("one thread");
        buf.copy_from_slice(&bytes[offset as usize..][..buf.len()]);
        Ok(())
    }
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().expect("one thread").len() as u64)
    }
}

fn options(compression: Compression, block_size: usize) -> TableBuilderOptions {
    TableBuilderOptions {
        path: "bench.sst".into(),
        file_number: 1,
        database_id: 1,
        keyspace: 0,
        comparator: Arc::new(BytewiseComparator),
        block_size,
        compression,
        filter_bits: 10,
        filter_policy: None,
        operators: Arc::new([]),
        expiry: None,
    }
}

/// Sorted keys of 16 bytes, random in all of them.
fn random_keys() -> Vec<[u8; 16]> {
    let mut keys: Vec<_> = (0..RECORDS as u64)
        .map(|n| {
            let (high, low) = (key_hash(&n.to_le_bytes()), key_hash(&(!n).to_le_bytes()));
            (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
        })
        .collect();
    keys.sort_unstable();
    keys
}

/// LevelDB's `%016d`.
fn decimal_keys() -> Vec<[u8; 16]> {
    (0..RECORDS).map(|n| format!("{n:016}").into_bytes().try_into().expect("16 digits")).collect()
}

fn build(keys: &[[u8; 16]], file: Arc<BenchFile>, options: TableBuilderOptions) {
    let mut builder = TableBuilder::new(file, options);
    for (n, key) in keys.iter().enumerate() {
        let header = RecordHeader { seqno: 1_000_000 + n as u64, kind: Kind::Put, operator: 0 };
        builder.add(key, header, &(n as u64).to_le_bytes()).expect("memory does not fail");
    }
    builder.finish(None).expect("memory does not fail");
}

fn table(keys: &[[u8; 16]], options: TableBuilderOptions) -> Arc<TableReader> {
    let file = Arc::new(BenchFile::default());
    build(keys, file.clone(), options);
    let cache = Arc::new(BlockCache::new(256 << 20));
    TableReader::open(file, Path::new("bench.sst"), 1, Arc::new(BytewiseComparator), None, cache)
        .expect("just built")
}

/// Time per record of `pass`, which goes over all of them.
fn per_record(iterations: u64, mut pass: impl FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..iterations {
        pass();
    }
    start.elapsed()
}

fn build_table(c: &mut Criterion) {
    let mut group = c.benchmark_group("build");
    group.throughput(Throughput::Elements(RECORDS as u64));
    for (name, keys) in [("random", random_keys()), ("decimal", decimal_keys())] {
        for compression in [Compression::None, Compression::Lz4, Compression::Snappy] {
            group.bench_function(format!("{name}/{compression:?}"), |b| {
                b.iter_custom(|iterations| {
                    per_record(iterations, || {
                        let file = BenchFile { discard: true, ..Default::default() };
                        build(&keys, Arc::new(file), options(compression, 4096));
                    })
                });
            });
        }
    }
    group.finish();
}

fn walk(c: &mut Criterion) {
    let mut group = c.benchmark_group("walk");
    group.throughput(Throughput::Elements(RECORDS as u64));
    for (name, keys) in [("random", random_keys()), ("decimal", decimal_keys())] {
        let warm = table(&keys, options(Compression::None, 4096));
        let compressed = table(&keys, options(Compression::Lz4, 4096));
        let cached = CursorOptions::default();
        let sequential = CursorOptions::walk();
        for (what, table, how) in [
            ("cached", &warm, cached.clone()),
            ("read ahead", &warm, sequential.clone()),
            ("read ahead, LZ4", &compressed, sequential),
        ] {
            group.bench_function(format!("{name}/next, {what}"), |b| {
                b.iter_custom(|iterations| {
                    per_record(iterations, || {
                        let mut cursor = TableCursor::new(table.clone(), how.clone());
                        cursor.seek_to_first().expect("intact");
                        let mut sum = 0;
                        while cursor.valid() {
                            sum += cursor.header().seqno + u64::from(cursor.key()[15]);
                            cursor.next().expect("intact");
                        }
                        black_box(sum);
                    })
                });
            });
        }
        group.bench_function(format!("{name}/prev, cached"), |b| {
            b.iter_custom(|iterations| {
                per_record(iterations, || {
                    let mut cursor = TableCursor::new(warm.clone(), cached.clone());
                    cursor.seek_to_last().expect("intact");
                    while cursor.valid() {
                        black_box(cursor.key());
                        cursor.prev().expect("intact");
                    }
                })
            });
        });
    }
    group.finish();
}

fn point_read(c: &mut Criterion) {
    let mut group = c.benchmark_group("point read");
    for block_size in [4096, 65536] {
        let mut keys = random_keys();
        let table = table(&keys, options(Compression::None, block_size));
        // In another order, but one after the other in memory: only the table's lines are cold.
        keys.sort_unstable_by_key(|key| key_hash(key));
        let mut n = 0;
        let mut next_key = move || {
            n = (n + 1) % RECORDS;
            keys[n]
        };
        group.bench_function(format!("present, block size {block_size}"), |b| {
            b.iter(|| {
                let key = next_key();
                let mut seen = 0;
                assert!(table.may_contain(key_hash(&key), &key).unwrap());
                table
                    .get(&key, u64::MAX, CursorOptions::default(), |header, value| {
                        seen = header.seqno + u64::from(value.as_slice()[0]);
                        ControlFlow::Break(())
                    })
                    .expect("intact");
                seen
            });
        });
        group.bench_function(format!("seek, block size {block_size}"), |b| {
            let mut cursor = TableCursor::new(table.clone(), CursorOptions::default());
            b.iter(|| {
                cursor.seek(&next_key()).expect("intact");
                cursor.header().seqno
            });
        });
        group.bench_function(format!("filter, absent, block size {block_size}"), |b| {
            let mut n = 0u128;
            b.iter(|| {
                n += 1;
                table.may_contain(key_hash(&n.to_le_bytes()), &n.to_le_bytes()).unwrap()
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(900));
    targets = build_table, walk, point_read
}
criterion_main!(benches);
