//! How large keys, values, merge results and batches may be.
//!
//! Writes beyond a limit are refused at the call, before anything is logged; the error names the
//! limit and its number. A merge result beyond [`MAX_VALUE_BYTES`] is a failed fold: reads of its
//! key fail with [`ErrorKind::MergeFailed`](crate::ErrorKind::MergeFailed), and nothing else does.
//!
//! Invariant: what passes these checks fits into an empty memtable, a log, and a block of a table,
//! whatever the options are.

use crate::error::{Error, Result};
use crate::faults::{Fault, planted};

/// Longest key that may be written, in bytes: 64 KiB. It also bounds the ends of range deletes and
/// of ranges to be compacted, which are stored. Keys that are only looked for may be longer.
pub const MAX_KEY_BYTES: usize = 64 << 10;

/// Longest value, merge operand and merge result, in bytes: 256 MiB.
pub const MAX_VALUE_BYTES: usize = 256 << 20;

/// Largest batch that every database takes, in bytes of memtable: 257 MiB, which holds the longest
/// key with the longest value. See [`max_batch_bytes`].
pub const LEAST_MAX_BATCH_BYTES: usize = 257 << 20;

/// Largest batch of a database with write buffers of this size, in bytes of memtable
/// ([`WriteBatch::memtable_bytes`](crate::WriteBatch::memtable_bytes)): 257 MiB or four write
/// buffers, whichever is more. The write buffer is the one in effect
/// ([`Db::explain_options`](crate::Db::explain_options)), which a memory budget may have shrunk.
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

/// Refuses a key that is too long to be stored. `what` is written: a key, an end of a range.
///
/// # Errors
/// `InvalidArgument`, naming the limit.
#[inline]
pub(crate) fn check_key(what: &str, key: &[u8]) -> Result<()> {
    if key.len() > MAX_KEY_BYTES {
        return Err(beyond(what, key.len(), "MAX_KEY_BYTES", MAX_KEY_BYTES));
    }
    Ok(())
}

/// Refuses a value or an operand that is too long.
///
/// # Errors
/// `InvalidArgument`, naming the limit.
#[inline]
pub(crate) fn check_value(value: &[u8]) -> Result<()> {
    if value.len() > MAX_VALUE_BYTES {
        return Err(beyond("a value or operand", value.len(), "MAX_VALUE_BYTES", MAX_VALUE_BYTES));
    }
    Ok(())
}

/// Refuses a batch that takes too much of memtables.
///
/// # Errors
/// `InvalidArgument`, naming the limit.
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
    Error::invalid_argument(format!("{what} may have {limit} = {most} {of}, not {found}"))
}
