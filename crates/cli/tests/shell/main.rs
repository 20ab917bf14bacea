//! The `foldb` binary, run as people run it.

mod completions;
mod count;
mod demo;
#[cfg(unix)]
mod docs;
mod foldb;
mod kill;
mod load;
mod locations;
mod options;
mod output;
mod points;
mod scan;
mod usage;
