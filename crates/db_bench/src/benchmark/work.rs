//! The parts of which the table of benchmarks is made.

use foldb::Compression;

/// What a benchmark does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// Each counted thread does this work.
    Threads(Work),
    /// The same, beside one more thread that is not counted.
    Beside(Work, Beside),
    /// The database is closed and opened again and again.
    Reopen,
    /// The session does one step, without a result line.
    Session(Step),
    /// Nothing: here it has no meaning, for this reason.
    Nothing(&'static str),
}

impl What {
    /// Returns the work of the counted threads.
    pub(crate) fn work(self) -> Option<Work> {
        match self {
            What::Threads(work) | What::Beside(work, _) => Some(work),
            What::Reopen | What::Session(_) | What::Nothing(_) => None,
        }
    }

    /// Returns what the thread beside the counted ones does.
    pub(crate) fn beside(self) -> Option<Beside> {
        match self {
            What::Beside(_, beside) => Some(beside),
            _ => None,
        }
    }
}

/// The work of a counted thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    FillInOrder,
    FillRandom,
    FillUnique,
    /// Fills so that the tree has a known shape; the oldest entries in order, or at random.
    FillShaped {
        in_order: bool,
    },
    FillThenSeek,
    DeleteInOrder,
    DeleteRandom,
    ReadInOrder,
    ReadInReverse,
    ReadEach,
    ReadRandom,
    ReadHot,
    ReadFast,
    ReadOperands,
    MultiRead,
    MultiScan,
    NewIterator,
    SeekRandom,
    SeekInOrder,
    Update,
    XorUpdate,
    AppendUpdate,
    Merge,
    ReadOrMerge,
    ReadThenWrite,
    Verified,
    Transactions,
    ReplaceKeys,
    TimeSeries,
    MixGraph,
    SearchOperands,
    ApproximateSize,
    ApproximateCount,
    Checksum(Hash),
    AcquireLoad,
    /// With the codec of the flags, or this one.
    Compress(Option<Compression>),
    Uncompress(Option<Compression>),
    Compact,
    VerifyChecksums,
    Backup,
    Restore,
}

impl Work {
    /// Whether it changes entries.
    pub(super) fn writes(self) -> bool {
        matches!(
            self,
            Work::FillThenSeek
                | Work::FillRandom
                | Work::DeleteInOrder
                | Work::DeleteRandom
                | Work::Update
                | Work::XorUpdate
                | Work::AppendUpdate
                | Work::ReadThenWrite
                | Work::Verified
                | Work::Transactions
                | Work::MixGraph
                | Work::SearchOperands
                | Work::Compact
        )
    }
}

/// The work of the thread beside the counted ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    /// Puts random keys until the counted threads end.
    Put,
    /// Merges on random keys until they end.
    Merge,
    /// Scans the database in a circle, for as many steps as they have reads.
    Scan,
    /// Puts a time series. The counted threads end when it does.
    Series,
}

/// A checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hash {
    Crc32c,
    XxHash32,
    XxHash64,
    Xxh3,
}

/// Sizes that are not those of the flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    AsGiven,
    /// Batches of 1000 entries.
    InBatches,
    /// A thousandth of the keys, each write synced.
    Synced,
    /// A thousandth of the keys, with values of 100 000 bytes.
    Large,
    /// A thousandth of the reads.
    FewReads,
    /// As many reads as keys.
    AllKeys,
    /// Keys one byte longer than any stored key.
    LongerKeys,
    /// A ten-thousandth of the keys.
    FewKeys,
}

/// A step of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Flush,
    CompactAll,
    CompactLevel(usize),
    WaitForCompaction,
    Stats,
    ResetStats,
    LevelStats,
    MemoryStats,
    Tables,
    Compare,
}
