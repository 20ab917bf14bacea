//! 100,000 orders of 10,000 customers, from a stock of 1,000 items.

use std::path::Path;

use crate::input::{Draws, share_of};
use crate::{Engine, Outcome};

mod fjall;
#[path = "../../../crates/typed/examples/orders.rs"]
mod foldb;
mod redb;
mod sqlite;

pub(crate) fn run(engine: Engine, path: &Path, share: f64) -> Outcome {
    let mut draws = Draws::new(3);
    let stock = (0..1000).map(|item| (format!("item {item}"), 1000));
    let orders = (0..share_of(100_000, share)).map(move |_| {
        let (customer, day) = (draws.skewed(10_000) as u32, draws.below(365) as u32);
        (customer, day, format!("item {}", draws.skewed(1000)), 1 + draws.below(5))
    });
    let customers = [0, 1, 10, 100, 1000, 9999];
    match engine {
        Engine::Foldb => Ok(foldb::orders(path, stock, orders, &customers)?),
        Engine::Sqlite => sqlite::orders(path, stock, orders, &customers),
        Engine::Redb => redb::orders(path, stock, orders, &customers),
        Engine::Fjall => fjall::orders(path, stock, orders, &customers),
    }
}
