//! Tests calls from inside the caller's own code, and operators that panic or have invalid names.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use foldb::custom::Comparator;
use foldb::env::MemFs;
use foldb::events::{Event, EventListener};
use foldb::operators::{Full, MergeOperator};
use foldb::{Db, ErrorKind, KeyspaceOptions, Options, WriteOptions};
use tempfile::TempDir;

use crate::support::{PATH, assert_error, options};

/// Longer than any machine needs for what these tests wait for.
const ENOUGH: Duration = Duration::from_secs(60);

/// Hands the database to a closure at each event of a kind.
struct OnEvent<F> {
    db: Mutex<Option<Db>>,
    act: F,
    done: Mutex<Sender<()>>,
}

impl<F> std::fmt::Debug for OnEvent<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnEvent")
    }
}

impl<F: Fn(Db) -> Option<Db> + Send + Sync> EventListener for OnEvent<F> {
    fn on_event(&self, event: &Event) {
        if !matches!(event, Event::Flush { .. } | Event::Compaction { .. }) {
            return;
        }
        let Some(db) = self.db.lock().unwrap().take() else { return };
        *self.db.lock().unwrap() = (self.act)(db);
        self.done.lock().unwrap().send(()).unwrap();
    }
}

/// Makes a listener that holds the database, and a channel that reports each run.
fn listening<F>(act: F) -> (Arc<OnEvent<F>>, Receiver<()>)
where
    F: Fn(Db) -> Option<Db> + Send + Sync,
{
    let (done, ran) = channel();
    (Arc::new(OnEvent { db: Mutex::default(), act, done: Mutex::new(done) }), ran)
}

/// Holds the last handle of a database and drops it inside a callback on a worker.
#[derive(Debug)]
struct LettingGo {
    db: Mutex<Option<Db>>,
    entered: AtomicBool,
    /// Reports that no other handle is left.
    is_last: Mutex<Receiver<()>>,
}

impl LettingGo {
    fn new() -> (Arc<LettingGo>, Sender<()>) {
        let (say, is_last) = channel();
        let (db, entered, is_last) =
            (Mutex::default(), AtomicBool::new(false), Mutex::new(is_last));
        (Arc::new(LettingGo { db, entered, is_last }), say)
    }

    fn let_go_on_a_worker(&self) {
        if std::thread::current().name().is_some_and(|name| name.starts_with("foldb-"))
            && let Some(db) = self.db.lock().unwrap().take()
        {
            self.entered.store(true, Ordering::SeqCst);
            self.is_last.lock().unwrap().recv_timeout(ENOUGH).expect("the other handle is dropped");
            drop(db);
        }
    }
}

impl EventListener for LettingGo {
    fn on_event(&self, _: &Event) {
        self.let_go_on_a_worker();
    }
}

impl MergeOperator for LettingGo {
    fn name(&self) -> &str {
        "test.letting_go"
    }

    fn full(&self, _: &[u8], _: Option<&[u8]>, _: &[&[u8]], _: &mut Vec<u8>) -> Full {
        self.let_go_on_a_worker();
        Full::Operand(0)
    }
}

