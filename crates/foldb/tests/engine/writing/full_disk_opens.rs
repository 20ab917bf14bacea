//! Opens on a full disk after a power loss.

use std::io;
use std::path::{Path, PathBuf};

use foldb::env::mem::{Fault, Operation};
use foldb::env::{Env, FileSystem, MemFs};
use foldb::feed::{Change, Position, UpdateOp};
use foldb::repair::verify;
use foldb::{Db, ErrorKind, Options, WriteOptions};

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

/// More memtables may be sealed on a full disk than at other times. An open took fewer of their
/// writes into memory, needed tables for the others, and failed.
#[test]
fn a_full_disk_opens_with_all_memtables_that_it_may_have_sealed() {
    const SMALL: usize = 256 << 10;
    let with = |write_buffer_size| {
        move |fs: &MemFs| Options { write_buffer_size, memory_budget: 64 << 20, ..still(fs) }
    };
    let (large, small) = (with(16 << 20), with(SMALL));
    let fs = small_disk();
    let db = Db::open(PATH, large(&fs)).unwrap();
    let mut count = 0;
    let mut put = |db: &Db| {
        db.put(key(count), value(count)).unwrap();
        count += 1;
    };
    while db.stats().reserved_space == 0 {
        for _ in 0..500 {
            put(&db);
        }
        db.flush().unwrap();
    }
    // A full disk may have 16 sealed memtables besides the usual ones, which are 3 or more.
    for _ in 0..19 * SMALL / VALUE {
        put(&db);
    }
    let image = fs.kill();
    drop(db);
    image.inject(
        Fault::on(Operation::Write).path(".tbl").forever().kind(io::ErrorKind::StorageFull),
    );
    let db = Db::open(PATH, small(&image)).unwrap();
    assert!(db.stats().disk_is_full);
    assert_eq!(db.iter().unwrap().count(), count);
    image.clear_faults();
    for n in 0..count {
        db.delete(key(n)).unwrap_or_else(|error| panic!("delete {n} of {count}: {error}"));
    }
    assert!(db.is_empty().unwrap());
}

/// The open copied the logs for the feed before it had taken their writes over, and a full disk had
/// no space for the copies.
#[test]
fn a_database_with_a_feed_opens_on_a_full_disk_after_a_kill() {
    let kept = |fs: &MemFs| Options { wal_retention_bytes: 1 << 40, ..still(fs) };
    // With the writes in memory, and with more writes than fit there.
    for memory_budget in [256 << 20, 8 << 20] {
        let fs = small_disk();
        let kept = |fs: &MemFs| Options { memory_budget, ..kept(fs) };
        let db = Db::open(PATH, kept(&fs)).unwrap();
        db.create_keyspace("counts", Default::default()).unwrap();
        let mut count = 0;
        while db.stats().reserved_space == 0 {
            for _ in 0..500 {
                db.put(key(count), value(count)).unwrap();
                count += 1;
            }
            db.flush().unwrap();
        }
        let position = db.position().unwrap();
        let from = count;
        while count < from + 3000 && db.put(key(count), value(count)).is_ok() {
            count += 1;
        }
        let mut image = fs.kill();
        drop(db);
        for round in 0..3 {
            image.set_capacity(Some(DISK));
            let used = DISK - image.create("probe".as_ref()).unwrap().free_space().unwrap();
            image.set_capacity(Some(used));
            let db = Db::open(PATH, kept(&image))
                .unwrap_or_else(|error| panic!("{memory_budget}, round {round}: {error}"));
            assert_eq!(db.iter().unwrap().count(), count);
            follow(&db, &position, from..count);
            drop(db);
            image = image.kill();
        }
        image.set_capacity(None);
        let db = Db::open(PATH, kept(&image)).unwrap();
        db.put(key(count), value(count)).unwrap();
        db.flush().unwrap();
        follow(&db, &position, from..count + 1);
        db.close().unwrap();
        let report = verify(PATH, kept(&image)).unwrap();
        assert!(report.is_sound(), "{report:?}");
        let db = Db::open(PATH, kept(&image)).unwrap();
        follow(&db, &position, from..count + 1);
    }
}

/// Checks that the feed has exactly the puts of these keys after a position.
fn follow(db: &Db, position: &Position, keys: std::ops::Range<usize>) {
    let mut next = keys.start;
    db.sync()
        .or_else(|error| if error.kind() == ErrorKind::NoSpace { Ok(()) } else { Err(error) })
        .unwrap();
    for update in db.updates_since(position).unwrap() {
        let Change::Batch(batch) = update.unwrap().change else { continue };
        for op in batch.iter() {
            let UpdateOp::Put { key: found, .. } = op else { panic!("{op:?}") };
            assert_eq!(found, key(next).as_bytes());
            next += 1;
        }
    }
    assert_eq!(next, keys.end);
}
