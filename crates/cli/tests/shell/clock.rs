//! `clock`, and what `stats` says about a clock that was ahead.

use std::sync::Arc;
use std::time::Duration;

use foldb::env::{Env, ManualClock};
use foldb::expiry::Expiry;
use foldb::{Db, KeyspaceOptions, Options};
use serde_json::Value;

use crate::foldb::Shell;

/// Seconds since 1970, far ahead of the machine's clock: the year 2100.
const FALSE: u64 = 4_102_444_800;

/// Makes a database that met a clock far ahead.
fn mislead(shell: &Shell) {
    let clock = Arc::new(ManualClock::default());
    let env = Env { clock: Arc::clone(&clock) as _, ..Env::default() };
    let options = Options { create_if_missing: true, env, ..Options::default() };
    let db = Db::open(shell.path("db"), options).unwrap();
    let forever = Expiry::after_last_write(Duration::from_secs(50 * 365 * 86_400));
    let options = KeyspaceOptions { expiry: Some(forever), ..KeyspaceOptions::default() };
    let own = db.create_keyspace("own", options).unwrap();
    own.put("k", "v").unwrap();
    clock.set_time_of_day(FALSE);
    assert!(own.get("k").unwrap().is_none());
    db.close().unwrap();
}

fn ahead(shell: &Shell) -> u64 {
    let json: Value = serde_json::from_str(&shell.ok("clock db --json")).unwrap();
    let number = |name: &str| json[name].as_u64().unwrap();
    assert_eq!(number("database") - number("machine"), number("ahead"));
    number("ahead")
}

#[test]
fn clock_shows_and_resets_the_time() {
    let shell = Shell::new();
    mislead(&shell);
    shell.run("get db k --keyspace own").failed(1);
    assert!(ahead(&shell) > 1_000_000_000);
    let stats: Value = serde_json::from_str(&shell.ok("stats db --json")).unwrap();
    assert!(stats["time_ahead_seconds"].as_u64().unwrap() > 1_000_000_000);
    let text = shell.ok("clock db");
    assert!(text.starts_with(&format!("database  {FALSE}\nmachine   ")), "{text}");
    shell.ok("clock db --reset");
    assert_eq!(ahead(&shell), 0);
    assert_eq!(shell.ok("get db k --keyspace own"), "v\n");
    shell.ok("clock db --reset");
    assert!(shell.ok("clock db").ends_with("ahead     0 s\n"));
}

#[test]
fn clock_refuses_what_it_cannot_do() {
    let shell = Shell::new();
    shell.run("clock").failed(2);
    shell.run("clock db --rest").failed(2);
    shell.run("clock db db").failed(2);
    for line in ["clock db", "clock db --reset"] {
        shell.run(line).failed(1);
        assert!(!shell.path("db").exists());
    }
    let db = Db::create(shell.path("db")).unwrap();
    let error = shell.run("clock db --reset").failed(1);
    assert!(error.contains("open"), "{error}");
    shell.ok("clock db");
    db.close().unwrap();
    shell.ok("clock db --reset");
}
