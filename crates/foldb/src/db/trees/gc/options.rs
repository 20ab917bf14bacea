//! Options of a garbage collection on demand.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Receives the progress of a garbage collection.
pub type OnGcProgress = dyn Fn(&GcProgress) + Send + Sync;

/// Options of a garbage collection, for `db.with(&options).collect_garbage()`.
#[derive(Clone)]
pub struct GcOptions {
    /// Largest fraction of the bytes in value segments that may still be dead at the end. Default:
    /// 0.05. A larger fraction means less rewriting, a smaller one reclaims more space. At 0, every
    /// known dead value is reclaimed.
    pub max_dead_fraction: f64,
    /// Bytes of memory that the collection may take, at least 64 KiB. Default: 64 MiB. With
    /// more memory, the collection makes larger reads and writes.
    pub memory_budget: Option<usize>,
    /// Whether to flush the memtables first, and then compact a tree if it is small compared with
    /// its values. Only a compaction finds the values that newer writes have replaced. Default:
    /// true. With false, less is rewritten, and values that no compaction has found dead stay.
    pub compact_first: bool,
    /// Receives the progress on the thread that collects. It must not collect garbage itself.
    /// Default: none.
    pub progress: Option<Arc<OnGcProgress>>,
    /// Cancels the collection soon after a thread sets it to true. A running compaction first ends
    /// its slice. Finished steps stay in effect. Default: none.
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

/// The progress of a garbage collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct GcProgress {
    /// Bytes of values read so far.
    pub bytes_read: u64,
    /// Bytes of segment files reclaimed so far.
    pub bytes_reclaimed: u64,
    /// Bytes that are known to be dead and not yet reclaimed.
    pub bytes_dead: u64,
}
