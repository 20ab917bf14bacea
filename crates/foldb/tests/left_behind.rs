//! A failed attempt leaves nothing behind: neither files on a full disk nor a directory that it
//! made. It changes nothing that was there before.
//!
//! This is a program of its own: several tests start its executable again, under limits that a
//! shell sets. These limits, and the permissions, owners and links of other tests, are those of
//! Unix.

#![cfg(unix)]

mod support;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldb::env::mem::{Fault, Operation};
use foldb::env::{Env, FileSystem, MemFs, PosixFs, Stepped};
use foldb::explain::{OptionSource, OptionValue};
use foldb::{Db, ErrorKind, KeyspaceOptions, Options, WriteOptions};

use support::{PATH, assert_error, open, options, reopen, text};

const DIRECTORY_VARIABLE: &str = "FOLDB_TEST_DIRECTORY";
const SYNCED: WriteOptions = WriteOptions { sync: true, ..WriteOptions::DEFAULT };

/// Returns the files of the database in memory, with their lengths.
fn files(fs: &MemFs) -> BTreeMap<String, u64> {
    let names = fs.list(Path::new(PATH)).unwrap_or_default();
    let len = |name: &String| fs.len(&Path::new(PATH).join(name)).unwrap();
    names.into_iter().map(|name| (name.clone(), len(&name))).collect()
}

fn count(files: &BTreeMap<String, u64>, part: &str) -> usize {
    files.keys().filter(|name| name.contains(part)).count()
}

