//! Black-box tests of the `foldb` binary.

mod backup;
mod clock;
mod completions;
mod count;
mod custom_operators;
mod demo;
#[cfg(unix)]
mod docs;
mod dump;
mod dump_text;
#[cfg(unix)]
mod examples;
mod expiry;
#[cfg(unix)]
mod export;
#[cfg(unix)]
mod export_rocksdb;
mod foldb;
mod gc;
#[cfg(unix)]
mod import;
#[cfg(unix)]
mod import_rocksdb;
mod json;
mod keys;
mod keyspaces;
mod kill;
mod load;
mod locations;
mod metrics;
mod operands;
mod options;
#[cfg(unix)]
mod original;
mod output;
#[cfg(feature = "parquet")]
mod parquet;
mod points;
mod queue;
mod repair;
mod resume;
#[cfg(unix)]
mod rocksdb;
mod rows;
mod scan;
mod strangers;
mod typed;
mod updates;
mod usage;
mod watching;
