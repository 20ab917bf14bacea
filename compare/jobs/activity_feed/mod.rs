//! A million events of 50,000 users, and a follower that looks ten times.

use std::path::Path;

use crate::input::{Draws, share_of};
use crate::{Engine, Outcome};

mod fjall;
#[path = "../../../crates/typed/examples/activity_feed.rs"]
mod foldb;
mod redb;
mod sqlite;

pub(crate) fn run(engine: Engine, path: &Path, share: f64) -> Outcome {
    let mut draws = Draws::new(2);
    let events = share_of(1_000_000, share);
    let look = (events / 10).max(1) as usize;
    let events = (0..events).map(move |number| {
        let user = draws.skewed(50_000) as u32;
        (user, format!("{user} likes picture {number}"))
    });
    let shown = [0, 1, 10, 100, 1000, 10_000, 49_999];
    match engine {
        Engine::Foldb => Ok(foldb::activity_feed(path, events, look, &shown)?),
        Engine::Sqlite => sqlite::activity_feed(path, events, look, &shown),
        Engine::Redb => redb::activity_feed(path, events, look, &shown),
        Engine::Fjall => fjall::activity_feed(path, events, look, &shown),
    }
}
