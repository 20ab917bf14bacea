//! Kinds of records, and internal keys.
//!
//! ```text
//! internal key:  user key | tag u64        tag: sequence number << 8 | kind
//! ```
//!
//! A batch has kinds of its own for the writes to other column families than the default one. In
//! tables, all kinds are those of the default family.

use foldb_leveldb_format::encoding::TAG_LEN;

/// A tombstone of one key.
pub const DELETION: u8 = 0x0;
/// A value.
pub const VALUE: u8 = 0x1;
/// An operand.
pub const MERGE: u8 = 0x2;
/// Bytes of the caller, in logs only.
pub const LOG_DATA: u8 = 0x3;
/// A tombstone of a key that was put at most once since its last tombstone.
pub const SINGLE_DELETION: u8 = 0x7;
/// A tombstone of a range: the key is its start, and the value its end.
pub const RANGE_DELETION: u8 = 0xf;
/// A reference to a value in a file of blobs.
pub const BLOB_INDEX: u8 = 0x11;
/// A tombstone whose key has a timestamp.
pub const DELETION_WITH_TIMESTAMP: u8 = 0x14;
/// A value of several columns.
pub const ENTITY: u8 = 0x16;
/// A value with the time of its write.
pub const TIMED_VALUE: u8 = 0x18;

/// Sequence numbers have 56 bits.
pub const SEQUENCES: u64 = 1 << 56;

/// Returns whether a table may hold records of this kind.
pub fn is_known(kind: u8) -> bool {
    matches!(
        kind,
        DELETION
            | VALUE
            | MERGE
            | SINGLE_DELETION
            | RANGE_DELETION
            | BLOB_INDEX
            | DELETION_WITH_TIMESTAMP
            | ENTITY
            | TIMED_VALUE
    )
}

/// Splits an internal key into user key, sequence number and kind. `None` if it is too short, or of
/// an unknown kind.
pub fn split(key: &[u8]) -> Option<(&[u8], u64, u8)> {
    let (user, tag) = key.split_last_chunk::<TAG_LEN>()?;
    let tag = u64::from_le_bytes(*tag);
    let kind = tag as u8;
    is_known(kind).then_some((user, tag >> 8, kind))
}

/// Returns the user key of an internal key, of whatever kind. `None` if it is too short.
pub fn user_key(key: &[u8]) -> Option<&[u8]> {
    key.split_last_chunk::<TAG_LEN>().map(|(user, _)| user)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn internal_keys_have_a_known_kind() {
        let key = |kind: u8| [&b"k"[..], &(7 << 8 | u64::from(kind)).to_le_bytes()].concat();
        assert_eq!(split(&key(ENTITY)), Some((&b"k"[..], 7, ENTITY)));
        assert_eq!(split(&key(LOG_DATA)), None);
        assert_eq!(user_key(&key(LOG_DATA)), Some(&b"k"[..]));
        assert_eq!(split(b"short"), None);
    }
}
