//! Exports of tables that the original RocksDB ingests.

use std::fs;

use crate::foldb::Shell;
use crate::rocksdb::Peer;

/// A database with two keyspaces.
fn database() -> Shell {
    let shell = Shell::new();
    let lines: String = (0..5000).map(|n| format!("key{n:05}\tvalue {n}\n")).collect();
    shell.feed(&["load", "db", "-"], lines.as_bytes()).ok();
    shell.ok("keyspaces db --create visits --operator uint64add");
    shell.ok("merge db a 3 --keyspace visits");
    shell.ok("merge db a 4 --keyspace visits");
    shell
}

#[test]
fn rocksdb_ingests_what_is_exported() {
    let Some(peer) = Peer::find() else { return };
    let shell = database();
    let commands = shell.ok("export --to rocksdb-sst db tables");
    let create = "ldb --db=DB create_column_family 'visits'\n";
    assert!(commands.contains(create), "{commands}");
    let into = shell.path("rocksdb");
    for family in ["default", "visits"] {
        let table = format!("ingest_extern_sst 'tables/{family}/000001.sst'\n");
        assert!(commands.contains(&table), "{commands}");
        let path = shell.path("tables").join(family).join("000001.sst");
        peer.ingest(&into, family, &[&path]);
    }
    let mut expected = String::new();
    for name in ["default", "visits"] {
        expected += &format!("family {name}\n");
        let line = format!("scan db --keyspace {name} --key-format hex --as hex");
        expected += &shell.ok(&line).replace('\t', " ").to_uppercase();
    }
    assert!(peer.entries(&into, &[]) == expected);
    // And back again.
    shell.ok("import --from rocksdb rocksdb again");
    assert_eq!(shell.ok("scan again"), shell.ok("scan db"));
}

#[test]
fn an_export_for_rocksdb_refuses_what_it_cannot_hold() {
    let shell = database();
    shell.ok("put db b text --keyspace visits --as utf8");
    shell.ok("merge db b 1 --keyspace visits --blind");
    let message = shell.run("export --to rocksdb-sst db tables").failed(1);
    assert!(message.contains("nothing was exported"), "{message}");
    assert!(!shell.path("tables").exists() && !shell.path("tables.unfinished").exists());
    shell.ok("export --to rocksdb-sst db tables --keyspace default");
    assert_eq!(fs::read_dir(shell.path("tables")).unwrap().count(), 1);
    let message = shell.run("export --to rocksdb db other").failed(2);
    assert!(message.contains("--to rocksdb-sst"), "{message}");
}
