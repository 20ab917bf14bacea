//! Upkeep: flush, sync, compaction, garbage collection, checkpoints, verification, repair and
//! statistics.

use std::ffi::c_char;
use std::time::SystemTime;

use foldb::garbage::GcOptions;
use foldb::repair::RepairOptions;
use foldb::{Db, Options};

use crate::boundary::{arg, call, check_out, path, store};
use crate::bytes::{foldb_bytes_t, range};
use crate::database::foldb_t;
use crate::error::{c_string, foldb_error_t};
use crate::keyspace::{foldb_keyspace_t, keyspace_to_change};
use crate::options::{database_options, foldb_options_t};

/// Makes all earlier writes durable that went to the log.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_sync(db: *const foldb_t) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    call(|| unsafe { arg(db, "db")? }.db.to_change()?.sync())
}

/// Writes all memtables to tables and waits for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_flush(db: *const foldb_t) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    call(|| unsafe { arg(db, "db")? }.db.to_change()?.flush())
}

/// Waits until no flush, compaction or garbage collection is due.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_wait_for_background(db: *const foldb_t) -> *mut foldb_error_t {
    // SAFETY: the caller keeps the rules of the header.
    call(|| unsafe { arg(db, "db")? }.db.wait_for_background())
}

/// Compacts the keys from `lower` on and before `upper` into one sorted run. NULL for a bound means
/// no bound there; a NULL keyspace is the default one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_compact(
    db: *const foldb_t,
    keyspace: *const foldb_keyspace_t,
    lower: *const foldb_bytes_t,
    upper: *const foldb_bytes_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (keyspace, range) =
            unsafe { (keyspace_to_change(db, keyspace)?, range(lower, upper)?) };
        keyspace.compact(range)
    })
}

/// What a garbage collection did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct foldb_gc_report_t {
    /// Bytes of value segment files before.
    pub bytes_before: u64,
    /// Bytes of value segment files after.
    pub bytes_after: u64,
    /// Bytes read from segments.
    pub bytes_read: u64,
    /// Bytes written to segments.
    pub bytes_written: u64,
    /// Segment files rewritten.
    pub files_rewritten: u64,
    /// How long it took, in microseconds.
    pub duration_micros: u64,
    /// Longest time in microseconds that it held a lock which a read or write may wait for.
    pub longest_lock_micros: u64,
}

/// Rewrites value segments until at most `max_dead_fraction` of their bytes (0.0 to 1.0) are dead.
/// Reads and writes go on meanwhile. Stores what it did in `*report`, unless that is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_collect_garbage(
    db: *const foldb_t,
    max_dead_fraction: f64,
    report: *mut foldb_gc_report_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let db = unsafe { arg(db, "db")? }.db.to_change()?;
        let did =
            db.with(&GcOptions { max_dead_fraction, ..GcOptions::default() }).collect_garbage()?;
        let micros =
            |time: std::time::Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        if !report.is_null() {
            let own = foldb_gc_report_t {
                bytes_before: did.bytes_before,
                bytes_after: did.bytes_after,
                bytes_read: did.bytes_read,
                bytes_written: did.bytes_written,
                files_rewritten: did.files_rewritten,
                duration_micros: micros(did.duration),
                longest_lock_micros: micros(did.longest_lock),
            };
            // SAFETY: not NULL, and the caller keeps the rules of the header.
            unsafe { store(report, own) };
        }
        Ok(())
    })
}

/// Makes a copy of the database in a new directory, which can be opened as a database of its own.
/// Tables are hard links where the file system has them. Writes go on meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_checkpoint(
    db: *const foldb_t,
    directory: *const c_char,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (db, directory) = unsafe { (arg(db, "db")?, path(directory)?) };
        db.db.to_change()?.checkpoint(directory).map(drop)
    })
}

