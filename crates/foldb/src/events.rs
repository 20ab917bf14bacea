//! Events: what the engine did or ran into, told as it happens.
//!
//! A database tells its [`EventListener`]s, and the `tracing` subscriber of the process if there is
//! one. Events come from whatever thread met them, after the fact, some of them
//! while it holds locks of the database. A listener that panics cannot harm the database.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::error::Error;
use crate::user_code::{DatabaseMark, Inside, guarded};

/// Something that happened in a database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// Memtables became tables of level 0.
    Flush {
        /// Name of the keyspace.
        keyspace: Arc<str>,
        /// How many memtables went together.
        memtables: usize,
        /// Records in them, operands of one key counted each.
        records_in: u64,
        /// Records written: folding makes them fewer.
        records_out: u64,
        /// Bytes of the tables written.
        bytes_written: u64,
        /// Bytes of values in logs that became value segments as they are.
        bytes_adopted: u64,
        /// How long it took.
        duration: Duration,
    },
    /// A slice of a compaction was installed.
    Compaction {
        /// Name of the keyspace.
        keyspace: Arc<str>,
        /// The level it wrote to.
        output_level: usize,
        /// Bytes of tables read.
        bytes_read: u64,
        /// Bytes of tables written; 0 where a table was only moved.
        bytes_written: u64,
        /// How long it took.
        duration: Duration,
    },
    /// Value segments were rewritten without their dead values.
    GarbageCollection {
        /// Name of the keyspace.
        keyspace: Arc<str>,
        /// Segment files rewritten, into one.
        files: u64,
        /// Bytes of values read.
        bytes_read: u64,
        /// Bytes of the new file.
        bytes_written: u64,
        /// Bytes of the old files less those of the new one.
        bytes_reclaimed: u64,
        /// How long it took.
        duration: Duration,
    },
    /// A write was held back because background work is behind.
    Stall {
        /// What it waited for.
        reason: StallReason,
        /// How long it waited.
        duration: Duration,
    },
    /// The operands of a key could not be folded. They are kept; reads of the key fail.
    MergeFailed(FailedMerge),
    /// The open found bytes behind the end of the manifest or a log, and left them out: writes that
    /// were not synced when the machine lost its power.
    TailDropped(DroppedTail),
    /// A step of background work failed. It is tried again, unless the database takes no writes
    /// now.
    BackgroundError {
        /// Why.
        error: Error,
    },
}

/// Why a write waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StallReason {
    /// Memtables wait to be flushed: as many as may exist, or so many that writes are slowed.
    Memtables,
    /// Compaction is behind: the write was slowed, or stopped.
    CompactionDebt,
    /// The memtables of all databases with the same [`crate::Runtime`] take more than they may.
    Memory,
}

/// What an open left out at the end of a file.
///
/// A log has no end mark: it ends where no whole record follows. What lies behind is a write that
/// was never finished or never synced, unless a later record says that it was synced, which is
/// [`Corruption`](crate::ErrorKind::Corruption). After a clean close nothing is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DroppedTail {
    /// The manifest or log.
    pub file: PathBuf,
    /// Where what is kept of it ends.
    pub offset: u64,
    /// Bytes left out, up to the last one that is not zero.
    pub bytes: u64,
    /// Whole frames among them.
    pub frames: u64,
    /// Last sequence number of the database that was kept.
    pub last_seqno: u64,
}

/// A key whose operands cannot be folded, and the operator that refuses them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedMerge {
    /// Name of the keyspace.
    pub keyspace: Arc<str>,
    /// The key, whole.
    pub key: Vec<u8>,
    /// The operator, as `NAME` or `NAME:PARAM`.
    pub operator: String,
}

