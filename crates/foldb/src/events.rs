//! Events: work that the engine did and problems that it met.
//!
//! A database reports to its [`EventListener`]s, and to the process' `tracing` subscriber if there
//! is one. The thread that causes an event reports it afterwards, sometimes while the thread holds
//! locks of the database. A listener that panics cannot harm the database.

use std::cell::RefCell;
use std::fmt::{self, Debug};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::error::Error;
use crate::user_code::{DatabaseMark, Inside, guarded};

/// Something that happened in a database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A flush made tables of level 0 from memtables.
    Flush {
        /// Name of the keyspace.
        keyspace: Arc<str>,
        /// How many memtables were flushed together.
        memtables: usize,
        /// Records in the memtables. Each operand of a key counts.
        records_in: u64,
        /// Records written, after folding.
        records_out: u64,
        /// Bytes of the tables written.
        bytes_written: u64,
        /// Bytes of values that stayed in a log, which became a value segment.
        bytes_adopted: u64,
        /// The tables written, which are not in the tree yet.
        files: Vec<PathBuf>,
        /// The smallest and the largest sequence number in these tables; 0 if there are none.
        seqnos: (u64, u64),
        /// How long the flush took.
        duration: Duration,
    },
    /// A compaction installed a slice.
    Compaction {
        /// Name of the keyspace.
        keyspace: Arc<str>,
        /// Why the compaction runs, for example `tier full`.
        reason: &'static str,
        /// The level to which the slice was written.
        output_level: usize,
        /// Bytes of tables read.
        bytes_read: u64,
        /// Bytes of tables written; 0 for a trivial move.
        bytes_written: u64,
        /// Records read.
        records_in: u64,
        /// Records written, after folding.
        records_out: u64,
        /// The tables that the slice took keys from, each with its level.
        inputs: Vec<(usize, PathBuf)>,
        /// The tables written. None for a trivial move.
        outputs: Vec<PathBuf>,
        /// How long the slice took.
        duration: Duration,
    },
    /// Garbage collection rewrote value segments without their dead values.
    GarbageCollection {
        /// Name of the keyspace.
        keyspace: Arc<str>,
        /// Segment files rewritten into one.
        files: u64,
        /// Bytes of values read.
        bytes_read: u64,
        /// Bytes of the new file.
        bytes_written: u64,
        /// Bytes of the old files minus those of the new one.
        bytes_reclaimed: u64,
        /// How long the garbage collection took.
        duration: Duration,
    },
    /// A write stalled or was slowed because background work is behind.
    Stall {
        /// What the write waited for.
        reason: StallReason,
        /// How long the write waited.
        duration: Duration,
    },
    /// The operands of a key could not be folded. The engine keeps them, and reads of the key fail.
    MergeFailed(FailedMerge),
    /// The operands of a key give different answers in two groupings: their operator breaks its
    /// laws. Builds with debug assertions look at one fold in a thousand, others at none.
    FoldDiffers(DifferingFold),
    /// The open found bytes after the end of the manifest or of a log and dropped them. Such bytes
    /// come from writes that were not synced when the machine lost power.
    TailDropped(DroppedTail),
    /// A compaction met a part of a table that cannot be read, and the engine set the part aside.
    /// Compactions go round its keys, and writes go on. Reads of these keys still fail with
    /// `Corruption`. [`crate::Db::repair`] or a copy of the database mends it.
    TableDamaged {
        /// Name of the keyspace.
        keyspace: Arc<str>,
        /// The table.
        file: PathBuf,
        /// The first of the keys that compactions no longer touch; `None` for the lowest.
        first_key: Option<Vec<u8>>,
        /// The first key after them; `None` if they reach to the highest.
        end_key: Option<Vec<u8>>,
        /// Why the compaction failed.
        error: Error,
    },
    /// The open could not read an archived log, so the change feed begins after that log. Followers
    /// at earlier positions get [`PositionLost`](crate::ErrorKind::PositionLost) and copy the
    /// database anew. The database itself needs no archived log.
    FeedShortened {
        /// Why the log cannot be read. It names the file.
        error: Error,
    },
    /// The machine's time of day jumped.
    ClockJumped(ClockJump),
    /// The disk is full. From now on only deletes, range deletes and drops of keyspaces pass, in
    /// the space of the reserve ([`crate::Options::space_reserve`]). Other writes fail with
    /// [`NoSpace`](crate::ErrorKind::NoSpace).
    DiskFull {
        /// Bytes of the reserve.
        reserve: u64,
    },
    /// The disk has space again, and all writes pass.
    DiskHasSpace,
    /// A step of background work failed. A worker tries it again, unless the database no longer
    /// takes writes.
    BackgroundError {
        /// Why the step failed.
        error: Error,
    },
}

