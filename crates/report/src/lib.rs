//! Results of benchmark runs as JSON, and one self-contained page that shows them.
//!
//! [`results`] is what is kept and checked in; the page is made of nothing else.

#![forbid(unsafe_code)]

pub mod results;
