use std::path::Path;
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension as _};

use super::seconds;
use crate::Outcome;

pub(crate) fn sessions(
    path: &Path,
    restored: impl Iterator<Item = (String, u32, SystemTime)>,
    requests: impl Iterator<Item = String>,
    logouts: impl Iterator<Item = String>,
) -> Outcome {
    let mut db = Connection::open(path)?;
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;
         CREATE TABLE sessions (token TEXT PRIMARY KEY, user INTEGER, ends INTEGER) WITHOUT ROWID;
         CREATE INDEX by_end ON sessions (ends);",
    )?;
    let mut restored = restored.peekable();
    while restored.peek().is_some() {
        let batch = db.transaction()?;
        for (token, user, ends) in restored.by_ref().take(1000) {
            batch.prepare_cached("INSERT INTO sessions VALUES (?1, ?2, ?3)")?.execute((
                token,
                user,
                seconds(ends),
            ))?;
        }
        batch.commit()?;
    }
    let (mut renewed, mut ended, mut users) = (0, 0, 0);
    for token in requests {
        let now = seconds(SystemTime::now());
        let user: Option<u64> = db
            .prepare_cached(
                "UPDATE sessions SET ends = ?1 WHERE token = ?2 AND ends > ?3 RETURNING user",
            )?
            .query_row((now + 1800, &token, now), |row| row.get(0))
            .optional()?;
        match user {
            Some(user) => (renewed, users) = (renewed + 1, users + user),
            None => ended += 1,
        }
    }
    for token in logouts {
        db.prepare_cached("DELETE FROM sessions WHERE token = ?1")?.execute([token])?;
    }
    let now = seconds(SystemTime::now());
    db.execute("DELETE FROM sessions WHERE ends <= ?1", [now])?;
    let live: u64 = db.query_row("SELECT count(*) FROM sessions", (), |row| row.get(0))?;
    Ok(vec![
        format!("{renewed} requests renewed a session, of users {users}"),
        format!("{ended} requests found none"),
        format!("{live} sessions are live"),
    ])
}
