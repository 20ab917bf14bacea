use std::path::Path;
use std::thread;
use std::time::Duration;

use redb::{
    Database, Durability, ReadableDatabase as _, ReadableTable as _, ReadableTableMetadata as _,
    TableDefinition, WriteTransaction,
};

use super::{now, parse};
use crate::{Failed, Outcome};

/// Jobs in line: the priority turned round, and the id. The value is the number of attempts.
const READY: TableDefinition<'_, (i32, u64), u32> = TableDefinition::new("ready");
/// Leases by their end and the id. The value is the priority turned round, and the attempts.
const LEASED: TableDefinition<'_, (u64, u64), (i32, u32)> = TableDefinition::new("leased");
const BODIES: TableDefinition<'_, u64, &str> = TableDefinition::new("bodies");
const DEAD: TableDefinition<'_, u64, (&str, &str)> = TableDefinition::new("dead");
const SUMS: TableDefinition<'_, &str, u64> = TableDefinition::new("sums");
const DONE: TableDefinition<'_, (), u64> = TableDefinition::new("done");

struct Claimed {
    id: u64,
    lease_end: u64,
    priority: i32,
    attempts: u32,
    body: String,
}

pub(crate) fn four_workers(path: &Path, jobs: impl Iterator<Item = (i32, String)>) -> Outcome {
    let db = Database::create(path)?;
    let start = db.begin_write()?;
    start.open_table(DEAD)?;
    start.open_table(DONE)?;
    start.open_table(SUMS)?;
    start.open_table(LEASED)?;
    start.commit()?;
    let mut jobs = (0u64..).zip(jobs).peekable();
    while jobs.peek().is_some() {
        let batch = begin(&db)?;
        {
            let (mut ready, mut bodies) = (batch.open_table(READY)?, batch.open_table(BODIES)?);
            for (id, (priority, body)) in jobs.by_ref().take(1000) {
                ready.insert((-priority, id), 0)?;
                bodies.insert(id, &*body)?;
            }
        }
        batch.commit()?;
    }
    thread::scope(|scope| {
        let workers = [(); 4].map(|()| scope.spawn(|| work(&db)));
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    db.begin_write()?.commit()?; // durable, with all commits before it

    let read = db.begin_read()?;
    let done = read.open_table(DONE)?.get(())?.map_or(0, |done| done.value());
    let dead = read.open_table(DEAD)?.len()?;
    let mut report = vec![format!("{done} done, {dead} dead")];
    for sum in read.open_table(SUMS)?.iter()? {
        let (account, sum) = sum?;
        report.push(format!("account {}: {}", account.value(), sum.value()));
    }
    Ok(report)
}

fn begin(db: &Database) -> Result<WriteTransaction, Failed> {
    let mut step = db.begin_write()?;
    step.set_durability(Durability::None)?;
    Ok(step)
}

fn work(db: &Database) -> Result<(), Failed> {
    loop {
        let Some(job) = claim(db)? else {
            if db.begin_read()?.open_table(LEASED)?.is_empty()? {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        end(db, &job)?;
    }
}

fn claim(db: &Database) -> Result<Option<Claimed>, Failed> {
    let step = begin(db)?;
    let claimed = {
        let (mut ready, mut leased) = (step.open_table(READY)?, step.open_table(LEASED)?);
        let ended = leased.range(..=(now(), u64::MAX))?;
        let ended: Vec<_> = ended
            .map(|entry| entry.map(|(key, job)| (key.value(), job.value())))
            .collect::<Result<_, _>>()?;
        for ((lease_end, id), (priority, attempts)) in ended {
            leased.remove((lease_end, id))?;
            ready.insert((priority, id), attempts)?;
        }
        let first = ready.pop_first()?.map(|(key, attempts)| (key.value(), attempts.value()));
        match first {
            None => None,
            Some(((priority, id), attempts)) => {
                let (lease_end, attempts) = (now() + 60_000, attempts + 1);
                leased.insert((lease_end, id), (priority, attempts))?;
                let bodies = step.open_table(BODIES)?;
                let body = bodies.get(id)?.ok_or("a job without a body")?.value().to_owned();
                Some(Claimed { id, lease_end, priority, attempts, body })
            }
        }
    };
    step.commit()?;
    Ok(claimed)
}

fn end(db: &Database, job: &Claimed) -> Result<(), Failed> {
    let (account, amount, later) = parse(&job.body);
    let step = begin(db)?;
    {
        let mut leased = step.open_table(LEASED)?;
        // If the lease ended, another worker may have the job.
        if leased.remove((job.lease_end, job.id))?.is_none() {
            return Ok(());
        }
        if later && job.attempts == 1 && amount > 0 {
            step.open_table(READY)?.insert((job.priority, job.id), job.attempts)?;
        } else if amount == 0 {
            step.open_table(BODIES)?.remove(job.id)?;
            step.open_table(DEAD)?.insert(job.id, (&*job.body, "nothing to pay"))?;
        } else {
            step.open_table(BODIES)?.remove(job.id)?;
            let mut sums = step.open_table(SUMS)?;
            let sum = sums.get(account)?.map_or(0, |sum| sum.value());
            sums.insert(account, sum + amount)?;
            let mut done = step.open_table(DONE)?;
            let count = done.get(())?.map_or(0, |done| done.value());
            done.insert((), count + 1)?;
        }
    }
    Ok(step.commit()?)
}
