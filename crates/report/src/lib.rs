//! Results of benchmark runs as JSON, and one self-contained page that shows them.
//!
//! [`results`] is what is kept and checked in; the [`page`] is made of nothing else, and carries
//! it. [`system`] is what the operating system tells of machine, process and files; [`timeline`] is
//! for programs that record. [`merges`] is the same for runs of `merge_bench`, with a page of their
//! own; [`soak`] for long runs over one database.

#![forbid(unsafe_code)]

pub mod merges;
pub mod page;
pub mod results;
pub mod soak;
pub mod system;
pub mod timeline;
