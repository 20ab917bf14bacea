//! Black-box tests of the `foldb` binary.

mod completions;
mod count;
mod custom_operators;
mod demo;
#[cfg(unix)]
mod docs;
mod dump;
mod foldb;
mod gc;
mod hazards;
mod keyspaces;
mod kill;
mod links;
mod load;
mod locations;
mod options;
mod output;
mod points;
mod repair;
mod resume;
mod scan;
mod usage;
