//! Databases whose clock the test sets.

use std::sync::Arc;
use std::time::Duration;

use foldb::env::{Env, ManualClock, MemFs};
use foldb::expiry::Expiry;
use foldb::{Compression, Db, Keyspace, KeyspaceOptions, Options};

use crate::support::{PATH, options};

/// 2026-01-01T00:00:00Z in seconds since 1970: the beginning of the tests' time.
pub(super) const START: u64 = 1_767_225_600;

pub(super) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A clock at second 0 of the tests.
pub(super) fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::default())
}

/// Sets the time of day to a second of the tests.
pub(super) fn set(clock: &ManualClock, second: u64) {
    clock.set_time_of_day(START + second);
}

/// Opens a database without threads.
pub(super) fn open(fs: &MemFs, clock: &Arc<ManualClock>) -> Db {
    let env = Env { clock: Arc::clone(clock) as _, ..Env::in_memory(fs.clone()) };
    let small = Options { write_buffer_size: 1 << 16, target_file_size: 4096, ..options(fs) };
    Db::open(PATH, Options { env, ..small }).unwrap()
}

/// Creates a keyspace whose operator appends to a list.
pub(super) fn lists(db: &Db, name: &str, expiry: Expiry) -> Keyspace {
    let options = KeyspaceOptions {
        merge_operator: Some("stringappend:,".to_owned()),
        expiry: Some(expiry),
        compression: Some(Compression::None),
        ..KeyspaceOptions::default()
    };
    db.keyspace_or_create(name, options).unwrap()
}

/// Reads a key as text.
pub(super) fn read(keyspace: &Keyspace, key: &str) -> Option<String> {
    let value = keyspace.get(key).unwrap();
    value.map(|value| String::from_utf8(value.into_owned()).unwrap())
}

/// Runs background work until nothing is left.
pub(super) fn settle(db: &Db) {
    while db.step_background().unwrap() {}
}

/// Returns the bytes of all tables.
pub(super) fn table_bytes(db: &Db) -> u64 {
    let stats = db.stats();
    let levels = stats.keyspaces.iter().flat_map(|keyspace| &keyspace.levels);
    levels.map(|level| level.bytes).sum()
}
