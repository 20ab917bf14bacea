//! Opens whose logs hold more than the memory that the open may use.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use foldb::env::mem::{Fault, Operation};
use foldb::env::{FileSystem, MemFs};
use foldb::events::{Event, EventListener};
use foldb::repair::verify;
use foldb::stats::MemoryUsage;
use foldb::{
    Db, ErrorKind, KeyspaceOptions, Options, ReadOnlyDb, Runtime, RuntimeOptions, WriteBatch,
};

use crate::support::{PATH, number, options, watched};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const KEYSPACES: [&str; 3] = ["default", "counters", "apart"];

/// Contents by keyspace and key.
type State = BTreeMap<(String, Vec<u8>), Vec<u8>>;

/// Write buffers that hold all writes.
fn roomy(fs: &MemFs) -> Options {
    Options { write_buffer_size: 32 * MIB, disable_auto_compactions: true, ..options(fs) }
}

/// Write buffers of which the logs fill many.
fn tight(fs: &MemFs) -> Options {
    Options { write_buffer_size: 256 * KIB, max_write_buffers: 2, ..roomy(fs) }
}

fn value(n: usize, round: usize) -> Vec<u8> {
    format!("{n:04} of {round}: ").repeat(if n.is_multiple_of(5) { 500 } else { 20 }).into_bytes()
}

/// Leaves a database of which only the logs have the writes: 4 MiB, of which one batch is 2 MiB.
/// Each counter of `counters` is 13 times its number. The keyspace `apart` separates values of this
/// length.
fn logged(value_separation_min: Option<usize>) -> MemFs {
    let fs = MemFs::new();
    let db = Db::open(PATH, roomy(&fs)).unwrap();
    let counters = db.create_keyspace("counters", KeyspaceOptions::default()).unwrap();
    let apart = KeyspaceOptions { value_separation_min, ..KeyspaceOptions::default() };
    let apart = db.create_keyspace("apart", apart).unwrap();
    for round in 0..6 {
        for n in 0..100 {
            db.put(format!("{n:04}"), value(n, round)).unwrap();
            apart.put(format!("{n:04}"), value(n, round)).unwrap();
            counters.merge(format!("{n:04}"), number(2 * n as u64)).unwrap();
        }
        // They hide what earlier flushes of the recovery have written.
        db.delete(format!("{:04}", 11 * round)).unwrap();
        apart.delete_range(format!("{:04}", 10 * round)..format!("{:04}", 10 * round + 5)).unwrap();
        if round == 3 {
            let mut batch = WriteBatch::new();
            for n in 0..400 {
                batch.put(format!("batch {n:04}"), [n as u8; 5 * KIB]);
                if n < 100 {
                    batch.merge_in(&counters, format!("{n:04}"), number(n as u64));
                }
            }
            db.write(&batch).unwrap();
        }
    }
    let dropped = db.create_keyspace("dropped", KeyspaceOptions::default()).unwrap();
    dropped.put("key", [0; 200 * KIB]).unwrap();
    db.drop_keyspace("dropped").unwrap();
    db.sync().unwrap();
    let left = fs.kill();
    drop(db);
    left
}

fn state(db: &Db) -> State {
    let mut state = State::new();
    for name in KEYSPACES {
        state.extend(entries(db, name).map(|(key, value)| ((name.to_owned(), key), value)));
    }
    state
}

fn entries(db: &Db, keyspace: &str) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    let entries = db.keyspace(keyspace).unwrap().iter().unwrap();
    entries.map(|entry| entry.unwrap()).map(|(key, value)| (key.to_vec(), value.to_vec()))
}

fn roomy_state(logged: &MemFs) -> State {
    let fs = logged.kill();
    let db = Db::open(PATH, roomy(&fs)).unwrap();
    let state = state(&db);
    for n in 0..100 {
        let counter = &state[&("counters".to_owned(), format!("{n:04}").into_bytes())];
        assert_eq!(counter[..], number(13 * n));
    }
    assert!(!state.contains_key(&("default".to_owned(), b"0055".to_vec())));
    assert_eq!(state.len(), 400 + 100 + 99 + 95);
    state
}

fn tables(fs: &MemFs) -> usize {
    let files = fs.list(Path::new(PATH)).unwrap();
    files.iter().filter(|name| name.ends_with(".tbl")).count()
}

