//! Damaged bytes in every file of a small database. A read returns the right answer, or
//! `Corruption` with the name of the file.
//!
//! This is a program of its own: its global allocator notes the largest allocation.
//!
//! The ordinary tests take a sample of all damages. All of them take minutes:
//!
//! ```text
//! cargo test -p foldb --test hostile_bytes -- --ignored --nocapture
//! ```

#[path = "../support/allocations.rs"]
mod allocations;
mod damage;
mod database;
mod reading;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foldb::env::{FileSystem, MemFs};
use foldb::{Db, ErrorKind};

use allocations::largest_during;
use damage::{Damage, kind_of};
use database::{Database, options};
use reading::{Depth, Reading, objection};
use support::PATH;

/// A damage that takes longer counts as a hang. Each takes milliseconds.
const HANG: Duration = Duration::from_secs(120);

/// How many damages had each outcome.
#[derive(Default)]
struct Tally {
    right: u64,
    corruption: u64,
    other: u64,
    repaired: u64,
    unrepaired: u64,
}

/// Judges the damages of one database.
struct Trial<'a> {
    database: &'a Database,
    /// Bytes of the largest allocation while the undamaged database was read or repaired.
    usual: usize,
    tallies: BTreeMap<(&'static str, &'static str), Tally>,
    faults: Vec<String>,
}

