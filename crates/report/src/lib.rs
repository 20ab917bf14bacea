//! Results of benchmark runs as JSON, and one self-contained page that shows them.
//!
//! [`results`] is the format of stored results. The [`page`] is made from results alone, and
//! contains them. [`system`] reads the operating system's figures of machine, process and files.
//! [`timeline`] records operations over time. [`merges`] holds the results of `merge_bench`, which
//! have a page of their own, and [`soak`] those of long runs over one database.

#![forbid(unsafe_code)]

pub mod merges;
pub mod page;
pub mod results;
pub mod soak;
pub mod system;
pub mod timeline;