impl Event {
    /// Returns the name of the kind of event, for example `flush`.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Flush { .. } => "flush",
            Event::Compaction { .. } => "compaction",
            Event::GarbageCollection { .. } => "garbage_collection",
            Event::Stall { .. } => "stall",
            Event::MergeFailed(_) => "merge_failed",
            Event::FoldDiffers(_) => "fold_differs",
            Event::TailDropped(_) => "tail_dropped",
            Event::TableDamaged { .. } => "table_damaged",
            Event::FeedShortened { .. } => "feed_shortened",
            Event::ClockJumped(_) => "clock_jumped",
            Event::DiskFull { .. } => "disk_full",
            Event::DiskHasSpace => "disk_has_space",
            Event::BackgroundError { .. } => "background_error",
        }
    }
}

/// One line that describes the event.
///
/// ```
/// use std::time::Duration;
/// use foldb::events::{Event, StallReason};
///
/// let duration = Duration::from_millis(3);
/// let stall = Event::Stall { reason: StallReason::Memtables, duration };
/// assert_eq!(stall.to_string(), "a write waited 3ms: too many memtables wait for their flush");
/// ```
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Flush {
                keyspace,
                memtables,
                records_in,
                records_out,
                bytes_written,
                duration,
                ..
            } => {
                write!(
                    f,
                    "flushed {memtables} memtables of keyspace {keyspace} in {duration:?}: \
                     {records_in} records became {records_out}, {bytes_written} bytes written"
                )
            }
            Event::Compaction {
                keyspace,
                reason,
                output_level,
                bytes_read,
                bytes_written,
                duration,
                ..
            } => {
                write!(
                    f,
                    "compacted to level {output_level} of keyspace {keyspace} in {duration:?} \
                     ({reason}): {bytes_read} bytes read, {bytes_written} bytes written"
                )
            }
            Event::GarbageCollection { keyspace, files, bytes_reclaimed, duration, .. } => write!(
                f,
                "collected garbage in {files} segment files of keyspace {keyspace} in \
                 {duration:?}: {bytes_reclaimed} bytes reclaimed"
            ),
            Event::Stall { reason, duration } => write!(f, "a write waited {duration:?}: {reason}"),
            Event::MergeFailed(FailedMerge { keyspace, key, operator }) => {
                let key = key.escape_ascii();
                write!(f, "operator {operator} rejects key '{key}' of keyspace {keyspace}")
            }
            Event::FoldDiffers(DifferingFold { key, operator, case }) => {
                let (key, case) = (key.escape_ascii(), case.replace("\n ", ";"));
                write!(f, "operator {operator} breaks its laws for key '{key}': {case}")
            }
            Event::TailDropped(DroppedTail { file, offset, bytes, frames, .. }) => write!(
                f,
                "dropped an unsynced tail of {bytes} bytes with {frames} whole frames ({}, offset \
                 {offset})",
                file.display()
            ),
            Event::TableDamaged { keyspace, first_key, end_key, error, .. } => {
                write_damage(f, keyspace, (first_key, end_key), error)
            }
            Event::FeedShortened { error } => {
                write!(
                    f,
                    "the change feed begins after an archived log that cannot be read: {error}"
                )
            }
            Event::ClockJumped(ClockJump { forward, by, ahead }) => {
                let way = if *forward { "forward" } else { "back" };
                write!(f, "the machine's clock jumped {way} by {} s", by.as_secs())?;
                match ahead.as_secs() {
                    0 => Ok(()),
                    ahead => write!(f, ": nothing expires for {ahead} s, unless a reset ends that"),
                }
            }
            Event::DiskFull { reserve } => write!(
                f,
                "the disk is full: only deletes pass until there is space again, in a reserve of \
                 {reserve} bytes"
            ),
            Event::DiskHasSpace => f.write_str("the disk has space again"),
            Event::BackgroundError { error } => write!(f, "background work failed: {error}"),
        }
    }
}

