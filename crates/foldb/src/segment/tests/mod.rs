//! Tests of segment files as a whole.

mod worked_example;
