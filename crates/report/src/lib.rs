//! Results of benchmark runs as JSON, and one self-contained page that shows them.
//!
//! [`results`] is the format that is kept and checked in. The [`page`] is made of it alone, and
//! contains it. [`system`] reads what the operating system tells about machine, process and files.
//! [`timeline`] is for programs that record. [`merges`] does the same for runs of `merge_bench`,
//! with a page of their own; [`soak`] for long runs over one database.

#![forbid(unsafe_code)]

pub mod merges;
pub mod page;
pub mod results;
pub mod soak;
pub mod system;
pub mod timeline;
