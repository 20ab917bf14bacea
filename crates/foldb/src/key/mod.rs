//! What a record is called: user key, sequence number, kind, operator.
//!
//! All versions of a user key are ordered newest first, so a walk from `(key, seqno)` onwards
//! meets exactly what a reader at `seqno` may see, in the order in which it folds.

mod comparator;
mod range;

pub use comparator::{BytewiseComparator, Comparator};
pub(crate) use comparator::{check_ends, check_key, shown};
pub use range::AsKeyRange;
pub(crate) use range::KeyBounds;

/// Position of a write in the database's one order of writes. The first is 1; 0 marks a record
/// that every reader may see (the last level, below the oldest snapshot). At most
/// [`MAX_SEQNO`].
pub type SeqNo = u64;

/// Largest sequence number: 56 bits, the rest of the word holds the kind.
pub const MAX_SEQNO: SeqNo = (1 << 56) - 1;

/// Which keyspace a record belongs to. Never reused. The default one is 0.
pub type KeyspaceId = u32;

/// The keyspace every database has.
pub const DEFAULT_KEYSPACE: KeyspaceId = 0;

/// Which operator folds a merge record. Ids below 128 are built-ins, fixed for ever; 0 is "none".
pub type OperatorId = u32;

/// The id of records that are no merges.
pub const NO_OPERATOR: OperatorId = 0;

/// What a record does to its key. The numbers are on disk: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// The key is gone, whatever was below.
    Delete = 0,
    /// The key has this value, whatever was below.
    Put = 1,
    /// A put whose value is separated: in its place stands the address of the value in a segment. A
    /// kind of table records only; its number is that of a put with the flag for it.
    Separated = 0x41,
    /// The key's value is the operator's answer to what is below and this operand.
    Merge = 2,
    /// All keys of a range are gone, whatever was below. A kind of operations (batches, the log),
    /// not of records: memtables and tables keep range tombstones apart from the records of keys.
    DeleteRange = 3,
}

impl Kind {
    /// Whether a chain ends here: nothing below this record matters.
    #[inline]
    pub fn is_base(self) -> bool {
        self != Kind::Merge
    }

    /// Whether the key has a value here, be it separated.
    #[inline]
    pub(crate) fn is_put(self) -> bool {
        matches!(self, Kind::Put | Kind::Separated)
    }

    /// The kind of *record* of this number, if there is one; [`Kind::Separated`] is known to tables
    /// only.
    #[inline]
    pub fn from_u8(byte: u8) -> Option<Kind> {
        match byte {
            0 => Some(Kind::Delete),
            1 => Some(Kind::Put),
            2 => Some(Kind::Merge),
            _ => None,
        }
    }

    /// The kind of *operation* of this number, if there is one.
    #[inline]
    pub(crate) fn of_operation(byte: u8) -> Option<Kind> {
        if byte == Kind::DeleteRange as u8 { Some(Kind::DeleteRange) } else { Kind::from_u8(byte) }
    }
}

/// One record without its key: what the layers hand each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// When it was written.
    pub seqno: SeqNo,
    /// What it does.
    pub kind: Kind,
    /// By which operator, for merges; else [`NO_OPERATOR`].
    pub operator: OperatorId,
}
