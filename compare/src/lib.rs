//! foldb and its peers, driven by the same code in one run.
//!
//! `workload` defines the workloads and runs them, through the traits of `engine` and `store`.
//! `measure` takes the measurements. Each run is a process of its own (`child`), in turn with the
//! other engines (`schedule`). The results are `foldb_report`'s `Results`, which `tables` prints.

pub mod child;
pub mod cli;
pub mod data;
pub mod digest;
pub mod engine;
pub mod external;
pub mod failure;
pub mod measure;
pub mod probe;
pub mod scale;
pub mod schedule;
pub mod store;
pub mod survival;
pub mod tables;
pub mod workload;
