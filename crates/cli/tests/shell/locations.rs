//! A directory that is not a database does not change.

use crate::foldb::{Shell, contents};

const EVERY: [&str; 13] = [
    "get db k",
    "put db k v",
    "delete db k",
    "merge db k 1 --operator uint64add",
    "scan db",
    "count db",
    "load db",
    "stats db --keys",
    "compact db",
    "gc db",
    "options db",
    "keyspaces db",
    "keyspaces db --create k",
];

#[test]
fn a_plain_file_is_refused() {
    let shell = Shell::new();
    std::fs::write(shell.path("db"), "precious").unwrap();
    for line in EVERY {
        assert!(shell.run(line).failed(1).contains("it is a file"), "{line}");
        assert_eq!(std::fs::read(shell.path("db")).unwrap(), b"precious");
    }
    shell.run("demo --words 10 --keep db").failed(1);
    assert_eq!(std::fs::read(shell.path("db")).unwrap(), b"precious");
}

#[test]
fn a_directory_with_other_files_is_refused() {
    let shell = Shell::new();
    std::fs::create_dir(shell.path("db")).unwrap();
    std::fs::write(shell.path("db/notes.txt"), "precious").unwrap();
    let before = contents(&shell.path("db"));
    for line in EVERY {
        assert!(shell.run(line).failed(1).contains("other files in it"), "{line}");
        assert_eq!(contents(&shell.path("db")), before, "{line}");
    }
    shell.run("demo --words 10 --keep db").failed(1);
    assert_eq!(contents(&shell.path("db")), before);
}

/// A directory that has `CURRENT`, but is not a database of foldb.
fn with_current(shell: &Shell, files: &[(&str, &[u8])], engine: &str) {
    std::fs::create_dir(shell.path("db")).unwrap();
    std::fs::write(shell.path("db/CURRENT"), "MANIFEST-000005\n").unwrap();
    for (name, bytes) in files {
        std::fs::write(shell.path("db").join(name), bytes).unwrap();
    }
    let before = contents(&shell.path("db"));
    for line in EVERY {
        let message = shell.run(line).failed(1);
        assert!(message.contains(engine), "{line}: {message}");
        assert_eq!(contents(&shell.path("db")), before, "{line}");
    }
}

#[test]
fn what_is_called_current_but_no_database_of_ours_is_left_as_it_was() {
    let files: [(&str, &[u8]); 1] = [("MANIFEST-000005", b"something else")];
    with_current(&Shell::new(), &files, "database of another engine");
}

#[test]
fn a_database_of_rocksdb_is_left_as_it_was() {
    let first_edit =
        b"\x56\xf9\xb8\xf8\x1c\0\x01\x01\x1aleveldb.BytewiseComparator\x02\0\x03\x02\x04\0";
    let files: [(&str, &[u8]); 5] = [
        ("MANIFEST-000005", first_edit),
        ("000004.log", b""),
        ("LOCK", b""),
        ("IDENTITY", b"d1e6"),
        ("LOG", b"RocksDB version: 7.8.3"),
    ];
    with_current(&Shell::new(), &files, "a RocksDB database");
}

#[test]
fn a_creation_that_was_killed_leaves_a_directory_that_can_be_used() {
    let shell = Shell::new();
    // The state before the rename that creates CURRENT, and the one before the manifest.
    shell.feed(&["count", "empty"], b"").ok();
    std::fs::rename(shell.path("empty/CURRENT"), shell.path("empty/CURRENT.tmp")).unwrap();
    // An unfinished creation has no record of a close.
    std::fs::remove_file(shell.path("empty/CLOSED")).unwrap();
    for (db, gone) in [("db1", ""), ("db2", "CURRENT.tmp MANIFEST-000002"), ("db3", "000001.log")] {
        std::fs::create_dir(shell.path(db)).unwrap();
        for (file, bytes) in contents(&shell.path("empty")).into_iter().skip(1) {
            let name = file.file_name().unwrap();
            if !gone.split(' ').any(|gone| name == gone) {
                std::fs::write(shell.path(db).join(name), bytes).unwrap();
            }
        }
        let before = contents(&shell.path(db));
        let message = shell.run(&format!("get {db} k")).failed(1);
        assert_eq!(message, format!("there is no database at '{db}'"));
        assert_eq!(contents(&shell.path(db)), before, "{db}");
        shell.ok(&format!("merge {db} k 3 --operator uint64add"));
        assert_eq!(shell.ok(&format!("scan {db}")), "k\t3\n");
    }
}

#[test]
fn only_what_writes_entries_or_keyspaces_creates() {
    let shell = Shell::new();
    for line in ["get db k", "delete db k", "scan db", "stats db", "compact db"] {
        assert_eq!(shell.run(line).failed(1), "there is no database at 'db'", "{line}");
        assert!(!shell.path("db").exists(), "{line}");
    }
    std::fs::create_dir(shell.path("empty")).unwrap();
    for line in ["get empty k", "delete empty k", "scan empty", "stats empty", "compact empty"] {
        assert_eq!(shell.run(line).failed(1), "there is no database at 'empty'", "{line}");
        assert_eq!(contents(&shell.path("empty")).len(), 1, "{line}");
    }
    shell.ok("put empty k v");
    shell.ok("merge new k 1 --operator uint64add");
    shell.feed(&["count", "counted"], b"a\n").ok();
    shell.feed(&["load", "loaded"], b"a\tb\n").ok();
    shell.ok("keyspaces spaced --create k");
    for db in ["empty", "new", "counted", "loaded", "spaced"] {
        assert!(shell.path(db).join("CURRENT").is_file(), "{db}");
    }
}

/// Kills the process at a moment that moves through the creation.
#[test]
fn a_creation_killed_at_any_moment_leaves_a_directory_that_can_be_used() {
    for micros in (0..30).map(|step| step * 400) {
        let shell = Shell::new();
        let mut child = crate::foldb::command()
            .args(["put", "db", "k", "first"])
            .current_dir(shell.path(""))
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_micros(micros));
        child.kill().unwrap();
        child.wait().unwrap();
        shell.ok("put db k second");
        assert_eq!(shell.ok("get db k"), "second\n", "killed after {micros} us");
    }
}
