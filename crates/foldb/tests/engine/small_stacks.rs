//! Calls on threads with a small stack. A thread of a C program has 128 KiB with musl, and 512 KiB
//! on macOS.

use std::path::Path;
use std::sync::Arc;
use std::thread;

use foldb::env::{Env, Stepped};
use foldb::repair::verify;
use foldb::{CompactionPreset, Db, KeyspaceOptions, Options, WriteBatch};

use crate::support::number;

/// The stack of a thread with musl. docs/limits.md states it.
const STACK: usize = 128 << 10;
const ENTRIES: u64 = 3000;

/// Options under which the entries fill several levels, and the calls do all work themselves.
fn small() -> Options {
    Options {
        create_if_missing: true,
        env: Env { threads: Arc::new(Stepped), ..Env::system() },
        default: KeyspaceOptions {
            merge_operator: Some("uint64add".to_owned()),
            compaction: Some(CompactionPreset::Leveled),
            ..KeyspaceOptions::default()
        },
        write_buffer_size: 32 << 10,
        target_file_size: 8 << 10,
        block_size: 1024,
        ..Options::default()
    }
}

fn key(n: u64) -> String {
    format!("key-{n:06}")
}

fn write(db: &Db) {
    for n in 0..ENTRIES {
        let mut batch = WriteBatch::new();
        batch.merge(key(n % 1000), number(1)).put(format!("value-{n}"), [b'v'; 100]);
        db.write(&batch).unwrap();
    }
    db.delete_range("value-1"..="value-2").unwrap();
    db.transact(|transaction| {
        assert!(transaction.get(key(7))?.is_some());
        transaction.put("own", "1")
    })
    .unwrap();
    let other = db.create_keyspace("other", KeyspaceOptions::default()).unwrap();
    other.put("a", [b'w'; 10_000]).unwrap();
}

fn read(db: &Db) {
    let snapshot = db.snapshot();
    for n in 0..1000 {
        assert_eq!(snapshot.get(key(n)).unwrap().unwrap(), number(ENTRIES / 1000), "{n}");
    }
    let keys: Vec<String> = (0..1000).map(key).collect();
    assert!(db.multi_get(&keys).unwrap().into_iter().all(|value| value.unwrap().is_some()));
    let forward = db.iter().unwrap().map(|entry| entry.unwrap().0);
    let backward = db.iter().unwrap().rev().map(|entry| entry.unwrap().0);
    assert_eq!(forward.count(), backward.count());
    db.verify().unwrap();
}

fn use_all(path: &Path) {
    let db = Db::open(path, small()).unwrap();
    write(&db);
    read(&db);
    db.flush().unwrap();
    db.compact(..).unwrap();
    read(&db);
    let copy = path.with_extension("copy");
    db.checkpoint(&copy).unwrap();
    db.close().unwrap();
    let db = Db::open(&copy, small()).unwrap();
    db.merge(key(0), number(0)).unwrap();
    db.close().unwrap();
    // This open reads the log.
    let db = Db::open(&copy, small()).unwrap();
    read(&db);
    db.close().unwrap();
    assert!(verify(&copy, small()).unwrap().is_sound());
    Db::repair(&copy, small()).unwrap();
    Db::destroy(&copy, &small()).unwrap();
}

#[test]
fn every_call_fits_the_stack_of_a_thread_with_musl() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let user = thread::Builder::new().stack_size(STACK).spawn(move || use_all(&path));
    user.unwrap().join().unwrap();
}
