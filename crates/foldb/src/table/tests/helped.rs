//! Tables whose sub-blocks a helper writes.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use foldb_env::{Stepped, SystemThreads, Thread, ThreadBody, Threads, WritableFile};

use super::*;
use crate::ErrorKind;
use crate::encoding::key_hash;
use crate::user_code::message_of;

/// Threads, counted: how many were started, and how many run.
#[derive(Debug, Default)]
struct Counted {
    started: AtomicUsize,
    running: Arc<AtomicUsize>,
}

/// A thread that runs.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

impl Threads for Counted {
    fn spawn(&self, name: &str, body: ThreadBody) -> io::Result<Option<Thread>> {
        self.started.fetch_add(1, SeqCst);
        self.running.fetch_add(1, SeqCst);
        let running = Running(Arc::clone(&self.running));
        let body = move || {
            let _running = running;
            body();
        };
        SystemThreads.spawn(name, Box::new(body))
    }
}

/// A system that starts no thread.
#[derive(Debug)]
struct Exhausted;

impl Threads for Exhausted {
    fn spawn(&self, _name: &str, _body: ThreadBody) -> io::Result<Option<Thread>> {
        Err(io::ErrorKind::WouldBlock.into())
    }
}

/// A file whose writes panic from an offset on.
#[derive(Debug)]
struct Panics(u64);

