//! Calls of foldb that read and write at once, on one thread and on data in memory.
//!
//! Only foldb runs these jobs. Every call checks its answer.

use std::path::Path;

use foldb::{Db, Value};
use foldb_report::results::Run;
use foldb_report::system;

use super::general::peak_memory;
use super::job::Call;
use super::session::{timed, timed_run};
use super::{Job, Sizes};
use crate::data::{Draws, key};
use crate::engine::foldb_options;
use crate::failure::{Failure, Result};
use crate::measure::Recorder;

/// Runs the job. Returns the run of its row.
///
/// # Errors
/// Fails if a call of foldb fails or answers wrong.
pub fn run(job: &Job, call: Call, sizes: &Sizes, directory: &Path) -> Result<Vec<Run>> {
    let db = Db::open(directory, foldb_options(&sizes.nominal)).map_err(failed)?;
    let entries = if call == Call::TakeFirst { sizes.operations } else { sizes.keys };
    for number in 0..entries {
        let value = if call == Call::TakeFirst { number } else { 0 };
        db.put(key(number), value.to_le_bytes()).map_err(failed)?;
    }
    let recorded = timed(&db, 1, sizes.operations, |_, db, recorder| match call {
        Call::TakeFirst => take_first(db, sizes, recorder),
        Call::MergeGet => count(sizes, recorder, |key| {
            db.merge_get(key, 1_u64.to_le_bytes()).map(|counter| number(counter.as_ref()))
        }),
        Call::Transact => count(sizes, recorder, |key| {
            db.transact(|transaction| {
                let next = number(transaction.get(key)?.as_ref()) + 1;
                transaction.put(key, next.to_le_bytes()).map(|()| next)
            })
        }),
    })?;
    let (found, sum) = held(&db)?;
    let expected = if call == Call::TakeFirst { (0, 0) } else { (entries, sizes.operations) };
    if (found, sum) != expected {
        return Err(Failure::new(format!("foldb: {found} entries with the sum {sum} at the end")));
    }
    let space = system::space(directory);
    db.close().map_err(failed)?;
    Ok(vec![Run {
        settings: format!("{} compression=lz4", sizes.nominal.describe()),
        space,
        digest: format!("{found} entries with the sum {sum}"),
        notes: peak_memory().into_iter().collect(),
        ..timed_run(&job.rows[0], recorded)
    }])
}

fn take_first(db: &Db, sizes: &Sizes, recorder: &mut Recorder) -> Result<()> {
    for oldest in 0..sizes.operations {
        let taken = db.take_first(..).map_err(failed)?;
        recorder.finished();
        if !taken
            .is_some_and(|(taken, value)| taken == key(oldest) && number(Some(&value)) == oldest)
        {
            return Err(Failure::new(format!("foldb: a take did not return entry {oldest}")));
        }
    }
    Ok(())
}

/// Adds 1 to random counters by `call`, which returns the counter after it.
fn count(
    sizes: &Sizes,
    recorder: &mut Recorder,
    call: impl Fn(&[u8]) -> foldb::Result<u64>,
) -> Result<()> {
    let mut draws = Draws::new(0);
    let mut counters = vec![0; sizes.keys as usize];
    for _ in 0..sizes.operations {
        let drawn = draws.below(sizes.keys);
        let counter = call(&key(drawn)).map_err(failed)?;
        recorder.finished();
        counters[drawn as usize] += 1;
        if counter != counters[drawn as usize] {
            return Err(Failure::new(format!("foldb: counter {drawn} is {counter}")));
        }
    }
    Ok(())
}

fn held(db: &Db) -> Result<(u64, u64)> {
    let (mut entries, mut sum) = (0, 0);
    for entry in db.iter().map_err(failed)? {
        let (_, value) = entry.map_err(failed)?;
        entries += 1;
        sum += number(Some(&value));
    }
    Ok((entries, sum))
}

fn number(counter: Option<&Value>) -> u64 {
    counter.and_then(|bytes| bytes[..].try_into().ok()).map_or(0, u64::from_le_bytes)
}

fn failed(error: foldb::Error) -> Failure {
    Failure::new(format!("foldb: {error}"))
}
