//! The background checks files that nothing else reads, within its budget.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use foldb::env::{Clock, Env, FileSystem, ManualClock, MemFs, SystemClock, SystemThreads};
use foldb::events::{Event, EventListener};
use foldb::internals::Knobs;
use foldb::{Db, ErrorKind, KeyspaceOptions, Options};

use crate::support::PATH;

/// Bytes per second that the checks may read.
const BUDGET: u64 = 64 << 10;

#[derive(Debug, Default)]
struct Told {
    /// Files of tables with damaged parts.
    tables: Mutex<Vec<PathBuf>>,
    /// Files that background errors name.
    errors: Mutex<Vec<PathBuf>>,
}

impl EventListener for Told {
    fn on_event(&self, event: &Event) {
        match event {
            Event::TableDamaged { file, .. } => self.tables.lock().unwrap().push(file.clone()),
            Event::BackgroundError { error } => {
                assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
                self.errors.lock().unwrap().push(error.path().unwrap().to_owned());
            }
            _ => {}
        }
    }
}

fn options(env: Env, told: &Arc<Told>, scrub_io_budget: u64) -> Options {
    Options {
        env,
        scrub_io_budget,
        create_if_missing: true,
        target_file_size: 16 << 10,
        knobs: Knobs { segment_size: 64 << 10, ..Knobs::default() },
        default: KeyspaceOptions { value_separation_min: Some(500), ..KeyspaceOptions::default() },
        listeners: vec![Arc::clone(told) as _],
        ..Options::default()
    }
}

fn value(n: u32, len: usize) -> Vec<u8> {
    let seed = u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..len).map(|at| (seed.rotate_left(at as u32) >> 7) as u8 ^ at as u8).collect()
}

/// Makes tables and value segments in two keyspaces.
fn fill(fs: &MemFs, told: &Arc<Told>) {
    let db = Db::open(PATH, options(Env::in_memory(fs.clone()), told, 0)).unwrap();
    let beside = db.create_keyspace("beside", KeyspaceOptions::default()).unwrap();
    for n in 0..400u32 {
        db.put(n.to_be_bytes(), value(n, 300)).unwrap();
        db.put((1000 + n).to_be_bytes(), value(n, 700)).unwrap();
        beside.put(n.to_be_bytes(), value(n, 100)).unwrap();
    }
    db.flush().unwrap();
    db.compact(..).unwrap();
    beside.compact(..).unwrap();
}

fn files(fs: &MemFs, extensions: &[&str]) -> Vec<PathBuf> {
    let mut names = fs.list(Path::new(PATH)).unwrap();
    let is_one = |name: &&str| extensions.iter().any(|end| name.ends_with(end));
    names.retain(|name| is_one(&&**name));
    names.sort();
    names.into_iter().map(|name| Path::new(PATH).join(name)).collect()
}

fn flip(fs: &MemFs, file: &Path) {
    let mut bytes = fs.read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    let file = fs.create(file).unwrap();
    file.write_at(&bytes, 0).unwrap();
    file.sync().unwrap();
}

fn manual(fs: &MemFs) -> (Env, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::default());
    (Env { clock: clock.clone(), ..Env::in_memory(fs.clone()) }, clock)
}

/// Lets time pass, with a look for work every tenth of a second.
fn rest(db: &Db, clock: &ManualClock, seconds: u64) {
    for _ in 0..10 * seconds {
        while db.step_background().unwrap() {}
        clock.advance(Duration::from_millis(100));
    }
}

#[test]
fn a_scrub_reads_all_files_within_its_budget() {
    let (fs, told) = (MemFs::new(), Arc::new(Told::default()));
    fill(&fs, &told);
    let stored = files(&fs, &[".tbl", ".seg"]);
    assert!(stored.len() > 10, "{stored:?}");
    let bytes = |file: &PathBuf| fs.read(file).unwrap().len() as u64;
    let (whole, largest) =
        (stored.iter().map(bytes).sum::<u64>(), stored.iter().map(bytes).max().unwrap());

    for budget in [0, BUDGET] {
        let fs = fs.kill();
        let (env, clock) = manual(&fs);
        let db = Db::open(PATH, options(env, &told, budget)).unwrap();
        let before = db.stats().bytes_scrubbed;
        let start = clock.now();
        let mut read = 0;
        for _ in 0..2 + whole / BUDGET {
            rest(&db, &clock, 1);
            read = db.stats().bytes_scrubbed - before;
            let most = (clock.now() - start).as_secs_f64() * budget as f64;
            assert!(read as f64 <= most + largest as f64, "{read} bytes, at most {most}");
        }
        // Headers of segments are outside of the records that a check counts.
        let expected = if budget == 0 { 0 } else { whole - 4096 };
        assert!(read >= expected, "{read} of {whole}");
        assert!(budget > 0 || read == 0);
    }
    assert!(told.tables.lock().unwrap().is_empty() && told.errors.lock().unwrap().is_empty());
}

/// Each file in turn, and all at once. Damage of a table is told once, not in each round.
#[test]
fn a_scrub_tells_damage_of_every_file() {
    let (fs, told) = (MemFs::new(), Arc::new(Told::default()));
    fill(&fs, &told);
    let all = files(&fs, &[".tbl", ".seg"]);
    let each = all.iter().map(|file| vec![file.clone()]);
    for damaged in each.chain([all.clone()]) {
        let (fs, told) = (fs.kill(), Arc::new(Told::default()));
        let (env, clock) = manual(&fs);
        let db = Db::open(PATH, options(env, &told, 64 * BUDGET)).unwrap();
        damaged.iter().for_each(|file| flip(&fs, file));
        rest(&db, &clock, 20);
        let mut tables = std::mem::take(&mut *told.tables.lock().unwrap());
        let count = tables.len();
        tables.sort();
        tables.dedup();
        let mut errors = std::mem::take(&mut *told.errors.lock().unwrap());
        errors.sort();
        errors.dedup();
        let mut found = [tables.clone(), errors].concat();
        found.sort();
        assert_eq!(found, damaged);
        assert_eq!(db.stats().damaged_parts, count as u64);
        clock.advance(Duration::from_secs(60 * 60));
        let before = db.stats().bytes_scrubbed;
        rest(&db, &clock, 20);
        assert!(damaged.len() == all.len() || db.stats().bytes_scrubbed > before);
        assert!(told.tables.lock().unwrap().is_empty(), "told again");
    }
}

/// The damage is found on threads too. Neither a close nor a caller that waits for the background
/// waits for a scrub.
#[test]
fn nothing_waits_for_a_scrub() {
    let (fs, told) = (MemFs::new(), Arc::new(Told::default()));
    fill(&fs, &told);
    let table = files(&fs, &[".tbl"]).remove(0);
    flip(&fs, &table);
    let (threads, clock) = (Arc::new(SystemThreads), Arc::new(SystemClock::default()));
    let env = Env { threads, clock, ..Env::in_memory(fs.clone()) };
    let db = Db::open(PATH, options(env, &told, 1 << 30)).unwrap();
    db.wait_for_background().unwrap();
    let start = Instant::now();
    while told.tables.lock().unwrap().is_empty() {
        assert!(start.elapsed() < Duration::from_secs(60), "no scrub");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(told.tables.lock().unwrap()[0], table);
    db.wait_for_background().unwrap();
    db.close().unwrap();
}
