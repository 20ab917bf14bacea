//! Measures calls through Tokio beside blocking ones: `cargo run --release -p foldb-tokio --example
//! rates`. An argument sets the calls of each row (100 000).
//!
//! Each figure is the least of five rounds, in microseconds of elapsed time.

use std::time::{Duration, Instant};

use foldb::feed::UpdatesOptions;
use foldb::{Db, Options, Result};
use foldb_tokio::AsyncDb;

const ROUNDS: usize = 5;
const KEYS: u64 = 100_000;

fn key(n: u64) -> Vec<u8> {
    (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % KEYS).to_be_bytes().to_vec()
}

fn fill(db: &Db) -> Result<()> {
    (0..KEYS).try_for_each(|n| db.put(n.to_be_bytes(), [b'v'; 100]))
}

fn show(what: &str, times: impl IntoIterator<Item = Duration>, calls: u64) {
    let least = times.into_iter().min().unwrap_or_default();
    println!("{what:<48} {:>9.3} us", least.as_secs_f64() * 1e6 / calls as f64);
}

/// Runs `work` some times and shows the least time for each call.
async fn measure(what: &str, calls: u64, work: impl AsyncFn() -> Result<()>) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        work().await?;
        times.push(begin.elapsed());
    }
    show(what, times, calls);
    Ok(())
}

/// Measures the time from a write to its follower.
async fn measure_updates(db: &AsyncDb) -> Result<()> {
    const WRITES: u64 = 2000;
    let position = db.run(Db::position).await?;
    let all = UpdatesOptions { include_unsynced: true };
    let mut updates = db.updates_since(position, all).await?;
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        for _ in 0..WRITES {
            db.db().put("followed", "")?;
            updates.next().await?;
        }
        times.push(begin.elapsed());
    }
    show("a blocking put, until a stream has it", times, WRITES);
    Ok(())
}

async fn measure_in(db: &AsyncDb, calls: u64) -> Result<()> {
    measure("get, blocking", calls, async || {
        (0..calls).try_for_each(|n| db.db().get(key(n)).map(|_| ()))
    })
    .await?;
    measure("spawn_blocking of nothing", calls, async || {
        for _ in 0..calls {
            tokio::task::spawn_blocking(|| ()).await.expect("no panic");
        }
        Ok(())
    })
    .await?;
    measure("get, one at a time", calls, async || {
        for n in 0..calls {
            db.get(key(n)).await?;
        }
        Ok(())
    })
    .await?;
    measure("get, 100 tasks", calls, async || {
        let tasks: Vec<_> = (0..100u64)
            .map(|task| {
                let db = db.clone();
                tokio::spawn(async move {
                    for n in 0..calls / 100 {
                        db.get(key(task * calls + n)).await?;
                    }
                    Ok::<(), foldb::Error>(())
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("no panic")?;
        }
        Ok(())
    })
    .await?;
    measure("multi_get of 100 keys, for each key", calls, async || {
        for first in (0..calls).step_by(100) {
            db.multi_get((first..first + 100).map(key).collect()).await?;
        }
        Ok(())
    })
    .await?;
    measure("an entry of a scan, blocking", KEYS, async || {
        db.db().iter()?.try_for_each(|entry| entry.map(|_| ()))
    })
    .await?;
    measure("an entry of a scan, stream", KEYS, async || {
        let mut entries = db.range(..);
        while let Some(entry) = entries.next().await {
            entry?;
        }
        Ok(())
    })
    .await?;
    measure_updates(db).await
}

#[tokio::main]
async fn main() -> Result<()> {
    let calls = std::env::args().nth(1).map_or(100_000, |it| it.parse().expect("a number"));
    let directory = std::env::temp_dir().join(format!("foldb-tokio-rates-{}", std::process::id()));
    let options =
        Options { create_if_missing: true, wal_retention_bytes: 1 << 30, ..Options::default() };
    let db = AsyncDb::open(&directory, options).await?;
    db.run(fill).await?;
    let measured = measure_in(&db, calls).await;
    db.close().await?;
    Db::destroy(&directory, &Options::default())?;
    measured
}
