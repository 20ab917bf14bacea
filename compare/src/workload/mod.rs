//! The jobs, each with one row of the table or several, and the code that runs them on any engine.

mod cold;
mod job;
mod passes;
mod session;
mod table;
mod writes;

use std::path::Path;

use foldb_report::results::{self, Run};

use crate::engine::{Engine, Name};
use crate::failure::Result;
use crate::scale::Scale;

pub use self::job::{Job, Row, Sizes, Task};
pub use self::table::{JOBS, find, row_named, rows, select};

/// Runs `job` on an engine, with a fresh database in `directory`. Returns one run for each row.
///
/// # Errors
/// Fails if a call of the engine or a measurement fails.
pub fn run<E: Engine>(job: &Job, scale: Scale, directory: &Path) -> Result<Vec<Run>> {
    let sizes = job.sizes(scale);
    match job.task {
        Task::Merge { .. } => writes::merge::<E>(job, &sizes, directory),
        Task::Update => writes::update::<E>(job, &sizes, directory),
        Task::MergeThenRead => writes::merge_then_read::<E>(job, &sizes, directory),
        Task::FillThenReadCold => cold::fill_then_read::<E>(job, &sizes, directory),
        Task::FillThenScan => passes::fill_then_scan::<E>(job, &sizes, directory),
        Task::Max { cached, .. } => passes::max::<E>(job, &sizes, cached, directory),
        Task::Scans => passes::scans::<E>(job, &sizes, directory),
    }
}

impl Row {
    /// Returns the row as results store it.
    pub fn describe(&self, job: &Job, scale: Scale) -> results::Workload {
        results::Workload {
            name: self.name.to_owned(),
            about: self.about.to_owned(),
            command: job.command(scale),
            peer: self.peer.map(Name::as_str).or(self.against).map(str::to_owned),
            bar: self.bar,
            aim: self.aim,
        }
    }
}
