//! How a garbage collection on demand works.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Receives the progress of a garbage collection.
pub type OnGcProgress = dyn Fn(&GcProgress) + Send + Sync;

/// How [`Db::collect_garbage`](crate::Db::collect_garbage) works.
#[derive(Clone)]
pub struct GcOptions {
    /// Most bytes of value segments that may still be dead at the end, as a fraction. Default:
    /// 0.05. More: less is rewritten. Less: more space comes back. 0: no byte that is known to be
    /// dead stays.
    pub max_dead_fraction: f64,
    /// Bytes of memory that the collection may take. Default: [`crate::Options::gc_memory_budget`].
    /// It takes at least 64 KiB.
    pub memory_budget: Option<usize>,
    /// Whether the tree is compacted first. Values that newer writes hide become known as dead only
    /// then. It happens where the tree is small beside its values. Default: true.
    pub compact_first: bool,
    /// Called as values are moved, on the thread that collects; it must not collect garbage itself.
    /// Default: none.
    pub progress: Option<Arc<OnGcProgress>>,
    /// Ends the collection soon once any thread sets it to true; a compaction ends with its slice.
    /// What was done until then stands.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Default for GcOptions {
    fn default() -> GcOptions {
        GcOptions {
            max_dead_fraction: 0.05,
            memory_budget: None,
            compact_first: true,
            progress: None,
            cancel: None,
        }
    }
}

impl fmt::Debug for GcOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GcOptions")
            .field("max_dead_fraction", &self.max_dead_fraction)
            .field("memory_budget", &self.memory_budget)
            .field("compact_first", &self.compact_first)
            .finish_non_exhaustive()
    }
}

/// How far a garbage collection is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GcProgress {
    /// Bytes of values read so far.
    pub bytes_read: u64,
    /// Bytes of segment files given back so far.
    pub bytes_reclaimed: u64,
    /// Bytes that are known to be dead and still there.
    pub bytes_dead: u64,
}
