//! Limits on the size of keys, values, merge results and batches.
//!
//! A call that exceeds a limit fails before anything is logged, and the error names the limit and
//! its number. A merge result beyond [`MAX_VALUE_BYTES`] is a failed fold: only reads of its key
//! fail, with [`ErrorKind::MergeFailed`](crate::ErrorKind::MergeFailed).
//!
//! Invariant: a write that passes these checks fits into an empty memtable, a log, and a block of a
//! table, whatever the options are.

use crate::error::{Error, Result};
use crate::faults::{Fault, planted};

/// Longest key that may be written, in bytes: 512 KiB. The limit also applies to the ends of range
/// deletes and of ranges to compact, because the engine stores them. A read may look for a longer
/// key.
pub const MAX_KEY_BYTES: usize = 512 << 10;

/// Longest value, merge operand and merge result, in bytes: 256 MiB. In a keyspace with expiry the
/// longest merge result is 9 bytes less, because the engine stores its end with it.
pub const MAX_VALUE_BYTES: usize = 256 << 20;

/// Largest batch that every database accepts, in bytes of memtable: 257 MiB, which holds the
/// longest key with the longest value. See [`max_batch_bytes`].
pub const LEAST_MAX_BATCH_BYTES: usize = 257 << 20;

/// Returns the largest batch, in bytes of memtable, of a database with write buffers of this size.
///
/// The limit is 257 MiB or four write buffers, whichever is more. A batch's size is
/// [`WriteBatch::memtable_bytes`](crate::WriteBatch::memtable_bytes). The write buffer is the one
/// in effect ([`Db::explain_options`](crate::Db::explain_options)): a memory budget may have shrunk
/// it.
///
/// # Example
/// ```
/// use foldb::limits::{LEAST_MAX_BATCH_BYTES, max_batch_bytes};
///
/// assert_eq!(max_batch_bytes(64 << 20), LEAST_MAX_BATCH_BYTES);
/// assert_eq!(max_batch_bytes(1 << 30), 4 << 30);
/// ```
pub const fn max_batch_bytes(write_buffer_size: usize) -> usize {
    let four = write_buffer_size.saturating_mul(4);
    if four > LEAST_MAX_BATCH_BYTES { four } else { LEAST_MAX_BATCH_BYTES }
}

/// Checks that a key is short enough to store. `what` names it in the error: a key, or an end of a
/// range.
///
/// # Errors
/// `InvalidArgument` if the key is too long. The message names the limit.
#[inline]
pub(crate) fn check_key(what: &str, key: &[u8]) -> Result<()> {
    if key.len() > MAX_KEY_BYTES {
        return Err(beyond(what, key.len(), "MAX_KEY_BYTES", MAX_KEY_BYTES));
    }
    Ok(())
}

/// Checks that a value or an operand is short enough to store.
///
/// # Errors
/// `InvalidArgument` if it is too long. The message names the limit.
#[inline]
pub(crate) fn check_value(value: &[u8]) -> Result<()> {
    if value.len() > MAX_VALUE_BYTES {
        return Err(beyond("a value or operand", value.len(), "MAX_VALUE_BYTES", MAX_VALUE_BYTES));
    }
    Ok(())
}

/// Returns the bytes of a base and operands together.
pub(crate) fn joined_bytes(base: Option<&[u8]>, operands: &[&[u8]]) -> usize {
    base.iter().chain(operands).map(|piece| piece.len()).sum()
}

/// Returns whether a base and operands are too long to be one value together.
pub(crate) fn is_too_long(base: Option<&[u8]>, operands: &[&[u8]]) -> bool {
    joined_bytes(base, operands) > MAX_VALUE_BYTES
}

/// Checks that a batch fits into the memtables.
///
/// # Errors
/// `InvalidArgument` if the batch is too large. The message names the limit.
#[inline]
pub(crate) fn check_batch(memtable_bytes: usize, write_buffer_size: usize) -> Result<()> {
    let most = max_batch_bytes(write_buffer_size);
    if memtable_bytes > most && !planted(Fault::NoBatchLimit) {
        return Err(beyond("a batch", memtable_bytes, "max_batch_bytes", most));
    }
    Ok(())
}

#[cold]
fn beyond(what: &str, found: usize, limit: &str, most: usize) -> Error {
    let of = if limit == "max_batch_bytes" { "bytes of memtable" } else { "bytes" };
    Error::invalid_argument(format!("{what} has {found} {of}, more than {limit} = {most}"))
}
