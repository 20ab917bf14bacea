//! `kill -9` at random moments of `count --ack`: the database holds exactly a prefix of the input.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use crate::foldb::{Shell, command};

const LINES: usize = 200_000;
const KEYS: usize = 5_000;
const KILLS: u64 = 20;

#[test]
fn a_killed_count_leaves_exactly_the_first_lines() {
    let shell = Shell::new();
    let keys: Vec<String> = {
        let mut random = fastrand::Rng::with_seed(7);
        (0..LINES).map(|_| format!("key{:04}", random.usize(..KEYS))).collect()
    };
    std::fs::write(shell.path("input"), keys.join("\n")).unwrap();
    let mut killed_inside = 0;
    for seed in 1..=KILLS {
        let db = format!("db{seed}");
        let acked = kill_at_random(&shell, &db, seed);
        let found = if shell.path(&db).join("CURRENT").exists() {
            shell.ok(&format!("scan {db}"))
        } else {
            assert_eq!(acked, 0, "seed {seed}: acknowledged lines are gone");
            String::new()
        };
        let lines = found.lines().map(|line| line.split_once('\t').unwrap().1);
        let total: usize = lines.map(|count| count.parse::<usize>().unwrap()).sum();
        assert!(total >= acked, "seed {seed}: {acked} acknowledged, {total} found");
        assert!(total <= LINES, "seed {seed}: {total} found");
        assert!(found == counts(&keys[..total]), "seed {seed}: not the first {total} lines");
        killed_inside += u32::from(total > 0 && total < LINES);
    }
    assert!(killed_inside >= 5, "only {killed_inside} kills hit the middle of the input");
}

/// Starts a count, kills it, and returns its last acknowledgement.
fn kill_at_random(shell: &Shell, db: &str, seed: u64) -> usize {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut child = command()
        .args(["count", "--ack"])
        .arg(shell.path(db))
        .stdin(File::open(shell.path("input")).unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut acks = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut last = 0;
    let mut note = |line: String| last = line.strip_prefix("committed ").unwrap().parse().unwrap();
    for _ in 0..random.usize(..LINES / 4096) {
        match acks.next() {
            Some(line) => note(line.unwrap()),
            None => break,
        }
    }
    std::thread::sleep(Duration::from_micros(random.u64(..2_000)));
    child.kill().unwrap();
    child.wait().unwrap();
    // Its output before the kill counts too.
    acks.map_while(Result::ok).filter(|line| line.starts_with("committed ")).for_each(note);
    last
}

/// Returns the output of `scan` after a count of these keys.
fn counts(keys: &[String]) -> String {
    let mut counts = BTreeMap::new();
    for key in keys {
        *counts.entry(key).or_insert(0) += 1;
    }
    counts.iter().fold(String::new(), |mut text, (key, count)| {
        writeln!(text, "{key}\t{count}").unwrap();
        text
    })
}
