//! Tests of rewriting: what folds on the way, and what the tables hold in the end.

mod folding;
mod output;
