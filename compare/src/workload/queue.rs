//! The queue: one million entries pushed and popped, and a second million behind them.
//!
//! Only foldb runs this job, and its bar compares the two millions. A pop must not slow down
//! because of the entries that were popped before.

use std::path::Path;

use foldb::Db;
use foldb_report::results::Run;
use foldb_report::system;

use super::general::peak_memory;
use super::session::{timed, timed_run};
use super::{Job, Sizes};
use crate::data::key;
use crate::engine::foldb_options;
use crate::failure::{Failure, Result};
use crate::measure::Recorder;

/// Runs the job. Returns a run for each of its two rows: the first million and the second.
///
/// # Errors
/// Fails if a call of foldb fails, or if a pop returns another entry than the oldest.
pub fn run(job: &Job, flushed: bool, sizes: &Sizes, directory: &Path) -> Result<Vec<Run>> {
    let db = Db::open(directory, foldb_options(&sizes.nominal)).map_err(failed)?;
    let mut runs = Vec::new();
    for (round, row) in (0..).zip(job.rows) {
        let entries = round * sizes.operations..(round + 1) * sizes.operations;
        let operations = 2 * sizes.operations;
        let recorded = timed(&db, 1, operations, |_, db, recorder| {
            push(db, entries.clone(), recorder)?;
            if flushed {
                db.flush().map_err(failed)?;
            }
            pop(db, entries.clone(), recorder)
        })?;
        if flushed {
            db.flush().map_err(failed)?;
        }
        runs.push(Run {
            space: system::space(directory),
            notes: peak_memory().into_iter().collect(),
            ..timed_run(row, recorded)
        });
    }
    if db.take_first(..).map_err(failed)?.is_some() {
        return Err(Failure::new("foldb: the queue is not empty after the last pop"));
    }
    let total = job.rows.len() as u64 * sizes.operations;
    for run in &mut runs {
        run.settings = format!("{} compression=lz4", sizes.nominal.describe());
        run.digest = format!("{total} entries popped in order");
    }
    db.close().map_err(failed)?;
    Ok(runs)
}

fn push(db: &Db, entries: std::ops::Range<u64>, recorder: &mut Recorder) -> Result<()> {
    for number in entries {
        db.put(key(number), number.to_le_bytes()).map_err(failed)?;
        recorder.finished();
    }
    Ok(())
}

fn pop(db: &Db, entries: std::ops::Range<u64>, recorder: &mut Recorder) -> Result<()> {
    for number in entries {
        let popped = db.take_first(..).map_err(failed)?;
        recorder.finished();
        let is_oldest = popped.is_some_and(|(popped, value)| {
            popped == key(number) && value[..] == number.to_le_bytes()
        });
        if !is_oldest {
            return Err(Failure::new(format!("foldb: a pop did not return entry {number}")));
        }
    }
    Ok(())
}

fn failed(error: foldb::Error) -> Failure {
    Failure::new(format!("foldb: queue: {error}"))
}
