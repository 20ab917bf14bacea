use std::path::Path;

use redb::{Database, Durability, ReadableDatabase as _, ReadableTable as _, TableDefinition};

use crate::{Failed, Outcome};

const FEED: TableDefinition<'_, u64, (u32, &str)> = TableDefinition::new("feed");
const TIMELINES: TableDefinition<'_, (u32, u64), &str> = TableDefinition::new("timelines");
/// How many events the follower saw, and the number of the next one.
const FOLLOWER: TableDefinition<'_, (), (u64, u64)> = TableDefinition::new("follower");

pub(crate) fn activity_feed(
    path: &Path,
    events: impl Iterator<Item = (u32, String)>,
    look: usize,
    shown: &[u32],
) -> Outcome {
    let db = Database::create(path)?;
    let mut events = (0u64..).zip(events).peekable();
    let mut stored = 0;
    while events.peek().is_some() {
        let mut batch = db.begin_write()?;
        batch.set_durability(Durability::None)?;
        {
            let mut feed = batch.open_table(FEED)?;
            let mut timelines = batch.open_table(TIMELINES)?;
            for (number, (user, event)) in events.by_ref().take(look.min(1000)) {
                feed.insert(number, (user, &*event))?;
                timelines.insert((user, number), &*event)?;
                let old = timelines.range((user, 0)..=(user, number))?.rev().nth(100);
                let old = old.transpose()?.map(|(key, _)| key.value());
                if let Some(old) = old {
                    timelines.remove(old)?;
                }
                stored += 1;
            }
        }
        batch.commit()?;
        if stored % look == 0 {
            follow(&db)?;
        }
    }
    follow(&db)?;

    let read = db.begin_read()?;
    let timelines = read.open_table(TIMELINES)?;
    let mut report = Vec::new();
    for user in shown {
        let events = || timelines.range((*user, 0)..=(*user, u64::MAX));
        let last = events()?.next_back().transpose()?.map(|(_, event)| event.value().to_owned());
        report.push(format!("user {user}: {} events, {last:?}", events()?.count()));
    }
    let seen = read.open_table(FOLLOWER)?.get(())?.map_or(0, |state| state.value().0);
    report.push(format!("the follower saw {seen} events"));
    Ok(report)
}

fn follow(db: &Database) -> Result<(), Failed> {
    let step = db.begin_write()?;
    {
        let mut follower = step.open_table(FOLLOWER)?;
        let mut feed = step.open_table(FEED)?;
        let (mut seen, mut next) = follower.get(())?.map_or((0, 0), |state| state.value());
        for event in feed.range(next..)? {
            next = event?.0.value() + 1;
            seen += 1;
        }
        feed.retain_in(..next, |_, _| false)?;
        follower.insert((), (seen, next))?;
    }
    Ok(step.commit()?)
}
