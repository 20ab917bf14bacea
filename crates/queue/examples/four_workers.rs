//! Four workers share a queue: `cargo run -p foldb-queue --example four_workers`.
//!
//! The effect of a job and its end are one commit. A job that fails is tried again, and one that
//! cannot succeed becomes a dead letter.

use std::path::Path;
use std::thread;
use std::time::Duration;

use foldb::{Db, KeyspaceOptions};
use foldb_queue::{PushOptions, Queue, QueueOptions, Result};

/// Pushes jobs, each with its priority and body, and lets four workers do them all. A body is an
/// account and an amount: `7 250`. Amounts of 0 never succeed, and `7 250 later` fails once.
pub(crate) fn four_workers(
    path: &Path,
    jobs: impl Iterator<Item = (i32, String)>,
) -> Result<Vec<String>> {
    let db = Db::create(path)?;
    let sums = db.create_keyspace("sums", KeyspaceOptions::with_operator("uint64add"))?;
    let queue = Queue::open(&db, "payments", QueueOptions::default())?;
    for (priority, body) in jobs {
        queue.push_with(body, PushOptions { priority, ..PushOptions::default() })?;
    }
    thread::scope(|scope| {
        let workers = ["ann", "bob", "cid", "dan"].map(|worker| {
            let (queue, sums) = (&queue, &sums);
            scope.spawn(move || work(queue, sums, worker))
        });
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    db.sync()?;

    let depth = queue.depth()?;
    let mut report = vec![format!("{} done, {} dead", depth.done, depth.dead)];
    for sum in sums.iter()? {
        let (account, sum) = sum?;
        let sum = u64::from_le_bytes(sum[..].try_into().expect("8 bytes"));
        report.push(format!("account {}: {sum}", String::from_utf8_lossy(&account)));
    }
    db.close()?;
    Ok(report)
}

fn work(queue: &Queue, sums: &foldb::Keyspace, worker: &str) -> Result<()> {
    loop {
        let Some(job) = queue.claim(worker, Duration::from_secs(60))? else {
            let Some(due) = queue.next_due()? else { return Ok(()) };
            thread::sleep(due.min(Duration::from_millis(1)));
            continue;
        };
        let body = String::from_utf8_lossy(&job.body);
        let mut words = body.split(' ');
        let account = words.next().unwrap_or_default();
        let amount: u64 = words.next().and_then(|amount| amount.parse().ok()).unwrap_or(0);
        if amount == 0 {
            queue.bury(&job, "nothing to pay")?;
        } else if words.next() == Some("later") && job.attempt == 1 {
            queue.retry(&job, Duration::ZERO)?;
        } else {
            queue.ack_with(&job, |transaction| {
                transaction.keyspace(sums).merge(account, amount.to_le_bytes())
            })?;
        }
    }
}

pub(crate) fn main() -> Result<()> {
    let dir = tempfile::tempdir().map_err(foldb::Error::from)?;
    let jobs = [(0, "7 250"), (1, "8 40"), (0, "7 0"), (0, "7 50 later")];
    let jobs = jobs.into_iter().map(|(priority, body)| (priority, body.to_owned()));
    let report = four_workers(&dir.path().join("db"), jobs)?;
    report.iter().for_each(|line| println!("{line}"));
    assert_eq!(report, ["3 done, 1 dead", "account 7: 300", "account 8: 40"]);
    Ok(())
}
