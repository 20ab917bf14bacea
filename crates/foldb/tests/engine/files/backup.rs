//! Incremental backups: what they share, what they restore, and what crashes and damage leave.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use foldb::backup::Backups;
use foldb::env::mem::{Fault, Operation};
use foldb::env::{Env, FileSystem, MemFs};
use foldb::internals::Knobs;
use foldb::{Db, ErrorKind, KeyspaceOptions, LogAdoption, Options, Result, WriteOptions};

use crate::support::{PATH, assert_error, number, options, watched};

const DIR: &str = "backups";
const NEW: &str = "new";
/// Number of crash outcomes to check.
const SEEDS: u64 = 4;

/// Options that separate values and adopt logs as segments.
fn with(fs: &MemFs) -> Options {
    Options {
        default: KeyspaceOptions { value_separation_min: Some(256), ..options(fs).default },
        knobs: Knobs { segment_size: 16 << 10, ..Knobs::default() },
        adopt_logs: LogAdoption::Always,
        ..options(fs)
    }
}

fn backups(fs: &MemFs) -> Backups {
    Backups::at(DIR, &with(fs))
}

/// Writes keys `from..to`, of which every second one has a large value.
fn fill(db: &Db, from: u64, to: u64) -> Result<()> {
    for n in from..to {
        let value = vec![n as u8; if n.is_multiple_of(2) { 8 } else { 700 }];
        db.put(format!("{n:05}"), value)?;
        db.keyspace("counts")?.merge("all", number(1))?;
    }
    Ok(())
}

fn create(fs: &MemFs) -> Result<Db> {
    let db = Db::open(PATH, with(fs))?;
    db.keyspace_or_create("counts", KeyspaceOptions::default())?;
    Ok(db)
}

/// Checks that a database holds the keys `0..to`.
fn check(path: &str, fs: &MemFs, to: u64, moment: &str) {
    let db = Db::open(path, with(fs)).unwrap_or_else(|error| panic!("{moment}: {error}"));
    db.verify().unwrap_or_else(|error| panic!("{moment}: {error}"));
    let mut next = 0;
    for entry in db.iter().unwrap() {
        let (key, value) = entry.unwrap_or_else(|error| panic!("{moment}: {error}"));
        assert_eq!(&key[..], format!("{next:05}").as_bytes(), "{moment}");
        assert!(value.iter().all(|&byte| byte == next as u8), "{moment}: value {next}");
        next += 1;
    }
    assert_eq!(next, to, "{moment}: keys");
    let all = db.keyspace("counts").unwrap().get("all").unwrap().unwrap();
    assert_eq!(&all[..], number(to), "{moment}: count");
    db.close().unwrap();
}

/// Restores a backup, checks it, and removes it again.
fn check_backup(fs: &MemFs, id: u64, to: u64, moment: &str) {
    backups(fs).restore(Some(id), NEW).unwrap_or_else(|error| panic!("{moment}: {error}"));
    check(NEW, fs, to, &format!("{moment}, backup {id}"));
    Db::destroy(NEW, &with(fs)).unwrap();
}

fn files_in(fs: &MemFs, directory: &str) -> Vec<PathBuf> {
    let mut names = fs.list(Path::new(directory)).unwrap();
    names.sort();
    names.iter().map(|name| Path::new(directory).join(name)).collect()
}

#[test]
fn later_backups_copy_only_new_files() {
    let fs = MemFs::new();
    let db = create(&fs).unwrap();
    fill(&db, 0, 400).unwrap();
    db.compact(..).unwrap();
    let first = backups(&fs).create(&db).unwrap();
    assert_eq!((first.id, first.new_files), (1, first.files));
    let again = backups(&fs).create(&db).unwrap();
    assert_eq!(again.files, first.files);
    let shared = files_in(&fs, "backups/shared").len() as u64;
    assert_eq!(again.new_files, first.files - shared, "only log, manifest and their kin are new");
    fill(&db, 400, 420).unwrap();
    db.flush().unwrap();
    fill(&db, 420, 425).unwrap();
    let third = backups(&fs).create(&db).unwrap();
    assert!(third.new_files > again.new_files && third.new_files < third.files, "{third:?}");
    assert!(third.new_bytes * 2 < third.bytes, "{third:?}");
    assert_eq!(backups(&fs).list().unwrap(), [first, again, third]);
    fill(&db, 425, 500).unwrap();
    db.compact(..).unwrap();
    for (id, to) in [(1, 400), (2, 400), (3, 425)] {
        check_backup(&fs, id, to, "while the database is open");
    }
    let checked = backups(&fs).verify().unwrap();
    assert!(checked.faults.is_empty(), "{checked:?}");
    assert_eq!(checked.backups, 3);
    backups(&fs).restore(None, NEW).unwrap();
    check(NEW, &fs, 425, "the newest");
}

