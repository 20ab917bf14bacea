//! Black-box tests of `db_bench`.

mod bench;
mod benchmarks;
mod names;
mod published;
mod refusals;
mod report;
mod workloads;
