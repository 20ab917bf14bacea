//! Scans and the change feed as streams: order, back-pressure, and the ends of their threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use foldb::feed::{Change, Position, UpdatesOptions};
use foldb::operators::merge_fn;
use foldb::{Db, ErrorKind, KeyspaceOptions, Options};
use foldb_tokio::AsyncDb;

const ALL: UpdatesOptions = UpdatesOptions { include_unsynced: true };

async fn opened(dir: &tempfile::TempDir) -> AsyncDb {
    let options =
        Options { create_if_missing: true, wal_retention_bytes: 1 << 30, ..Options::default() };
    AsyncDb::open(dir.path().join("db"), options).await.unwrap()
}

#[tokio::test]
async fn a_scan_yields_every_entry_in_order() {
    const KEYS: usize = 3000;
    let dir = tempfile::tempdir().unwrap();
    let db = opened(&dir).await;
    let fill = |db: &Db| (0..KEYS).try_for_each(|n| db.put(format!("{n:06}"), vec![b'v'; 100]));
    db.run(fill).await.unwrap();
    let mut entries = db.range(..);
    for n in 0..KEYS {
        let (key, value) = entries.next().await.unwrap().unwrap();
        assert_eq!((key, value.len()), (format!("{n:06}").into_bytes(), 100));
    }
    assert!(entries.next().await.is_none());
    assert!(entries.next().await.is_none(), "the end stays the end");
    assert!(db.prefix("none").next().await.is_none());
}

/// A stream reads no further than a batch behind its reader, and a dropped one reads no more.
#[tokio::test]
async fn a_scan_reads_no_further_than_one_batch() {
    let dir = tempfile::tempdir().unwrap();
    let folds = Arc::new(AtomicUsize::new(0));
    // Each step of a scan folds the merges of its key.
    let counting = merge_fn("test.counting", {
        let folds = Arc::clone(&folds);
        move |_, operands| {
            folds.fetch_add(1, Ordering::Relaxed);
            Some(operands.concat())
        }
    });
    let mut options = Options { create_if_missing: true, ..Options::default() }.operator(counting);
    options.default = KeyspaceOptions::with_operator("test.counting");
    let db = AsyncDb::open(dir.path().join("db"), options).await.unwrap();
    let fill = |db: &Db| (0..5000).try_for_each(|n| db.merge(format!("{n:06}"), "1"));
    db.run(fill).await.unwrap();
    folds.store(0, Ordering::Relaxed);

    let mut entries = db.range(..);
    assert_eq!(folds.load(Ordering::Relaxed), 0, "nothing is read before the first poll");
    let rest = || tokio::time::sleep(Duration::from_millis(20));
    for (taken, most) in [(1, 4), (3, 4), (1, 20), (15, 20), (1, 84)] {
        for _ in 0..taken {
            entries.next().await.unwrap().unwrap();
        }
        rest().await;
        let read = folds.load(Ordering::Relaxed);
        assert!((most / 2..=most + 1).contains(&read), "{read} entries were read, not {most}");
    }
    drop(entries);
    rest().await;
    assert!(folds.load(Ordering::Relaxed) <= 85);
}

#[tokio::test]
async fn a_scan_of_a_closed_database_yields_one_error() {
    let dir = tempfile::tempdir().unwrap();
    let db = opened(&dir).await;
    db.close().await.unwrap();
    let mut entries = db.range(..);
    assert_eq!(entries.next().await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
    assert!(entries.next().await.is_none());
}

/// A scan holds its place only while a batch is read.
#[tokio::test]
async fn a_scan_that_rests_keeps_no_place_from_calls() {
    let dir = tempfile::tempdir().unwrap();
    let db = opened(&dir).await.with_most_calls(1);
    for n in 0..20 {
        db.put(format!("{n:02}"), "").await.unwrap();
    }
    let mut entries = db.range(..);
    let mut seen = 0;
    while let Some(entry) = entries.next().await {
        entry.unwrap();
        seen += 1;
        db.put("00", format!("{seen}")).await.unwrap();
    }
    assert_eq!(seen, 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_gets_every_write_once_while_it_waits_again_and_again() {
    const WRITES: u64 = 500;
    let dir = tempfile::tempdir().unwrap();
    let db = opened(&dir).await;
    let mut updates = db.updates_since(Position::BEGINNING, ALL).await.unwrap();
    let writer = tokio::spawn({
        let db = db.clone();
        async move {
            for n in 0..WRITES {
                db.put(format!("{n}"), "").await.unwrap();
                if n % 50 == 0 {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
            }
        }
    });
    for n in 1..=WRITES {
        // A future that is dropped loses no update.
        let update = loop {
            match tokio::time::timeout(Duration::from_millis(1), updates.next()).await {
                Ok(update) => break update.unwrap(),
                Err(_) => continue,
            }
        };
        assert_eq!(update.position.sequence_number(), n);
        assert!(matches!(update.change, Change::Batch(_)));
    }
    writer.await.unwrap();
}

#[tokio::test]
async fn a_close_ends_the_stream_of_a_follower_with_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let db = opened(&dir).await;
    let mut updates = db.updates_since(Position::BEGINNING, ALL).await.unwrap();
    let follower = tokio::spawn(async move { updates.next().await.unwrap_err().kind() });
    tokio::time::sleep(Duration::from_millis(20)).await;
    let begin = Instant::now();
    db.close().await.unwrap();
    assert_eq!(follower.await.unwrap(), ErrorKind::Closed);
    assert!(begin.elapsed() < Duration::from_secs(1));
}

/// The thread of a stream that was dropped once slept on, and kept the database open.
#[test]
fn dropped_streams_end_their_threads_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut fastest = Duration::MAX;
    for _ in 0..5 {
        let db = runtime.block_on(opened(&dir));
        runtime.block_on(async {
            let mut streams = Vec::new();
            for _ in 0..4 {
                let mut updates = db.updates_since(Position::BEGINNING, ALL).await.unwrap();
                let short = Duration::from_millis(5);
                assert!(tokio::time::timeout(short, updates.next()).await.is_err());
                streams.push(updates);
            }
            let begin = Instant::now();
            drop(streams);
            drop(db);
            // The directory is free when the last handle is gone, also that of the threads.
            let options = Options { wal_retention_bytes: 1 << 30, ..Options::default() };
            let again = loop {
                match AsyncDb::open(dir.path().join("db"), options.clone()).await {
                    Ok(again) => break again,
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Locked, "{error}"),
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            };
            fastest = fastest.min(begin.elapsed());
            again.close().await.unwrap();
        });
    }
    assert!(fastest < Duration::from_millis(500), "{fastest:?}");
}

/// A stream that waits takes no place from calls, and a runtime that shuts down does not wait for
/// one that lives on.
#[test]
fn a_runtime_shuts_down_beside_a_stream_that_waits() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let updates = runtime.block_on(async {
        let db = opened(&dir).await.with_most_calls(1);
        let mut updates = db.updates_since(Position::BEGINNING, ALL).await.unwrap();
        let short = Duration::from_millis(5);
        assert!(tokio::time::timeout(short, updates.next()).await.is_err());
        db.get("a").await.unwrap();
        updates
    });
    let begin = Instant::now();
    drop(runtime);
    assert!(begin.elapsed() < Duration::from_secs(20));
    drop(updates);
}