/// Reads every file of a database that nothing has open for writing. Checks all checksums, the
/// order of records, and references between files. Stores in `*faults` the number of faults, and in
/// `*report`, unless that is NULL, a text with a line for each fault; free it with
/// `foldb_string_free`. Changes nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_verify(
    directory: *const c_char,
    options: *const foldb_options_t,
    faults: *mut usize,
    report: *mut *mut c_char,
) -> *mut foldb_error_t {
    call(|| {
        check_out(faults, "faults")?;
        // SAFETY: the caller keeps the rules of the header.
        let (directory, options) = unsafe { (path(directory)?, database_options(options)?) };
        let found = foldb::repair::verify(directory, options)?;
        let lines: String = found.faults.iter().map(|fault| format!("{fault}\n")).collect();
        if !report.is_null() {
            // SAFETY: not NULL, and the caller keeps the rules of the header.
            unsafe { store(report, c_string(&lines).into_raw()) };
        }
        // SAFETY: checked above.
        unsafe { store(faults, found.faults.len()) };
        Ok(())
    })
}

/// Repairs a database that cannot be opened: keeps what is readable. Stores in `*lost` how many
/// losses it reports: missing or damaged tables, logs and value segments, damaged parts of logs,
/// and files that differ from their state at the last close. The writes around a damaged part of a
/// log are kept, and the damaged log stays beside it with the ending `.damaged`. With a `copy`, the
/// repair works in that directory and leaves the database as it is; with NULL it works in place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_repair(
    directory: *const c_char,
    options: *const foldb_options_t,
    copy: *const c_char,
    lost: *mut usize,
) -> *mut foldb_error_t {
    call(|| {
        check_out(lost, "lost")?;
        // SAFETY: the caller keeps the rules of the header.
        let (directory, options) = unsafe { (path(directory)?, database_options(options)?) };
        let mut how = RepairOptions::from(Options::clone(&options));
        if !copy.is_null() {
            // SAFETY: the caller keeps the rules of the header.
            how.copy_to = Some(unsafe { path(copy)? });
        }
        let report = Db::repair(directory, how)?;
        let skipped = report.skipped.iter().filter(|part| !part.lost_nothing()).count();
        let count = report.lost_tables.len() + report.lost_logs.len() + skipped;
        // SAFETY: checked above.
        unsafe { store(lost, count + report.lost_segments.len() + report.cut.len()) };
        Ok(())
    })
}

/// Stores the time by which entries expire and the machine's time, in seconds since 1970. Nothing
/// expires while the first is ahead of the second.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_clock(
    db: *const foldb_t,
    database: *mut i64,
    machine: *mut i64,
) -> *mut foldb_error_t {
    call(|| {
        check_out(database, "database")?;
        check_out(machine, "machine")?;
        // SAFETY: the caller keeps the rules of the header.
        let reading = unsafe { arg(db, "db")? }.db.clock();
        // SAFETY: checked above.
        unsafe {
            store(database, unix_seconds(reading.database));
            store(machine, unix_seconds(reading.machine));
        }
        Ok(())
    })
}

/// Sets the time by which entries expire back to the machine's, if it is ahead. Call this after the
/// machine's clock was ahead by mistake and was corrected. Stores in `*seconds` how far the time
/// was ahead; `seconds` may be NULL. Entries that had expired by the false time are back until
/// their end, except those that a flush or compaction has dropped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_reset_clock(
    db: *const foldb_t,
    seconds: *mut u64,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let before = unsafe { arg(db, "db")? }.db.to_change()?.reset_clock()?;
        if !seconds.is_null() {
            // SAFETY: the caller keeps the rules of the header.
            unsafe { store(seconds, before.ahead().as_secs()) };
        }
        Ok(())
    })
}

fn unix_seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Stores the statistics of a database in `*text`, in the text format of Prometheus; free it with
/// `foldb_string_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_stats(
    db: *const foldb_t,
    text: *mut *mut c_char,
) -> *mut foldb_error_t {
    call(|| {
        check_out(text, "text")?;
        // SAFETY: the caller keeps the rules of the header.
        let stats = unsafe { arg(db, "db")? }.db.stats();
        // SAFETY: checked above.
        unsafe { store(text, c_string(&stats.to_prometheus()).into_raw()) };
        Ok(())
    })
}
