//! The Python package `foldb`: the module `foldb._foldb`.
//!
//! Reading order: `errors`, `buffers`, `keys` and `times` turn what Python gives into bytes, and
//! back. `range`, `data`, `reader`, `reads`, `keyspace` and `elsewhere` have the calls on keys and
//! values. `iterator`, `cursor`, `snapshot`, `batch`, `load` and `transaction` are what these
//! return. `callbacks`, `operator` and `comparator` let the engine call Python, and `laws` checks
//! an operator. `opening` opens a `database`. `counters` with `count`, `bags` and `summaries` give
//! values a meaning. `many` has columns of NumPy and Arrow. `feed`, `backup`, `maintenance` and
//! `stats` follow; `shell` is the command.
//!
//! `ending` is about the end of the interpreter, and `standing` about closes and forks.
//!
//! Invariants: a call that may wait or fold lets go of the GIL, by `Python::unlocked`. No lock of
//! this crate is held while Python code may run. No handle is ever unsafe to use: after a close and
//! in a forked child the engine refuses calls.

mod backup;
mod bags;
mod batch;
mod buffers;
mod callbacks;
mod comparator;
mod count;
mod counters;
mod cursor;
mod data;
mod database;
mod elsewhere;
mod ending;
mod errors;
mod feed;
mod iterator;
mod keys;
mod keyspace;
mod laws;
mod load;
mod maintenance;
mod many;
mod opening;
mod operator;
mod options;
mod range;
mod reader;
mod reads;
mod released;
mod shell;
mod snapshot;
mod standing;
mod stats;
mod summaries;
mod times;
mod transaction;

use pyo3::prelude::*;

/// The part of foldb that is written in Rust. Import `foldb` instead.
// Free-threaded Pythons are untested: they take their GIL back for this module, and say so.
#[pymodule(gil_used = true)]
mod _foldb {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::backup::Backups;
    #[pymodule_export]
    use super::bags::{Bag, list_elements, set_members, set_remove, sketch_estimate};
    #[pymodule_export]
    use super::batch::Batch;
    #[pymodule_export]
    use super::comparator::PythonComparator;
    #[pymodule_export]
    use super::count::Count;
    #[pymodule_export]
    use super::counters::Counters;
    #[pymodule_export]
    use super::cursor::Cursor;
    #[pymodule_export]
    use super::database::Database;
    #[pymodule_export]
    use super::feed::{Update, Updates, Write};
    #[pymodule_export]
    use super::iterator::Entries;
    #[pymodule_export]
    use super::keyspace::Keyspace;
    #[pymodule_export]
    use super::laws::check_laws;
    #[pymodule_export]
    use super::maintenance::{destroy, repair, restore, verify};
    #[pymodule_export]
    use super::many::{Column, Scan, Table};
    #[pymodule_export]
    use super::opening::open;
    #[pymodule_export]
    use super::operator::PythonOperator;
    #[pymodule_export]
    use super::reader::Reader;
    #[pymodule_export]
    use super::shell::run_shell;
    #[pymodule_export]
    use super::snapshot::Snapshot;
    #[pymodule_export]
    use super::summaries::{
        histogram_add, histogram_bounds, histogram_count, histogram_quantile, stats_add,
        stats_summary, top_add, top_items,
    };
    #[pymodule_export]
    use super::transaction::Transaction;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::ending::register(module)
    }
}