/// Runs one test of this file in a process of its own, through a shell that sets limits first.
/// Without the variable, that test does nothing.
fn run_limited(limits: &str, test: &str, directory: &Path) {
    let script = format!("{limits}; exec \"$0\" --exact {test} --nocapture");
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(env::current_exe().unwrap());
    let output = command.env(DIRECTORY_VARIABLE, directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Each refused write once left a log that could not be started.
#[test]
fn refused_writes_leave_no_logs() {
    // A log needs its blocks, its header, and behind that the definition of an operator.
    let fail = |operation, nth| Fault::on(operation).path(".log").nth(nth).forever();
    for fault in
        [fail(Operation::Preallocate, 1), fail(Operation::Write, 1), fail(Operation::Write, 2)]
    {
        let fs = MemFs::new();
        let db = Db::open(PATH, Options { write_buffer_size: 4096, ..options(&fs) }).unwrap();
        db.operator("stringappend:;").unwrap();
        db.put("a", "1").unwrap();
        db.flush().unwrap();
        fs.inject(fault.kind(io::ErrorKind::StorageFull));
        let mut refused = 0;
        for n in 0..200 {
            refused += u32::from(db.put(format!("{n}"), [0; 200]).is_err());
        }
        assert!(refused > 100, "{refused}");
        assert!(count(&files(&fs), ".log") <= 3, "{:?}", files(&fs));
        fs.clear_faults();
        db.put("b", "2").unwrap();
        assert_eq!(text(&reopen(&fs.kill()).unwrap(), "b").unwrap(), "2");
    }
}

/// A thousand failed opens once left two thousand files.
#[test]
fn opens_that_fail_leave_no_files() {
    use Operation::{Create, Preallocate, Rename, Sync, SyncDir, Write};
    let on = |operation, path: &str| Fault::on(operation).path(path).forever();
    let faults = [
        on(Create, ".tbl"),
        on(Write, ".tbl"),
        on(Sync, ".tbl"),
        on(Create, ".log"),
        on(Preallocate, ".log"),
        on(Write, ".log"),
        on(Create, "MANIFEST"),
        on(Write, "MANIFEST"),
        on(Write, "MANIFEST").nth(2),
        on(Write, "MANIFEST").nth(3),
        on(Sync, "MANIFEST"),
        on(Create, "CURRENT.tmp"),
        on(Write, "CURRENT.tmp"),
        on(Rename, "CURRENT"),
        Fault::on(SyncDir).nth(2).forever(),
    ];
    for fault in faults {
        let fs = MemFs::new();
        let db = open(&fs).unwrap();
        db.create_keyspace("other", KeyspaceOptions::default()).unwrap().put("b", "2").unwrap();
        db.with(&SYNCED).put("a", "1").unwrap();
        let left = fs.kill();
        let before = files(&left);
        left.inject(fault.clone().kind(io::ErrorKind::StorageFull));
        for _ in 0..10 {
            assert_eq!(reopen(&left).unwrap_err().kind(), ErrorKind::NoSpace, "{fault:?}");
        }
        let after = files(&left);
        // If CURRENT may not be durable, both manifests stay, and the unfinished name.
        let spared = 2;
        assert!(after.len() <= before.len() + spared, "{fault:?}: {before:?}, then {after:?}");
        left.clear_faults();
        let db = reopen(&left).unwrap();
        assert_eq!(text(&db, "a").unwrap(), "1", "{fault:?}");
        assert_eq!(db.keyspace("other").unwrap().get("b").unwrap().unwrap(), b"2", "{fault:?}");
    }
}

/// The remains of a crashed compaction take the space that the open needs, so they go first.
#[test]
fn an_open_removes_what_no_edit_names_before_it_writes() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    db.put("a", "1").unwrap();
    db.flush().unwrap();
    let left = fs.kill();
    let unfinished = Path::new(PATH).join("000900.tbl");
    left.create(&unfinished).unwrap().write_at(&[0; 5000], 0).unwrap();
    let named = count(&files(&left), ".tbl") - 1;
    left.inject(Fault::on(Operation::Create).forever().kind(io::ErrorKind::StorageFull));
    assert_error(reopen(&left), ErrorKind::NoSpace, None);
    assert!(!left.exists(&unfinished));
    assert_eq!(count(&files(&left), ".tbl"), named);
    left.clear_faults();
    assert_eq!(text(&reopen(&left).unwrap(), "a").unwrap(), "1");
}

/// Tables that an iterator kept beyond their compaction once stayed until the next open.
#[test]
fn a_close_leaves_no_files_that_nothing_refers_to() {
    let fs = MemFs::new();
    let db = open(&fs).unwrap();
    for n in 0..4 {
        db.put("a", n.to_string()).unwrap();
        db.flush().unwrap();
    }
    let iter = db.iter().unwrap();
    db.compact(..).unwrap();
    assert!(count(&files(&fs), ".tbl") > 1, "the iterator keeps the tables that it reads");
    drop(iter);
    db.close().unwrap();
    assert_eq!(count(&files(&fs), ".tbl"), 1, "{:?}", files(&fs));
    assert_eq!(text(&reopen(&fs).unwrap(), "a").unwrap(), "3");
}

#[test]
fn an_open_that_fails_leaves_no_directory() {
    let unknown = |fs: &MemFs| Options {
        default: KeyspaceOptions::with_operator("nobody.knows"),
        ..options(fs)
    };
    let fs = MemFs::new();
    Db::open("some/new/place", unknown(&fs)).unwrap_err();
    assert!(!fs.exists(Path::new("some")));
    // An existing directory stays as it was.
    fs.create_dir_all(Path::new("some/old")).unwrap();
    fs.create(Path::new("some/old/notes.txt")).unwrap();
    Db::open("some/old", unknown(&fs)).unwrap_err();
    Db::open("some/old/new", unknown(&fs)).unwrap_err();
    assert_eq!(fs.list(Path::new("some/old")).unwrap(), ["notes.txt"]);
    // The failure comes at each step of the creation. Some steps have an alternative when they
    // fail.
    let mut failed = 0;
    for nth in 1..40 {
        let fs = MemFs::new();
        fs.inject(Fault::on_mutation().nth(nth).kind(io::ErrorKind::StorageFull));
        match open(&fs) {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NoSpace, "step {nth}");
                assert!(!fs.exists(Path::new(PATH)), "step {nth}: {:?}", files(&fs));
                failed += 1;
            }
            Ok(db) => drop(db),
        }
        fs.clear_faults();
        open(&fs).unwrap().put("a", "1").unwrap();
    }
    assert!(failed > 8, "only {failed} steps failed");
}

fn on_disk(path: &Path) -> Options {
    let env = Env { fs: Arc::new(PosixFs), threads: Arc::new(Stepped), ..Env::system() };
    assert!(path.is_absolute());
    Options { create_if_missing: true, env, ..Options::default() }
}

/// Not a test of its own: opens a database of many logs with few file handles.
#[test]
fn open_with_few_handles() {
    let Some(path) = env::var_os(DIRECTORY_VARIABLE) else { return };
    let path = PathBuf::from(path);
    let db = Db::open(&path, on_disk(&path)).unwrap();
    assert_eq!(db.iter().unwrap().count(), 4000);
}