impl Comparator for LettingGo {
    fn name(&self) -> &str {
        "test.letting_go"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        self.let_go_on_a_worker();
        b.cmp(a)
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

/// The worker that ran the callback once waited in the close for its own step to end, for ever.
#[test]
fn the_last_handle_may_be_dropped_by_a_callback() {
    for callback in ["listener", "operator", "comparator"] {
        let directory = TempDir::new().unwrap();
        let own = |who: Arc<LettingGo>| {
            let own = Options {
                create_if_missing: true,
                write_buffer_size: 64 << 10,
                operators: vec![who.clone()],
                default: KeyspaceOptions::with_operator("test.letting_go"),
                ..Options::default()
            };
            match callback {
                "listener" => Options {
                    listeners: vec![who],
                    operators: vec![],
                    default: KeyspaceOptions::default(),
                    ..own
                },
                "operator" => own,
                _ => Options {
                    default: KeyspaceOptions {
                        comparator: Some(who),
                        ..KeyspaceOptions::default()
                    },
                    operators: vec![],
                    ..own
                },
            }
        };
        let (who, say) = LettingGo::new();
        let db = Db::open(directory.path(), own(Arc::clone(&who))).unwrap();
        if callback == "operator" {
            db.merge("key", "operand").unwrap();
            db.merge("key", "another, for one alone is not folded").unwrap();
        }
        *who.db.lock().unwrap() = Some(db.clone());
        let mut written = 0u32;
        while !who.entered.load(Ordering::SeqCst) {
            let deadline = Some(Duration::from_millis(1));
            let patient = WriteOptions { deadline, ..WriteOptions::default() };
            if db.with(&patient).put(written.to_be_bytes(), [7; 100]).is_ok() {
                written += 1;
            }
        }
        drop(db);
        say.send(()).unwrap();
        let start = Instant::now();
        let db = loop {
            match Db::open(directory.path(), own(LettingGo::new().0)) {
                Ok(db) => break db,
                Err(error) => assert_eq!(error.kind(), ErrorKind::Locked, "{error}"),
            }
            assert!(start.elapsed() < ENOUGH, "the database was not closed in time");
            std::thread::sleep(Duration::from_millis(2));
        };
        let keys = db.iter().unwrap().count();
        assert_eq!(keys, written as usize + usize::from(callback == "operator"), "{callback}");
    }
}

/// What a listener may do on a worker and, without workers, on the caller's thread.
fn calls_from_a_listener(own: Options, path: &std::path::Path) {
    let (listener, ran) = listening(|db: Db| {
        for waits in [
            db.flush(),
            db.compact(..),
            db.wait_for_background(),
            db.close(),
            db.finalize().map(drop),
            db.collect_garbage().map(drop),
        ] {
            let error = assert_error(waits, ErrorKind::Reentrant, None).to_string();
            assert!(error.contains("make the call on another thread"), "{error}");
        }
        assert_eq!(db.get("a").unwrap().unwrap(), b"1");
        db.put("from the listener", "2").unwrap();
        assert_eq!(db.iter().unwrap().count(), 2);
        assert!(db.snapshot().get("a").unwrap().is_some());
        // Writes succeed until the buffer is full. Then they fail instead of waiting for this very
        // thread.
        let refused = (0..100_000u32).find_map(|n| db.put(n.to_be_bytes(), [7; 1000]).err());
        assert_eq!(refused.expect("there is no room for 100 MB").kind(), ErrorKind::Reentrant);
        Some(db)
    });
    let own = Options {
        write_buffer_size: 64 << 10,
        max_write_buffers: 2,
        listeners: vec![Arc::clone(&listener) as _],
        ..own
    };
    let db = Db::open(path, own).unwrap();
    db.put("a", "1").unwrap();
    *listener.db.lock().unwrap() = Some(db.clone());
    db.flush().unwrap();
    ran.recv_timeout(ENOUGH).expect("the listener returns");
    let held = listener.db.lock().unwrap().take();
    assert!(held.is_some(), "the listener did not fail");
    db.flush().unwrap();
    assert_eq!(db.get("from the listener").unwrap().unwrap(), b"2");
}

#[test]
fn a_listener_may_read_and_write_and_is_refused_what_would_wait_for_it() {
    let directory = TempDir::new().unwrap();
    let own = Options { create_if_missing: true, ..Options::default() };
    calls_from_a_listener(own, directory.path());
    calls_from_a_listener(options(&MemFs::new()), PATH.as_ref());
}

/// An operator of any name, each of whose other calls may panic.
#[derive(Debug, Default)]
struct Named {
    name: &'static str,
    parameters: &'static [u8],
    panics_over_names: bool,
    checks: AtomicUsize,
}

impl MergeOperator for Named {
    fn name(&self) -> &str {
        assert!(!self.panics_over_names, "no name today");
        self.name
    }

    fn parameters(&self) -> &[u8] {
        self.parameters
    }

    fn full(&self, _: &[u8], _: Option<&[u8]>, _: &[&[u8]], _: &mut Vec<u8>) -> Full {
        Full::Operand(0)
    }

    fn check_operand(&self, operand: &[u8]) -> Result<(), String> {
        self.checks.fetch_add(1, Ordering::Relaxed);
        assert_ne!(operand, b"bad", "this operand is beyond me");
        Ok(())
    }
}

/// The panic of an operand check once unwound into the caller.
#[test]
fn a_check_of_an_operand_that_panics_is_an_error_and_nothing_is_written() {
    let fs = MemFs::new();
    let operator = Arc::new(Named { name: "test.named", ..Named::default() });
    let db = Db::open(PATH, Options { operators: vec![operator.clone()], ..options(&fs) }).unwrap();
    let named = db.operator("test.named").unwrap();
    let before = db.stats().bytes_log;
    let mut batch = foldb::WriteBatch::new();
    batch.merge_with(&named, "key", "bad");
    for refused in [db.merge_with(&named, "key", "bad"), db.write(&batch)] {
        let error = assert_error(refused, ErrorKind::InvalidArgument, None).to_string();
        assert!(error.contains("test.named") && error.contains("beyond me"), "{error}");
    }
    assert_eq!(db.stats().bytes_log, before);
    db.merge_with(&named, "key", "good").unwrap();
    assert_eq!(db.get("key").unwrap().unwrap(), b"good");
    assert_eq!(operator.checks.load(Ordering::Relaxed), 3);
}

/// Operators without a distinct name were once accepted at the open and failed later.
#[test]
fn operators_are_refused_at_the_open_if_their_names_do_not_tell_them_apart() {
    let open = |operators: Vec<Named>| {
        let operators = operators.into_iter().map(|own| Arc::new(own) as _).collect();
        Db::open(PATH, Options { operators, ..options(&MemFs::new()) })
    };
    let named = |name| Named { name, ..Named::default() };
    for (operators, what) in [
        (vec![named("")], "'' is not a valid operator name in Options::operators: it is empty"),
        (vec![named("uint64add")], "a built-in operator has this name"),
        (vec![named("stringappend")], "a built-in operator has this name"),
        (vec![named("counter")], "names without a dot are kept for built-in operators"),
        (vec![named("app:x")], "'app:x' is not a valid operator name"),
        (vec![named("app.x:y")], "leave the colon out"),
        (vec![named("app.\n")], "control characters"),
        (
            vec![named("app.x"), named("app.y"), named("app.x")],
            "two operators 'app.x' of version 0",
        ),
        (vec![Named { panics_over_names: true, ..named("app.x") }], "no name today"),
    ] {
        let error = assert_error(open(operators), ErrorKind::InvalidArgument, None).to_string();
        assert!(error.contains(what), "{error} should say: {what}");
    }
    // Operators of one name differ in their parameters.
    let two = ["a", "b"].map(|p| Named { parameters: p.as_bytes(), ..named("app.x") });
    let db = open(two.into()).unwrap();
    assert_eq!(db.operator("app.x:b").unwrap().spec(), "app.x:b");
    for (spec, what) in [
        ("app:x", "no merge operator 'app' for 'app:x': a spec is NAME or NAME:PARAM"),
        ("app.y", "no merge operator 'app.y': it is not built in"),
        ("app.x:c", "'app.x' of Options::operators has the parameter 'a', not that of 'app.x:c'"),
    ] {
        let error = assert_error(db.operator(spec), ErrorKind::UnknownOperator, None).to_string();
        assert!(error.contains(what), "{error} should say: {what}");
    }
}
