//! Snapshots, iterators and transactions never see a verdict.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Acquire;
use std::sync::{Arc, Mutex};
use std::thread;

use foldb::custom::Verdict;
use foldb::{Db, Isolation, TransactionOptions};

use super::support::{Noting, by_value, open, owned};
use crate::support::{RaisedAtEnd, text};

#[test]
fn a_snapshot_keeps_its_view_and_its_values_are_passed_over() {
    let filter = Noting::by(by_value);
    let db = open(&filter);
    db.put("a", "keep: before").unwrap();
    db.put("b", "remove").unwrap();
    db.flush().unwrap();
    let snapshot = db.snapshot();
    db.put("a", "remove: after").unwrap();
    db.compact(..).unwrap();
    assert_eq!(filter.take_shown(), owned([("a", "remove: after")]));
    assert_eq!(text(&db, "a"), None);
    assert_eq!(text(&db, "b").as_deref(), Some("remove"));
    assert_eq!(text(&snapshot, "a").as_deref(), Some("keep: before"));
    assert_eq!(text(&snapshot, "b").as_deref(), Some("remove"));
    drop(snapshot);
    db.compact(..).unwrap();
    assert_eq!(filter.take_shown(), owned([("b", "remove")]));
    assert!(db.is_empty().unwrap(), "nothing that the snapshot kept comes back");
}

#[test]
fn an_iterator_keeps_its_view() {
    let filter = Noting::by(by_value);
    let db = open(&filter);
    let keys: Vec<String> = (0..100).map(|n| format!("k{n:02}")).collect();
    keys.iter().for_each(|key| db.put(key, "remove").unwrap());
    db.flush().unwrap();
    let mut walk = db.iter().unwrap();
    let first = walk.next().unwrap().unwrap().0;
    db.compact(..).unwrap();
    assert!(db.is_empty().unwrap());
    let rest = walk.map(|entry| entry.unwrap().0);
    let walked: Vec<_> = std::iter::once(first).chain(rest).collect();
    assert!(walked.iter().map(|key| &key[..]).eq(keys.iter().map(String::as_bytes)));
}

/// Compacts a value that the filter removes while each look of the filter takes a snapshot.
/// Returns what the snapshots read afterwards.
fn read_by_snapshots_of_a_running_compaction(together: bool) -> Vec<Option<String>> {
    let place: Arc<Mutex<Option<Db>>> = Arc::default();
    let taken = Arc::new(Mutex::new(Vec::new()));
    let filter = Noting::by({
        let (place, taken) = (Arc::clone(&place), Arc::clone(&taken));
        move |_, value| {
            if let Some(db) = &*place.lock().unwrap() {
                let snapshot = db.snapshot();
                assert_eq!(text(&snapshot, "a").as_deref(), Some("remove"));
                taken.lock().unwrap().push(snapshot);
            }
            by_value(b"a", value)
        }
    });
    let db = open(&filter);
    db.put("a", "remove").unwrap();
    *place.lock().unwrap() = Some(db.clone());
    if together {
        db.compact(..).unwrap()
    } else {
        db.default_keyspace().compact(..).unwrap()
    }
    *place.lock().unwrap() = None;
    let taken = std::mem::take(&mut *taken.lock().unwrap());
    assert!(!taken.is_empty(), "the filter was asked");
    let read = taken.iter().map(|snapshot| text(snapshot, "a")).collect();
    drop(taken);
    db.compact(..).unwrap();
    assert_eq!(text(&db, "a"), None, "the snapshots are gone");
    read
}

#[test]
fn a_snapshot_that_is_taken_while_a_compaction_runs_keeps_its_view() {
    for together in [true, false] {
        let read = read_by_snapshots_of_a_running_compaction(together);
        assert!(read.iter().all(|value| value.as_deref() == Some("remove")), "{read:?}");
    }
}

/// Another thread takes snapshots and reads each twice, while values are written and removed.
#[test]
fn no_snapshot_changes_its_answer_while_a_filter_removes_values() {
    let db = open(&Noting::by(by_value));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Acquire) {
                let snapshot = db.snapshot();
                let first = text(&snapshot, "a");
                thread::yield_now();
                assert_eq!(text(&snapshot, "a"), first, "at {}", snapshot.sequence_number());
            }
        });
        let _raised = RaisedAtEnd(&is_over);
        for round in 0..300 {
            db.put("a", format!("remove {round}")).unwrap();
            db.compact(..).unwrap();
        }
    });
    db.compact(..).unwrap();
    assert_eq!(text(&db, "a"), None);
}

#[cfg(debug_assertions)]
#[test]
fn a_slice_installed_under_a_new_snapshot_is_noticed() {
    use foldb::faults::{Fault, plant};

    plant(Some(Fault::InstallUnderSnapshot));
    let read = read_by_snapshots_of_a_running_compaction(false);
    plant(None);
    assert!(read.contains(&None), "the fault goes unnoticed");
}

/// Snapshots that come and go do not keep a compaction from its end.
#[test]
fn a_compaction_ends_although_each_look_of_its_filter_takes_a_snapshot() {
    let (place, last) = (Arc::new(Mutex::new(None::<Db>)), Arc::new(Mutex::new(None)));
    let filter = Noting::by({
        let (place, last) = (Arc::clone(&place), Arc::clone(&last));
        move |_, _| {
            let snapshot = place.lock().unwrap().as_ref().map(Db::snapshot);
            // The snapshot before it is gone when a slice lists those that it heeds.
            *last.lock().unwrap() = snapshot;
            Verdict::Remove
        }
    });
    let db = open(&filter);
    db.put("a", "1").unwrap();
    *place.lock().unwrap() = Some(db.clone());
    db.compact(..).unwrap();
    (*place.lock().unwrap(), *last.lock().unwrap()) = (None, None);
    assert_eq!(text(&db, "a").as_deref(), Some("1"));
}

#[test]
fn a_transaction_keeps_what_it_read_and_meets_no_conflict() {
    let filter = Noting::by(by_value);
    let db = open(&filter);
    db.put("a", "remove").unwrap();
    let serializable =
        TransactionOptions { isolation: Isolation::Serializable, ..Default::default() };
    let transaction = db.with(&serializable).begin().unwrap();
    assert_eq!(transaction.get("a").unwrap().unwrap(), b"remove");
    db.compact(..).unwrap();
    assert_eq!(transaction.get("a").unwrap().unwrap(), b"remove");
    transaction.put("b", "read a").unwrap();
    transaction.commit().unwrap();
    db.compact(..).unwrap();
    assert_eq!((text(&db, "a"), text(&db, "b").as_deref()), (None, Some("read a")));
}
