//! `keyspaces`, and `--keyspace` of the commands that touch data.

use serde_json::Value;

use crate::foldb::{Shell, contents};

fn list(shell: &Shell) -> Vec<Value> {
    let lines = shell.ok("keyspaces db --json");
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn they_are_listed_created_and_dropped() {
    let shell = Shell::new();
    assert_eq!(shell.ok("keyspaces db --create visits --operator uint64add"), "");
    shell.ok("keyspaces db --create notes");
    let all = list(&shell);
    let names: Vec<&str> = all.iter().map(|own| own["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["default", "notes", "visits"]);
    assert_eq!(all[2]["operator"], "uint64add");
    assert_eq!(all[1]["operator"], Value::Null);
    assert_eq!(all[1]["comparator"], "foldb.bytewise");
    assert!(all.iter().all(|own| own["table_bytes"].is_u64() && own["memtable_bytes"].is_u64()));
    let table = shell.ok("keyspaces db");
    assert!(table.lines().any(|line| line.starts_with("visits   uint64add")), "{table}");
    shell.ok("keyspaces db --drop visits");
    assert_eq!(list(&shell).len(), 2);
    shell.ok("keyspaces db --create visits");
    assert_eq!(list(&shell)[2]["operator"], Value::Null);
}

#[test]
fn each_command_works_in_the_one_that_is_named() {
    let shell = Shell::new();
    shell.ok("keyspaces db --create n --operator int64add");
    shell.ok("put db k text");
    shell.ok("merge db k -5 --keyspace n");
    shell.feed(&["count", "db", "--keyspace", "n"], b"k\nl\t7\n").ok();
    shell.feed(&["load", "db", "--keyspace", "n"], b"m\t1\n").ok();
    shell.ok("put db o 9 --keyspace n");
    shell.ok("delete db m --keyspace n");
    assert_eq!(shell.ok("scan db"), "k\ttext\n");
    assert_eq!(shell.ok("scan db --keyspace n"), "k\t-4\nl\t7\no\t9\n");
    assert_eq!(shell.ok("scan db --keyspace n --count --prefix l"), "1\n");
    assert_eq!(shell.ok("get db l --keyspace n"), "7\n");
    assert_eq!(shell.ok("get db k --keyspace default"), "text\n");
    shell.ok("compact db --keyspace n");
    let all = list(&shell);
    assert_eq!((&all[1]["name"], &all[1]["runs"]), (&"n".into(), &1.into()));
    let stats: Value = serde_json::from_str(&shell.ok("stats db --keys --json")).unwrap();
    assert_eq!((&stats["keys"], &stats["keyspaces"][1]), (&4.into(), &"n".into()));
    let options = shell.ok("options db --keyspace n");
    assert!(options.lines().any(|line| line.contains("int64add") && line.contains("stored")));
}

#[test]
fn a_keyspace_without_an_operator_needs_one_each_time() {
    let shell = Shell::new();
    shell.ok("keyspaces db --create plain");
    let message = shell.run("merge db k a --keyspace plain").failed(2);
    assert!(message.starts_with("keyspace 'plain' has no operator: give --operator"), "{message}");
    shell.ok("merge db k a --keyspace plain --operator append");
    shell.ok("merge db k b --keyspace plain --operator append");
    assert_eq!(shell.ok("get db k --keyspace plain"), "ab\n");
    let message = shell.run("load db --keyspace plain --operator append").failed(1);
    assert!(message.contains("leave out --operator"), "{message}");
    shell.feed(&["count", "db", "--keyspace", "plain"], b"n\nn\n").ok();
    assert_eq!(shell.ok("get db n --keyspace plain --as u64"), "2\n");
}

#[test]
fn a_missing_keyspace_is_named_and_nothing_is_created() {
    let shell = Shell::new();
    let commands = [
        "get db k",
        "put db k v",
        "delete db k",
        "merge db k 1 --operator uint64add",
        "scan db",
        "count db",
        "load db",
        "compact db",
        "options db",
    ];
    for line in commands {
        shell.run(&format!("{line} --keyspace vistis")).failed(1);
        assert!(!shell.path("db").exists(), "{line}");
    }
    shell.ok("keyspaces db --create visits");
    let before = shell.ok("keyspaces db --json");
    for line in commands {
        let message = shell.run(&format!("{line} --keyspace vistis")).failed(1);
        assert!(message.starts_with("there is no keyspace 'vistis' in 'db'"), "{message}");
        assert!(message.contains("the nearest is 'visits'"), "{message}");
        assert_eq!(shell.ok("keyspaces db --json"), before);
    }
}

#[test]
fn wrong_questions_touch_nothing() {
    let shell = Shell::new();
    assert_eq!(shell.run("keyspaces db").failed(1), "there is no database at 'db'");
    shell.run("keyspaces db --drop x").failed(1);
    shell.run("keyspaces db --create x --operator uint64ad").failed(2);
    shell.run("keyspaces db --create x --drop y").failed(2);
    shell.run("keyspaces db --operator uint64add").failed(2);
    shell.run_args(&["keyspaces", "db", "--create", ""]).failed(2);
    shell.run_args(&["keyspaces", "db", "--create", "a\nb"]).failed(2);
    assert!(!shell.path("db").exists());
    shell.ok("keyspaces db --create x");
    assert!(shell.run("keyspaces db --create x").failed(1).contains("already"));
    assert!(shell.run("keyspaces db --drop default").failed(1).contains("cannot be dropped"));
    std::fs::write(shell.path("file"), "precious").unwrap();
    shell.run("keyspaces file --create x").failed(1);
    assert_eq!(contents(&shell.path("file"))[0].1, b"precious");
}

/// A number that was merged once by mistake made the texts of a database unreadable forever.
#[test]
fn an_operator_is_unset_and_texts_are_texts_again() {
    let shell = Shell::new();
    shell.ok("put db today buy_apples");
    shell.feed(&["count", "db"], b"").ok();
    // Eight bytes are a number to the operator.
    shell.ok("put db note 7dots... --as utf8");
    assert_eq!(shell.ok("get db today"), "buy apples\n");
    assert_eq!(shell.ok("get db note"), "3327648248082949175\n");
    assert_eq!(shell.ok("keyspaces db --unset-operator default"), "");
    assert_eq!(shell.ok("get db note"), "7dots...\n");
    assert_eq!(list(&shell)[0]["operator"], Value::Null);
    shell.ok("keyspaces db --create later");
    assert_eq!(list(&shell)[1]["operator"], Value::Null);
    let message = shell.run("merge db today 1").failed(2);
    assert!(message.contains("has no operator yet"), "{message}");
    shell.ok("merge db tags red --operator set");
    shell.ok("keyspaces db --create plain --operator none");
    assert_eq!(list(&shell)[2]["operator"], Value::Null);
    let message = shell.run("keyspaces db --unset-operator nope").failed(1);
    assert!(message.contains("there is no keyspace 'nope'"), "{message}");
    let message = shell.run("keyspaces db --unset-operator plain --drop plain").failed(2);
    assert!(message.contains("--drop"), "{message}");
}
