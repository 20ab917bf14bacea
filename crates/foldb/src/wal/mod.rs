//! The log: what makes a write survive a crash, and the framing that the manifest shares.
//!
//! Invariant: what is read back is a prefix of what was appended, over all logs together (H11).
//! Nothing in here looks into user keys.

#[cfg(any(test, feature = "internals"))]
pub(crate) mod decoders;
pub(crate) mod format;
mod reader;
mod record;
mod separable;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use format::Extent;
pub(crate) use reader::{LogEnd, LogReader, Tail};
pub(crate) use record::{BatchHeader, LOG_FORMAT, LogHeader, LogRecord, encode_definition};
pub(crate) use separable::{
    LEAST_BY_DEFAULT, LEAST_SEPARABLE, SEPARABLE_PUT, SealedLog, SeparableValues, is_one_frame,
    is_separable,
};
pub(crate) use writer::{LogMark, LogSync, LogWriter};
