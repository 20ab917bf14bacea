//! The log makes a write survive a crash. The manifest shares its framing.
//!
//! Invariant: a reader gets a prefix of the appended records, over all logs together (H11). This
//! module never interprets user keys.

#[cfg(any(test, feature = "internals"))]
pub(crate) mod decoders;
mod ended;
pub(crate) mod format;
mod lineage;
mod reader;
mod record;
mod separable;
mod sync;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use format::{Extent, HEADER_LEN as FRAME_HEADER_LEN};
pub(crate) use lineage::{Lineage, NamedKeyspace, Predecessor};
pub(crate) use reader::{LogEnd, LogGap, LogReader, Tail};
pub(crate) use record::{
    BatchHeader, LogHeader, LogRecord, encode_created, encode_definition, encode_dropped,
    encode_lineage,
};
pub(crate) use separable::{
    LEAST_BY_DEFAULT, LEAST_SEPARABLE, SEPARABLE_PUT, SealedLog, SeparableValues, is_one_frame,
    is_separable,
};
pub(crate) use sync::LogSync;
pub(crate) use writer::{LogMark, LogWriter};
