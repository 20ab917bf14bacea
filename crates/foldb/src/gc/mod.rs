//! Garbage collections: files are rewritten without their dead values, several into one.
//!
//! ```text
//! 31: | 7: a b c d | 9: e f |      live: b d e       40: | 7: b d | 9: e |
//! ```
//!
//! What is alive is the union of what the tables of one version refer to. Of segments that exist it
//! only shrinks from then on: a new table refers to what older ones did or to new segments. So
//! whatever is written meanwhile, the rewritten segment holds every value that any later version
//! may ask for, and there is no write to be compared with or undone. The switch is one edit.
//!
//! [`pick`] says which files (pure), [`lookup`] which of their records are alive, [`copy`] copies
//! these, and [`rewrite`] does it all in bounded memory.

mod copy;
mod lookup;
mod pick;
mod rewrite;

pub(crate) use pick::{Bound, pick};
pub(crate) use rewrite::{Rewrite, RewriteContext, Rewritten};
