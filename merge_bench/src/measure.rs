//! The measured garbage collection, from the call until the files are gone.

use std::path::Path;
use std::time::{Duration, Instant};

use foldb::Db;
use foldb::garbage::{GcOptions, GcReport};
use foldb_report::merges::MergeFigures;

use crate::allocations::{Requested, Since};
use crate::dataset::Budget;
use crate::directory::Files;
use crate::failure::Failure;
use crate::plan::Plan;

/// Least share of the dead records' bytes that must be reclaimed.
const LEAST_RECLAIMED: f64 = 0.95;
/// Longest time that files may stay after the garbage collection has returned.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause between two checks whether the files are gone.
const PAUSE: Duration = Duration::from_micros(100);

/// The state before a garbage collection.
struct Before {
    files: Files,
    /// Bytes written to segment files until then.
    written: u64,
}

/// Collects the garbage of the segments of `db`, the database at `path`.
///
/// # Errors
/// Errors of the database, or too few reclaimed bytes.
pub(crate) fn merge(
    db: &Db,
    path: &Path,
    plan: &Plan,
    budget: Budget,
) -> Result<MergeFigures, Failure> {
    let options = GcOptions {
        max_dead_fraction: 0.0,
        memory_budget: Some(budget.bytes as usize),
        ..GcOptions::default()
    };
    let before = Before { files: Files::of(path)?, written: db.stats().bytes_segments };
    let since = Since::now();
    let began = Instant::now();
    let report =
        db.with(&options).collect_garbage().map_err(Failure::during("collecting garbage"))?;
    let requested = since.requested();
    let after = wait_until_gone(db, path, &before.files)?;
    let time = began.elapsed();
    let figures = figures(db, plan, budget, (&before, &after), (report, requested, time));
    check_reclaimed(plan, &figures)?;
    Ok(figures)
}

/// Waits until no earlier file is left that the database does not need any more.
fn wait_until_gone(db: &Db, path: &Path, before: &Files) -> Result<Files, Failure> {
    let began = Instant::now();
    loop {
        let now = Files::of(path)?;
        let stats = db.stats();
        let tables: u64 = stats.levels.iter().map(|level| level.tables).sum();
        let segments = stats.segments.files;
        let (left, tables_left) = (before.left_in(&now, ".seg"), before.left_in(&now, ".tbl"));
        if left <= segments && tables_left <= tables {
            return Ok(now);
        }
        if began.elapsed() > PATIENCE {
            return Err(Failure::new(format!(
                "the merge is done, but {left} old segment files (of {segments} in use) and \
                 {tables_left} old tables (of {tables}) are still there"
            )));
        }
        std::thread::sleep(PAUSE);
    }
}

fn figures(
    db: &Db,
    plan: &Plan,
    budget: Budget,
    (before, after): (&Before, &Files),
    (report, requested, time): (GcReport, Requested, Duration),
) -> MergeFigures {
    let stats = db.stats();
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    // Bytes that the load flushed during the garbage collection count on top.
    let flushed = stats.bytes_segments - before.written;
    let reclaimed = (report.bytes_before + flushed).saturating_sub(report.bytes_after);
    let shrunk = before.files.bytes as f64 - after.bytes as f64;
    MergeFigures {
        ms: time.as_secs_f64() * 1e3,
        mib: mib(requested.bytes),
        allocs: requested.requests,
        peak_alloc_bytes: requested.peak,
        peak_lookup_bytes: report.peak_lookup_bytes,
        max_lock_hold_us: micros(report.longest_lock),
        max_lock_hold_cpu_us: micros(report.longest_lock_cpu),
        batch_count: report.commits,
        reduction_ratio_pct: 100.0 * shrunk / before.files.bytes.max(1) as f64,
        bytes_per_mb_budget: report.bytes_before as f64 / mib(budget.bytes),
        bytes_before: before.files.bytes,
        bytes_after: after.bytes,
        dead_record_bytes: plan.dead_records() * plan.record_len(),
        reclaimed_bytes: reclaimed,
        segment_bytes_after: stats.segments.bytes,
        live_bytes_after: stats.segments.live_bytes,
        bytes_read: report.bytes_read,
        bytes_written: report.bytes_written,
    }
}

fn check_reclaimed(plan: &Plan, figures: &MergeFigures) -> Result<(), Failure> {
    let least = LEAST_RECLAIMED * figures.dead_record_bytes as f64;
    if (figures.reclaimed_bytes as f64) < least {
        return Err(Failure::new(format!(
            "the merge gave back {} bytes, expected at least {least:.0}: 95 % of the {} dead records",
            figures.reclaimed_bytes,
            plan.dead_records(),
        )));
    }
    Ok(())
}
