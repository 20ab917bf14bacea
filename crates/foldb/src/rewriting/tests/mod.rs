//! Tests of rewriting: folding, and the contents of the tables written.

mod folding;
mod output;
