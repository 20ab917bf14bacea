//! 100,000 jobs of four priorities, done by four workers. One in fifty can never succeed, and one
//! in twenty fails once.

use std::path::Path;

use crate::input::{Draws, share_of};
use crate::{Engine, Outcome};

mod fjall;
#[path = "../../../crates/queue/examples/four_workers.rs"]
mod foldb;
mod redb;
mod sqlite;

pub(crate) fn run(engine: Engine, path: &Path, share: f64) -> Outcome {
    let mut draws = Draws::new(4);
    let jobs = (0..share_of(100_000, share)).map(move |number| {
        let amount = if number % 50 == 7 { 0 } else { 1 + draws.below(500) };
        let later = if number % 20 == 3 { " later" } else { "" };
        (draws.below(4) as i32, format!("{} {amount}{later}", draws.below(100)))
    });
    match engine {
        Engine::Foldb => Ok(foldb::four_workers(path, jobs)?),
        Engine::Sqlite => sqlite::four_workers(path, jobs),
        Engine::Redb => redb::four_workers(path, jobs),
        Engine::Fjall => fjall::four_workers(path, jobs),
    }
}

/// Returns the account, the amount, and whether the job fails once: the same for each twin.
fn parse(body: &str) -> (&str, u64, bool) {
    let mut words = body.split(' ');
    let account = words.next().unwrap_or_default();
    let amount = words.next().and_then(|amount| amount.parse().ok()).unwrap_or(0);
    (account, amount, words.next() == Some("later"))
}

/// Returns the milliseconds since 1970.
fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as u64)
}
