//! Tests calls of the database by the code that it calls itself.
//!
//! An operator or comparator may run under the lock of a writer, of a flush or of a change of the
//! tree. A call that would wait for that lock, or for the work that called it, once waited for
//! ever.

use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering as Order};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foldb::custom::{Comparator, FilterPolicy};
use foldb::env::MemFs;
use foldb::events::{Event, EventListener};
use foldb::operators::{Full, MergeOperator, Partial};
use foldb::{
    Db, ErrorKind, Isolation, KeyspaceOptions, Options, Result, TransactionOptions, WriteBatch,
};
use tempfile::TempDir;

use crate::support::{PATH, options};

/// Longer than any machine needs for what these tests wait for.
const ENOUGH: Duration = Duration::from_secs(60);
/// Calls that the code makes in each phase of a test.
const CALLS: u32 = 8;

/// A call of the database. The number is new with each call.
type Call = fn(&Db, u32) -> Result<()>;

const CALLS_OF_THE_DATABASE: [(&str, Call); 27] = [
    ("get", |db, _| db.get("other").map(drop)),
    ("multi_get", |db, _| db.multi_get(["other", "another"]).map(drop)),
    ("iter", |db, _| db.iter()?.try_for_each(|entry| entry.map(drop))),
    ("snapshot", |db, _| db.snapshot().get("other").map(drop)),
    ("iter of a snapshot", |db, _| db.snapshot().iter().map(drop)),
    ("explain", |db, _| db.explain("other").map(drop)),
    ("stats", |db, _| {
        let _both = (db.stats(), db.memory());
        Ok(())
    }),
    ("put", |db, n| db.put(format!("put {n}"), "")),
    ("write", |db, n| {
        let mut batch = WriteBatch::new();
        batch.put(format!("put {n}"), "").delete("other");
        db.write(&batch)
    }),
    ("merge", |db, _| db.merge("other", "x")),
    ("delete_range", |db, _| db.delete_range("other".."others")),
    ("sync", |db, _| db.sync()),
    ("flush", |db, _| db.flush()),
    ("compact", |db, _| db.compact(..)),
    ("wait", |db, _| db.wait_for_background()),
    ("collect", |db, _| db.collect_garbage().map(drop)),
    ("create", |db, n| db.create_keyspace(&format!("k{n}"), KeyspaceOptions::default()).map(drop)),
    ("drop", |db, _| match db.drop_keyspace("to drop") {
        Err(error) if error.kind() == ErrorKind::KeyspaceMissing => Ok(()),
        dropped => dropped,
    }),
    ("operator", |db, n| db.operator(&format!("stringappend:{n}")).map(drop)),
    ("transact", |db, _| {
        db.transact(|transaction| {
            transaction.get("other")?;
            transaction.put("other", "y")
        })
    }),
    ("begin", |db, _| {
        let isolation = Isolation::Snapshot;
        db.with(&TransactionOptions { isolation, ..Default::default() }).begin()?.commit()
    }),
    ("update", |db, _| db.update("other", |_| Some(b"z".to_vec())).map(drop)),
    ("take_first", |db, _| db.take_first("put ".."put!").map(drop)),
    ("put_if_absent", |db, n| db.put_if_absent(format!("put {n}"), "").map(drop)),
    ("approximate_count", |db, _| db.approximate_count(..).map(drop)),
    ("verify", |db, _| db.verify().map(drop)),
    ("step", |db, _| db.step_background().map(drop)),
];

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Calls the database whenever the database calls it.
struct Meddler {
    call: Call,
    db: Mutex<Option<Db>>,
    left: AtomicU32,
    number: AtomicU32,
    answers: Mutex<BTreeSet<String>>,
}

impl std::fmt::Debug for Meddler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meddler")
    }
}

impl Meddler {
    fn meddle(&self) {
        if INSIDE.get() {
            return;
        }
        let less = |left: u32| left.checked_sub(1);
        if self.left.fetch_update(Order::SeqCst, Order::SeqCst, less).is_err() {
            return;
        }
        let Some(db) = self.db.lock().unwrap().clone() else { return };
        INSIDE.set(true);
        let answer = (self.call)(&db, self.number.fetch_add(1, Order::SeqCst));
        drop(db);
        INSIDE.set(false);
        let answer = answer.map_or_else(|error| format!("{:?}", error.kind()), |()| "Ok".into());
        self.answers.lock().unwrap().insert(answer);
    }
}

impl MergeOperator for Meddler {
    fn name(&self) -> &str {
        "test.meddler"
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, all: &[&[u8]], out: &mut Vec<u8>) -> Full {
        self.meddle();
        out.extend([base.unwrap_or_default(), &all.concat()].concat());
        Full::Value
    }

    fn partial(&self, _: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        self.meddle();
        out.extend(operands.concat());
        Partial::Operand
    }

    fn fold_word(&self, _: [u8; 8], _: [u8; 8]) -> Option<[u8; 8]> {
        self.meddle();
        None
    }
}

/// An order in which capital and small letters are the same key.
#[derive(Debug)]
struct Letters(Arc<Meddler>);

impl Comparator for Letters {
    fn name(&self) -> &str {
        "test.letters"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.0.meddle();
        a.to_ascii_lowercase().cmp(&b.to_ascii_lowercase())
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        false
    }
}

#[derive(Debug)]
struct AdmitsAll(Arc<Meddler>);

