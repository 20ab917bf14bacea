//! What every kind of open needs around it: a runtime, and a guard for the caller's comparators.

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::options::Options;
use crate::runtime::Runtime;
use crate::user_code::guarded;

/// Does what shows stored keys to comparators of the caller's, which may panic over them.
///
/// # Errors
/// `ComparatorFailed`, and those of the work.
pub(crate) fn with_comparators<T>(
    options: &Options,
    doing: &str,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let all = std::iter::once(&options.comparator).chain(&options.comparators);
    let custom: Vec<&str> = all.filter(|own| !own.bytewise_order()).map(|own| own.name()).collect();
    if custom.is_empty() {
        return work();
    }
    guarded(work).unwrap_or_else(|panic| {
        Err(Error::new(
            ErrorKind::ComparatorFailed,
            format!(
                "{doing} panicked ({panic}): a comparator ('{}') panics over stored keys, or is no \
                 total order of them; give one that is",
                custom.join("', '")
            ),
        ))
    })
}

/// The runtime that the caller gave, or one of the database's own.
pub(crate) fn runtime_of(options: &Options) -> Runtime {
    match &options.runtime {
        Some(shared) => shared.clone(),
        None => Runtime::with_shares(options.memory_shares(), Arc::clone(&options.env.threads)),
    }
}
