//! Cursors over records, from one source to the whole database.
//!
//! Every cursor here yields records in one order: key ascending, seqno descending. Backwards, it
//! yields exactly the reverse. Only [`Iter`] knows visibility and folds.

mod bounds;
mod covers;
mod dead;
mod folded;
mod merging;
mod run;
mod source;
#[cfg(test)]
mod tests;
mod visible;
mod watch;

pub(crate) use bounds::Bounds;
pub(crate) use covers::{CoverSource, Covers};
pub(crate) use dead::DeadStretches;
pub(crate) use folded::FoldedCursor;
pub(crate) use merging::{Effort, MergingCursor};
pub(crate) use run::RunCursor;
pub(crate) use source::Source;
pub use visible::Iter;
pub(crate) use visible::{Opened, Origin, VisibleParts};
