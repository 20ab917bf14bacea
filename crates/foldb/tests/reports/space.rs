//! Space of deleted and overwritten values comes back.

use std::path::Path;

use foldb::env::{FileSystem, MemFs};
use foldb::garbage::GcOptions;
use foldb::internals::Knobs;
use foldb::{Db, KeyspaceOptions, Options};

use crate::support::{PATH, options};

fn separating(fs: &MemFs) -> Options {
    let knobs = Knobs { segment_size: 64 << 10, ..Knobs::default() };
    Options {
        default: KeyspaceOptions { value_separation_min: Some(128), ..options(fs).default },
        knobs,
        ..options(fs)
    }
}

fn bytes(fs: &MemFs, ending: &str) -> u64 {
    let names = fs.list(Path::new(PATH)).unwrap();
    let of_kind = names.iter().filter(|name| name.ends_with(ending));
    of_kind.map(|name| fs.len(&Path::new(PATH).join(name)).unwrap()).sum()
}

/// One large value, written again and again, filled the disk: the collection never took the file
/// that was being written. (dgraph-io/badger#2037, #2334 and #767)
#[test]
fn one_large_value_overwritten_again_and_again_takes_bounded_space() {
    let fs = MemFs::new();
    let db = Db::open(PATH, separating(&fs)).unwrap();
    for round in 0..200u32 {
        db.put("key", [round as u8; 20_000]).unwrap();
        db.flush().unwrap();
        while db.step_background().unwrap() {}
    }
    db.collect_garbage().unwrap();
    assert!(bytes(&fs, ".seg") < 200_000, "{} bytes in segments", bytes(&fs, ".seg"));
    assert_eq!(db.get("key").unwrap().unwrap(), [199; 20_000]);
}

/// A few live values kept all files of values alive. (facebook/rocksdb#9235)
#[test]
fn a_few_survivors_do_not_keep_all_segments() {
    let fs = MemFs::new();
    let db = Db::open(PATH, separating(&fs)).unwrap();
    for n in 0..1000u32 {
        db.put(n.to_be_bytes(), [n as u8; 1000]).unwrap();
    }
    db.flush().unwrap();
    for n in (0..1000u32).filter(|n| n % 100 != 0) {
        db.delete(n.to_be_bytes()).unwrap();
    }
    db.flush().unwrap();
    db.with(&GcOptions { max_dead_fraction: 0.0, ..GcOptions::default() })
        .collect_garbage()
        .unwrap();
    assert!(bytes(&fs, ".seg") < 100_000, "{} bytes in segments", bytes(&fs, ".seg"));
    for n in (0..1000u32).step_by(100) {
        assert_eq!(db.get(n.to_be_bytes()).unwrap().unwrap(), [n as u8; 1000]);
    }
}

/// The collection of garbage wrote an old value over a newer one, because it put values back as
/// user writes. (nutsdb/nutsdb#392, #393)
#[test]
fn a_collection_does_not_undo_writes_made_meanwhile() {
    let fs = MemFs::new();
    let db = Db::open(PATH, separating(&fs)).unwrap();
    for n in 0..300u32 {
        db.put(n.to_be_bytes(), [1; 500]).unwrap();
    }
    db.flush().unwrap();
    for n in (0..300u32).step_by(2) {
        db.put(n.to_be_bytes(), [2; 500]).unwrap();
    }
    db.flush().unwrap();
    let writer = db.clone();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for n in 0..300u32 {
                writer.put(n.to_be_bytes(), [3; 500]).unwrap();
            }
        });
        for _ in 0..5 {
            db.collect_garbage().unwrap();
        }
    });
    for n in 0..300u32 {
        assert_eq!(db.get(n.to_be_bytes()).unwrap().unwrap(), [3; 500], "{n}");
    }
}

/// Each open left a log, a manifest and a table, also where nothing was written.
/// (facebook/rocksdb#2686, google/leveldb#380)
#[test]
fn reopening_a_hundred_times_leaves_no_more_files() {
    let fs = MemFs::new();
    for n in 0..100u32 {
        let db = Db::open(PATH, options(&fs)).unwrap();
        db.put(n.to_be_bytes(), "value").unwrap();
        while db.step_background().unwrap() {}
        db.close().unwrap();
    }
    let files = fs.list(Path::new(PATH)).unwrap();
    // Compactions leave some runs of tables. One hundred opens made four hundred files in turn.
    assert!(files.len() < 40, "{files:?}");
    let db = Db::open(PATH, options(&fs)).unwrap();
    assert_eq!(db.iter().unwrap().count(), 100);
}

/// With automatic compactions off, a writer waited for ever for a compaction.
/// (facebook/rocksdb#1208)
#[test]
fn a_writer_without_automatic_compactions_does_not_wait_for_one() {
    let fs = MemFs::new();
    let by_hand = Options {
        disable_auto_compactions: true,
        write_buffer_size: 16 << 10,
        level0_slowdown_trigger: 4,
        level0_stop_trigger: 6,
        ..options(&fs)
    };
    let db = Db::open(PATH, by_hand).unwrap();
    for n in 0..3000u32 {
        db.put(n.to_be_bytes(), [7; 100]).unwrap();
        if n % 100 == 0 {
            db.flush().unwrap();
        }
    }
    assert_eq!(db.iter().unwrap().count(), 3000);
    db.compact(..).unwrap();
    assert_eq!(db.iter().unwrap().count(), 3000);
}
