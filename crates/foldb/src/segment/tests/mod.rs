//! Tests of segment files as a whole.

mod logged;
mod worked_example;
