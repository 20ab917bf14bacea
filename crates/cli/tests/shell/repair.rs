//! `repair`, and what it says is lost.

use serde_json::Value;

use crate::foldb::Shell;

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
    let ran = shell.run("repair db");
    assert!(ran.err.contains(".tbl' of keyspace 'pages', keys 'home' to 'home'; "), "{ran:?}");
    assert!(
        ran.err.ends_with("0 tables are whole, 1 separated values were found again\n"),
        "{ran:?}"
    );
    assert_eq!(ran.ok(), "");
    assert_eq!(shell.ok("get db home --keyspace pages").len(), 301);
}

#[test]
fn without_manifest_and_tables_the_keyspace_is_named() {
    for lost in [&["MANIFEST", ".tbl"][..], &["MANIFEST", "CURRENT", ".tbl", ".log"]] {
        let shell = without(lost);
        let report: Value = serde_json::from_str(&shell.ok("repair db --json")).unwrap();
        assert_eq!((&report["rebuilt"], &report["values_recovered"]), (&true.into(), &1.into()));
        assert_eq!(report["incomplete_keyspaces"], Value::from(vec!["keyspace-1"]));
        assert_eq!(shell.ok("get db home --keyspace keyspace-1").len(), 301);
        let shell = without(lost);
        let ran = shell.run("repair db");
        assert!(ran.err.contains("\ntables of keyspace 'keyspace-1' are lost; "), "{ran:?}");
    }
}

#[test]
fn a_damaged_table_without_a_manifest_is_named() {
    let shell = without(&["MANIFEST"]);
    let tables = std::fs::read_dir(shell.path("db")).unwrap().map(|file| file.unwrap().path());
    let table = tables.filter(|path| path.extension().is_some_and(|it| it == "tbl")).max().unwrap();
    std::fs::write(&table, "damaged").unwrap();
    let ran = shell.run("repair db");
    assert!(ran.err.contains(".tbl', whatever keys it held: corruption: "), "{ran:?}");
    assert_eq!(shell.ok("get db home --keyspace keyspace-1").len(), 301);
}