/// An open once held all logs open at once.
#[test]
fn an_open_of_many_logs_takes_few_handles() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let small = Options { write_buffer_size: 4096, max_write_buffers: 4000, ..on_disk(&path) };
    let db = Db::open(&path, small).unwrap();
    for n in 0..4000 {
        db.put(format!("{n:06}"), [7; 200]).unwrap();
    }
    drop(db);
    let names = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name());
    let logs = names.filter(|name| name.to_string_lossy().ends_with(".log")).count();
    assert!(logs > 100, "{logs} logs");
    run_limited("ulimit -n 48", "open_with_few_handles", &path);
}

/// Returns everything in a directory, as far as it can be read: names, kinds, modes and bytes.
fn picture(directory: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    use std::os::unix::fs::MetadataExt;
    let mut picture = BTreeMap::new();
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let path = entry.unwrap().path();
        let mode = fs::symlink_metadata(&path).unwrap().mode();
        picture.insert(path.clone(), (mode, fs::read(&path).unwrap_or_default()));
    }
    picture
}

/// Not a test of its own: runs as a user to whom permissions apply.
#[test]
fn meet_missing_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let Some(path) = env::var_os(DIRECTORY_VARIABLE) else { return };
    let outer = PathBuf::from(path);
    let path = outer.join("db");
    let existing = || Options { create_if_missing: false, ..on_disk(&path) };
    let db = Db::open(&path, on_disk(&path)).unwrap();
    db.put("flushed", "1").unwrap();
    db.flush().unwrap();
    db.put("logged", "2").unwrap();
    drop(db);
    let allow = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let denied = |what: &str, outcome: foldb::Result<()>| {
        let error = outcome.expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Io, "{what}: {error}");
        assert!(error.to_string().contains("ermission denied"), "{what}: {error}");
        assert!(error.path().is_some(), "{what}: {error}");
    };
    let before = picture(&path);

    // First nothing is allowed in the directory; then the parent may not be searched.
    for (closed, mode) in [(&path, 0o000), (&path, 0o600), (&outer, 0o600)] {
        allow(closed, mode);
        denied("open", Db::open(&path, existing()).map(drop));
        denied("create", Db::open(&path, on_disk(&path)).map(drop));
        denied("open_read_only", Db::open_read_only(&path, existing()).map(drop));
        denied("destroy", Db::destroy(&path, &existing()));
        denied("repair", Db::repair(&path, existing()).map(drop));
        allow(closed, 0o700);
        assert_eq!(picture(&path), before, "mode {mode:o}");
    }
    // The directory is readable: a read-only open needs no more, nor does an open after a clean
    // close. The first write does.
    allow(&path, 0o500);
    denied("put", Db::open(&path, existing()).and_then(|db| db.put("new", "1")));
    denied("destroy", Db::destroy(&path, &existing()));
    let db = Db::open_read_only(&path, existing()).unwrap();
    assert_eq!(db.get("logged").unwrap().unwrap(), b"2");
    drop(db);
    allow(&path, 0o700);
    assert_eq!(picture(&path), before);
    // One file is not readable.
    for file in before.keys().filter(|file| !file.ends_with("LOCK")) {
        if file.extension().is_some_and(|extension| extension == "tbl") {
            // A table is opened only when it is read.
            continue;
        }
        allow(file, 0o000);
        denied("open", Db::open(&path, existing()).map(drop));
        denied("open_read_only", Db::open_read_only(&path, existing()).map(drop));
        allow(file, before[file].0 & 0o777);
        assert_eq!(picture(&path), before, "{}", file.display());
    }
    assert_eq!(Db::open(&path, existing()).unwrap().get("logged").unwrap().unwrap(), b"2");
}

/// An unreadable directory was once reported as one without a database.
#[test]
fn missing_permissions_are_told_and_nothing_is_touched() {
    use std::os::unix::fs::{MetadataExt, chown};
    let directory = tempfile::tempdir().unwrap();
    let inner = directory.path().join("inner");
    fs::create_dir(&inner).unwrap();
    if fs::metadata(&inner).unwrap().uid() != 0 {
        return run_limited(":", "meet_missing_permissions", &inner);
    }
    // Permissions do not apply to root, so the test changes to another user where it can.
    let script =
        "exec setpriv --reuid 65534 --clear-groups \"$0\" --exact meet_missing_permissions";
    let program = directory.path().join("test");
    fs::copy(env::current_exe().unwrap(), &program).unwrap();
    chown(directory.path(), Some(65534), None).unwrap();
    chown(&inner, Some(65534), None).unwrap();
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(&program).env(DIRECTORY_VARIABLE, &inner);
    match command.current_dir("/").output() {
        Ok(output) if output.status.code() == Some(127) => {
            eprintln!("skipped: setpriv is missing and this user is root");
        }
        Ok(output) => {
            let told = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{told}");
            assert!(told.contains("1 passed"), "{told}");
        }
        Err(error) => eprintln!("skipped: no shell: {error}"),
    }
}

