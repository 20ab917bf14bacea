//! A soak: many bytes written in a moving window of keys, over one open database.
//!
//! The run samples memory, file handles, space and latency. After a warm-up, it compares the first
//! tenth of the samples with the last. It fails if a figure grew too much, or if a read was wrong.
//!
//! Invariant: the window bounds the live data, so any growth comes from the database.

mod latency;
mod load;
mod window;

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use bytesize::ByteSize;
use foldb::internals::Knobs;
use foldb::{Db, KeyspaceOptions, Options};
use foldb_report::soak::{Bounds, Sample, Verdict};
use foldb_report::{page, system};
use indicatif::{ProgressBar, ProgressStyle};

use self::latency::Latencies;
use self::load::{Keyspaces, Load, Shared, check_all};
use self::window::Window;
use crate::arguments::Soak;
use crate::check::{Wrong, told};

/// Shortest separated value in bytes: all values that are put are longer.
const SEPARATED: usize = 1024;
/// Windows whose bytes are written before samples begin. A key lives a little longer than one
/// window.
const WARM_WINDOWS: u64 = 3;

/// Runs a soak.
///
/// # Errors
/// A wrong read, a failed call, or growth.
pub(crate) fn run(soak: &Soak) -> Result<(), String> {
    let temporary;
    let directory = match &soak.dir {
        Some(directory) => directory.as_path(),
        None => {
            temporary = tempfile::tempdir().map_err(|error| error.to_string())?;
            temporary.path()
        }
    };
    std::fs::create_dir_all(directory)
        .map_err(|error| format!("cannot create {}: {error}", directory.display()))?;
    let path = directory.join("database");
    if path.exists() {
        return Err(format!("{} is there already; remove it first", path.display()));
    }
    let begun = Instant::now();
    let (samples, checked) = write(soak, directory, &path, begun)?;
    let soaked = samples.last().map_or(0, |sample| sample.written);
    let plot = directory.join("soak.svg");
    let warm = soak.window.as_u64().saturating_mul(WARM_WINDOWS);
    let bounds = Bounds { growth: soak.growth, slowdown: soak.slowdown };
    let verdict = Verdict::of(&samples, warm, bounds);
    std::fs::write(&plot, page::soak(&samples, warm))
        .map_err(|error| format!("cannot write {}: {error}", plot.display()))?;
    println!(
        "{} written in {:.0} s, a window of {}; {checked} keys compared at the end",
        ByteSize(soaked),
        begun.elapsed().as_secs_f64(),
        soak.window,
    );
    let verdict =
        verdict.ok_or("too few samples for a verdict: write more, or sample more often")?;
    print!("{verdict}");
    if soak.dir.is_some() {
        println!("samples.csv and soak.svg are in {}", directory.display());
    }
    remove(&path)?;
    match verdict.passes() {
        true => Ok(()),
        false => Err("the database grew or slowed down".to_owned()),
    }
}

fn remove(path: &Path) -> Result<(), String> {
    std::fs::remove_dir_all(path)
        .map_err(|error| format!("cannot remove {}: {error}", path.display()))
}

/// The default settings, with buffers and files small enough that a small window replaces them as a
/// large one does.
fn options(window: ByteSize) -> Options {
    let most = Options::default();
    let share = window.as_u64() / 8;
    Options {
        default: KeyspaceOptions {
            value_separation_min: Some(SEPARATED),
            ..KeyspaceOptions::default()
        },
        write_buffer_size: most.write_buffer_size.min(share.max(1 << 20) as usize),
        knobs: Knobs {
            segment_size: most.knobs.segment_size.min(share.max(1 << 20)),
            ..most.knobs
        },
        ..most
    }
}

