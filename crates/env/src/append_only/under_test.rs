//! A switch for test programs: `FOLDB_TEST_FS=append-only` puts the files of every
//! [`Env`](crate::Env) that this crate makes behind the adapter.
//!
//! Invariant: builds without debug assertions ignore the variable.

use std::sync::Arc;

use crate::fs::FileSystem;

/// Returns whether this process runs its tests over files that only grow.
#[cfg(debug_assertions)]
pub fn is_switched_on() -> bool {
    use std::sync::OnceLock;
    static IS_ON: OnceLock<bool> = OnceLock::new();
    *IS_ON.get_or_init(|| match std::env::var_os("FOLDB_TEST_FS") {
        None => false,
        Some(asked) if asked == "append-only" => true,
        Some(asked) => panic!("FOLDB_TEST_FS is {asked:?}: expected append-only"),
    })
}

/// Returns whether this process runs its tests over files that only grow: never in this build.
#[cfg(not(debug_assertions))]
pub fn is_switched_on() -> bool {
    false
}

/// Returns the same files, behind the adapter if the switch is on.
pub fn switched(fs: Arc<dyn FileSystem>) -> Arc<dyn FileSystem> {
    match is_switched_on() {
        true => Arc::new(super::AppendOnlyFs::new(Arc::new(super::RestrictedFs::new(fs)))),
        false => fs,
    }
}