/// Describes a damaged part of a table, from one key up to another.
fn write_damage(
    f: &mut fmt::Formatter<'_>,
    keyspace: &str,
    (first, end): (&Option<Vec<u8>>, &Option<Vec<u8>>),
    error: &Error,
) -> fmt::Result {
    let shown = |key: &Option<Vec<u8>>| {
        key.as_ref().map_or(String::new(), |key| key.escape_ascii().to_string())
    };
    let (first, end) = (shown(first), shown(end));
    write!(
        f,
        "a table of keyspace {keyspace} is damaged: compactions go round the keys from '{first}' \
         up to '{end}' until a repair ({error})"
    )
}

/// Why a write stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StallReason {
    /// Too many memtables wait for their flush.
    Memtables,
    /// Compaction is behind: writes are slowed or stopped.
    CompactionDebt,
    /// The memtables of all databases with the same [`crate::Runtime`] exceed their share of
    /// memory.
    Memory,
}

impl fmt::Display for StallReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StallReason::Memtables => "too many memtables wait for their flush",
            StallReason::CompactionDebt => "compaction is behind",
            StallReason::Memory => "the memtables of all databases exceed their share of memory",
        })
    }
}

/// What an open dropped at the end of a file.
///
/// A log has no end mark: it ends where no whole record follows. The bytes after that come from a
/// write that never finished or was never synced. The open drops such bytes. If a later record says
/// that they were synced, the open fails with [`Corruption`](crate::ErrorKind::Corruption). After a
/// clean close an open drops nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DroppedTail {
    /// The manifest or log.
    pub file: PathBuf,
    /// Where the kept part of the file ends.
    pub offset: u64,
    /// Bytes dropped, up to the last one that is not zero.
    pub bytes: u64,
    /// Whole frames in the dropped bytes.
    pub frames: u64,
    /// Last sequence number that the database kept.
    pub last_seqno: u64,
}

/// A jump of the machine's time of day, by which entries expire: it went more than two seconds
/// further than the monotonic clock, or stayed that much behind it.
///
/// A database with keyspaces that have an expiry looks for jumps in each second in which it is
/// used. The first look of an open compares the clock with the stored time of the database, and
/// finds only clocks that are behind it. On most systems a machine that was suspended has jumped
/// forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockJump {
    /// Whether the clock jumped forward. Entries that have expired by then are gone for readers.
    pub forward: bool,
    /// How far the clock jumped.
    pub by: Duration,
    /// How far the database's time is ahead of the clock after the jump. It does not fall, so
    /// nothing expires for so long, unless [`crate::Db::reset_clock`] resets it.
    pub ahead: Duration,
}

/// A key whose operands cannot be folded, and the operator that rejects them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedMerge {
    /// Name of the keyspace.
    pub keyspace: Arc<str>,
    /// The whole key.
    pub key: Vec<u8>,
    /// The operator, as `NAME` or `NAME:PARAM`.
    pub operator: String,
}

/// A key whose operands give different answers in two groupings.
///
/// [`laws::Check`](crate::operators::laws::Check) finds a smaller case.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DifferingFold {
    /// The whole key.
    pub key: Vec<u8>,
    /// The operator, as `NAME` or `NAME:PARAM`.
    pub operator: String,
    /// The base, the operands, and both answers: three lines.
    pub case: String,
}

/// Receives the events of a database. The engine calls the listener on the thread that caused the
/// event, and that thread waits. Return quickly, and hand long work to another thread.
///
/// A listener may call into its database. Reads, snapshots and iterators work as in other code. A
/// write works while the write buffers have room. A write that would wait for a flush or compaction
/// fails with `Reentrant`. So do calls that wait for background work (`flush`, `compact`,
/// `wait_for_background`, `collect_garbage`, `checkpoint`, `close`), because that work may be
/// waiting for the listener. If a listener drops the last handle, the database closes on another
/// thread soon after.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use std::sync::Arc;
/// use foldb::events::{Event, EventListener};
/// use foldb::{Db, Options};
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
    /// Receives one event.
    fn on_event(&self, event: &Event);
}

thread_local! {
    /// Events of this thread that listeners have not received yet; `None` if no event is held back.
    static HELD_BACK: RefCell<Option<Vec<Event>>> = const { RefCell::new(None) };
}

