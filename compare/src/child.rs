//! Runs one job on one engine in a process of its own, so that the kernel's figures of memory and
//! bytes belong to this job alone.
//!
//! The program calls itself with a hidden command. The child writes its results to a file of JSON.
//! The messages of the engine and the harness go to a log.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Parser;
use foldb_report::results::Run;

use crate::engine::{self, Name};
use crate::failure::{Failure, Result};
use crate::scale::Scale;
use crate::workload::{self, Job, Task};

/// The task of a child process.
#[derive(Clone, Debug, Parser)]
pub struct Order {
    /// Name of the job.
    pub job: String,
    /// Name of the engine.
    pub engine: String,
    /// Name of the scale.
    pub scale: String,
    /// Directory of the database, which must not exist.
    pub directory: PathBuf,
    /// File for the results.
    pub output: PathBuf,
}

/// First argument of a child's command line.
const RUN_ONE: &str = "run-one";

/// Returns the task of this process, if it is a child.
pub fn order() -> Option<Order> {
    let mut arguments = std::env::args_os().skip(1).peekable();
    let is_child = arguments.peek().is_some_and(|first| first == RUN_ONE);
    is_child.then(|| Order::parse_from(arguments))
}

/// In the child: carries the task out.
///
/// # Errors
/// Fails if a call of the engine fails, or if the results cannot be written.
pub fn obey(order: &Order) -> Result<()> {
    let unknown = || Failure::new(format!("unknown job {}", order.job));
    let job = workload::find(&order.job).ok_or_else(unknown)?;
    let (engine, scale) = (Name::named(&order.engine)?, Scale::named(&order.scale)?);
    let runs = dispatch(job, engine, scale, &order.directory)?;
    for run in &runs {
        eprintln!("{run:#?}");
    }
    let json = serde_json::to_string(&runs).map_err(Failure::during("results"))?;
    fs::write(&order.output, json).map_err(Failure::file("write", &order.output))
}

/// Runs `job` on `engine` in this process.
///
/// # Errors
/// Fails if a call of the engine fails, or if the engine was not built.
pub fn dispatch(job: &Job, engine: Name, scale: Scale, directory: &Path) -> Result<Vec<Run>> {
    if let Task::Store { .. } = job.task {
        return workload::run_general(job, engine, scale, directory);
    }
    match engine {
        Name::Foldb => workload::run::<engine::Foldb>(job, scale, directory),
        Name::Nothing => workload::run::<engine::Nothing>(job, scale, directory),
        #[cfg(feature = "rocksdb")]
        Name::RocksDb => workload::run::<engine::RocksDb<engine::Leveled>>(job, scale, directory),
        #[cfg(feature = "rocksdb")]
        Name::RocksDbUniversal => {
            workload::run::<engine::RocksDb<engine::Universal>>(job, scale, directory)
        }
        #[cfg(feature = "fjall")]
        Name::Fjall => workload::run::<engine::Fjall>(job, scale, directory),
        #[cfg(feature = "leveldb")]
        Name::LevelDb => workload::run::<engine::LevelDb>(job, scale, directory),
        #[allow(unreachable_patterns)]
        other => {
            let why = other.absent().unwrap_or_else(|| "runs by its own program".to_owned());
            Err(Failure::new(format!("{}: {why}", other.as_str())))
        }
    }
}

/// In the parent: carries the task out in a child process, whose output goes to `log`.
///
/// # Errors
/// Fails if the child fails; the error names its log.
pub fn run(order: &Order, log: &Path) -> Result<Vec<Run>> {
    let program = program()?;
    let output = File::create(log).map_err(Failure::file("create", log))?;
    let errors = output.try_clone().map_err(Failure::file("create", log))?;
    let status = Command::new(&program)
        .arg(RUN_ONE)
        .args([&order.job, &order.engine, &order.scale])
        .args([&order.directory, &order.output])
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .status()
        .map_err(Failure::file("run", &program))?;
    if !status.success() {
        let said = fs::read_to_string(log).unwrap_or_default();
        let last = said.lines().last().unwrap_or("nothing said").to_owned();
        let (job, engine) = (&order.job, &order.engine);
        return Err(Failure::new(format!("{job} on {engine} failed ({status}): {last}")));
    }
    let json = fs::read_to_string(&order.output).map_err(Failure::file("read", &order.output))?;
    serde_json::from_str(&json).map_err(Failure::during("results of a run"))
}

/// Returns the path of this program, which runs again as the child.
fn program() -> Result<PathBuf> {
    std::env::current_exe().map_err(Failure::during("cannot find this program"))
}
