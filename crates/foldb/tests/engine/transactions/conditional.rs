//! Writes under a condition, alone and by many threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use foldb::{CompareAndSwap, Db, ErrorKind, KeyspaceOptions, Options, WriteOptions};
use tempfile::TempDir;

const THREADS: u64 = 4;
const STEPS: u64 = 2_000;

fn open(dir: &TempDir) -> Db {
    let options = Options {
        create_if_missing: true,
        default: KeyspaceOptions::with_operator("uint64add"),
        write_buffer_size: 64 << 10,
        ..Options::default()
    };
    Db::open(dir.path().join("db"), options).unwrap()
}

fn number(bytes: Option<&[u8]>) -> u64 {
    bytes.map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
}

fn on_threads(db: &Db, work: impl Fn(&Db, u64) + Sync) {
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let work = &work;
            scope.spawn(move || (0..STEPS).for_each(|step| work(db, thread * STEPS + step)));
        }
    });
}

#[test]
fn compare_and_swap_swaps_only_what_it_expects() {
    let dir = TempDir::new().unwrap();
    let db = open(&dir);
    let found = |value: Option<&[u8]>| CompareAndSwap::Found(value.map(Into::into));
    assert_eq!(db.compare_and_swap("k", Some(b"1"), Some(b"2")).unwrap(), found(None));
    assert!(db.compare_and_swap("k", None, None).unwrap().is_swapped());
    assert!(db.compare_and_swap("k", None, Some(b"1")).unwrap().is_swapped());
    assert_eq!(db.compare_and_swap("k", None, Some(b"2")).unwrap(), found(Some(b"1")));
    assert!(db.compare_and_swap("k", Some(b"1"), Some(b"")).unwrap().is_swapped());
    assert_eq!(db.compare_and_swap("k", None, Some(b"2")).unwrap(), found(Some(b"")));
    assert!(db.compare_and_swap("k", Some(b""), None).unwrap().is_swapped());
    assert_eq!(db.get("k").unwrap(), None);
}

#[test]
fn each_step_returns_what_it_says() {
    let dir = TempDir::new().unwrap();
    let db = open(&dir);
    assert!(db.put_if_absent("k", "1").unwrap());
    assert!(!db.put_if_absent("k", "2").unwrap());
    let twice =
        |value: Option<&[u8]>| Some([value.unwrap_or(b"x"), value.unwrap_or(b"y")].concat());
    assert_eq!(db.update("k", twice).unwrap().unwrap(), b"11");
    assert_eq!(db.fetch_update("k", twice).unwrap().unwrap(), b"11");
    assert_eq!(db.take("k").unwrap().unwrap(), b"1111");
    assert_eq!(db.take("k").unwrap(), None);
    assert_eq!(db.update("k", |_| None).unwrap(), None);
    let one = 1u64.to_le_bytes();
    assert_eq!(db.merge_get("n", one).unwrap().unwrap(), one);
    let below_two = |value: Option<&[u8]>| number(value) < 2;
    assert!(db.merge_if("n", below_two, one).unwrap());
    assert!(!db.merge_if("n", below_two, one).unwrap());
    assert_eq!(number(db.get("n").unwrap().as_deref()), 2);
    let durable = WriteOptions { sync: true, ..Default::default() };
    let synced = db.default_keyspace().with(&durable);
    assert_eq!(number(synced.merge_get("n", one).unwrap().as_deref()), 3);
}

/// A step that fails writes nothing, and says why.
#[test]
fn bad_input_is_refused() {
    let dir = TempDir::new().unwrap();
    let db = open(&dir);
    assert_eq!(db.merge_get("n", "short").unwrap_err().kind(), ErrorKind::InvalidArgument);
    db.put("text", "no number").unwrap();
    let one = 1u64.to_le_bytes();
    assert_eq!(db.merge_get("text", one).unwrap_err().kind(), ErrorKind::MergeFailed);
    assert_eq!(db.get("text").unwrap().unwrap(), b"no number");
    let long = vec![b'k'; 1 << 20];
    assert_eq!(db.put_if_absent(&long, "").unwrap_err().kind(), ErrorKind::InvalidArgument);
    let plain = db.create_keyspace("plain", Default::default()).unwrap();
    plain.unset_default_operator().unwrap();
    assert_eq!(plain.merge_get("n", one).unwrap_err().kind(), ErrorKind::InvalidArgument);
    db.drop_keyspace("plain").unwrap();
    assert_eq!(plain.take("n").unwrap_err().kind(), ErrorKind::KeyspaceDropped);
    db.close().unwrap();
    assert_eq!(db.take("n").unwrap_err().kind(), ErrorKind::Closed);
}

