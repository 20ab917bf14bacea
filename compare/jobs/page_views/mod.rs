//! A million views of 2,000 pages in a week, by 200,000 visitors.

use std::path::Path;

use crate::input::{Draws, share_of};
use crate::{Engine, Outcome};

mod fjall;
#[path = "../../../crates/typed/examples/page_views.rs"]
mod foldb;
mod redb;
mod sqlite;

pub(crate) fn run(engine: Engine, path: &Path, share: f64) -> Outcome {
    let mut draws = Draws::new(1);
    let views = (0..share_of(1_000_000, share)).map(move |_| {
        let page = format!("/articles/{}", draws.skewed(2000));
        (page, draws.below(168) as u32, draws.skewed(200_000))
    });
    match engine {
        Engine::Foldb => Ok(foldb::page_views(path, views)?),
        Engine::Sqlite => sqlite::page_views(path, views),
        Engine::Redb => redb::page_views(path, views),
        Engine::Fjall => fjall::page_views(path, views),
    }
}
