//! Cursors over records, from one source to the whole database.
//!
//! Records come in the order (key ascending, seqno descending) in every cursor here, and backwards
//! in exactly the reverse of it. [`Iter`] alone knows of visibility and folds.

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
