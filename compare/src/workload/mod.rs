//! The jobs, each with one row of the table or several, and the code that runs them on any engine.

mod calls;
mod cold;
mod general;
mod grown;
mod growth;
mod job;
mod passes;
mod published;
mod queue;
mod session;
mod stores;
mod table;
mod wide;
mod writes;

use std::path::Path;

use foldb_report::results::{self, Run};

use crate::engine::{Engine, Name};
use crate::failure::{Failure, Result};
use crate::scale::Scale;
use crate::store::{Store, on_store};

pub use self::general::DOES_NOT_COUNT;
pub use self::job::{Call, Job, Row, Sizes, StoreTask, Task};
pub use self::table::{JOBS, at_scale, find, row_named, rows, select};

/// Runs `job` on an engine, with a fresh database in `directory`. Returns one run for each row.
///
/// # Errors
/// Fails if a call of the engine or a measurement fails.
pub fn run<E: Engine>(job: &Job, scale: Scale, directory: &Path) -> Result<Vec<Run>> {
    let sizes = job.sizes(scale);
    match job.task {
        Task::Merge { .. } => writes::merge::<E>(job, &sizes, directory),
        Task::Offered { a_second, .. } => writes::offered::<E>(job, &sizes, a_second, directory),
        Task::Growth { steps } => growth::grow::<E>(job, &sizes, steps, directory),
        Task::Update => writes::update::<E>(job, &sizes, directory),
        Task::MergeThenRead => writes::merge_then_read::<E>(job, &sizes, directory),
        Task::FillThenReadCold => cold::fill_then_read::<E>(job, &sizes, directory),
        Task::FillThenScan => passes::fill_then_scan::<E>(job, &sizes, directory),
        Task::Max { cached, .. } => passes::max::<E>(job, &sizes, cached, directory),
        Task::Scans => passes::scans::<E>(job, &sizes, directory),
        Task::Store { .. } => Err(Failure::new(format!("{}: needs a general store", job.name))),
    }
}

/// Runs a job of a general store on the store `S`, which `engine` names.
///
/// # Errors
/// Fails if a call of the engine fails, if the result is wrong, or if the job is of another kind.
pub fn run_store<S: Store>(
    job: &Job,
    engine: Name,
    scale: Scale,
    directory: &Path,
) -> Result<Vec<Run>> {
    match job.task {
        Task::Store { task, .. } => {
            general::run::<S>(job, task, engine, &job.sizes(scale), directory)
        }
        _ => Err(Failure::new(format!("{}: is no job of a general store", job.name))),
    }
}

/// Runs a job of a general store on a named engine.
///
/// # Errors
/// As [`run_store`]; also if the engine was not built or is no general store.
pub fn run_general(job: &Job, engine: Name, scale: Scale, directory: &Path) -> Result<Vec<Run>> {
    match (job.task, engine) {
        (Task::Store { task: StoreTask::Queue { flushed }, .. }, Name::Foldb) => {
            queue::run(job, flushed, &job.sizes(scale), directory)
        }
        (Task::Store { task: StoreTask::Call(call), .. }, Name::Foldb) => {
            calls::run(job, call, &job.sizes(scale), directory)
        }
        _ => on_store!(engine, S => run_store::<S>(job, engine, scale, directory)),
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
            percentile: self.percentile,
        }
    }
}
