//! Dumps: a whole database as one stream, and a new database from such a stream.
//!
//! ```text
//!   format    the stream: a header, blocks with checksums, an end
//!   record    what the blocks hold: operators, keyspaces, entries
//!   dumping   Db::dump
//!   restoring Db::restore
//!   create    the new database of a restore, with its operators and keyspaces
//!   digest    the comparison of the stream with the new database
//! ```
//!
//! A dump has no sequence numbers, levels or files, so every later version can read it. Keys that
//! fold are stored as values. Only keys that do not fold are stored as a base and operands.

mod create;
#[cfg(any(test, feature = "internals"))]
pub(crate) mod decoders;
mod digest;
mod dumping;
mod format;
mod record;
mod restoring;
#[cfg(test)]
mod tests;

pub use dumping::DumpReport;
