//! Deletes and range deletes: what was deleted stays so.

use foldb::env::MemFs;
use foldb::{Db, KeyspaceOptions, Options};

use crate::support::{PATH, PRESETS, open, options, reopen, sliced, steps, text};
use crate::{everywhere, scan};

/// A compaction of a part of the keys brought deleted keys back: it left the delete in one level
/// and took the put behind it to another. (google/leveldb#184)
#[test]
fn deleted_keys_do_not_come_back_with_a_compaction() {
    for preset in PRESETS {
        let fs = MemFs::new();
        let db = Db::open(PATH, sliced(&fs, preset)).unwrap();
        let key = |range: u32, n: u32| format!("{range}-{n:05}");
        for range in [0, 1] {
            for n in 0..1500 {
                db.put(key(range, n), "value").unwrap();
            }
        }
        db.flush().unwrap();
        for n in 0..1500 {
            db.delete(key(1, n)).unwrap();
        }
        db.compact(key(0, 0)..key(0, 9999)).unwrap();
        assert_eq!(db.prefix("1-").unwrap().count(), 0, "{preset:?}");
        steps::run_background(&db, |_| {});
        assert_eq!(db.prefix("1-").unwrap().count(), 0, "{preset:?}");
        db.compact(..).unwrap();
        assert_eq!(db.iter().unwrap().count(), 1500, "{preset:?}");
    }
}

/// After compactions, keys below a range delete came back and keys beside it were gone: outputs cut
/// the range delete wrongly. (facebook/rocksdb#2722, #2752, #2833, #2989 and #4854)
#[test]
fn range_deletes_keep_their_bounds_through_compactions() {
    for preset in PRESETS {
        let fs = MemFs::new();
        let db = Db::open(PATH, sliced(&fs, preset)).unwrap();
        let key = |n: u32| format!("{n:04}");
        let mut alive = [false; 600];
        for round in 0..12u32 {
            for n in (round % 3..600).step_by(3) {
                db.put(key(n), [7; 20]).unwrap();
                alive[n as usize] = true;
            }
            let from = round * 47 % 500;
            db.delete_range(key(from)..key(from + 60)).unwrap();
            alive[from as usize..from as usize + 60].fill(false);
            db.flush().unwrap();
            steps::run_background(&db, |_| {
                let seen: Vec<_> = db.iter().unwrap().map(|entry| entry.unwrap().0).collect();
                let expected = (0..600).filter(|n| alive[*n as usize]).map(|n| key(n).into_bytes());
                assert!(seen.into_iter().eq(expected), "{preset:?}, round {round}");
            });
        }
    }
}

/// Put, range delete, merge, flush: the put came back below the merge. (facebook/rocksdb#5392)
#[test]
fn a_merge_over_a_range_delete_does_not_see_what_was_deleted() {
    let fs = MemFs::new();
    let merge_operator = Some("stringappend:,".to_owned());
    let db = Db::open(
        PATH,
        Options {
            default: KeyspaceOptions { merge_operator, ..KeyspaceOptions::default() },
            ..options(&fs)
        },
    )
    .unwrap();
    db.put("key", "old").unwrap();
    db.delete_range("a".."z").unwrap();
    db.merge("key", "new").unwrap();
    everywhere(&db, |db| assert_eq!(scan(db), "key=new"));
    db.put("deep", "old").unwrap();
    db.compact(..).unwrap();
    db.delete_range("a".."z").unwrap();
    db.flush().unwrap();
    db.merge("deep", "new").unwrap();
    everywhere(&db, |db| assert_eq!(scan(db), "deep=new"));
}

/// A walk backwards over many versions showed operands below a range delete again.
/// (facebook/rocksdb#4481, #1778)
#[test]
fn a_walk_backwards_over_many_versions_respects_range_deletes() {
    let fs = MemFs::new();
    let merge_operator = Some("stringappend:,".to_owned());
    let db = Db::open(
        PATH,
        Options {
            default: KeyspaceOptions { merge_operator, ..KeyspaceOptions::default() },
            ..options(&fs)
        },
    )
    .unwrap();
    let mut snapshots = Vec::new();
    for n in 0..30 {
        db.merge("key", format!("old{n}")).unwrap();
        snapshots.push(db.snapshot());
    }
    db.delete_range("a".."z").unwrap();
    let before = db.snapshot();
    for n in 0..30 {
        db.merge("key", format!("{n}")).unwrap();
        snapshots.push(db.snapshot());
    }
    let new: Vec<_> = (0..30).map(|n| n.to_string()).collect();
    everywhere(&db, |db| {
        assert_eq!(scan(db), format!("key={}", new.join(",")));
        assert_eq!(scan(&before), "");
        assert_eq!(scan(&snapshots[1]), "key=old0,old1");
    });
}

/// A range delete that begins at the empty key made a flush loop for ever.
/// (cockroachdb/pebble#1022, #1023)
#[test]
fn a_range_delete_from_the_empty_key_is_flushed() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("", "empty").unwrap();
    db.put("a", "1").unwrap();
    db.delete_range("".."a").unwrap();
    everywhere(&db, |db| assert_eq!(scan(db), "a=1"));
    db.delete_range("".."b").unwrap();
    db.flush().unwrap();
    let db = reopen(&fs.kill()).unwrap();
    everywhere(&db, |db| assert_eq!(scan(db), ""));
}

/// A cleared keyspace was full again after a crash. (fjall-rs/fjall#241)
#[test]
fn a_cleared_database_stays_clear_after_a_kill() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    for n in 0..200 {
        db.put(format!("{n:03}"), [1; 50]).unwrap();
        if n == 100 {
            db.flush().unwrap();
        }
    }
    db.clear().unwrap();
    db.put("after", "1").unwrap();
    let db = reopen(&fs.kill()).unwrap();
    assert_eq!(scan(&db), "after=1");
    assert_eq!(text(&db, "100"), None);
}
