use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _};

use crate::Failed;

pub(crate) fn small_store(path: &Path, read: &str, change: (&str, &str)) -> Result<String, Failed> {
    let db = Connection::open(path)?;
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;",
    )?;
    let find = "SELECT value FROM settings WHERE name = ?1";
    let found: Option<String> = db.query_row(find, [read], |row| row.get(0)).optional()?;
    db.execute("INSERT OR REPLACE INTO settings VALUES (?1, ?2)", change)?;
    Ok(found.unwrap_or_default())
}
