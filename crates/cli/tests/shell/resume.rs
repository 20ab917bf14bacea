//! `count --resume` counts every line once, for any end of the counts before.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Stdio;
use std::time::Duration;

use crate::foldb::{Shell, command};

fn count(shell: &Shell, args: &[&str], input: &str) -> String {
    let ran = shell.feed(&[&["count", "db", "--resume"], args].concat(), input.as_bytes());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.err
}

#[test]
fn lines_that_were_counted_are_skipped() {
    let shell = Shell::new();
    std::fs::write(shell.path("log"), "a\n\nb\n").unwrap();
    let summary = count(&shell, &["log"], "");
    assert!(summary.starts_with("2 lines merged") && !summary.contains("before"), "{summary}");
    let summary = count(&shell, &["log"], "");
    assert!(summary.starts_with("0 lines merged"), "{summary}");
    assert!(summary.contains("3 lines were there before"), "{summary}");
    // Appended lines are counted, from another directory too.
    std::fs::write(shell.path("log"), "a\n\nb\na\n").unwrap();
    let log = shell.path("log");
    count(&shell, &[log.to_str().unwrap()], "");
    assert_eq!(shell.ok("scan db"), "a\t2\nb\t1\n");
    // Without --resume the file is counted again, and its progress does not change.
    shell.feed(&["count", "db", "log"], b"").ok();
    count(&shell, &["log"], "");
    assert_eq!(shell.ok("scan db"), "a\t4\nb\t2\n");
}

#[test]
fn each_source_and_keyspace_has_a_progress_of_its_own() {
    let shell = Shell::new();
    std::fs::write(shell.path("one"), "a\n").unwrap();
    std::fs::write(shell.path("two"), "a\nb\n").unwrap();
    count(&shell, &["one"], "");
    count(&shell, &["one", "two", "-"], "c\n");
    let summary = count(&shell, &["two", "one", "-"], "c\nc\n");
    assert!(summary.starts_with("1 line merged"), "{summary}");
    assert_eq!(shell.ok("scan db"), "a\t2\nb\t1\nc\t2\n");
    shell.ok("keyspaces db --create other --operator uint64add");
    count(&shell, &["one", "--keyspace", "other"], "");
    assert_eq!(shell.ok("scan db --keyspace other"), "a\t1\n");
    // A new keyspace of the same name begins without progress; the others keep theirs.
    shell.ok("keyspaces db --drop other");
    shell.ok("keyspaces db --create other --operator uint64add");
    count(&shell, &["one", "--keyspace", "other"], "");
    assert_eq!(shell.ok("scan db --keyspace other"), "a\t1\n");
    count(&shell, &["one"], "");
    assert_eq!(shell.ok("get db a"), "2\n");
}

#[test]
fn another_input_under_the_same_name_is_refused() {
    let shell = Shell::new();
    std::fs::write(shell.path("log"), "a\nb\n").unwrap();
    count(&shell, &["log"], "");
    for (text, why) in [
        ("a\nx\nc\n", "'log': the first 2 lines differ from those counted before"),
        ("a\n", "'log': it has fewer lines (1) than were counted before (2)"),
        ("", "'log': it has fewer lines (0) than were counted before (2)"),
    ] {
        std::fs::write(shell.path("log"), text).unwrap();
        let message = shell.run("count db log --resume").failed(1);
        assert!(message.starts_with(why), "{message}");
        assert_eq!(shell.ok("scan db"), "a\t1\nb\t1\n");
    }
}

#[test]
fn a_bad_line_can_be_mended_and_the_count_goes_on() {
    let shell = Shell::new();
    std::fs::write(shell.path("log"), "a\nb\tx\nc\n").unwrap();
    let message = shell.run("count db log --resume").failed(1);
    assert!(message.starts_with("'log' line 2: "), "{message}");
    std::fs::write(shell.path("log"), "a\nb\t2\nc\n").unwrap();
    let out = shell.ok("count db log --resume --ack");
    assert_eq!(out, "committed 3\n");
    assert_eq!(shell.ok("scan db"), "a\t1\nb\t2\nc\t1\n");
    assert_eq!(shell.ok("scan db --keyspace foldb.count.resume --count"), "1\n");
}

const LINES: usize = 150_000;
/// Least and most kills: on a busy machine, several may miss the middle of the count.
const KILLS: std::ops::Range<u32> = 12..100;

/// Kills at random moments, also while counted lines are skipped, leave exact counts.
#[test]
fn counts_are_exact_after_any_number_of_kills() {
    let shell = Shell::new();
    let mut random = fastrand::Rng::with_seed(5);
    let keys: Vec<String> =
        (0..LINES).map(|_| format!("key{:04}", random.usize(..3_000))).collect();
    let (first, second) = keys.split_at(LINES / 3);
    std::fs::write(shell.path("first"), first.join("\n")).unwrap();
    std::fs::write(shell.path("second"), second.join("\n") + "\n").unwrap();
    let mut grew = 0;
    let mut before = 0;
    // After a kill before the count has begun, the next kill comes later.
    let mut latest = 40_000;
    for kill in 0..KILLS.end {
        if kill >= KILLS.start && grew > 0 {
            break;
        }
        let mut child = command()
            .args(["count", "db", "first", "second", "--resume"])
            .current_dir(shell.path(""))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(random.u64(3_000..latest)));
        child.kill().unwrap();
        child.wait().unwrap();
        if !shell.path("db").join("CURRENT").exists() {
            latest += 10_000;
            continue;
        }
        let total = total(&shell.ok("scan db"));
        assert!(total >= before && total <= LINES, "{before} then {total}");
        grew += u32::from(total > before && total < LINES);
        if total == before {
            latest += 10_000;
        }
        if total == LINES && grew == 0 {
            // Counted in one go: from the beginning, with earlier kills.
            std::fs::remove_dir_all(shell.path("db")).unwrap();
            latest = (latest / 2).max(6_000);
        }
        before = if grew > 0 { total } else { total % LINES };
    }
    count(&shell, &["first", "second"], "");
    assert!(shell.ok("scan db") == counts(&keys), "not every line once");
    assert!(grew >= 1, "no kill hit the middle of the input");
}

fn total(scan: &str) -> usize {
    scan.lines().map(|line| line.split_once('\t').unwrap().1.parse::<usize>().unwrap()).sum()
}

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
