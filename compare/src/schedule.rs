//! Runs all jobs, one after the other. Within a job, each repetition runs every engine once: A B, A
//! B.
//!
//! ```text
//! DIR/results.json                    the results, for tables and page
//! DIR/report.html                     the page
//! DIR/runs/JOB__ENGINE__N.json        one run; if the file exists, the run is not repeated
//! DIR/runs/JOB__ENGINE__N.log         the output of the child
//! DIR/runs/JOB__ENGINE__N.LOG         the engine's own log, if it writes one
//! DIR/runs/JOB__probe.json            the probe of the disk before the job
//! ```

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use foldb_report::results::{Probe, Results, Run};
use foldb_report::{page, system};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::child::{self, Order};
use crate::engine::Name;
use crate::external;
use crate::failure::{Failure, Result};
use crate::measure::commit;
use crate::probe;
use crate::scale::Scale;
use crate::tables;
use crate::workload::{self, Job};

/// Version of `results.json`.
const FORMAT: u32 = 1;
/// Directory of databases in memory.
const IN_MEMORY: &str = "/dev/shm";
/// Largest difference between foldb's statistics and the kernel's figures, as a fraction. Small
/// files may add a little more.
const DOUBTFUL: f64 = 0.02;
const NEGLIGIBLE: u64 = 64 << 10;

/// The request of a command line.
#[derive(Clone, Debug)]
pub struct Request {
    /// The jobs to run.
    pub jobs: Vec<&'static Job>,
    /// The engines to run them on.
    pub engines: Vec<Name>,
    /// The size of the workloads.
    pub scale: Scale,
    /// Number of repetitions.
    pub repetitions: u32,
    /// Directory of the results.
    pub out: PathBuf,
    /// Directory of the databases; `None`: below `out`.
    pub databases: Option<PathBuf>,
    /// Path of MergeDB's `db_bench`, if given.
    pub mergedb: Option<PathBuf>,
}

/// The outcome of a request.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// All results, with those of earlier runs in the same directory.
    pub results: Results,
    /// Runs that failed.
    pub failures: Vec<String>,
}

/// Runs the requested jobs, except for runs whose results exist.
///
/// # Errors
/// Fails if the directory cannot be used. A failed run is no error: the other runs continue.
pub fn run(request: &Request) -> Result<Done> {
    let store = Store::open(request)?;
    let mut failures = Vec::new();
    let mut progress = Progress::new(request);
    for job in &request.jobs {
        let engines = request.engines_of(job);
        let place = request.place(job);
        fs::create_dir_all(&place).map_err(Failure::file("create", &place))?;
        if !store.complete(job, &engines, request.repetitions) && !store.has(&probe_name(job)) {
            let bytes = match request.scale {
                Scale::Tiny => probe::BYTES_OF_TESTS,
                _ => probe::BYTES,
            };
            store.put(&probe_name(job), &probe::probe(job.name, &place, bytes)?)?;
        }
        for repetition in 1..=request.repetitions {
            for &engine in &engines {
                let name = run_name(job, engine, repetition);
                let outcome = match store.get::<Vec<Run>>(&name) {
                    Some(runs) => progress.kept(job, engine, repetition, &runs),
                    None => progress.measured(job, engine, repetition, || {
                        let runs = one(request, &store, job, engine, repetition)?;
                        store.put(&name, &runs)?;
                        Ok(runs)
                    }),
                };
                failures.extend(outcome.err().map(|failure| failure.0));
            }
        }
        // Removes the directory in memory. A directory that the user named stays, and so does one
        // that holds other files.
        let _stays = if job.in_memory() { fs::remove_dir(&place) } else { Ok(()) };
        store.put_results(&store.results(request))?;
    }
    Ok(Done { results: store.results(request), failures })
}

/// Returns a sentence for each run whose statistics by foldb differ from the kernel's figures.
pub fn doubtful_statistics(results: &Results) -> Vec<String> {
    let ours = results.runs.iter().filter(|run| run.engine == Name::Foldb.as_str());
    ours.filter_map(|run| {
        let written = run.written.as_ref()?;
        let (own, seen) = (written.own?, written.calls + written.mapped);
        let apart = own.abs_diff(seen);
        (apart > NEGLIGIBLE && apart as f64 > seen as f64 * DOUBTFUL).then(|| {
            format!("{}: foldb says it wrote {own} bytes, the kernel saw {seen}", run.workload)
        })
    })
    .collect()
}

impl Request {
    /// Checks that the request has at least one run.
    ///
    /// # Errors
    /// Fails if no requested engine can run any requested job; the error says why.
    pub fn check(&self) -> Result<()> {
        if self.jobs.iter().any(|job| !self.engines_of(job).is_empty()) {
            return Ok(());
        }
        let why = self.engines.iter().map(|engine| {
            let absent = engine.describe(self.mergedb.is_some()).absent;
            let why = absent.unwrap_or_else(|| "takes no part in these workloads".to_owned());
            format!("{}: {why}", engine.as_str())
        });
        Err(Failure::new(format!("nothing to run; {}", why.collect::<Vec<_>>().join("; "))))
    }

