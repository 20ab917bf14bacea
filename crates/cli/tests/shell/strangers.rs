//! Input that a stranger gives: files instead of directories, times far away, damage. Each ends
//! with one line, and never with an internal error.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use foldb::recorder::Recording;
use foldb::{Db, Options};

use crate::foldb::Shell;

/// A closed database that recorded itself.
fn recorded() -> Shell {
    let shell = Shell::new();
    let path = shell.path("db");
    let db = Db::open(&path, Options { create_if_missing: true, ..Options::default() }).unwrap();
    let start = Instant::now();
    while Recording::read(&path).unwrap().samples.is_empty() {
        db.put("k", "v").unwrap();
        assert!(start.elapsed() < Duration::from_secs(120), "nothing is recorded");
    }
    db.close().unwrap();
    shell
}

/// A stretch that begins before 1970 once was an internal error.
#[test]
fn a_stretch_longer_than_all_time_is_the_whole_recording() {
    let shell = recorded();
    for last in ["9000y", "290000000000y", "500000000000y"] {
        shell.ok(&format!("doctor db --last {last}"));
        shell.ok(&format!("report db --last {last}"));
    }
    let words = ["report", "db", "--to", "1970-01-01 00:00:00", "--last", "1h"];
    let message = shell.run_args(&words).failed(1);
    assert!(message.contains("before 1970-01-01 00:00:00 UTC: the recording begins"), "{message}");
}

/// The message once spoke of flags that were not given.
#[test]
fn a_report_of_a_time_without_a_recording_says_which_time_has_one() {
    let shell = recorded();
    let of = |words: &[&str]| shell.run_args(&[&["report", "db"], words].concat());
    let message = of(&["--from", "9999-12-31 23:59:59"]).failed(1);
    assert!(
        message.starts_with("nothing is recorded after 9999-12-31 23:59:59 UTC: "),
        "{message}"
    );
    let message = of(&["--to", "1970-01-02 00:00:00"]).failed(1);
    assert!(
        message.starts_with("nothing is recorded before 1970-01-02 00:00:00 UTC: "),
        "{message}"
    );
    let between = ["--from", "2001-01-02 00:00:00", "--to", "2001-01-01 00:00:00"];
    assert_eq!(of(&between).failed(2), "--from must be before --to");
    let message = of(&["--from", "2026-01-01T00:00:00+02:00"]).failed(2);
    assert!(message.ends_with("expected a time in UTC such as 2026-05-01 12:00:00"), "{message}");
    assert!(!shell.path("foldb-report.html").exists());
}

#[test]
fn a_file_is_no_database_for_any_command() {
    let shell = Shell::new();
    fs::write(shell.path("file"), "precious").unwrap();
    for line in [
        "top file",
        "doctor file",
        "report file",
        "stats file",
        "stats file --watch",
        "keys file --largest 3",
        "ttl file k",
        "queue depth file q",
        "export --to csv file out.csv",
        "import --from csv file file --key x",
    ] {
        let message = shell.run(line).failed(1);
        assert_eq!(message, "'file' is not a database: it is a file, not a directory", "{line}");
    }
    let message = shell.run("import --from leveldb file new").failed(1);
    assert_eq!(message, "'file' is not a LevelDB database: it is a file, not a directory");
}

#[test]
fn other_directories_are_no_database_for_any_command() {
    let shell = Shell::new();
    fs::create_dir(shell.path("empty")).unwrap();
    fs::create_dir(shell.path("other")).unwrap();
    fs::write(shell.path("other/README"), "hi").unwrap();
    for dir in ["missing", "empty", "other"] {
        for command in ["top", "doctor", "report", "stats", "stats --watch", "keys --largest 1"] {
            let (command, flags) = command.split_once(' ').unwrap_or((command, ""));
            let line = format!("{command} {dir} {flags}");
            let message = shell.run(line.trim_end()).failed(1);
            let is_named = message.contains(&format!("there is no database at '{dir}'"))
                || message.contains(&format!("'{dir}' is not a database"));
            assert!(is_named, "{line}: {message}");
        }
    }
    assert_eq!(fs::read_dir(shell.path("empty")).unwrap().count(), 0);
}

/// Damage of the recording ends with one line, whatever the damaged byte says.
#[test]
fn a_damaged_recording_is_no_internal_error() {
    let shell = recorded();
    let flight = |db: &Path| {
        let files = fs::read_dir(db).unwrap().map(|entry| entry.unwrap().path());
        let is_one = |path: &std::path::PathBuf| {
            path.file_name().unwrap().to_str().unwrap().starts_with("FLIGHT-")
        };
        files.filter(is_one).min().unwrap()
    };
    let file = flight(&shell.path("db"));
    let whole = fs::read(&file).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 12 + 1) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        for damaged in [&bytes[..], &whole[..at]] {
            fs::write(&file, damaged).unwrap();
            for line in ["top db", "doctor db", "report db"] {
                let ran = shell.run(line);
                assert!(!ran.err.contains("internal error"), "{ran:?}");
                assert!(matches!(ran.code, Some(0 | 1)) && ran.err.lines().count() <= 1, "{ran:?}");
            }
        }
    }
}

/// The names of neighbours once ran together.
#[test]
fn the_heads_of_stats_watch_stand_apart() {
    let shell = recorded();
    let mut child = crate::foldb::command()
        .args(["stats", "db", "--watch"])
        .current_dir(shell.path(""))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut heads = String::new();
    let out = child.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut heads).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(heads.contains(" flushed/s ") && heads.contains(" compacted/s "), "{heads}");
}
