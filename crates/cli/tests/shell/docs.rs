//! Runs the examples of docs/shell.md, and those of the cookbook. Each `console` block is a
//! separate shell session.

use std::path::Path;
use std::process::Command;

use crate::foldb::Shell;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/shell.md");
const COOKBOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cookbook.md");

#[test]
fn every_example_prints_what_the_document_says() {
    check(PAGE, 10);
}

#[test]
fn the_cookbook_prints_what_it_says() {
    check(COOKBOOK, 1);
}

/// Runs the `console` blocks of a document. It must have `at_least` of them.
fn check(document: &str, at_least: usize) {
    let text = std::fs::read_to_string(document).unwrap();
    let blocks: Vec<&str> =
        text.split("```console\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= at_least, "{} blocks", blocks.len());
    for block in blocks {
        let shell = Shell::new();
        for step in block.split("$ ").filter(|step| !step.is_empty()) {
            let (line, expected) = step.split_once('\n').unwrap();
            let printed = run(&shell, line);
            assert!(
                matches(&printed, expected),
                "$ {line}\nprinted:\n{printed}\ndocumented:\n{expected}"
            );
        }
    }
}

/// Returns both outputs of a line of shell.
fn run(shell: &Shell, line: &str) -> String {
    let binaries = Path::new(env!("CARGO_BIN_EXE_foldb")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {line}\n}} 2>&1")])
        .env("PATH", path)
        .current_dir(shell.path(""))
        .output()
        .unwrap();
    // Messages name files from the root. The document leaves out the directory of the example.
    let directory = format!("{}/", shell.path("").display()).replace("//", "/");
    String::from_utf8(output.stdout).unwrap().replace(&directory, "")
}

/// Whether `printed` matches `expected`, where `…` stands for any text.
fn matches(printed: &str, expected: &str) -> bool {
    let mut parts = expected.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = printed.strip_prefix(first) else { return false };
    let Some(last) = expected.rsplit_once('…').map(|(_, last)| last) else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    printed.ends_with(last)
}

#[test]
fn dots_stand_for_anything() {
    assert!(matches("a 12 b 3\n", "a … b …\n"));
    assert!(matches("ab\n", "ab\n"));
    assert!(!matches("ab\nc\n", "ab\n"));
    assert!(!matches("ab", "…a"));
    assert!(!matches("b", "a…"));
}
