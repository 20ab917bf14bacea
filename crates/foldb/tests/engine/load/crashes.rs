//! Sorted loads and crashes: all of a load survives or nothing does, at every call that changes the
//! disk.

use foldb::env::MemFs;
use foldb::env::mem::Fault;
use foldb::{Db, ErrorKind, Options, Result, WriteOptions};

use crate::load::order::tables;
use crate::support::{PATH, number, options};

const SYNC: WriteOptions = WriteOptions { sync: true, ..WriteOptions::DEFAULT };
/// Number of crash outcomes to check.
const SEEDS: u64 = 6;
const KEYS: u64 = 60;

fn small(fs: &MemFs) -> Options {
    Options { target_file_size: 1024, block_size: 256, write_buffer_size: 8192, ..options(fs) }
}

/// The acknowledged steps of a program.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    written: bool,
    /// Loads that returned.
    loads: u64,
}

/// Writes beside the keys of a load, in them, loads twice, writes again and compacts.
fn program(fs: &MemFs, progress: &mut Progress) -> Result<()> {
    let db = Db::open(PATH, small(fs))?;
    db.merge("key 07", number(1))?;
    db.put("before", number(7))?;
    progress.written = true;
    for _ in 0..2 {
        let mut load = db.sorted_load()?;
        for n in 0..KEYS {
            load.merge(format!("key {n:02}"), number(10))?;
        }
        // Unsynced: the load keeps it.
        db.put("beside", number(progress.loads + 1))?;
        load.finish()?;
        progress.loads += 1;
    }
    db.with(&SYNC).merge("key 07", number(100))?;
    db.compact(..)?;
    db.close()
}

/// Checks that the database holds the acknowledged loads and at most one more, each of them whole.
fn check(fs: &MemFs, progress: Progress, moment: &str) {
    let db = Db::open(PATH, small(fs)).unwrap_or_else(|error| panic!("{moment}: {error}"));
    let read = |key: &str| {
        let value = db.get(key).unwrap_or_else(|error| panic!("{moment}: {error}"));
        value.map_or(0, |value| u64::from_le_bytes(value[..].try_into().unwrap()))
    };
    let loads = read("key 00") / 10;
    assert!((progress.loads..=progress.loads + 1).contains(&loads), "{moment}: {loads}");
    for n in (0..KEYS).filter(|n| *n != 7) {
        assert_eq!(read(&format!("key {n:02}")), loads * 10, "{moment}: key {n}");
    }
    let keys = db.iter().unwrap().filter(|entry| entry.as_ref().unwrap().0.starts_with(b"key"));
    let with_merge = usize::from(loads == 0 && read("key 07") == 1);
    assert_eq!(keys.count(), if loads > 0 { KEYS as usize } else { with_merge }, "{moment}");
    if loads > 0 {
        // What was written before a load that survives survives too.
        assert_eq!(read("before"), 7, "{moment}");
        assert!(read("beside") >= loads, "{moment}: {}", read("beside"));
        assert_eq!(read("key 07") % 10, 1, "{moment}");
        assert_eq!(read("key 07") / 10 % 10, loads, "{moment}");
    }
    let used: u64 =
        db.stats().keyspaces.iter().flat_map(|own| &own.levels).map(|level| level.tables).sum();
    assert_eq!(tables(fs) as u64, used, "{moment}: orphaned tables stay");
}

#[test]
fn a_load_survives_power_loss_whole_or_not_at_all_at_every_call() {
    let whole = MemFs::new();
    program(&whole, &mut Progress::default()).unwrap();
    let calls = whole.counts().mutations();
    let mut in_between = 0;
    for point in 1..=calls {
        let fs = MemFs::new();
        fs.inject(Fault::on_mutation().nth(point).forever());
        let mut progress = Progress::default();
        let _stopped = program(&fs, &mut progress);
        in_between += u32::from(progress.loads == 1);
        for seed in 0..SEEDS {
            let moment = format!("call {point} of {calls}, seed {seed}, {progress:?}");
            check(&fs.crash_with(seed), progress, &moment);
        }
        check(&fs.kill(), progress, &format!("call {point} of {calls}, killed, {progress:?}"));
    }
    assert!(in_between > 5, "{in_between}");
}

/// One call fails, and later ones work: the load fails whole, or goes on.
#[test]
fn an_error_that_heals_at_once_leaves_the_whole_load_or_nothing() {
    let whole = MemFs::new();
    program(&whole, &mut Progress::default()).unwrap();
    let calls = whole.counts().mutations();
    for point in 1..=calls {
        let fs = MemFs::new();
        fs.inject(Fault::on_mutation().nth(point));
        let mut progress = Progress::default();
        let moment = format!("call {point} of {calls}");
        if let Err(error) = program(&fs, &mut progress) {
            let kinds = [ErrorKind::Io, ErrorKind::NoSpace, ErrorKind::Poisoned];
            assert!(kinds.contains(&error.kind()), "{moment}: {error}");
        }
        check(&fs.crash(), progress, &format!("{moment}, power"));
        check(&fs.kill(), progress, &format!("{moment}, kill"));
    }
}

#[test]
fn the_next_open_removes_the_tables_of_a_load_that_was_killed() {
    let fs = MemFs::new();
    let db = Db::open(PATH, small(&fs)).unwrap();
    let mut load = db.sorted_load().unwrap();
    for n in 0..500 {
        load.put(format!("key {n:04}"), "value").unwrap();
    }
    let killed = fs.kill();
    assert!(tables(&killed) > 2, "{}", tables(&killed));
    let again = Db::open(PATH, small(&killed)).unwrap();
    assert_eq!(tables(&killed), 0);
    assert_eq!(again.iter().unwrap().count(), 0);
    load.finish().unwrap();
    assert_eq!(db.iter().unwrap().count(), 500);
}
