//! The command line.

use clap::{Args, Parser, Subcommand};

/// Runs foldb on machines made of seeds: threads, time, randomness, disk and power cuts.
#[derive(Debug, Parser)]
#[command(version, about)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs seeds, each in a process of its own, and exits with 1 if one of them gave a wrong
    /// answer.
    Run(Seeds),
    /// Runs one seed in this process, and reports on it.
    Seed(Seed),
}

/// Many seeds.
#[derive(Args, Clone, Debug)]
pub(crate) struct Seeds {
    /// The first seed; the next one is one more.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How many seeds are run.
    #[arg(long, default_value_t = 1000)]
    pub seeds: u64,
    /// How many run at once; the number of processors unless given.
    #[arg(long)]
    pub jobs: Option<usize>,
    /// One in this many seeds runs twice, to check that both runs are the same.
    #[arg(long, default_value_t = 100)]
    pub twice: u64,
    /// Go on after a wrong answer.
    #[arg(long)]
    pub keep_going: bool,
    /// Succeed even if some expected event never happened, as in short runs.
    #[arg(long)]
    pub allow_gaps: bool,
    /// Fail if no seed drew some pair of features together, even with --allow-gaps.
    #[arg(long)]
    pub all_pairs: bool,
    /// Print how many seeds drew each pair of features, as a table in Markdown.
    #[arg(long)]
    pub matrix: bool,
    /// A deliberate bug to switch on in the engine, to see that the run finds it.
    #[arg(long, value_name = "FAULT")]
    pub plant: Option<String>,
}

/// One seed.
#[derive(Args, Clone, Debug)]
pub(crate) struct Seed {
    /// The seed.
    pub seed: u64,
    /// A deliberate bug to switch on in the engine.
    #[arg(long, value_name = "FAULT")]
    pub plant: Option<String>,
}
