//! All runs in their order: job by job, and within a job the engines in turn (A B A B), each
//! repetition anew.
//!
//! ```text
//! DIR/results.json                    what tables and page are made of
//! DIR/report.html                     the page
//! DIR/runs/JOB__ENGINE__N.json        one run: it is there, so it is not run again
//! DIR/runs/JOB__ENGINE__N.log         what the child said
//! DIR/runs/JOB__ENGINE__N.LOG         the engine's own log, where it keeps one
//! DIR/runs/JOB__probe.json            the bare machine before it
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
use crate::workload::{self, Job};

/// Version of `results.json`.
const FORMAT: u32 = 1;
/// Where databases in memory are.
const IN_MEMORY: &str = "/dev/shm";
/// How far foldb's statistics may be from what the kernel counted: a fiftieth, and what files of a
/// few bytes may add.
const DOUBTFUL: f64 = 0.02;
const NEGLIGIBLE: u64 = 64 << 10;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// What to run.
    pub jobs: Vec<&'static Job>,
    /// On which engines.
    pub engines: Vec<Name>,
    /// How large.
    pub scale: Scale,
    /// How often.
    pub repetitions: u32,
    /// Where results go.
    pub out: PathBuf,
    /// Where databases are, if not there.
    pub databases: Option<PathBuf>,
    /// MergeDB's program.
    pub mergedb: Option<PathBuf>,
}

/// What became of it.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// All that was measured, earlier runs in the same directory among it.
    pub results: Results,
    /// Runs that failed.
    pub failures: Vec<String>,
}

/// Runs what is asked for and is not there yet.
///
/// # Errors
/// The directory cannot be used. A run that fails is no error: the others go on.
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
        // Nothing is left in memory; a directory that somebody named, or that holds more, stays.
        let _stays = if job.in_memory() { fs::remove_dir(&place) } else { Ok(()) };
        store.put_results(&store.results(request))?;
    }
    Ok(Done { results: store.results(request), failures })
}

/// Where foldb's own statistics are not what the kernel counted, each in a sentence.
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
    /// That there is anything to run.
    ///
    /// # Errors
    /// None of the engines is there and takes part in a job, with why.
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

    /// Who takes part in `job`.
    fn engines_of(&self, job: &Job) -> Vec<Name> {
        let there = |engine: &Name| engine.describe(self.mergedb.is_some()).absent.is_none();
        let asked = |engine: &Name| self.engines.contains(engine);
        let mut engines: Vec<_> = job.engines.iter().copied().filter(asked).filter(there).collect();
        // What the harness costs is only told to who asks for it by name.
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

/// One run, its database made and removed.
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

/// What a directory of results holds.
struct Store {
    out: PathBuf,
    began: String,
    commit: String,
}

impl Store {
    /// The directory of a request.
    ///
    /// # Errors
    /// It holds results of another scale, or cannot be written to.
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

    /// All that is there, in the order of the table and of the runs.
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
        let ran = |engine: Name| results.runs.iter().any(|run| run.engine == engine.as_str());
        let nothing = [Name::Nothing].into_iter().filter(|&engine| ran(engine));
        let engines = Name::ALL.into_iter().chain(nothing).map(|engine| {
            let given = request.mergedb.is_some() || ran(Name::MergeDb);
            let described = engine.describe(given);
            // A run that is there says more than how this program was built.
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

/// What a file of JSON holds; one that is half written or of another format holds nothing.
fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// Writes it beside its place first: who reads there sees all of it or the one before.
fn write(path: &Path, value: &impl Serialize) -> Result<()> {
    let mut json = serde_json::to_string_pretty(value).map_err(Failure::during("results"))?;
    json.push('\n');
    let beside = path.with_extension("new");
    fs::write(&beside, json).map_err(Failure::file("write", &beside))?;
    fs::rename(&beside, path).map_err(Failure::file("write", path))
}

/// Tells on stderr what runs, and about how long it will.
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
