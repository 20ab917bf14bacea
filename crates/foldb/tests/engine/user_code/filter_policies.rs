//! Tests filter policies of the caller: where they apply, and what their failures cost.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use foldb::custom::FilterPolicy;
use foldb::env::MemFs;
use foldb::events::{Event, EventListener};
use foldb::repair::verify;
use foldb::{Db, ErrorKind, KeyspaceOptions, Options};

use crate::support::{PATH, assert_error, options};

/// What the policy does when it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Right,
    PanicsMaking,
    PanicsAnswering,
    /// It rejects every key.
    Rejecting,
}

/// Remembers the number behind the last `/` of each key.
#[derive(Debug)]
struct ByNumber {
    name: &'static str,
    mood: Mood,
    made: AtomicU64,
    asked: AtomicU64,
}

impl ByNumber {
    fn new(name: &'static str, mood: Mood) -> Arc<ByNumber> {
        let (made, asked) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(ByNumber { name, mood, made, asked })
    }

    fn counts(&self) -> (u64, u64) {
        (self.made.load(Relaxed), self.asked.load(Relaxed))
    }
}

fn number_of(key: &[u8]) -> [u8; 4] {
    let digits = key.rsplit(|&byte| byte == b'/').next().unwrap();
    std::str::from_utf8(digits).unwrap().parse::<u32>().unwrap_or(u32::MAX).to_le_bytes()
}

impl FilterPolicy for ByNumber {
    fn name(&self) -> &str {
        self.name
    }

    fn create_filter(&self, keys: &[&[u8]], out: &mut Vec<u8>) {
        assert!(self.mood != Mood::PanicsMaking, "no filter");
        self.made.fetch_add(1, Relaxed);
        out.extend(keys.iter().flat_map(|key| number_of(key)));
    }

