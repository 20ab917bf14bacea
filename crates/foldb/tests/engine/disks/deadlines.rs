//! A deadline bounds every call that takes one, while a disk hangs in a call of another thread.

use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use foldb::env::mem::Operation;
use foldb::env::{Env, MemFs, SystemClock, SystemThreads, Watch};
use foldb::expiry::{Expires, Expiry};
use foldb::{
    Db, ErrorKind, Keyspace, KeyspaceOptions, Options, TransactionOptions, WriteBatch, WriteOptions,
};

use crate::support::{PATH, options, watched};

/// Deadline of the calls. The wait for the writer lock adds 100 ms at most.
const DEADLINE: Duration = Duration::from_millis(50);
/// Much longer than any call takes that keeps its deadline, on a busy machine too.
const PATIENCE: Duration = Duration::from_millis(1500);

pub(crate) type Call = fn(&Db, &Keyspace, &WriteOptions) -> foldb::Result<()>;

/// The calls that take a deadline, and those that only read.
pub(crate) fn calls() -> Vec<(&'static str, Call)> {
    fn within(options: &WriteOptions) -> TransactionOptions {
        let write = *options;
        TransactionOptions { deadline: options.deadline, write, ..Default::default() }
    }
    vec![
        ("put", |_, own, soon| own.with(soon).put("a", "1")),
        ("put with an end", |_, own, soon| {
            if own.options().expiry.is_none() {
                return Ok(());
            }
            own.with(&WriteOptions { expires: Some(Expires::Never), ..*soon }).put("a", "1")
        }),
        ("merge", |_, own, soon| own.with(soon).merge("a", "2")),
        ("delete", |_, own, soon| own.with(soon).delete("b")),
        ("delete_range", |_, own, soon| own.with(soon).delete_range("b".."c")),
        ("write", |db, own, soon| {
            let mut batch = WriteBatch::new();
            batch.put_in(own, "a", "3").put("a", "3");
            db.with(soon).write(&batch)
        }),
        ("put_if_absent", |_, own, soon| own.with(soon).put_if_absent("c", "1").map(drop)),
        ("compare_and_swap", |_, own, soon| {
            own.with(soon).compare_and_swap("d", None, Some(b"1")).map(drop)
        }),
        ("update", |_, own, soon| own.with(soon).update("e", |_| Some(b"1".to_vec())).map(drop)),
        ("fetch_update", |_, own, soon| {
            own.with(soon).fetch_update("e", |_| Some(b"1".to_vec())).map(drop)
        }),
        ("merge_get", |_, own, soon| own.with(soon).merge_get("e", "2").map(drop)),
        ("merge_if", |_, own, soon| own.with(soon).merge_if("e", |_| true, "2").map(drop)),
        ("take", |_, own, soon| own.with(soon).take("e").map(drop)),
        ("take_first", |_, own, soon| own.with(soon).take_first(..).map(drop)),
        ("transact", |db, own, soon| {
            db.with(&within(soon)).transact(|transaction| {
                transaction.keyspace(own).get("a")?;
                transaction.keyspace(own).put("f", "1")
            })
        }),
        ("commit", |db, own, soon| {
            let transaction = db.with(&within(soon)).begin()?;
            transaction.keyspace(own).put("g", "1")?;
            transaction.commit()
        }),
        ("get", |_, own, _| own.get("a").map(drop)),
        ("iter", |_, own, _| own.iter().map(|iter| assert!(iter.count() < 10_000))),
        ("multi_get", |_, own, _| own.multi_get(["a"]).map(drop)),
        ("expires_at", |_, own, _| own.expires_at("a").map(drop)),
        ("snapshot", |db, own, _| db.snapshot().keyspace(own).get("a").map(drop)),
    ]
}

/// Lets one call of the disk hang until it is released.
#[derive(Debug)]
struct Hang {
    operation: Operation,
    file: &'static str,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Armed,
    Hanging,
    Released,
}

impl Hang {
    fn set(&self, state: State) {
        *self.state.lock().unwrap() = state;
        self.changed.notify_all();
    }

    fn wait_for(&self, state: State) {
        let own = self.state.lock().unwrap();
        let waited = self.changed.wait_timeout_while(own, 20 * PATIENCE, |own| *own != state);
        assert_eq!(*waited.unwrap().0, state, "{:?} of {}", self.operation, self.file);
    }
}

impl Watch for Hang {
    fn before(&self, operation: Operation, path: &Path) -> io::Result<()> {
        let is_meant = operation == self.operation && path.to_string_lossy().contains(self.file);
        let mut state = self.state.lock().unwrap();
        if is_meant && *state == State::Armed {
            *state = State::Hanging;
            self.changed.notify_all();
            drop(self.changed.wait_while(state, |state| *state == State::Hanging).unwrap());
        }
        Ok(())
    }
}

