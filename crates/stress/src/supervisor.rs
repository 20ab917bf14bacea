//! Starts workers, kills them, and keeps their acknowledgements.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::arguments::Run;
use crate::coverage::{Counted, Totals};
use crate::features::{Features, draws};
use crate::report::{Line, Progress};
use crate::rivals;
use crate::surroundings::{self, visitor};

/// A worker whose check takes longer than this counts as hanging.
const LONGEST_CHECK: Duration = Duration::from_secs(120);

/// Runs all databases of a run.
///
/// # Errors
/// The first wrong answer, with the seed and the directory of the database. Unless gaps are
/// allowed, also the expected events that never happened.
pub(crate) fn run(run: &Run) -> Result<(), String> {
    let temporary;
    let directory = match &run.directory {
        Some(directory) => directory.clone(),
        None => {
            temporary = tempfile::tempdir().map_err(|error| error.to_string())?;
            temporary.path().to_owned()
        }
    };
    let directory = std::path::absolute(directory).map_err(|error| error.to_string())?;
    std::fs::create_dir_all(&directory)
        .map_err(|error| format!("cannot create {}: {error}", directory.display()))?;
    let progress = ProgressBar::new(run.databases * u64::from(run.kills));
    let style = "{elapsed_precise} [{bar:30}] {pos}/{len} kills, {per_sec}, {eta} left; {msg}";
    if let Ok(style) = ProgressStyle::with_template(style) {
        progress.set_style(style);
    }
    let begun = Instant::now();
    let (mut totals, mut kills) = (Totals::new(), 0);
    for seed in run.seed..run.seed.saturating_add(run.databases) {
        progress.set_message(format!("seed {seed}"));
        let mut database = Database::new(run, &directory, seed);
        let outcome = database.run(&progress);
        kills += database.kills;
        for (name, count) in &database.totals {
            *totals.entry(name.clone()).or_default() += count;
        }
        if let Err(message) = outcome {
            progress.abandon();
            if run.directory.is_none() {
                let kept = PathBuf::from(format!("foldb-stress-{seed}"));
                let _best_effort = copy(&database.path, &kept);
                return Err(format!(
                    "seed {seed}: {message}; the database is in {}",
                    kept.display()
                ));
            }
            let path = database.path.display();
            return Err(format!("seed {seed}: {message}; the database is in {path}"));
        }
        database.remove()?;
    }
    progress.finish_and_clear();
    print_summary(run, kills, begun.elapsed(), &totals);
    match gaps(&totals) {
        gaps if gaps.is_empty() || run.allow_gaps => Ok(()),
        gaps => Err(format!(
            "nothing wrong was seen, but this never happened: {}; run longer, or pass --allow-gaps",
            gaps.join(", ")
        )),
    }
}

fn print_summary(run: &Run, kills: u64, took: Duration, totals: &Totals) {
    let last = run.seed.saturating_add(run.databases).saturating_sub(1);
    println!("seeds {} to {last}: {kills} kills survived in {:.0} s", run.seed, took.as_secs_f64());
    for counted in Counted::ALL {
        println!("{:>12}  {}", totals.get(&counted.name()).unwrap_or(&0), counted.name());
    }
}

/// Returns the events that never happened.
fn gaps(totals: &Totals) -> Vec<String> {
    let names = Counted::ALL.into_iter().map(Counted::name);
    names.filter(|name| totals.get(name).is_none_or(|&count| count == 0)).collect()
}

/// Copies the files of a directory.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        std::fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// One database and its lives.
struct Database<'a> {
    run: &'a Run,
    seed: u64,
    path: PathBuf,
    rng: fastrand::Rng,
    /// Progress of each thread.
    threads: Vec<Progress>,
    totals: Totals,
    kills: u64,
}

