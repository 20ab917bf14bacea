//! Cursors over records, from one source to the whole database.
//!
//! Every cursor here yields records in one order: key ascending, seqno descending. Backwards, it
//! yields exactly the reverse. Only [`Iter`] knows visibility and folds.

mod covers;
mod merging;
mod run;
mod source;
#[cfg(test)]
mod tests;
mod visible;

pub(crate) use covers::{CoverSource, Covers};
pub(crate) use merging::{Effort, MergingCursor};
pub(crate) use run::RunCursor;
pub(crate) use source::Source;
pub(crate) use visible::{Bounds, Payee, VisibleParts};
pub use visible::{Iter, Reversed};
