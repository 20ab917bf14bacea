//! Help, operators, and a standard output that accepts no bytes.

use std::process::Stdio;

use crate::foldb::{Ran, Shell, command};

#[test]
fn help_goes_to_standard_output() {
    let shell = Shell::new();
    assert!(shell.ok("--help").contains("Examples:"));
    assert!(shell.ok("count --help").starts_with("Adds one to each key that it reads"));
    assert!(shell.ok("--version").starts_with("foldb "));
}

#[test]
fn operators_are_listed_with_an_operand_each() {
    let shell = Shell::new();
    let table = shell.ok("operators");
    for name in ["uint64add", "int64add", "max", "min", "stringappend", "append", "put"] {
        assert!(table.lines().any(|line| line.split(' ').next() == Some(name)), "{table}");
    }
    for line in shell.ok("operators --json").lines() {
        let operator: serde_json::Value = serde_json::from_str(line).unwrap();
        // The example is an operand that the operator takes.
        let (name, example) = (operator["name"].as_str(), operator["example"].as_str());
        let (name, example) = (name.unwrap(), example.unwrap());
        shell.run_args(&["merge", name, "key", example, "--operator", name]).ok();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_is_a_failure() {
    let shell = Shell::new();
    shell.ok("put db k v");
    let db = shell.path("db");
    let db = db.to_str().unwrap();
    for args in [&["get", db, "k"][..], &["scan", db], &["stats", db], &["operators"], &["--help"]]
    {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let child = command().args(args).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
        let message = Ran::of(child.wait_with_output().unwrap()).failed(1);
        assert!(message.starts_with("cannot write to standard output"), "{message}");
    }
}
