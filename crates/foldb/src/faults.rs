//! Planted faults: deliberate bugs that a test switches on, to prove that the tests detect such
//! bugs.
//!
//! Faults exist only in builds with debug assertions and the feature `internals`. In other builds
//! `planted` is the constant `false`, and the compiler removes the branches. A test plants a fault
//! for its own thread. Background work on that thread has the fault, and parallel tests do not. A
//! separate program plants a fault for all threads.

/// A bug that the engine could have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The walk down a chain stops one record early.
    StopChainEarly,
    /// A flush or compaction folds across a snapshot.
    FoldAcrossSnapshot,
    /// A slice does not hide the part of an input that it used up.
    KeepUsedUpSlice,
    /// A table moves past an older run.
    MovePastOlderRun,
    /// The open replays a record that a flush already wrote to a table.
    ReplayFlushed,
    /// A compaction drops a tombstone above the last level.
    DropTombstoneEarly,
    /// The engine does not sync a directory after it created files in it.
    SkipDirSync,
    /// A write is published before it is applied.
    PublishBeforeApply,
    /// A write panics after it is logged and before it is in the memtable.
    PanicBehindLog,
    /// An operator receives its operands newest first.
    WrongOperandOrder,
    /// The open does not replay the last record of a log.
    LoseLastLogRecord,
    /// A range tombstone deletes the records below it in the tree, not those with smaller sequence
    /// numbers.
    RangeDeleteByLevel,
    /// A read skips the range tombstones of a table whose filter rejects the key.
    RangeDeleteBehindFilter,
    /// A range tombstone that spans two output tables is written only to the first.
    RangeDeleteCutShort,
    /// A flush or compaction folds operands across a range tombstone.
    FoldAcrossRangeDelete,
    /// A compaction drops a range tombstone that still has older tables below it.
    DropRangeDeleteEarly,
    /// The operator of the oldest operand folds all of them, even operands of other operators.
    WrongOperator,
    /// The memtable changes, in place, a record that a snapshot sees.
    FoldInPlaceUnderSnapshot,
    /// A flush writes a folded record whole, although a snapshot sees only some of its operands.
    FlushFoldedWhole,
    /// Garbage collection ignores the references of one table.
    GcDropsLiveValue,
    /// A flush adopts a log as a segment without checking how much of it is dead.
    AdoptUnexamined,
    /// The engine removes an adopted log once the log is no longer needed for replay.
    UnlinkAdoptedLog,
    /// A comparator of the program's receives samples that were cut to 32 bytes.
    CutSamples,
    /// The writer asks an operator whether it grows while it holds the writer lock. A write that
    /// panics half-way stays in the log.
    AskGrowthLate,
    /// Frames of a failed write stay in the log.
    KeepFailedFrames,
    /// A write accepts a key that the comparator cannot compare.
    TakeAnyKey,
    /// A synced batch without operations does not sync the log.
    EmptySyncSyncsNothing,
    /// Files that a failed open or a rejected write created stay in the directory.
    LeaveAttempts,
    /// A merge may produce a value above the value size limit.
    NoValueLimit,
    /// A batch may exceed the batch size limit.
    NoBatchLimit,
    /// A clean close does not record what manifest and logs hold.
    NoCloseRecord,
    /// The writer does not repeat an operator's definition that the log failed to store.
    ForgetDefinition,
    /// An open replaces `CURRENT` before the names of manifest and log are durable.
    CurrentBeforeNames,
    /// A transaction's commit does not check the ranges that the transaction read.
    ForgetRangesRead,
    /// A merge of a transaction counts as a read of its key.
    MergeTakenForRead,
    /// A commit does not check the keys that the transaction read.
    ForgetKeysRead,
    /// A commit that reads the records of a range looks only at the first record.
    CheckRangeStart,
    /// If a callback drops the last handle, the close runs on the worker it waits for.
    CloseInCallback,
    /// The search after a torn tail hashes every byte sequence that looks like a frame.
    UnboundedTailSearch,
    /// A write pauses before it seals the full memtable.
    PauseBeforeSeal,
    /// A level 0 that stops writers does not trigger a compaction.
    StopWithoutReason,
    /// A reader trusts the version of a footer before it checks the checksum.
    DamageIsUnsupported,
    /// Nothing wakes the workers.
    LoseWakeUp,
    /// A caller that waits for background work sleeps although a step finished after the caller's
    /// last check.
    SleepThroughStep,
    /// A read takes its sequence number before it loads the memtables and tables.
    NumberBeforeView,
    /// The open does not check the bytes after the end of a log.
    TornTailIsEnd,
    /// Verification of a table skips its data blocks.
    VerifySkipsBlocks,
    /// A sorted load is added although memtables hold older records of its keys.
    LoadOverUnflushed,
    /// The records of a sorted load keep the number 0 with which they are stored.
    LoadWithoutNumber,
    /// A reader whose view is from before a sorted load reads at a number from after it.
    LoadBehindViews,
    /// The change feed leaves out the first batch of each log.
    FeedSkipsBatch,
    /// The change feed yields batches that a power loss can take back.
    FeedYieldsUnsynced,
    /// A merge onto an expired value applies to it, and renews it.
    MergeOntoExpired,
    /// A flush or compaction drops an expired record that hides an older one.
    DropExpiredEarly,
    /// Expired values are dropped although merges that came in time lie above them.
    DropExpiredBelowMerge,
    /// A compaction filter removes a value that a snapshot sees.
    FilterBelowSnapshot,
    /// A filtered slice is installed although a snapshot was taken since it began.
    InstallUnderSnapshot,
    /// A dump reads each entry as it is at that moment, not as of one snapshot.
    DumpWithoutSnapshot,
    /// A restore does not mark its database as unfinished.
    RestoreUnmarked,
    /// A backup does not sync the directory of shared files before it writes its record.
    BackupSkipsSync,
    /// A transaction's iterator that a backward seek puts exactly on its key does not claim the
    /// key.
    ForgetExactHit,
    /// The end of an entry is rounded down to a second.
    EndsEarly,
    /// An operator of a keyspace with expiry gets its scraps before the value that it names.
    KeepScraps,
    /// A walk leads a table past noted deletes although an older table keeps records below them.
    PassDeadAlone,
}