#[test]
fn a_shared_file_goes_with_its_last_backup() {
    let fs = MemFs::new();
    let db = create(&fs).unwrap();
    fill(&db, 0, 300).unwrap();
    db.compact(..).unwrap();
    backups(&fs).create(&db).unwrap();
    let of_first = files_in(&fs, "backups/shared");
    fill(&db, 300, 310).unwrap();
    backups(&fs).create(&db).unwrap();
    db.delete_range(..).unwrap();
    db.compact(..).unwrap();
    backups(&fs).create(&db).unwrap();
    backups(&fs).delete(1).unwrap();
    assert!(of_first.iter().all(|path| fs.exists(path)), "backup 2 names them");
    check_backup(&fs, 2, 310, "after the delete of 1");
    backups(&fs).delete(2).unwrap();
    assert!(of_first.iter().any(|path| !fs.exists(path)));
    let ids: Vec<u64> = backups(&fs).list().unwrap().iter().map(|own| own.id).collect();
    assert_eq!(ids, [3]);
    assert!(backups(&fs).verify().unwrap().faults.is_empty());
    let error = assert_error(backups(&fs).delete(2), ErrorKind::InvalidArgument, None);
    assert!(error.to_string().contains("expected backup 2"), "{error}");
}

/// A database and its copy give one number to different files of one length.
#[test]
fn databases_of_one_origin_do_not_mix_their_files() {
    let fs = MemFs::new();
    let db = create(&fs).unwrap();
    fill(&db, 0, 50).unwrap();
    db.flush().unwrap();
    db.checkpoint("twin").unwrap();
    let twin = Db::open("twin", with(&fs)).unwrap();
    for (db, byte) in [(&db, 1u8), (&twin, 2)] {
        db.put("shared key", [byte; 1000]).unwrap();
        db.put("small", [byte; 8]).unwrap();
        db.flush().unwrap();
    }
    let one = backups(&fs).create(&db).unwrap();
    let two = backups(&fs).create(&twin).unwrap();
    assert_eq!(one.database, two.database);
    for (id, byte) in [(one.id, 1u8), (two.id, 2)] {
        backups(&fs).restore(Some(id), NEW).unwrap();
        let new = Db::open(NEW, with(&fs)).unwrap();
        assert_eq!(new.get("shared key").unwrap().unwrap(), [byte; 1000]);
        assert_eq!(new.get("small").unwrap().unwrap(), [byte; 8]);
        new.close().unwrap();
        drop(new);
        Db::destroy(NEW, &with(&fs)).unwrap();
    }
}

#[test]
fn unlogged_writes_are_backed_up() {
    let fs = MemFs::new();
    let db = create(&fs).unwrap();
    let unlogged = WriteOptions { disable_wal: true, ..WriteOptions::default() };
    db.with(&unlogged).put("key", "value").unwrap();
    backups(&fs).create(&db).unwrap();
    backups(&fs).restore(None, NEW).unwrap();
    let new = Db::open(NEW, with(&fs)).unwrap();
    assert_eq!(new.get("key").unwrap().unwrap(), b"value");
}

/// Overwrites one byte of a file.
/// A delete of a backup at any call of a verify is no damage.
#[test]
fn a_delete_beside_a_verify_is_no_fault() {
    let fs = MemFs::new();
    let db = create(&fs).unwrap();
    for n in 0..3 {
        fill(&db, n * 40, n * 40 + 40).unwrap();
        db.compact(..).unwrap();
        backups(&fs).create(&db).unwrap();
    }
    for id in 1..=3 {
        let mut moment = 0;
        loop {
            let fs = fs.kill();
            let calls = AtomicU64::new(0);
            let other = fs.clone();
            let watch = Arc::new(move |_: Operation, _: &Path| {
                if calls.fetch_add(1, Relaxed) == moment {
                    backups(&other).delete(id).unwrap();
                }
                Ok(())
            });
            let options = Options {
                env: Env { fs: watched(&fs, &watch), ..Env::in_memory(fs.clone()) },
                ..with(&fs)
            };
            let checked = Backups::at(DIR, &options).verify().unwrap();
            assert!(checked.faults.is_empty(), "deleted {id} at call {moment}: {checked:?}");
            if backups(&fs).list().unwrap().len() == 3 {
                break;
            }
            moment += 1;
        }
        assert!(moment > 10, "{moment} calls");
    }
}

