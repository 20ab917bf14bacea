//! `keyspaces --expiry`, `--expires` of writes, and `explain` of keys that expire.

use std::thread::sleep;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::foldb::Shell;

/// Returns when a key of the keyspace `own` expires, in seconds from now.
fn left(shell: &Shell, key: &str) -> Option<u64> {
    let explained = shell.ok(&format!("explain db {key} --keyspace own --json"));
    let explained: Value = serde_json::from_str(&explained).unwrap();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    explained["expires"].as_u64().map(|end| end.saturating_sub(now))
}

#[test]
fn keyspaces_are_created_and_listed_with_their_expiry() {
    let shell = Shell::new();
    for (name, spec) in
        [("a", "per-write"), ("b", "after-last-write:60/5"), ("c", "after-first-write:640")]
    {
        shell.ok(&format!("keyspaces db --create {name} --expiry {spec}"));
    }
    let listed = shell.ok("keyspaces db --json");
    let expiry = |line: &str| serde_json::from_str::<Value>(line).unwrap()["expiry"].clone();
    let listed: Vec<Value> = listed.lines().map(expiry).collect();
    let (a, b, c) = ("per-write", "after-last-write:60/5", "after-first-write:640");
    assert_eq!(listed, [a.into(), b.into(), c.into(), Value::Null]);
    let table = shell.ok("keyspaces db");
    let column = |name: &str| {
        let line = table.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(3).unwrap().to_owned()
    };
    assert_eq!((column("NAME"), column("b")), ("EXPIRY".to_owned(), b.to_owned()));
    assert_eq!(column("default"), "never");
}

#[test]
fn writes_say_when_they_expire_and_explain_shows_it() {
    let shell = Shell::new();
    shell.ok("keyspaces db --create own --expiry after-last-write:1000 --operator int64add");
    shell.ok("put db usual 1 --keyspace own");
    shell.ok("put db soon 1 --keyspace own --expires 100");
    shell.ok("merge db merged 1 --keyspace own --expires 100");
    shell.ok("put db never 1 --keyspace own --expires never");
    let between = |key, range: std::ops::RangeInclusive<u64>| {
        let left = left(&shell, key).unwrap();
        assert!(range.contains(&left), "{key} lives {left} s");
    };
    between("usual", 900..=1002);
    between("soon", 20..=102);
    between("merged", 20..=102);
    assert_eq!(left(&shell, "never"), None);
    shell.ok("put db once 1 --keyspace own --expires 100 --if-absent");
    between("once", 20..=102);
    shell.ok("merge db soon 4 --keyspace own");
    between("soon", 900..=1002);
    assert_eq!(shell.ok("get db soon --keyspace own"), "5\n");
    let line = |key: &str| {
        let text = shell.ok(&format!("explain db {key} --keyspace own"));
        text.lines().last().unwrap().to_owned()
    };
    assert!(line("usual").starts_with("the key expires at "), "{}", line("usual"));
    assert_eq!(line("never"), "the key never expires");
    shell.ok("delete db usual --keyspace own");
    assert_eq!(line("usual"), "the key has expired or was deleted");
    shell.ok("put db k v");
    let plain = shell.ok("explain db k");
    assert!(!plain.contains("expire"), "{plain}");
}

#[test]
fn counted_and_loaded_lines_say_when_they_expire() {
    let shell = Shell::new();
    shell.ok("keyspaces db --create own --expiry after-last-write:1000 --operator int64add");
    std::fs::write(shell.path("log"), "counted\ncounted\n").unwrap();
    std::fs::write(shell.path("scanned"), "loaded\t7\n").unwrap();
    let lives = |key, range: std::ops::RangeInclusive<u64>| {
        let left = left(&shell, key).unwrap();
        assert!(range.contains(&left), "{key} lives {left} s");
    };
    // The keyspace with the progress of --resume has no expiry.
    shell.ok("count db log --keyspace own --resume --expires 100");
    lives("counted", 20..=102);
    assert_eq!(shell.ok("get db counted --keyspace own"), "2\n");
    shell.ok("load db scanned --keyspace own --expires 100");
    lives("loaded", 20..=102);
    assert_eq!(shell.ok("get db loaded --keyspace own"), "7\n");
    for line in ["count db log", "load db scanned"] {
        shell.ok(&format!("{line} --keyspace own"));
    }
    lives("counted", 900..=1002);
    lives("loaded", 900..=1002);
    shell.ok("load db scanned --keyspace own --expires never");
    assert_eq!(left(&shell, "loaded"), None);
    shell.ok("count db log --keyspace own --expires never");
    assert_eq!(left(&shell, "counted"), None);
}

#[test]
fn an_expired_key_is_absent() {
    let shell = Shell::new();
    shell.ok("keyspaces db --create own --expiry per-write");
    shell.ok("put db goes v --keyspace own --expires 1");
    shell.ok("put db stays v --keyspace own");
    sleep(Duration::from_millis(2100));
    assert!(shell.run("get db goes --keyspace own").failed(1).contains("there is no key 'goes'"));
    assert_eq!(shell.ok("scan db --keyspace own"), "stays\tv\n");
    let text = shell.ok("explain db goes --keyspace own");
    assert!(text.ends_with("the key has expired or was deleted\n"), "{text}");
}

