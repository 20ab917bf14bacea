//! Checks that injected errors fail exactly the calls that their rules name, and that calls are
//! counted.

use std::io::ErrorKind;
use std::path::Path;

use foldb_env::FileSystem;
use foldb_env::mem::{Fault, MemFs, Operation};

fn path(name: &str) -> &Path {
    Path::new(name)
}

#[test]
fn a_fault_strikes_the_nth_call_once() {
    let fs = MemFs::new();
    let file = fs.create(path("f")).unwrap();
    fs.inject(Fault::on(Operation::Write).nth(3).kind(ErrorKind::StorageFull));
    let results: Vec<bool> = (0..5).map(|at| file.write_at(b"x", at).is_ok()).collect();
    assert_eq!(results, [true, true, false, true, true]);
}

#[test]
fn a_fault_lasts_as_long_as_it_says() {
    let fs = MemFs::new();
    let file = fs.create(path("f")).unwrap();
    fs.inject(Fault::on(Operation::Sync).nth(2).times(2));
    let results: Vec<bool> = (0..5).map(|_| file.sync().is_ok()).collect();
    assert_eq!(results, [true, false, false, true, true]);

    fs.inject(Fault::on(Operation::Sync).forever());
    assert!((0..5).all(|_| file.sync().is_err()));
    fs.clear_faults();
    file.sync().unwrap();
}

#[test]
fn a_fault_strikes_only_paths_it_names() {
    let fs = MemFs::new();
    let (log, table) = (fs.create(path("1.log")).unwrap(), fs.create(path("2.table")).unwrap());
    fs.inject(Fault::on(Operation::Write).path(".log").forever());
    table.write_at(b"x", 0).unwrap();
    log.write_at(b"x", 0).unwrap_err();

    fs.inject(Fault::on(Operation::Rename).path("CURRENT"));
    fs.rename(path("1.log"), path("3.log")).unwrap();
    fs.rename(path("2.table"), path("CURRENT")).unwrap_err();
    assert!(fs.exists(path("2.table")) && !fs.exists(path("CURRENT")));
    fs.rename(path("2.table"), path("CURRENT")).unwrap();
}

#[test]
fn every_kind_of_call_can_fail_and_says_what_failed() {
    use Operation::*;
    let fs = MemFs::new();
    fs.create_dir_all(path("empty")).unwrap();
    let writer = fs.create(path("f")).unwrap();
    writer.write_at(b"bytes", 0).unwrap();
    let reader = fs.open(path("f")).unwrap();

    let call = |operation| match operation {
        Create => fs.create(path("new")).map(drop),
        Open => fs.open(path("f")).map(drop),
        Rename => fs.rename(path("f"), path("g")),
        HardLink => fs.hard_link(path("f"), path("h")),
        Remove => fs.remove(path("f")),
        CreateDir => fs.create_dir_all(path("dir")),
        RemoveDir => fs.remove_dir(path("empty")),
        List => fs.list(path("")).map(drop),
        Look => fs.try_exists(path("f")).map(drop),
        SyncDir => fs.sync_dir(path("")),
        Lock => fs.lock(path("LOCK")).map(drop),
        Read => reader.read_exact_at(&mut [0], 0),
        Write => writer.write_at(b"BYTES", 0),
        Preallocate => writer.preallocate(100),
        Truncate => writer.truncate(1),
        Sync => writer.sync(),
    };
    let all = [
        Create,
        Open,
        Rename,
        HardLink,
        Remove,
        CreateDir,
        RemoveDir,
        List,
        Look,
        SyncDir,
        Lock,
        Read,
        Write,
        Preallocate,
        Truncate,
        Sync,
    ];
    for operation in all {
        let before = fs.counts().of(operation);
        fs.inject(Fault::on(operation).kind(ErrorKind::PermissionDenied));
        let error = call(operation).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(error.to_string().contains(&format!("{operation:?}")), "{error}");
        assert_eq!(fs.counts().of(operation), before + 1, "{operation:?} is counted");
    }
    // No failed call changed the file.
    assert_eq!(fs.read(path("f")).unwrap(), b"bytes");
    assert_eq!(fs.list(path("")).unwrap(), ["f", "empty"]);
    // Each rule failed one call only.
    for operation in [Write, Preallocate, Truncate, Sync, Read, SyncDir, Rename] {
        call(operation).unwrap();
    }
}

#[test]
fn a_torn_write_leaves_its_beginning() {
    let fs = MemFs::new();
    let file = fs.create(path("f")).unwrap();
    fs.inject(Fault::on(Operation::Write).kind(ErrorKind::StorageFull).torn_at(3));
    let error = file.write_at(b"abcdef", 0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert_eq!(fs.read(path("f")).unwrap(), b"abc");
    assert_eq!(fs.counts().bytes_written, 3);
}

#[test]
fn a_fault_on_mutations_stops_the_disk_and_lets_reads_through() {
    let fs = MemFs::new();
    let file = fs.create(path("f")).unwrap();
    fs.inject(Fault::on_mutation().nth(3).forever());
    file.write_at(b"one", 0).unwrap();
    assert_eq!(fs.read(path("f")).unwrap(), b"one");
    file.sync().unwrap();
    file.write_at(b"two", 0).unwrap_err();
    fs.sync_dir(path("")).unwrap_err();
    fs.remove(path("f")).unwrap_err();
    assert_eq!(fs.read(path("f")).unwrap(), b"one");
    assert_eq!(fs.list(path("")).unwrap(), ["f"]);
}

#[test]
fn calls_and_bytes_are_counted() {
    let fs = MemFs::new();
    let file = fs.create(path("f")).unwrap();
    file.write_at(&[0; 10], 0).unwrap();
    file.write_at(&[0; 5], 10).unwrap();
    file.sync().unwrap();
    fs.sync_dir(path("")).unwrap();
    fs.open(path("f")).unwrap().read_exact_at(&mut [0; 7], 0).unwrap();
    let counts = fs.counts();
    assert_eq!((counts.writes(), counts.syncs(), counts.dir_syncs()), (2, 1, 1));
    assert_eq!((counts.bytes_written, counts.bytes_read), (15, 7));
    assert_eq!((counts.of(Operation::Open), counts.of(Operation::Read)), (1, 1));
    assert_eq!(counts.mutations(), 5);
}
