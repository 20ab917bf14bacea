//! Keeps sessions that end by themselves: `cargo run --example sessions`.

use std::path::Path;
use std::time::{Duration, SystemTime};

use foldb::expiry::{Expires, Expiry};
use foldb::{Db, KeyspaceOptions, Result, WriteOptions};

/// Restores sessions, each with its token, user and end. Then requests come: each renews its
/// session for half an hour. Then some users log out. Returns what was found.
pub(crate) fn sessions(
    path: &Path,
    restored: impl Iterator<Item = (String, u32, SystemTime)>,
    requests: impl Iterator<Item = String>,
    logouts: impl Iterator<Item = String>,
) -> Result<Vec<String>> {
    let db = Db::create(path)?;
    let expiry = Some(Expiry::after_last_write(Duration::from_secs(1800)));
    let sessions =
        db.create_keyspace("sessions", KeyspaceOptions { expiry, ..Default::default() })?;
    for (token, user, end) in restored {
        let expires = Some(Expires::At(end));
        let options = WriteOptions { expires, ..WriteOptions::default() };
        sessions.with(&options).put(token, user.to_le_bytes())?;
    }
    let (mut renewed, mut ended, mut users) = (0, 0, 0);
    for token in requests {
        match sessions.get(&token)? {
            Some(user) if sessions.touch(&token)? => {
                renewed += 1;
                users += u64::from(u32::from_le_bytes(user[..].try_into().expect("4 bytes")));
            }
            _ => ended += 1,
        }
    }
    for token in logouts {
        sessions.delete(token)?;
    }
    db.sync()?;

    let live = sessions.iter()?.count();
    db.close()?;
    Ok(vec![
        format!("{renewed} requests renewed a session, of users {users}"),
        format!("{ended} requests found none"),
        format!("{live} sessions are live"),
    ])
}

pub(crate) fn main() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let now = SystemTime::now();
    let (past, later) = (now - Duration::from_secs(60), now + Duration::from_secs(3600));
    let restored = [("a", 1, later), ("b", 2, past), ("c", 3, later)];
    let restored = restored.into_iter().map(|(token, user, end)| (token.to_owned(), user, end));
    let texts = |tokens: &'static [&str]| tokens.iter().map(|token| (*token).to_owned());
    let report =
        sessions(&dir.path().join("db"), restored, texts(&["a", "b", "c"]), texts(&["a", "b"]))?;
    report.iter().for_each(|line| println!("{line}"));
    let found = ["2 requests renewed a session, of users 4", "1 requests found none"];
    assert_eq!(report[..2], found);
    assert_eq!(report[2], "1 sessions are live");
    Ok(())
}