fn damage(fs: &MemFs, path: &Path, at: usize) {
    let mut bytes = fs.read(path).unwrap();
    bytes[at] ^= 1;
    let file = fs.create(path).unwrap();
    file.write_at(&bytes, 0).unwrap();
    file.sync().unwrap();
}

#[test]
fn damage_of_every_file_is_found_and_refused() {
    let whole = MemFs::new();
    let db = create(&whole).unwrap();
    fill(&db, 0, 100).unwrap();
    db.flush().unwrap();
    fill(&db, 100, 110).unwrap();
    backups(&whole).create(&db).unwrap();
    whole.sync_dir(Path::new(DIR)).unwrap();
    let mut paths = files_in(&whole, "backups/shared");
    paths.extend(files_in(&whole, "backups/000001.own"));
    paths.push(PathBuf::from("backups/000001.backup"));
    assert!(paths.len() > 5, "{paths:?}");
    for path in &paths {
        let len = whole.len(path).unwrap() as usize;
        for how in ["first", "middle", "last", "cut", "gone"] {
            let fs = whole.kill();
            match how {
                "first" => damage(&fs, path, 0),
                "middle" => damage(&fs, path, len / 2),
                "last" => damage(&fs, path, len - 1),
                "cut" => {
                    let bytes = fs.read(path).unwrap();
                    let file = fs.create(path).unwrap();
                    file.write_at(&bytes[..len - 1], 0).unwrap();
                }
                _ => fs.remove(path).unwrap(),
            }
            let what = format!("{}, {how}", path.display());
            if how == "gone" && path.extension().is_some_and(|end| end == "backup") {
                assert!(backups(&fs).list().unwrap().is_empty());
                continue;
            }
            let check = backups(&fs).verify().unwrap();
            assert_eq!(check.faults.len(), 1, "{what}: {check:?}");
            assert_eq!(check.faults[0].path(), Some(&**path), "{what}");
            let refused = backups(&fs).restore(None, NEW).map(|_| ()).expect_err(&what);
            assert_eq!(refused.kind(), ErrorKind::Corruption, "{what}: {refused}");
            assert_eq!(refused.path(), Some(&**path), "{what}: {refused}");
            assert!(!fs.exists(Path::new(NEW)), "{what}: files are left");
        }
    }
}

#[test]
fn other_directories_are_refused() {
    let fs = MemFs::new();
    let db = create(&fs).unwrap();
    fill(&db, 0, 5).unwrap();
    let into = |directory: &str| Backups::at(directory, &with(&fs)).create(&db).map(|_| ());
    assert_error(into(PATH), ErrorKind::InvalidArgument, Some(PATH));
    let other = Db::open("other", with(&fs)).unwrap();
    other.close().unwrap();
    drop(other);
    assert!(into("other").is_err());
    fs.create_dir_all(Path::new("mine")).unwrap();
    fs.create(Path::new("mine/notes.txt")).unwrap();
    let error = assert_error(into("mine"), ErrorKind::InvalidArgument, Some("mine"));
    assert!(error.to_string().contains("'notes.txt'"), "{error}");
    let none = Backups::at("nothing", &with(&fs));
    assert_error(none.list(), ErrorKind::InvalidArgument, Some("nothing"));
    backups(&fs).create(&db).unwrap();
    let taken = backups(&fs).restore(None, PATH).map(|_| ());
    assert_error(taken, ErrorKind::DatabaseExists, None);
    let lock = fs.lock(Path::new("backups/LOCK")).unwrap();
    assert_error(backups(&fs).create(&db).map(|_| ()), ErrorKind::Locked, None);
    drop(lock);
    backups(&fs).create(&db).unwrap();
}

/// What a program was told: how many keys each backup has, and which are deleted.
#[derive(Default)]
struct Told {
    backups: Vec<(u64, u64)>,
    /// The backup whose delete began.
    deleting: Option<u64>,
    /// Keys of the backup whose creation began.
    creating: Option<u64>,
}

