//! `compact`: compacts everything down to the last level.

use std::io::{self, Write};
use std::time::Instant;

use foldb::stats::Stats;
use indicatif::HumanBytes;

use crate::args::{Common, Compact};
use crate::exit::Outcome;
use crate::keyspace::Opened;
use crate::location;
use crate::progress;

/// Compacts, and reports sizes before and after on standard error.
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
    let _ = writeln!(
        io::stderr(),
        "compacted in {:.1} s: {} became {}",
        started.elapsed().as_secs_f64(),
        shape(&before),
        shape(&db.stats()),
    );
    Ok(db.close()?)
}

/// Returns the bytes in memory and in tables, and the number of runs.
fn shape(stats: &Stats) -> String {
    let tables = HumanBytes(stats.levels.iter().map(|level| level.bytes).sum());
    let runs = stats.runs_per_read();
    let s = if runs == 1 { "" } else { "s" };
    format!("{} in memory + {tables} in {runs} run{s}", HumanBytes(stats.memtable_bytes))
}
