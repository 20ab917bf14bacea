//! Statistics that a program asks an options object for.

/// Counts of the databases that were opened with an options object.
#[derive(Debug, Default)]
pub(crate) struct Statistics {}
