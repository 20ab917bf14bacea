//! The merge operators of Kafka Streams stores.
//!
//! Operands and values have the layout of Kafka's timestamped stores:
//!
//! ```text
//! | timestamp i64 BE, milliseconds | serialized value |
//! ```
//!
//! The result has the greatest timestamp, and the operation combines the rest. The bytes of a
//! result are therefore exactly those that Streams would have put.

mod number;
mod stamped;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use foldb::operators::MergeOperator;
use foldb::{Error, Result};

/// The bytes of the timestamp before each value.
const STAMP: usize = 8;

/// The engine's names of store operators begin with this; the configured name follows.
const PREFIX: &str = "streams.";

/// Returns all store operators, for the open of a database. The engine knows the operator `NAME` as
/// `streams.NAME`.
pub fn all() -> Vec<Arc<dyn MergeOperator>> {
    let mut operators = vec![number::sum(), number::min(), number::max()];
    operators.extend(stamped::over_builtin("streams.append", "append"));
    operators.extend(stamped::over_builtin("streams.set", "set"));
    operators.extend(stamped::over_builtin("streams.hyperloglog", "hyperloglog"));
    operators
}

/// Returns the store operator of a name.
///
/// # Errors
/// `InvalidArgument` for an unknown name. The message lists the known ones.
pub fn named(name: &str) -> Result<Arc<dyn MergeOperator>> {
    let known = all();
    let is_named =
        |known: &&Arc<dyn MergeOperator>| known.name().strip_prefix(PREFIX) == Some(name);
    if let Some(operator) = known.iter().find(is_named) {
        return Ok(Arc::clone(operator));
    }
    let names = known.iter().filter_map(|operator| operator.name().strip_prefix(PREFIX));
    Err(Error::invalid_argument(format!(
        "unknown merge operator '{name}': expected one of {}",
        names.collect::<Vec<_>>().join(", ")
    )))
}

/// Splits an operand or value into its timestamp and the serialized value. Returns `None` if the
/// bytes are too short for a timestamp.
#[inline]
fn split(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (stamp, payload) = bytes.split_first_chunk::<STAMP>()?;
    Some((i64::from_be_bytes(*stamp), payload))
}