/// Other writes may keep a step from writing for ever. Its deadline ends that.
#[test]
fn a_deadline_ends_a_step_that_always_loses() {
    let dir = TempDir::new().unwrap();
    let db = open(&dir);
    // Long enough for some runs on a slow machine.
    let soon =
        WriteOptions { deadline: Some(Duration::from_millis(500)), ..WriteOptions::default() };
    let mut runs = 0;
    let lost = db.default_keyspace().with(&soon).update("k", |_| {
        runs += 1;
        db.put("k", "other").unwrap();
        Some(b"new".to_vec())
    });
    assert_eq!(lost.unwrap_err().kind(), ErrorKind::Busy);
    assert!(runs > 8, "{runs}");
    assert_eq!(db.get("k").unwrap().unwrap(), b"other");
    assert_eq!(db.update("k", |_| Some(b"new".to_vec())).unwrap().unwrap(), b"new");
}

#[test]
fn tickets_are_given_out_once() {
    let dir = TempDir::new().unwrap();
    let db = open(&dir);
    let seen: Vec<AtomicU64> = (0..=THREADS * STEPS).map(|_| AtomicU64::new(0)).collect();
    on_threads(&db, |db, _| {
        let ticket = db.merge_get("ticket", 1u64.to_le_bytes()).unwrap();
        seen[number(ticket.as_deref()) as usize].fetch_add(1, Ordering::Relaxed);
    });
    assert!(seen[1..].iter().all(|times| times.load(Ordering::Relaxed) == 1));
}

/// Every kind of step counts, beside blind merges, flushes and compactions.
#[test]
fn steps_of_all_kinds_lose_no_count() {
    let dir = TempDir::new().unwrap();
    let db = open(&dir);
    let one = 1u64.to_le_bytes();
    on_threads(&db, |db, step| match step % 5 {
        0 => drop(db.merge_get("n", one).unwrap()),
        1 => db.merge("n", one).unwrap(),
        2 => {
            let add = |value: Option<&[u8]>| Some((number(value) + 1).to_le_bytes().to_vec());
            db.update("n", add).unwrap();
        }
        3 => assert!(db.merge_if("n", |_| true, one).unwrap()),
        _ => loop {
            let old = db.get("n").unwrap();
            let new = (number(old.as_deref()) + 1).to_le_bytes();
            if db.compare_and_swap("n", old.as_deref(), Some(&new)).unwrap().is_swapped() {
                break;
            }
        },
    });
    db.flush().unwrap();
    db.compact(..).unwrap();
    assert_eq!(number(db.get("n").unwrap().as_deref()), THREADS * STEPS);
}

/// One thread of four wins each key.
#[test]
fn an_absent_key_is_put_once() {
    let dir = TempDir::new().unwrap();
    let db = open(&dir);
    let wins = AtomicU64::new(0);
    on_threads(&db, |db, step| {
        let key = (step % STEPS).to_be_bytes();
        if db.put_if_absent(key, step.to_le_bytes()).unwrap() {
            wins.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert_eq!(wins.load(Ordering::Relaxed), STEPS);
    assert_eq!(db.iter().unwrap().count() as u64, STEPS);
    // Each is taken once, too.
    let taken = AtomicU64::new(0);
    on_threads(&db, |db, step| {
        if db.take((step % STEPS).to_be_bytes()).unwrap().is_some() {
            taken.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert_eq!(taken.load(Ordering::Relaxed), STEPS);
}