/// Opens, and checks the contents, and that no file is left over.
fn check(fs: &MemFs, options: Options, expected: &State, moment: &str) {
    let db = Db::open(PATH, options).unwrap_or_else(|error| panic!("{moment}: {error}"));
    assert!(state(&db) == *expected, "{moment}: the contents differ");
    let stats = db.stats();
    let named = stats.keyspaces.iter().flat_map(|own| &own.levels).map(|own| own.tables);
    assert_eq!(tables(fs) as u64, named.sum::<u64>(), "{moment}: orphaned tables stay");
    db.close().unwrap();
    let report = verify(PATH, roomy(fs)).unwrap();
    assert!(report.is_sound(), "{moment}: {report:?}");
    assert!(report.leftovers.is_empty(), "{moment}: {:?}", report.leftovers);
}

/// Hears the flushes of an open, and notes the memory in use at each.
#[derive(Debug)]
struct Heard {
    runtime: Runtime,
    flushes: Mutex<Vec<MemoryUsage>>,
}

impl EventListener for Heard {
    fn on_event(&self, event: &Event) {
        if let Event::Flush { .. } = event {
            self.flushes.lock().unwrap().push(self.runtime.memory());
        }
    }
}

/// Opens beside other databases of a runtime. Returns the memory at each flush of the open.
fn open_heard(fs: &MemFs, tight: Options) -> (Db, Vec<MemoryUsage>) {
    let runtime = RuntimeOptions { memory_budget: 8 * MIB, ..RuntimeOptions::default() };
    let runtime = Runtime::new(runtime).unwrap();
    let heard = Arc::new(Heard { runtime: runtime.clone(), flushes: Mutex::default() });
    let listeners: Vec<Arc<dyn EventListener>> = vec![heard.clone()];
    let env = options(fs).env;
    let db = Db::open(PATH, Options { runtime: Some(runtime), listeners, env, ..tight }).unwrap();
    let flushes = std::mem::take(&mut *heard.flushes.lock().unwrap());
    (db, flushes)
}

/// An open once held everything that the logs had: 617 MiB of a budget of 32.
#[test]
fn an_open_holds_one_write_buffer_of_logs_that_hold_many() {
    let fs = logged(Some(4 * KIB));
    let expected = roomy_state(&fs);
    let (db, flushes) = open_heard(&fs, tight(&fs));
    assert!(flushes.len() > 20, "{} flushes", flushes.len());
    // A reused memtable keeps the pages that it had, so the keyspaces together take more.
    let most = 3 * 256 * KIB as u64;
    for memory in flushes {
        assert!(memory.pinned_memtables <= most, "{memory:?}");
        assert!(memory.pinned_memtables > 0, "the memtables of an open are told: {memory:?}");
        assert!(memory.total() <= memory.budget + 256 * KIB as u64, "{memory:?}");
    }
    assert_eq!(db.memory().pinned_memtables, 0, "nothing is held after the open");
    assert!(state(&db) == expected);
}

/// Small logs become one run, as ever.
#[test]
fn an_open_whose_logs_fit_flushes_each_keyspace_once() {
    let fs = MemFs::new();
    let db = Db::open(PATH, tight(&fs)).unwrap();
    let other = db.create_keyspace("other", KeyspaceOptions::default()).unwrap();
    for n in 0..40 {
        db.put([n], [n; KIB]).unwrap();
        other.put([n], [n; KIB]).unwrap();
    }
    let left = fs.kill();
    let (_db, flushes) = open_heard(&left, tight(&left));
    assert_eq!(flushes.len(), 2);
}

/// It cannot flush, so it holds what the logs have, and tells it.
#[test]
fn a_read_only_open_tells_the_memory_of_the_logged_writes() {
    let fs = logged(Some(4 * KIB));
    let expected = roomy_state(&fs);
    let db = ReadOnlyDb::open(PATH, tight(&fs)).unwrap();
    let logged: usize = fs
        .list(Path::new(PATH))
        .unwrap()
        .iter()
        .filter(|name| name.ends_with(".log"))
        .map(|name| fs.len(&Path::new(PATH).join(name)).unwrap() as usize)
        .sum();
    let held = db.memory().pinned_memtables;
    assert!(held > 3 * MIB as u64 && held < 3 * logged as u64, "{held} of {logged}");
    let batch = db.prefix("batch").unwrap().count();
    assert_eq!(batch, 400);
    assert_eq!(
        db.iter().unwrap().count(),
        expected.keys().filter(|(own, _)| own == "default").count()
    );
}