    fn may_contain(&self, key: &[u8], filter: &[u8]) -> bool {
        assert!(self.mood != Mood::PanicsAnswering, "no answer");
        self.asked.fetch_add(1, Relaxed);
        let own = number_of(key);
        self.mood != Mood::Rejecting && filter.chunks(4).any(|number| number == own)
    }
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

fn with(fs: &MemFs, policy: &Arc<ByNumber>) -> Options {
    Options {
        default: KeyspaceOptions {
            filter_policy: Some(Arc::clone(policy) as _),
            ..options(fs).default
        },
        ..options(fs)
    }
}

fn key(n: u32) -> String {
    format!("user/{:03}/{n}", n % 7)
}

/// Writes even numbers into two runs, and reads all.
fn fill(db: &Db) {
    for n in (0..2000).step_by(2) {
        db.put(key(n), n.to_string()).unwrap();
        if n == 1000 {
            db.flush().unwrap();
        }
    }
    db.flush().unwrap();
}

#[track_caller]
fn check(db: &Db) {
    for n in 0..2000 {
        let expected = (n % 2 == 0).then(|| n.to_string());
        assert_eq!(db.get(key(n)).unwrap().as_deref(), expected.as_deref().map(str::as_bytes));
    }
    let keys: Vec<String> = (0..2000).map(key).collect();
    for (n, found) in db.multi_get(&keys).unwrap().into_iter().enumerate() {
        assert_eq!(found.unwrap().is_some(), n % 2 == 0, "{n}");
    }
}

#[test]
fn reads_ask_the_policy_and_skip_tables_that_it_rules_out() {
    let fs = MemFs::new();
    let policy = ByNumber::new("test.number", Mood::Right);
    let db = Db::open(PATH, with(&fs, &policy)).unwrap();
    fill(&db);
    check(&db);
    let (made, asked) = policy.counts();
    assert!(made >= 2 && asked >= 2000, "made {made}, asked {asked}");
    // It is exact: each of 1000 missing keys is ruled out at least once, by get and by multi_get.
    assert!(db.stats().filter_negatives >= 2000);
    db.compact(..).unwrap();
    check(&db);
    db.verify().unwrap();
    let named = db.default_keyspace().options().filter_policy.unwrap();
    assert_eq!(named.name(), "test.number");
}

#[test]
fn a_database_is_read_by_another_policy_or_none() {
    let fs = MemFs::new();
    let first = ByNumber::new("test.number", Mood::Right);
    let db = Db::open(PATH, with(&fs, &first)).unwrap();
    fill(&db);
    drop(db);
    let second = ByNumber::new("test.number2", Mood::Rejecting);
    let db = Db::open(PATH, with(&fs, &second)).unwrap();
    check(&db);
    assert_eq!(second.counts(), (0, 0), "the tables have filters of another name");
    drop(db);
    let db = Db::open(PATH, options(&fs)).unwrap();
    check(&db);
    db.compact(..).unwrap();
    check(&db);
    drop(db);
    // The compaction made built-in filters, which need no policy.
    let db = Db::open(PATH, with(&fs, &second)).unwrap();
    check(&db);
    assert_eq!(second.counts(), (0, 0));
}

#[test]
fn a_keyspace_keeps_the_name_of_its_policy() {
    let fs = MemFs::new();
    let own = ByNumber::new("test.own", Mood::Right);
    let of_database = ByNumber::new("test.database", Mood::Right);
    let db = Db::open(PATH, with(&fs, &of_database)).unwrap();
    let kept =
        KeyspaceOptions { filter_policy: Some(own.clone() as _), ..KeyspaceOptions::default() };
    let keyspace = db.create_keyspace("own", kept).unwrap();
    db.create_keyspace("inherits", KeyspaceOptions::default()).unwrap();
    keyspace.put("a/1", "one").unwrap();
    db.flush().unwrap();
    assert_eq!((own.counts().0, of_database.counts().0), (1, 0));
    drop((keyspace, db));
    // Twice: the second open reads the names from the manifest that the first wrote.
    for _ in 0..2 {
        let unregistered = Db::open(PATH, options(&fs)).unwrap();
        let keyspace = unregistered.keyspace("own").unwrap();
        assert!(keyspace.options().filter_policy.is_none());
        assert_eq!(keyspace.get("a/1").unwrap().unwrap(), "one".as_bytes());
    }
    let asked = own.counts().1;
    let registered =
        Options { filter_policies: vec![own.clone(), of_database.clone()], ..options(&fs) };
    let db = Db::open(PATH, registered).unwrap();
    let keyspace = db.keyspace("own").unwrap();
    assert_eq!(keyspace.get("a/1").unwrap().unwrap(), "one".as_bytes());
    assert_eq!(own.counts().1, asked + 1);
    let explained = keyspace.explain_options();
    let option = explained.iter().find(|option| option.name == "filter_policy").unwrap();
    assert_eq!(
        (option.value.to_string(), option.source.to_string()),
        ("test.own".to_owned(), "stored".to_owned())
    );
    let inherits = db.keyspace("inherits").unwrap().options().filter_policy.unwrap();
    assert_eq!(inherits.name(), "test.database");
    assert!(db.default_keyspace().options().filter_policy.is_none());
}

#[test]
fn a_policy_that_panics_costs_filters_and_is_reported_once() {
    for mood in [Mood::PanicsMaking, Mood::PanicsAnswering] {
        let (fs, errors) = (MemFs::new(), Arc::new(Errors::default()));
        let policy = ByNumber::new("test.number", mood);
        let listening = Options { listeners: vec![errors.clone() as _], ..with(&fs, &policy) };
        let db = Db::open(PATH, listening).unwrap();
        fill(&db);
        check(&db);
        db.compact(..).unwrap();
        check(&db);
        db.put("x/1", "").unwrap();
        db.flush().unwrap();
        while db.step_background().unwrap() {}
        let told = errors.0.lock().unwrap();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("keyspace 'default': filter policy 'test.number' panicked: no"));
    }
}

/// The documentation of the policy says what such a policy costs.
#[test]
fn a_policy_that_rejects_its_keys_hides_them_from_gets_but_loses_none() {
    let fs = MemFs::new();
    let wrong = ByNumber::new("test.number", Mood::Rejecting);
    let db = Db::open(PATH, with(&fs, &wrong)).unwrap();
    fill(&db);
    assert_eq!(db.get(key(2)).unwrap(), None, "the filter hides the key");
    assert_eq!(db.iter().unwrap().count(), 1000);
    let error = assert_error(db.verify(), ErrorKind::InvalidArgument, None);
    assert!(error.to_string().contains("'test.number' rejects key"), "{error}");
    db.compact(..).unwrap();
    assert_eq!(db.iter().unwrap().count(), 1000, "a compaction asks no filter");
    drop(db);
    check(&Db::open(PATH, options(&fs)).unwrap());
    let report = verify(PATH, options(&fs)).unwrap();
    assert!(report.is_sound(), "without the policy nothing is wrong");
}

#[test]
fn a_policy_without_a_valid_name_is_refused() {
    let fs = MemFs::new();
    let nameless = ByNumber::new("", Mood::Right);
    assert_error(Db::open(PATH, with(&fs, &nameless)), ErrorKind::InvalidArgument, None);
    let registered = Options { filter_policies: vec![nameless], ..options(&fs) };
    assert_error(Db::open(PATH, registered), ErrorKind::InvalidArgument, None);
}