/// Is told of events. Called on the thread that met them, which waits: be brief, and hand what
/// takes long to another thread.
///
/// A listener may call into its database. Reads, snapshots and iterators work as ever. Writes do as
/// long as there is room: one that would have to wait for a flush or compaction answers `Busy`.
/// What waits for background work (`flush`, `compact`, `wait_for_background`, `collect_garbage`,
/// `close`) answers `InvalidArgument`, for that work may be waiting for the listener. Where a
/// listener drops the last handle, the database closes on a thread of its own, soon after.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use std::sync::Arc;
/// use foldb::{Db, Event, EventListener, Options};
///
/// #[derive(Debug, Default)]
/// struct FlushedBytes(AtomicU64);
///
/// impl EventListener for FlushedBytes {
///     fn on_event(&self, event: &Event) {
///         if let Event::Flush { bytes_written, .. } = event {
///             self.0.fetch_add(*bytes_written, Ordering::Relaxed);
///         }
///     }
/// }
///
/// let flushed = Arc::new(FlushedBytes::default());
/// let options = Options {
///     create_if_missing: true,
///     listeners: vec![flushed.clone()],
///     ..Options::default()
/// };
/// let db = Db::open(dir.path().join("db"), options)?;
/// db.put("key", "value")?;
/// db.flush()?;
/// assert!(flushed.0.load(Ordering::Relaxed) > 0);
/// # Ok::<(), foldb::Error>(())
/// ```
pub trait EventListener: Debug + Send + Sync {
    /// Something happened.
    fn on_event(&self, event: &Event);
}

/// Who is told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    listeners: Vec<Arc<dyn EventListener>>,
}

impl Events {
    pub(crate) fn new(listeners: Vec<Arc<dyn EventListener>>) -> Events {
        Events { listeners }
    }

    /// Tells everybody.
    #[cold]
    pub(crate) fn tell(&self, event: &Event) {
        trace(event);
        if self.listeners.is_empty() {
            return;
        }
        let _inside = Inside::enter(self.mark());
        for listener in &self.listeners {
            // What a listener does is not the engine's affair, and neither is how it fails.
            let _panicked = guarded(|| listener.on_event(event));
        }
    }

    /// Tells this database from others while it is open.
    pub(crate) fn mark(&self) -> DatabaseMark {
        std::ptr::from_ref(self).addr()
    }
}

fn trace(event: &Event) {
    match event {
        Event::Flush {
            keyspace,
            memtables,
            records_in,
            records_out,
            bytes_written,
            bytes_adopted,
            duration,
        } => {
            tracing::debug!(
                %keyspace,
                memtables,
                records_in,
                records_out,
                bytes_written,
                bytes_adopted,
                ?duration,
                "flush"
            );
        }
        Event::Compaction { keyspace, output_level, bytes_read, bytes_written, duration } => {
            tracing::debug!(
                %keyspace,
                output_level,
                bytes_read,
                bytes_written,
                ?duration,
                "compaction"
            );
        }
        Event::GarbageCollection {
            keyspace,
            files,
            bytes_read,
            bytes_written,
            bytes_reclaimed,
            duration,
        } => {
            tracing::debug!(
                %keyspace,
                files,
                bytes_read,
                bytes_written,
                bytes_reclaimed,
                ?duration,
                "garbage collection"
            );
        }
        Event::Stall { reason, duration } => tracing::info!(?reason, ?duration, "stall"),
        Event::MergeFailed(FailedMerge { keyspace, key, operator }) => {
            tracing::warn!(%keyspace, key = %key.escape_ascii(), operator, "merge failed");
        }
        Event::TailDropped(DroppedTail { file, offset, bytes, frames, last_seqno }) => {
            let file = file.display();
            tracing::warn!(%file, offset, bytes, frames, last_seqno, "unsynced tail left out");
        }
        Event::BackgroundError { error } => tracing::error!(%error, "background work failed"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Debug, Default)]
    struct Collected(Mutex<Vec<String>>);

    impl EventListener for Collected {
        fn on_event(&self, event: &Event) {
            self.0.lock().unwrap().push(format!("{event:?}"));
        }
    }

    #[derive(Debug)]
    struct Panics;

    impl EventListener for Panics {
        fn on_event(&self, _: &Event) {
            panic!("a listener may panic");
        }
    }

    #[test]
    fn a_listener_that_panics_keeps_nobody_from_being_told() {
        let collected = Arc::new(Collected::default());
        let events = Events::new(vec![Arc::new(Panics), collected.clone()]);
        let duration = Duration::from_micros(3);
        events.tell(&Event::Stall { reason: StallReason::Memtables, duration });
        assert_eq!(*collected.0.lock().unwrap(), ["Stall { reason: Memtables, duration: 3µs }"]);
    }
}
