//! Tests of the tree's shape: edits as bytes, edits applied, and the manifest that keeps them.

mod edits;
mod manifest;
mod names;
mod trees;
mod worked_example;
