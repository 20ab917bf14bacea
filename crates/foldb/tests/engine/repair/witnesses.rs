//! A repair without a manifest, after a stop at any call: no replaced table comes back, or the
//! report says that something may be wrong.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use foldb::env::mem::Operation;
use foldb::env::{FileSystem, MemFs};
use foldb::{Db, Options, Result};

use crate::support::{PATH, number, options, quiet, watched};

type State = BTreeMap<Vec<u8>, Vec<u8>>;

fn by_hand(fs: &MemFs) -> Options {
    let small = Options { target_file_size: 1024, block_size: 256, ..options(fs) };
    Options { disable_auto_compactions: true, ..small }
}

/// The files that a stop leaves, and the states that a reader may then see.
struct Stopped {
    files: MemFs,
    call: String,
    states: [State; 2],
}

/// What the program has done so far.
struct Progress {
    /// The state before the step in progress, and after it.
    states: [State; 2],
    stopped: Vec<Stopped>,
}

fn count_key(n: usize) -> String {
    format!("count{n:02}")
}

/// Adds one to each counter of a range.
fn add(state: &State, counters: std::ops::Range<usize>) -> State {
    let mut state = state.clone();
    for n in counters {
        let sum = state.entry(count_key(n).into()).or_insert(vec![0; 8]);
        let before = u64::from_le_bytes(sum[..].try_into().unwrap());
        *sum = number(before + 1).to_vec();
    }
    state
}

/// Runs flushes, loads, slices, range deletes and drops, and stops at each call that changes files.
fn stops() -> Vec<Stopped> {
    let fs = MemFs::new();
    let progress =
        Arc::new(Mutex::new(Progress { states: Default::default(), stopped: Vec::new() }));
    let (own, seen) = (fs.clone(), Arc::clone(&progress));
    let watch = Arc::new(move |operation: Operation, path: &Path| {
        if operation.is_mutation() {
            let mut seen = seen.lock().unwrap();
            let at = seen.stopped.len() as u64;
            let states = seen.states.clone();
            let call = format!("before {operation:?} of {}", path.display());
            // Half of the stops are power losses. All writes are synced.
            let files = if at.is_multiple_of(2) { own.kill() } else { own.crash_with(at) };
            seen.stopped.push(Stopped { files, call, states });
        }
        Ok(())
    });
    let mut with = by_hand(&fs);
    with.env.fs = watched(&fs, &watch);
    let db = Db::open(PATH, with).unwrap();
    let step = |change: &dyn Fn(&State) -> State, run: &dyn Fn(&Db) -> Result<()>| {
        {
            let mut progress = progress.lock().unwrap();
            progress.states[1] = change(&progress.states[0]);
        }
        run(&db).unwrap();
        let mut progress = progress.lock().unwrap();
        progress.states[0] = progress.states[1].clone();
    };
    let same = |state: &State| state.clone();
    let mut held = Vec::new();
    for round in 0..6 {
        for n in 0..20 {
            step(&|state| add(state, n..n + 1), &|db| {
                db.merge(count_key(n), number(1))?;
                db.sync()
            });
        }
        step(&same, &|db| db.flush());
        if round % 2 == 1 {
            step(&|state| add(state, 0..20), &|db| {
                let mut load = db.sorted_load()?;
                (0..20).try_for_each(|n| load.merge(count_key(n), number(1)))?;
                load.finish().map(drop)
            });
        }
        if round % 3 == 0 {
            let mut iterator = db.iter().unwrap();
            iterator.seek_to_first().unwrap();
            held.push(iterator);
        }
        match round {
            1 => step(&same, &|db| db.compact("count05".."count12")),
            2 => {}
            _ => step(&same, &|db| db.compact(..)),
        }
        if round == 3 {
            held.clear();
            // A compaction of a part in which nothing is left writes no table.
            let gone = |state: &State| {
                let mut state = state.clone();
                state.retain(|key, _| key[..] < b"count03"[..] || key[..] >= b"count17"[..]);
                state
            };
            step(&gone, &|db| {
                db.delete_range("count03".."count17")?;
                db.sync()
            });
            step(&same, &|db| db.flush());
            step(&same, &|db| db.compact("count03".."count17"));
        }
    }
    held.clear();
    step(&same, &|db| {
        let other = db.create_keyspace("other", Default::default())?;
        other.put("a", "1")?;
        db.flush()
    });
    step(&same, &|db| db.drop_keyspace("other"));
    step(&same, &|db| db.compact(..));
    drop(db);
    let mut progress = progress.lock().unwrap();
    std::mem::take(&mut progress.stopped)
}

fn files(fs: &MemFs, ending: &str) -> Vec<PathBuf> {
    let mut names = fs.list(Path::new(PATH)).unwrap_or_default();
    names.retain(|name| name.ends_with(ending) || name.starts_with(ending));
    names.sort();
    names.into_iter().map(|name| Path::new(PATH).join(name)).collect()
}

/// Repairs what is left without some files. Returns whether the report says that nothing is lost.
fn check(stopped: &Stopped, lost: &[PathBuf], wrong: &mut Vec<String>) -> bool {
    let left = stopped.files.kill();
    lost.iter().for_each(|file| left.remove(file).unwrap());
    // The order of a wrong tree makes a build with assertions panic.
    let repaired = quiet::catch(|| Db::repair(PATH, by_hand(&left)).map_err(|e| e.to_string()));
    let report = match repaired.and_then(|repaired| repaired) {
        Ok(report) => report,
        // Nothing but an empty log is left.
        Err(error) if error.contains("no manifest, table, log or value segment") => return false,
        Err(error) => {
            wrong.push(format!("{}, without {lost:?}: {error}", stopped.call));
            return false;
        }
    };
    let db = Db::open(PATH, by_hand(&left)).unwrap();
    let entries = db.iter().unwrap().map(|entry| entry.unwrap());
    let found: State = entries.map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
    if report.lost_nothing() && !stopped.states.contains(&found) {
        let differs = |key: &Vec<u8>| found.get(key) != stopped.states[0].get(key);
        let mut keys = found.keys().chain(stopped.states[0].keys());
        let first = keys.find(|key| differs(key)).unwrap();
        wrong.push(format!(
            "{}, without {lost:?}: {:?} is {:?}, not {:?}",
            stopped.call,
            String::from_utf8_lossy(first),
            found.get(first),
            stopped.states[0].get(first)
        ));
    }
    report.lost_nothing()
}

#[test]
fn a_rebuilt_manifest_shows_no_replaced_table_or_says_so() {
    let (mut whole, mut checked, mut wrong) = (0, 0, Vec::new());
    for (at, stopped) in stops().iter().enumerate() {
        let fs = &stopped.files;
        let (current, manifests) = (files(fs, "CURRENT"), files(fs, "MANIFEST"));
        if current.is_empty() || manifests.is_empty() {
            continue;
        }
        let both = [&current[..], &manifests[..]].concat();
        for lost in [&current, &manifests, &both] {
            whole += usize::from(check(stopped, lost, &mut wrong));
            checked += 1;
        }
        if at % 3 > 0 {
            continue;
        }
        for table in files(fs, ".tbl") {
            check(stopped, std::slice::from_ref(&table), &mut wrong);
            check(stopped, &[&both[..], &[table]].concat(), &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "{} of {checked} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(checked > 300 && whole * 2 > checked, "{whole} of {checked} lost nothing");
}
