//! Watching a database through its flight recording, without opening it.
//!
//! `top` and `stats --watch` show the last seconds, `doctor` says what is wrong, `report` draws the
//! last hours. All of them see a [`View`]: the figures of a stretch of time.

pub(crate) mod clock;
pub(crate) mod doctor;
pub(crate) mod page;
pub(crate) mod process;
pub(crate) mod screen;
pub(crate) mod view;

pub(crate) use view::View;

use std::path::Path;

use foldb::ErrorKind;
use foldb::recorder::Recording;

use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;

/// Reads the recording of a database.
///
/// # Errors
/// Fails if nothing is recorded.
pub(crate) fn read(db: &Path) -> Outcome<Recording> {
    let name = quoted(db.as_os_str().as_encoded_bytes());
    if db.metadata().is_ok_and(|found| !found.is_dir()) {
        return Err(Exit::failed(format!(
            "{name} is not a database: it is a file, not a directory"
        )));
    }
    let recording = Recording::read(db).map_err(|error| match error.kind() {
        ErrorKind::DatabaseMissing => Exit::failed(format!("there is no database at {name}")),
        _ => Exit::from(error),
    })?;
    if recording.samples.is_empty() {
        return Err(Exit::failed(format!(
            "nothing is recorded at {name}: a database records itself while a program has it open \
             to write for more than a second, unless flight_recorder is 0"
        )));
    }
    Ok(recording)
}
