//! Counts the events that a run must cause.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use foldb::events::{Event, EventListener};

/// The events counted. A run in which one of them never happened fails: it tested less than it
/// claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Counted {
    Write,
    Batch,
    RangeDelete,
    SyncedWrite,
    Add,
    Max,
    Min,
    Append,
    Put,
    OwnAppend,
    WholeAppend,
    Replace,
    Flush,
    Compaction,
    GarbageCollection,
    AdoptedLog,
    Stall,
    SnapshotCheck,
    IteratorCheck,
    CheckpointCheck,
    ReadOnlyCheck,
    Verify,
    FailedWrite,
    FailedCall,
    FailedOpen,
    Hang,
    Mistake,
    Close,
    CloseInListener,
    Rivals,
    InterruptedWriteKept,
    Transaction,
    Conditional,
    RelativePath,
    LinkedPath,
    ChangedDirectory,
    Fork,
    Orphan,
    FewHandles,
    MovedAway,
    ClockJump,
    Signals,
    Visit,
    BackupCheck,
}

impl Counted {
    pub(crate) const ALL: [Counted; 44] = [
        Counted::Write,
        Counted::Batch,
        Counted::RangeDelete,
        Counted::SyncedWrite,
        Counted::Add,
        Counted::Max,
        Counted::Min,
        Counted::Append,
        Counted::Put,
        Counted::OwnAppend,
        Counted::WholeAppend,
        Counted::Replace,
        Counted::Flush,
        Counted::Compaction,
        Counted::GarbageCollection,
        Counted::AdoptedLog,
        Counted::Stall,
        Counted::SnapshotCheck,
        Counted::IteratorCheck,
        Counted::CheckpointCheck,
        Counted::ReadOnlyCheck,
        Counted::Verify,
        Counted::FailedWrite,
        Counted::FailedCall,
        Counted::FailedOpen,
        Counted::Hang,
        Counted::Mistake,
        Counted::Close,
        Counted::CloseInListener,
        Counted::Rivals,
        Counted::InterruptedWriteKept,
        Counted::Transaction,
        Counted::Conditional,
        Counted::RelativePath,
        Counted::LinkedPath,
        Counted::ChangedDirectory,
        Counted::Fork,
        Counted::Orphan,
        Counted::FewHandles,
        Counted::MovedAway,
        Counted::ClockJump,
        Counted::Signals,
        Counted::Visit,
        Counted::BackupCheck,
    ];

    pub(crate) fn name(self) -> String {
        format!("{self:?}")
    }
}

/// The counts of one worker.
#[derive(Debug)]
pub(crate) struct Counts([AtomicU64; Counted::ALL.len()]);

impl Default for Counts {
    fn default() -> Counts {
        Counts([const { AtomicU64::new(0) }; Counted::ALL.len()])
    }
}

impl Counts {
    pub(crate) fn add(&self, counted: Counted) {
        self.0[counted as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn get(&self, counted: Counted) -> u64 {
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
            _ => {}
        }
    }
}

/// The counts of a whole run, by name.
pub(crate) type Totals = BTreeMap<String, u64>;
