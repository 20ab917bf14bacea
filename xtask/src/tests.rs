//! Tests of the command line: every script has a command, and the documents list every command.

use std::fs;

use clap::CommandFactory as _;

use crate::arguments::{Command, Line};
use crate::package::PUBLISHED;
use crate::step::root;

#[test]
fn the_command_line_is_sound() {
    Line::command().debug_assert();
}

fn read(line: &str) -> Result<Line, clap::Error> {
    Line::read(format!("xtask {line}").split_whitespace().map(Into::into))
}

#[test]
fn an_unknown_command_is_reported_with_the_nearest_one() {
    let refusal = read("linnt").unwrap_err().render().to_string();
    assert!(refusal.starts_with("error: unrecognized subcommand 'linnt'"), "{refusal}");
    assert!(refusal.contains("'lint'") && refusal.contains("--help"), "{refusal}");
}

#[test]
fn arguments_after_a_command_reach_its_program() {
    for (line, runs) in [
        ("test", "cargo test --workspace"),
        ("test -p foldb -- --nocapture", "cargo test -p foldb -- --nocapture"),
        ("test -- --nocapture", "cargo test -- --nocapture"),
    ] {
        let command = read(line).unwrap().command;
        let Command::Test(passed) = command else { panic!("{command:?}") };
        let step = crate::commands::test(passed).to_string();
        assert_eq!(step, format!("timeout --verbose 40m {runs}"));
    }
}

/// Checks that the help of some command names each script.
#[test]
fn every_script_has_a_command() {
    let mut command = Line::command();
    let help: String = command
        .get_subcommands_mut()
        .map(|command| command.render_long_help().to_string())
        .collect();
    let mut scripts = vec!["fuzz/all.sh".to_owned()];
    for entry in fs::read_dir(root().join("ci")).unwrap() {
        scripts.push(format!("ci/{}", entry.unwrap().file_name().to_str().unwrap()));
    }
    assert!(scripts.len() > 5, "{scripts:?}");
    // The scripts of the two sanitizers start this one.
    scripts.retain(|script| script != "ci/sanitizer.sh");
    for script in scripts {
        assert!(help.contains(&script), "{script} is in no command's help");
    }
}

/// Checks that exactly the packaged crates are marked as published.
#[test]
fn published_crates_are_the_ones_that_are_packaged() {
    let mut published = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let manifest = fs::read_to_string(entry.unwrap().path().join("Cargo.toml")).unwrap();
        let name = manifest.lines().find_map(|line| line.strip_prefix("name = ")).unwrap();
        if manifest.contains("\npublish = true\n") {
            published.push(name.trim_matches('"').to_owned());
        }
    }
    published.sort_unstable();
    let mut expected = PUBLISHED.to_vec();
    expected.sort_unstable();
    assert_eq!(published, expected);
}

#[test]
fn contributing_names_every_command() {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    for command in Line::command().get_subcommands() {
        let name = command.get_name();
        assert!(page.contains(&format!("| `cargo xtask {name}` |")), "{name} is not in the table");
    }
}

#[test]
fn paths_in_contributing_exist() {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let quoted = page.split('`').skip(1).step_by(2);
    let is_path = |path: &&str| {
        let above = [
            "crates/",
            "merge_bench/",
            "streams/",
            "compat/",
            "docs/",
            "fuzz/",
            "compare/",
            "ci/",
            ".ci/",
            ".github/",
        ];
        above.iter().any(|above| path.starts_with(above)) && !path.contains(' ')
    };
    let paths: Vec<&str> = quoted.filter(is_path).collect();
    assert!(paths.len() > 10, "{paths:?}");
    for path in paths {
        assert!(root().join(path).exists(), "{path} is not there");
    }
}
