//! A place in the history of a database.
//!
//! ```text
//! bytes: log u64 | frame u64 | seqno u64 | lineage u64, all big-endian
//! text:  SEQNO.LOG.FRAME.LINEAGE, three decimals and sixteen hexadecimal digits
//! ```
//!
//! Within one history, positions, their bytes and their order of yielding agree. Log and frame come
//! first: a keyspace that is created or dropped has a frame and no sequence number, so its position
//! may have a smaller number than that of an unlogged write before it. The *lineage* is
//! the id of the log (`wal::lineage`). It says which history the numbers belong to: after a power
//! loss, in a copy, or after a repair, the same numbers may come again for other writes.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::key::SeqNo;

/// A place in the history of a database: directly after an update that the feed yielded, or the
/// moment of [`crate::Db::position`].
///
/// A follower stores it, as bytes or as text, together with the changes that it applied. Positions
/// of one history are ordered, and so are their bytes.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// use foldb::feed::Position;
/// use foldb::{Db, Options};
///
/// let options = Options {
///     create_if_missing: true,
///     wal_retention_bytes: 64 << 20,
///     ..Options::default()
/// };
/// let db = Db::open(dir.path(), options)?;
/// let before = db.position()?;
/// db.put("key", "value")?;
/// let after = db.position()?;
/// assert!(before < after && before.to_bytes() < after.to_bytes());
/// assert_eq!(Position::from_bytes(&after.to_bytes())?, after);
/// assert_eq!(after.to_string().parse::<Position>()?, after);
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    pub(crate) log: u64,
    /// The last frame of the log before this place.
    pub(crate) frame: u64,
    /// The last sequence number before this place.
    pub(crate) seqno: SeqNo,
    pub(crate) lineage: u64,
}

impl Position {
    /// The beginning of the history, before the first write. A follower with no data starts here.
    pub const BEGINNING: Position = Position { seqno: 0, log: 0, frame: 0, lineage: 0 };

    /// Bytes of [`Position::to_bytes`].
    pub const LEN: usize = 32;

    /// Returns the sequence number of the last write before this place.
    pub fn sequence_number(&self) -> u64 {
        self.seqno
    }

    /// Returns the position as bytes.
    pub fn to_bytes(&self) -> [u8; Position::LEN] {
        let mut bytes = [0; Position::LEN];
        let words = [self.log, self.frame, self.seqno, self.lineage];
        for (part, word) in bytes.chunks_exact_mut(8).zip(words) {
            part.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    /// Reads a position from the bytes that [`Position::to_bytes`] returned.
    ///
    /// # Errors
    /// `InvalidArgument` for bytes of another length.
    pub fn from_bytes(bytes: &[u8]) -> Result<Position> {
        let Ok(bytes) = <&[u8; Position::LEN]>::try_from(bytes) else {
            return Err(Error::invalid_argument(format!(
                "a position has {} bytes, not {}",
                Position::LEN,
                bytes.len()
            )));
        };
        let word = |index: usize| {
            bytes[8 * index..8 * index + 8]
                .iter()
                .fold(0, |word, &byte| word << 8 | u64::from(byte))
        };
        Ok(Position { log: word(0), frame: word(1), seqno: word(2), lineage: word(3) })
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}.{:016x}", self.seqno, self.log, self.frame, self.lineage)
    }
}

impl FromStr for Position {
    type Err = Error;

    /// # Errors
    /// `InvalidArgument` for text that [`Position`] does not write.
    fn from_str(text: &str) -> Result<Position> {
        let malformed = || {
            Error::invalid_argument(format!(
                "'{}' is not a position: expected SEQNO.LOG.FRAME.LINEAGE, as the feed wrote it",
                text.escape_debug()
            ))
        };
        let mut parts = text.split('.');
        let mut part = |radix| {
            let digits = parts.next().filter(|part| part.bytes().all(|b| b.is_ascii_hexdigit()));
            let number = digits.and_then(|digits| u64::from_str_radix(digits, radix).ok());
            number.ok_or_else(malformed)
        };
        let (seqno, log, frame) = (part(10)?, part(10)?, part(10)?);
        let position = Position { seqno, log, frame, lineage: part(16)? };
        parts.next().map_or(Ok(position), |_| Err(malformed()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Position;
    use crate::error::ErrorKind;

    proptest! {
        #[test]
        fn a_position_comes_back_and_its_bytes_keep_the_order(
            a: (u64, u64, u64, u64),
            b: (u64, u64, u64, u64),
        ) {
            let [a, b] = [a, b].map(|(seqno, log, frame, lineage)| {
                Position { seqno, log, frame, lineage }
            });
            prop_assert_eq!(Position::from_bytes(&a.to_bytes()).unwrap(), a);
            prop_assert_eq!(a.to_string().parse::<Position>().unwrap(), a);
            prop_assert_eq!(a.cmp(&b), a.to_bytes().cmp(&b.to_bytes()));
        }
    }

    #[test]
    fn other_text_and_bytes_are_refused() {
        for text in ["", "1.2.3", "1.2.3.4.5", "1.2.3.x", "-1.2.3.4", "1..3.4", "1.2.3.+4"] {
            let error = text.parse::<Position>().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{text}");
        }
        assert_eq!(Position::from_bytes(&[0; 31]).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}
