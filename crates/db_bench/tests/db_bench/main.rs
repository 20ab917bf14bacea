//! The built `db_bench`, run as its users run it.

mod bench;
mod benchmarks;
mod published;
mod refusals;
mod report;
