//! Workers send mails from a queue: `cargo run -p foldb-queue --example job_queue`.
//!
//! One worker dies with a mail in its hands, and one mail has a bad address. Each good mail is
//! marked as sent exactly once.

use std::thread;
use std::time::Duration;

use foldb::Db;
use foldb_queue::{PushOptions, Queue, QueueOptions};

const LEASE: Duration = Duration::from_millis(200);

/// Sends mails until none waits, and sleeps until the next one is due.
fn work(db: &Db, mails: &Queue, worker: &str) -> foldb_queue::Result<()> {
    let sent = db.keyspace("sent")?;
    loop {
        let Some(mail) = mails.claim(worker, LEASE)? else {
            let Some(due) = mails.next_due()? else { return Ok(()) };
            thread::sleep(due.min(LEASE));
            continue;
        };
        let address = String::from_utf8_lossy(&mail.body);
        if !address.contains('@') {
            mails.bury(&mail, "not an address")?;
            continue;
        }
        mails.ack_with(&mail, |transaction| {
            transaction.keyspace(&sent).merge(&*address, 1u64.to_le_bytes())
        })?;
        println!("{worker} sent a mail to {address}, attempt {}", mail.attempt);
    }
}

pub(crate) fn main() -> foldb_queue::Result<()> {
    let directory = tempfile::tempdir().map_err(foldb::Error::from)?;
    let db = Db::create(directory.path().join("db"))?;
    let sent = db.create_keyspace("sent", foldb::KeyspaceOptions::with_operator("uint64add"))?;
    let mails = Queue::open(&db, "mails", QueueOptions::default())?;

    // The order and the mail about it are one commit.
    db.transact(|transaction| {
        transaction.put("order 1", "tea")?;
        let urgent = PushOptions { priority: 1, ..PushOptions::default() };
        mails.push_in(transaction, "ann@example.org", urgent)?;
        Ok(())
    })?;
    mails.push("bob@example.org")?;
    mails.push("nonsense")?;
    let later = PushOptions { delay: Duration::from_millis(50), ..PushOptions::default() };
    mails.push_with("cid@example.org", later)?;

    // This worker never comes back.
    let lost = mails.claim("worker 0", LEASE)?.expect("three mails are ready");
    assert_eq!(lost.body, b"ann@example.org");

    thread::scope(|scope| {
        let workers = ["worker 1", "worker 2"].map(|worker| {
            let (db, mails) = (&db, &mails);
            scope.spawn(move || work(db, mails, worker))
        });
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;

    for address in ["ann", "bob", "cid"] {
        let times = sent.get(format!("{address}@example.org"))?;
        assert_eq!(times.as_deref(), Some(&1u64.to_le_bytes()[..]), "{address}");
    }
    for letter in mails.dead()? {
        let letter = letter?;
        println!("{} is dead: {}", String::from_utf8_lossy(&letter.body), letter.reason);
    }
    let depth = mails.depth()?;
    assert_eq!((depth.ready, depth.leased, depth.dead, depth.done), (0, 0, 1, 3));
    Ok(())
}
