//! Writes the data of a case. Each phase ends with a flush, and all dead values stay on disk.

use std::path::Path;

use foldb::internals::Knobs;
use foldb::{Db, KeyspaceOptions, Options};

use crate::dataset::{Budget, DEFAULT_BUDGET};
use crate::failure::Failure;
use crate::matrix::Data;
use crate::plan::{INSERTED, OVERWRITTEN, Plan, key};

/// Returns the options of databases of `data`: every value is separated, and nothing is collected
/// or compacted before it is asked for.
pub(crate) fn options(data: Data, budget: Budget) -> Options {
    Options {
        default: KeyspaceOptions { value_separation_min: Some(0), ..KeyspaceOptions::default() },
        knobs: Knobs {
            segment_size: data.dataset.segment_size,
            value_hints: data.hint,
            gc_memory_budget: budget.bytes as usize,
            ..Knobs::default()
        },
        max_dead_fraction: 1.0,
        disable_auto_compactions: true,
        ..Options::default()
    }
}

/// Makes a database of `data` at `path`.
///
/// # Errors
/// Errors of the database.
pub(crate) fn prepare(path: &Path, data: Data, plan: &Plan) -> Result<(), Failure> {
    write(path, data, plan).map_err(Failure::during("preparing the data"))
}

fn write(path: &Path, data: Data, plan: &Plan) -> foldb::Result<()> {
    let options = Options { create_if_missing: true, ..options(data, DEFAULT_BUDGET) };
    let db = Db::open(path, options)?;
    let entries = data.dataset.entries;
    put_all(&db, plan, 0..entries, INSERTED)?;
    put_all(&db, plan, plan.overwritten.iter().copied(), OVERWRITTEN)?;
    for &index in &plan.deleted {
        db.delete(key(index))?;
    }
    db.flush()?;
    put_all(&db, plan, entries..entries + plan.appended, INSERTED)?;
    db.wait_for_background()?;
    db.close()
}

fn put_all(
    db: &Db,
    plan: &Plan,
    keys: impl Iterator<Item = u64>,
    generation: u64,
) -> foldb::Result<()> {
    let mut value = Vec::new();
    for index in keys {
        plan.value(index, generation, &mut value);
        db.put(key(index), &value)?;
    }
    db.flush()
}

/// Checks that segment files hold every record that was written, dead ones included.
///
/// # Errors
/// Fails if a file was reclaimed already, or if values were not separated. Then the measured
/// garbage collection would have less to collect.
pub(crate) fn check_all_is_there(db: &Db, plan: &Plan) -> Result<(), Failure> {
    let stats = db.stats();
    let (on_disk, written) = (stats.segments.bytes, stats.bytes_segments);
    let least = plan.records() * plan.record_len();
    if on_disk < written || on_disk < least {
        return Err(Failure::new(format!(
            "before the merge the segment files must hold all {} records: expected {} bytes, found {on_disk}",
            plan.records(),
            written.max(least),
        )));
    }
    Ok(())
}
