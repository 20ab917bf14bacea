//! `foldb-stress`: works on a database with several threads, kills the process, and checks the
//! database that is left. It runs for hours on the real file system.
//!
//! ```text
//!  supervisor ── starts ──► worker: opens, checks, writes with several threads
//!      ▲                       │
//!      └── acknowledgements ───┘ killed at a random moment; the next worker opens what is left
//! ```
//!
//! Every write is a function of the seed, its thread and its number, so neither process stores
//! expected values. The supervisor counts acknowledged writes. A new worker applies that many
//! writes to a model, and compares the whole database with the model. At most one more write of
//! each thread may be visible: the one that the kill interrupted.
//!
//! [`soak`] is one long life without kills: the database's memory, files and latency must not grow.
//!
//! [`surroundings`] is what happens to the process: forks, signals, moved directories, visitors.
//!
//! Some lives end in a close instead. Some databases are on a bad disk that fails, hangs or is slow
//! ([`features::BadDisk`]).
//!
//! Invariant: threads own disjoint keys, so each thread must read its own last write.

#![deny(unsafe_code)]

mod arguments;
mod check;
mod coverage;
mod features;
mod last_handle;
mod mistakes;
mod model;
mod report;
mod rivals;
mod soak;
mod stage;
mod supervisor;
mod surroundings;
mod thread;
mod way;
mod worker;
mod write;

use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::{Arguments, Command};

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Run(run) => supervisor::run(&run),
        Command::Soak(soak) => soak::run(&soak),
        Command::Worker(life) => worker::run(&life),
        Command::Rival(rival) => rivals::compete(&rival),
        Command::Visit(visit) => surroundings::visitor::visit(&visit),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("foldb-stress: {message}");
            ExitCode::FAILURE
        }
    }
}
