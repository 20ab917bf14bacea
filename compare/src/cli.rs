//! The command line.
//!
//! An invalid command line prints one line and exits with 2 before anything runs. A later failure
//! exits with 1, also if the databases of two engines differ.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use foldb_report::results::Results;

use crate::child;
use crate::engine::Name;
use crate::failure::{Failure, Result};
use crate::scale::Scale;
use crate::schedule::{self, Request};
use crate::{digest, survival, tables, workload};

const EXAMPLES: &str = "\
Workloads, each a row of the table or several:
  merge-random (5m, 50m)        hot-counters (wal-off, wal-on)   hot-counters-4 (wal-off, wal-on)
  offered-rate
  update-random                 read-after-merge                 scan-8b (readseq, readreverse, seekrandom)
  readseq-max (memtable-1, memtable-10, cache-1, cache-10)       fill-4k, read-cold
  separated-4k (fill-2mb, readseq-2mb, fill-defaults, readseq-defaults)
  growth (merge-1m, read-1m, merge-10m, read-10m, merge-50m, read-50m, large)
  store (transact-1, transact-4, synced-1, synced-4, count-4, load, load-ingested,
         get, get-absent, range-10, range-100, insert-in-order-puts, insert-in-order-batches,
         queue-memory-first, queue-memory, queue-flushed-first, queue-flushed,
         take-first, merge-get, transact-in-memory)
  redb-bench (bulk-load, single-writes, batch-writes, unsynced-writes, count, gets, ranges,
         gets-4, gets-32, removals, sorted-inserts)

Examples:
  foldb-compare --workload all --scale small --out compared
  foldb-compare --workload hot-counters,update-random --scale medium --reps 5 --out compared
  foldb-compare --workload fill-4k --engines foldb,leveldb --mergedb ~/mergedb/db_bench --out cold
  foldb-compare --workload store --scale full --out compared-store --into docs/store.md \
      --keep docs/compare/store.json
  foldb-compare --workload growth --scale large --out grown
  foldb-compare --tables compared/results.json --into docs/performance.md

Runs that DIR has already are kept and not run again, so a call that was interrupted goes on.";

/// Runs the same workloads on foldb and its peers, in turn, each run a process of its own.
#[derive(Debug, Parser)]
#[command(name = "foldb-compare", version, after_help = EXAMPLES)]
struct Arguments {
    /// Rows to run, comma-separated: a name, a group of names (hot-counters) or `all`
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_value = "all")]
    workload: Vec<String>,
    /// Size of the workloads: full, medium (a fifth), small (a fiftieth), tiny (for tests), large
    /// (only growth/large)
    #[arg(long, value_name = "SCALE", default_value = "small")]
    scale: String,
    /// Directory of results.json, the page and the logs of each run
    #[arg(long, value_name = "DIR", default_value = "compared")]
    out: PathBuf,
    /// Engines to run, comma-separated; default: all that were built
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    engines: Vec<String>,
    /// Repetitions, the engines in turn; default: 3, or 1 below medium scale
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    reps: Option<u32>,
    /// Directory of the databases; default: below --out. It says which disk is measured
    #[arg(long, value_name = "DIR")]
    databases: Option<PathBuf>,
    /// MergeDB's (or a LevelDB's) `db_bench`, for the rows fill-4k and read-cold
    #[arg(long, value_name = "PATH")]
    mergedb: Option<PathBuf>,
    /// Run nothing: print the table of results that are there
    #[arg(long, value_name = "RESULTS.json")]
    tables: Option<PathBuf>,
    /// Put the table between the markers of this file
    #[arg(long, value_name = "FILE.md")]
    into: Option<PathBuf>,
    /// Write the results to this file, too, without the series of the plots
    #[arg(long, value_name = "FILE.json")]
    keep: Option<PathBuf>,
}

/// Runs the program.
pub fn main() -> ExitCode {
    if let Some(outcome) = survival::obeyed() {
        return told(outcome);
    }
    if let Some(order) = child::order() {
        return told(child::obey(&order));
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return explained(&error),
    };
    if let Some(results) = &arguments.tables {
        return told(read(results).and_then(|results| show(&results, &arguments)));
    }
    match request(&arguments) {
        Ok(request) => told(compare(&request, &arguments)),
        Err(failure) => {
            eprintln!("foldb-compare: {failure}");
            ExitCode::from(2)
        }
    }
}

/// Prints help and version unchanged, and an error of the command line in one line.
fn explained(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let _nobody_reads = error.print();
        return ExitCode::SUCCESS;
    }
    let rendered = error.render().to_string();
    let lines = rendered.lines().map(str::trim).take_while(|line| !line.is_empty());
    let line = lines.collect::<Vec<_>>().join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    eprintln!("foldb-compare: {line}; --help lists all flags");
    ExitCode::from(2)
}

fn told(outcome: Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("foldb-compare: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn request(arguments: &Arguments) -> Result<Request> {
    let scale = Scale::named(&arguments.scale)?;
    let engines = match arguments.engines.as_slice() {
        [] => Name::ALL.to_vec(),
        names => names.iter().map(|name| Name::named(name)).collect::<Result<_>>()?,
    };
    if let Some(program) = arguments.mergedb.as_ref().filter(|program| !program.is_file()) {
        return Err(Failure::new(format!("--mergedb: there is no file {}", program.display())));
    }
    let request = Request {
        jobs: workload::at_scale(workload::select(&arguments.workload)?, scale)?,
        engines,
        scale,
        repetitions: arguments.reps.unwrap_or_else(|| scale.repetitions()),
        out: arguments.out.clone(),
        databases: arguments.databases.clone(),
        mergedb: arguments.mergedb.clone(),
    };
    request.check()?;
    Ok(request)
}

fn compare(request: &Request, arguments: &Arguments) -> Result<()> {
    let done = schedule::run(request)?;
    print!("{}", tables::text(&done.results));
    if arguments.into.is_some() || arguments.keep.is_some() {
        show(&done.results, arguments)?;
    }
    let mut wrong = done.failures;
    wrong.extend(digest::disagreements(&done.results));
    for warning in schedule::doubtful_statistics(&done.results) {
        eprintln!("WARNING: {warning}");
    }
    match wrong.as_slice() {
        [] => Ok(()),
        wrong => Err(Failure::new(wrong.join("\nfoldb-compare: "))),
    }
}

fn read(results: &Path) -> Result<Results> {
    let text = fs::read_to_string(results).map_err(Failure::file("read", results))?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::new(format!("{}: {error}", results.display())))
}

/// Writes the results where the command line says; without such a place, prints the table.
fn show(results: &Results, arguments: &Arguments) -> Result<()> {
    let table = tables::markdown(results);
    if let Some(into) = &arguments.into {
        let document = fs::read_to_string(into).map_err(Failure::file("read", into))?;
        let document = tables::replace(&document, &table).ok_or_else(|| {
            Failure::new(format!("{} has no {}", into.display(), tables::MARKERS))
        })?;
        fs::write(into, document).map_err(Failure::file("write", into))?;
    }
    if let Some(keep) = &arguments.keep {
        let mut json = serde_json::to_string_pretty(&without_series(results))
            .map_err(Failure::during("results"))?;
        json.push('\n');
        fs::write(keep, json).map_err(Failure::file("write", keep))?;
    }
    if arguments.into.is_none() && arguments.keep.is_none() {
        print!("{table}");
    }
    Ok(())
}

/// Returns the results without timelines and background events, which only plots need.
fn without_series(results: &Results) -> Results {
    let mut results = results.clone();
    for run in &mut results.runs {
        run.timeline.clear();
        run.events.clear();
    }
    results
}
