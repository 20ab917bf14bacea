//! `backup`: several moments of a database in one directory.

use std::fs;

use crate::foldb::{Shell, contents};

fn make(shell: &Shell) {
    shell.feed(&["count", "db"], b"the\na\nthe\n").ok();
    shell.ok("backup create db dir");
    shell.feed(&["count", "db"], b"of\n").ok();
    shell.ok("backup create db dir");
}

#[test]
fn each_backup_is_restored() {
    let shell = Shell::new();
    make(&shell);
    let before = contents(&shell.path("dir"));
    shell.ok("backup restore dir first --id 1");
    shell.ok("backup restore dir newest");
    assert_eq!(shell.ok("scan first"), "a\t1\nthe\t2\n");
    assert_eq!(shell.ok("scan newest"), "a\t1\nof\t1\nthe\t2\n");
    for db in ["first", "newest"] {
        shell.ok(&format!("verify {db}"));
        shell.ok(&format!("merge {db} the 40"));
    }
    let listed = shell.ok("backup list dir --json");
    assert_eq!(listed.lines().count(), 2);
    assert!(listed.starts_with(r#"{"id":1,"files":"#), "{listed}");
    assert!(shell.ok("backup list dir").starts_with("ID  FILES"));
    assert!(shell.run("backup verify dir").err.starts_with("2 backups are sound"));
    assert!(contents(&shell.path("dir")) == before, "the directory changed");
    shell.ok("backup delete dir --id 1");
    let message = shell.run("backup restore dir other --id 1").failed(1);
    assert!(message.contains("expected backup 1 in the directory, found: 2"), "{message}");
}

#[test]
fn a_damaged_file_is_named() {
    let shell = Shell::new();
    make(&shell);
    let own = shell.path("dir/000002.own");
    let log = fs::read_dir(&own).unwrap().map(|file| file.unwrap().path());
    let log = log.into_iter().find(|path| path.extension().is_some_and(|end| end == "log"));
    let log = log.unwrap();
    let mut bytes = fs::read(&log).unwrap();
    bytes[40] ^= 1;
    fs::write(&log, bytes).unwrap();
    let name = log.file_name().unwrap().to_str().unwrap();
    let ran = shell.run("backup verify dir");
    assert!(String::from_utf8_lossy(&ran.out).contains(name), "{ran:?}");
    assert_eq!(ran.failed_after_output(1), "'dir' has a fault");
    let message = shell.run("backup restore dir new").failed(1);
    assert!(message.contains(name) && message.contains("expected"), "{message}");
    assert!(!shell.path("new").exists());
    shell.ok("backup restore dir new --id 1");
}

#[test]
fn the_command_line_is_checked() {
    let shell = Shell::new();
    make(&shell);
    for (line, part) in [
        ("backup create db", "expected foldb backup create DB DIR"),
        ("backup list dir dir", "expected foldb backup list DIR"),
        ("backup verify dir --id 1", "--id belongs to"),
        ("backup delete dir", "--id N is missing"),
    ] {
        let message = shell.run(line).failed(2);
        assert!(message.contains(part), "{line}: {message}");
    }
    assert_eq!(shell.run("backup compose db dir").code, Some(2));
    assert!(shell.run("backup create db db/dir").failed(1).contains("is inside of"));
    assert!(shell.run("backup create none dir").failed(1).contains("no database"));
    assert!(shell.run("backup list nothing").failed(1).contains("no directory of backups"));
    let message = shell.run("backup restore dir db").failed(1);
    assert!(message.contains("already holds a database"), "{message}");
}

/// Outputs that would replace files of the database or of the backups.
#[test]
fn outputs_inside_of_databases_and_backups_are_refused() {
    let shell = Shell::new();
    make(&shell);
    shell.ok("backup create db dir");
    for line in [
        "dump db --output db/CURRENT",
        "dump db --output dir/shared/dump",
        "backup restore dir dir/in",
        "checkpoint db dir/in",
        "export db db/out --to leveldb",
    ] {
        assert!(shell.run(line).failed(1).contains("is inside of"), "{line}");
    }
    assert!(shell.ok("backup verify dir").is_empty());
    shell.ok("verify db");
}
