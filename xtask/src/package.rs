//! `cargo xtask package`: checks that each published package compiles alone.

use crate::arguments::Passed;
use crate::step::Step;

/// The published crates, each after its dependencies. The other crates measure, simulate and check
/// the published ones, and stay in the repository.
pub(crate) const PUBLISHED: [&str; 11] = [
    "foldb-env",
    "foldb-chains",
    "foldb",
    "foldb-typed-derive",
    "foldb-typed",
    "foldb-queue",
    "foldb-tokio",
    "foldb-leveldb-format",
    "foldb-rocksdb-format",
    "foldb-report",
    "foldb-cli",
];

pub(crate) fn step(passed: Passed) -> Step {
    let crates = PUBLISHED.iter().flat_map(|name| ["-p", *name]);
    Step::new("cargo package").with(crates).with(passed.arguments)
}