impl Trial<'_> {
    /// Returns the first state that a reader may find.
    fn floor(&self, damage: &Damage) -> usize {
        // A flipped byte lies inside a frame. A cut log may also lose what was synced.
        match damage {
            Damage::Flip { .. } | Damage::Extra { .. } => self.database.synced,
            _ => 0,
        }
    }

    /// Returns whether the documentation allows an error of another kind.
    fn is_documented(&self, damage: &Damage, kind: ErrorKind) -> bool {
        match damage {
            Damage::Missing { file } => file == "CURRENT" && kind == ErrorKind::DatabaseMissing,
            _ => false,
        }
    }

    /// Returns whether errors must name the damaged file and an offset: if a byte of it changed.
    /// The exception is the manifest of a killed database. There, damage near the end looks like a
    /// crash, and the error names the files that the lost edits would have named.
    fn names_its_file(&self, damage: &Damage) -> bool {
        let may_end_early = !self.database.closed && kind_of(damage.file()) == "manifest";
        damage.is_inside() && !may_end_early
    }

    fn fault(&mut self, damage: &Damage, what: String) {
        let state = if self.database.closed { "closed" } else { "killed" };
        self.faults.push(format!("{state}, {damage}: {what}"));
    }

    fn judge(&mut self, damage: &Damage, how: &str, reading: Reading) {
        let is_right = reading.errors.is_empty();
        let mut other = false;
        for error in &reading.errors {
            if self.is_documented(damage, error.kind()) {
                other = true;
            } else if let Some(why) = objection(error, damage.file(), self.names_its_file(damage)) {
                self.fault(damage, format!("{how}: {why}: {error:?}"));
                break;
            }
        }
        if let Some(wrong) = &reading.wrong {
            self.fault(damage, format!("{how}: WRONG: {wrong}"));
        }
        let is_noticed =
            !matches!(kind_of(damage.file()), "table" | "segment") || !reading.verified;
        if how != "repaired" && damage.is_inside() && !is_noticed {
            self.fault(damage, format!("{how}: a verification finds nothing"));
        }
        if how == "open" {
            let tally = self.tallies.entry((kind_of(damage.file()), damage.deed())).or_default();
            match (is_right, other) {
                (true, _) => tally.right += 1,
                (_, true) => tally.other += 1,
                _ => tally.corruption += 1,
            }
        }
    }

    fn try_one(&mut self, damage: &Damage, number: usize) {
        let database = self.database;
        let floor = self.floor(damage);
        let states = &database.states;
        let depth = if number.is_multiple_of(3) { Depth::Compact } else { Depth::Read };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let fs = damage.done_to(&database.fs);
            largest_during(|| reading::read(&fs, states, floor, depth))
        }));
        match outcome {
            Err(_) => self.fault(damage, "open and read: PANIC".to_owned()),
            Ok((reading, bytes)) => {
                self.judge(damage, "open", reading);
                self.check_allocation(damage, "open", bytes);
            }
        }
        if number % 5 == 1 {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                reading::read_only(&damage.done_to(&database.fs), states, floor)
            }));
            match outcome {
                Err(_) => self.fault(damage, "open read-only: PANIC".to_owned()),
                Ok(reading) => self.judge(damage, "read-only", reading),
            }
        }
        match number % 2 {
            0 => self.repair(damage, floor),
            _ => self.verify(damage, floor),
        }
    }

    /// Checks that a database which an outside verification calls sound opens and reads rightly.
    fn verify(&mut self, damage: &Damage, floor: usize) {
        let fs = damage.done_to(&self.database.fs);
        let verify = || largest_during(|| foldb::repair::verify(PATH, options(&fs)));
        let (report, bytes) = match catch_unwind(AssertUnwindSafe(verify)) {
            Err(_) => return self.fault(damage, "verify: PANIC".to_owned()),
            Ok(verified) => verified,
        };
        self.check_allocation(damage, "verify", bytes);
        match report {
            Err(error) if self.is_documented(damage, error.kind()) => {}
            Err(error) => self.fault(damage, format!("verify: {error:?}")),
            Ok(report) if report.is_sound() => {
                let states = &self.database.states;
                let reading = reading::read_only(&fs, states, floor);
                if !reading.errors.is_empty() {
                    let errors = &reading.errors;
                    self.fault(damage, format!("verify: sound, but reads fail: {errors:?}"));
                }
            }
            Ok(report) => {
                let faults = report.faults.iter();
                if let Some(fault) = faults.clone().find(|it| it.kind() != ErrorKind::Corruption) {
                    self.fault(damage, format!("verify: not Corruption: {fault:?}"));
                }
            }
        }
    }

    fn check_allocation(&mut self, damage: &Damage, how: &str, bytes: usize) {
        if bytes > self.usual {
            let usual = self.usual;
            self.fault(damage, format!("{how}: ALLOCATES {bytes} bytes, usually {usual}"));
        }
    }

    /// Repairs the damage. Only what repair reports as lost may be lost.
    fn repair(&mut self, damage: &Damage, floor: usize) {
        let fs = damage.done_to(&self.database.fs);
        let repair = || largest_during(|| Db::repair(PATH, options(&fs)));
        let (repaired, bytes) = match catch_unwind(AssertUnwindSafe(repair)) {
            Err(_) => return self.fault(damage, "repair: PANIC".to_owned()),
            Ok(repaired) => repaired,
        };
        self.check_allocation(damage, "repair", bytes);
        let tally = self.tallies.entry((kind_of(damage.file()), damage.deed())).or_default();
        let report = match repaired {
            Ok(report) => report,
            Err(error) => {
                tally.unrepaired += 1;
                let is_documented = self.is_documented(damage, error.kind());
                if error.kind() != ErrorKind::Corruption && !is_documented {
                    self.fault(damage, format!("repair: not Corruption: {error:?}"));
                }
                return;
            }
        };
        tally.repaired += 1;
        let states = &self.database.states;
        let read = || reading::read(&fs, states, floor, Depth::Read);
        let Ok(reading) = catch_unwind(AssertUnwindSafe(read)) else {
            return self.fault(damage, "repaired: PANIC".to_owned());
        };
        if reading.unopened {
            self.fault(damage, format!("repaired, but does not open: {:?}", reading.errors));
        } else if report.lost_nothing() {
            self.judge(damage, "repaired", reading);
        }
    }
}

/// Returns the largest allocation of an open, all reads, and a repair of the undamaged database.
fn usual_allocation(database: &Database) -> usize {
    let fs = database.fs.kill();
    let whole = || reading::read(&fs, &database.states, database.synced, Depth::Compact);
    let (reading, reads) = largest_during(whole);
    assert!(reading.wrong.is_none() && reading.errors.is_empty(), "whole: {reading:?}");
    assert!(reading.verified);
    let fs = database.fs.kill();
    let (report, repair) = largest_during(|| Db::repair(PATH, options(&fs)));
    assert!(report.unwrap().found_nothing());
    let fs = database.fs.kill();
    let (report, verify) = largest_during(|| foldb::repair::verify(PATH, options(&fs)));
    assert!(report.unwrap().is_sound());
    reads.max(repair).max(verify)
}