/// Opens, and stops at each call that changes files. Returns what the stops leave.
fn stops(fs: &MemFs) -> Vec<(MemFs, String)> {
    let stopped = Arc::new(Mutex::new(Vec::new()));
    let (own, seen) = (fs.clone(), Arc::clone(&stopped));
    let watch = Arc::new(move |operation: Operation, path: &Path| {
        if operation.is_mutation() {
            let mut seen = seen.lock().unwrap();
            let at = seen.len() as u64;
            let left = if at.is_multiple_of(2) { own.kill() } else { own.crash_with(at) };
            seen.push((left, format!("stop {at}, before {operation:?} of {}", path.display())));
        }
        Ok(())
    });
    let mut with = tight(fs);
    with.env.fs = watched(fs, &watch);
    drop(Db::open(PATH, with).unwrap());
    let stopped = std::mem::take(&mut *stopped.lock().unwrap());
    assert!(stopped.len() > 80, "{} calls", stopped.len());
    stopped
}

/// The next open finds every value and leaves no orphan, whatever its memory.
#[test]
fn a_stop_at_any_call_of_a_long_recovery_loses_nothing() {
    let fs = logged(Some(4 * KIB));
    let expected = roomy_state(&fs);
    for (at, (left, moment)) in stops(&fs).iter().enumerate() {
        let options = if at % 4 < 3 { tight(left) } else { roomy(left) };
        check(left, options, &expected, moment);
    }
}

/// The tables of a recovery that was stopped and the logs together have each write once.
#[test]
fn a_repair_without_the_manifest_after_a_stop_in_a_long_recovery_loses_nothing() {
    repair_after_stops(None);
}

/// Also the values that such a recovery had separated.
#[test]
fn a_repair_without_the_manifest_after_such_a_stop_takes_each_separated_value_once() {
    repair_after_stops(Some(4 * KIB));
}

fn repair_after_stops(value_separation_min: Option<usize>) {
    let fs = logged(value_separation_min);
    let expected = roomy_state(&fs);
    for (left, moment) in stops(&fs).iter().step_by(2) {
        for name in left.list(Path::new(PATH)).unwrap() {
            if name.starts_with("MANIFEST") || name == "CURRENT" {
                left.remove(&Path::new(PATH).join(name)).unwrap();
            }
        }
        let repaired = Db::repair(PATH, tight(left));
        let report = repaired.unwrap_or_else(|error| panic!("{moment}: {error}"));
        let db = Db::open(PATH, tight(left)).unwrap();
        let mut found = State::new();
        // Only the manifest has the names of keyspaces.
        for (name, id) in KEYSPACES.into_iter().zip(["default", "keyspace-1", "keyspace-2"]) {
            found.extend(entries(&db, id).map(|(key, value)| ((name.to_owned(), key), value)));
        }
        assert!(found == expected, "{moment}: {report:?}");
    }
}

/// One call fails and later ones work. The open fails and leaves no table, or it succeeds.
#[test]
fn a_long_recovery_that_fails_at_any_call_leaves_no_tables_and_goes_on_later() {
    let logged = logged(Some(4 * KIB));
    let expected = roomy_state(&logged);
    let whole = logged.kill();
    drop(Db::open(PATH, tight(&whole)).unwrap());
    let calls = whole.counts().mutations();
    let reads = whole.counts().of(Operation::Read);
    assert!(calls > 100 && reads > 30, "{calls} changes, {reads} reads");
    let of_changes = (1..=calls).map(|n| (Fault::on_mutation().nth(n), format!("change {n}")));
    let of_reads = (1..=reads).map(|n| (Fault::on(Operation::Read).nth(n), format!("read {n}")));
    let mut failed = 0;
    for (fault, moment) in of_changes.chain(of_reads) {
        let fs = logged.kill();
        fs.inject(fault);
        match Db::open(PATH, tight(&fs)) {
            Ok(db) => drop(db),
            Err(error) => {
                failed += 1;
                let kinds = [ErrorKind::Io, ErrorKind::NoSpace, ErrorKind::Poisoned];
                assert!(kinds.contains(&error.kind()), "{moment}: {error}");
                // A failed sync leaves open what the medium has.
                if error.kind() != ErrorKind::Poisoned && !moment.starts_with("change") {
                    assert_eq!(tables(&fs), 0, "{moment}: {error}");
                }
            }
        }
        check(&fs, tight(&fs), &expected, &moment);
    }
    assert!(failed > 100, "{failed} opens failed");
}
