//! Databases of LevelDB and RocksDB are refused and left unchanged, and databases of foldb are
//! never taken for one of them. The bytes below are from files that those engines wrote.

use std::path::Path;

use foldb::env::{Env, FileSystem, MemFs};
use foldb::repair::RepairOptions;
use foldb::{Db, ErrorKind, Options};

use crate::support::{PATH, assert_error, open, options, text};

const LEVELDB_MANIFEST: &[u8] = b"\x56\xf9\xb8\xf8\x1c\0\x01\x01\x1aleveldb.BytewiseComparator\
    \xa4\x9c\x8b\xbe\x08\0\x01\x02\x03\x09\0\x03\x04\x04\0";
const ROCKSDB_MANIFEST: &[u8] = b"\x56\xf9\xb8\xf8\x1c\0\x01\x01\x1aleveldb.BytewiseComparator\
    \xf4\x03\x0c\x5a\x04\0\x01\x02\0\x04\0\xfc\x2c\x26\xf9\x06\0\x01\x09\0\x03\x06\x04\0";
/// The write of one key. The two engines log it in the same bytes.
const LOG: &[u8] = b"\xa8\xef\xd2\xd4\x17\0\x01\x01\0\0\0\0\0\0\0\x01\0\0\0\x01\x03key\x05value";
const LEVELDB_TABLE_END: &[u8] = b"\0\0\0\0\0\0\0\0\x57\xfb\x80\x8b\x24\x75\x47\xdb";
const ROCKSDB_TABLE_END: &[u8] = b"\0\0\0\0\x05\0\0\0\xf7\xcf\xf4\x85\xb7\x41\xe2\x88";

/// A directory of another engine, as names and contents.
type Files<'a> = &'a [(&'a str, &'a [u8])];

const LEVELDB: Files<'static> = &[
    ("CURRENT", b"MANIFEST-000002\n"),
    ("MANIFEST-000002", LEVELDB_MANIFEST),
    ("000003.log", LOG),
    ("000005.ldb", LEVELDB_TABLE_END),
    ("LOG", b"2026/11/23-15:19:23 Creating DB\n"),
    ("LOCK", b""),
];
const ROCKSDB: Files<'static> = &[
    ("CURRENT", b"MANIFEST-000005\n"),
    ("MANIFEST-000005", ROCKSDB_MANIFEST),
    ("000004.log", LOG),
    ("000009.sst", ROCKSDB_TABLE_END),
    ("IDENTITY", b"46aff4ca-62a5-4f2b-8ef5-65b5d9ba4a37"),
    ("OPTIONS-000007", b"[Version]\n"),
    ("LOG", b"RocksDB version: 7.8.3\n"),
    ("LOCK", b""),
];

fn write(fs: &MemFs, files: Files<'_>) {
    let directory = Path::new(PATH);
    fs.create_dir_all(directory).unwrap();
    for (name, bytes) in files {
        fs.create(&directory.join(name)).unwrap().write_at(bytes, 0).unwrap();
    }
}

fn contents(fs: &MemFs) -> Vec<(String, Vec<u8>)> {
    let mut names = fs.list(Path::new(PATH)).unwrap();
    names.sort();
    let read = |name: String| (name.clone(), fs.read(&Path::new(PATH).join(name)).unwrap());
    names.into_iter().map(read).collect()
}

/// Tries every function that takes the path of a database.
fn assert_refused(files: Files<'_>, engine: &str) {
    let fs = MemFs::new();
    write(&fs, files);
    let before = contents(&fs);
    let make = || options(&fs);
    let existing = || Options { create_if_missing: false, ..make() };
    let dry = RepairOptions { dry_run: true, ..make().into() };
    let copied = RepairOptions { copy_to: Some("copy".into()), ..make().into() };
    let doors: [(&str, foldb::Result<()>); 9] = [
        ("open", Db::open(PATH, make()).map(drop)),
        ("open an existing one", Db::open(PATH, existing()).map(drop)),
        ("open read-only", Db::open_read_only(PATH, make()).map(drop)),
        ("destroy", Db::destroy(PATH, &make())),
        ("verify", foldb::repair::verify(PATH, make()).map(drop)),
        ("repair", Db::repair(PATH, make()).map(drop)),
        ("repair, dry", Db::repair(PATH, dry).map(drop)),
        ("repair a copy", Db::repair(PATH, copied).map(drop)),
        ("open, new", Db::open(PATH, Options { error_if_exists: true, ..make() }).map(drop)),
    ];
    for (door, outcome) in doors {
        let what = format!("{door}: {files:?}");
        let Err(error) = outcome else { panic!("{what}") };
        let error = assert_error(Err::<(), _>(error), ErrorKind::ForeignDatabase, Some(PATH));
        assert!(error.to_string().contains(engine), "{what}: {error}");
    }
    assert_eq!(contents(&fs), before);
    assert!(!fs.exists(Path::new("copy")));
}

fn assert_leveldb(files: Files<'_>) {
    assert_refused(files, "a LevelDB database");
    assert_refused(files, "foldb import --from leveldb SRC DST");
}

#[test]
fn a_leveldb_database_is_refused_and_left_unchanged() {
    assert_leveldb(LEVELDB);
    for gone in 0..LEVELDB.len() {
        let rest: Vec<_> = (0..LEVELDB.len()).filter(|&n| n != gone).map(|n| LEVELDB[n]).collect();
        assert_leveldb(&rest);
    }
}

