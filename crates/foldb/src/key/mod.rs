//! The parts of a record's identity: user key, sequence number, kind, operator.
//!
//! All versions of a user key are ordered newest first. So a walk that starts at `(key, seqno)`
//! meets exactly the versions that a reader at `seqno` may see, newest first.

mod comparator;
mod filter_policy;
mod list;
mod order;
mod range;

pub use comparator::{BytewiseComparator, Comparator};
pub(crate) use comparator::{check_ends, check_key, shown};
pub use filter_policy::FilterPolicy;
pub(crate) use filter_policy::GuardedPolicy;
pub(crate) use list::KeyList;
pub(crate) use order::Order;
pub use range::AsKeyRange;
pub(crate) use range::KeyBounds;

/// The position of a write in the database's single order of writes. The first is 1. The number 0
/// marks a record that every reader may see (in the last level, below the oldest snapshot). At most
/// [`MAX_SEQNO`].
pub(crate) type SeqNo = u64;

/// Largest sequence number: 56 bits. The rest of the word holds the kind.
pub(crate) const MAX_SEQNO: SeqNo = (1 << 56) - 1;

/// The keyspace that a record belongs to. Ids are never reused. The default keyspace is 0.
pub(crate) type KeyspaceId = u32;

/// The keyspace that every database has.
pub(crate) const DEFAULT_KEYSPACE: KeyspaceId = 0;

/// The id of the operator that folds a merge record. Ids below 128 are built-ins and never change.
/// The id 0 means that there is no operator.
pub(crate) type OperatorId = u32;

/// The operator id of records that are not merges.
pub(crate) const NO_OPERATOR: OperatorId = 0;

/// What a record does to its key. The numbers are on disk: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Deletes the key. Older records of the key no longer matter.
    Delete = 0,
    /// Sets the key to this value. Older records of the key no longer matter.
    Put = 1,
    /// A put whose value is separated: the record holds the address of the value in a segment. Only
    /// table records have this kind. Its number is that of a put with the flag for separation.
    Separated = 0x41,
    /// Holds an operand. The operator folds it onto the older records of the key.
    Merge = 2,
    /// Deletes all keys of a range. Only operations (in batches and the log) have this kind:
    /// memtables and tables keep range tombstones apart from the records of keys.
    DeleteRange = 3,
}

impl Kind {
    /// Returns whether the record is a base: the chain ends there, because older records do not
    /// matter.
    #[inline]
    pub fn is_base(self) -> bool {
        self != Kind::Merge
    }

    /// Returns whether a record of this kind expires in a keyspace with expiry.
    #[inline]
    pub(crate) fn may_expire(self) -> bool {
        matches!(self, Kind::Put | Kind::Merge)
    }

    /// Returns whether the record gives the key a value, inline or separated.
    #[inline]
    pub(crate) fn is_put(self) -> bool {
        matches!(self, Kind::Put | Kind::Separated)
    }

    /// Returns the kind of *record* with this number, if there is one. Only tables know
    /// [`Kind::Separated`].
    #[inline]
    pub fn from_u8(byte: u8) -> Option<Kind> {
        match byte {
            0 => Some(Kind::Delete),
            1 => Some(Kind::Put),
            2 => Some(Kind::Merge),
            _ => None,
        }
    }

    /// Returns the kind of *operation* with this number, if there is one.
    #[inline]
    pub(crate) fn of_operation(byte: u8) -> Option<Kind> {
        if byte == Kind::DeleteRange as u8 { Some(Kind::DeleteRange) } else { Kind::from_u8(byte) }
    }
}

/// One record without its key: the form in which layers pass records on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// The sequence number of the write.
    pub seqno: SeqNo,
    /// The effect on the key.
    pub kind: Kind,
    /// The operator of a merge, otherwise `NO_OPERATOR`.
    pub operator: OperatorId,
}
