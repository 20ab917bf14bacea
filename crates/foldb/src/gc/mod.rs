//! Garbage collection: rewrites segment files without their dead values, several into one.
//!
//! ```text
//! 31: | 7: a b c d | 9: e f |      live: b d e       40: | 7: b d | 9: e |
//! ```
//!
//! The live values are the union of what the tables of one version refer to. For an existing
//! segment this union only shrinks: a new table refers to what older tables did, or to new
//! segments. So the rewritten segment holds every value that any later version may need, whatever
//! is written meanwhile. A rewrite compares nothing with writes and undoes none. The switch is one
//! edit.
//!
//! [`pick`] says which files (pure), [`lookup`] finds their live records, [`copy`] copies these,
//! and [`rewrite`] does it all in bounded memory.

mod copy;
mod lookup;
mod pick;
mod rewrite;

pub(crate) use pick::{Bound, pick};
pub(crate) use rewrite::{Rewrite, RewriteContext, Rewritten};
