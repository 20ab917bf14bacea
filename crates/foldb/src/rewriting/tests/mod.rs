//! Tests of rewriting: folding, and the contents of the tables written.

mod filtering;
mod folding;
mod output;
