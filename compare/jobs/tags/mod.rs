//! 400,000 changes of the tags of 100,000 photos, with 200 tags; then tags of photos, and photos
//! that have two tags.

use std::path::Path;

use crate::input::{Draws, share_of};
use crate::{Engine, Outcome};

mod fjall;
#[path = "../../../crates/typed/examples/tags.rs"]
mod foldb;
mod redb;
mod sqlite;

pub(crate) fn run(engine: Engine, path: &Path, share: f64) -> Outcome {
    let mut draws = Draws::new(6);
    let photos = share_of(100_000, share);
    let changes = (0..4 * photos).map(move |_| {
        (draws.below(photos), format!("tag {}", draws.skewed(200)), draws.below(5) > 0)
    });
    let shown: Vec<u64> = (0..photos).step_by((photos / 20).max(1) as usize).collect();
    let pairs: Vec<_> =
        (0..50).map(|pair| (format!("tag {pair}"), format!("tag {}", 2 * pair + 1))).collect();
    match engine {
        Engine::Foldb => Ok(foldb::tags(path, changes, &shown, &pairs)?),
        Engine::Sqlite => sqlite::tags(path, changes, &shown, &pairs),
        Engine::Redb => redb::tags(path, changes, &shown, &pairs),
        Engine::Fjall => fjall::tags(path, changes, &shown, &pairs),
    }
}
