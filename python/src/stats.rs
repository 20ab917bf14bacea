//! Statistics as a dict, which shows itself in notebooks.

use foldb::stats::Stats;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Sets the named fields of a structure in a dict.
macro_rules! fields {
    ($dict:ident, $from:expr, $($name:ident)*) => {
        $($dict.set_item(stringify!($name), $from.$name)?;)*
    };
}

/// Returns the statistics of a database by their names in the engine.
pub(crate) fn shown<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyAny>> {
    let all = PyDict::new(py);
    fields!(all, stats,
        puts deletes range_deletes merges bytes_user bytes_log bytes_flush bytes_compaction
        bytes_compaction_read bytes_manifest bytes_segments bytes_adopted bytes_gc_written
        bytes_gc_read garbage_collections bytes_reclaimed flushes compactions compaction_slices
        trivial_moves flush_records_in flush_records_out compaction_records_in
        compaction_records_out failed_merges stall_micros block_cache_hits block_cache_misses
        skipped_deletes snapshots writes_since_oldest_snapshot filter_negatives filters_left_out
        dropped_tail_bytes dropped_tail_frames bytes_scrubbed archived_logs archived_log_bytes
        memtable_bytes block_cache_bytes open_table_bytes compaction_debt damaged_parts
        reserved_space disk_is_full);
    all.set_item("bytes_written", stats.bytes_written())?;
    all.set_item("write_amplification", stats.write_amplification())?;
    all.set_item("space_amplification", stats.space_amplification())?;
    all.set_item("memory", stats.memory.total())?;
    let segments = PyDict::new(py);
    fields!(segments, stats.segments, segments files bytes live_bytes dead_bytes);
    all.set_item("segments", segments)?;
    let levels = PyList::empty(py);
    for level in &stats.levels {
        let shown = PyDict::new(py);
        fields!(shown, level, runs tables bytes bytes_written);
        levels.append(shown)?;
    }
    all.set_item("levels", levels)?;
    let keyspaces = PyDict::new(py);
    for keyspace in &stats.keyspaces {
        let shown = PyDict::new(py);
        let levels = PyList::empty(py);
        for level in &keyspace.levels {
            let shape = PyDict::new(py);
            fields!(shape, level, runs tables bytes);
            levels.append(shape)?;
        }
        shown.set_item("memtable_bytes", keyspace.memtable_bytes)?;
        shown.set_item("levels", levels)?;
        keyspaces.set_item(&keyspace.name, shown)?;
    }
    all.set_item("keyspaces", keyspaces)?;
    all.set_item("latencies", latencies(py, stats)?)?;
    py.import("foldb.stats")?.getattr("Stats")?.call1((all,))
}

/// Returns the times of calls, in seconds.
fn latencies<'py>(py: Python<'py>, stats: &Stats) -> PyResult<Bound<'py, PyDict>> {
    let latencies = PyDict::new(py);
    for (call, histogram) in stats.latencies.calls() {
        let shown = PyDict::new(py);
        shown.set_item("sampled", histogram.count())?;
        for (name, share) in [("p50", 0.5), ("p99", 0.99)] {
            shown.set_item(name, histogram.quantile(share).as_secs_f64())?;
        }
        latencies.set_item(call.name(), shown)?;
    }
    Ok(latencies)
}