/// Ends the process if one damage takes too long, and names the damage.
fn watch(current: &Mutex<(Instant, String)>, done: &AtomicBool) {
    while !done.load(Ordering::Acquire) {
        std::thread::park_timeout(Duration::from_secs(1));
        let (since, damage) = current.lock().unwrap().clone();
        if since.elapsed() > HANG {
            eprintln!("hangs: {damage}");
            std::process::abort();
        }
    }
}

fn run(closed: bool, stride: usize) {
    support::plant_from_environment();
    let database = database::make(closed);
    let other: MemFs = database::make(closed).fs;
    // An allocation may be as large as the largest file, rounded up as a growing vector is.
    let usual = usual_allocation(&database) + (64 << 10);
    let mut trial =
        Trial { database: &database, usual, tallies: BTreeMap::new(), faults: Vec::new() };
    let damages = damage::all(&database.fs, &other, stride);
    let current = Mutex::new((Instant::now(), String::new()));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(&current, &done));
        for (number, damage) in damages.iter().enumerate() {
            *current.lock().unwrap() = (Instant::now(), damage.to_string());
            trial.try_one(damage, number);
        }
        done.store(true, Ordering::Release);
        watcher.thread().unpark();
    });
    let state = if closed { "closed" } else { "killed" };
    println!("{} damages to a database that was {state}:", damages.len());
    for ((file, deed), tally) in &trial.tallies {
        println!(
            "{file:>9} {deed:<8} right {:>6}, Corruption {:>6}, other {:>3}; repaired {:>6}, not {:>6}",
            tally.right, tally.corruption, tally.other, tally.repaired, tally.unrepaired
        );
    }
    let shown: Vec<_> = trial.faults.iter().take(60).map(String::as_str).collect();
    assert!(shown.is_empty(), "{} faults:\n{}", trial.faults.len(), shown.join("\n"));
}

/// A prime, so that a sample meets every field of regular layouts.
const SAMPLE: usize = 101;

#[test]
fn a_sample_of_damages_to_a_closed_database_is_noticed() {
    run(true, SAMPLE);
}

#[test]
fn a_sample_of_damages_to_a_killed_database_is_noticed() {
    run(false, SAMPLE);
}

/// The next file's number was computed by adding one to the largest, which overflowed.
#[test]
fn a_file_with_the_largest_number_is_refused() {
    let database = database::make(false);
    for name in ["18446744073709551615.tbl", "18446744073709551615.log", "999999999999.seg"] {
        let fs = database.fs.kill();
        damage::write(&fs, name, b"a stray file");
        for error in [
            support::error_of(Db::open(PATH, options(&fs))),
            support::error_of(Db::repair(PATH, options(&fs))),
        ] {
            assert_eq!(error.kind(), ErrorKind::Corruption, "{error}");
            assert!(error.path().unwrap().ends_with(name), "{error}");
        }
    }
    // Numbering goes on behind a file whose number is a little ahead.
    let fs = database.fs.kill();
    damage::write(&fs, "1000000.tbl", b"a stray file");
    let reading = reading::read(&fs, &database.states, database.synced, Depth::Compact);
    assert!(reading.wrong.is_none() && reading.errors.is_empty(), "{reading:?}");
}

/// A verification once skipped the bytes between a segment's records and its hints. No read needs
/// them, but a repair that walks the file does.
#[test]
fn a_verification_notices_every_byte_behind_the_records_of_a_segment() {
    let database = database::make(false);
    let mut flipped = 0;
    for name in damage::names(&database.fs).into_iter().filter(|it| kind_of(it) == "segment") {
        let len = database.fs.read(&damage::path(&name)).unwrap().len();
        for at in len.saturating_sub(100)..len {
            let damage = Damage::Flip { file: name.clone(), at, mask: 1 << (at % 8) };
            let fs = damage.done_to(&database.fs);
            let error = support::error_of(Db::open(PATH, options(&fs)).unwrap().verify());
            assert!(objection(&error, &name, true).is_none(), "{damage}: {error:?}");
            flipped += 1;
        }
    }
    assert!(flipped >= 400, "{flipped}");
}

#[test]
#[ignore = "takes minutes; see the module's first lines"]
fn every_damage_to_a_closed_database_is_noticed() {
    run(true, 1);
}

#[test]
#[ignore = "takes minutes; see the module's first lines"]
fn every_damage_to_a_killed_database_is_noticed() {
    run(false, 1);
}
