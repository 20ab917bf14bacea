use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _};

use crate::{Failed, Outcome};

const SCHEMA: &str =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;
     CREATE TABLE feed (number INTEGER PRIMARY KEY AUTOINCREMENT, user INTEGER, event TEXT);
     CREATE TABLE timelines (user INTEGER, number INTEGER, event TEXT,
         PRIMARY KEY (user, number)) WITHOUT ROWID;
     CREATE TABLE follower (id INTEGER PRIMARY KEY, seen INTEGER, position INTEGER);
     INSERT INTO follower VALUES (0, 0, 0);";

pub(crate) fn activity_feed(
    path: &Path,
    events: impl Iterator<Item = (u32, String)>,
    look: usize,
    shown: &[u32],
) -> Outcome {
    let mut db = Connection::open(path)?;
    db.execute_batch(SCHEMA)?;
    let mut events = events.peekable();
    let mut stored = 0;
    while events.peek().is_some() {
        let batch = db.transaction()?;
        for (user, event) in events.by_ref().take(look.min(1000)) {
            batch
                .prepare_cached("INSERT INTO feed (user, event) VALUES (?1, ?2)")?
                .execute((user, &event))?;
            batch.prepare_cached("INSERT INTO timelines VALUES (?1, ?2, ?3)")?.execute((
                user,
                batch.last_insert_rowid(),
                event,
            ))?;
            batch
                .prepare_cached(
                    "DELETE FROM timelines WHERE user = ?1 AND number <= (SELECT number
                     FROM timelines WHERE user = ?1 ORDER BY number DESC LIMIT 1 OFFSET 100)",
                )?
                .execute([user])?;
            stored += 1;
        }
        batch.commit()?;
        if stored % look == 0 {
            follow(&mut db)?;
        }
    }
    follow(&mut db)?;

    let mut report = Vec::new();
    let mut count = db.prepare("SELECT count(*) FROM timelines WHERE user = ?1")?;
    let mut last =
        db.prepare("SELECT event FROM timelines WHERE user = ?1 ORDER BY number DESC LIMIT 1")?;
    for user in shown {
        let events: u64 = count.query_row([user], |row| row.get(0))?;
        let last: Option<String> = last.query_row([user], |row| row.get(0)).optional()?;
        report.push(format!("user {user}: {events} events, {last:?}"));
    }
    let seen: u64 = db.query_row("SELECT seen FROM follower", (), |row| row.get(0))?;
    report.push(format!("the follower saw {seen} events"));
    Ok(report)
}

fn follow(db: &mut Connection) -> Result<(), Failed> {
    let step = db.transaction()?;
    let state = step.query_row("SELECT seen, position FROM follower", (), |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?;
    let (mut seen, mut position): (u64, i64) = state;
    let mut feed = step.prepare("SELECT number, event FROM feed WHERE number > ?1")?;
    let mut events = feed.query([position])?;
    while let Some(event) = events.next()? {
        position = event.get(0)?;
        seen += 1;
    }
    drop(events);
    drop(feed);
    step.execute("UPDATE follower SET seen = ?1, position = ?2", (seen, position))?;
    step.execute("DELETE FROM feed WHERE number <= ?1", [position])?;
    Ok(step.commit()?)
}