impl<'a> Database<'a> {
    fn new(run: &'a Run, directory: &Path, seed: u64) -> Database<'a> {
        let threads = usize::from(Features::draw(seed).threads);
        Database {
            run,
            seed,
            path: directory.join(format!("seed-{seed}")),
            rng: draws(seed, "kills", &[]),
            threads: vec![Progress::default(); threads],
            totals: Totals::new(),
            kills: 0,
        }
    }

    fn run(&mut self, progress: &ProgressBar) -> Result<(), String> {
        if Features::draw(self.seed).rivals {
            let path = self.path.with_extension("rivals");
            rivals::run(&path, self.seed, self.run.plant.as_deref())?;
            *self.totals.entry(Counted::Rivals.name()).or_default() += 1;
        }
        for life in 0..self.run.kills {
            // Many short lives, because opens do most of the risky work.
            let longest = self.run.life.max(2);
            let time = self.rng.u64(1..=self.rng.clone().u64(1..longest));
            let time = Duration::from_millis(time);
            if self.rng.u8(..4) == 0 {
                self.live(life, &End::Close(time))?;
            } else {
                self.live(life, &End::Kill(time))?;
                self.kills += 1;
            }
            progress.inc(1);
        }
        self.live(self.run.kills, &End::Check)?;
        // The check also follows a clean close.
        self.live(self.run.kills + 1, &End::Check)?;
        let orphans = surroundings::orphans(&self.path)?;
        *self.totals.entry(Counted::Orphan.name()).or_default() += orphans;
        Ok(())
    }

    /// Starts a worker and follows it to its end.
    fn live(&mut self, life: u32, end: &End) -> Result<(), String> {
        let mut child = self.spawn(life, end)?;
        let stdout = child.stdout.take().ok_or("the worker has no output")?;
        let (begun, has_begun) = mpsc::channel();
        let before = self.threads.clone();
        let reader = thread::spawn(move || read_lines(stdout, before, &begun));
        let mut visited = Ok(());
        let ended = match end {
            End::Kill(time) => {
                let begun = has_begun.recv_timeout(LONGEST_CHECK).is_ok();
                if begun {
                    visited = self.visit();
                }
                begun && ends_within(&mut child, *time)
            }
            End::Close(_) | End::Check => ends_within(&mut child, LONGEST_CHECK),
        };
        let _it_has_ended_already = child.kill();
        let status = child.wait();
        let status = status.map_err(|error| format!("cannot wait for the worker: {error}"))?;
        let told = reader.join().map_err(|_| "the reader of the worker's output panicked")?;
        if let Some(message) = told.wrong {
            return Err(format!("life {life}: {message}"));
        }
        visited.map_err(|message| format!("life {life}: {message}"))?;
        if !told.checked {
            return Err(format!("life {life}: the worker ended or hung before its check was done"));
        }
        let kills = matches!(end, End::Kill(_));
        if ended && (kills || !status.success()) {
            return Err(format!("life {life}: the worker ended by itself: {status}"));
        }
        if !ended && !kills {
            return Err(format!("life {life}: the worker hangs"));
        }
        self.threads = told.threads;
        for (name, count) in told.counts {
            *self.totals.entry(name).or_default() += count;
        }
        Ok(())
    }

    /// Lets a second process use the database, if the seed says so.
    fn visit(&mut self) -> Result<(), String> {
        if Features::draw(self.seed).surroundings.visitors {
            visitor::start(&self.path, self.seed, self.run.plant.as_deref())?;
            *self.totals.entry(Counted::Visit.name()).or_default() += 1;
        }
        Ok(())
    }

    fn spawn(&self, life: u32, end: &End) -> Result<Child, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut command = Command::new(program);
        command.arg("worker").arg("--database").arg(&self.path);
        command.args(["--seed", &self.seed.to_string(), "--life", &life.to_string()]);
        command.args(["--patience", &self.run.patience.to_string()]);
        for thread in &self.threads {
            command.args(["--thread", &thread.to_string()]);
        }
        match end {
            End::Kill(_) => {}
            End::Close(time) => {
                command.args(["--close-after", &time.as_millis().to_string()]);
            }
            End::Check => {
                command.arg("--check-only");
            }
        }
        if let Some(fault) = &self.run.plant {
            command.args(["--plant", fault]);
        }
        command.stdout(Stdio::piped());
        command.spawn().map_err(|error| format!("cannot start a worker: {error}"))
    }

    /// Removes the database, and the checkpoints that killed workers left.
    fn remove(&self) -> Result<(), String> {
        let Some(directory) = self.path.parent() else { return Ok(()) };
        let prefix = format!("seed-{}", self.seed);
        let entries = std::fs::read_dir(directory).map_err(|error| error.to_string())?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name == prefix || name.starts_with(&format!("{prefix}.")) {
                let path = entry.path();
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let removed = match is_directory {
                    true => std::fs::remove_dir_all(path),
                    false => std::fs::remove_file(path),
                };
                removed.map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }
}

fn ends_within(child: &mut Child, time: Duration) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < time {
        if let Ok(Some(_)) = child.try_wait() {
            return true;
        }
        thread::sleep(Duration::from_millis(5));
    }
    false
}

/// How a life ends.
enum End {
    /// By a kill, this long after the check.
    Kill(Duration),
    /// By a close, this long after the check.
    Close(Duration),
    /// By a close, right after the check.
    Check,
}

/// The reports of a worker in its life.
struct Told {
    threads: Vec<Progress>,
    counts: Totals,
    checked: bool,
    wrong: Option<String>,
}

fn read_lines(
    output: impl std::io::Read,
    threads: Vec<Progress>,
    begun: &mpsc::Sender<()>,
) -> Told {
    let mut found = 0;
    let mut told = Told { threads, counts: Totals::new(), checked: false, wrong: None };
    for line in BufReader::new(output).split(b'\n') {
        let Ok(line) = line else { break };
        let Some(line) = Line::parse(&String::from_utf8_lossy(&line)) else { continue };
        line.note(&mut told.threads);
        match line {
            Line::Found { .. } => {
                found += 1;
                told.checked = found == told.threads.len();
            }
            Line::Begun => {
                let _the_supervisor_gave_up = begun.send(());
            }
            Line::Count { name, count } => {
                told.counts.insert(name, count);
            }
            Line::Wrong { message } => told.wrong = Some(message),
            Line::Acknowledged { .. } | Line::Failed { .. } => {}
        }
    }
    told
}
