//! Parquet: rows become lines of JSON, and cells become columns with types.
//!
//! ```text
//! import   file ── schema (refuses types) ── json (a row as a line) ── as JSON lines
//! export   entries ── kind (types of columns) ── entries again ── writer (groups of rows)
//! ```
//!
//! Invariant: no value changes silently. A type that JSON cannot hold is refused by its name.

mod json;
mod kind;
mod reader;
mod schema;
mod writer;

pub(crate) use kind::{Cell, Columns};
pub(crate) use reader::Rows;
pub(crate) use writer::Writer;

#[cfg(test)]
mod tests;
