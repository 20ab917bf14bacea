//! `updates`: the change feed in the shell.

use foldb::{Db, KeyspaceOptions, Options};

use crate::foldb::Shell;

/// Opens a database that keeps its logs. The shell keeps them only where a program did.
fn open(shell: &Shell) -> Db {
    let options = Options {
        create_if_missing: true,
        default: KeyspaceOptions::with_operator("stringappend:,"),
        wal_retention_bytes: 1 << 20,
        ..Options::default()
    };
    Db::open(shell.path("db"), options).unwrap()
}

/// Returns the lines without their positions.
fn without_positions(lines: &str) -> Vec<String> {
    lines.lines().map(|line| line.split_once('\t').unwrap().1.to_owned()).collect()
}

#[test]
fn updates_print_the_feed_beside_a_writer() {
    let shell = Shell::new();
    let db = open(&shell);
    db.put("a", "1\t2").unwrap();
    db.flush().unwrap();
    db.create_keyspace("x", KeyspaceOptions::default()).unwrap().delete("k").unwrap();
    db.merge("l", "m").unwrap();
    db.delete_range("b".."d").unwrap();
    db.sync().unwrap();
    let found = shell.ok("updates db --unsynced");
    assert_eq!(found.lines().count(), 5, "{found}");
    assert!(found.contains("\tput\tdefault\ta\t1\\t2\n"), "{found}");
    assert!(found.contains("\tcreated\tx\n"), "{found}");
    assert!(found.contains("\tdelete\tx\tk\n"), "{found}");
    assert!(found.contains("\tmerge\tdefault\tl\tm\tstringappend:,\n"), "{found}");
    assert!(found.contains("\tdelete_range\tdefault\twith\tb\twithout\td\n"), "{found}");
    db.close().unwrap();
    assert_eq!(without_positions(&shell.ok("updates db")), without_positions(&found));
    let position = found.lines().nth(3).unwrap().split_once('\t').unwrap().0;
    let rest = shell.ok(&format!("updates db --since {position} --json"));
    assert_eq!(rest.lines().count(), 1, "{rest}");
    assert!(
        rest.contains(r#""delete_range":{"from":{"with":"b"},"to":{"without":"d"}}"#),
        "{rest}"
    );
}

#[test]
fn a_lost_position_and_a_database_without_a_feed_are_errors() {
    let shell = Shell::new();
    open(&shell).close().unwrap();
    let lost = shell.run("updates db --since 5.1.9.0123456789abcdef");
    assert!(lost.failed(1).contains("the feed cannot continue"));
    assert!(shell.run("updates db --since 5.1").failed(2).contains("is not a position"));
    shell.ok("put other a 1");
    assert!(shell.run("updates other").failed(1).contains("the database keeps no log"));
}

/// A command that opens a database for writing keeps its archived logs and continues its history.
#[test]
fn commands_that_open_the_database_continue_the_feed() {
    let shell = Shell::new();
    // The first close leaves a log without an archive, the second an archive.
    for flushes in [false, true] {
        let db = open(&shell);
        db.put("a", "1").unwrap();
        if flushes {
            db.flush().unwrap();
        }
        let position = db.position().unwrap();
        db.close().unwrap();
        shell.ok("put db b 2");
        shell.ok(&format!("backup create db backups-{flushes}"));
        shell.ok(&format!("checkpoint db copy-{flushes}"));
        let found = shell.ok(&format!("updates db --since {position}"));
        assert_eq!(without_positions(&found), ["put\tdefault\tb\t2"]);
    }
    let db = open(&shell);
    let all = db.updates_since(&foldb::feed::Position::BEGINNING).unwrap();
    let all: Vec<_> = all.map(|update| update.unwrap().position).collect();
    assert_eq!(all.len(), 4, "{all:?}");
}