impl WritableFile for Panics {
    fn write_at(&self, _: &[u8], offset: u64) -> io::Result<()> {
        assert!(offset < self.0, "as planned");
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

/// A file that takes a while for each write.
#[derive(Debug)]
struct Slow(MemoryFile);

impl WritableFile for Slow {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        std::thread::sleep(Duration::from_millis(5));
        self.0.write_at(bytes, offset)
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

/// A value of `len` bytes, of which about the first `noise` do not compress.
fn value(n: u64, noise: usize, len: usize) -> Vec<u8> {
    let mut value: Vec<u8> = (0..noise.div_ceil(8) as u64)
        .flat_map(|i| key_hash(&(n << 20 | i).to_le_bytes()).to_le_bytes())
        .collect();
    value.resize(len, b'v');
    value
}

/// Records with values of these lengths in turn.
fn of_lengths(count: u64, lengths: &[(usize, usize)]) -> Vec<Record> {
    let record = |n: u64| {
        let (noise, len) = lengths[n as usize % lengths.len()];
        put(format!("{n:016}"), 0, value(n, noise, len))
    };
    (0..count).map(record).collect()
}

fn compressed() -> TableBuilderOptions {
    TableBuilderOptions { compression: Compression::Lz4, ..options() }
}

/// The shapes of records that a load may bring.
fn shapes() -> Vec<(&'static str, Vec<Record>)> {
    vec![
        ("small", of_lengths(60_000, &[(8, 16)])),
        ("half", of_lengths(8000, &[(75, 150)])),
        ("noise", of_lengths(8000, &[(150, 150)])),
        ("as large as a sub-block", of_lengths(800, &[(1000, 4096), (4096, 4096), (0, 4095)])),
        ("around the largest", {
            let mut records = of_lengths(100, &[(10, 65_000), (65_500, 65_500), (10, 20)]);
            records[90].value = vec![7; 66_000];
            records
        }),
        ("a large one late", {
            let mut records = of_lengths(30_000, &[(20, 40)]);
            records[29_000].value = value(1, 300_000, 600_000);
            records
        }),
        ("too few", of_lengths(1000, &[(8, 16)])),
    ]
}

fn build_on(
    threads: Arc<dyn Threads>,
    records: &[Record],
    options: TableBuilderOptions,
) -> (Vec<u8>, TableSummary) {
    let file = Arc::new(MemoryFile::default());
    let mut builder = TableBuilder::new(file.clone(), options);
    builder.set_threads(threads);
    for record in records {
        builder.add(&record.key, record.header, &record.value).unwrap();
    }
    let summary = builder.finish(None).unwrap();
    (file.bytes(), summary)
}

#[test]
fn a_table_has_the_same_bytes_with_and_without_a_helper() {
    let mut helped = 0;
    for (shape, records) in shapes() {
        for &compression in [&[Compression::None], CODECS].concat().iter() {
            for block_size in [4096, 65_536, 300] {
                let options = || TableBuilderOptions { compression, block_size, ..options() };
                let (alone, summary) = build(&records, options());
                let threads = Arc::new(Counted::default());
                let all: [Arc<dyn Threads>; 3] =
                    [threads.clone(), Arc::new(Stepped), Arc::new(Exhausted)];
                for own in all {
                    let what = format!("{shape}, {compression:?}, {block_size}, {own:?}");
                    let (bytes, same) = build_on(own, &records, options());
                    assert!(bytes == alone.bytes(), "{what}");
                    assert_eq!(same, summary, "{what}");
                }
                assert_eq!(threads.running.load(SeqCst), 0, "{shape}: the helper has ended");
                let started = threads.started.load(SeqCst);
                let gains = compression != Compression::None && shape != "noise";
                assert_eq!(started, usize::from(gains && shape != "too few"), "{shape}");
                helped += started;
            }
        }
    }
    assert!(helped > 0);
}

/// Where a table ends depends on its size to the byte, so the size does not depend on a helper.
#[test]
fn a_table_reaches_a_size_at_the_same_record_with_a_helper() {
    for (shape, records) in shapes() {
        for target in [1000, 100_000, 250_000, 400_000, 700_000, 1_200_000] {
            let reached = |threads: Arc<dyn Threads>| {
                let file = Arc::new(MemoryFile::default());
                let mut builder = TableBuilder::new(file.clone(), compressed());
                builder.set_threads(threads);
                let mut added = 0;
                for record in &records {
                    if builder.reaches(target).unwrap() {
                        break;
                    }
                    builder.add(&record.key, record.header, &record.value).unwrap();
                    added += 1;
                }
                let size = builder.reaches(0).unwrap().then(|| builder.file_bytes());
                builder.finish(None).unwrap();
                (added, size, file.bytes())
            };
            let (alone, helped) =
                (reached(Arc::new(Stepped)), reached(Arc::default() as Arc<Counted>));
            assert_eq!((alone.0, alone.1), (helped.0, helped.1), "{shape}, {target}");
            assert!(alone.2 == helped.2, "{shape}, {target}");
        }
    }
}

#[test]
fn a_full_disk_fails_the_build_also_behind_a_helper() {
    let records = of_lengths(100_000, &[(8, 16)]);
    for sound in [0, 30_000, 60_000, 90_000] {
        let (file, threads) = (Arc::new(MemoryFile::default()), Arc::new(Counted::default()));
        let mut builder = TableBuilder::new(file.clone(), compressed());
        builder.set_threads(threads.clone());
        let mut add = |r: &Record| builder.add(&r.key, r.header, &r.value);
        let (before, after) = records.split_at(sound);
        before.iter().try_for_each(&mut add).unwrap();
        file.broken.store(true, SeqCst);
        let added = after.iter().try_for_each(add);
        let error = added.and_then(|()| builder.finish(None).map(drop)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoSpace);
        assert_eq!(error.path(), Some(Path::new("/db/000007.sst")));
        assert_eq!(threads.running.load(SeqCst), 0, "{sound}");
    }
}

/// The error comes with an early sub-block, and again if the caller goes on all the same.
#[test]
fn an_error_of_a_helper_reaches_the_next_sub_blocks() {
    let (file, threads) = (Arc::new(MemoryFile::default()), Arc::new(Counted::default()));
    let mut builder = TableBuilder::new(file.clone(), compressed());
    builder.set_threads(threads.clone());
    file.broken.store(true, SeqCst);
    let records = of_lengths(200_000, &[(8, 16)]);
    let mut add = |r: &Record| builder.add(&r.key, r.header, &r.value).is_err();
    let first = records.iter().position(&mut add).unwrap();
    let later = records[first + 1..].iter().filter(|r| add(r)).count();
    assert!(first < 60_000, "{first}");
    assert!(later > 100, "{later}");
    assert_eq!(builder.finish(None).unwrap_err().kind(), ErrorKind::NoSpace);
    assert_eq!(threads.running.load(SeqCst), 0);
}

#[test]
fn a_builder_that_is_dropped_ends_its_helper() {
    let records = of_lengths(100_000, &[(8, 16)]);
    for added in [20_000, 50_000, 100_000] {
        let (file, threads) = (Arc::new(MemoryFile::default()), Arc::new(Counted::default()));
        let mut builder = TableBuilder::new(Arc::new(Slow(MemoryFile::default())), compressed());
        builder.set_threads(threads.clone());
        for record in &records[..added] {
            builder.add(&record.key, record.header, &record.value).unwrap();
        }
        assert_eq!(threads.started.load(SeqCst), 1);
        drop(builder);
        assert_eq!(threads.running.load(SeqCst), 0);
        drop(file);
    }
}

#[test]
fn a_panic_of_a_helper_goes_on_in_the_builders_thread() {
    for from in [0, 300_000, 600_000] {
        let threads = Arc::new(Counted::default());
        let records = of_lengths(100_000, &[(8, 16)]);
        let mut builder = Some(TableBuilder::new(Arc::new(Panics(from)), compressed()));
        builder.as_mut().unwrap().set_threads(threads.clone());
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            for record in &records {
                let builder = builder.as_mut().unwrap();
                builder.add(&record.key, record.header, &record.value).unwrap();
            }
            builder.take().unwrap().finish(None).unwrap();
        }));
        assert_eq!(message_of(&*panicked.unwrap_err()), "as planned");
        drop(builder);
        assert_eq!(threads.running.load(SeqCst), 0);
    }
}

/// The builder waits for a slow helper. It does not gather what the helper did not write yet.
#[test]
fn the_memory_of_a_helper_is_bounded_and_counted() {
    let records = of_lengths(200, &[(20_000, 60_000), (8, 8), (1000, 4000)]);
    for records in [of_lengths(100_000, &[(8, 16)]), records] {
        let threads = Arc::new(Counted::default());
        let shape = TableBuilderOptions { filter_bits: 0, ..compressed() };
        let alone = |threads: Arc<dyn Threads>| {
            let mut builder =
                TableBuilder::new(Arc::new(Slow(MemoryFile::default())), shape.clone());
            builder.set_threads(threads);
            let mut most = 0;
            for record in &records {
                builder.add(&record.key, record.header, &record.value).unwrap();
                most = most.max(builder.memory_bytes());
            }
            builder.finish(None).unwrap();
            most
        };
        let (alone, helped) = (alone(Arc::new(Stepped)), alone(threads.clone()));
        assert_eq!(threads.started.load(SeqCst), 1);
        assert!(helped > alone + (128 << 10), "{helped} counts the batches beside {alone}");
        assert!(helped <= alone + HELPER_BYTES, "{helped} is within bounds of {alone}");
    }
}
