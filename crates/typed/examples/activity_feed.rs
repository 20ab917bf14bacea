//! Keeps the last hundred events of each user, and a follower reads every event once:
//! `cargo run -p foldb-typed --example activity_feed`.

use std::path::Path;

use foldb_typed::foldb::feed::{Change, Position, UpdateOp};
use foldb_typed::foldb::{Db, Options};
use foldb_typed::{LastN, MergeTable, Result, Table};

/// Stores events, each with its user. After each `look` of them, a follower reads what is new.
/// Returns the last events of the users `shown`, and how many events the follower saw.
pub(crate) fn activity_feed(
    path: &Path,
    events: impl Iterator<Item = (u32, String)>,
    look: usize,
    shown: &[u32],
) -> Result<Vec<String>> {
    let options =
        Options { create_if_missing: true, wal_retention_bytes: 256 << 20, ..Options::default() };
    let db = Db::open(path, options)?;
    let timelines = MergeTable::<u32, LastN<String, 100>>::open(&db, "timelines")?;
    for (number, (user, event)) in events.enumerate() {
        timelines.push(user, event)?;
        if (number + 1) % look == 0 {
            follow(&db, timelines.keyspace().name())?;
        }
    }
    follow(&db, timelines.keyspace().name())?;

    let mut report = Vec::new();
    for user in shown {
        let events = timelines.get(*user)?.unwrap_or_default();
        report.push(format!("user {user}: {} events, {:?}", events.len(), events.last()));
    }
    let follower = Table::<String, (u64, Vec<u8>)>::open(&db, "follower")?;
    let (seen, _) = follower.get("state")?.unwrap_or_default();
    report.push(format!("the follower saw {seen} events"));
    db.close()?;
    Ok(report)
}

/// Continues at the stored position: counts the events that came since.
fn follow(db: &Db, timelines: &str) -> Result<()> {
    let follower = Table::<String, (u64, Vec<u8>)>::open(db, "follower")?;
    let stored = follower.get("state")?;
    let (mut seen, mut position) = match stored {
        Some((seen, position)) => (seen, Position::from_bytes(&position)?),
        None => (0, Position::BEGINNING),
    };
    db.sync()?; // the feed yields only what a power loss cannot take back
    for update in db.updates_since(&position)? {
        let update = update?;
        if let Change::Batch(changes) = &update.change {
            let pushed = |change: &UpdateOp<'_>| match change {
                UpdateOp::Merge { keyspace, .. } => *keyspace == timelines,
                _ => false,
            };
            seen += changes.iter().filter(pushed).count() as u64;
        }
        position = update.position;
    }
    follower.put("state", (seen, position.to_bytes().to_vec()))
}

pub(crate) fn main() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let events = (0..250).map(|number| (number % 2, format!("event {number}")));
    let report = activity_feed(&dir.path().join("db"), events, 60, &[1])?;
    report.iter().for_each(|line| println!("{line}"));
    let last = r#"user 1: 100 events, Some("event 249")"#;
    assert_eq!(report, [last, "the follower saw 250 events"]);
    Ok(())
}
