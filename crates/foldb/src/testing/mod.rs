//! What unit tests share: histories written as text, toy operators that fold text, and trees of
//! in-memory tables.

pub(crate) mod history;
pub(crate) mod toys;
pub(crate) mod tree;
