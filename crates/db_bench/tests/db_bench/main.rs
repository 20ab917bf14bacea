//! Black-box tests of `db_bench`.

mod bench;
mod benchmarks;
mod published;
mod refusals;
mod report;
