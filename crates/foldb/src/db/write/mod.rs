//! Writing: batches, and the commit of what one call writes.

pub(crate) mod batch;
mod commit;
pub(crate) mod writes;
