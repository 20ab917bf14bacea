//! Programs that open, close and destroy the database at one path. No two of them may have the
//! database open at once.
//!
//! While a program has the database open, it keeps a mark file next to the database. If the file
//! already exists, two programs have the database open.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use foldb::{Db, ErrorKind, Options};

use crate::arguments::Rival;
use crate::features::draws;

/// Number of rivals.
const RIVALS: u64 = 3;

/// Opens and destroys until the time is over.
///
/// # Errors
/// Fails if two programs had the database open, if a read does not return this rival's write, or if
/// a call fails. A database that another rival has locked is no failure.
pub(crate) fn compete(rival: &Rival) -> Result<(), String> {
    if let Some(fault) = &rival.plant {
        crate::worker::plant(fault)?;
    }
    let mut rng = draws(rival.seed, "rival", &[]);
    let options = Options { create_if_missing: true, ..Options::default() };
    let mark = rival.database.with_extension("owner");
    let end = Instant::now() + Duration::from_millis(rival.millis);
    while Instant::now() < end {
        let db = match Db::open(&rival.database, options.clone()) {
            Ok(db) => db,
            Err(error) if error.kind() == ErrorKind::Locked => continue,
            Err(error) => return Err(format!("a rival cannot open: {error}")),
        };
        let marked = OpenOptions::new().write(true).create_new(true).open(&mark);
        marked.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => "two programs have one database open".to_owned(),
            _ => format!("a rival cannot create its mark file: {error}"),
        })?;
        let wrote = db.put("rival", rival.seed.to_le_bytes()).and_then(|()| db.get("rival"));
        let found = wrote.map_err(|error| format!("a rival cannot write and read: {error}"))?;
        if found.is_none_or(|found| found != rival.seed.to_le_bytes()) {
            return Err("a rival did not read the value that it wrote".to_owned());
        }
        fs::remove_file(&mark)
            .map_err(|error| format!("a rival cannot remove its mark file: {error}"))?;
        drop(db);
        if rng.bool() {
            match Db::destroy(&rival.database, &options) {
                Err(error) if error.kind() != ErrorKind::Locked => {
                    return Err(format!("a rival cannot destroy: {error}"));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Lets some rivals compete for a while.
///
/// # Errors
/// The first error that a rival reports.
pub(crate) fn run(database: &Path, seed: u64, plant: Option<&str>) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let start = |number: u64| {
        let mut command = Command::new(&program);
        command.arg("rival").arg("--database").arg(database).args(["--millis", "400"]);
        command.args(["--seed", &seed.wrapping_mul(RIVALS).wrapping_add(number).to_string()]);
        if let Some(fault) = plant {
            command.args(["--plant", fault]);
        }
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()
    };
    let started: Result<Vec<Child>, _> = (0..RIVALS).map(start).collect();
    let started = started.map_err(|error| format!("cannot start a rival: {error}"))?;
    let mut wrong = None;
    for child in started {
        let output = child.wait_with_output();
        let output = output.map_err(|error| format!("cannot wait for a rival: {error}"))?;
        if !output.status.success() {
            let told = String::from_utf8_lossy(&output.stderr);
            wrong.get_or_insert(told.lines().last().unwrap_or("a rival failed").to_owned());
        }
    }
    wrong.map_or(Ok(()), Err)
}
