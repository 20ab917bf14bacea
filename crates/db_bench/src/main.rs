//! The `db_bench` command: RocksDB's and LevelDB's benchmark commands, run against foldb.
//!
//! Command lines of either program run here unchanged, and print lines that the same scripts parse.
//! `docs/db_bench.md` lists flags, benchmarks and differences.
//!
//! A run uses these modules in order. [`flags`] parses the command line. [`plan`] turns it into
//! checked settings before anything changes. [`session`] opens the database and runs each
//! [`benchmark`] on its threads. [`workload`] is the work of one thread; [`recorder`] counts and
//! times it, and [`report`] prints the result. With `--report`, [`evidence`] collects the data of a
//! page.
#![forbid(unsafe_code)]

mod benchmark;
mod budget;
mod csv;
mod evidence;
mod failure;
mod flags;
mod header;
mod help;
mod histogram;
mod keys;
mod observed;
mod plan;
mod rate;
mod recorder;
mod repeated;
mod report;
mod session;
mod settings;
mod values;
mod workload;

use std::process::ExitCode;

use failure::Failure;

fn main() -> ExitCode {
    match run() {
        Ok(()) | Err(Failure::OutputClosed) => ExitCode::SUCCESS,
        Err(Failure::Message(message)) => {
            eprintln!("db_bench: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let parsed = flags::parse(std::env::args_os().skip(1))?;
    match parsed.request {
        flags::Request::Help => help::print(&mut std::io::stdout().lock()),
        flags::Request::Version => help::print_version(&mut std::io::stdout().lock()),
        flags::Request::Run => {
            let plan = plan::Plan::new(parsed.flags)?;
            flags::note_without_effect(&parsed.without_effect);
            settings::note_other_numbers(&plan.flags);
            session::run(plan)
        }
    }
}
