//! What the black-box tests share. Each test file uses a part of it.
#![allow(dead_code, reason = "every test file is a crate of its own and uses a part of this")]

pub(crate) mod deeds;
pub(crate) mod gates;
pub(crate) mod model;
pub(crate) mod mutator;
pub(crate) mod operators;
pub(crate) mod orders;
pub(crate) mod quiet;
pub(crate) mod segments;
pub(crate) mod steps;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use foldb::env::{Env, FileSystem, MemFs, Watch, WatchedFs};
use foldb::internals::Knobs;
use foldb::{
    CompactionPreset, Compression, Db, Error, ErrorKind, KeyspaceOptions, KeyspaceReader, Options,
    ReadOnlyDb, Reader, Result,
};

/// Path of databases in memory.
pub(crate) const PATH: &str = "db";

/// Options for a database in memory without threads: background work runs only when a test steps
/// it.
pub(crate) fn options(fs: &MemFs) -> Options {
    Options {
        create_if_missing: true,
        env: Env::in_memory(fs.clone()),
        default: KeyspaceOptions::with_operator("uint64add"),
        operators: operators::all(),
        ..Options::default()
    }
}

/// Options whose compactions go by slices of a few keys.
pub(crate) fn sliced(fs: &MemFs, compaction: CompactionPreset) -> Options {
    Options {
        default: KeyspaceOptions {
            compaction: Some(compaction),
            compression: Some(Compression::None),
            ..options(fs).default
        },
        level0_compaction_trigger: 2,
        target_file_size: 1024,
        block_size: 256,
        max_bytes_for_level_base: 2000,
        max_bytes_for_level_multiplier: 2.0,
        num_levels: 4,
        knobs: Knobs { tier_fan_in: 2, ..Knobs::default() },
        ..options(fs)
    }
}

/// Every policy of compaction.
pub(crate) const PRESETS: [CompactionPreset; 3] =
    [CompactionPreset::Leveled, CompactionPreset::Tiered, CompactionPreset::LazyLeveled];

/// Opens a database in memory with [`options`].
pub(crate) fn open(fs: &MemFs) -> Result<Db> {
    Db::open(PATH, options(fs))
}

/// Opens a database that must exist, with [`options`].
pub(crate) fn reopen(fs: &MemFs) -> Result<Db> {
    Db::open(PATH, Options { create_if_missing: false, ..options(fs) })
}

/// Returns whether the tests run over files that only grow (`cargo xtask append-only`).
pub(crate) fn only_appends() -> bool {
    foldb::env::append_only::under_test::is_switched_on()
}

/// Returns whether a test must be skipped because files that only grow cannot do what it is about.
/// Prints why.
pub(crate) fn skipped_where_files_only_grow(why: &str) -> bool {
    if only_appends() {
        eprintln!("SKIPPED over files that only grow: {why}");
    }
    only_appends()
}

/// Returns files behind a watch.
pub(crate) fn watched(fs: &MemFs, watch: &Arc<impl Watch + 'static>) -> Arc<dyn FileSystem> {
    Arc::new(WatchedFs::new(Arc::new(fs.clone()), Arc::clone(watch) as _))
}

/// Plants the fault that `FOLDB_PLANT` names in all threads. It shows whether tests that were not
/// written for the fault find it.
pub(crate) fn plant_from_environment() {
    #[cfg(debug_assertions)]
    if let Ok(name) = std::env::var("FOLDB_PLANT") {
        let fault = foldb::faults::Fault::from_name(&name).expect("FOLDB_PLANT names a fault");
        foldb::faults::plant_everywhere(fault);
    }
}

/// Raises the flag that ends other threads' loops when dropped. If a thread fails, the others still
/// end, and so does the test.
pub(crate) struct RaisedAtEnd<'a>(pub &'a AtomicBool);

impl Drop for RaisedAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// A database to read, whether it was opened for writing or only for reading.
pub(crate) trait AnyDb {
    fn names(&self) -> Vec<String>;
    fn reader(&self, keyspace: &str) -> Result<KeyspaceReader>;
    fn verified(&self) -> Result<u64>;
}

impl AnyDb for Db {
    fn names(&self) -> Vec<String> {
        self.keyspaces()
    }

    fn reader(&self, keyspace: &str) -> Result<KeyspaceReader> {
        Ok(self.keyspace(keyspace)?.reader())
    }

    fn verified(&self) -> Result<u64> {
        self.verify()
    }
}

impl AnyDb for ReadOnlyDb {
    fn names(&self) -> Vec<String> {
        self.keyspaces()
    }

    fn reader(&self, keyspace: &str) -> Result<KeyspaceReader> {
        self.keyspace(keyspace)
    }

    fn verified(&self) -> Result<u64> {
        self.verify()
    }
}

/// Returns a counter's bytes.
pub(crate) fn number(n: u64) -> [u8; 8] {
    n.to_le_bytes()
}

/// Reads a counter. A missing key counts 0.
pub(crate) fn count(db: &impl Reader, key: &str) -> u64 {
    let value = db.get(key).expect("the counter can be read");
    value.map_or(0, |value| u64::from_le_bytes(value[..].try_into().expect("8 bytes")))
}

/// Returns a value as text; `None` where there is none.
pub(crate) fn text(db: &impl Reader, key: &str) -> Option<String> {
    let value = db.get(key).expect("the key can be read");
    value.map(|value| String::from_utf8(value.to_vec()).expect("text"))
}

/// Returns the error of a result that must be one.
#[track_caller]
pub(crate) fn error_of<T>(result: Result<T>) -> Error {
    match result {
        Ok(_) => panic!("this should have failed"),
        Err(error) => error,
    }
}

/// Asserts that an error is of a kind, and names a file if one is given.
#[track_caller]
pub(crate) fn assert_error<T>(result: Result<T>, kind: ErrorKind, file: Option<&str>) -> Error {
    let error = error_of(result);
    assert_eq!(error.kind(), kind, "{error}");
    if let Some(file) = file {
        let path = error.path().unwrap_or_else(|| panic!("the error names no file: {error}"));
        assert!(path.ends_with(Path::new(file)), "{error} should name {file}");
    }
    error
}
