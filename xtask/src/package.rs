//! `cargo xtask package`: what users get of each crate compiles by itself.

use crate::arguments::Passed;
use crate::step::Step;

/// The crates that are published, each behind those that it needs. The others measure, simulate and
/// check these, and stay in the repository.
pub const PUBLISHED: [&str; 4] = ["foldb-env", "foldb-chains", "foldb", "foldb-cli"];

pub fn step(passed: Passed) -> Step {
    let crates = PUBLISHED.iter().flat_map(|name| ["-p", *name]);
    Step::new("cargo package").with(crates).with(passed.arguments)
}
