//! The `merge_bench` command: how fast garbage collection of value segments reclaims space, and how
//! much it slows readers and writers down. In this program's names, a *merge* is a garbage
//! collection.
//!
//! A run goes through these modules: [`arguments`] reads the command line, and [`matrix`] turns it
//! into cases. [`plan`] says which keys of a case are overwritten and deleted, and every key's
//! expected value. [`prepare`] makes one database from the plan, and [`repetition`] measures copies
//! of it. [`load`] reads and writes during the garbage collection that [`measure`] times.
//! [`verify`] reopens each copy and checks every key. [`session`] runs case by case.
//! [`foldb_report::merges`] turns the figures into tables, and [`mod@print`] prints them.
//! `docs/merge_bench.md` explains every figure.
#![deny(unsafe_code)]

mod allocations;
mod arguments;
mod bare_sync;
mod dataset;
mod deadline;
mod directory;
mod failure;
mod latency;
mod load;
mod matrix;
mod measure;
mod plan;
mod prepare;
mod print;
mod repetition;
mod session;
#[cfg(test)]
mod tests;
mod verify;

use std::process::ExitCode;

use arguments::Request;
use failure::Failure;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

fn main() -> ExitCode {
    match run() {
        Ok(()) | Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => {
            eprintln!("merge_bench: {message}");
            ExitCode::from(2)
        }
        Err(Failure::Message(message)) => {
            eprintln!("merge_bench: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    match arguments::parse(std::env::args_os())? {
        Request::Answer(text) => print::answer(&text),
        Request::Run(settings) => session::run(&settings),
    }
}
