//! Tests of the tree's shape: edits as bytes, edits applied, the manifest that keeps them, and the
//! tables that are open.

mod edits;
mod manifest;
mod names;
mod open_tables;
mod trees;
mod worked_example;
