//! Tests filters of compactions: what they are shown, what their verdicts do, what failures cost.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use foldb::custom::{CompactionFilter, CompactionFilterFactory, FilterContext, Verdict};
use foldb::env::MemFs;
use foldb::events::{Event, EventListener};
use foldb::expiry::Expiry;
use foldb::feed::Position;
use foldb::limits::MAX_VALUE_BYTES;
use foldb::{Compression, Db, ErrorKind, Isolation, KeyspaceOptions, Options, TransactionOptions};

use crate::support::{
    PATH, PRESETS, RaisedAtEnd, assert_error, number, options, reopen, sliced, text,
};

/// Judges a key and its value.
type Rule = dyn Fn(&[u8], &[u8]) -> Verdict + Send + Sync;

/// Filters by a rule, and notes what they are shown.
#[derive(Clone)]
pub(super) struct Noting {
    rule: Arc<Rule>,
    /// Whether only compactions that a caller asks for get a filter.
    only_manual: bool,
    shown: Arc<Mutex<Vec<(String, String)>>>,
    parts: Arc<Mutex<Vec<Part>>>,
}

/// What a factory was asked for.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    keyspace: String,
    level: u32,
    is_full: bool,
    is_manual: bool,
}

impl Noting {
    pub(super) fn by(
        rule: impl Fn(&[u8], &[u8]) -> Verdict + Send + Sync + 'static,
    ) -> Arc<Noting> {
        let (shown, parts) = (Arc::default(), Arc::default());
        Arc::new(Noting { rule: Arc::new(rule), only_manual: false, shown, parts })
    }

    pub(super) fn only_manual(&self) -> Arc<Noting> {
        Arc::new(Noting { only_manual: true, ..self.clone() })
    }

    /// Returns what was shown since the last call, by key.
    pub(super) fn take_shown(&self) -> Vec<(String, String)> {
        let mut shown = std::mem::take(&mut *self.shown.lock().unwrap());
        // Parts of a compaction come in any order.
        shown.sort();
        shown
    }

    fn take_keys(&self) -> Vec<String> {
        self.take_shown().into_iter().map(|(key, _)| key).collect()
    }

    fn take_parts(&self) -> Vec<Part> {
        std::mem::take(&mut *self.parts.lock().unwrap())
    }
}

impl fmt::Debug for Noting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Noting")
    }
}

impl CompactionFilterFactory for Noting {
    fn filter(&self, context: &FilterContext<'_>) -> Option<Box<dyn CompactionFilter>> {
        let &FilterContext { keyspace, level, is_full, is_manual, .. } = context;
        let part = Part { keyspace: keyspace.to_owned(), level, is_full, is_manual };
        self.parts.lock().unwrap().push(part);
        (is_manual || !self.only_manual).then(|| Box::new(self.clone()) as _)
    }
}

impl CompactionFilter for Noting {
    fn filter(&mut self, _level: u32, key: &[u8], value: &[u8]) -> Verdict {
        let shown = [key, value].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        self.shown.lock().unwrap().push(shown.into());
        (self.rule)(key, value)
    }
}

/// Removes values that begin with `remove`, and changes those that begin with `change`.
fn by_value(_: &[u8], value: &[u8]) -> Verdict {
    match value {
        _ if value.starts_with(b"remove") => Verdict::Remove,
        _ if value.starts_with(b"change") => Verdict::Change(b"changed".to_vec()),
        _ => Verdict::Keep,
    }
}

fn keep(_: &[u8], _: &[u8]) -> Verdict {
    Verdict::Keep
}

fn filtered(fs: &MemFs, filter: &Arc<Noting>) -> Options {
    Options {
        compaction_filters: vec![("default".to_owned(), Arc::clone(filter) as _)],
        ..options(fs)
    }
}

fn open(filter: &Arc<Noting>) -> Db {
    Db::open(PATH, filtered(&MemFs::new(), filter)).unwrap()
}

fn owned<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec()
}

#[test]
fn a_compaction_keeps_removes_and_changes_what_the_filter_says() {
    let (fs, filter) = (MemFs::new(), Noting::by(by_value));
    let db = Db::open(PATH, filtered(&fs, &filter)).unwrap();
    for (key, value) in [("a", "keep"), ("b", "remove"), ("c", "change"), ("d", "keep")] {
        db.put(key, value).unwrap();
    }
    db.delete("d").unwrap();
    db.flush().unwrap();
    assert_eq!(filter.take_shown(), [], "a flush shows nothing");
    assert_eq!(text(&db, "b").as_deref(), Some("remove"));
    assert_eq!(filter.take_shown(), [], "a read shows nothing");
    let before = db.snapshot().sequence_number();
    db.compact(..).unwrap();
    assert_eq!(filter.take_shown(), owned([("a", "keep"), ("b", "remove"), ("c", "change")]));
    let part = Part { keyspace: "default".to_owned(), level: 6, is_full: true, is_manual: true };
    assert_eq!(filter.take_parts(), [part]);
    assert_eq!(db.snapshot().sequence_number(), before, "a verdict is no write");
    let check = |db: &Db| {
        assert_eq!(text(db, "a").as_deref(), Some("keep"));
        assert_eq!(text(db, "b"), None);
        assert_eq!(text(db, "c").as_deref(), Some("changed"));
        assert_eq!(db.iter().unwrap().map(Result::unwrap).count(), 2);
        db.verify().unwrap();
    };
    check(&db);
    drop(db);
    check(&reopen(&fs).unwrap());
}

