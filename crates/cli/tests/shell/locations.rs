//! What is no database stays as it is, byte for byte.

use crate::foldb::{Shell, contents};

const EVERY: [&str; 8] = [
    "get db k",
    "put db k v",
    "delete db k",
    "merge db k 1 --operator uint64add",
    "scan db",
    "count db",
    "stats db --keys",
    "compact db",
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

#[test]
fn what_is_called_current_but_no_database_of_ours_is_left_as_it_was() {
    let shell = Shell::new();
    std::fs::create_dir(shell.path("db")).unwrap();
    std::fs::write(shell.path("db/CURRENT"), "MANIFEST-000005\n").unwrap();
    std::fs::write(shell.path("db/MANIFEST-000005"), "something else").unwrap();
    let before = contents(&shell.path("db"));
    for line in EVERY {
        shell.run(line).failed(1);
        let mut after = contents(&shell.path("db"));
        // The lock of the attempt may stay behind, empty.
        after.retain(|(path, bytes)| !(path.ends_with("LOCK") && bytes.is_empty()));
        assert_eq!(after, before, "{line}");
    }
}

#[test]
fn only_put_merge_and_count_create() {
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
    for db in ["empty", "new", "counted"] {
        assert!(shell.path(db).join("CURRENT").is_file(), "{db}");
    }
}
