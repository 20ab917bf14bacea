use std::path::Path;
use std::time::SystemTime;

use fjall::{KeyspaceCreateOptions, PersistMode, Readable as _, SingleWriterTxDatabase};

use super::seconds;
use crate::Outcome;

pub(crate) fn sessions(
    path: &Path,
    restored: impl Iterator<Item = (String, u32, SystemTime)>,
    requests: impl Iterator<Item = String>,
    logouts: impl Iterator<Item = String>,
) -> Outcome {
    let db = SingleWriterTxDatabase::builder(path).open()?;
    let sessions = db.keyspace("sessions", KeyspaceCreateOptions::default)?;
    for (token, user, ends) in restored {
        sessions.insert(token, encode(user, seconds(ends)))?;
    }
    let (mut renewed, mut ended, mut users) = (0, 0, 0);
    for token in requests {
        let now = seconds(SystemTime::now());
        let mut step = db.write_tx();
        let found = step.get(&sessions, &token)?.map(|session| decode(&session)).transpose()?;
        match found.filter(|(_, ends)| *ends > now) {
            Some((user, _)) => {
                step.insert(&sessions, token, encode(user, now + 1800));
                (renewed, users) = (renewed + 1, users + u64::from(user));
            }
            None => ended += 1,
        }
        step.commit()?;
    }
    for token in logouts {
        sessions.remove(token)?;
    }
    let now = seconds(SystemTime::now());
    let mut live = 0;
    for entry in db.read_tx().iter(&sessions) {
        let (token, session) = entry.into_inner()?;
        if decode(&session)?.1 > now {
            live += 1;
        } else {
            sessions.remove(token)?;
        }
    }
    db.persist(PersistMode::SyncAll)?;
    Ok(vec![
        format!("{renewed} requests renewed a session, of users {users}"),
        format!("{ended} requests found none"),
        format!("{live} sessions are live"),
    ])
}

fn encode(user: u32, ends: u64) -> Vec<u8> {
    [&user.to_be_bytes()[..], &ends.to_be_bytes()].concat()
}

fn decode(session: &[u8]) -> Result<(u32, u64), std::array::TryFromSliceError> {
    let (user, ends) = session.split_at(4);
    Ok((u32::from_be_bytes(user.try_into()?), u64::from_be_bytes(ends.try_into()?)))
}
