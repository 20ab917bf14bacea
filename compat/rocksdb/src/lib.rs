//! `librocksdb`: RocksDB's C interface over foldb.
//!
//! Programs in C, Rust, Go, Python and others use RocksDB through `rocksdb/c.h`. This crate exports
//! each function of that header, of RocksDB 10.4, over the public interface of the engine. The list
//! of the functions, with what each does here, is `functions.txt`. The header and the table of
//! `docs/rocksdb.md` are generated from it, and the compiler compares each function with it.
//!
//! Reading order: `status`, `boundary`, `keyspaces`, `options`, `objects`, `database`, `batch`,
//! `iterator`, `transactions`, `copies`, `perf`.
//!
//! # Safety
//! Each exported function is called by C. Its caller keeps the rules of RocksDB's header: pointers
//! are NULL or point to what their type says, a handle is used until it is freed and freed once,
//! and lengths are true. This is the argument for each `unsafe` operation of the exported
//! functions, so they do not repeat it. The operations themselves are those of `boundary`.

// Types and options have the names that C programs use.
#![allow(non_camel_case_types, non_snake_case)]
// The safety of all exported functions is argued above, once.
#![allow(clippy::missing_safety_doc, clippy::undocumented_unsafe_blocks, unsafe_op_in_unsafe_fn)]
// RocksDB's documentation describes the functions. `docs/rocksdb.md` tells what differs.
#![allow(missing_docs)]
// An explicit reference shows where a pointer of C is followed.
#![allow(clippy::needless_borrow)]
// The signatures are RocksDB's.
#![allow(clippy::too_many_arguments)]

pub mod batch;
mod boundary;
pub mod copies;
pub mod database;
pub mod iterator;
mod keyspaces;
pub mod objects;
pub mod options;
pub mod perf;
mod status;
pub mod transactions;

/// The compiler compares each exported function with the list of facts.
#[cfg(test)]
mod signatures {
    #![allow(unused_imports, clippy::type_complexity, reason = "the list is generated")]

    use std::ffi::{c_char, c_int, c_uchar, c_uint, c_void};

    use crate::exports::*;

    include!(concat!(env!("OUT_DIR"), "/signatures.rs"));
}

/// All exported functions and their types, in one place.
#[cfg(test)]
mod exports {
    pub(crate) use crate::batch::with_index::*;
    pub(crate) use crate::batch::*;
    pub(crate) use crate::copies::backup::*;
    pub(crate) use crate::copies::checkpoint::*;
    pub(crate) use crate::copies::identity::*;
    pub(crate) use crate::copies::ingest::*;
    pub(crate) use crate::copies::sst_writer::*;
    pub(crate) use crate::copies::updates::*;
    pub(crate) use crate::database::close::*;
    pub(crate) use crate::database::family::*;
    pub(crate) use crate::database::memory::*;
    pub(crate) use crate::database::metadata::*;
    pub(crate) use crate::database::open::*;
    pub(crate) use crate::database::pinned::*;
    pub(crate) use crate::database::properties::*;
    pub(crate) use crate::database::reads::*;
    pub(crate) use crate::database::snapshot::*;
    pub(crate) use crate::database::upkeep::*;
    pub(crate) use crate::database::writes::*;
    pub(crate) use crate::database::*;
    pub(crate) use crate::iterator::*;
    pub(crate) use crate::objects::cache::*;
    pub(crate) use crate::objects::compaction_filter::*;
    pub(crate) use crate::objects::comparator::*;
    pub(crate) use crate::objects::environment::*;
    pub(crate) use crate::objects::filter_policy::*;
    pub(crate) use crate::objects::histogram::*;
    pub(crate) use crate::objects::limits::*;
    pub(crate) use crate::objects::listener::*;
    pub(crate) use crate::objects::listener_info::*;
    pub(crate) use crate::objects::logger::*;
    pub(crate) use crate::objects::merge_operator::*;
    pub(crate) use crate::objects::slice_transform::*;
    pub(crate) use crate::options::calls::*;
    pub(crate) use crate::options::changes::*;
    pub(crate) use crate::options::compression::*;
    pub(crate) use crate::options::latest::*;
    pub(crate) use crate::options::presets::*;
    pub(crate) use crate::options::statistics::*;
    pub(crate) use crate::options::styles::*;
    pub(crate) use crate::options::table::*;
    pub(crate) use crate::options::text::*;
    pub(crate) use crate::options::*;
    pub(crate) use crate::perf::*;
    pub(crate) use crate::transactions::calls::*;
    pub(crate) use crate::transactions::databases::*;
    pub(crate) use crate::transactions::handle::*;
    pub(crate) use crate::transactions::options::*;
    pub(crate) use crate::transactions::pessimistic_calls::*;
}
