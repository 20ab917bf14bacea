//! Another program at a database that is open: it may read, and must not do more.

use std::path::Path;
use std::process::{Command, Stdio};

use foldb::{Db, ErrorKind, ReadOnlyDb, Result};

use crate::arguments::Visitor;
use crate::check::{Wrong, told};
use crate::features::Features;

/// Tries to open, repair and destroy the database, and reads it.
///
/// # Errors
/// A call that was not refused, or a read that failed.
pub(crate) fn visit(visitor: &Visitor) -> std::result::Result<(), Wrong> {
    if let Some(fault) = &visitor.plant {
        crate::worker::plant(fault)?;
    }
    let options = Features::draw(visitor.seed).options();
    let path = &visitor.database;
    refused("an open", Db::open(path, options.clone()).map(drop))?;
    refused("a repair", Db::repair(path, options.clone()).map(drop))?;
    refused("a destroy", Db::destroy(path, &options))?;
    let db = ReadOnlyDb::open(path, options).map_err(told("a read-only open beside a writer"))?;
    for name in db.keyspaces() {
        let keyspace = db.keyspace(&name).map_err(told("a keyspace of a read-only open"))?;
        let mut entries = keyspace.iter().map_err(told("a scan beside a writer"))?;
        entries.try_for_each(|entry| entry.map(drop)).map_err(told("a scan beside a writer"))?;
    }
    Ok(())
}

fn refused(what: &str, outcome: Result<()>) -> std::result::Result<(), Wrong> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::Locked => Ok(()),
        Err(error) => Err(told(what)(error)),
        Ok(()) => Err(format!("{what} of another program succeeded")),
    }
}

/// Runs a visitor in a process of its own.
///
/// # Errors
/// What the visitor reports.
pub(super) fn run(
    database: &Path,
    seed: u64,
    plant: Option<&str>,
) -> std::result::Result<(), Wrong> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.arg("visitor").arg("--database").arg(database).args(["--seed", &seed.to_string()]);
    if let Some(fault) = plant {
        command.args(["--plant", fault]);
    }
    let output = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output();
    let output = output.map_err(|error| format!("cannot run a visitor: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Err(format!("a visitor: {}", told.lines().last().unwrap_or("it failed without a word")))
}
