use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use fjall::{
    KeyspaceCreateOptions, PersistMode, Readable as _, SingleWriterTxDatabase,
    SingleWriterTxKeyspace,
};

use super::{now, parse};
use crate::{Failed, Outcome};

struct Queue {
    db: SingleWriterTxDatabase,
    /// Jobs in line: the priority turned round, and the id. The value is the number of attempts.
    ready: SingleWriterTxKeyspace,
    /// Leases by their end and the id. The value is the place in line, and the attempts.
    leased: SingleWriterTxKeyspace,
    bodies: SingleWriterTxKeyspace,
    dead: SingleWriterTxKeyspace,
    sums: SingleWriterTxKeyspace,
    /// Where the line begins. From its start, each claim would walk over all that was removed.
    front: Mutex<Vec<u8>>,
}

struct Claimed {
    lease: Vec<u8>,
    /// The priority turned round, and the id.
    place: Vec<u8>,
    attempts: u8,
    body: String,
}

pub(crate) fn four_workers(path: &Path, jobs: impl Iterator<Item = (i32, String)>) -> Outcome {
    let db = SingleWriterTxDatabase::builder(path).open()?;
    let queue = Queue {
        ready: db.keyspace("ready", KeyspaceCreateOptions::default)?,
        leased: db.keyspace("leased", KeyspaceCreateOptions::default)?,
        bodies: db.keyspace("bodies", KeyspaceCreateOptions::default)?,
        dead: db.keyspace("dead", KeyspaceCreateOptions::default)?,
        sums: db.keyspace("sums", KeyspaceCreateOptions::default)?,
        front: Mutex::default(),
        db,
    };
    for (id, (priority, body)) in (0u64..).zip(jobs) {
        let mut push = queue.db.write_tx();
        let place = [&[u8::MAX - priority as u8][..], &id.to_be_bytes()].concat();
        push.insert(&queue.ready, place, [0]);
        push.insert(&queue.bodies, id.to_be_bytes(), body);
        push.commit()?;
    }
    thread::scope(|scope| {
        let workers = [(); 4].map(|()| scope.spawn(|| work(&queue)));
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    queue.db.persist(PersistMode::SyncAll)?;

    let read = queue.db.read_tx();
    let done = read.get(&queue.sums, "done")?.map_or(Ok(0), |done| number_of(&done))?;
    let mut report = vec![format!("{done} done, {} dead", read.len(&queue.dead)?)];
    for sum in read.prefix(&queue.sums, "account ") {
        let (account, sum) = sum.into_inner()?;
        report.push(format!("{}: {}", String::from_utf8_lossy(&account), number_of(&sum)?));
    }
    Ok(report)
}

fn work(queue: &Queue) -> Result<(), Failed> {
    loop {
        let Some(job) = claim(queue)? else {
            if queue.db.read_tx().is_empty(&queue.leased)? {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        end(queue, &job)?;
    }
}

fn claim(queue: &Queue) -> Result<Option<Claimed>, Failed> {
    let mut step = queue.db.write_tx();
    let mut ended = Vec::new();
    for entry in step.range(&queue.leased, ..(now() + 1).to_be_bytes()) {
        ended.push(entry.into_inner()?);
    }
    let mut front = queue.front.lock().expect("no worker panics");
    for (lease, job) in ended {
        *front = job[..9].to_vec().min(front.clone());
        step.remove(&queue.leased, lease);
        step.insert(&queue.ready, &job[..9], &job[9..]);
    }
    let Some(first) = step.range(&queue.ready, front.clone()..).next() else { return Ok(None) };
    let (place, attempts) = first.into_inner()?;
    *front = place.to_vec();
    let (id, attempts) = (&place[1..], attempts[0] + 1);
    let lease = [&(now() + 60_000).to_be_bytes()[..], id].concat();
    let body = step.get(&queue.bodies, id)?.ok_or("a job without a body")?;
    step.remove(&queue.ready, place.clone());
    step.insert(&queue.leased, lease.clone(), [&place[..], &[attempts]].concat());
    step.commit()?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Some(Claimed { lease, place: place.to_vec(), attempts, body }))
}

fn end(queue: &Queue, job: &Claimed) -> Result<(), Failed> {
    let (account, amount, later) = parse(&job.body);
    let mut step = queue.db.write_tx();
    // If the lease ended, another worker may have the job.
    if step.take(&queue.leased, &*job.lease)?.is_none() {
        return Ok(());
    }
    let id = &job.place[1..];
    if later && job.attempts == 1 && amount > 0 {
        let mut front = queue.front.lock().expect("no worker panics");
        *front = job.place.clone().min(front.clone());
        step.insert(&queue.ready, &*job.place, [job.attempts]);
    } else if amount == 0 {
        step.remove(&queue.bodies, id);
        step.insert(&queue.dead, id, &*job.body);
    } else {
        step.remove(&queue.bodies, id);
        for (key, more) in [(format!("account {account}"), amount), ("done".to_owned(), 1)] {
            let sum = step.get(&queue.sums, &key)?.map_or(Ok(0), |sum| number_of(&sum))?;
            step.insert(&queue.sums, key, (sum + more).to_be_bytes());
        }
    }
    Ok(step.commit()?)
}

fn number_of(bytes: &[u8]) -> Result<u64, std::array::TryFromSliceError> {
    Ok(u64::from_be_bytes(bytes.try_into()?))
}
