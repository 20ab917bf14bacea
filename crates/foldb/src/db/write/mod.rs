//! Writing: batches, and the commit of one call's writes.

pub(crate) mod batch;
mod commit;
pub(crate) mod stamping;
pub(crate) mod writes;
