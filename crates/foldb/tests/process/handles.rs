//! A process may have few file handles, and the program around the database needs some of them.

use std::collections::BTreeMap;
use std::fs::File;

use foldb::{Db, KeyspaceOptions, Options};

use crate::{alone, key};

/// Limits the handles of this process.
fn limit(handles: u64) {
    let limit = libc::rlimit { rlim_cur: handles, rlim_max: handles };
    // SAFETY: passes a structure that outlives the call.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
}

/// How many more files the program can open.
fn spare() -> usize {
    let mut open = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        open.push(file);
        if open.len() == 1000 {
            break;
        }
    }
    open.len()
}

/// Many tables from little data.
fn many_tables() -> Options {
    Options {
        create_if_missing: true,
        write_buffer_size: 64 << 10,
        target_file_size: 4 << 10,
        default: KeyspaceOptions::with_operator("uint64add"),
        ..Options::default()
    }
}

fn tables(db: &Db) -> usize {
    db.stats().levels.iter().map(|level| level.tables as usize).sum()
}

#[test]
fn forty_handles_suffice_for_hundreds_of_tables() {
    alone("handles::forty_handles_suffice_for_hundreds_of_tables", |base| {
        limit(40);
        let path = base.join("db");
        let db = Db::open(&path, many_tables()).unwrap();
        let mut model = BTreeMap::new();
        let mut random = 7u64;
        for n in 0..50_000u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let k = (random >> 33) % 50_000;
            db.merge(key(k), 1u64.to_le_bytes()).unwrap();
            *model.entry(k).or_insert(0u64) += 1;
            if n % 50 == 0 {
                let k = (random >> 40) % 50_000;
                let found = db.get(key(k)).unwrap();
                let found = found.map(|value| u64::from_le_bytes(value[..].try_into().unwrap()));
                assert_eq!(found, model.get(&k).copied());
            }
        }
        db.flush().unwrap();
        db.wait_for_background().unwrap();
        assert!(tables(&db) > 60, "{}", tables(&db));
        assert!(spare() >= 8, "{}", spare());
        db.compact(..).unwrap();
        let iters = [(); 3].map(|()| db.iter().unwrap());
        for iter in iters {
            assert_eq!(iter.map(Result::unwrap).count(), model.len());
        }
        db.close().unwrap();
        drop(db);
        let db = Db::open(&path, many_tables()).unwrap();
        assert_eq!(db.iter().unwrap().map(Result::unwrap).count(), model.len());
    });
}

/// The limit is the process's, so its databases share it, and leave some to the program.
#[test]
fn databases_share_the_handles_and_leave_some_to_the_program() {
    alone("handles::databases_share_the_handles_and_leave_some_to_the_program", |base| {
        limit(128);
        let open = |n| Db::open(base.join(format!("{n}")), many_tables()).unwrap();
        let all: Vec<Db> = (0..4).map(open).collect();
        for n in 0..10_000u64 {
            for db in &all {
                db.put(key(n * 7919 % 10_000), [7; 40]).unwrap();
            }
        }
        for db in &all {
            db.wait_for_background().unwrap();
            assert!(tables(db) > 25, "{}", tables(db));
        }
        for n in 0..10_000u64 {
            for db in &all {
                assert!(db.get(key(n)).unwrap().is_some());
            }
        }
        assert!(spare() >= 8, "{}", spare());
    });
}

/// A program that takes all handles gets no error from the database as long as it has open tables.
#[test]
fn open_tables_give_their_handles_back() {
    alone("handles::open_tables_give_their_handles_back", |base| {
        limit(256);
        let path = base.join("db");
        let db = Db::open(&path, many_tables()).unwrap();
        for n in 0..40_000u64 {
            db.put(key(n * 7919 % 40_000), [7; 40]).unwrap();
        }
        db.wait_for_background().unwrap();
        assert!(tables(&db) > 100, "{}", tables(&db));
        assert_eq!(db.iter().unwrap().map(Result::unwrap).count(), 40_000);
        let mut taken = Vec::new();
        while let Ok(file) = File::open("/dev/null") {
            taken.push(file);
        }
        for n in 0..40_000u64 {
            db.put(key(n * 7919 % 40_000), [8; 40]).unwrap();
        }
        db.flush().unwrap();
        assert_eq!(db.iter().unwrap().map(Result::unwrap).count(), 40_000);
    });
}
