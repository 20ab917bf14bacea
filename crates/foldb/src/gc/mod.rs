//! Garbage collection: rewrites segment files without their dead values, several into one.
//!
//! ```text
//! 31: | 7: a b c d | 9: e f |      live: b d e       40: | 7: b d | 9: e |
//! ```
//!
//! The live values are all values that the tables of one version refer to. Later versions refer to
//! no further values of an existing segment: a new table refers to values of older tables, or to
//! new segments. So the rewritten segment holds every value that a later version may need, even if
//! writes arrive during the rewrite. One edit switches to the new file.
//!
//! [`pick`] chooses the files and is a pure function. [`lookup`] finds their live records, [`copy`]
//! copies those records, and [`rewrite`] runs both in bounded memory.

mod copy;
mod lookup;
mod pick;
mod rewrite;

pub(crate) use pick::{Bound, pick};
pub(crate) use rewrite::{Rewrite, RewriteContext, Rewritten};