/// `create_keyspace` once returned Ok although the manifest that it wrote had lost its name.
#[test]
fn a_directory_that_is_removed_is_noticed_by_what_has_to_be_durable() {
    type Call = fn(&Db) -> foldb::Result<()>;
    let lost = ErrorKind::DirectoryLost;
    let calls: [(&str, ErrorKind, Call); 5] = [
        ("create_keyspace", lost, |db| db.create_keyspace("new", Default::default()).map(drop)),
        ("drop_keyspace", ErrorKind::Io, |db| db.drop_keyspace("old")),
        ("a synced put", ErrorKind::Io, |db| db.with(&SYNCED).put("b", "2")),
        ("sync", ErrorKind::Io, |db| db.sync()),
        ("flush", lost, |db| db.flush()),
    ];
    for (name, kind, call) in calls {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let db = Db::open(&path, on_disk(&path)).unwrap();
        db.create_keyspace("old", Default::default()).unwrap();
        db.put("a", "1").unwrap();
        fs::remove_dir_all(&path).unwrap();
        let error = call(&db).expect_err(name);
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert_eq!(text(&db, "a").unwrap(), "1", "reads still work");
        assert!(!path.exists(), "{name}");
    }
}

/// A log whose writes are in tables may lose its name while a writer is about to sync it.
#[test]
fn a_log_that_a_flush_removed_is_no_loss() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let options =
        Options { write_buffer_size: 16 << 10, create_if_missing: true, ..Options::default() };
    let db = Db::open(&path, options).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let db = &db;
            scope.spawn(move || {
                for n in 0..300 {
                    db.with(&SYNCED).put(format!("{writer}-{n}"), [7; 500]).unwrap();
                }
            });
        }
    });
    assert_eq!(db.iter().unwrap().count(), 900);
}

#[test]
fn stats_and_options_tell_how_the_log_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let shown = |db: &Db| {
        let explained = db.explain_options();
        let option = explained.iter().find(|option| option.name == "map_log").unwrap().clone();
        (db.stats().log_is_mapped, option.value, option.source)
    };
    let path = directory.path().join("by calls");
    let db = Db::open(&path, Options { map_log: false, ..on_disk(&path) }).unwrap();
    db.put("a", "1").unwrap();
    assert_eq!(shown(&db), (false, OptionValue::Flag(false), OptionSource::Given));
    // The in-memory file system maps nothing.
    let db = open(&MemFs::new()).unwrap();
    assert_eq!(shown(&db), (false, OptionValue::Flag(false), OptionSource::Derived));
    let path = directory.path().join("as it can be");
    let db = Db::open(&path, on_disk(&path)).unwrap();
    db.put("a", "1").unwrap();
    let (is_mapped, value, source) = shown(&db);
    assert_eq!(value, OptionValue::Flag(is_mapped));
    let expected = if is_mapped { OptionSource::Default } else { OptionSource::Derived };
    assert_eq!(source, expected);
}

/// `CURRENT` holds a file name; a path is refused.
#[test]
fn current_leads_nowhere_else() {
    for content in ["../MANIFEST-000001\n", "/etc/passwd\n", "MANIFEST-000001/../x\n", "..\n"] {
        let fs = MemFs::new();
        open(&fs).unwrap().put("a", "1").unwrap();
        let left = fs.kill();
        let current = Path::new(PATH).join("CURRENT");
        left.create(&current).unwrap().write_at(content.as_bytes(), 0).unwrap();
        assert_error(reopen(&left), ErrorKind::Corruption, Some("CURRENT"));
    }
}