    /// Returns the requested engines that run `job`.
    fn engines_of(&self, job: &Job) -> Vec<Name> {
        let there = |engine: &Name| engine.describe(self.mergedb.is_some()).absent.is_none();
        let asked = |engine: &Name| self.engines.contains(engine);
        let mut engines: Vec<_> = job.engines.iter().copied().filter(asked).filter(there).collect();
        // The cost of the harness is measured only if the user names it.
        engines.extend(self.engines.contains(&Name::Nothing).then_some(Name::Nothing));
        engines
    }

    /// Directory of the databases of `job`.
    fn place(&self, job: &Job) -> PathBuf {
        let memory = Path::new(IN_MEMORY);
        if job.in_memory() && memory.is_dir() {
            return memory.join(format!("foldb-compare-{}", std::process::id()));
        }
        self.databases.clone().unwrap_or_else(|| self.out.join("databases"))
    }
}

/// Makes one run: creates its database, and removes the database afterwards.
fn one(
    request: &Request,
    store: &Store,
    job: &Job,
    engine: Name,
    repetition: u32,
) -> Result<Vec<Run>> {
    let place = request.place(job);
    let name = run_name(job, engine, repetition);
    let directory = place.join(format!("{}-{}", file_name(job.name), engine.as_str()));
    remove(&directory)?;
    fs::create_dir_all(&directory).map_err(Failure::file("create", &directory))?;
    let log = store.path(&name, "log");
    let outcome = match (&request.mergedb, engine) {
        (Some(program), Name::MergeDb) => {
            external::run(program, job, request.scale, &directory, &log)
        }
        _ => {
            let order = Order {
                job: job.name.to_owned(),
                engine: engine.as_str().to_owned(),
                scale: request.scale.name().to_owned(),
                directory: directory.clone(),
                output: store.path(&name, "measured"),
            };
            let runs = child::run(&order, &log);
            let _gone = fs::remove_file(&order.output);
            runs
        }
    };
    let own_log = directory.join("LOG");
    if own_log.is_file() {
        let copy = store.path(&name, "LOG");
        fs::copy(&own_log, &copy).map_err(Failure::file("write", &copy))?;
    }
    remove(&directory)?;
    let named = |run: Run| Run { engine: engine.as_str().to_owned(), repetition, ..run };
    outcome.map(|runs| runs.into_iter().map(named).collect())
}

fn remove(directory: &Path) -> Result<()> {
    match directory.exists() {
        true => fs::remove_dir_all(directory).map_err(Failure::file("remove", directory)),
        false => Ok(()),
    }
}

fn file_name(job: &str) -> String {
    job.replace('/', "_")
}

fn run_name(job: &Job, engine: Name, repetition: u32) -> String {
    format!("{}__{}__{repetition}", file_name(job.name), engine.as_str())
}

fn probe_name(job: &Job) -> String {
    format!("{}__probe", file_name(job.name))
}

/// A directory of results.
struct Store {
    out: PathBuf,
    began: String,
    commit: String,
}

impl Store {
    /// Opens the directory of a request.
    ///
    /// # Errors
    /// Fails if the directory holds results of another scale, or cannot be written to.
    fn open(request: &Request) -> Result<Store> {
        let out = request.out.clone();
        let runs = out.join("runs");
        fs::create_dir_all(&runs).map_err(Failure::file("create", &runs))?;
        let mut store = Store { out, began: humantime_now(), commit: commit() };
        if let Some(earlier) = read::<Results>(&store.out.join("results.json")) {
            if earlier.scale != request.scale.name() {
                return Err(Failure::new(format!(
                    "{} holds results of scale {}: give another directory with --out",
                    request.out.display(),
                    earlier.scale
                )));
            }
            if earlier.commit != store.commit {
                eprintln!(
                    "foldb-compare: runs of commit {} in {} are kept; this is {}",
                    earlier.commit,
                    request.out.display(),
                    store.commit
                );
            }
            store.began = earlier.began;
        } else {
            store.put_results(&store.results(request))?;
        }
        Ok(store)
    }

    fn path(&self, name: &str, extension: &str) -> PathBuf {
        self.out.join("runs").join(format!("{name}.{extension}"))
    }

    fn has(&self, name: &str) -> bool {
        self.path(name, "json").is_file()
    }

    fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        read(&self.path(name, "json"))
    }

    fn put(&self, name: &str, value: &impl Serialize) -> Result<()> {
        write(&self.path(name, "json"), value)
    }

    fn put_results(&self, results: &Results) -> Result<()> {
        write(&self.out.join("results.json"), results)?;
        let page = self.out.join("report.html");
        fs::write(&page, page::html(results)).map_err(Failure::file("write", &page))
    }

    fn complete(&self, job: &Job, engines: &[Name], repetitions: u32) -> bool {
        let mut runs = engines.iter().flat_map(|&engine| {
            (1..=repetitions).map(move |repetition| run_name(job, engine, repetition))
        });
        runs.all(|name| self.has(&name))
    }

    /// Returns all stored results, in the order of the table and of the runs.
    fn results(&self, request: &Request) -> Results {
        let mut results = Results {
            format: FORMAT,
            machine: system::machine(&self.out),
            commit: self.commit.clone(),
            command: std::env::args().collect::<Vec<_>>().join(" "),
            began: self.began.clone(),
            scale: request.scale.name().to_owned(),
            ..Results::default()
        };
        let known = Name::ALL.into_iter().chain([Name::Nothing]);
        for job in workload::JOBS {
            let before = results.runs.len();
            results.probes.extend(self.get::<Probe>(&probe_name(job)));
            for repetition in 1.. {
                let names = known.clone().map(|engine| run_name(job, engine, repetition));
                let mut runs: Vec<Run> =
                    names.filter_map(|name| self.get::<Vec<Run>>(&name)).flatten().collect();
                if runs.is_empty() {
                    break;
                }
                results.runs.append(&mut runs);
            }
            if results.runs.len() > before || request.jobs.contains(&job) {
                let rows = job.rows.iter().map(|row| row.describe(job, request.scale));
                results.workloads.extend(rows);
            }
        }
        for workload in &mut results.workloads {
            let fastest = workload::row_named(&workload.name).is_some_and(|row| row.fastest);
            if fastest {
                workload.peer = tables::fastest_peer(&results.runs, &workload.name);
            }
        }
        let ran = |engine: Name| results.runs.iter().any(|run| run.engine == engine.as_str());
        let nothing = [Name::Nothing].into_iter().filter(|&engine| ran(engine));
        let engines = Name::ALL.into_iter().chain(nothing).map(|engine| {
            let given = request.mergedb.is_some() || ran(Name::MergeDb);
            let described = engine.describe(given);
            // An engine with a stored run was there, even if this build lacks it.
            let absent = described.absent.filter(|_| !ran(engine));
            foldb_report::results::Engine { absent, ..described }
        });
        results.engines = engines.collect();
        results
    }
}

fn humantime_now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// Reads a file of JSON. Returns `None` if the file is incomplete or has another format.
fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// Writes a file of JSON under another name and renames it. A reader sees the whole new file or the
/// old one.
fn write(path: &Path, value: &impl Serialize) -> Result<()> {
    let mut json = serde_json::to_string_pretty(value).map_err(Failure::during("results"))?;
    json.push('\n');
    let beside = path.with_extension("new");
    fs::write(&beside, json).map_err(Failure::file("write", &beside))?;
    fs::rename(&beside, path).map_err(Failure::file("write", path))
}

/// Prints on stderr which run is in progress, and an estimate of its time.
struct Progress {
    scale: Scale,
    repetitions: u32,
    runs: usize,
    begun: usize,
    /// Seconds that the last run of a job on an engine took.
    took: HashMap<(&'static str, &'static str), f64>,
}

impl Progress {
    fn new(request: &Request) -> Progress {
        let engines = request.jobs.iter().map(|job| request.engines_of(job).len()).sum::<usize>();
        Progress {
            scale: request.scale,
            repetitions: request.repetitions,
            runs: engines * request.repetitions as usize,
            begun: 0,
            took: HashMap::new(),
        }
    }

    fn title(&mut self, job: &Job, engine: Name, repetition: u32) -> String {
        self.begun += 1;
        let (begun, runs, all) = (self.begun, self.runs, self.repetitions);
        let engine = engine.as_str();
        format!("[{begun:>3}/{runs}] {:<24} {engine:<18} {repetition} of {all}", job.name)
    }

    fn kept(&mut self, job: &Job, engine: Name, repetition: u32, runs: &[Run]) -> Result<()> {
        let title = self.title(job, engine, repetition);
        eprintln!("{title}  kept       {}", figures(runs));
        Ok(())
    }

    fn measured(
        &mut self,
        job: &'static Job,
        engine: Name,
        repetition: u32,
        measure: impl FnOnce() -> Result<Vec<Run>>,
    ) -> Result<()> {
        let title = self.title(job, engine, repetition);
        let known = self.took.get(&(job.name, engine.as_str())).copied();
        let seconds = known.unwrap_or_else(|| job.estimate(self.scale));
        eprint!("{title}  about {seconds:>3.0} s ");
        let began = Instant::now();
        let outcome = measure();
        self.took.insert((job.name, engine.as_str()), began.elapsed().as_secs_f64());
        match &outcome {
            Ok(runs) => eprintln!("{}", figures(runs)),
            Err(failure) => eprintln!("FAILED: {failure}"),
        }
        outcome.map(|_| ())
    }
}

fn figures(runs: &[Run]) -> String {
    let micros = |run: &Run| format!("{:.3}", run.seconds * 1e6 / run.operations.max(1) as f64);
    format!("{} µs/op", runs.iter().map(micros).collect::<Vec<_>>().join(", "))
}
