//! `--json` prints one JSON object on each line. Every command has a row here, so a new command
//! says what it prints.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::foldb::Shell;

/// Commands that print data, each with a line that prints some, and lines that prepare it.
const PRINTS: &[(&str, &[&str], &str)] = &[
    ("get", &["put db k v"], "get db k"),
    ("merge", &[], "merge db k 1 --operator uint64add --get"),
    ("operands", &["merge db k 1 --operator uint64add"], "operands drop-last db k"),
    ("ttl", &["put db k v"], "ttl db k"),
    ("scan", &["put db k v"], "scan db"),
    ("keys", &["put db k v"], "keys db --largest 1"),
    ("dump", &["put db k v"], "dump db --text"),
    ("restore", &["put db k v", "dump db --output f"], "restore f other"),
    ("stats", &["put db k v"], "stats db"),
    ("keyspaces", &["put db k v"], "keyspaces db"),
    ("options", &[], "options"),
    ("compact", &["put db k v"], "compact db"),
    ("gc", &["put db k v"], "gc db"),
    ("repair", &["put db k v"], "repair db"),
    ("verify", &["put db k v"], "verify db"),
    ("explain", &["put db k v"], "explain db k"),
    ("finalize", &["merge db k 1 --operator uint64add"], "finalize db"),
    ("clock", &["put db k v"], "clock db"),
    ("checkpoint", &["put db k v"], "checkpoint db other"),
    ("backup", &["put db k v"], "backup create db dir"),
    ("backup", &["put db k v", "backup create db dir"], "backup list dir"),
    ("backup", &["put db k v", "backup create db dir"], "backup verify dir"),
    ("queue", &[], "queue push db q body"),
    ("queue", &["queue push db q body"], "queue depth db q"),
    ("queue", &["queue push db q body"], "queue list db q"),
    ("queue", &["queue push db q body"], "queue claim db q"),
    ("import", &[], "import --from csv in.csv db --key k"),
    ("export", &["put db k v"], "export --to csv db out.csv"),
    ("operators", &[], "operators"),
    ("demo", &[], "demo --words 10"),
];

/// Commands that print no data, and those that other tests run, with the reason.
const OTHERS: &[(&str, &str)] = &[
    ("put", "changes only"),
    ("delete", "changes only"),
    ("touch", "changes only"),
    ("count", "changes only; --json would be a form of lines that it reads"),
    ("load", "changes only; --json is the form of the lines that it reads"),
    ("completions", "a program for a shell"),
    ("updates", "in updates.rs, which keeps the logs"),
    ("top", "in watching.rs, which records"),
    ("doctor", "in watching.rs, which records"),
    ("report", "in watching.rs, which records"),
];

/// Compact and finalize once printed no JSON.
#[test]
fn every_command_that_prints_data_prints_it_as_json() {
    for (_, before, line) in PRINTS {
        let shell = Shell::new();
        fs::write(shell.path("in.csv"), "k\na\n").unwrap();
        before.iter().for_each(|line| drop(shell.ok(line)));
        let out = shell.ok(&format!("{line} --json"));
        assert!(!out.is_empty(), "{line} prints nothing");
        for object in out.lines() {
            let parsed = serde_json::from_str::<Value>(object);
            assert!(matches!(parsed, Ok(Value::Object(_))), "{line}: {object}");
        }
    }
}

#[test]
fn every_command_has_a_row() {
    let help = Shell::new().ok("--help");
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let name = |line: &str| line.strip_prefix("  ")?.split(' ').next().map(str::to_owned);
    let listed: BTreeSet<String> =
        list.lines().filter_map(name).filter(|name| !name.is_empty()).collect();
    let rows = PRINTS.iter().map(|(name, ..)| *name).chain(OTHERS.iter().map(|(name, _)| *name));
    let rows: BTreeSet<String> = rows.map(str::to_owned).collect();
    assert_eq!(listed, rows);
}
