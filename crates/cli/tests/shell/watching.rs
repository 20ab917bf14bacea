//! `top`, `doctor`, `report`, `stats --watch`: of a database that is open, closed, or whose process
//! was killed. Each finding of `doctor` has a test that causes it.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foldb::env::{Env, ManualClock};
use foldb::expiry::Expiry;
use foldb::recorder::Recording;
use foldb::{Db, KeyspaceOptions, Options, ReadOptions, Runtime, RuntimeOptions};
use serde_json::Value;

use crate::foldb::{Ran, Shell, command};

fn options() -> Options {
    Options {
        create_if_missing: true,
        default: KeyspaceOptions::with_operator("uint64add"),
        ..Options::default()
    }
}

/// Does `work` again and again until a sample was taken after `enough` samples.
fn recorded(path: &Path, enough: usize, mut work: impl FnMut()) {
    let start = Instant::now();
    loop {
        work();
        if Recording::read(path).unwrap().samples.len() > enough {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(120), "nothing is recorded");
    }
}

fn merge_some(db: &Db) {
    (0..500u64).for_each(|key| db.merge((key % 7).to_be_bytes(), 1u64.to_le_bytes()).unwrap());
}

/// Returns the names of the findings, and checks the exit code.
fn findings(shell: &Shell) -> Vec<String> {
    let ran = shell.run("doctor db --json");
    let json: Value = serde_json::from_slice(&ran.out).unwrap();
    let findings = json["findings"].as_array().unwrap();
    assert_eq!(ran.code, Some(i32::from(!findings.is_empty())), "{ran:?}");
    findings.iter().map(|own| own["name"].as_str().unwrap().to_owned()).collect()
}

fn assert_found(shell: &Shell, name: &str) {
    let found = findings(shell);
    assert!(found.iter().any(|own| own == name), "{name} in {found:?}");
}

#[test]
fn a_healthy_database_is_shown_and_nothing_is_found() {
    let shell = Shell::new();
    let path = shell.path("db");
    let db = Db::open(&path, options()).unwrap();
    recorded(&path, 2, || merge_some(&db));
    db.flush().unwrap();
    recorded(&path, 3, || merge_some(&db));
    let screen = shell.ok("top db --once");
    for part in ["'db'  process ", "calls", "write", "memory", "budget", "tree", "keys", "flush"] {
        assert!(screen.contains(part), "{part} in\n{screen}");
    }
    let json: Value = serde_json::from_str(&shell.ok("top db --json")).unwrap();
    assert!(json["rates"]["merges"].as_f64().unwrap() > 0.0, "{json}");
    assert!(json["figures"]["foldb_merges_total"].as_f64().unwrap() > 1000.0, "{json}");
    assert_eq!(findings(&shell), [""; 0]);
    assert!(shell.ok("doctor db").ends_with("Nothing found.\n"));
    db.close().unwrap();
    assert!(shell.ok("top db --once").contains("closed at 20"));
}

#[test]
fn stats_watch_prints_a_line_for_each_second() {
    let shell = Shell::new();
    let path = shell.path("db");
    let db = Db::open(&path, options()).unwrap();
    recorded(&path, 1, || merge_some(&db));
    for (flag, head) in [("--no-color", "puts/s"), ("--json", "\"rates\"")] {
        let mut words = vec!["stats", "db", "--watch"];
        words.extend((flag == "--json").then_some(flag));
        let mut child = command()
            .args(words)
            .current_dir(shell.path(""))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let until = Instant::now() + Duration::from_secs(4);
        while Instant::now() < until {
            merge_some(&db);
        }
        child.kill().unwrap();
        let out = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        assert!(out.contains(head) && out.lines().count() >= 2, "{out}");
    }
}

