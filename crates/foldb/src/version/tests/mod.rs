//! Tests of the tree's shape: edits as bytes, applied edits, the manifest, and open tables.

mod edits;
mod manifest;
mod names;
mod open_tables;
mod trees;
mod worked_example;