/// Runs work with locks held that a listener may need, for example the writer lock. Returns the
/// events of the work, which listeners have not received. The caller releases the locks and then
/// tells the events.
pub(crate) fn holding_back<T>(work: impl FnOnce() -> T) -> (T, Vec<Event>) {
    /// Ends the holding back, also if the work panics.
    struct Held;
    impl Drop for Held {
        fn drop(&mut self) {
            hold(None);
        }
    }
    hold(Some(Vec::new()));
    let held = Held;
    let done = work();
    let events = hold(None).unwrap_or_default();
    drop(held);
    (done, events)
}

/// The listeners of a database.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    listeners: Vec<Arc<dyn EventListener>>,
    /// Receives events at once, even while a thread holds events back: the flight recorder.
    observer: Option<Arc<dyn EventListener>>,
}

impl Events {
    pub(crate) fn new(
        listeners: Vec<Arc<dyn EventListener>>,
        observer: Option<Arc<dyn EventListener>>,
    ) -> Events {
        Events { listeners, observer }
    }

    /// Reports an event to `tracing` and to every listener.
    #[cold]
    pub(crate) fn tell(&self, event: &Event) {
        trace(event);
        if let Some(observer) = &self.observer {
            observer.on_event(event);
        }
        if !self.listeners.is_empty() && !hold_back(event) {
            self.tell_listeners(event);
        }
    }

    /// Tells the listeners of events that were held back.
    pub(crate) fn tell_held(&self, events: &[Event]) {
        events.iter().for_each(|event| self.tell_listeners(event));
    }

    fn tell_listeners(&self, event: &Event) {
        let _inside = Inside::enter(self.mark());
        for listener in &self.listeners {
            // A listener that panics must not stop the engine or the other listeners.
            let _panicked = guarded(|| listener.on_event(event));
        }
    }

    /// Returns the mark that identifies this database while it is open.
    pub(crate) fn mark(&self) -> DatabaseMark {
        std::ptr::from_ref(self).addr()
    }
}

/// Replaces the events that this thread holds back. A thread that ends may call the database after
/// this value is gone. It then holds nothing back.
fn hold(events: Option<Vec<Event>>) -> Option<Vec<Event>> {
    HELD_BACK.try_with(|held| held.replace(events)).unwrap_or_default()
}

/// Keeps the event for later if this thread holds events back.
fn hold_back(event: &Event) -> bool {
    let keep = |held: &RefCell<Option<Vec<Event>>>| {
        held.borrow_mut().as_mut().map(|held| held.push(event.clone())).is_some()
    };
    HELD_BACK.try_with(keep).unwrap_or(false)
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
            ..
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
        Event::Compaction {
            keyspace,
            reason,
            output_level,
            bytes_read,
            bytes_written,
            duration,
            ..
        } => {
            tracing::debug!(
                %keyspace,
                reason,
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
        Event::FoldDiffers(DifferingFold { key, operator, case }) => {
            tracing::error!(key = %key.escape_ascii(), operator, case, "fold differs");
        }
        Event::TailDropped(DroppedTail { file, offset, bytes, frames, last_seqno }) => {
            let file = file.display();
            tracing::warn!(%file, offset, bytes, frames, last_seqno, "unsynced tail dropped");
        }
        Event::TableDamaged { keyspace, file, error, .. } => {
            tracing::error!(%keyspace, file = %file.display(), %error, "{event}");
        }
        Event::FeedShortened { error } => tracing::warn!(%error, "change feed shortened"),
        Event::ClockJumped(ClockJump { forward, by, ahead }) => {
            tracing::warn!(forward, ?by, ?ahead, "clock jumped");
        }
        Event::DiskFull { reserve } => tracing::warn!(reserve, "disk full"),
        Event::DiskHasSpace => tracing::info!("disk has space again"),
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
    fn a_panicking_listener_does_not_stop_other_listeners() {
        let collected = Arc::new(Collected::default());
        let events = Events::new(vec![Arc::new(Panics), collected.clone()], None);
        let duration = Duration::from_micros(3);
        events.tell(&Event::Stall { reason: StallReason::Memtables, duration });
        assert_eq!(*collected.0.lock().unwrap(), ["Stall { reason: Memtables, duration: 3µs }"]);
    }
}
