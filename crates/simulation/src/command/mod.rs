//! The command line: runs seeds, and says which gave a wrong answer.

mod arguments;
mod fleet;

use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser as _;
use foldb_simulation::counts::Counts;
use foldb_simulation::machine;
use foldb_simulation::report::Report;
use foldb_simulation::world::simulate;
use foldb_stress::own_code::quiet_panics_by_design;

use crate::command::arguments::{Arguments, Command, Seed};

pub(crate) fn run() -> ExitCode {
    machine::fix_addresses();
    let outcome = match Arguments::parse().command {
        Command::Run(seeds) => fleet::run(&seeds),
        Command::Seed(seed) => run_here(&seed),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("foldb-simulate: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run_here(Seed { seed, plant }: &Seed) -> Result<(), String> {
    if let Some(name) = plant {
        let fault = foldb::faults::Fault::from_name(name);
        foldb::faults::plant_everywhere(fault.ok_or_else(|| {
            let names = foldb::faults::Fault::ALL.map(|fault| format!("{fault:?}"));
            format!("no fault is called '{name}'; there are {}", names.join(", "))
        })?);
    }
    quiet_panics_by_design();
    let counts = Arc::new(Counts::default());
    let run = simulate(*seed, &counts);
    let wrong = match run.outcome {
        Ok(outcome) => outcome.err(),
        Err(panic) => Some(format!("a panic: {panic}")),
    };
    let report = Report::new(&counts, run.trace, wrong.clone());
    print!("{}", report.lines());
    wrong.map_or(Ok(()), Err)
}
