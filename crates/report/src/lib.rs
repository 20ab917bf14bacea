//! Results of benchmark runs as JSON, and one self-contained page that shows them.
//!
//! [`results`] is what is kept and checked in; the [`page`] is made of nothing else, and carries it.
//! [`system`] is what the operating system tells of machine, process and files.

#![forbid(unsafe_code)]

pub mod page;
pub mod results;
pub mod system;
