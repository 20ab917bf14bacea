//! Cursors over records, from one source to the whole database, as a stack of small parts.
//!
//! Each part uses only those below it:
//!
//! ```text
//! both_ends   what users see: one cursor for each end of what is left of a range
//! watched     tells a transaction which ranges were read
//! bounded     walks from entry to entry inside a range, in both directions
//! visible     folds the records of one key for one reader
//! merging     the records of all sources in one order
//! source      a memtable, a run, or the entries of another stack
//! ```
//!
//! The cursors of records yield them in one order: key ascending, seqno descending. Backwards, they
//! yield exactly the reverse. Only the parts from `visible` on know visibility and folds.

mod both_ends;
mod bounded;
mod bounds;
mod covers;
mod dead;
mod folded;
mod merging;
mod origin;
mod run;
mod source;
#[cfg(test)]
mod tests;
mod visible;
mod watched;

pub use both_ends::Iter;
pub(crate) use bounded::Bounded;
pub(crate) use bounds::Bounds;
pub(crate) use covers::{CoverSource, Covers};
pub(crate) use dead::DeadStretches;
pub(crate) use folded::FoldedCursor;
pub(crate) use merging::{Effort, MergingCursor};
pub(crate) use origin::{Opened, Origin, Viewpoint};
pub(crate) use run::RunCursor;
pub(crate) use source::{Source, Sources};
pub(crate) use watched::Watched;
