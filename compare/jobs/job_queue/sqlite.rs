use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};

use super::{now, parse};
use crate::{Failed, Outcome};

pub(crate) fn four_workers(path: &Path, jobs: impl Iterator<Item = (i32, String)>) -> Outcome {
    let mut db = open(path)?;
    db.execute_batch(
        "CREATE TABLE jobs (id INTEGER PRIMARY KEY AUTOINCREMENT, priority INTEGER, body TEXT,
             state TEXT DEFAULT 'ready', lease_end INTEGER DEFAULT 0, attempts INTEGER DEFAULT 0,
             reason TEXT);
         CREATE INDEX in_line ON jobs (state, priority DESC, id);
         CREATE INDEX leases ON jobs (lease_end) WHERE state = 'leased';
         CREATE TABLE sums (account TEXT PRIMARY KEY, sum INTEGER) WITHOUT ROWID;",
    )?;
    let mut jobs = jobs.peekable();
    while jobs.peek().is_some() {
        let batch = db.transaction()?;
        for job in jobs.by_ref().take(1000) {
            batch
                .prepare_cached("INSERT INTO jobs (priority, body) VALUES (?1, ?2)")?
                .execute(job)?;
        }
        batch.commit()?;
    }
    thread::scope(|scope| {
        let workers = [(); 4].map(|()| scope.spawn(|| work(path)));
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;

    let count = |state: &str| -> Result<u64, rusqlite::Error> {
        db.query_row("SELECT count(*) FROM jobs WHERE state = ?1", [state], |row| row.get(0))
    };
    let mut report = vec![format!("{} done, {} dead", count("done")?, count("dead")?)];
    let mut sums = db.prepare("SELECT account, sum FROM sums ORDER BY account")?;
    let mut sums = sums.query(())?;
    while let Some(row) = sums.next()? {
        let (account, sum): (String, u64) = (row.get(0)?, row.get(1)?);
        report.push(format!("account {account}: {sum}"));
    }
    Ok(report)
}

fn open(path: &Path) -> Result<Connection, rusqlite::Error> {
    let db = Connection::open(path)?;
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;",
    )?;
    db.busy_timeout(Duration::from_secs(60))?;
    Ok(db)
}

fn work(path: &Path) -> Result<(), Failed> {
    let mut db = open(path)?;
    loop {
        let claimed = claim(&mut db)?;
        let Some((id, body, attempts)) = claimed else {
            let leased = "SELECT count(*) FROM jobs WHERE state = 'leased'";
            let leased: u64 = db.query_row(leased, (), |row| row.get(0))?;
            if leased == 0 {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        let (account, amount, later) = parse(&body);
        let end = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (state, reason) = match (amount, later && attempts == 1) {
            (0, _) => ("dead", Some("nothing to pay")),
            (_, true) if attempts >= 5 => ("dead", Some("no attempt is left")),
            (_, true) => ("ready", None),
            (_, false) => ("done", None),
        };
        // If the lease ended, another worker may have the job, in a later attempt.
        let held = end
            .prepare_cached(
                "UPDATE jobs SET state = ?1, reason = ?2
                 WHERE id = ?3 AND state = 'leased' AND attempts = ?4",
            )?
            .execute((state, reason, id, attempts))?;
        if held == 1 && state == "done" {
            end.prepare_cached(
                "INSERT INTO sums VALUES (?1, ?2)
                 ON CONFLICT DO UPDATE SET sum = sum + excluded.sum",
            )?
            .execute((account, amount))?;
        }
        end.commit()?;
    }
}

fn claim(db: &mut Connection) -> Result<Option<(u64, String, u32)>, Failed> {
    let step = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    step.prepare_cached(
        "UPDATE jobs SET state = 'ready' WHERE state = 'leased' AND lease_end <= ?1",
    )?
    .execute([now()])?;
    let claimed = step
        .prepare_cached(
            "UPDATE jobs SET state = 'leased', lease_end = ?1, attempts = attempts + 1
             WHERE id = (SELECT id FROM jobs WHERE state = 'ready'
                         ORDER BY priority DESC, id LIMIT 1)
             RETURNING id, body, attempts",
        )?
        .query_row([now() + 60_000], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    step.commit()?;
    Ok(claimed)
}
