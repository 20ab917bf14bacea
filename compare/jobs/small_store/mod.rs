//! The settings of a small tool: 200 runs, each of which opens the store, reads a setting, changes
//! another durably, and ends.

use std::path::Path;

use crate::input::share_of;
use crate::{Engine, Outcome};

mod fjall;
#[path = "../../../crates/foldb/examples/small_store.rs"]
mod foldb;
mod redb;
mod sqlite;

pub(crate) fn run(engine: Engine, path: &Path, share: f64) -> Outcome {
    let mut report = Vec::new();
    for run in 0..share_of(200, share) {
        let (read, changed) = (format!("setting {}", run % 7), format!("setting {}", run % 10));
        let value = format!("set by run {run}");
        let change = (&*changed, &*value);
        report.push(match engine {
            Engine::Foldb => foldb::small_store(path, &read, change)?,
            Engine::Sqlite => sqlite::small_store(path, &read, change)?,
            Engine::Redb => redb::small_store(path, &read, change)?,
            Engine::Fjall => fjall::small_store(path, &read, change)?,
        });
    }
    Ok(report)
}