#[test]
fn merges_are_shown_folded_and_once() {
    let filter = Noting::by(|_, value| match value {
        [20, ..] => Verdict::Change(number(100).to_vec()),
        _ => Verdict::Remove,
    });
    let db = open(&filter);
    for _ in 0..4 {
        for _ in 0..5 {
            db.merge("a", number(1)).unwrap();
        }
        db.flush().unwrap();
    }
    db.compact(..).unwrap();
    assert_eq!(filter.take_keys(), ["a"]);
    assert_eq!(db.get("a").unwrap().unwrap(), number(100));
    db.merge("a", number(1)).unwrap();
    assert_eq!(db.get("a").unwrap().unwrap(), number(101));
    db.compact(..).unwrap();
    assert_eq!(db.get("a").unwrap(), None);
}

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
            while !is_over.load(Ordering::Acquire) {
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

#[test]
fn the_change_feed_does_not_tell_a_verdict() {
    let filter = Noting::by(by_value);
    let keeping = Options { wal_retention_bytes: 1 << 20, ..filtered(&MemFs::new(), &filter) };
    let db = Db::open(PATH, keeping).unwrap();
    db.put("a", "remove").unwrap();
    db.compact(..).unwrap();
    db.sync().unwrap();
    assert_eq!(text(&db, "a"), None);
    let updates = db.updates_since(&Position::BEGINNING).unwrap();
    assert_eq!(updates.map(Result::unwrap).count(), 1, "the put alone");
}

#[test]
fn a_kept_value_in_a_segment_is_not_rewritten_and_a_removed_one_is_dead() {
    let filter = Noting::by(by_value);
    let mut separating = filtered(&MemFs::new(), &filter);
    separating.default.value_separation_min = Some(100);
    separating.default.compression = Some(Compression::None);
    let db = Db::open(PATH, separating).unwrap();
    let long = |what: &str| format!("{what}{}", ".".repeat(1000));
    for (key, what) in [("a", "keep"), ("b", "remove"), ("c", "change")] {
        db.put(key, long(what)).unwrap();
    }
    db.flush().unwrap();
    let before = db.stats();
    assert!(before.segments.live_bytes > 3000, "{:?}", before.segments);
    db.compact(..).unwrap();
    let after = db.stats();
    let shown = owned([("a", &long("keep")), ("b", &long("remove")), ("c", &long("change"))]);
    assert_eq!(filter.take_shown(), shown);
    assert_eq!(after.bytes_segments, before.bytes_segments, "no value is written again");
    let died = before.segments.live_bytes - after.segments.live_bytes;
    assert!((2000..2200).contains(&died), "{died}");
    assert_eq!(text(&db, "a"), Some(long("keep")));
    assert_eq!(text(&db, "b"), None);
    assert_eq!(text(&db, "c").as_deref(), Some("changed"));
    db.verify().unwrap();
}

#[test]
fn a_changed_value_that_is_long_goes_to_a_segment() {
    let filter = Noting::by(|_, value| Verdict::Change(value.repeat(2)));
    let mut separating = filtered(&MemFs::new(), &filter);
    separating.default.value_separation_min = Some(100);
    let db = Db::open(PATH, separating).unwrap();
    db.put("a", "x".repeat(80)).unwrap();
    db.put("b", "y".repeat(150)).unwrap();
    db.compact(..).unwrap();
    let segments = db.stats().segments;
    assert!(segments.live_bytes >= 160 + 300, "{segments:?}");
    assert_eq!(text(&db, "a"), Some("x".repeat(160)));
    assert_eq!(text(&db, "b"), Some("y".repeat(300)));
    db.verify().unwrap();
}

#[test]
fn values_that_expire_are_shown_without_their_end_and_keep_it() {
    let filter = Noting::by(by_value);
    let db = open(&filter);
    let hour = Expiry::after_last_write(Duration::from_secs(3600));
    let expiring =
        KeyspaceOptions { expiry: Some(hour), ..KeyspaceOptions::with_operator("stringappend:,") };
    let sessions = db.create_keyspace("sessions", expiring).unwrap();
    sessions.set_compaction_filter(Some(Arc::clone(&filter) as _));
    sessions.put("a", "change").unwrap();
    sessions.merge("b", "keep").unwrap();
    sessions.merge("b", "2").unwrap();
    sessions.put("c", "remove").unwrap();
    let end = sessions.expires_at("a").unwrap();
    assert!(end.is_some());
    sessions.compact(..).unwrap();
    assert_eq!(filter.take_shown(), owned([("a", "change"), ("b", "keep,2"), ("c", "remove")]));
    assert_eq!(text(&sessions, "a").as_deref(), Some("changed"));
    assert_eq!(sessions.expires_at("a").unwrap(), end);
    assert_eq!(text(&sessions, "b").as_deref(), Some("keep,2"));
    assert_eq!(text(&sessions, "c"), None);
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
fn a_keyspace_that_is_created_later_gets_its_filter() {
    let (fs, filter) = (MemFs::new(), Noting::by(by_value));
    let later = vec![("later".to_owned(), Arc::clone(&filter) as _)];
    let of_later = Options { compaction_filters: later, ..options(&fs) };
    let db = Db::open(PATH, of_later.clone()).unwrap();
    let fill = |db: &Db| {
        for name in ["default", "later", "other"] {
            let keyspace = db.keyspace_or_create(name, KeyspaceOptions::default()).unwrap();
            keyspace.put("a", "remove").unwrap();
        }
        db.compact(..).unwrap();
        let left = |name: &str| text(&db.keyspace(name).unwrap(), "a");
        assert!(left("default").is_some() && left("other").is_some());
        assert_eq!(left("later"), None);
        assert!(filter.take_parts().iter().all(|part| part.keyspace == "later"));
    };
    fill(&db);
    drop(db);
    fill(&Db::open(PATH, of_later).unwrap());
}

#[test]
fn a_set_filter_holds_for_all_handles_until_it_is_removed() {
    let (before, after) = (Noting::by(keep), Noting::by(keep));
    let db = open(&before);
    db.put("a", "1").unwrap();
    let keyspace = db.keyspace("default").unwrap();
    keyspace.set_compaction_filter(Some(Arc::clone(&after) as _));
    db.compact(..).unwrap();
    assert_eq!((before.take_keys(), after.take_keys()), (vec![], vec!["a".to_owned()]));
    db.default_keyspace().set_compaction_filter(None);
    keyspace.compact(..).unwrap();
    assert_eq!((before.take_keys(), after.take_keys()), (vec![], vec![]));
}

#[test]
fn two_filters_of_one_keyspace_are_refused() {
    let filter = Noting::by(keep);
    let mut twice = filtered(&MemFs::new(), &filter);
    twice.compaction_filters.extend(twice.compaction_filters.clone());
    let error = assert_error(Db::open(PATH, twice), ErrorKind::InvalidArgument, None);
    assert!(error.to_string().contains("two filters of keyspace 'default'"), "{error}");
}

/// Tables that compactions moved, and tables of the last level over which nothing lies.
#[test]
fn a_manual_compaction_shows_each_value_once_wherever_it_lies() {
    for preset in PRESETS {
        let filter = Noting::by(keep);
        let db = Db::open(PATH, sliced(&MemFs::new(), preset)).unwrap();
        let keys: Vec<String> = (0..400).map(|n| format!("k{n:03}")).collect();
        for part in keys.chunks(50) {
            part.iter().for_each(|key| db.put(key, "v".repeat(20)).unwrap());
            db.flush().unwrap();
            while db.step_background().unwrap() {}
        }
        // A few of the tables are covered, the others are not.
        keys.iter().step_by(97).for_each(|key| db.put(key, "w").unwrap());
        let keyspace = db.default_keyspace();
        keyspace.set_compaction_filter(Some(Arc::clone(&filter) as _));
        for round in 0..3 {
            if round == 1 {
                keyspace.compact(..).unwrap()
            } else {
                db.compact(..).unwrap()
            }
            assert_eq!(filter.take_keys(), keys, "{preset}, round {round}");
            assert!(filter.take_parts().iter().all(|part| part.is_manual && part.is_full));
        }
        keyspace.compact("k100".."k110").unwrap();
        let seen = filter.take_keys();
        assert!(keys[100..110].iter().all(|key| seen.contains(key)), "{preset}: {seen:?}");
        assert!(seen.len() < 200, "{preset}: a range is not the whole: {}", seen.len());
        db.verify().unwrap();
    }
}

#[test]
fn a_background_compaction_shows_what_it_rewrites() {
    let filter = Noting::by(by_value);
    let fs = MemFs::new();
    let filters = filtered(&fs, &filter).compaction_filters;
    let own = Options { compaction_filters: filters, ..sliced(&fs, PRESETS[0]) };
    let db = Db::open(PATH, own).unwrap();
    for round in 0..4 {
        for n in 0..100 {
            let what = if n % 2 == 0 { "keep" } else { "remove" };
            db.put(format!("k{n:02}"), format!("{what} {round}")).unwrap();
        }
        db.flush().unwrap();
        while db.step_background().unwrap() {}
    }
    assert!(filter.take_parts().iter().any(|part| !part.is_manual));
    assert!(filter.take_shown().iter().any(|(_, value)| value.starts_with("remove")));
    for n in 0..100 {
        let value = text(&db, &format!("k{n:02}"));
        match n % 2 {
            0 => assert_eq!(value.as_deref(), Some("keep 3")),
            _ => assert!(value.is_none_or(|value| value == "remove 3"), "an older one came back"),
        }
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
