//! Code that the stress test and the simulation share: seeds, settings, operators.
//!
//! Invariant: every result is a function of a seed and the arguments.

#![forbid(unsafe_code)]

pub mod operators;
pub mod own_code;
mod settings;

pub use foldb_model::Operator;
pub use settings::{at_the_edges, small_options};

use xxhash_rust::xxh3::xxh3_64;

/// Returns a random number generator for one purpose of one seed.
pub fn draws(seed: u64, purpose: &str, numbers: &[u64]) -> fastrand::Rng {
    let mut bytes = seed.to_le_bytes().to_vec();
    bytes.extend_from_slice(purpose.as_bytes());
    bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    fastrand::Rng::with_seed(xxh3_64(&bytes))
}
