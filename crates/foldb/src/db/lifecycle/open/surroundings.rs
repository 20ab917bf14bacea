//! The parts that every kind of open needs: a runtime, and a guard for comparators of the program.

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::options::Options;
use crate::runtime::Runtime;
use crate::user_code::guarded;

/// Runs work that passes stored keys to the program's comparators, which may panic.
///
/// # Errors
/// `ComparatorFailed` if a comparator panics; the errors of the work.
pub(crate) fn with_comparators<T>(
    options: &Options,
    doing: &str,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let default = options.default.comparator();
    let all = std::iter::once(&default).chain(&options.comparators);
    let custom: Vec<&str> = all.filter(|own| !own.bytewise_order()).map(|own| own.name()).collect();
    if custom.is_empty() {
        return work();
    }
    guarded(work).unwrap_or_else(|panic| {
        Err(Error::new(
            ErrorKind::ComparatorFailed,
            format!(
                "{doing} panicked ({panic}): a comparator ('{}') panics on stored keys, or is not \
                 a total order of them; give one that is",
                custom.join("', '")
            ),
        ))
    })
}

/// Returns the runtime of the options, or a new one for this database.
pub(crate) fn runtime_of(options: &Options) -> Runtime {
    match &options.runtime {
        Some(shared) => shared.clone(),
        None => Runtime::with_shares(options.memory_shares(), Arc::clone(&options.env.threads)),
    }
}
