//! The Python package `foldb`: the module `foldb._foldb`.
//!
//! Reading order: `errors`, `buffers` and `keys` turn what Python gives into bytes, and back.
//! `range`, `reader` and `keyspace` have the calls on keys and values. `iterator`, `snapshot`,
//! `batch` and `transaction` are what these return. `database` opens. `counters` and `bags` give
//! values a meaning. `many` has columns of NumPy and Arrow. `feed`, `backup`, `maintenance` and `stats` follow; `shell` is the command.
//!
//! Invariants: a call that may wait or fold lets go of the GIL. No lock of this crate is held while
//! Python code may run. No handle is ever unsafe to use: after a close and in a forked child the
//! engine refuses calls.

mod backup;
mod bags;
mod batch;
mod buffers;
mod counters;
mod database;
mod errors;
mod feed;
mod iterator;
mod keys;
mod keyspace;
mod maintenance;
mod many;
mod options;
mod range;
mod reader;
mod released;
mod shell;
mod snapshot;
mod stats;
mod transaction;

use pyo3::prelude::*;

/// The part of foldb that is written in Rust. Import `foldb` instead.
#[pymodule(gil_used = false)]
mod _foldb {
    #[pymodule_export]
    use super::backup::Backups;
    #[pymodule_export]
    use super::bags::{
        add_elements, list_append, list_elements, set_add, set_members, set_remove, sketch_add,
        sketch_estimate,
    };
    #[pymodule_export]
    use super::batch::Batch;
    #[pymodule_export]
    use super::counters::{Count, Counters};
    #[pymodule_export]
    use super::database::{Database, open};
    #[pymodule_export]
    use super::feed::{Update, Updates, Write};
    #[pymodule_export]
    use super::iterator::{Cursor, Entries};
    #[pymodule_export]
    use super::keyspace::Keyspace;
    #[pymodule_export]
    use super::maintenance::{destroy, repair, restore, verify};
    #[pymodule_export]
    use super::many::{Column, Scan, Table};
    #[pymodule_export]
    use super::reader::Reader;
    #[pymodule_export]
    use super::shell::run_shell;
    #[pymodule_export]
    use super::snapshot::Snapshot;
    #[pymodule_export]
    use super::transaction::Transaction;
}
