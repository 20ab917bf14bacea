//! `repair`, and its reports of losses.

use serde_json::Value;

use crate::foldb::{Shell, contents};

/// A database with separated values in a keyspace, without the files of these names.
fn without(lost: &[&str]) -> Shell {
    let shell = Shell::new();
    shell.ok("keyspaces db --create pages --separate 100");
    let large = "x".repeat(300);
    shell.ok(&format!("put db home {large} --keyspace pages"));
    shell.ok("compact db");
    for file in std::fs::read_dir(shell.path("db")).unwrap() {
        let (path, name) = file.map(|file| (file.path(), file.file_name())).unwrap();
        if lost.iter().any(|part| name.to_str().unwrap().contains(part)) {
            std::fs::remove_file(path).unwrap();
        }
    }
    shell
}

#[test]
fn a_lost_table_is_named_with_its_keys() {
    let shell = without(&[".tbl"]);
    assert!(shell.run("get db home --keyspace pages").failed(1).contains("`foldb repair`"));
    let ran = shell.run("repair db --in-place");
    assert!(ran.err.contains("lost keys 'home' to 'home' of '/"), "{ran:?}");
    assert!(ran.err.contains("/db/0"), "{ran:?}");
    assert!(ran.err.contains(".tbl' in keyspace 'pages': its deletes"), "{ran:?}");
    assert!(
        ran.err.ends_with(
            "0 tables are whole, 1 separated values were restored\n\
             foldb: 'db' opens, but data is lost\n"
        ),
        "{ran:?}"
    );
    assert_eq!((ran.code, &ran.out[..]), (Some(3), &b""[..]));
    assert_eq!(shell.ok("get db home --keyspace pages").len(), 301);
}

#[test]
fn without_manifest_and_tables_the_keyspace_is_named() {
    for lost in [&["MANIFEST", ".tbl"][..], &["MANIFEST", "CURRENT", ".tbl", ".log"]] {
        let shell = without(lost);
        let ran = shell.run("repair db --in-place --json");
        assert_eq!(ran.code, Some(3), "{ran:?}");
        let report: Value = serde_json::from_slice(&ran.out).unwrap();
        assert_eq!((&report["rebuilt"], &report["values_recovered"]), (&true.into(), &1.into()));
        assert_eq!(report["incomplete_keyspaces"], Value::from(vec!["keyspace-1"]));
        assert_eq!(shell.ok("get db home --keyspace keyspace-1").len(), 301);
        let shell = without(lost);
        let ran = shell.run("repair db --in-place");
        assert!(ran.err.contains("\ntables of keyspace 'keyspace-1' are lost: "), "{ran:?}");
    }
}

#[test]
fn a_damaged_table_without_a_manifest_is_named() {
    let shell = without(&["MANIFEST"]);
    let tables = std::fs::read_dir(shell.path("db")).unwrap().map(|file| file.unwrap().path());
    let table = tables.filter(|path| path.extension().is_some_and(|it| it == "tbl")).max().unwrap();
    std::fs::write(&table, "damaged").unwrap();
    let ran = shell.run("repair db --in-place");
    assert!(ran.err.contains(".tbl' and all its keys: corruption: "), "{ran:?}");
    assert_eq!(shell.ok("get db home --keyspace keyspace-1").len(), 301);
}

/// The only table of a database, with some bytes in its middle changed.
fn damaged() -> (Shell, std::path::PathBuf) {
    let shell = Shell::new();
    let lines: String = (0..20_000).map(|n| format!("key{n:05}\tvalue{n}\n")).collect();
    shell.feed(&["load", "db"], lines.as_bytes()).ok();
    shell.ok("compact db");
    let files = std::fs::read_dir(shell.path("db")).unwrap().map(|file| file.unwrap().path());
    let table = files.filter(|path| path.extension().is_some_and(|it| it == "tbl")).max().unwrap();
    let mut bytes = std::fs::read(&table).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 3].fill(0xa5);
    std::fs::write(&table, bytes).unwrap();
    (shell, table)
}

#[test]
fn a_copy_is_repaired_and_what_is_lost_is_told() {
    let (shell, _) = damaged();
    let before = contents(&shell.path("db"));
    let dry = shell.run("repair db --dry-run");
    assert!(dry.err.contains(" records of ") && dry.err.contains("\nlost "), "{dry:?}");
    assert!(dry.err.ends_with("would lose data; nothing was changed\n"), "{dry:?}");
    assert_eq!((dry.code, contents(&shell.path("db"))), (Some(3), before.clone()));
    let ran = shell.run("repair db");
    assert_eq!((ran.code, contents(&shell.path("db"))), (Some(3), before));
    assert!(ran.err.contains("the repaired copy is 'db.repaired'; 'db' is unchanged"), "{ran:?}");
    let left: usize = shell.ok("scan db.repaired --count").trim().parse().unwrap();
    assert!((15_000..20_000).contains(&left), "{left}");
    // Repair writes no copy into a directory with files.
    assert!(shell.run("repair db").failed(1).contains("already holds a database"));
    assert_eq!(shell.run("repair db.repaired --in-place").code, Some(0));
}

#[test]
fn a_verification_names_file_and_offset() {
    let (shell, table) = damaged();
    let ran = shell.run("verify db");
    let name = table.file_name().unwrap().to_str().unwrap();
    let out = String::from_utf8(ran.out.clone()).unwrap();
    assert!(out.contains(name) && out.contains("offset"), "{ran:?}");
    assert!(ran.err.ends_with("foldb: 'db' has 1 fault\n") && ran.code == Some(1), "{ran:?}");
    let json = shell.run("verify db --json");
    let report: Value = serde_json::from_slice(&json.out).unwrap();
    assert_eq!((&report["sound"], json.code), (&false.into(), Some(1)));
    assert!(report["faults"][0]["offset"].as_u64().unwrap() > 0);
    shell.run("repair db --in-place");
    let sound = shell.run("verify db");
    assert_eq!((sound.code, &sound.out[..]), (Some(0), &b""[..]), "{sound:?}");
    assert!(sound.err.contains(" records"), "{sound:?}");
}
