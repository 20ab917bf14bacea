//! Keyspaces: creating, dropping and leaving them idle.

use foldb::env::{FileSystem, MemFs};
use foldb::{Db, ErrorKind, KeyspaceOptions, Options};

use crate::support::{PATH, assert_error, count, number, open, options, reopen, text};

fn files(fs: &MemFs, ending: &str) -> usize {
    let names = fs.list(std::path::Path::new(PATH)).unwrap();
    names.iter().filter(|name| name.ends_with(ending)).count()
}

/// A keyspace was dropped and created again while handles to the old one lived. When those went,
/// they removed the new one's files. (fjall-rs/fjall#59)
#[test]
fn a_keyspace_created_again_is_independent_of_old_handles() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let old = db.create_keyspace("name", KeyspaceOptions::default()).unwrap();
    old.put("key", "old").unwrap();
    db.flush().unwrap();
    let old_iter = old.iter().unwrap();
    db.drop_keyspace("name").unwrap();
    let new = db.create_keyspace("name", KeyspaceOptions::default()).unwrap();
    new.put("key", "new").unwrap();
    db.flush().unwrap();
    assert_error(old.put("key", "late"), ErrorKind::KeyspaceDropped, None);
    assert_eq!(old_iter.map(Result::unwrap).next().unwrap().1, b"old");
    drop(old);
    db.compact(..).unwrap();
    assert_eq!(text(&new, "key").unwrap(), "new");
    drop((db, new));
    let db = reopen(&fs.kill()).unwrap();
    assert_eq!(text(&db.keyspace("name").unwrap(), "key").unwrap(), "new");
}

/// A tree that was dropped and opened again panicked at its first merge, because the new one had no
/// operator. (spacejam/sled#651)
#[test]
fn a_keyspace_created_again_takes_merges_of_its_own_operator() {
    let fs = MemFs::new();
    let db =
        Db::open(PATH, Options { default: KeyspaceOptions::default(), ..options(&fs) }).unwrap();
    let with = |operator: &str| KeyspaceOptions::with_operator(operator);
    let index = db.create_keyspace("index", with("stringappend:,")).unwrap();
    index.merge("key", "a").unwrap();
    db.drop_keyspace("index").unwrap();
    let index = db.create_keyspace("index", with("uint64add")).unwrap();
    index.merge("key", number(3)).unwrap();
    let db = reopen(&fs.kill()).unwrap();
    assert_eq!(count(&db.keyspace("index").unwrap(), "key"), 3);
}

/// A column family without writes kept every log alive: 36 GB at a limit of 1 GB.
/// (facebook/rocksdb#3145, #13487 and #14338)
#[test]
fn an_idle_keyspace_keeps_no_log() {
    let fs = MemFs::new();
    let small = Options { write_buffer_size: 16 << 10, ..options(&fs) };
    let db = Db::open(PATH, small).unwrap();
    let idle = db.create_keyspace("idle", KeyspaceOptions::default()).unwrap();
    idle.put("key", "once").unwrap();
    for n in 0..3000u32 {
        db.put(n.to_be_bytes(), [7; 100]).unwrap();
        while db.step_background().unwrap() {}
    }
    assert!(files(&fs, ".log") <= 3, "{} logs", files(&fs, ".log"));
    assert_eq!(text(&idle, "key").unwrap(), "once");
}

/// Creating and dropping tables in a loop left files and memory behind.
/// (facebook/rocksdb#12888, #5488, spacejam/sled#1484)
#[test]
fn keyspaces_created_and_dropped_in_a_loop_leave_nothing() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let mut after_ten = 0;
    for round in 0..60 {
        let keyspace = db.create_keyspace("temporary", KeyspaceOptions::default()).unwrap();
        for n in 0..50u32 {
            keyspace.put(n.to_be_bytes(), [7; 200]).unwrap();
        }
        db.flush().unwrap();
        db.drop_keyspace("temporary").unwrap();
        while db.step_background().unwrap() {}
        let now = fs.list(std::path::Path::new(PATH)).unwrap().len();
        if round == 10 {
            after_ten = now;
        }
        assert!(round <= 10 || now <= after_ten + 1, "round {round}: {now} files");
    }
}

/// A repair of a sound database dropped the unflushed writes of all column families but the
/// default one. (facebook/rocksdb#5073)
#[test]
fn a_repair_keeps_unflushed_writes_of_every_keyspace() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    let other = db.create_keyspace("other", KeyspaceOptions::default()).unwrap();
    db.put("key", "default").unwrap();
    other.put("key", "other").unwrap();
    drop((db, other));
    let fs = fs.kill();
    let report = Db::repair(PATH, options(&fs)).unwrap();
    assert!(report.lost_nothing(), "{report:?}");
    let db = reopen(&fs).unwrap();
    assert_eq!(text(&db, "key").unwrap(), "default");
    assert_eq!(text(&db.keyspace("other").unwrap(), "key").unwrap(), "other");
}