/// Writes, samples and checks, then opens once more and compares everything.
fn write(
    soak: &Soak,
    directory: &Path,
    path: &Path,
    begun: Instant,
) -> Result<(Vec<Sample>, u64), Wrong> {
    let options = Options { create_if_missing: true, ..options(soak.window) };
    let db = Db::open(path, options).map_err(told("the database does not open"))?;
    let keyspaces = Keyspaces::of(db)?;
    let threads = u64::from(soak.threads);
    let windows: Vec<Window> = (0..soak.threads)
        .map(|thread| Window::new(thread, soak.window.as_u64() / threads))
        .collect();
    let shared = Shared {
        keyspaces: &keyspaces,
        written: AtomicU64::new(0),
        ends: AtomicBool::new(false),
        rate: soak.rate.map(|rate| rate.as_u64() as f64 / threads as f64),
        leaked: soak.leak.then(Mutex::default),
    };
    let latencies: Vec<Mutex<Latencies>> = windows.iter().map(|_| Mutex::default()).collect();
    let (samples, steps) = thread::scope(|scope| {
        let workers = windows.iter().zip(&latencies).map(|(window, latencies)| {
            let load = Load::new(&shared, latencies, *window);
            scope.spawn(|| load.work())
        });
        let workers: Vec<_> = workers.collect();
        let samples = Sampler { soak, shared: &shared, latencies: &latencies, path, begun }
            .sample(directory, &workers);
        shared.ends.store(true, Ordering::Relaxed);
        let steps: Result<Vec<u64>, Wrong> = workers
            .into_iter()
            .map(|worker| worker.join().map_err(|_| "a thread panicked".to_owned())?)
            .collect();
        Ok::<_, Wrong>((samples?, steps?))
    })?;
    drop(shared);
    let ended: Vec<(Window, u64)> = windows.into_iter().zip(steps).collect();
    keyspaces.db.close().map_err(told("the database does not close"))?;
    drop(keyspaces);
    let db = Db::open(path, self::options(soak.window))
        .map_err(told("the database does not open again"))?;
    let keyspaces = Keyspaces::of(db)?;
    let checked = check_all(&keyspaces, &ended)?;
    keyspaces.db.verify().map_err(told("the database does not verify"))?;
    keyspaces.db.close().map_err(told("the database does not close again"))?;
    Ok((samples, checked))
}

/// Samples the process and its directory at intervals.
struct Sampler<'a> {
    soak: &'a Soak,
    shared: &'a Shared<'a>,
    latencies: &'a [Mutex<Latencies>],
    path: &'a Path,
    begun: Instant,
}

impl Sampler<'_> {
    /// Samples until enough is written, time is up or a thread has ended.
    fn sample(
        &self,
        directory: &Path,
        workers: &[ScopedJoinHandle<'_, Result<u64, Wrong>>],
    ) -> Result<Vec<Sample>, Wrong> {
        let path = directory.join("samples.csv");
        let failed = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
        let mut file = File::create(&path).map_err(failed)?;
        writeln!(file, "{}", Sample::CSV_HEADER).map_err(failed)?;
        let progress = progress(self.soak.bytes.as_u64());
        let mut samples = Vec::new();
        let (mut all, mut number) = (Latencies::default(), 0);
        loop {
            number += 1;
            let due = Duration::from_millis(self.soak.sample).saturating_mul(number);
            thread::sleep(due.saturating_sub(self.begun.elapsed()));
            for latencies in self.latencies {
                all.take(&mut latencies.lock().unwrap_or_else(PoisonError::into_inner));
            }
            let sample = self.take(&mut all)?;
            writeln!(file, "{}", sample.csv()).map_err(failed)?;
            progress.set_position(sample.written);
            let is_late = self.soak.seconds.is_some_and(|most| sample.at >= most as f64);
            let is_done = sample.written >= self.soak.bytes.as_u64();
            samples.push(sample);
            if is_late || is_done || workers.iter().any(ScopedJoinHandle::is_finished) {
                progress.finish_and_clear();
                return Ok(samples);
            }
        }
    }

    fn take(&self, latencies: &mut Latencies) -> Result<Sample, Wrong> {
        let stats = self.shared.keyspaces.db.stats();
        let [puts, gets, control] = latencies.percentiles();
        Ok(Sample {
            at: self.begun.elapsed().as_secs_f64(),
            written: self.shared.written.load(Ordering::Relaxed),
            resident: system::resident_memory().ok_or("this system does not tell of memory")?,
            handles: system::open_handles().ok_or("this system does not tell of file handles")?,
            space: system::space(self.path).ok_or("the database's directory cannot be read")?,
            device: system::Moved::now().map_or(0, |moved| moved.device),
            stalled: stats.stall_micros as f64 / 1e6,
            garbage_collections: stats.garbage_collections,
            puts,
            gets,
            control,
        })
    }
}

fn progress(bytes: u64) -> ProgressBar {
    let progress = ProgressBar::new(bytes);
    let style = "{elapsed_precise} [{bar:30}] {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(style) {
        progress.set_style(style);
    }
    progress
}