impl FilterPolicy for AdmitsAll {
    fn name(&self) -> &str {
        "test.admits_all"
    }

    fn create_filter(&self, _: &[&[u8]], out: &mut Vec<u8>) {
        self.0.meddle();
        out.push(1);
    }

    fn may_contain(&self, _: &[u8], _: &[u8]) -> bool {
        self.0.meddle();
        true
    }
}

impl EventListener for Meddler {
    fn on_event(&self, _: &Event) {
        self.meddle();
    }
}

/// Writes, flushes, compacts and reads while the code of a kind makes a call all the time. Returns
/// the answers that it got.
fn live(kind: &str, call: Call, own: Options, path: &std::path::Path) -> BTreeSet<String> {
    let meddler = Arc::new(Meddler {
        call,
        db: Mutex::default(),
        left: AtomicU32::new(0),
        number: AtomicU32::new(0),
        answers: Mutex::default(),
    });
    let mut own = Options {
        write_buffer_size: 64 << 10,
        default: KeyspaceOptions {
            value_separation_min: Some(600),
            ..KeyspaceOptions::with_operator("stringappend")
        },
        ..own
    };
    match kind {
        "operator" => {
            own.operators.push(Arc::clone(&meddler) as _);
            own.default.merge_operator = Some("test.meddler".into());
        }
        "comparator" => own.default.comparator = Some(Arc::new(Letters(Arc::clone(&meddler)))),
        "filter policy" => {
            own.default.filter_policy = Some(Arc::new(AdmitsAll(Arc::clone(&meddler))))
        }
        _ => own.listeners.push(Arc::clone(&meddler) as _),
    }
    let db = Db::open(path, own).unwrap();
    db.create_keyspace("to drop", KeyspaceOptions::default()).unwrap();
    *meddler.db.lock().unwrap() = Some(db.clone());
    let again = || meddler.left.store(CALLS, Order::SeqCst);
    for round in 0..2 {
        again();
        for n in 0..200 {
            let key = format!("key {}", n % 4);
            db.merge(&key, 1u64.to_le_bytes()).unwrap();
            db.put(format!("value {n}"), [round; 700]).unwrap();
        }
        again();
        db.flush().unwrap();
        again();
        assert!(db.get("key 1").unwrap().is_some());
        assert!(db.iter().unwrap().count() >= 204);
        again();
        db.delete_range("value 1".."value 2").unwrap();
        db.transact(|transaction| {
            transaction.get("key 3")?;
            transaction.put("key 4", "")
        })
        .unwrap_or_else(|error| assert_eq!(error.kind(), ErrorKind::Conflict));
    }
    again();
    db.compact(..).unwrap();
    again();
    db.collect_garbage().unwrap();
    db.wait_for_background().unwrap();
    meddler.left.store(0, Order::SeqCst);
    *meddler.db.lock().unwrap() = None;
    let sum = db.get("key 1").unwrap().unwrap();
    let whole = if kind == "operator" { 100 * 8 } else { 100 * 8 + 99 };
    assert_eq!(sum.len(), whole, "no merge is lost, and none counts twice");
    db.verify().unwrap();
    db.close().unwrap();
    std::mem::take(&mut *meddler.answers.lock().unwrap())
}

/// Makes every call inside the code of a kind. Checks that each is answered, and that these are
/// refused at times.
fn answers_all(kind: &'static str, expected: &[&str]) {
    let (starts, started) = channel();
    let all = std::thread::spawn(move || {
        let mut refused = BTreeSet::new();
        for (name, call) in CALLS_OF_THE_DATABASE {
            starts.send(name).unwrap();
            let directory = TempDir::new().unwrap();
            let own = Options { create_if_missing: true, ..Options::default() };
            let mut answers = live(kind, call, own, directory.path());
            starts.send(name).unwrap();
            // Without workers, callers do all the work.
            answers.extend(live(kind, call, options(&MemFs::new()), PATH.as_ref()));
            for answer in &answers {
                let is_known = ["Ok", "Reentrant", "Conflict"].contains(&&answer[..]);
                assert!(is_known, "{name} in a {kind}: {answer}");
            }
            if answers.contains("Reentrant") {
                refused.insert(name);
            }
        }
        refused
    });
    let mut last = "nothing";
    loop {
        match started.recv_timeout(ENOUGH) {
            Ok(next) => last = next,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => panic!("{last} in a {kind} waits for ever"),
        }
    }
    let refused = all.join().unwrap();
    assert!(expected.iter().all(|call| refused.contains(call)), "{kind}: {refused:?}");
    for never in ["get", "stats"] {
        assert!(!refused.contains(never), "{never} in a {kind}");
    }
}

#[test]
fn a_call_inside_an_operator_is_answered_and_never_waits_for_that_operator() {
    answers_all("operator", &["snapshot", "iter", "put", "flush", "create", "transact"]);
}

#[test]
fn a_call_inside_a_comparator_is_answered_and_never_waits_for_that_comparator() {
    answers_all("comparator", &["put", "flush", "compact", "create"]);
}

#[test]
fn a_call_inside_a_filter_policy_is_answered_and_never_waits_for_that_policy() {
    answers_all("filter policy", &["flush", "compact"]);
}

#[test]
fn a_call_inside_a_listener_is_answered_and_never_waits_for_that_listener() {
    answers_all("listener", &["flush", "compact"]);
}