/// Releases the disk when dropped: a failing test must not hang.
struct Release<'a>(&'a Hang);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.0.set(State::Released);
    }
}

fn expiring() -> KeyspaceOptions {
    KeyspaceOptions {
        merge_operator: Some("stringappend:,".to_owned()),
        expiry: Some(Expiry::after_last_write(Duration::from_secs(1000))),
        ..KeyspaceOptions::default()
    }
}

/// Runs all calls while a call of the disk hangs that `victim` causes on another thread. Each call
/// succeeds or is `Busy`. Reads succeed.
fn all_calls_return_while(
    (operation, file): (Operation, &'static str),
    victim: impl FnOnce(&Db, &Keyspace) + Send,
) {
    let (state, changed) = (Mutex::new(State::Idle), Condvar::new());
    let hang = Arc::new(Hang { operation, file, state, changed });
    let fs = MemFs::new();
    let env = Env {
        fs: watched(&fs, &hang),
        clock: Arc::new(SystemClock::default()),
        threads: Arc::new(SystemThreads),
        seed: Some(1),
    };
    let merge_operator = Some("stringappend:,".to_owned());
    let options = Options {
        env,
        default: KeyspaceOptions { merge_operator, ..KeyspaceOptions::default() },
        map_log: false,
        write_buffer_size: 64 << 10,
        ..options(&fs)
    };
    let db = Db::open(PATH, options).unwrap();
    let own = db.create_keyspace("own", expiring()).unwrap();
    db.create_keyspace("spare", expiring()).unwrap();
    let default = db.default_keyspace();
    let soon = WriteOptions { deadline: Some(DEADLINE), ..WriteOptions::default() };
    own.put("a", "1").unwrap();
    default.put("a", "1").unwrap();
    thread::scope(|scope| {
        let _release = Release(&hang);
        hang.set(State::Armed);
        let victim = scope.spawn(|| victim(&db, &own));
        hang.wait_for(State::Hanging);
        for (name, call) in calls() {
            for keyspace in [&own, default] {
                let began = Instant::now();
                let outcome = call(&db, keyspace, &soon);
                let took = began.elapsed();
                let name = format!("{name} in {}: {operation:?} of {file} hangs", keyspace.name());
                assert!(took < PATIENCE, "{name}: it took {took:?}");
                if let Err(error) = outcome {
                    assert_eq!(error.kind(), ErrorKind::Busy, "{name}: {error}");
                    assert!(!READS.iter().any(|read| name.starts_with(read)), "{name}: {error}");
                }
            }
        }
        hang.wait_for(State::Hanging);
        hang.set(State::Released);
        victim.join().unwrap();
    });
    let late = WriteOptions { deadline: Some(20 * PATIENCE), ..WriteOptions::default() };
    for (name, call) in calls() {
        call(&db, &own, &late).unwrap_or_else(|error| panic!("{name} afterwards: {error}"));
    }
}

/// The calls that only read.
const READS: [&str; 5] = ["get in", "iter in", "multi_get in", "expires_at in", "snapshot in"];

#[test]
fn deadlines_hold_while_the_manifest_hangs() {
    for operation in [Operation::Sync, Operation::Write] {
        let hang = (operation, "MANIFEST");
        all_calls_return_while(hang, |db, _| {
            db.create_keyspace("new", expiring()).unwrap();
        });
        all_calls_return_while(hang, |db, _| {
            db.operator("stringappend:;").unwrap();
        });
        all_calls_return_while(hang, |db, _| {
            db.drop_keyspace("spare").unwrap();
        });
        all_calls_return_while(hang, |db, _| db.flush().unwrap());
    }
}

#[test]
fn deadlines_hold_while_a_log_hangs() {
    all_calls_return_while((Operation::Write, ".log"), |_, own| own.put("victim", "1").unwrap());
    let sync = WriteOptions { sync: true, ..WriteOptions::default() };
    let synced = |_: &Db, own: &Keyspace| own.with(&sync).put("victim", "1").unwrap();
    all_calls_return_while((Operation::Sync, ".log"), synced);
    all_calls_return_while((Operation::Sync, ".log"), |db, _| db.sync().unwrap());
    for operation in [Operation::Create, Operation::Preallocate, Operation::Sync] {
        all_calls_return_while((operation, ".log"), |db, _| {
            // A sealed memtable has its own log; the flush begins the next one.
            db.flush().unwrap();
            db.sync().unwrap();
        });
    }
}

/// The write buffers are full, and their flush hangs.
#[test]
fn deadlines_hold_while_a_flush_hangs() {
    all_calls_return_while((Operation::Sync, ".tbl"), |_, own| {
        for n in 0..2000 {
            own.put(format!("{n:06}"), [7; 300]).unwrap();
        }
    });
}
