//! Exports that the original LevelDB reads, and what an export refuses.

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use crate::foldb::{Shell, command, contents};
use crate::original::Original;

const EXPORT: &str = "export --to leveldb db dst";

/// A database with folded and unfolded counters, text and long values.
fn database(shell: &Shell) {
    let mut lines = String::new();
    for n in 0..40_000u32 {
        let value = "x".repeat((n % 60) as usize);
        lines += &format!("key{:06}\tvalue {}{value}\n", n.wrapping_mul(7919) % 100_000, n % 977);
    }
    lines += &format!("large\t{}\n\tthe empty key\n", "0123456789abcdef".repeat(300_000));
    shell.feed(&["load", "db"], lines.as_bytes()).ok();
    shell.ok("merge db count 5 --operator uint64add");
    shell.ok("merge db count 6");
    shell.ok("delete db key000000");
}

fn scanned(shell: &Shell, db: &str) -> String {
    shell.ok(&format!("scan {db} --key-format hex --as hex"))
}

#[test]
fn the_original_reads_every_entry_of_an_export() {
    let Some(original) = Original::find() else { return };
    let shell = Shell::new();
    database(&shell);
    let expected = scanned(&shell, "db");
    let before = contents(&shell.path("db"));
    shell.ok(EXPORT);
    assert!(contents(&shell.path("db")) == before);
    let dst = shell.path("dst");
    assert!(original.run(&["dump"], &dst).unwrap() == expected);
    // LevelDB goes on from there.
    original.run(&["compact"], &dst).unwrap();
    original.write(&dst, 1, 3000, "z");
    original.run(&["compact"], &dst).unwrap();
    assert!(original.run(&["dump"], &dst).unwrap().contains("7a7a\t6d6f7265\n"));
}

#[test]
fn what_is_imported_and_exported_is_the_same() {
    let Some(original) = Original::find() else { return };
    let shell = Shell::new();
    original.write(&shell.path("src"), 9, 300, "zl");
    let expected = original.entries(&shell.path("src")).unwrap();
    let report = shell.ok("import --from leveldb src db --json");
    let back = shell.ok(&format!("{EXPORT} --json"));
    let checksum = |report: &str| report.split("checksum").nth(1).unwrap()[..36].to_owned();
    assert_eq!(checksum(&report), checksum(&back));
    assert!(original.run(&["dump"], &shell.path("dst")).unwrap() == expected);
}

#[test]
fn an_export_can_be_imported_without_the_original() {
    let shell = Shell::new();
    database(&shell);
    shell.ok(EXPORT);
    shell.ok("import --from leveldb dst again");
    assert!(scanned(&shell, "again") == scanned(&shell, "db"));
    shell.ok("put empty k v");
    shell.ok("delete empty k");
    shell.ok("export --to leveldb empty none");
    shell.ok("import --from leveldb none back");
    assert_eq!(scanned(&shell, "back"), "");
}

/// Exports, which must fail and leave nothing.
fn refused(shell: &Shell, line: &str) -> String {
    let before = contents(&shell.path("db"));
    let message = shell.run(line).failed(1);
    assert!(contents(&shell.path("db")) == before);
    assert!(!shell.path("dst").exists() && !shell.path("dst.unfinished").exists());
    message
}

#[test]
fn several_keyspaces_are_refused_and_each_can_be_exported() {
    let shell = Shell::new();
    shell.ok("keyspaces db --create visits --operator uint64add");
    shell.ok("put db k v");
    shell.ok("merge db page 7 --keyspace visits");
    let message = refused(&shell, EXPORT);
    assert!(message.contains("1 keyspaces besides default, such as 'visits'"), "{message}");
    shell.ok(&format!("{EXPORT} --keyspace visits"));
    shell.ok("import --from leveldb dst back");
    assert_eq!(shell.ok("scan back --as u64"), "page\t7\n");
    shell.ok("export --to leveldb db other --keyspace default");
    let message = shell.run("export --to leveldb db third --keyspace pages").failed(1);
    assert!(message.contains("no keyspace 'pages'"), "{message}");
}

#[test]
fn operands_that_do_not_fold_are_refused() {
    let shell = Shell::new();
    shell.ok("put db a plain");
    shell.ok("put db count text");
    shell.ok("merge db count 1 --operator uint64add --blind");
    let message = refused(&shell, EXPORT);
    assert!(message.starts_with("key 'count': "), "{message}");
    assert!(message.contains("nothing was exported"), "{message}");
}

#[test]
fn an_order_that_leveldb_lacks_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let shell = Shell::new();
    let options = foldb::Options {
        create_if_missing: true,
        default: foldb::KeyspaceOptions {
            comparator: Some(std::sync::Arc::new(Backwards)),
            ..foldb::KeyspaceOptions::default()
        },
        ..foldb::Options::default()
    };
    foldb::Db::open(shell.path("db"), options).unwrap().put("k", "v").unwrap();
    let message = refused(&shell, EXPORT);
    assert!(message.contains("test.backwards"), "{message}");
    drop(dir);
}

#[derive(Debug)]
struct Backwards;

impl foldb::custom::Comparator for Backwards {
    fn name(&self) -> &str {
        "test.backwards"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        b.cmp(a)
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

#[test]
fn a_destination_in_use_is_refused() {
    let shell = Shell::new();
    shell.ok("put db k v");
    fs::create_dir(shell.path("dst")).unwrap();
    fs::write(shell.path("dst/notes"), "mine").unwrap();
    let message = shell.run(EXPORT).failed(1);
    assert!(message.contains("exists and is not empty"), "{message}");
    let message = shell.run("export --to leveldb db db/dst").failed(1);
    assert!(message.contains("is inside of 'db'"), "{message}");
    shell.run("export --to leveldb missing dst2").failed(1);
    assert!(!shell.path("dst2.unfinished").exists());
}

#[test]
fn a_killed_export_never_looks_finished_and_can_run_again() {
    let shell = Shell::new();
    database(&shell);
    let expected = scanned(&shell, "db");
    let mut unfinished = 0;
    for step in 0..12 {
        let mut child = command()
            .args(EXPORT.split(' '))
            .current_dir(shell.path(""))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(step * 8));
        child.kill().unwrap();
        child.wait().unwrap();
        if shell.path("dst").exists() {
            fs::remove_dir_all(shell.path("dst")).unwrap();
        }
        unfinished += u32::from(shell.path("dst.unfinished").exists());
    }
    let _ = writeln!(std::io::stderr(), "{unfinished} kills left something");
    shell.ok(EXPORT);
    assert!(!shell.path("dst.unfinished").exists());
    shell.ok("import --from leveldb dst again");
    assert!(scanned(&shell, "again") == expected);
}