/// Writes, and makes and deletes backups between.
fn program(fs: &MemFs, told: &mut Told) -> Result<()> {
    let db = create(fs)?;
    for (from, to) in [(0, 60), (60, 90), (90, 95)] {
        fill(&db, from, to)?;
        if to != 95 {
            db.flush()?;
        }
        told.creating = Some(to);
        let made = backups(fs).create(&db)?;
        told.backups.push((made.id, to));
        told.creating = None;
    }
    told.deleting = Some(2);
    backups(fs).delete(2)?;
    told.backups.retain(|own| own.0 != 2);
    told.deleting = None;
    db.close()
}

#[test]
fn a_crash_at_every_call_leaves_whole_backups() {
    let whole = MemFs::new();
    program(&whole, &mut Told::default()).unwrap();
    let calls = whole.counts().mutations();
    let mut unfinished = 0;
    for point in 1..=calls {
        let fs = MemFs::new();
        fs.inject(Fault::on_mutation().nth(point).forever());
        let mut told = Told::default();
        let _stopped = program(&fs, &mut told);
        for seed in 0..SEEDS {
            let left = fs.crash_with(seed);
            let moment = format!("call {point} of {calls}, seed {seed}");
            if !left.is_dir(Path::new(DIR)) {
                assert!(told.backups.is_empty(), "{moment}");
                continue;
            }
            let all = backups(&left).list().unwrap_or_else(|error| panic!("{moment}: {error}"));
            let check = backups(&left).verify().unwrap();
            let faults = &check.faults;
            assert!(faults.is_empty(), "{moment}: {faults:?}");
            for (id, to) in &told.backups {
                let is_there = all.iter().any(|own| own.id == *id);
                assert!(is_there || told.deleting == Some(*id), "{moment}: backup {id} is lost");
                if is_there {
                    check_backup(&left, *id, *to, &moment);
                }
            }
            let new = all.iter().find(|own| told.backups.iter().all(|told| told.0 != own.id));
            if let Some(new) = new
                && told.deleting != Some(new.id)
            {
                // The crash came after the record was durable, and before the call returned.
                check_backup(&left, new.id, told.creating.expect("a creation"), &moment);
                unfinished += 1;
            }
            // The next backup works, and leaves nothing that no record names.
            if seed == 0 && left.exists(Path::new("db/CURRENT")) {
                let db = create(&left).unwrap_or_else(|error| panic!("{moment}: {error}"));
                backups(&left).create(&db).unwrap_or_else(|error| panic!("{moment}: {error}"));
                let names = left.list(Path::new("backups/shared")).unwrap();
                assert!(names.iter().all(|name| !name.ends_with(".tmp")), "{moment}: {names:?}");
                assert!(backups(&left).verify().unwrap().faults.is_empty(), "{moment}");
            }
        }
    }
    assert!(unfinished < calls * SEEDS / 10, "{unfinished} of {calls}");
}

#[test]
fn a_crash_at_every_call_of_a_restore_leaves_the_database_whole_or_absent() {
    let whole = MemFs::new();
    let db = create(&whole).unwrap();
    fill(&db, 0, 40).unwrap();
    db.flush().unwrap();
    fill(&db, 40, 45).unwrap();
    backups(&whole).create(&db).unwrap();
    let calls = {
        let fs = whole.kill();
        backups(&fs).restore(None, NEW).unwrap();
        fs.counts().mutations()
    };
    let mut absent = 0;
    for point in 1..=calls {
        let fs = whole.kill();
        fs.inject(Fault::on_mutation().nth(point).forever());
        let restored = backups(&fs).restore(None, NEW).is_ok();
        for seed in 0..SEEDS {
            let left = fs.crash_with(seed);
            let moment = format!("call {point} of {calls}, seed {seed}");
            if left.exists(&Path::new(NEW).join("CURRENT")) {
                check(NEW, &left, 45, &moment);
            } else {
                assert!(!restored, "{moment}: a restored database is gone");
                absent += 1;
            }
        }
    }
    assert!(absent > 10, "{absent}");
}

/// Documents of the user's in folders whose names a directory of backups has too.
#[test]
fn folders_of_the_user_are_refused_and_left() {
    for (folder, file) in [
        ("shared", "thesis.docx"),
        ("shared", "000001.tbl"),
        ("shared", "000001-notes.tbl"),
        ("000003.own", "notes.txt"),
    ] {
        let fs = MemFs::new();
        let db = create(&fs).unwrap();
        fill(&db, 0, 5).unwrap();
        let path = Path::new(DIR).join(folder).join(file);
        fs.create_dir_all(path.parent().unwrap()).unwrap();
        fs.create(&path).unwrap().write_at(b"mine", 0).unwrap();
        let refused = backups(&fs).create(&db).map(|_| ());
        let error = assert_error(refused, ErrorKind::InvalidArgument, None);
        assert!(error.to_string().contains(file), "{error}");
        assert_eq!(fs.read(&path).unwrap(), b"mine", "{}", path.display());
    }
}

