//! Tests of the manifest and of `CURRENT`, which names the manifest in force.

use std::path::Path;
use std::sync::Arc;

use foldb_env::mem::{Fault, Operation};
use foldb_env::{FileSystem, MemFs};

use crate::ErrorKind;
use crate::files::FileNames;
use crate::version::{Edit, Manifest};

fn setup() -> (MemFs, Arc<dyn FileSystem>, FileNames) {
    let fs = MemFs::new();
    fs.create_dir_all(Path::new("db")).unwrap();
    (fs.clone(), Arc::new(fs), FileNames::new(Path::new("db")))
}

fn edit(log: u64) -> Edit {
    Edit { log: Some(log), ..Edit::default() }
}

fn append(manifest: &mut Manifest, log: u64) -> crate::Result<()> {
    manifest.append(&edit(log))?;
    manifest.sync()
}

fn logs(fs: &MemFs, names: &FileNames) -> Vec<u64> {
    let recovered = Manifest::recover(fs, names, None).unwrap().unwrap();
    recovered.edits.iter().map(|edit| edit.log.unwrap()).collect()
}

#[test]
fn every_edit_that_returned_survives() {
    let (mem, fs, names) = setup();
    assert!(Manifest::recover(&mem, &names, None).unwrap().is_none());
    let mut manifest = Manifest::create(&fs, &names, 1, 9, &edit(1)).unwrap();
    for log in 2..5 {
        append(&mut manifest, log).unwrap();
        assert_eq!(logs(&mem.crash(), &names), (1..=log).collect::<Vec<_>>());
    }
    manifest.trim().unwrap();
    assert_eq!(logs(&mem, &names), [1, 2, 3, 4]);
}

#[test]
fn the_manifest_in_force_is_the_old_or_the_new() {
    for at in 1..40 {
        let (mem, fs, names) = setup();
        let mut old = Manifest::create(&fs, &names, 1, 9, &edit(1)).unwrap();
        append(&mut old, 2).unwrap();
        mem.inject(Fault::on_mutation().nth(at).forever());
        let created = Manifest::create(&fs, &names, 2, 9, &edit(20));
        for survivor in [mem.crash(), mem.kill(), mem.crash_with(at)] {
            let found = logs(&survivor, &names);
            assert!(found == [1, 2] || found == [20], "{found:?} after {at} changes");
            assert!(created.is_err() || found == [20]);
        }
        if created.is_ok() {
            return;
        }
    }
    panic!("creating a manifest takes fewer changes");
}

/// A manifest that is begun but not put in force changes nothing for the next open.
#[test]
fn a_manifest_that_is_only_begun_takes_no_effect() {
    let (mem, fs, names) = setup();
    let mut old = Manifest::create(&fs, &names, 1, 9, &edit(1)).unwrap();
    let next = Manifest::begin(&fs, &names, 2, 9, &edit(20)).unwrap();
    append(&mut old, 2).unwrap();
    assert_eq!(logs(&mem.crash(), &names), [1, 2]);
    next.put_in_force(&mem, &names).unwrap();
    assert_eq!(logs(&mem.crash(), &names), [20]);
}

#[test]
fn what_is_missing_or_damaged_is_named() {
    let (mem, fs, names) = setup();
    let mut manifest = Manifest::create(&fs, &names, 1, 9, &edit(1)).unwrap();
    append(&mut manifest, 2).unwrap();
    append(&mut manifest, 3).unwrap();
    manifest.trim().unwrap();
    let path = names.manifest(1);
    let whole = mem.read(&path).unwrap();

    let write = |path: &Path, bytes: &[u8]| {
        let copy = mem.kill();
        copy.create(path).unwrap().write_at(bytes, 0).unwrap();
        copy
    };
    for garbage in ["", "MANIFEST-000001", "000001.log\n", "MANIFEST-000001\nx", "\u{e9}\n"] {
        let copy = write(&names.current(), garbage.as_bytes());
        let error = Manifest::recover(&copy, &names, None).unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Corruption, Some(&*names.current())));
    }
    let copy = write(&names.current(), b"MANIFEST-000007\n");
    let error = Manifest::recover(&copy, &names, None).unwrap_err();
    assert_eq!(error.path(), Some(&*names.manifest(7)), "{error}");

    for len in 0..whole.len() {
        // Recovery cuts only a tail that was never synced.
        match Manifest::recover(&write(&path, &whole[..len]), &names, None) {
            Ok(recovered) => assert!(!recovered.unwrap().edits.is_empty()),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corruption, "{error}"),
        }
    }
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 4;
        match Manifest::recover(&write(&path, &flipped), &names, None) {
            // Damage of the last edit looks like a torn tail.
            Ok(recovered) => assert_eq!(recovered.unwrap().edits.len(), 2, "byte {at}"),
            Err(error) => {
                assert_eq!((error.kind(), error.path()), (ErrorKind::Corruption, Some(&*path)));
            }
        }
    }
}

/// After a failed sync, no caller is told that a later edit is durable.
#[test]
fn a_failed_sync_ends_the_manifest() {
    let (mem, fs, names) = setup();
    let mut manifest = Manifest::create(&fs, &names, 1, 9, &edit(1)).unwrap();
    mem.inject(Fault::on(Operation::Sync));
    append(&mut manifest, 2).unwrap_err();
    append(&mut manifest, 3).unwrap_err();
}

/// After an edit that does not fit the disk, the next edit goes to the same offset.
#[test]
fn a_manifest_takes_edits_again_after_a_full_disk() {
    let (mem, fs, names) = setup();
    let mut manifest = Manifest::create(&fs, &names, 1, 9, &edit(1)).unwrap();
    mem.inject(Fault::on(Operation::Write).kind(std::io::ErrorKind::StorageFull).torn_at(30));
    assert_eq!(append(&mut manifest, 2).unwrap_err().kind(), ErrorKind::NoSpace);
    append(&mut manifest, 3).unwrap();
    assert_eq!(logs(&mem.crash(), &names), [1, 3]);
}
