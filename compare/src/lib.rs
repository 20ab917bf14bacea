//! foldb and its peers, driven by the same code in one run.
//!
//! `workload` says what is run and does it, through the one trait of `engine`; `measure` is what is
//! looked at meanwhile. Each run is a process of its own (`child`), in turn with the other engines
//! (`schedule`), and what came out is `foldb_report`'s `Results`, which `tables` prints.

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
pub mod tables;
pub mod workload;
