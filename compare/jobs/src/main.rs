//! Everyday jobs with foldb, SQLite, redb and fjall: lines, time, disk and memory.
//!
//! ```text
//! jobs [--job NAME]... [--engine NAME]... [--rounds N] [--share X] [--directory DIR] [--json FILE]
//! ```
//!
//! Each job of each engine runs in a process of its own. All engines must give the same answer.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod answer;
mod input;
mod lines;
mod measure;
mod table;

#[path = "../activity_feed/mod.rs"]
mod activity_feed;
#[path = "../csv_report/mod.rs"]
mod csv_report;
#[path = "../job_queue/mod.rs"]
mod job_queue;
#[path = "../orders/mod.rs"]
mod orders;
#[path = "../page_views/mod.rs"]
mod page_views;
#[path = "../sessions/mod.rs"]
mod sessions;
#[path = "../small_store/mod.rs"]
mod small_store;
#[path = "../tags/mod.rs"]
mod tags;

pub(crate) type Failed = Box<dyn std::error::Error + Send + Sync>;

/// The lines of a report.
pub(crate) type Outcome = Result<Vec<String>, Failed>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Foldb,
    Sqlite,
    Redb,
    Fjall,
}

impl Engine {
    pub(crate) const ALL: [Engine; 4] =
        [Engine::Foldb, Engine::Sqlite, Engine::Redb, Engine::Fjall];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Engine::Foldb => "foldb",
            Engine::Sqlite => "sqlite",
            Engine::Redb => "redb",
            Engine::Fjall => "fjall",
        }
    }
}

/// A job: its name, the file of foldb's version, and what runs it.
pub(crate) struct Job {
    pub(crate) name: &'static str,
    /// Below `crates` of the repository.
    pub(crate) example: &'static str,
    run: Run,
}

type Run = fn(Engine, &Path, f64) -> Outcome;

pub(crate) const JOBS: [Job; 8] = [
    Job::new("page_views", "typed/examples/page_views.rs", page_views::run),
    Job::new("activity_feed", "typed/examples/activity_feed.rs", activity_feed::run),
    Job::new("orders", "typed/examples/orders.rs", orders::run),
    Job::new("job_queue", "queue/examples/four_workers.rs", job_queue::run),
    Job::new("sessions", "foldb/examples/sessions.rs", sessions::run),
    Job::new("small_store", "foldb/examples/small_store.rs", small_store::run),
    Job::new("csv_report", "cli/examples/csv_report.sh", csv_report::run),
    Job::new("tags", "typed/examples/tags.rs", tags::run),
];

impl Job {
    const fn new(name: &'static str, example: &'static str, run: Run) -> Job {
        Job { name, example, run }
    }

    /// Returns whether an engine can do the job at all.
    pub(crate) fn can(&self, engine: Engine) -> bool {
        self.name != "csv_report" || matches!(engine, Engine::Foldb | Engine::Sqlite)
    }
}

/// What the caller asked for.
struct Asked {
    jobs: Vec<&'static Job>,
    engines: Vec<Engine>,
    rounds: u32,
    share: f64,
    directory: PathBuf,
    json: Option<PathBuf>,
    /// This process is the child that runs one job of one engine.
    once: bool,
}

impl Asked {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Asked, Failed> {
        let (mut jobs, mut engines) = (Vec::new(), Vec::new());
        let (mut rounds, mut share, mut json, mut once) = (1, 1.0, None, false);
        let mut directory = std::env::temp_dir();
        while let Some(flag) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{flag} needs a value"))?;
            match &*flag {
                "--job" => {
                    let found = JOBS.iter().find(|job| job.name == value);
                    jobs.push(found.ok_or_else(|| format!("there is no job '{value}'"))?);
                }
                "--engine" => {
                    let found = Engine::ALL.into_iter().find(|engine| engine.name() == value);
                    engines.push(found.ok_or_else(|| format!("there is no engine '{value}'"))?);
                }
                "--rounds" => rounds = value.parse()?,
                "--share" => share = value.parse()?,
                "--directory" => directory = value.into(),
                "--json" => json = Some(value.into()),
                "--once" => (once, directory) = (true, value.into()),
                _ => return Err(format!("there is no flag '{flag}'").into()),
            }
        }
        if jobs.is_empty() {
            jobs = JOBS.iter().collect();
        }
        if engines.is_empty() {
            engines = Engine::ALL.to_vec();
        }
        Ok(Asked { jobs, engines, rounds, share, directory, json, once })
    }
}

fn main() -> ExitCode {
    match Asked::read(std::env::args().skip(1)).and_then(|asked| answer_to(&asked)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("jobs: {error}");
            ExitCode::FAILURE
        }
    }
}

fn answer_to(asked: &Asked) -> Result<(), Failed> {
    if asked.once {
        return measure::once(asked.jobs[0], asked.engines[0], &asked.directory, asked.share);
    }
    let mut rows = Vec::new();
    for job in &asked.jobs {
        let engines: Vec<_> =
            asked.engines.iter().copied().filter(|engine| job.can(*engine)).collect();
        let measured =
            measure::in_turns(job, &engines, asked.rounds, asked.share, &asked.directory)?;
        answer::compare(job.name, &measured)?;
        rows.push((*job, measured));
        eprintln!("{} done", job.name);
    }
    print!("{}", table::markdown(&rows)?);
    if let Some(file) = &asked.json {
        std::fs::write(file, table::json(&rows)?)?;
    }
    Ok(())
}
