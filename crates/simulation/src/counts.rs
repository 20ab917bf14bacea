//! Counts the events that a run must cause.

use std::sync::atomic::{AtomicU64, Ordering};

use foldb::events::{Event, EventListener};

macro_rules! counted {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The events counted. A long run in which one of them never happened tested less than it
        /// claims.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Counted {
            $($(#[$doc])* $name,)*
        }

        impl Counted {
            /// All events.
            pub const ALL: [Counted; [$(Counted::$name),*].len()] = [$(Counted::$name),*];
        }
    };
}

counted! {
    /// Calls of clients.
    Operation,
    /// Writes of clients.
    Write,
    /// Writes that gave up at their deadline.
    Busy,
    /// Reads at a snapshot that was held.
    SnapshotRead,
    /// Walks of an iterator.
    Walk,
    /// Writes to a keyspace whose entries expire.
    ExpiringWrite,
    /// Range deletes, those of batches and transactions too.
    RangeDelete,
    /// Merges with another operator than that of the keyspace.
    OtherOperator,
    /// Writes to another keyspace than the default one.
    OtherKeyspace,
    /// Serializable transactions that committed a write.
    Commit,
    /// Transactions under snapshot isolation that committed a write.
    SnapshotCommit,
    /// Commits that met a conflict.
    Conflict,
    /// Conditional writes that wrote.
    Conditional,
    /// Sorted loads.
    Load,
    /// Entries of the change feed.
    Followed,
    /// Moves of the time of day.
    ClockMove,
    /// Resets of a time that was ahead.
    Reset,
    /// Checkpoints that were compared.
    Checkpoint,
    /// Backups that were restored and compared.
    Backup,
    /// Dumps that were restored and compared.
    Dump,
    /// Read-only opens beside the writer that were compared.
    ReadOnlyOpen,
    /// Lives over files that only grow.
    AppendOnly,
    /// Lives with a key order of the program.
    OwnOrder,
    /// Lives with a small memory budget.
    Budget,
    /// Lives that ended with values in segments.
    Separated,
    /// Stops that left the files as a killed process does.
    Kill,
    /// Stops that left the files as a power cut does.
    PowerCut,
    /// Lives that ended by a clean close.
    Close,
    /// Opens that a stop interrupted.
    OpenCut,
    /// Opens whose logs held more than their memory.
    LongRecovery,
    /// Opens that left out a torn tail.
    TailDropped,
    /// Acknowledged writes that a stop lost because they were not synced.
    LostWrite,
    /// Flushes.
    Flush,
    /// Compactions.
    Compaction,
    /// Garbage collections of value segments.
    GarbageCollection,
    /// Logs that became segments.
    AdoptedLog,
    /// Writes that waited.
    Stall,
    /// Calls of the disk that failed.
    FailedCall,
    /// Failed syncs of files; `FailedCall` counts them too.
    FailedSync,
    /// Closed databases that were damaged.
    Damage,
    /// Repairs after a stop.
    Repair,
    /// Repairs without the manifest.
    Rebuild,
    /// Damages that an open, a read or a verification noticed.
    DamageNoticed,
}

/// The counts of one run.
#[derive(Debug)]
pub struct Counts([AtomicU64; Counted::ALL.len()]);

impl Default for Counts {
    fn default() -> Counts {
        Counts([const { AtomicU64::new(0) }; Counted::ALL.len()])
    }
}

impl Counts {
    /// Counts one.
    pub fn add(&self, counted: Counted) {
        self.add_many(counted, 1);
    }

    /// Counts several.
    pub fn add_many(&self, counted: Counted, count: u64) {
        self.0[counted as usize].fetch_add(count, Ordering::Relaxed);
    }

    /// Returns the count of an event.
    pub fn get(&self, counted: Counted) -> u64 {
        self.0[counted as usize].load(Ordering::Relaxed)
    }
}

impl EventListener for Counts {
    fn on_event(&self, event: &Event) {
        match event {
            Event::Flush { bytes_adopted, .. } => {
                self.add(Counted::Flush);
                if *bytes_adopted > 0 {
                    self.add(Counted::AdoptedLog);
                }
            }
            Event::Compaction { .. } => self.add(Counted::Compaction),
            Event::GarbageCollection { .. } => self.add(Counted::GarbageCollection),
            Event::Stall { .. } => self.add(Counted::Stall),
            Event::TailDropped(_) => self.add(Counted::TailDropped),
            _ => {}
        }
    }
}