#[test]
fn wrong_questions_change_nothing() {
    let shell = Shell::new();
    std::fs::write(shell.path("log"), "k\n").unwrap();
    std::fs::write(shell.path("scanned"), "k\tv\n").unwrap();
    let writes = [
        "put db k v",
        "merge db k 1 --operator int64add",
        "count db log --operator int64add",
        "load db scanned",
    ];
    for line in writes {
        let message = shell.run(&format!("{line} --expires 5")).failed(2);
        assert!(message.starts_with("entries of keyspace 'default' never expire"), "{message}");
    }
    for spec in ["after-last-write", "per-write:5", "after-last-write:0", "sometimes"] {
        shell.run(&format!("keyspaces db --create own --expiry {spec}")).failed(2);
    }
    let message = shell.run("keyspaces db --expiry per-write").failed(2);
    assert!(message.contains("--create NAME is missing"), "{message}");
    shell.run("keyspaces db --create own --expiry per-write --separate 9").failed(2);
    assert!(!shell.path("db").exists());

    shell.ok("keyspaces db --create plain");
    shell.ok("keyspaces db --create own --expiry per-write");
    for text in ["0", "soon", "-1", "4294967296"] {
        let message = shell.run(&format!("put db k v --keyspace own --expires {text}")).failed(2);
        assert!(message.contains("from 1 to 4294967295, or never"), "{message}");
    }
    for line in writes {
        let message = shell.run(&format!("{line} --keyspace plain --expires never")).failed(1);
        assert!(message.starts_with("keyspace 'plain' has no expiry: "), "{message}");
    }
    // The refused merges left no operator behind.
    assert_eq!(shell.ok("scan db --keyspace plain"), "");
    assert!(!shell.ok("stats db").contains("int64add"));
}

#[test]
fn dumps_keep_the_expiry_and_only_the_binary_one_keeps_ends() {
    let shell = Shell::new();
    shell.ok("keyspaces db --create own --expiry per-write/5");
    shell.ok("put db k v --keyspace own --expires 1000");
    shell.ok("dump db --output whole");
    std::fs::write(shell.path("text"), shell.run("dump db --text").out).unwrap();
    let end = left(&shell, "k").unwrap();
    assert!((900..=1006).contains(&end), "{end}");
    for (line, keeps) in [("restore whole", true), ("load", false)] {
        std::fs::rename(shell.path("db"), shell.path("old")).unwrap();
        match keeps {
            true => shell.ok(&format!("{line} db")),
            false => shell.ok(&format!("{line} db text")),
        };
        assert!(shell.ok("keyspaces db --json").contains(r#""expiry":"per-write/5""#), "{line}");
        assert_eq!(shell.ok("get db k --keyspace own"), "v\n");
        assert_eq!(left(&shell, "k").is_some(), keeps, "{line}");
        std::fs::remove_dir_all(shell.path("db")).unwrap();
        std::fs::rename(shell.path("old"), shell.path("db")).unwrap();
    }
}

#[test]
fn ttl_prints_what_is_left_and_a_changed_lifetime_holds_for_later_writes() {
    let shell = Shell::new();
    shell.ok("keyspaces db --create own --expiry after-last-write:1000");
    shell.ok("put db old 1 --keyspace own");
    shell.ok("put db never 1 --keyspace own --expires never");
    shell.ok("put db plain 1");
    let left = |key: &str| shell.ok(&format!("ttl db {key} --keyspace own"));
    let seconds = |key: &str| left(key).trim().parse::<u64>().unwrap();
    assert!((900..=1001).contains(&seconds("old")));
    assert_eq!((left("never"), shell.ok("ttl db plain")), ("never\n".into(), "never\n".into()));
    assert_eq!(shell.ok("ttl db never --keyspace own --json"), "{\"seconds\":null}\n");
    let missing = shell.run("ttl db none --keyspace own").failed(1);
    assert!(missing.contains("there is no key 'none'"), "{missing}");

    shell.ok("keyspaces db --set-lifetime own --lifetime 50");
    shell.ok("put db new 1 --keyspace own");
    assert!(seconds("new") <= 51 && seconds("old") > 800);
    shell.ok("touch db old --keyspace own");
    assert!(seconds("old") <= 51);
    for (line, code) in [
        ("keyspaces db --set-lifetime own", 2),
        ("keyspaces db --lifetime 50", 2),
        ("keyspaces db --set-lifetime own --lifetime 0", 2),
        ("keyspaces db --set-lifetime own --lifetime 5 --drop own", 2),
        ("keyspaces db --set-lifetime default --lifetime 5", 1),
        ("keyspaces db --set-lifetime none --lifetime 5", 1),
    ] {
        shell.run(line).failed(code);
    }
}
