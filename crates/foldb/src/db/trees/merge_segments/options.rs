//! How a merge that somebody asks for is to be done.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Is told how far a merge is.
pub type OnMergeProgress = dyn Fn(&MergeProgress) + Send + Sync;

/// How value segments are merged on demand.
#[derive(Clone)]
pub struct MergeOptions {
    /// Most bytes of value segments that may be dead when it is done, as a fraction. Default: 0.05.
    /// 0: none that is known to be.
    pub max_dead_fraction: f64,
    /// Bytes that it may take in memory. Default: [`crate::Options::merge_memory_budget`]. It takes
    /// 64 KiB in any case.
    pub memory_budget: Option<usize>,
    /// Whether the tree is compacted first where values that nobody reads any more are not known as
    /// dead yet, and the tree is small beside its values. Default: true.
    pub compact_first: bool,
    /// Called as values are moved, on the thread that merges; it must not merge segments itself.
    /// Default: nobody is told.
    pub progress: Option<Arc<OnMergeProgress>>,
    /// Set to true from any thread, the merge ends soon, within a slice while it compacts; what was
    /// done until then stands.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Default for MergeOptions {
    fn default() -> MergeOptions {
        MergeOptions {
            max_dead_fraction: 0.05,
            memory_budget: None,
            compact_first: true,
            progress: None,
            cancel: None,
        }
    }
}

impl fmt::Debug for MergeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MergeOptions")
            .field("max_dead_fraction", &self.max_dead_fraction)
            .field("memory_budget", &self.memory_budget)
            .field("compact_first", &self.compact_first)
            .finish_non_exhaustive()
    }
}

/// How far a merge is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergeProgress {
    /// Bytes of values read so far.
    pub bytes_read: u64,
    /// Bytes of segment files given back so far.
    pub bytes_reclaimed: u64,
    /// Bytes that are known to be dead and still there.
    pub bytes_dead: u64,
}