/// In a directory with backups, files of the user's and the folder of a mounted disk do no harm.
#[test]
fn files_of_the_user_beside_backups_stay() {
    let fs = MemFs::new();
    let db = create(&fs).unwrap();
    fill(&db, 0, 50).unwrap();
    fs.create_dir_all(Path::new("backups/lost+found")).unwrap();
    backups(&fs).create(&db).unwrap();
    let mine = [
        "backups/shared/notes.txt",
        "backups/000009.own/notes.txt",
        "backups/000009.own/000001.log",
        "backups/000007.backup.tmp",
    ];
    fs.create_dir_all(Path::new("backups/000009.own")).unwrap();
    for path in mine {
        fs.create(Path::new(path)).unwrap().write_at(b"this is mine", 0).unwrap();
    }
    fs.create_dir_all(Path::new("backups/shared/folder")).unwrap();
    let second = backups(&fs).create(&db).unwrap();
    assert_eq!(second.id, 10, "the own directory takes its id");
    backups(&fs).delete(1).unwrap();
    for path in mine {
        assert_eq!(fs.read(Path::new(path)).unwrap(), b"this is mine", "{path}");
    }
    assert!(fs.is_dir(Path::new("backups/shared/folder")));
    check_backup(&fs, second.id, 50, "beside files of the user's");
    assert!(backups(&fs).verify().unwrap().faults.is_empty());
}

