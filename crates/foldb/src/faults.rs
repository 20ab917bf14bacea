//! Planted faults: bugs that a test switches on to prove that some test would notice them.
//!
//! They exist in builds with debug assertions only; elsewhere `planted` is a constant `false` and
//! the branches vanish. A fault is planted for one thread, so a test that runs background work
//! on its own thread sees it everywhere and its neighbours see nothing. A program of its own plants
//! it for all threads.

/// A bug the engine could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The walk down a chain stops one record early.
    StopChainEarly,
    /// A flush or compaction folds across a snapshot.
    FoldAcrossSnapshot,
    /// The part of an input that a slice used up stays visible.
    KeepUsedUpSlice,
    /// A table moves past an older run.
    MovePastOlderRun,
    /// A record that was flushed is replayed from the log.
    ReplayFlushed,
    /// A compaction drops a tombstone above the last level.
    DropTombstoneEarly,
    /// The directory is not synced after files were created in it.
    SkipDirSync,
    /// A write is published before it is applied.
    PublishBeforeApply,
    /// A write panics when it is in the log and not in the memtable.
    PanicBehindLog,
    /// Operands are folded newest first.
    WrongOperandOrder,
    /// The last record of a log is not replayed.
    LoseLastLogRecord,
    /// A range tombstone deletes by where it lies, not by its sequence number.
    RangeDeleteByLevel,
    /// A table whose filter rejects a key is not asked for its range tombstones.
    RangeDeleteBehindFilter,
    /// A range tombstone that spans two output tables is written to the first alone.
    RangeDeleteCutShort,
    /// A flush or compaction folds operands across a range tombstone.
    FoldAcrossRangeDelete,
    /// A compaction drops a range tombstone while older tables lie below.
    DropRangeDeleteEarly,
    /// Operands are folded by the operator of the oldest of them, whatever theirs is.
    WrongOperator,
    /// A record changes in place under a snapshot.
    FoldInPlaceUnderSnapshot,
    /// A flush shows no snapshot its part of what the memtable folded.
    FlushFoldedWhole,
    /// A segment merge forgets what one of the tables refers to.
    MergeDropsLiveValue,
    /// A flush makes a segment of a log without asking how much of it is dead.
    AdoptUnexamined,
    /// A log that became a segment goes when nobody needs the log.
    UnlinkAdoptedLog,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 21] = [
        Fault::StopChainEarly,
        Fault::FoldAcrossSnapshot,
        Fault::KeepUsedUpSlice,
        Fault::MovePastOlderRun,
        Fault::ReplayFlushed,
        Fault::DropTombstoneEarly,
        Fault::SkipDirSync,
        Fault::PublishBeforeApply,
        Fault::WrongOperandOrder,
        Fault::LoseLastLogRecord,
        Fault::RangeDeleteByLevel,
        Fault::RangeDeleteBehindFilter,
        Fault::RangeDeleteCutShort,
        Fault::FoldAcrossRangeDelete,
        Fault::DropRangeDeleteEarly,
        Fault::WrongOperator,
        Fault::FoldInPlaceUnderSnapshot,
        Fault::FlushFoldedWhole,
        Fault::MergeDropsLiveValue,
        Fault::AdoptUnexamined,
        Fault::UnlinkAdoptedLog,
    ];

    /// The fault of a name, as [`std::fmt::Debug`] writes it.
    pub fn from_name(name: &str) -> Option<Fault> {
        Fault::ALL.into_iter().find(|fault| format!("{fault:?}") == name)
    }
}

#[cfg(debug_assertions)]
mod planting {
    use std::cell::Cell;
    use std::sync::OnceLock;

    use super::Fault;

    thread_local! {
        static PLANTED: Cell<Option<Fault>> = const { Cell::new(None) };
    }

    static PLANTED_EVERYWHERE: OnceLock<Fault> = OnceLock::new();

    /// Plants a fault in everything this process does from now on. Whether it is the first one.
    pub fn plant_everywhere(fault: Fault) -> bool {
        PLANTED_EVERYWHERE.set(fault).is_ok()
    }

    /// Plants a fault in everything this thread does from now on; `None` takes it out.
    pub fn plant(fault: Option<Fault>) {
        PLANTED.set(fault);
    }

    #[inline]
    pub(crate) fn planted(fault: Fault) -> bool {
        PLANTED.get() == Some(fault) || PLANTED_EVERYWHERE.get() == Some(&fault)
    }
}

#[cfg(not(debug_assertions))]
mod planting {
    #[inline(always)]
    pub(crate) fn planted(_fault: super::Fault) -> bool {
        false
    }
}

pub(crate) use planting::planted;
#[cfg(debug_assertions)]
pub use planting::{plant, plant_everywhere};
