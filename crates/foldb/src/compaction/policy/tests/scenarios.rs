//! Compares the policy's jobs for drawn trees with the expected ones in `testdata/`.
//!
//! A scenario is a comment (why), the preset, a drawing, commands, `----` and one answer for each
//! command. `UPDATE_GOLDEN=1` rewrites the answers.

use std::path::Path;

use crate::compaction::policy::tests::depth;
use crate::compaction::policy::tests::drawing::{Drawing, draw_pick, draw_verdict, parse_range};
use crate::compaction::policy::{Pick, Policy, Signals, reads, rest};
use crate::key::BytewiseComparator;
use crate::settings::CompactionPreset;

const CMP: &BytewiseComparator = &BytewiseComparator;

#[test]
fn leveled() {
    check("leveled.txt", include_str!("../testdata/leveled.txt"));
}

#[test]
fn tiered() {
    check("tiered.txt", include_str!("../testdata/tiered.txt"));
}

#[test]
fn lazy_leveled() {
    check("lazy_leveled.txt", include_str!("../testdata/lazy_leveled.txt"));
}

#[test]
fn busy_runs() {
    check("busy.txt", include_str!("../testdata/busy.txt"));
}

#[test]
fn manual() {
    check("manual.txt", include_str!("../testdata/manual.txt"));
}

#[test]
fn at_rest() {
    check("rest.txt", include_str!("../testdata/rest.txt"));
}

#[test]
fn for_reads() {
    check("reads.txt", include_str!("../testdata/reads.txt"));
}

#[test]
fn for_scans() {
    check("scans.txt", include_str!("../testdata/scans.txt"));
}

#[test]
fn around_damage() {
    check("damage.txt", include_str!("../testdata/damage.txt"));
}

#[test]
fn released() {
    check("released.txt", include_str!("../testdata/released.txt"));
}

fn check(file: &str, text: &str) {
    let answered: Vec<String> = text.trim().split("\n\n").map(answer).collect();
    let answered = answered.join("\n\n") + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/compaction/policy/testdata");
        std::fs::write(path.join(file), answered).expect("testdata can be written");
        return;
    }
    for (is, should) in answered.split("\n\n").zip(text.split("\n\n")) {
        assert_eq!(is.trim_end(), should.trim_end(), "{file}; UPDATE_GOLDEN=1 rewrites it");
    }
    assert_eq!(answered, text, "{file}");
}

/// Returns the scenario with its answers.
fn answer(scenario: &str) -> String {
    let question = scenario.split("\n----").next().expect("never empty");
    let mut policy = super::policy(CompactionPreset::LazyLeveled, 2 << 20);
    let mut drawing = Drawing::new(policy.num_levels);
    let mut answers = Vec::new();
    for line in question.lines().filter(|line| !line.starts_with('#')) {
        if let Some(preset) = line.strip_prefix("policy ") {
            policy = parse_policy(preset);
            drawing = Drawing::new(policy.num_levels);
        } else if !drawing.line(line) {
            answers.push(run(&policy, &drawing, line));
        }
    }
    format!("{question}\n----\n{}", answers.join("\n"))
}

fn run(policy: &Policy, drawing: &Drawing, command: &str) -> String {
    let Drawing { tree, jobs } = drawing;
    let picker = policy.picker(tree, jobs, CMP);
    let choose = |policy: &Policy, signals: Signals| policy.choose(tree, &signals, CMP).verdict;
    let mut words = command.split(' ');
    match words.next() {
        Some("pick") => draw_verdict(&choose(policy, Signals { jobs, ..Signals::default() })),
        Some("depth") => depth(tree, CMP).to_string(),
        Some("debt") => {
            format!("{:.1} MiB", policy.debt(tree, jobs, CMP) as f64 / f64::from(1 << 20))
        }
        Some("manual") => {
            let range = parse_range(words.next().expect("a range"));
            let caller = Some(&range);
            draw_verdict(&choose(policy, Signals { jobs, caller, ..Signals::default() }))
        }
        Some("rest") => draw_or_rest(rest::at_rest(&picker)),
        Some("reads") => draw_priced(reads::fewer_runs(&picker)),
        Some("scans") => draw_priced(reads::fewer_tombstones(&picker)),
        _ => panic!("unknown command: {command}"),
    }
}

fn draw_or_rest(pick: Option<Pick>) -> String {
    pick.as_ref().map_or("rest".to_owned(), draw_pick)
}

fn draw_priced(priced: Option<(u64, Pick)>) -> String {
    priced.map_or("nothing".to_owned(), |(price, pick)| {
        format!("{}, for {:.1} MiB", draw_pick(&pick), price as f64 / f64::from(1 << 20))
    })
}

/// `lazy levels=4 base=64`
fn parse_policy(text: &str) -> Policy {
    let mut words = text.split(' ');
    let preset = match words.next() {
        Some("leveled") => CompactionPreset::Leveled,
        Some("tiered") => CompactionPreset::Tiered,
        Some("lazy") => CompactionPreset::LazyLeveled,
        _ => panic!("unknown preset: {text}"),
    };
    let mut policy = super::policy(preset, 2 << 20);
    for word in words {
        let (name, value) = word.split_once('=').expect("NAME=VALUE");
        let value: u64 = value.parse().expect("a number");
        match name {
            "levels" => policy.num_levels = value as usize,
            "base" => policy.level_base = value << 20,
            "runs" => policy.staging_max_runs = value as usize,
            _ => panic!("unknown setting: {name}"),
        }
    }
    policy
}
