//! Seconds that pass between the moment of a write and its publication.

use std::path::Path;
use std::sync::{Arc, Mutex};

use foldb::env::mem::Operation;
use foldb::env::{Env, ManualClock, MemFs, WatchedFs};
use foldb::expiry::Expiry;
use foldb::{Db, Options};

use crate::expiry::support::{clock, lists, read, seconds, set, settle};
use crate::support::{PATH, options};

type Step = Box<dyn FnOnce() + Send>;

/// Opens a database. The next write to a log first runs the step that a test puts here.
fn open_watched(clock: &Arc<ManualClock>) -> (Db, Arc<Mutex<Option<Step>>>) {
    let next = Arc::new(Mutex::new(None::<Step>));
    let own = Arc::clone(&next);
    let watch = move |operation: Operation, path: &Path| {
        if operation == Operation::Write && path.extension().is_some_and(|end| end == "log") {
            let step = own.lock().unwrap().take();
            step.into_iter().for_each(|step| step());
        }
        Ok(())
    };
    let fs = MemFs::new();
    let watched = WatchedFs::new(Arc::new(fs.clone()), Arc::new(watch));
    let clock = Arc::clone(clock) as _;
    let env = Env { clock, fs: Arc::new(watched), ..Env::in_memory(fs.clone()) };
    (Db::open(PATH, Options { env, ..options(&fs) }).unwrap(), next)
}

/// While a merge that came in time is being logged, its base expires. No reader finds the base
/// gone, and no flush drops it.
#[test]
fn no_value_expires_below_a_merge_that_is_being_written() {
    let clock = clock();
    let (db, next) = open_watched(&clock);
    let own = lists(&db, "lists", Expiry::after_last_write(seconds(10)));
    own.put("a", "0").unwrap();
    // Registers the operator, which the manifest and the log take note of.
    own.merge("b", "0").unwrap();
    set(&clock, 9);
    assert_eq!(read(&own, "a").as_deref(), Some("0"));
    let during = Arc::new(Mutex::new(None));
    let step = {
        let (db, own, clock, during) = (db.clone(), own.clone(), clock.clone(), during.clone());
        move || {
            set(&clock, 12);
            *during.lock().unwrap() = Some((db.snapshot(), read(&own, "a")));
        }
    };
    *next.lock().unwrap() = Some(Box::new(step));
    own.merge("a", "9").unwrap();
    let (snapshot, seen) = during.lock().unwrap().take().expect("the merge is logged");
    assert_eq!(seen.as_deref(), Some("0"));
    assert_eq!(read(&own, "a").as_deref(), Some("0,9"));
    db.flush().unwrap();
    own.compact(..).unwrap();
    drop(snapshot);
    own.compact(..).unwrap();
    settle(&db);
    assert_eq!(read(&own, "a").as_deref(), Some("0,9"));
}

/// The logs hold more than memory, so the open flushes the base before it has applied the merge
/// that renewed it.
#[test]
fn no_value_expires_below_a_merge_that_a_recovery_has_not_applied() {
    let (fs, clock) = (MemFs::new(), clock());
    let open = |fs: &MemFs, write_buffer_size| {
        let env = Env { clock: Arc::clone(&clock) as _, ..Env::in_memory(fs.clone()) };
        let buffers = Options { write_buffer_size, max_write_buffers: 2, ..options(fs) };
        Db::open(PATH, Options { env, ..buffers }).unwrap()
    };
    let db = open(&fs, 32 << 20);
    let own = lists(&db, "lists", Expiry::after_last_write(seconds(10)));
    own.put("a", "0").unwrap();
    for n in 0..400 {
        db.put(format!("{n:04}"), [n as u8; 5 << 10]).unwrap();
    }
    set(&clock, 8);
    own.merge("a", "8").unwrap();
    db.sync().unwrap();
    let left = fs.kill();
    drop((own, db));
    set(&clock, 12);
    let db = open(&left, 256 << 10);
    let own = db.keyspace("lists").unwrap();
    assert_eq!(read(&own, "a").as_deref(), Some("0,8"));
}
