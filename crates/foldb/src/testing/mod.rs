//! What unit tests share: histories written as text, toy operators that fold text, an order that
//! calls different bytes equal, trees of in-memory tables, the examples on the pages about formats,
//! and races played at scheduling points.

#[cfg(all(debug_assertions, feature = "internals"))]
pub(crate) mod expiring;
pub(crate) mod history;
pub(crate) mod orders;
#[cfg(all(debug_assertions, feature = "internals"))]
pub(crate) mod points;
pub(crate) mod toys;
pub(crate) mod tree;
pub(crate) mod worked_example;
