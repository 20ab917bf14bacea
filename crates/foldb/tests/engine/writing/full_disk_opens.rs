//! Opens on a full disk after a power loss.

use std::path::{Path, PathBuf};

use foldb::env::{Env, FileSystem, MemFs};
use foldb::{Db, Options, WriteOptions};

use super::full_disk::{DISK, VALUE, key, options, small_disk, value};
use crate::support::PATH;

/// Stops a database, and returns its files as the next open finds them.
type Stop = fn(&Db, &MemFs) -> MemFs;

/// Options by which no work frees space.
fn still(fs: &MemFs) -> Options {
    let env = Env { threads: Env::in_memory(MemFs::new()).threads, ..options(fs).env };
    Options { env, ..options(fs) }
}

fn open(fs: &MemFs, capacity: u64) -> Db {
    fs.set_capacity(Some(capacity));
    Db::open(PATH, still(fs)).unwrap()
}

/// Returns the logs, oldest first.
fn logs(fs: &MemFs) -> Vec<PathBuf> {
    let mut names = fs.list(PATH.as_ref()).unwrap();
    names.retain(|name| name.ends_with(".log"));
    names.sort();
    names.iter().map(|name| Path::new(PATH).join(name)).collect()
}

/// Returns a database of a table, a log without its last write, and a later log. Also returns the
/// number of the lost write.
fn with_a_hole_in_the_logs() -> (MemFs, usize) {
    let fs = small_disk();
    let db = open(&fs, DISK);
    let mut count = 0;
    let mut put = || {
        db.put(key(count), value(count)).unwrap();
        count += 1;
        count - 1
    };
    while db.stats().reserved_space == 0 {
        for _ in 0..500 {
            put();
        }
        db.flush().unwrap();
    }
    assert_eq!(logs(&fs).len(), 1);
    let mut lost = 0;
    let first_of_second_log = loop {
        let last = put();
        if logs(&fs).len() == 2 {
            break last;
        }
        lost = last;
    };
    assert_eq!(lost + 1, first_of_second_log);
    for _ in 0..10 {
        put();
    }
    let image = fs.kill();
    let log = &logs(&image)[0];
    let (mut bytes, gone) = (image.read(log).unwrap(), value(lost));
    let at = bytes.windows(VALUE).rposition(|window| *window == *gone).unwrap();
    bytes[at..at + VALUE].fill(0);
    image.create(log).unwrap().write_at(&bytes, 0).unwrap();
    (image, lost)
}

/// The open does not apply the later log, because a write before it is lost. The next open must not
/// find that log between the older writes and the deletes.
#[test]
fn deletes_hold_after_a_log_that_replay_refused() {
    let (image, lost) = with_a_hole_in_the_logs();
    let stops: [(&str, Stop); 3] = [
        ("kill", |_, fs| fs.kill()),
        ("close", |db, fs| {
            db.close().unwrap();
            fs.kill()
        }),
        ("power loss", |_, fs| fs.crash()),
    ];
    for (name, stop) in stops {
        let fs = image.kill();
        fs.set_capacity(Some(DISK));
        let used = DISK - fs.create("probe".as_ref()).unwrap().free_space().unwrap();
        let db = open(&fs, used);
        assert_eq!(db.iter().unwrap().count(), lost, "{name}");
        assert_eq!(logs(&fs).len(), 2, "{name}: the log before the hole, and that of the open");
        let again = open(&stop(&db, &fs), DISK);
        assert_eq!(again.iter().unwrap().count(), lost, "{name} after the open");
        drop((again, db));

        let fs = image.kill();
        let db = open(&fs, used);
        let synced = WriteOptions { sync: true, ..WriteOptions::default() };
        db.with(&synced).delete(key(0)).unwrap();
        db.with(&synced).delete(key(lost - 1)).unwrap();
        let db = open(&stop(&db, &fs), DISK);
        let keys: Vec<_> = db.iter().unwrap().map(|entry| entry.unwrap().0.to_vec()).collect();
        let left: Vec<_> = (1..lost - 1).map(|n| key(n).into_bytes()).collect();
        assert!(keys == left, "{name}: {} keys, not {}", keys.len(), left.len());
    }
}
