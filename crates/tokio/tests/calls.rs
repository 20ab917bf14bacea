//! Calls through asynchronous handles: what they return, the bound, and what a dropped future
//! leaves.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Waker};
use std::time::Duration;

use foldb::{ErrorKind, KeyspaceOptions, Options, WriteBatch, WriteOptions};
use foldb_tokio::AsyncDb;

async fn opened(dir: &tempfile::TempDir) -> AsyncDb {
    let options = Options {
        create_if_missing: true,
        default: KeyspaceOptions::with_operator("uint64add"),
        ..Options::default()
    };
    AsyncDb::open(dir.path().join("db"), options).await.unwrap()
}

/// Polls a future once, and returns whether it is done.
fn poll_once(future: &mut std::pin::Pin<&mut impl Future>) -> bool {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

#[tokio::test]
async fn each_call_does_as_the_blocking_one() {
    let dir = tempfile::tempdir().unwrap();
    let db = opened(&dir).await;
    db.put("a", "1").await.unwrap();
    db.merge("n", 2u64.to_le_bytes()).await.unwrap();
    db.merge("n", 3u64.to_le_bytes()).await.unwrap();
    assert_eq!(db.get("n").await.unwrap().unwrap(), 5u64.to_le_bytes());
    let values = db.multi_get(vec!["a", "none"]).await.unwrap();
    assert_eq!((values[0].as_deref(), values[1].as_deref()), (Some(&b"1"[..]), None));
    db.delete("n").await.unwrap();
    assert!(!db.contains_key("n").await.unwrap());

    let mut batch = WriteBatch::new();
    batch.put("b", "2").put("c", "3");
    db.write(batch).await.unwrap();
    let sum = db.transact(|transaction| {
        transaction.put("d", "4")?;
        Ok(transaction.get("b")?.map_or(0, |value| value.len()))
    });
    assert_eq!(sum.await.unwrap(), 1);
    db.delete_range("c"..="d").await.unwrap();

    let users = db.keyspace_or_create("users", KeyspaceOptions::default()).await.unwrap();
    users.put("ann", "1815").await.unwrap();
    let again = db.keyspace("users").unwrap();
    assert_eq!(again.get("ann").await.unwrap().unwrap(), b"1815");
    assert_eq!(db.keyspace("none").unwrap_err().kind(), ErrorKind::KeyspaceMissing);

    db.sync().await.unwrap();
    db.flush().await.unwrap();
    db.compact(..).await.unwrap();
    let copy = dir.path().join("copy");
    db.checkpoint(&copy).await.unwrap();
    db.close().await.unwrap();
    assert_eq!(db.get("a").await.unwrap_err().kind(), ErrorKind::Closed);
    let copy = AsyncDb::open(copy, Options::default()).await.unwrap();
    assert_eq!(copy.get("b").await.unwrap().unwrap(), b"2");
    assert_eq!(copy.get("c").await.unwrap(), None);
}

#[tokio::test]
async fn write_options_hold_for_the_handle_and_its_keyspaces() {
    let dir = tempfile::tempdir().unwrap();
    let db = opened(&dir).await;
    let wrong = WriteOptions { sync: true, disable_wal: true, ..WriteOptions::DEFAULT };
    let own = db.with_write_options(wrong);
    assert_eq!(own.put("a", "1").await.unwrap_err().kind(), ErrorKind::InvalidArgument);
    let own = own.keyspace_or_create("x", KeyspaceOptions::default()).await.unwrap();
    assert_eq!(own.put("a", "1").await.unwrap_err().kind(), ErrorKind::InvalidArgument);
    db.put("a", "1").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_calls_run_at_a_time_than_the_bound_allows() {
    let dir = tempfile::tempdir().unwrap();
    let db = opened(&dir).await.with_most_calls(3);
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut tasks = Vec::new();
    for _ in 0..30 {
        let (db, running, most) = (db.clone(), Arc::clone(&running), Arc::clone(&most));
        tasks.push(tokio::spawn(async move {
            let call = db.run(move |_| {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(2));
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            });
            call.await.unwrap();
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

/// A call that was given up still counts until it ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_future_keeps_its_place_until_its_call_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let db = opened(&dir).await.with_most_calls(1);
    let (end, ended) = mpsc::channel::<()>();
    let (begin, begun) = mpsc::channel();
    {
        let mut first = pin!(db.run(move |_| {
            begin.send(()).unwrap();
            let _ = ended.recv();
            Ok(())
        }));
        assert!(!poll_once(&mut first));
        begun.recv().unwrap();
    }
    let mut second = pin!(db.get("a"));
    assert!(!poll_once(&mut second));
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!poll_once(&mut second), "the first call still runs");
    end.send(()).unwrap();
    second.await.unwrap();
}

/// A future that is dropped at any poll leaves the whole batch or nothing, and nothing if the call
/// had no place yet.
#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_write_leaves_all_of_it_or_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let db = opened(&dir).await.with_most_calls(1);
    let (end, ended) = mpsc::channel::<()>();
    let blocker = tokio::spawn({
        let db = db.clone();
        async move {
            let wait = move |_: &foldb::Db| {
                let _ = ended.recv();
                Ok(())
            };
            db.run(wait).await.unwrap();
        }
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    {
        let mut waits = pin!(db.put("never", "1"));
        assert!(!poll_once(&mut waits));
    }
    end.send(()).unwrap();
    blocker.await.unwrap();

    for round in 0..200u32 {
        let mut batch = WriteBatch::new();
        for n in 0..20u32 {
            batch.put(format!("{round:04}-{n}"), "");
        }
        let mut write = pin!(db.write(batch));
        for _ in 0..round % 4 {
            if poll_once(&mut write) {
                break;
            }
        }
    }
    // The bound is 1, so all calls that had begun have ended before this one.
    let counts = db.run(|db| {
        let counts = (0..200u32).map(|round| Ok(db.prefix(format!("{round:04}-"))?.count()));
        counts.collect::<foldb::Result<Vec<_>>>()
    });
    let counts = counts.await.unwrap();
    assert!(counts.iter().all(|count| [0, 20].contains(count)), "{counts:?}");
    assert!(counts.iter().step_by(4).all(|count| *count == 0), "never polled, never written");
    assert_eq!(db.get("never").await.unwrap(), None);
}

#[tokio::test]
async fn a_panic_in_a_call_reaches_its_caller() {
    let dir = tempfile::tempdir().unwrap();
    let db = opened(&dir).await;
    let own = db.clone();
    let task = tokio::spawn(async move { own.run::<()>(|_| panic!("planned")).await });
    assert!(task.await.unwrap_err().is_panic());
    db.put("a", "1").await.unwrap();
}

#[test]
fn handles_and_streams_cross_threads() {
    fn is_send<T: Send>() {}
    fn is_sync<T: Sync>() {}
    is_send::<AsyncDb>();
    is_sync::<AsyncDb>();
    is_send::<foldb_tokio::AsyncKeyspace>();
    is_send::<foldb_tokio::Entries>();
    is_send::<foldb_tokio::UpdateStream>();
}
