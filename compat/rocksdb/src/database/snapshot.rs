//! Snapshots.

use foldb::Snapshot;

use crate::boundary::{free, handle};
use crate::database::rocksdb_t;

/// RocksDB: `Snapshot`.
pub struct rocksdb_snapshot_t {
    pub(crate) snapshot: Snapshot,
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_create_snapshot(db: *mut rocksdb_t) -> *const rocksdb_snapshot_t {
    handle(rocksdb_snapshot_t { snapshot: (&(*db).database).snapshot() })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_release_snapshot(
    _db: *mut rocksdb_t,
    snapshot: *const rocksdb_snapshot_t,
) {
    free(snapshot.cast_mut());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_snapshot_get_sequence_number(
    snapshot: *const rocksdb_snapshot_t,
) -> u64 {
    (*snapshot).snapshot.sequence_number()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_get_latest_sequence_number(db: *mut rocksdb_t) -> u64 {
    (&(*db).database).snapshot().sequence_number()
}
