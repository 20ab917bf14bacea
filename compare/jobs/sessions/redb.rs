use std::path::Path;
use std::time::SystemTime;

use redb::{
    Database, Durability, ReadableDatabase as _, ReadableTable as _, ReadableTableMetadata as _,
    TableDefinition, WriteTransaction,
};

use super::seconds;
use crate::{Failed, Outcome};

/// The user of a token, and when the session ends.
const SESSIONS: TableDefinition<'_, &str, (u32, u64)> = TableDefinition::new("sessions");

pub(crate) fn sessions(
    path: &Path,
    restored: impl Iterator<Item = (String, u32, SystemTime)>,
    requests: impl Iterator<Item = String>,
    logouts: impl Iterator<Item = String>,
) -> Outcome {
    let db = Database::create(path)?;
    let mut restored = restored.peekable();
    while restored.peek().is_some() {
        let batch = begin(&db)?;
        {
            let mut sessions = batch.open_table(SESSIONS)?;
            for (token, user, ends) in restored.by_ref().take(1000) {
                sessions.insert(&*token, (user, seconds(ends)))?;
            }
        }
        batch.commit()?;
    }
    let (mut renewed, mut ended, mut users) = (0, 0, 0);
    for token in requests {
        match touch(&db, &token)? {
            Some(user) => (renewed, users) = (renewed + 1, users + u64::from(user)),
            None => ended += 1,
        }
    }
    for token in logouts {
        let step = begin(&db)?;
        step.open_table(SESSIONS)?.remove(&*token)?;
        step.commit()?;
    }
    let now = seconds(SystemTime::now());
    let step = db.begin_write()?;
    step.open_table(SESSIONS)?.retain(|_, (_, ends)| ends > now)?;
    step.commit()?;

    let live = db.begin_read()?.open_table(SESSIONS)?.len()?;
    Ok(vec![
        format!("{renewed} requests renewed a session, of users {users}"),
        format!("{ended} requests found none"),
        format!("{live} sessions are live"),
    ])
}

fn begin(db: &Database) -> Result<WriteTransaction, Failed> {
    let mut step = db.begin_write()?;
    step.set_durability(Durability::None)?;
    Ok(step)
}

fn touch(db: &Database, token: &str) -> Result<Option<u32>, Failed> {
    let now = seconds(SystemTime::now());
    let step = begin(db)?;
    let live = {
        let mut sessions = step.open_table(SESSIONS)?;
        let found = sessions.get(token)?.map(|session| session.value());
        let live = found.filter(|(_, ends)| *ends > now).map(|(user, _)| user);
        if let Some(user) = live {
            sessions.insert(token, (user, now + 1800))?;
        }
        live
    };
    step.commit()?;
    Ok(live)
}
