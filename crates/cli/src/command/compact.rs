//! `compact`: compacts everything down to the last level.

use std::io::{self, Write};
use std::time::Instant;

use foldb::stats::Stats;
use indicatif::HumanBytes;
use serde_json::{Value, json};

use crate::args::{Common, Compact};
use crate::exit::Outcome;
use crate::form::json::integer;
use crate::keyspace::Opened;
use crate::location;
use crate::output::Output;
use crate::progress;

/// Compacts, and reports sizes before and after.
pub(super) fn run(args: &Compact, common: &Common) -> Outcome {
    let db = location::open(&args.db, common.options())?;
    let within = args.keyspace.as_deref();
    let keyspace = within.map(|name| Opened::of(db.clone(), &args.db, name)).transpose()?;
    let before = db.stats();
    let started = Instant::now();
    let spinner = progress::spinner("compacting", "{prefix} {spinner} {elapsed}");
    let compacted = match &keyspace {
        Some(opened) => opened.keyspace.compact(..),
        None => db.compact(..),
    };
    spinner.finish_and_clear();
    compacted?;
    let (took, after) = (started.elapsed(), db.stats());
    db.close()?;
    if common.json {
        let mut output = Output::new();
        output.json(&json!({
            "duration_micros": integer(u64::try_from(took.as_micros()).unwrap_or(u64::MAX)),
            "before": to_json(&before),
            "after": to_json(&after),
        }))?;
        return output.flush();
    }
    let (seconds, before, after) = (took.as_secs_f64(), shape(&before), shape(&after));
    let _ = writeln!(io::stderr(), "compacted in {seconds:.1} s: {before} became {after}");
    Ok(())
}

fn to_json(stats: &Stats) -> Value {
    json!({
        "memtable_bytes": integer(stats.memtable_bytes),
        "table_bytes": integer(table_bytes(stats)),
        "runs": integer(stats.runs_per_read()),
    })
}

fn table_bytes(stats: &Stats) -> u64 {
    stats.levels.iter().map(|level| level.bytes).sum()
}

/// Returns the bytes in memory and in tables, and the number of runs.
fn shape(stats: &Stats) -> String {
    let tables = HumanBytes(table_bytes(stats));
    let runs = stats.runs_per_read();
    let s = if runs == 1 { "" } else { "s" };
    format!("{} in memory + {tables} in {runs} run{s}", HumanBytes(stats.memtable_bytes))
}