#[test]
fn report_writes_a_page_of_any_part_of_the_recording() {
    let shell = Shell::new();
    let path = shell.path("db");
    let db = Db::open(&path, options()).unwrap();
    db.put("<script>alert(1)</script>", 1u64.to_le_bytes()).unwrap();
    recorded(&path, 3, || {
        (0..200).for_each(|_| {
            db.get("<script>alert(1)</script>").unwrap();
        });
        merge_some(&db);
    });
    db.close().unwrap();
    assert_eq!(shell.ok("report db"), "wrote 'foldb-report.html'\n");
    let page = std::fs::read_to_string(shell.path("foldb-report.html")).unwrap();
    for part in ["data-series=\"merges\"", "Times of reads", "Hottest keys", "Nothing found."] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<script>alert"), "keys are escaped");
    let part = shell.ok("report db --output - --last 2s");
    assert!(part.starts_with("<!DOCTYPE html>"));
    let json = shell.ok("report db --output other.html --json");
    assert!(json.contains("\"output\":\"'other.html'\""), "{json}");
    let ran = shell.run_args(&["report", "db", "--from", "2001-01-01", "--to", "2001-01-02"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let times = ["--from", "2001-01-01 00:00:00", "--to", "2001-01-02 00:00:00"];
    let words: Vec<&str> = ["report", "db"].into_iter().chain(times).collect();
    let message = shell.run_args(&words).failed(1);
    assert!(message.contains("the recording begins at 20"), "{message}");
    shell.run("report db --last 0s").failed(2);
    shell.run("report db --output .").failed(1);
}

#[test]
fn without_a_recording_the_message_says_when_there_is_one() {
    let shell = Shell::new();
    for command in ["top", "doctor", "report", "stats --watch"] {
        let line = |db: &str| {
            let mut words = command.split(' ');
            let name = words.next().unwrap();
            format!("{name} {db}{}", words.map(|word| format!(" {word}")).collect::<String>())
        };
        let message = shell.run(&line("absent")).failed(1);
        assert_eq!(message, "there is no database at 'absent'", "{command}");
        shell.ok("put db k v");
        let message = shell.run(&line("db")).failed(1);
        assert!(message.contains("for more than a second"), "{message}");
    }
}

#[test]
fn doctor_finds_a_killed_process() {
    let shell = Shell::new();
    let mut child = command()
        .args(["count", "db", "-"])
        .current_dir(shell.path(""))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let start = Instant::now();
    loop {
        let lines = "a\nb\nc\n".repeat(10_000);
        std::io::Write::write_all(&mut input, lines.as_bytes()).unwrap();
        if Recording::read(shell.path("db")).is_ok_and(|it| !it.samples.is_empty()) {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "nothing is recorded");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_found(&shell, "killed");
    assert!(shell.ok("top db --once").contains("ended without closing it"));
    drop(input);
}

#[test]
fn doctor_finds_operands_that_cannot_be_folded() {
    let shell = Shell::new();
    let path = shell.path("db");
    let db = Db::open(&path, options()).unwrap();
    db.put("k", "no number").unwrap();
    db.merge("k", 1u64.to_le_bytes()).unwrap();
    recorded(&path, 1, || {
        db.get("k").unwrap_err();
        db.flush().unwrap();
        merge_some(&db);
    });
    assert_found(&shell, "failed_merges");
}

#[test]
fn doctor_finds_a_long_chain() {
    let shell = Shell::new();
    let path = shell.path("db");
    // Sums of floats depend on their order, so operands do not fold with each other.
    let default = KeyspaceOptions::with_operator("float64add");
    let disable_auto_compactions = true;
    let db = Db::open(&path, Options { default, disable_auto_compactions, ..options() }).unwrap();
    db.put("k", 0f64.to_le_bytes()).unwrap();
    db.flush().unwrap();
    (0..200).for_each(|_| db.merge("k", 1f64.to_le_bytes()).unwrap());
    db.flush().unwrap();
    recorded(&path, 12, || {
        (0..100).for_each(|_| drop(db.get("k").unwrap()));
        std::thread::sleep(Duration::from_millis(20));
    });
    db.close().unwrap();
    assert_found(&shell, "long_chains");
}

#[test]
fn doctor_finds_an_old_snapshot() {
    let shell = Shell::new();
    let path = shell.path("db");
    let db = Db::open(&path, Options { write_buffer_size: 4 << 20, ..options() }).unwrap();
    db.put("k", "v").unwrap();
    let snapshot = db.snapshot();
    let value = vec![7; 100_000];
    let mut written = 0;
    recorded(&path, 1, || {
        (0..50u64).for_each(|key| db.put(key.to_be_bytes(), &value).unwrap());
        written += 50 * value.len();
    });
    while written < 100 << 20 {
        (0..50u64).for_each(|key| db.put(key.to_be_bytes(), &value).unwrap());
        written += 50 * value.len();
    }
    let samples = Recording::read(&path).unwrap().samples.len();
    recorded(&path, samples + 1, || merge_some(&db));
    assert_found(&shell, "snapshot");
    drop(snapshot);
    let samples = Recording::read(&path).unwrap().samples.len();
    recorded(&path, samples + 1, || merge_some(&db));
    assert!(!findings(&shell).contains(&"snapshot".to_owned()), "the finding ends with its cause");
}

#[test]
fn doctor_finds_deleted_keys_ahead_of_a_queue() {
    let shell = Shell::new();
    let path = shell.path("db");
    let disable_auto_compactions = true;
    let db = Db::open(&path, Options { disable_auto_compactions, ..options() }).unwrap();
    for key in 0..30_000u64 {
        db.put(key.to_be_bytes(), "job").unwrap();
    }
    db.flush().unwrap();
    for key in 0..29_000u64 {
        db.delete(key.to_be_bytes()).unwrap();
    }
    // Each seek begins at another key, so that no walk can skip what an earlier one has found.
    let mut from = 0u64;
    recorded(&path, 2, || {
        for _ in 0..20 {
            from = (from + 97) % 100;
            let mut jobs = db.range(from.to_be_bytes().as_slice()..).unwrap();
            assert!(jobs.seek_to_first().unwrap());
        }
    });
    assert_found(&shell, "deletes");
}

/// Writes large values from threads of their own until `doctor` finds something.
fn write_until_found(shell: &Shell, databases: &[Db], name: &str) {
    let is_over = Arc::new(AtomicBool::new(false));
    let write = |(writer, db): (u64, &Db)| {
        let (db, is_over) = (db.clone(), Arc::clone(&is_over));
        std::thread::spawn(move || {
            let value = vec![writer as u8; 20_000];
            let mut key = writer << 32;
            while !is_over.load(Ordering::Relaxed) {
                key = key.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(writer + 1);
                db.put(key.to_be_bytes(), &value).unwrap();
            }
        })
    };
    let writers: Vec<_> = (0..4).zip(databases.iter().cycle()).map(write).collect();
    let start = Instant::now();
    let found = loop {
        std::thread::sleep(Duration::from_millis(500));
        let Ran { out, .. } = shell.run("doctor db --json");
        let text = String::from_utf8_lossy(&out).into_owned();
        if text.contains(&format!("\"{name}\"")) {
            break Ok(());
        }
        if start.elapsed() > Duration::from_secs(60) {
            break Err(text);
        }
    };
    is_over.store(true, Ordering::Relaxed);
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    found.unwrap();
}

#[test]
fn doctor_finds_stalls() {
    let shell = Shell::new();
    let own = Options { write_buffer_size: 1 << 20, ..options() };
    let db = Db::open(shell.path("db"), own).unwrap();
    write_until_found(&shell, &[db], "stalls");
}

#[test]
fn doctor_finds_a_budget_that_databases_exceed_together() {
    let shell = Shell::new();
    let runtime = RuntimeOptions { memory_budget: 8 << 20, ..RuntimeOptions::default() };
    let runtime = Runtime::new(runtime).unwrap();
    let open = |name: &str| {
        let runtime = Some(runtime.clone());
        Db::open(shell.path(name), Options { runtime, ..options() }).unwrap()
    };
    write_until_found(&shell, &[open("db"), open("other"), open("third")], "budget");
}

#[test]
fn doctor_finds_dead_values() {
    let shell = Shell::new();
    let path = shell.path("db");
    let default =
        KeyspaceOptions { value_separation_min: Some(1000), ..KeyspaceOptions::default() };
    let disable_auto_compactions = true;
    let own = Options { default, write_buffer_size: 8 << 20, ..options() };
    let db = Db::open(&path, Options { disable_auto_compactions, ..own }).unwrap();
    let value = vec![7; 100_000];
    (0..1200u64).for_each(|key| db.put(key.to_be_bytes(), &value).unwrap());
    (0..1200u64).filter(|key| key % 4 > 0).for_each(|key| db.delete(key.to_be_bytes()).unwrap());
    db.flush().unwrap();
    db.compact(..).unwrap();
    recorded(&path, 1, || {
        (0..500u64).for_each(|key| db.put((key % 7).to_be_bytes(), "small").unwrap());
    });
    assert_found(&shell, "dead_values");
}

#[test]
fn doctor_finds_a_clock_that_went_back() {
    let shell = Shell::new();
    let path = shell.path("db");
    let clock = Arc::new(ManualClock::default());
    clock.set_time_of_day(4_102_444_800);
    let env = Env { clock: Arc::clone(&clock) as _, ..Env::default() };
    let db = Db::open(&path, Options { env, ..options() }).unwrap();
    let forever = Expiry::after_last_write(Duration::from_secs(86_400));
    let expiring = KeyspaceOptions { expiry: Some(forever), ..KeyspaceOptions::default() };
    let own = db.create_keyspace("own", expiring).unwrap();
    own.put("k", "v").unwrap();
    clock.set_time_of_day(4_102_444_800 - 10_000);
    recorded(&path, 1, || {
        own.put("k", "v").unwrap();
        merge_some(&db);
    });
    assert_found(&shell, "clock");
}

#[test]
fn doctor_finds_filters_and_blocks_without_room() {
    let shell = Shell::new();
    let path = shell.path("db");
    let default = KeyspaceOptions { bloom_bits: Some(64), ..KeyspaceOptions::default() };
    let small = Options {
        memory_budget: 8 << 20,
        block_cache_size: 64 << 10,
        default,
        write_buffer_size: 1 << 20,
        ..options()
    };
    let db = Db::open(&path, small).unwrap();
    let scattered = |key: u64| key.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
    for key in 0..1_000_000u64 {
        db.put(scattered(key), "v").unwrap();
    }
    db.compact(..).unwrap();
    let mut key = 0u64;
    let samples = Recording::read(&path).unwrap().samples.len();
    recorded(&path, samples + 2, || {
        for _ in 0..2000 {
            key = (key + 7919) % 1_000_000;
            assert!(db.get(scattered(key)).unwrap().is_some());
        }
    });
    let (found, stats) = (findings(&shell), db.stats());
    assert!(found.contains(&"filters".to_owned()), "{found:?} {stats:?}");
    assert!(found.contains(&"cache".to_owned()), "{found:?} {stats:?}");
}

/// Reads that fill no cache once counted as those of a cache that is too small.
#[test]
fn doctor_blames_no_cache_that_reads_pass_by() {
    let shell = Shell::new();
    let path = shell.path("db");
    let db = Db::open(&path, options()).unwrap();
    for key in 0..100_000u64 {
        db.put(key.to_be_bytes(), [1; 100]).unwrap();
    }
    db.compact(..).unwrap();
    let once = ReadOptions { fill_cache: false, ..ReadOptions::default() };
    let samples = Recording::read(&path).unwrap().samples.len();
    let mut key = 0u64;
    recorded(&path, samples + 2, || {
        for _ in 0..2000 {
            key = (key + 7919) % 100_000;
            assert!(db.with(&once).get(key.to_be_bytes()).unwrap().is_some());
        }
    });
    let (found, stats) = (findings(&shell), db.stats());
    assert!(stats.block_cache_misses > 2000, "{stats:?}");
    assert!(!found.contains(&"cache".to_owned()), "{found:?} {stats:?}");
}

/// A command never opens the database: it works beside a writer and changes no file.
#[test]
fn watching_changes_nothing() {
    let shell = Shell::new();
    let path = shell.path("db");
    let db = Db::open(&path, options()).unwrap();
    recorded(&path, 1, || merge_some(&db));
    db.close().unwrap();
    let before = crate::foldb::contents(&path);
    shell.ok("top db --once");
    shell.ok("report db --output -");
    shell.run("doctor db");
    assert_eq!(crate::foldb::contents(&path), before);
}
