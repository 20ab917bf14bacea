//! `options` and `--profile`.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::Value;

use crate::foldb::{Ran, Shell, command};

/// Runs words in which `_` stands for itself.
fn run(shell: &Shell, line: &str) -> Ran {
    shell.run_args(&line.split(' ').collect::<Vec<_>>())
}

fn option(shell: &Shell, line: &str, name: &str) -> Value {
    let lines = run(shell, &format!("{line} --json")).ok();
    let mut options = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    options.find(|option| option["name"] == name).unwrap()
}

#[test]
fn every_option_is_told_with_value_and_source() {
    let shell = Shell::new();
    shell.ok("merge db k 1 --operator uint64add");
    let table = shell.ok("options db");
    assert!(table.starts_with("OPTION"), "{table}");
    for part in ["block_cache_size", "64  MiB", "stored", "More: fewer, larger flushes"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let operator = option(&shell, "options db", "merge_operator");
    assert_eq!((&operator["value"], &operator["from"]), (&"uint64add".into(), &"stored".into()));
    let limit = option(&shell, "options", "wal_limit");
    assert_eq!((&limit["value"], &limit["from"]), (&(256 << 20).into(), &"derived".into()));
}

#[test]
fn a_profile_holds_while_the_database_is_open() {
    let shell = Shell::new();
    run(&shell, "put db k v --profile small_memory").ok();
    for line in ["options db --profile small_memory", "options --profile=small_memory"] {
        let buffer = option(&shell, line, "write_buffer_size");
        assert_eq!(buffer["value"], 2 << 20);
        assert_eq!(buffer["from"], "profile small_memory");
    }
    assert_eq!(option(&shell, "options db", "write_buffer_size")["from"], "default");
    for line in ["get db k", "scan db", "compact db", "stats db", "count db", "load db"] {
        for profile in ["balanced", "write_heavy", "small_memory"] {
            run(&shell, &format!("{line} --profile {profile}")).ok();
        }
    }
    let message = shell.run("options --profile small_memor").failed(2);
    assert!(message.contains("the nearest is 'small_memory'"), "{message}");
    assert_eq!(shell.run("options missing").failed(1), "there is no database at 'missing'");
}

/// Walks what `options` lists, so an option that is added later is tested too.
#[test]
fn every_option_is_a_flag() {
    let shell = Shell::new();
    run(&shell, "put db k v").ok();
    let lines = run(&shell, "options --json").ok();
    let options = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut line = "get db k".to_owned();
    let mut given = 0;
    for option in options.filter(|option| option["value"].is_number()) {
        line += &format!(" --option {}={}", option["name"].as_str().unwrap(), option["value"]);
        given += 1;
    }
    assert!(given > 20, "{line}");
    assert_eq!(run(&shell, &line).ok(), "v\n");
    let line = "options db --option block_cache_size=4096 --option block_cache_size=8192 \
                --option map_log=false --profile small_memory";
    assert_eq!(option(&shell, line, "block_cache_size")["value"], 8192);
    assert_eq!(option(&shell, line, "map_log")["value"], false);
    assert_eq!(option(&shell, line, "write_buffer_size")["value"], 2 << 20);
}

/// Returns the peak memory of a count of these keys, in MiB.
#[cfg(target_os = "linux")]
fn most_memory(shell: &Shell, profile: &str, input: &[u8], lines: usize) -> u64 {
    let mut child = command()
        .args(["count", "--ack", "--profile", profile])
        .arg(shell.path(profile))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let acks = BufReader::new(child.stdout.take().unwrap()).lines();
    let most = std::thread::scope(|scope| {
        scope.spawn(|| stdin.write_all(input).unwrap());
        let last = format!("committed {lines}");
        acks.map(Result::unwrap).find(|ack| *ack == last).unwrap();
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().split(' ').next().unwrap().parse::<u64>().unwrap() >> 10
    });
    drop(stdin);
    assert!(child.wait().unwrap().success());
    most
}

/// Half a million different keys are some 40 MiB in a memtable.
#[cfg(target_os = "linux")]
#[test]
fn small_memory_takes_little_memory() {
    let shell = Shell::new();
    let lines = 500_000;
    let input: String = (0..lines).map(|n| format!("key-{:07}\n", n * 7919 % 1_000_003)).collect();
    let small = most_memory(&shell, "small_memory", input.as_bytes(), lines);
    let balanced = most_memory(&shell, "balanced", input.as_bytes(), lines);
    assert!(small < 40, "{small} MiB, and balanced {balanced}");
    assert!(small < balanced, "{small} MiB, and balanced {balanced}");
    assert_eq!(run(&shell, "scan small_memory --count").ok(), "500000\n");
}
