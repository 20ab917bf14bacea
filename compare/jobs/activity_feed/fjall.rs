use std::path::Path;

use fjall::{
    KeyspaceCreateOptions, PersistMode, Readable as _, SingleWriterTxDatabase,
    SingleWriterTxKeyspace,
};

use crate::{Failed, Outcome};

pub(crate) fn activity_feed(
    path: &Path,
    events: impl Iterator<Item = (u32, String)>,
    look: usize,
    shown: &[u32],
) -> Outcome {
    let db = SingleWriterTxDatabase::builder(path).open()?;
    let feed = db.keyspace("feed", KeyspaceCreateOptions::default)?;
    let timelines = db.keyspace("timelines", KeyspaceCreateOptions::default)?;
    let follower = db.keyspace("follower", KeyspaceCreateOptions::default)?;
    let mut events = (0u64..).zip(events).peekable();
    let mut stored = 0;
    while events.peek().is_some() {
        let mut batch = db.write_tx();
        for (number, (user, event)) in events.by_ref().take(look.min(1000)) {
            let (user, number) = (user.to_be_bytes(), number.to_be_bytes());
            batch.insert(&feed, number, [&user[..], event.as_bytes()].concat());
            batch.insert(&timelines, [&user[..], &number[..]].concat(), event);
            if let Some(old) = batch.prefix(&timelines, user).rev().nth(100) {
                let old = old.key()?;
                batch.remove(&timelines, old);
            }
            stored += 1;
        }
        batch.commit()?;
        if stored % look == 0 {
            follow(&db, &feed, &follower)?;
        }
    }
    follow(&db, &feed, &follower)?;

    let read = db.read_tx();
    let mut report = Vec::new();
    for user in shown {
        let events = || read.prefix(&timelines, user.to_be_bytes());
        let last = events().next_back().map(|event| event.value()).transpose()?;
        let last = last.map(|event| String::from_utf8_lossy(&event).into_owned());
        report.push(format!("user {user}: {} events, {last:?}", events().count()));
    }
    let seen = read.get(&follower, "seen")?.map_or(Ok(0), |seen| number_of(&seen))?;
    report.push(format!("the follower saw {seen} events"));
    Ok(report)
}

fn follow(
    db: &SingleWriterTxDatabase,
    feed: &SingleWriterTxKeyspace,
    follower: &SingleWriterTxKeyspace,
) -> Result<(), Failed> {
    let mut step = db.write_tx();
    let mut seen = step.get(follower, "seen")?.map_or(Ok(0), |seen| number_of(&seen))?;
    let next = step.get(follower, "next")?.map_or(Ok(0), |next| number_of(&next))?;
    let mut read = Vec::new();
    for event in step.range(feed, next.to_be_bytes()..) {
        read.push(event.key()?);
    }
    seen += read.len() as u64;
    if let Some(last) = read.last() {
        step.insert(follower, "next", (number_of(last)? + 1).to_be_bytes());
    }
    step.insert(follower, "seen", seen.to_be_bytes());
    for event in read {
        step.remove(feed, event);
    }
    step.commit()?;
    Ok(db.persist(PersistMode::SyncAll)?)
}

fn number_of(bytes: &[u8]) -> Result<u64, std::array::TryFromSliceError> {
    Ok(u64::from_be_bytes(bytes.try_into()?))
}
