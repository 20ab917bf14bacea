//! Snapshots.
//!
//! A transaction lends its snapshot as such a handle, which the program frees as plain memory. So
//! the handle is a pointer only. One that the program made owns its snapshot, and `release` frees
//! it.

use foldb::Snapshot;

use crate::boundary::handle;
use crate::database::rocksdb_t;

/// RocksDB: `Snapshot`.
#[repr(C)]
pub struct rocksdb_snapshot_t {
    /// NULL in a handle of a transaction without a snapshot.
    snapshot: *const Snapshot,
}

impl rocksdb_snapshot_t {
    /// Makes a handle that owns its snapshot.
    pub(crate) fn owning(snapshot: Snapshot) -> *const rocksdb_snapshot_t {
        handle(rocksdb_snapshot_t { snapshot: handle(snapshot) })
    }

    /// Makes a handle that lives in memory of `malloc`, and lends a snapshot that lives longer.
    pub(crate) fn lent(snapshot: Option<&Snapshot>) -> *const rocksdb_snapshot_t {
        let snapshot = snapshot.map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the block has the size of the handle.
        unsafe {
            let place = libc::malloc(size_of::<rocksdb_snapshot_t>()).cast::<rocksdb_snapshot_t>();
            assert!(!place.is_null(), "a handle needs a few bytes of memory");
            place.write(rocksdb_snapshot_t { snapshot });
            place
        }
    }

    /// Returns the snapshot, if there is one.
    pub(crate) unsafe fn get(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }
}

/// Frees a handle that owns its snapshot.
pub(crate) unsafe fn release(snapshot: *const rocksdb_snapshot_t) {
    if !snapshot.is_null() {
        let own = Box::from_raw(snapshot.cast_mut());
        crate::boundary::free(own.snapshot.cast_mut());
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_create_snapshot(db: *mut rocksdb_t) -> *const rocksdb_snapshot_t {
    rocksdb_snapshot_t::owning((&(*db).database).snapshot())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_release_snapshot(
    _db: *mut rocksdb_t,
    snapshot: *const rocksdb_snapshot_t,
) {
    release(snapshot);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_snapshot_get_sequence_number(
    snapshot: *const rocksdb_snapshot_t,
) -> u64 {
    (&*snapshot).get().map_or(0, Snapshot::sequence_number)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_get_latest_sequence_number(db: *mut rocksdb_t) -> u64 {
    (&(*db).database).snapshot().sequence_number()
}
