//! Runs a job of an engine in a process of its own, and measures it.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};

use crate::{Engine, Failed, Job, csv_report};

/// What one run took, and what it answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) seconds: f64,
    /// Processor time of all threads, and of the processes that the job began.
    pub(crate) processor_seconds: f64,
    /// Bytes of the blocks of the store's files after the close.
    pub(crate) disk: u64,
    /// The largest resident size, in bytes.
    pub(crate) memory: u64,
    pub(crate) answer: Vec<String>,
}

/// Runs a job in this process, and prints the figures.
pub(crate) fn once(job: &Job, engine: Engine, directory: &Path, share: f64) -> Result<(), Failed> {
    let store = directory.join("store");
    std::fs::create_dir_all(&store)?;
    let path = store.join("db");
    if job.name == "csv_report" {
        csv_report::prepare(&path, share)?;
    }
    let begin = Instant::now();
    let answer = (job.run)(engine, &path, share)?;
    let seconds = begin.elapsed().as_secs_f64();
    let (own, children) = (used(UsageWho::RUSAGE_SELF)?, used(UsageWho::RUSAGE_CHILDREN)?);
    let figures = Figures {
        seconds,
        processor_seconds: own.0 + children.0,
        disk: disk(&store)?,
        // A job of the shell is measured by its own processes.
        memory: if children.1 > 0 { children.1 } else { high_water()? },
        answer,
    };
    println!("{}", serde_json::to_string(&figures)?);
    Ok(())
}

/// Runs a job with each engine in turn: A B A B. Returns the fastest run of each.
pub(crate) fn in_turns(
    job: &Job,
    engines: &[Engine],
    rounds: u32,
    share: f64,
    directory: &Path,
) -> Result<Vec<(Engine, Figures)>, Failed> {
    let mut fastest: Vec<(Engine, Figures)> = Vec::new();
    for _ in 0..rounds {
        for engine in engines {
            let figures = in_child(job, *engine, share, directory)?;
            match fastest.iter_mut().find(|(known, _)| known == engine) {
                Some((_, known)) if known.seconds > figures.seconds => *known = figures,
                Some(_) => {}
                None => fastest.push((*engine, figures)),
            }
        }
    }
    Ok(fastest)
}

fn in_child(job: &Job, engine: Engine, share: f64, directory: &Path) -> Result<Figures, Failed> {
    let directory = tempfile::tempdir_in(directory)?;
    let ran = Command::new(std::env::current_exe()?)
        .args(["--job", job.name, "--engine", engine.name(), "--share", &share.to_string()])
        .arg("--once")
        .arg(directory.path())
        .stderr(Stdio::inherit())
        .output()?;
    if !ran.status.success() {
        return Err(format!("{} with {}: {}", job.name, engine.name(), ran.status).into());
    }
    Ok(serde_json::from_slice(&ran.stdout)?)
}

/// Returns the processor seconds, and the largest resident bytes.
fn used(by: UsageWho) -> Result<(f64, u64), Failed> {
    let usage = getrusage(by)?;
    let seconds = [usage.user_time(), usage.system_time()]
        .map(|time| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6);
    Ok((seconds.iter().sum(), usage.max_rss() as u64 * 1024))
}

/// Returns the largest resident size of this process.
fn high_water() -> Result<u64, Failed> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)).ok_or("no VmHWM")?;
    Ok(kib.parse::<u64>()? * 1024)
}

/// Returns the bytes of blocks of the files below a directory.
fn disk(directory: &Path) -> Result<u64, Failed> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let about = entry.metadata()?;
        bytes += if about.is_dir() { disk(&entry.path())? } else { about.blocks() * 512 };
    }
    Ok(bytes)
}