/// If the database followed links, it would read and write outside its directory.
#[test]
fn links_in_the_directory_are_not_followed() {
    use std::os::unix::fs::symlink;
    let directory = tempfile::tempdir().unwrap();
    let outside = directory.path().join("outside");
    let make = |path: &Path| {
        let db = Db::open(path, on_disk(path)).unwrap();
        db.put("flushed", "1").unwrap();
        db.flush().unwrap();
        db.put("logged", "2").unwrap();
    };
    let first = directory.path().join("first");
    make(&first);
    for name in picture(&first).keys().map(|file| file.file_name().unwrap()) {
        let path = directory.path().join("db");
        make(&path);
        let file = path.join(name);
        fs::rename(&file, &outside).unwrap();
        symlink(&outside, &file).unwrap();
        let before = fs::read(&outside).unwrap();
        let opened = Db::open(&path, on_disk(&path));
        // A table is opened only when it is read.
        let outcome = opened.and_then(|db| db.get("flushed").map(drop));
        let error = outcome.expect_err("a link was followed");
        assert!(error.to_string().contains("symbolic link"), "{error}");
        assert_eq!(fs::read(&outside).unwrap(), before, "{name:?}");
        fs::remove_dir_all(&path).unwrap();
    }
    // A link may lead to the database directory itself.
    let link = directory.path().join("link");
    symlink(&first, &link).unwrap();
    assert_eq!(Db::open(&link, on_disk(&link)).unwrap().get("flushed").unwrap().unwrap(), b"1");
}

/// A creation fails after `CURRENT` leads to its files, and is killed while it removes them. The
/// remains once were a `CURRENT` that led to nothing: no open worked any more.
#[test]
fn a_creation_that_fails_and_is_killed_leaves_a_database_or_none() {
    let create = |fs: &MemFs| Db::open(PATH, Options { create_if_missing: true, ..options(fs) });
    let calls = |failing: u64| {
        let fs = MemFs::new();
        fs.inject(Fault::on(Operation::SyncDir).nth(failing));
        let outcome = create(&fs).map(drop);
        outcome.is_err().then(|| fs.counts().mutations())
    };
    let mut stopped = 0;
    for failing in 1.. {
        let Some(calls) = calls(failing) else { break };
        for last in 1..=calls {
            let fs = MemFs::new();
            fs.inject(Fault::on(Operation::SyncDir).nth(failing));
            fs.inject(Fault::on_mutation().nth(last).forever());
            create(&fs).map(drop).unwrap_err();
            let torn = (0..10).map(|seed| fs.crash_with(seed));
            for left in [fs.kill(), fs.crash()].into_iter().chain(torn) {
                let db = create(&left).unwrap();
                db.put("key", "value").unwrap();
            }
            stopped += 1;
        }
    }
    assert!(stopped > 40, "{stopped}");
}

/// Not a test of its own: creates, uses and destroys a database over and over.
#[test]
fn create_and_destroy() {
    let Some(path) = env::var_os(DIRECTORY_VARIABLE) else { return };
    let (path, token) = (PathBuf::from(&path).join("db"), PathBuf::from(&path).join("token"));
    let mut opened = 0;
    let end = Instant::now() + Duration::from_secs(2);
    while Instant::now() < end {
        match Db::open(&path, on_disk(&path)) {
            Ok(db) => {
                let alone = fs::File::create_new(&token);
                assert!(alone.is_ok(), "two processes have the database open");
                opened += 1;
                db.with(&SYNCED).put("a", "1").unwrap();
                db.flush().unwrap();
                fs::remove_file(&token).unwrap();
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Locked, "{error}"),
        }
        if let Err(error) = Db::destroy(&path, &on_disk(&path)) {
            assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
        }
    }
    assert!(opened > 0);
}

/// Destroying a database unlinks its lock. A process that waited for the lock once opened the
/// database beside the next process.
#[test]
fn destroying_lets_no_two_processes_in() {
    let directory = tempfile::tempdir().unwrap();
    let child = || {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--exact", "create_and_destroy", "--nocapture"]);
        command.env(DIRECTORY_VARIABLE, directory.path()).stdout(Stdio::null()).spawn().unwrap()
    };
    for mut child in [child(), child(), child()] {
        assert!(child.wait().unwrap().success());
    }
}

/// The same through another path: only the directory that a path leads to counts.
#[test]
fn a_second_open_in_one_process_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let db = Db::open(&path, on_disk(&path)).unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for again in [path.clone(), link, directory.path().join("db/../db")] {
        assert_error(Db::open(&again, on_disk(&again)), ErrorKind::Locked, None);
        assert_error(Db::destroy(&again, &on_disk(&again)), ErrorKind::Locked, None);
    }
    db.put("a", "1").unwrap();
    drop(db);
    assert_eq!(text(&Db::open(&path, on_disk(&path)).unwrap(), "a").unwrap(), "1");
}
