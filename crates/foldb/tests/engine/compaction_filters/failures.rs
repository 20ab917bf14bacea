//! Filters that fail, and calls and crashes while one is asked.

use std::sync::{Arc, Mutex};

use foldb::custom::Verdict;
use foldb::env::MemFs;
use foldb::events::{Event, EventListener};
use foldb::limits::MAX_VALUE_BYTES;
use foldb::{Db, ErrorKind, Options};

use super::support::{Noting, by_value, filtered, open};
use crate::support::{PATH, reopen, text};

#[test]
fn a_crash_in_the_middle_of_a_compaction_leaves_the_old_values() {
    let fs = MemFs::new();
    let crashed = Arc::new(Mutex::new(None));
    let filter = Noting::by({
        let (fs, crashed) = (fs.clone(), Arc::clone(&crashed));
        move |key, value| {
            *crashed.lock().unwrap() = Some(fs.crash());
            by_value(key, value)
        }
    });
    let db = Db::open(PATH, filtered(&fs, &filter)).unwrap();
    for key in ["a", "b", "c"] {
        db.put(key, "remove").unwrap();
    }
    db.flush().unwrap();
    db.compact(..).unwrap();
    let left = |fs: &MemFs| reopen(fs).unwrap().iter().unwrap().map(Result::unwrap).count();
    let middle = crashed.lock().unwrap().take().expect("the filter was asked");
    assert_eq!(left(&middle), 3);
    assert_eq!(left(&fs.crash()), 0, "a finished compaction is durable");
}

/// Keeps the errors of background work.
#[derive(Debug, Default)]
struct Errors(Mutex<Vec<String>>);

impl EventListener for Errors {
    fn on_event(&self, event: &Event) {
        if let Event::BackgroundError { error } = event {
            self.0.lock().unwrap().push(error.to_string());
        }
    }
}

#[test]
fn a_filter_that_fails_costs_its_own_effect_and_is_reported() {
    let filter = Noting::by(|_, value| match value {
        b"panic" => panic!("no verdict"),
        b"widen" => Verdict::Change(vec![0; MAX_VALUE_BYTES + 1]),
        _ => Verdict::Remove,
    });
    for (bad, expected) in [("panic", "panicked: no verdict"), ("widen", "MAX_VALUE_BYTES")] {
        let errors = Arc::new(Errors::default());
        let told = Options { listeners: vec![errors.clone()], ..filtered(&MemFs::new(), &filter) };
        let db = Db::open(PATH, told).unwrap();
        for (key, value) in [("a", "1"), ("b", bad), ("c", "2")] {
            db.put(key, value).unwrap();
        }
        db.compact(..).unwrap();
        assert_eq!(text(&db, "a"), None);
        assert_eq!(text(&db, "b").as_deref(), Some(bad));
        assert_eq!(text(&db, "c").is_some(), bad == "panic", "a panic ends the filter");
        let told = errors.0.lock().unwrap().join("; ");
        assert!(told.contains(expected) && told.contains("keyspace 'default'"), "{told}");
    }
}

#[test]
fn a_call_inside_a_filter_is_answered_and_never_waits_for_that_filter() {
    let place: Arc<Mutex<Option<Db>>> = Arc::default();
    let answers = Arc::new(Mutex::new(Vec::new()));
    let filter = Noting::by({
        let (place, answers) = (Arc::clone(&place), Arc::clone(&answers));
        move |key, _| {
            if let Some(db) = &*place.lock().unwrap() {
                let waits = [db.flush(), db.compact(..)].map(|call| call.unwrap_err().kind());
                let found = db.get(key).unwrap().map(|value| value.to_vec());
                db.put("from the filter", "1").unwrap();
                db.default_keyspace().set_compaction_filter(None);
                answers.lock().unwrap().push((waits, found));
            }
            Verdict::Remove
        }
    });
    let db = open(&filter);
    db.put("a", "1").unwrap();
    *place.lock().unwrap() = Some(db.clone());
    db.compact(..).unwrap();
    *place.lock().unwrap() = None;
    let expected = ([ErrorKind::Reentrant; 2], Some(b"1".to_vec()));
    assert_eq!(*answers.lock().unwrap(), [expected]);
    assert_eq!(text(&db, "from the filter").as_deref(), Some("1"));
    assert_eq!(text(&db, "a"), None);
}
