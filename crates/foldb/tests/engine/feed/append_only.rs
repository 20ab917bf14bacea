//! Followers of a database over files that only grow, while appends fail. There a failed append
//! makes the log another file of the same name.

use std::io;
use std::sync::Arc;

use foldb::env::mem::{Fault as FileFault, Operation};
use foldb::env::{AppendOnlyFs, MemFs, RestrictedFs};
use foldb::feed::{Change, Position, UpdateOp, Updates, UpdatesOptions};
use foldb::{Db, ErrorKind, Options, WriteOptions};

use super::support::{files, keeping, since, told};
use crate::support::PATH;

const SYNC: WriteOptions = WriteOptions { sync: true, ..WriteOptions::DEFAULT };

/// Options over files that only grow. Each call makes the adapter of another process.
fn appending(fs: &MemFs, seed: u64) -> Options {
    let mut options = keeping(fs, seed);
    let below = RestrictedFs::new(Arc::new(fs.clone()));
    options.env.fs = Arc::new(AppendOnlyFs::new(Arc::new(below)));
    options
}

fn full() -> FileFault {
    FileFault::on(Operation::Write).kind(io::ErrorKind::StorageFull)
}

/// Opens a database, and a follower beside it in another process.
fn begin(fs: &MemFs) -> (Db, [Updates; 2]) {
    let db = Db::open(PATH, appending(fs, 1)).unwrap();
    db.with(&SYNC).put("first", "1").unwrap();
    let beside = Db::open_read_only(PATH, appending(fs, 2)).unwrap();
    let (start, options) = (Position::BEGINNING, UpdatesOptions::default());
    let followers =
        [db.updates_since(&start).unwrap(), beside.with(&options).updates_since(&start).unwrap()];
    (db, followers)
}

/// The first part of the failed value is a whole frame, in the place of the next record's frame.
#[test]
fn no_follower_yields_parts_of_a_failed_write() {
    const LARGE: usize = 5 << 19;
    let fs = MemFs::new();
    let (db, mut followers) = begin(&fs);
    followers.iter_mut().for_each(|follower| drop(told(follower)));
    db.with(&SYNC).put("second", "2").unwrap();
    fs.inject(full().nth(2).forever());
    db.with(&SYNC).put("key", vec![b'a'; LARGE]).unwrap_err();
    followers.iter_mut().for_each(|follower| drop(told(follower)));
    fs.clear_faults();
    db.with(&SYNC).put("key", vec![b'b'; LARGE]).unwrap();
    db.with(&SYNC).put("last", "").unwrap();
    for follower in &mut followers {
        let mut values = 0;
        for update in follower {
            let Change::Batch(batch) = update.unwrap().change else { continue };
            for operation in batch.iter() {
                if let UpdateOp::Put { key: b"key", value, .. } = operation {
                    values += 1;
                    assert!(value.iter().all(|byte| *byte == b'b'));
                }
            }
        }
        assert_eq!(values, 1);
    }
}

/// Each write may fail at another call. Followers see the successful ones, and no error.
#[test]
fn followers_go_on_after_failed_writes() {
    for (seed, length) in (0..40).zip([10_usize, 300, 70_000, 1_200_000].into_iter().cycle()) {
        let fs = MemFs::new();
        let (db, mut followers) = begin(&fs);
        let mut expected = vec!["default:first=1".to_owned()];
        let mut seen: [Vec<String>; 2] = Default::default();
        for step in 0..12_u64 {
            let turn = seed + 7 * step;
            if turn.is_multiple_of(3) {
                let torn = usize::try_from(turn).unwrap() * 41 % length;
                fs.inject(full().nth(1 + turn % 4).torn_at(torn));
            }
            let (key, value) = (format!("{step}"), vec![b'v'; length]);
            match db.with(&SYNC).put(&key, &value) {
                Ok(()) if length > 20 => expected.push(format!("default:{key}={length} bytes")),
                Ok(()) => expected.push(format!("default:{key}={}", "v".repeat(length))),
                Err(error) => assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}"),
            }
            if turn.is_multiple_of(2) {
                for (follower, seen) in followers.iter_mut().zip(&mut seen) {
                    seen.extend(told(follower));
                }
            }
            fs.clear_faults();
            if turn.is_multiple_of(5) {
                db.flush().unwrap();
            }
        }
        db.with(&SYNC).put("z", "").unwrap();
        expected.push("default:z=".to_owned());
        assert_eq!(since(&db, &Position::BEGINNING), expected, "seed {seed}");
        db.close().unwrap();
        drop(db);
        let [_, beside] = &mut followers;
        seen[1].extend(told(beside));
        assert_eq!(seen[1], expected, "seed {seed}: the follower in another process");
        let shared = seen[0].len();
        assert_eq!(seen[0], expected[..shared], "seed {seed}: the follower in this process");
    }
}

/// A rename gives the log the name of an archived log. The reader of another process knows the old
/// name only.
#[test]
fn a_follower_in_another_process_goes_on_behind_an_archived_log() {
    let fs = MemFs::new();
    let (db, [_, mut beside]) = begin(&fs);
    assert!(told(&mut beside).len() <= 1);
    for key in ["a", "b", "c"] {
        db.with(&SYNC).put(key, "").unwrap();
    }
    db.flush().unwrap();
    assert_eq!(files(&fs, ".arc").len(), 1);
    for key in ["d", "e"] {
        db.with(&SYNC).put(key, "").unwrap();
    }
    let seen = told(&mut beside);
    assert_eq!(seen[seen.len() - 4..], ["default:a=", "default:b=", "default:c=", "default:d="]);
}

/// A full disk refuses a write and the copy of the log without it. A sync makes the earlier writes
/// durable, and writes resume once there is space.
#[test]
fn a_sync_on_a_full_disk_does_not_poison() {
    let fs = MemFs::new();
    let db = Db::open(PATH, appending(&fs, 1)).unwrap();
    db.put("a", "1").unwrap();
    fs.inject(full().torn_at(5).forever());
    db.put("b", "2").unwrap_err();
    db.sync().unwrap();
    let crashed = Db::open(PATH, appending(&fs.crash(), 2)).unwrap();
    assert_eq!(crashed.get("a").unwrap().unwrap(), b"1");
    fs.clear_faults();
    db.put("c", "3").unwrap();
    db.sync().unwrap();
    assert_eq!(since(&db, &Position::BEGINNING), ["default:a=1", "default:c=3"]);
}
