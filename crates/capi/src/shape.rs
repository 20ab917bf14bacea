//! The shape of a database: the sizes of key ranges, and its tables.

use std::ffi::c_void;

use foldb::Error;
use foldb::explain::TableInfo;

use crate::boundary::{call, check_out, store};
use crate::bytes::{foldb_bytes_t, range};
use crate::database::foldb_t;
use crate::error::foldb_error_t;
use crate::keyspace::{foldb_keyspace_t, keyspace_of};

/// Estimates the bytes that the keys from `lower` on and before `upper` take in tables and
/// memtables, older versions included, and stores the estimate in `*bytes`. NULL for a bound means
/// no bound there; a NULL keyspace is the default one. Reads no records.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_approximate_size(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    lower: *const foldb_bytes_t,
    upper: *const foldb_bytes_t,
    bytes: *mut u64,
) -> *mut foldb_error_t {
    call(|| {
        check_out(bytes, "bytes")?;
        // SAFETY: the caller keeps the rules of the header.
        let (keyspace, range) = unsafe { (keyspace_of(db, keyspace)?, range(lower, upper)?) };
        let size = keyspace.approximate_size(range)?;
        // SAFETY: checked above.
        unsafe { store(bytes, size) };
        Ok(())
    })
}

/// A table in a tree: a file, and the range of its keys that the tree shows.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct foldb_table_t {
    /// The lower bound of its keys.
    pub smallest: foldb_bytes_t,
    /// The upper bound of its keys.
    pub largest: foldb_bytes_t,
    /// The number in the name of its file.
    pub number: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Records in the file.
    pub records: u64,
    /// The smallest sequence number of its records.
    pub smallest_seqno: u64,
    /// The largest sequence number of its records.
    pub largest_seqno: u64,
    /// The level that the table is in. 0 is the newest.
    pub level: u32,
}

impl From<&TableInfo> for foldb_table_t {
    fn from(table: &TableInfo) -> foldb_table_t {
        foldb_table_t {
            smallest: (&*table.smallest).into(),
            largest: (&*table.largest).into(),
            number: table.number,
            bytes: table.bytes,
            records: table.records,
            smallest_seqno: table.smallest_seqno,
            largest_seqno: table.largest_seqno,
            // A tree has at most 32 levels.
            level: table.level as u32,
        }
    }
}

/// Receives a table, which lives during the call. Must return: no `longjmp`, no exception.
pub type foldb_table_fn =
    Option<unsafe extern "C" fn(state: *mut c_void, table: *const foldb_table_t)>;

/// Passes each table of a keyspace to `receive`, with `state`, on the calling thread: from level 0
/// to the last, each level's newest run first and each run in key order. A NULL keyspace is the
/// default one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_tables(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    receive: foldb_table_fn,
    state: *mut c_void,
) -> *mut foldb_error_t {
    call(|| {
        let receive = receive.ok_or_else(|| Error::invalid_argument("receive is NULL"))?;
        // SAFETY: the caller keeps the rules of the header.
        let tables = unsafe { keyspace_of(db, keyspace)? }.tables()?;
        for table in &tables {
            // SAFETY: the program's function keeps the rules of the header; the table lives.
            unsafe { receive(state, &table.into()) };
        }
        Ok(())
    })
}
