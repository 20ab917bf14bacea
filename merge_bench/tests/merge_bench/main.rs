//! The built program: its output, its exit codes, and its document.

mod golden;

use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str], directory: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_merge_bench"));
    // clap wraps its help to the terminal's width, or to this without a terminal.
    command.env_remove("COLUMNS");
    command.args(arguments).current_dir(directory).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

const ONCE: [&str; 5] = ["standard", "--workload", "baseline", "--reps", "1"];

#[test]
fn a_run_prints_two_tables_and_verifies_every_key() {
    let here = tempfile::tempdir().unwrap();
    let output = run(&ONCE, here.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let stdout = text(&output.stdout);
    let rows: Vec<&str> = stdout.lines().filter(|line| line.starts_with("| small-")).collect();
    assert_eq!(rows.len(), 2, "{stdout}");
    for head in ["| ms/op |", "max_lock_hold_us", "throughput_degradation_pct"] {
        assert!(stdout.contains(head), "{head}: {stdout}");
    }
    let sentence = "\nverified 90000 live, 10000 deleted keys after reopen: ok\n";
    assert!(stdout.ends_with(sentence), "{stdout}");
    let stderr = text(&output.stderr);
    assert!(stderr.contains("[1/1] standard: small-100k-128b, baseline, hint on"), "{stderr}");
    assert!(stderr.contains(sentence.trim()), "{stderr}");
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0, "its directory is removed");
}

#[test]
fn json_and_html_are_all_of_standard_output() {
    let here = tempfile::tempdir().unwrap();
    let words = |format| [&ONCE[..], &["--scatter", "--db", "db", "--format", format]].concat();
    let output = run(&words("json"), here.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let results: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = &results["runs"][0];
    assert_eq!((&row["dataset"], &row["scatter"]), (&"small-100k-128b".into(), &true.into()));
    assert!(row["ms/op"].as_f64().unwrap() > 0.0, "{row}");
    assert!(row["reduction_ratio_pct"].as_f64().unwrap() > 20.0, "{row}");
    assert_eq!(row["verified_live"], 90_000);
    assert_eq!(std::fs::read_dir(here.path().join("db")).unwrap().count(), 0);
    let output = run(&words("html"), here.path());
    let page = text(&output.stdout);
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("max_lock_hold_us"), "{page}");
}

#[test]
fn an_invalid_command_line_prints_one_line_and_exits_with_2() {
    let here = tempfile::tempdir().unwrap();
    for (arguments, line) in [
        (
            &["standard", "--dataset", "tiny"][..],
            "merge_bench: --dataset cannot be 'tiny'; valid are small-100k-128b, medium-500k-128b, \
             large-1m-512b, all\n",
        ),
        (
            &["merge"],
            "merge_bench: subcommand cannot be 'merge'; valid are standard, patterns, \
             memory-budget, memory-optimal, concurrent, degradation, all\n",
        ),
    ] {
        let output = run(arguments, here.path());
        assert_eq!(output.status.code(), Some(2));
        assert_eq!((text(&output.stdout), text(&output.stderr)), ("", line));
    }
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0, "no work began");
}

#[test]
fn a_directory_in_use_is_left_alone() {
    let here = tempfile::tempdir().unwrap();
    std::fs::write(here.path().join("mine"), "kept").unwrap();
    let output = run(&[&ONCE[..], &["--db", "."]].concat(), here.path());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).ends_with("--db: . is not empty; name a new directory\n"));
    assert_eq!(std::fs::read(here.path().join("mine")).unwrap(), b"kept");
}

/// The example of docs/merge_bench.md runs as printed, and the document names every flag and
/// column.
#[test]
fn the_document_is_true() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/merge_bench.md");
    let document = std::fs::read_to_string(path).unwrap();
    let line =
        document.lines().find_map(|line| line.strip_prefix("    target/release/merge_bench "));
    let arguments: Vec<&str> = line.unwrap().split_whitespace().collect();
    let here = tempfile::tempdir().unwrap();
    let output = run(&arguments, here.path());
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    let help = text(&run(&["--help"], here.path()).stdout).to_owned();
    let flags = help.split_whitespace().filter(|word| word.starts_with("--"));
    for flag in flags.filter(|flag| !["--help", "--version"].contains(flag)) {
        assert!(document.contains(&format!("`{flag}")), "{flag} is not documented");
    }
    let tables = text(&output.stdout);
    for head in
        tables.lines().filter(|line| line.contains("| dataset")).flat_map(|line| line.split('|'))
    {
        assert!(document.contains(head.trim()), "{head} is not documented");
    }
}
