//! A second process, beside a worker that has the database open. It may read and follow the
//! database. It may not open, destroy or repair it.
//!
//! The supervisor starts it and waits for its end before it kills the worker: without the worker,
//! the visitor could open the database.

use std::path::Path;
use std::process::{Command, Stdio};

use foldb::backup::Backups;
use foldb::feed::UpdatesOptions;
use foldb::{Db, Error, ErrorKind, ReadOnlyDb};

use crate::arguments::Visit;
use crate::check::{self, Wrong, told};
use crate::features::Features;
use crate::stage::Shown;

/// Starts a visitor, and waits for its end.
///
/// # Errors
/// What the visitor found wrong.
pub(crate) fn start(database: &Path, seed: u64, plant: Option<&str>) -> Result<(), Wrong> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.arg("visit").arg("--database").arg(database).args(["--seed", &seed.to_string()]);
    if let Some(fault) = plant {
        command.args(["--plant", fault]);
    }
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let output = command.output().map_err(|error| format!("cannot start a visitor: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Err(format!("a second process: {}", told.lines().last().unwrap_or("it failed")))
}

/// Does what a second process may and may not do.
///
/// # Errors
/// The first wrong answer.
pub(crate) fn visit(visit: &Visit) -> Result<(), Wrong> {
    if let Some(fault) = &visit.plant {
        crate::worker::plant(fault)?;
    }
    let features = Features::draw(visit.seed);
    let options = || features.options();
    let database = &visit.database;
    // If this opens, the worker has ended, and the database must stay.
    expect_locked("an open", Db::open(database, options()))?;
    expect_locked("a destroy", Db::destroy(database, &options()))?;
    expect_locked("a repair", Db::repair(database, options()))?;
    let shown = ReadOnlyDb::open(database, options());
    let Some(db) = unless(ErrorKind::Locked, shown).map_err(told("an open to read"))? else {
        return backups(&features, database);
    };
    read(&features, &db)?;
    db.verify().map_err(told("a verification"))?;
    follow(&db)?;
    backups(&features, database)
}

fn expect_locked<T>(what: &str, outcome: foldb::Result<T>) -> Result<(), Wrong> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::Locked => Ok(()),
        Err(error) => Err(format!("{what} of an open database answers {error}")),
        Ok(_) => Err(format!("{what} of an open database succeeded")),
    }
}

/// Returns `None` for an error of this kind.
fn unless<T>(kind: ErrorKind, outcome: foldb::Result<T>) -> Result<Option<T>, Error> {
    match outcome {
        Err(error) if error.kind() == kind => Ok(None),
        outcome => outcome.map(Some),
    }
}

/// Checks that batches are whole in a database opened to read.
fn read(features: &Features, db: &ReadOnlyDb) -> Result<(), Wrong> {
    let keyspace = |at: usize| match at {
        0 => Ok(db.default_keyspace().clone()),
        _ => db.keyspace(&format!("keyspace-{at}")).map_err(told("a keyspace is missing")),
    };
    let keyspaces = (0..features.operators.len()).map(keyspace).collect::<Result<_, _>>()?;
    check::pairs(&Shown { features, keyspaces }).map(drop)
}

/// Follows the feed to its end. Positions only grow.
fn follow(db: &ReadOnlyDb) -> Result<(), Wrong> {
    let oldest = db.oldest_position();
    // The database keeps no logs, or the writers have removed the oldest one.
    let kinds = [ErrorKind::InvalidArgument, ErrorKind::PositionLost];
    let ends = |error: &Error| kinds.contains(&error.kind());
    let mut last = match oldest {
        Err(error) if ends(&error) => return Ok(()),
        oldest => oldest.map_err(told("the oldest position"))?,
    };
    let options = UpdatesOptions { include_unsynced: true };
    let updates = match db.with(&options).updates_since(&last) {
        Err(error) if ends(&error) => return Ok(()),
        updates => updates.map_err(told("the feed"))?,
    };
    for update in updates {
        let update = match update {
            Err(error) if error.kind() == ErrorKind::PositionLost => return Ok(()),
            update => update.map_err(told("the feed"))?,
        };
        if update.position <= last {
            return Err(format!("the feed goes back from {last:?} to {:?}", update.position));
        }
        last = update.position;
    }
    Ok(())
}

/// Restores the newest backup, if there is one.
fn backups(features: &Features, database: &Path) -> Result<(), Wrong> {
    let directory = database.with_extension("backups");
    if !directory.exists() {
        return Ok(());
    }
    let backups = Backups::at(directory, &features.options());
    let listed = backups.list();
    let Some(newest) = listed.map_err(told("the list of backups"))?.pop() else { return Ok(()) };
    let restored = database.with_extension("restored-by-visitor");
    let _of_an_earlier_visitor = std::fs::remove_dir_all(&restored);
    backups.restore(Some(newest.id), &restored).map_err(told("a restore"))?;
    let db =
        ReadOnlyDb::open(&restored, features.options()).map_err(told("a restored database"))?;
    read(features, &db)?;
    drop(db);
    std::fs::remove_dir_all(&restored).map_err(super::wrong("a restored database"))
}
