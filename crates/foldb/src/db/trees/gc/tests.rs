//! Tests calls and closes while a background collection is due or running. No worker serves these
//! databases. The tests call the worker's steps, so each race has one outcome.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use foldb_env::mem::{Fault, Operation};
use foldb_env::{Env, MemFs, SystemThreads};

use crate::settings::Knobs;
use crate::{Db, ErrorKind, KeyspaceOptions, Options, WriteOptions};

/// Every call that returns does so in a fraction of this time.
const FOR_EVER: Duration = Duration::from_secs(60);

/// Opens a database whose runtime has workers that do not serve it.
fn without_service(fs: &MemFs) -> Db {
    let env = Env { threads: Arc::new(SystemThreads), ..Env::in_memory(fs.clone()) };
    let db = Db::open(
        "db",
        Options {
            create_if_missing: true,
            env,
            default: KeyspaceOptions {
                value_separation_min: Some(100),
                ..KeyspaceOptions::default()
            },
            knobs: Knobs { segment_size: 16 << 10, ..Knobs::default() },
            max_dead_fraction: 0.01,
            level0_slowdown_trigger: 4,
            ..Options::default()
        },
    )
    .unwrap();
    let core = db.core();
    core.runtime.workers().remove(core.member);
    db
}

/// Puts a hundred separated values and flushes them.
fn fill(db: &Db, generation: u8) {
    for n in 0..100 {
        db.put(format!("key{n:04}"), [generation; 200]).unwrap();
    }
    let core = db.core();
    core.seal(&mut core.lock_writer().unwrap()).unwrap();
    assert!(core.flush_work(true).unwrap());
}

/// Returns the result of `body`, which must return in bounded time.
fn within_bounds<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || tell.send(body()));
    told.recv_timeout(FOR_EVER).expect("the call must return")
}

/// After a failed sync no worker collects garbage. In the past no worker reported the failure
/// either, so the caller waited for ever.
#[test]
fn a_caller_that_waits_for_a_collection_learns_that_a_sync_failed() {
    let fs = MemFs::new();
    let db = without_service(&fs);
    (0..2).for_each(|generation| fill(&db, generation));
    db.compact(..).unwrap();
    assert!(db.core().is_gc_due());
    fs.inject(Fault::on(Operation::Sync).path(".log").forever());
    let synced = WriteOptions { sync: true, ..WriteOptions::default() };
    db.with(&synced).put("a", "1").unwrap_err();
    assert!(db.core().is_gc_due(), "the test needs a due collection that no worker runs");
    let caller = db.clone();
    let waited = within_bounds(move || caller.wait_for_background());
    assert_eq!(waited.unwrap_err().kind(), ErrorKind::Poisoned);
}

/// While a database closes, each job ends as soon as it begins, and level 0 keeps its depth. A
/// collection that compacted for writers once began one job after the other, and the close waited
/// for it.
#[test]
fn a_collection_that_compacts_for_writers_ends_when_the_database_closes() {
    let fs = MemFs::new();
    let db = without_service(&fs);
    (0..6).for_each(|generation| fill(&db, generation));
    let runs = db.stats().levels[0].runs;
    assert!(runs >= 4, "{runs} runs in level 0 do not slow writers");
    db.core().background.shut_down();
    let worker = Arc::clone(db.core());
    within_bounds(move || worker.compact_for_writers());
    db.close().unwrap();
}
