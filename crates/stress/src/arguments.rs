//! The command line.

use std::path::PathBuf;

use bytesize::ByteSize;
use clap::{Args, Parser, Subcommand};

use crate::report::Progress;

/// Kills a working database at random moments and checks what it left.
#[derive(Debug, Parser)]
#[command(version, about)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs workers, kills them and checks; exits with 1 at the first wrong answer.
    ///
    /// A run works on several databases. Each has its own settings and features, drawn from the
    /// seed, and is killed several times. To see one database again, give its seed with
    /// `--databases 1`.
    ///
    /// The seed also draws what happens to the process around the database: relative and linked
    /// paths, a changed working directory, forks, children that outlive a killed parent, 40 file
    /// handles, a directory moved away and back, jumps of the clock, storms of signals, backups,
    /// and a second process that tries to open, destroy and repair, that reads and follows.
    Run(Run),
    /// Writes many bytes in a moving window of keys; exits with 1 if the database grows or slows
    /// down.
    ///
    /// Every read is checked against the expected contents of the window. DIR gets samples.csv (one
    /// line a second), soak.svg (a plot of it), and, while the run lasts, the database.
    Soak(Soak),
    /// The process that `run` starts: one life of one database.
    #[command(hide = true)]
    Worker(Life),
    /// A process that `run` starts several times at once: each opens and destroys one database.
    #[command(hide = true)]
    Rival(Rival),
    /// A process that `run` starts beside a worker, which has the database open.
    #[command(hide = true)]
    Visit(Visit),
}

/// A whole run.
#[derive(Args, Clone, Debug)]
pub(crate) struct Run {
    /// Directory of the databases; a temporary directory unless given. A database that failed its
    /// check stays there.
    #[arg(long)]
    pub directory: Option<PathBuf>,
    /// The seed of the first database; the next one has the next seed.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How many databases the run works on, one after the other.
    #[arg(long, default_value_t = 100)]
    pub databases: u64,
    /// How often each database is killed.
    #[arg(long, default_value_t = 10)]
    pub kills: u32,
    /// Longest life of a worker after its check, in milliseconds.
    #[arg(long, default_value_t = 1000)]
    pub life: u64,
    /// Longest time that a small write may take on a sound disk, in seconds.
    #[arg(long, default_value_t = 10)]
    pub patience: u64,
    /// A deliberate bug to switch on in the engine, to see that the run finds it. Only in builds
    /// with debug assertions.
    #[arg(long, value_name = "FAULT")]
    pub plant: Option<String>,
    /// Succeed even if some expected event never happened, as in short runs.
    #[arg(long)]
    pub allow_gaps: bool,
}

/// A soak.
#[derive(Args, Clone, Debug)]
pub(crate) struct Soak {
    /// Directory of database, samples and plot; a temporary directory unless given.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Bytes of keys and values to write, such as 100GB or 512MiB.
    #[arg(long, default_value = "100GB", value_name = "SIZE")]
    pub bytes: ByteSize,
    /// About how many bytes of keys and values are live at a time.
    #[arg(long, default_value = "3GB", value_name = "SIZE")]
    pub window: ByteSize,
    /// Threads, each with keys of its own.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=64))]
    pub threads: u8,
    /// Most bytes to write in a second; no limit unless given.
    #[arg(long, value_name = "SIZE")]
    pub rate: Option<ByteSize>,
    /// Most seconds; the run ends then even if fewer bytes are written.
    #[arg(long, value_name = "SECONDS")]
    pub seconds: Option<u64>,
    /// Milliseconds between two samples.
    #[arg(long, default_value_t = 1000, value_name = "MS",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub sample: u64,
    /// Largest ratio of the last tenth to the first in memory, file handles and space.
    #[arg(long, default_value_t = 1.25, value_name = "FACTOR")]
    pub growth: f64,
    /// Largest ratio of the last tenth's latency of reads and writes to the first tenth's.
    #[arg(long, default_value_t = 2.0, value_name = "FACTOR")]
    pub slowdown: f64,
    /// Keep every snapshot, to see that the run notices the growth.
    #[arg(long, hide = true)]
    pub leak: bool,
}

/// One life of one database.
#[derive(Args, Clone, Debug)]
pub(crate) struct Life {
    /// Directory of the database.
    #[arg(long)]
    pub database: PathBuf,
    /// Seed of the database.
    #[arg(long)]
    pub seed: u64,
    /// How often the database was killed before.
    #[arg(long)]
    pub life: u32,
    /// Progress of each thread in earlier lives: `ACKNOWLEDGED,ATTEMPTED,FAILED...`
    #[arg(long = "thread")]
    pub threads: Vec<Progress>,
    /// End after this many milliseconds, in a clean close.
    #[arg(long)]
    pub close_after: Option<u64>,
    /// Longest time that a small write may take, in seconds.
    #[arg(long, default_value_t = 10)]
    pub patience: u64,
    /// End after the check, in a clean close.
    #[arg(long)]
    pub check_only: bool,
    /// A deliberate bug to switch on in the engine.
    #[arg(long)]
    pub plant: Option<String>,
}

/// One of several programs that open and destroy one database at the same time.
#[derive(Args, Clone, Debug)]
pub(crate) struct Rival {
    /// Directory of the database.
    #[arg(long)]
    pub database: PathBuf,
    /// Seed of the random choices.
    #[arg(long)]
    pub seed: u64,
    /// Milliseconds to run.
    #[arg(long)]
    pub millis: u64,
    /// A deliberate bug to switch on.
    #[arg(long)]
    pub plant: Option<String>,
}

/// A second process beside a worker.
#[derive(Args, Clone, Debug)]
pub(crate) struct Visit {
    /// Directory of the database.
    #[arg(long)]
    pub database: PathBuf,
    /// Seed of the database.
    #[arg(long)]
    pub seed: u64,
    /// A deliberate bug to switch on.
    #[arg(long)]
    pub plant: Option<String>,
}