impl Fault {
    /// All faults.
    #[cfg(any(test, all(debug_assertions, feature = "internals")))]
    pub const ALL: [Fault; 64] = [
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
        Fault::ForgetRangesRead,
        Fault::MergeTakenForRead,
        Fault::ForgetKeysRead,
        Fault::CheckRangeStart,
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
        Fault::LoadOverUnflushed,
        Fault::LoadWithoutNumber,
        Fault::LoadBehindViews,
        Fault::FeedSkipsBatch,
        Fault::FeedYieldsUnsynced,
        Fault::MergeOntoExpired,
        Fault::DropExpiredEarly,
        Fault::DropExpiredBelowMerge,
        Fault::FilterBelowSnapshot,
        Fault::InstallUnderSnapshot,
        Fault::DumpWithoutSnapshot,
        Fault::RestoreUnmarked,
        Fault::BackupSkipsSync,
        Fault::ForgetExactHit,
        Fault::EndsEarly,
        Fault::KeepScraps,
        Fault::PassDeadAlone,
    ];

    /// Returns the fault with this name, as [`std::fmt::Debug`] writes it.
    #[cfg(any(test, all(debug_assertions, feature = "internals")))]
    pub fn from_name(name: &str) -> Option<Fault> {
        Fault::ALL.into_iter().find(|fault| format!("{fault:?}") == name)
    }
}

#[cfg(any(test, all(debug_assertions, feature = "internals")))]
mod planting {
    use std::cell::Cell;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::Fault;

    thread_local! {
        static PLANTED: Cell<Option<Fault>> = const { Cell::new(None) };
    }

    static PLANTED_EVERYWHERE: OnceLock<Fault> = OnceLock::new();

    /// Plants a fault for all threads of this process. Returns whether it is the first one.
    pub fn plant_everywhere(fault: Fault) -> bool {
        PLANTED_EVERYWHERE.set(fault).is_ok()
    }

    /// Plants a fault for this thread; `None` removes it.
    pub fn plant(fault: Option<Fault>) {
        PLANTED.set(fault);
    }

    /// `Relaxed`, as the other switches: answers are right with either value.
    static LONGEST_PAYLOAD: AtomicUsize = AtomicUsize::new(0);

    /// Limits frames of logs and manifests to `bytes`, at least 128, from now on. This is no fault:
    /// every version reads such frames.
    pub fn shorten_frames(bytes: usize) {
        LONGEST_PAYLOAD.store(bytes.max(128), Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn longest_payload() -> Option<usize> {
        let bytes = LONGEST_PAYLOAD.load(Ordering::Relaxed);
        (bytes > 0).then_some(bytes)
    }

    thread_local! {
        static FEW_NOTES: Cell<bool> = const { Cell::new(false) };
    }

    /// Lets databases that this thread opens from now on keep notes of only a few recent writes.
    /// Commits of transactions then mostly read records. This is no fault: answers stay the same.
    pub fn keep_few_notes(are_few: bool) {
        FEW_NOTES.set(are_few);
    }

    #[inline]
    pub(crate) fn keeps_few_notes() -> bool {
        FEW_NOTES.get()
    }

    static SHORT_STRETCHES: AtomicBool = AtomicBool::new(false);

    /// Lets walks note and skip short stretches of deleted keys too, or no longer. This is no
    /// fault: answers stay the same.
    pub fn note_short_stretches(are_noted: bool) {
        // Relaxed: a test sets it before it starts the threads that walk.
        SHORT_STRETCHES.store(are_noted, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn notes_short_stretches() -> bool {
        SHORT_STRETCHES.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn planted(fault: Fault) -> bool {
        PLANTED.get() == Some(fault) || PLANTED_EVERYWHERE.get() == Some(&fault)
    }
}

#[cfg(not(any(test, all(debug_assertions, feature = "internals"))))]
mod planting {
    #[inline(always)]
    pub(crate) fn planted(_fault: super::Fault) -> bool {
        false
    }

    #[inline(always)]
    pub(crate) fn longest_payload() -> Option<usize> {
        None
    }

    #[inline(always)]
    pub(crate) fn keeps_few_notes() -> bool {
        false
    }

    #[inline(always)]
    pub(crate) fn notes_short_stretches() -> bool {
        false
    }
}

#[cfg(any(test, all(debug_assertions, feature = "internals")))]
pub use planting::{keep_few_notes, note_short_stretches, plant, plant_everywhere, shorten_frames};
pub(crate) use planting::{keeps_few_notes, longest_payload, notes_short_stretches, planted};
