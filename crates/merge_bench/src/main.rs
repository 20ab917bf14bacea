//! The `merge_bench` command: how fast merges of value segments give space back, and what readers
//! and writers feel of it.
//!
//! The way of a run: [`arguments`] reads the command line, [`matrix`] turns it into cases, [`plan`]
//! says which keys of a case are overwritten and deleted and what every key must be afterwards,
//! [`prepare`] makes a database of that once, and [`repetition`] measures copies of it: [`load`]
//! reads and writes beside the merge that [`measure`] times. [`verify`] opens each copy anew and
//! looks at every key. [`session`] does it case by case and [`mod@print`] shows what
//! [`foldb_report::merges`] makes of it. `docs/merge_bench.md` tells what every figure means.
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
