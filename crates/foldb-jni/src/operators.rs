//! The merge operators of stores, by name. A store operator folds Kafka's bytes: 8 bytes of
//! timestamp, then the serialized value.

use std::sync::Arc;

use foldb::{Error, MergeOperator, Result};

/// Returns all store operators, for the open of a database. The engine knows the operator `NAME` as
/// `streams.NAME`.
pub fn all() -> Vec<Arc<dyn MergeOperator>> {
    Vec::new()
}

/// Returns the engine's name of a store operator.
///
/// # Errors
/// `InvalidArgument` for an unknown name. The message lists the known ones.
pub fn engine_name(name: &str) -> Result<String> {
    let wanted = format!("streams.{name}");
    let known = all();
    if known.iter().any(|operator| operator.name() == wanted) {
        return Ok(wanted);
    }
    let names: Vec<&str> =
        known.iter().filter_map(|operator| operator.name().strip_prefix("streams.")).collect();
    Err(Error::invalid_argument(format!(
        "no store operator is called '{name}': expected one of {names:?}"
    )))
}
