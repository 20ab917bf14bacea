//! What unit tests share: histories written as text, toy operators that fold text, an order that
//! calls different bytes equal, trees of in-memory tables, and the examples on the pages about
//! formats.

pub(crate) mod history;
pub(crate) mod orders;
pub(crate) mod toys;
pub(crate) mod tree;
pub(crate) mod worked_example;