#[test]
fn the_remains_of_a_leveldb_database_are_recognised() {
    let old_name = ("000005.sst", LEVELDB_TABLE_END);
    let garbage = |name| (name, &b"garbage, which a crash or a bad disk left"[..]);
    // The old manifest ends within its second record.
    let torn = ("MANIFEST-000002", &LEVELDB_MANIFEST[..40]);
    // A creation that was killed before the rename that makes CURRENT.
    let next = ("000002.dbtmp", &b"MANIFEST-000002\n"[..]);
    let files: [Files<'_>; 9] = [
        &[LEVELDB[0], LEVELDB[1]],
        &[LEVELDB[1], next],
        &[LEVELDB[0], torn],
        &[LEVELDB[2]],
        &[LEVELDB[3]],
        &[old_name],
        &[LEVELDB[0], garbage("MANIFEST-000002"), LEVELDB[2]],
        &[LEVELDB[0], garbage("MANIFEST-000002"), garbage("000003.log"), LEVELDB[3]],
        // A manifest whose checksum is wrong still begins with the name of its comparator.
        &[LEVELDB[0], ("MANIFEST-000002", b"\0\0\0\0\x1c\0\x01\x01\x1aleveldb.BytewiseComparator")],
    ];
    files.into_iter().for_each(assert_leveldb);
}

#[test]
fn a_record_that_fills_the_first_block_of_a_log_is_recognised() {
    // LevelDB splits a longer write, so this is the largest first part.
    let mut log = vec![0; 32 << 10];
    log[4..7].copy_from_slice(&[0xf9, 0x7f, 2]);
    let checksum = masked_crc32c(&log[6..]);
    log[..4].copy_from_slice(&checksum.to_le_bytes());
    assert_leveldb(&[("000003.log", &log)]);
}

fn masked_crc32c(bytes: &[u8]) -> u32 {
    let crc = !bytes.iter().fold(!0u32, |mut crc, byte| {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
        }
        crc
    });
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

#[test]
fn a_rocksdb_database_is_refused_and_left_unchanged() {
    let refused = |files: Files<'_>| assert_refused(files, "a RocksDB database");
    refused(ROCKSDB);
    for gone in 0..ROCKSDB.len() {
        let rest: Vec<_> = (0..ROCKSDB.len()).filter(|&n| n != gone).map(|n| ROCKSDB[n]).collect();
        refused(&rest);
    }
    // Without tables.
    refused(&[ROCKSDB[0], ROCKSDB[1], ROCKSDB[4]]);
    refused(&[ROCKSDB[0], ROCKSDB[1], ROCKSDB[5]]);
    // The table of an old format, with LevelDB's magic.
    refused(&[ROCKSDB[4], ("000009.sst", LEVELDB_TABLE_END)]);
}

#[test]
fn a_database_of_foldb_is_never_taken_for_a_foreign_one() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("flushed", "1").unwrap();
    db.flush().unwrap();
    db.put("logged", "2").unwrap();
    db.close().unwrap();
    // Files of the other engines, under every name that foldb's own files leave free.
    let foreign: Vec<_> = LEVELDB.iter().chain(ROCKSDB).copied().collect();
    let directory = Path::new(PATH);
    let free: Vec<_> =
        foreign.into_iter().filter(|(name, _)| !fs.exists(&directory.join(name))).collect();
    assert!(free.len() > 7);
    write(&fs, &free);
    let db = open(&fs).unwrap();
    assert_eq!(text(&db, "flushed").as_deref(), Some("1"));
    assert_eq!(text(&db, "logged").as_deref(), Some("2"));
    db.close().unwrap();
    assert!(foldb::repair::verify(PATH, options(&fs)).is_ok());
    Db::repair(PATH, options(&fs)).unwrap();
}

#[test]
fn the_remains_of_a_database_of_foldb_are_never_taken_for_foreign_ones() {
    let full = MemFs::new();
    let db = open(&full).unwrap();
    db.put("flushed", "1").unwrap();
    db.flush().unwrap();
    db.put("logged", "2").unwrap();
    db.close().unwrap();
    let files = contents(&full);
    assert!(files.len() >= 6, "{files:?}");
    // Each file of its own, beside files of the other engines. Lock and CURRENT say nothing.
    let telling = files.iter().filter(|(name, _)| name != "LOCK" && name != "CURRENT");
    for (name, bytes) in telling {
        let fs = MemFs::new();
        write(&fs, &[LEVELDB[3], ROCKSDB[3], ROCKSDB[4]]);
        write(&fs, &[(name, bytes)]);
        let outcome = Db::open_read_only(PATH, options(&fs));
        assert_error(outcome, ErrorKind::DatabaseMissing, None);
    }
}

#[test]
fn files_that_prove_nothing_do_not_prevent_a_creation() {
    // What a program, or an open of LevelDB that failed, may leave.
    let files: [Files<'_>; 4] = [
        &[("LOG", b"a line\n"), ("LOG.old", b"another"), ("LOCK", b"")],
        &[("IDENTITY", b"me"), ("OPTIONS-000001", b"mine")],
        &[("notes.ldb", LEVELDB_TABLE_END), ("12.sst", ROCKSDB_TABLE_END)],
        &[("000007.ldb", b""), ("000008.sst", b"short")],
    ];
    for files in files {
        let fs = MemFs::new();
        write(&fs, files);
        open(&fs).unwrap().put("k", "v").unwrap();
        for (name, bytes) in files {
            assert_eq!(fs.read(&Path::new(PATH).join(name)).unwrap(), *bytes, "{name}");
        }
        let again = Options { env: Env::in_memory(fs.clone()), ..options(&fs) };
        assert_eq!(text(&Db::open_read_only(PATH, again).unwrap(), "k").as_deref(), Some("v"));
    }
}