/// The simulation found it: a power cut before the first backup was whole left the scratch file of
/// files that only grow, and every later backup was refused.
#[test]
fn the_scratch_file_of_a_crash_is_not_taken_for_the_users() {
    let fs = MemFs::new();
    let db = create(&fs).unwrap();
    db.put("key", "value").unwrap();
    fs.create_dir_all(Path::new("backups/shared")).unwrap();
    drop(fs.create(&Path::new("backups/shared").join(foldb::env::SCRATCH_NAME)).unwrap());
    backups(&fs).create(&db).unwrap();
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_the_shared_folder_is_refused() {
    if crate::support::skipped_where_files_only_grow("they have no links") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let on_disk = Options { create_if_missing: true, ..Options::default() };
    let db = Db::open(path("db"), on_disk.clone()).unwrap();
    db.put("key", "value").unwrap();
    db.flush().unwrap();
    let at = |name: &str| Backups::at(path(name), &on_disk);
    at("one").create(&db).unwrap();
    std::fs::create_dir(path("two")).unwrap();
    std::os::unix::fs::symlink(path("one/shared"), path("two/shared")).unwrap();
    let refused = at("two").create(&db).map(|_| ());
    let error = assert_error(refused, ErrorKind::InvalidArgument, None);
    assert!(error.to_string().contains("link 'shared'"), "{error}");
    assert!(at("one").verify().unwrap().faults.is_empty(), "the files behind the link stay");
}

#[test]
fn ids_are_not_used_again_and_run_out_with_an_error() {
    let fs = MemFs::new();
    let db = create(&fs).unwrap();
    fill(&db, 0, 5).unwrap();
    for id in 1..=3 {
        assert_eq!(backups(&fs).create(&db).unwrap().id, id);
    }
    backups(&fs).delete(3).unwrap();
    backups(&fs).delete(2).unwrap();
    assert_eq!(backups(&fs).create(&db).unwrap().id, 4);
    backups(&fs).delete(4).unwrap();
    assert_eq!(backups(&fs).create(&db).unwrap().id, 5);
    assert_eq!(backups(&fs).create(&db).unwrap().id, 6);
    let names = fs.list(Path::new(DIR)).unwrap();
    assert!(!names.iter().any(|name| name.ends_with(".deleted")), "{names:?}");
    let last = fs.create(Path::new("backups/18446744073709551615.backup")).unwrap();
    last.write_at(b"not a record", 0).unwrap();
    let full = backups(&fs).create(&db).map(|_| ());
    let error = assert_error(full, ErrorKind::InvalidArgument, None);
    assert!(error.to_string().contains("largest id"), "{error}");
    let kept = backups(&fs).delete(u64::MAX);
    assert_error(kept, ErrorKind::InvalidArgument, Some("backups/18446744073709551615.backup"));
}

/// A database whose file system gives its files another place, as an encrypting one gives its files
/// other bytes.
#[test]
fn the_database_is_read_through_its_own_file_system() {
    let (own, other) = (MemFs::new(), MemFs::new());
    let db = create(&own).unwrap();
    fill(&db, 0, 50).unwrap();
    db.flush().unwrap();
    fill(&db, 50, 60).unwrap();
    let made = backups(&other).create(&db).unwrap();
    assert!(!own.exists(Path::new(DIR)));
    assert!(backups(&other).verify().unwrap().faults.is_empty());
    check_backup(&other, made.id, 60, "in another file system");
}

#[test]
fn a_failed_backup_leaves_no_bytes() {
    let fs = MemFs::new();
    let db = create(&fs).unwrap();
    fill(&db, 0, 50).unwrap();
    backups(&fs).create(&db).unwrap();
    let before = (files_in(&fs, DIR), files_in(&fs, "backups/shared"));
    fill(&db, 50, 400).unwrap();
    db.compact(..).unwrap();
    let (mut point, mut failed) = (0, 0);
    loop {
        point += 1;
        let left = fs.kill();
        let db = Db::open(PATH, with(&left)).unwrap();
        left.inject(Fault::on_mutation().nth(point));
        if backups(&left).create(&db).is_ok() {
            break;
        }
        if left.exists(Path::new("backups/000002.backup")) {
            // The last sync failed.
            continue;
        }
        failed += 1;
        let after = (files_in(&left, DIR), files_in(&left, "backups/shared"));
        assert_eq!(after, before, "call {point}");
    }
    assert!(failed > 10, "{failed}");
}

/// While a call looks over the directory, another call that holds the lock removes what a failed
/// backup had left. A directory that cannot be listed and may still be there is an error.
#[test]
fn what_another_call_removes_meanwhile_is_no_error() {
    let fs = MemFs::new();
    let db = create(&fs).unwrap();
    fill(&db, 0, 10).unwrap();
    backups(&fs).create(&db).unwrap();
    let left = Path::new(DIR).join("000002.own");
    fs.create_dir_all(&left).unwrap();
    let (inner, gone, looks) = (fs.clone(), left.clone(), AtomicU64::new(0));
    let watch = move |operation: Operation, path: &Path| {
        if operation == Operation::List && path == gone && looks.fetch_add(1, Relaxed) == 0 {
            inner.remove_dir(&gone)?;
        }
        Ok(())
    };
    let sweeping = Env { fs: watched(&fs, &Arc::new(watch)), ..Env::in_memory(fs.clone()) };
    Backups::at(DIR, &Options { env: sweeping, ..with(&fs) }).create(&db).unwrap();
    fs.create_dir_all(&left).unwrap();
    fs.inject(Fault::on(Operation::List).path(".own"));
    fs.inject(Fault::on(Operation::Look).path(".own").forever());
    assert_error(backups(&fs).create(&db), ErrorKind::Io, None);
}

/// A file that another program puts into the directory of a backup in progress, as file managers
/// do, made the create panic.
#[test]
fn a_file_of_another_program_in_the_directory_of_a_new_backup_stays_out_of_it() {
    let fs = MemFs::new();
    let db = create(&fs).unwrap();
    fill(&db, 0, 50).unwrap();
    for name in [".DS_Store", "000001.tbl", "LOCK", "000007.log.damaged"] {
        let inner = fs.clone();
        let watch = move |operation: Operation, path: &Path| {
            if operation == Operation::Create && path.extension().is_some_and(|it| it == "log") {
                inner.create(&path.with_file_name(name))?.write_at(b"theirs", 0)?;
            }
            Ok(())
        };
        let env = Env { fs: watched(&fs, &Arc::new(watch)), ..Env::in_memory(fs.clone()) };
        let made = Backups::at(DIR, &Options { env, ..with(&fs) }).create(&db).unwrap();
        let theirs = format!("{DIR}/{:06}.own/{name}", made.id);
        assert_eq!(fs.read(theirs.as_ref()).unwrap(), b"theirs");
        assert!(backups(&fs).verify().unwrap().faults.is_empty());
        check_backup(&fs, made.id, 50, name);
        backups(&fs).create(&db).unwrap();
        backups(&fs).delete(made.id).unwrap();
        if name == ".DS_Store" {
            assert_eq!(fs.read(theirs.as_ref()).unwrap(), b"theirs");
        }
    }
}
