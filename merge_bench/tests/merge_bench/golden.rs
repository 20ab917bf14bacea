//! The interface that scripts and older results rely on: the program's name, its subcommands and
//! flags, the columns of its tables, its last line, and the fields of its JSON.
//!
//! The expected text is in `golden/`. Times and other figures are masked as `N`.
//! `UPDATE_GOLDEN=1 cargo test -p merge_bench --test merge_bench golden` writes the files anew.
//! A change of these files is a change of the interface: the message of its commit says so.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::{run, text};

const SUBCOMMANDS: [&str; 7] =
    ["standard", "patterns", "memory-budget", "memory-optimal", "concurrent", "degradation", "all"];

/// One small case of every subcommand but `all`, which runs the cases of the others.
const CASES: [&str; 6] = [
    "standard --workload baseline --hint both",
    "patterns --workload baseline --pattern mixed",
    "memory-budget --budget 16MB",
    "memory-optimal --budget 16MB",
    "concurrent --scenario balanced",
    "degradation",
];

#[test]
fn help_names_every_subcommand_and_flag() {
    let here = tempfile::tempdir().unwrap();
    let answer = |arguments: &[&str]| {
        let output = run(arguments, here.path());
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout).to_owned()
    };
    let help = answer(&["--help"]);
    for subcommand in SUBCOMMANDS {
        assert_eq!(answer(&[subcommand, "--help"]), help, "{subcommand} has the same flags");
    }
    let version = masked(&answer(&["--version"]));
    let transcript = format!(
        "$ merge_bench --help\n{help}\n$ merge_bench -h\n{}\n$ merge_bench --version\n{version}",
        answer(&["-h"])
    );
    compare("help.txt", &transcript);
}

#[test]
fn refusals_name_every_valid_value() {
    let here = tempfile::tempdir().unwrap();
    let mut transcript = String::new();
    for line in [
        "",
        "?",
        "standard --dataset ?",
        "standard --workload ?",
        "standard --hint ?",
        "patterns --pattern ?",
        "memory-budget --budget ?",
        "concurrent --scenario ?",
        "standard --sync ?",
        "standard --format ?",
        "standard --reps ?",
        "standard --sample-every ?",
        "standard --db",
        "standard --unknown",
    ] {
        let arguments: Vec<&str> = line.split_whitespace().collect();
        let output = run(&arguments, here.path());
        assert_eq!(output.status.code(), Some(2), "{line}");
        let told = text(&output.stderr);
        transcript += &format!("{}\n{told}\n", format!("$ merge_bench {line}").trim_end());
    }
    compare("refusals.txt", &transcript);
}

#[test]
fn tables_have_their_columns_and_the_last_line_says_ok() {
    let here = tempfile::tempdir().unwrap();
    let mut transcript = String::new();
    for case in CASES {
        let arguments: Vec<&str> = case.split(' ').chain(["--reps", "1"]).collect();
        let output = run(&arguments, here.path());
        assert!(output.status.success(), "{case}: {}", text(&output.stderr));
        transcript += &format!("$ merge_bench {case} --reps 1\n");
        for line in text(&output.stdout).lines() {
            transcript += &if line.starts_with('|') { row(line) } else { masked(line) };
            transcript.push('\n');
        }
        transcript.push('\n');
    }
    compare("tables.txt", &transcript);
    assert_eq!(transcript.matches("after reopen: ok\n").count(), 8, "one a row of the tables");
}

#[test]
fn json_has_its_fields() {
    let here = tempfile::tempdir().unwrap();
    // A load of readers and writers with a baseline: every figure is measured.
    let line = "concurrent --scenario balanced --reps 1 --format json";
    let output = run(&line.split(' ').collect::<Vec<_>>(), here.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let results: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut fields = BTreeMap::new();
    name_fields(&results, "", &mut fields);
    let fields: Vec<String> =
        fields.into_iter().map(|(path, kind)| format!("{path}: {kind}\n")).collect();
    compare("json_fields.txt", &format!("$ merge_bench {line}\n{}", fields.concat()));
}

/// Adds the path of each field below `value`, and the kind of its value.
fn name_fields(value: &Value, path: &str, fields: &mut BTreeMap<String, &'static str>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(elements) => {
            let path = format!("{path}[]");
            assert!(!elements.is_empty(), "{path} is empty, so its fields stay unknown");
            return elements.iter().for_each(|element| name_fields(element, &path, fields));
        }
        Value::Object(members) => {
            let prefix = if path.is_empty() { String::new() } else { format!("{path}.") };
            for (name, member) in members {
                name_fields(member, &format!("{prefix}{name}"), fields);
            }
            return;
        }
    };
    let before = fields.insert(path.to_owned(), kind);
    assert!(before.is_none_or(|before| before == kind), "{path} is {before:?} and {kind}");
}

/// Returns a row of a table without its padding: words stay, figures are masked.
fn row(line: &str) -> String {
    let cells = line.trim_matches('|').split('|').map(str::trim);
    let cells = cells.map(|cell| {
        if !cell.is_empty() && cell.trim_end_matches(':').bytes().all(|byte| byte == b'-') {
            match (cell, cell.ends_with(':')) {
                ("-", _) => "-".to_owned(),
                (_, true) => "---:".to_owned(),
                _ => "---".to_owned(),
            }
        } else if cell.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
            && !cell.ends_with('B')
        {
            masked(cell.trim_start_matches('-'))
        } else {
            cell.to_owned()
        }
    });
    format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
}

/// Returns `line` with `N` for each number.
fn masked(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        out += &rest[..at];
        out.push('N');
        let number = rest[at..].find(|c: char| !c.is_ascii_digit() && c != '.');
        rest = number.map_or("", |end| &rest[at + end..]);
    }
    out + rest
}

/// Compares `is`, without spaces at the ends of lines, with a file of `golden/`, or writes it
/// there.
fn compare(name: &str, is: &str) {
    let is: String = is.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/merge_bench/golden");
    let path = directory.join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, is).unwrap();
        return;
    }
    let should = std::fs::read_to_string(&path).unwrap();
    let differing = is.lines().zip(should.lines()).find(|(is, should)| is != should);
    if let Some((is, should)) = differing {
        panic!("{name}:\n  is       {is}\n  expected {should}\nUPDATE_GOLDEN=1 rewrites it");
    }
    assert_eq!(is.lines().count(), should.lines().count(), "{name}: number of lines");
}

#[test]
fn figures_are_masked_and_words_are_not() {
    assert_eq!(masked("verified 90000 live, 1.5 kept"), "verified N live, N kept");
    let line = "| small-100k-128b | on |  -0.5 | 0.5 (n=37) |     - | 16MB |";
    assert_eq!(row(line), "| small-100k-128b | on | N | N (n=N) | - | 16MB |");
    assert_eq!(row("| ----- | ----: |"), "| --- | ---: |");
}
