//! 200,000 restored sessions, of which a quarter has ended; 100,000 requests; 20,000 logouts.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::input::{Draws, share_of};
use crate::{Engine, Outcome};

mod fjall;
#[path = "../../../crates/foldb/examples/sessions.rs"]
mod foldb;
mod redb;
mod sqlite;

pub(crate) fn run(engine: Engine, path: &Path, share: f64) -> Outcome {
    let now = SystemTime::now();
    let ends = [now - Duration::from_secs(60), now + Duration::from_secs(3600)];
    let sessions = share_of(200_000, share);
    let restored = (0..sessions)
        .map(move |number| (token(number), number as u32, ends[usize::from(number % 4 != 0)]));
    let mut draws = Draws::new(5);
    let requests = (0..sessions / 2).map(move |_| token(draws.below(sessions)));
    let logouts = (0..sessions).step_by(10).map(token);
    match engine {
        Engine::Foldb => Ok(foldb::sessions(path, restored, requests, logouts)?),
        Engine::Sqlite => sqlite::sessions(path, restored, requests, logouts),
        Engine::Redb => redb::sessions(path, restored, requests, logouts),
        Engine::Fjall => fjall::sessions(path, restored, requests, logouts),
    }
}

/// Returns the token of a session: 32 digits that look random.
fn token(number: u64) -> String {
    let mut draws = Draws::new(number);
    format!("{:016x}{:016x}", draws.next(), draws.next())
}

/// Returns a time as seconds since 1970, as the twins store it.
fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
