//! Keyspaces of typed tables.

use foldb_typed::foldb::{Db, KeyspaceOptions};
use foldb_typed::{Counter, Max, MergeTable, Set, Table};

use crate::foldb::Shell;

fn make(shell: &Shell) {
    let db = Db::create(shell.path("db")).unwrap();
    let people = Table::<(String, i8), String, foldb_typed::Raw>::open(&db, "people").unwrap();
    people.put(("berlin", -7), "ann").unwrap();
    people.put(("berlin", 7), "bob").unwrap();
    people.put(("paris", 0), "cid").unwrap();
    let counts = MergeTable::<u32, Counter>::open(&db, "counts").unwrap();
    counts.add(258, -5).unwrap();
    let best = MergeTable::<u32, Max<(i8, String)>>::open(&db, "best").unwrap();
    best.merge(1, &(-5, "x".to_owned())).unwrap();
    MergeTable::<u32, Set<u8>>::open(&db, "sets").unwrap().insert(1, 9).unwrap();
    db.create_keyspace("plain", KeyspaceOptions::default()).unwrap();
    db.close().unwrap();
}

#[test]
fn typed_keys_are_shown_and_taken_when_asked_for() {
    let shell = Shell::new();
    make(&shell);
    let all = "(\"berlin\", -7)\tann\n(\"berlin\", 7)\tbob\n(\"paris\", 0)\tcid\n";
    assert_eq!(shell.ok("scan db --keyspace people --key-format typed"), all);
    let run = |arguments: &[&str]| shell.feed(arguments, b"").ok();
    let typed = ["--keyspace", "people", "--key-format", "typed"];
    assert_eq!(run(&[&["get", "db", "(\"berlin\", 7)"][..], &typed].concat()), "bob\n");
    let from = run(&[&["scan", "db", "--from", "(\"berlin\",7)", "--json"][..], &typed].concat());
    assert_eq!(from.lines().next(), Some(r#"{"key":"(\"berlin\", 7)","value":"bob"}"#));
    run(&[&["delete", "db", "(\"paris\", 0)"][..], &typed].concat());
    assert_eq!(shell.ok("scan db --keyspace people --count"), "2\n");
    // The bytes stay what is shown without the flag.
    assert_eq!(shell.ok("scan db --keyspace people --limit 1"), "berlin\0y\tann\n");
}

#[test]
fn values_are_shown_by_their_operator_or_their_type() {
    let shell = Shell::new();
    make(&shell);
    assert_eq!(shell.ok("scan db --keyspace counts --key-format typed"), "258\t-5\n");
    assert_eq!(shell.ok("scan db --keyspace best --key-format typed"), "1\t(-5, \"x\")\n");
    assert_eq!(shell.ok("scan db --keyspace sets --key-format typed"), "1\t{9}\n");
    assert_eq!(shell.ok("get db 1 --keyspace sets --key-format typed"), "{9}\n");
    let hex = shell.ok("get db 1 --keyspace sets --key-format typed --as hex");
    assert_eq!(hex, "2b0109\n");
}

#[test]
fn keyspaces_lists_the_schemas() {
    let shell = Shell::new();
    make(&shell);
    let table = shell.ok("keyspaces db");
    assert!(table.lines().next().unwrap().ends_with("RUNS  SCHEMA"), "{table}");
    let line = table.lines().find(|line| line.starts_with("people")).unwrap();
    assert!(line.ends_with("foldb-typed/1 keys=(str,i8) values=raw"), "{table}");
    let json = shell.ok("keyspaces db --json");
    assert!(json.contains(r#""schema":"foldb-typed/1 keys=u32 values=counter""#), "{json}");
}

#[test]
fn dumps_as_text_keep_the_schemas() {
    let shell = Shell::new();
    make(&shell);
    let dump = shell.ok("dump db --text");
    shell.feed(&["load", "copy"], dump.as_bytes()).ok();
    assert_eq!(shell.ok("dump copy --text"), dump);
    let typed = "scan copy --keyspace people --key-format typed --limit 1";
    assert_eq!(shell.ok(typed), "(\"berlin\", -7)\tann\n");
}

#[test]
fn keys_without_types_and_other_commands_are_refused() {
    let shell = Shell::new();
    make(&shell);
    let message = shell.run("scan db --keyspace plain --key-format typed").failed(1);
    assert!(message.contains("keyspace 'plain' have no types"), "{message}");
    let message = shell.run("get db x --keyspace counts --key-format typed").failed(1);
    assert!(message.contains("expected a number of type u32"), "{message}");
    let message = shell.run("put db 1 2 --keyspace counts --key-format typed").failed(2);
    assert!(
        message.contains("--key-format typed is for get, delete, scan, keys and rows"),
        "{message}"
    );
    shell.run("scan db --keyspace counts --key-format typed --prefix 1").failed(2);
}
