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
    /// A garbage collection forgets what one of the tables refers to.
    GcDropsLiveValue,
    /// A flush makes a segment of a log without asking how much of it is dead.
    AdoptUnexamined,
    /// A log that became a segment goes when nobody needs the log.
    UnlinkAdoptedLog,
    /// A comparator of the caller's sees samples that were cut to 32 bytes.
    CutSamples,
    /// An operator is asked whether it grows under the writers' lock, and a write that panics
    /// half-way stays in the log.
    AskGrowthLate,
    /// Frames of a write that failed stay in the log.
    KeepFailedFrames,
    /// A key that the comparator cannot compare is written.
    TakeAnyKey,
    /// A synced batch of no operations syncs nothing.
    EmptySyncSyncsNothing,
    /// What a failed open or a refused write created stays in the directory.
    LeaveAttempts,
    /// A merge may make a value longer than values may be.
    NoValueLimit,
    /// A batch may be larger than batches may be.
    NoBatchLimit,
    /// A clean close leaves no record of what manifest and logs hold.
    NoCloseRecord,
    /// An operator's definition that a log failed to take is not written to it again.
    ForgetDefinition,
    /// `CURRENT` is replaced before the names of manifest and log are durable.
    CurrentBeforeNames,
    /// The last handle, dropped in a callback, closes on the worker that the close waits for.
    CloseInCallback,
    /// The search behind a torn tail hashes each frame that a value pretends to be.
    UnboundedTailSearch,
    /// A write pays for all that was written before what is full is flushed.
    PauseBeforeSeal,
    /// A level 0 that stops writers is no reason to compact.
    StopWithoutReason,
    /// The version of a footer is believed before its checksum.
    DamageIsUnsupported,
    /// Workers are not woken.
    LoseWakeUp,
    /// A caller that waits for background work sleeps though a step was done since it looked.
    SleepThroughStep,
    /// A read takes its sequence number before the memtables and tables that it reads.
    NumberBeforeView,
    /// What lies behind the end of a log is not looked at.
    TornTailIsEnd,
    /// A verification of a table reads none of its data blocks.
    VerifySkipsBlocks,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 43] = [
        Fault::StopChainEarly,
        Fault::FoldAcrossSnapshot,
        Fault::KeepUsedUpSlice,
        Fault::MovePastOlderRun,
        Fault::ReplayFlushed,
        Fault::DropTombstoneEarly,
        Fault::SkipDirSync,
        Fault::PublishBeforeApply,
        Fault::PanicBehindLog,
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
        Fault::GcDropsLiveValue,
        Fault::AdoptUnexamined,
        Fault::UnlinkAdoptedLog,
        Fault::CutSamples,
        Fault::AskGrowthLate,
        Fault::KeepFailedFrames,
        Fault::TakeAnyKey,
        Fault::EmptySyncSyncsNothing,
        Fault::LeaveAttempts,
        Fault::NoValueLimit,
        Fault::NoBatchLimit,
        Fault::NoCloseRecord,
        Fault::ForgetDefinition,
        Fault::CurrentBeforeNames,
        Fault::CloseInCallback,
        Fault::UnboundedTailSearch,
        Fault::PauseBeforeSeal,
        Fault::StopWithoutReason,
        Fault::DamageIsUnsupported,
        Fault::LoseWakeUp,
        Fault::SleepThroughStep,
        Fault::NumberBeforeView,
        Fault::TornTailIsEnd,
        Fault::VerifySkipsBlocks,
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
    use std::sync::atomic::{AtomicUsize, Ordering};

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

    static LONGEST_PAYLOAD: AtomicUsize = AtomicUsize::new(0);

    /// Frames of logs and manifests hold `bytes` at most from now on, at least 128, unless frames
    /// are always shorter. That is no fault: every version reads them.
    pub fn shorten_frames(bytes: usize) {
        LONGEST_PAYLOAD.store(bytes.max(128), Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn longest_payload() -> Option<usize> {
        let bytes = LONGEST_PAYLOAD.load(Ordering::Relaxed);
        (bytes > 0).then_some(bytes)
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

#[cfg(debug_assertions)]
pub(crate) use planting::longest_payload;
pub(crate) use planting::planted;
#[cfg(debug_assertions)]
pub use planting::{plant, plant_everywhere, shorten_frames};
