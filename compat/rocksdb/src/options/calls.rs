//! Options of single calls: reads, writes, flushes, compactions and ingestions.

use std::ffi::{c_char, c_int, c_uchar};

use foldb::{ReadOptions, WriteOptions};

use crate::boundary::bytes;
use crate::database::snapshot::rocksdb_snapshot_t;
use crate::options::values::{made_and_freed, values};
use crate::perf;
use crate::status::{Outcome, Status};

/// RocksDB: `ReadOptions`.
#[derive(Clone, Debug, Default)]
pub struct rocksdb_readoptions_t {
    pub(crate) values: ReadValues,
    /// What the engine reads with.
    pub(crate) engine: ReadOptions,
    pub(crate) lower_bound: Option<Vec<u8>>,
    pub(crate) upper_bound: Option<Vec<u8>>,
    has_timestamp: bool,
}

/// RocksDB: `WriteOptions`.
#[derive(Clone, Debug, Default)]
pub struct rocksdb_writeoptions_t {
    pub(crate) values: WriteValues,
}

/// RocksDB: `CompactRangeOptions`.
#[derive(Clone, Debug, Default)]
pub struct rocksdb_compactoptions_t {
    pub(crate) values: CompactValues,
    /// RocksDB: `BottommostLevelCompaction`; `None` is its default, 1.
    bottommost: Option<c_uchar>,
}

/// RocksDB: `FlushOptions`.
#[derive(Clone, Debug, Default)]
pub struct rocksdb_flushoptions_t {
    pub(crate) values: FlushValues,
}

/// RocksDB: `WaitForCompactOptions`.
#[derive(Clone, Debug, Default)]
pub struct rocksdb_wait_for_compact_options_t {
    pub(crate) values: WaitValues,
}

/// RocksDB: `IngestExternalFileOptions`.
#[derive(Clone, Debug, Default)]
pub struct rocksdb_ingestexternalfileoptions_t {
    pub(crate) values: IngestValues,
}

made_and_freed! {
    rocksdb_readoptions_t: rocksdb_readoptions_create, rocksdb_readoptions_destroy;
    rocksdb_writeoptions_t: rocksdb_writeoptions_create, rocksdb_writeoptions_destroy;
    rocksdb_compactoptions_t: rocksdb_compactoptions_create, rocksdb_compactoptions_destroy;
    rocksdb_flushoptions_t: rocksdb_flushoptions_create, rocksdb_flushoptions_destroy;
    rocksdb_wait_for_compact_options_t:
        rocksdb_wait_for_compact_options_create, rocksdb_wait_for_compact_options_destroy;
    rocksdb_ingestexternalfileoptions_t:
        rocksdb_ingestexternalfileoptions_create, rocksdb_ingestexternalfileoptions_destroy;
}

values! {
    /// Plain values of a [`rocksdb_readoptions_t`].
    ReadValues of rocksdb_readoptions_t {
        verify_checksums: c_uchar = 1,
            rocksdb_readoptions_set_verify_checksums(c_uchar),
            rocksdb_readoptions_get_verify_checksums;
        fill_cache: c_uchar = 1,
            rocksdb_readoptions_set_fill_cache(c_uchar), rocksdb_readoptions_get_fill_cache;
        read_tier: c_int = 0,
            rocksdb_readoptions_set_read_tier(c_int), rocksdb_readoptions_get_read_tier;
        tailing: c_uchar = 0,
            rocksdb_readoptions_set_tailing(c_uchar), rocksdb_readoptions_get_tailing;
        managed: c_uchar = 0, rocksdb_readoptions_set_managed(c_uchar);
        readahead_size: usize = 0,
            rocksdb_readoptions_set_readahead_size(usize),
            rocksdb_readoptions_get_readahead_size;
        prefix_same_as_start: c_uchar = 0,
            rocksdb_readoptions_set_prefix_same_as_start(c_uchar),
            rocksdb_readoptions_get_prefix_same_as_start;
        pin_data: c_uchar = 0,
            rocksdb_readoptions_set_pin_data(c_uchar), rocksdb_readoptions_get_pin_data;
        total_order_seek: c_uchar = 0,
            rocksdb_readoptions_set_total_order_seek(c_uchar),
            rocksdb_readoptions_get_total_order_seek;
        max_skippable_internal_keys: u64 = 0,
            rocksdb_readoptions_set_max_skippable_internal_keys(u64),
            rocksdb_readoptions_get_max_skippable_internal_keys;
        background_purge_on_iterator_cleanup: c_uchar = 0,
            rocksdb_readoptions_set_background_purge_on_iterator_cleanup(c_uchar),
            rocksdb_readoptions_get_background_purge_on_iterator_cleanup;
        ignore_range_deletions: c_uchar = 0,
            rocksdb_readoptions_set_ignore_range_deletions(c_uchar),
            rocksdb_readoptions_get_ignore_range_deletions;
        deadline: u64 = 0,
            rocksdb_readoptions_set_deadline(u64), rocksdb_readoptions_get_deadline;
        io_timeout: u64 = 0,
            rocksdb_readoptions_set_io_timeout(u64), rocksdb_readoptions_get_io_timeout;
        async_io: c_uchar = 0,
            rocksdb_readoptions_set_async_io(c_uchar), rocksdb_readoptions_get_async_io;
        auto_readahead_size: c_uchar = 1, rocksdb_readoptions_set_auto_readahead_size(c_uchar);
    }
}
values! {
    /// Plain values of a [`rocksdb_writeoptions_t`].
    WriteValues of rocksdb_writeoptions_t {
        sync: c_uchar = 0, rocksdb_writeoptions_set_sync(c_uchar), rocksdb_writeoptions_get_sync;
        disable_WAL: c_uchar = 0,
            rocksdb_writeoptions_disable_WAL(c_int), rocksdb_writeoptions_get_disable_WAL;
        ignore_missing_column_families: c_uchar = 0,
            rocksdb_writeoptions_set_ignore_missing_column_families(c_uchar),
            rocksdb_writeoptions_get_ignore_missing_column_families;
        no_slowdown: c_uchar = 0,
            rocksdb_writeoptions_set_no_slowdown(c_uchar), rocksdb_writeoptions_get_no_slowdown;
        low_pri: c_uchar = 0,
            rocksdb_writeoptions_set_low_pri(c_uchar), rocksdb_writeoptions_get_low_pri;
        memtable_insert_hint_per_batch: c_uchar = 0,
            rocksdb_writeoptions_set_memtable_insert_hint_per_batch(c_uchar),
            rocksdb_writeoptions_get_memtable_insert_hint_per_batch;
    }
}
values! {
    /// Plain values of a [`rocksdb_compactoptions_t`].
    CompactValues of rocksdb_compactoptions_t {
        exclusive_manual_compaction: c_uchar = 0,
            rocksdb_compactoptions_set_exclusive_manual_compaction(c_uchar),
            rocksdb_compactoptions_get_exclusive_manual_compaction;
        change_level: c_uchar = 0,
            rocksdb_compactoptions_set_change_level(c_uchar),
            rocksdb_compactoptions_get_change_level;
        target_level: c_int = -1,
            rocksdb_compactoptions_set_target_level(c_int),
            rocksdb_compactoptions_get_target_level;
        target_path_id: c_int = 0,
            rocksdb_compactoptions_set_target_path_id(c_int),
            rocksdb_compactoptions_get_target_path_id;
        allow_write_stall: c_uchar = 0,
            rocksdb_compactoptions_set_allow_write_stall(c_uchar),
            rocksdb_compactoptions_get_allow_write_stall;
        max_subcompactions: c_int = 0,
            rocksdb_compactoptions_set_max_subcompactions(c_int),
            rocksdb_compactoptions_get_max_subcompactions;
    }
}
values! {
    /// Plain values of a [`rocksdb_flushoptions_t`].
    FlushValues of rocksdb_flushoptions_t {
        wait: c_uchar = 1, rocksdb_flushoptions_set_wait(c_uchar), rocksdb_flushoptions_get_wait;
    }
}
values! {
    /// Plain values of a [`rocksdb_wait_for_compact_options_t`].
    WaitValues of rocksdb_wait_for_compact_options_t {
        abort_on_pause: c_uchar = 0,
            rocksdb_wait_for_compact_options_set_abort_on_pause(c_uchar),
            rocksdb_wait_for_compact_options_get_abort_on_pause;
        flush: c_uchar = 0,
            rocksdb_wait_for_compact_options_set_flush(c_uchar),
            rocksdb_wait_for_compact_options_get_flush;
        close_db: c_uchar = 0,
            rocksdb_wait_for_compact_options_set_close_db(c_uchar),
            rocksdb_wait_for_compact_options_get_close_db;
        timeout: u64 = 0,
            rocksdb_wait_for_compact_options_set_timeout(u64),
            rocksdb_wait_for_compact_options_get_timeout;
    }
}
values! {
    /// Plain values of a [`rocksdb_ingestexternalfileoptions_t`].
    IngestValues of rocksdb_ingestexternalfileoptions_t {
        move_files: c_uchar = 0, rocksdb_ingestexternalfileoptions_set_move_files(c_uchar);
        snapshot_consistency: c_uchar = 1,
            rocksdb_ingestexternalfileoptions_set_snapshot_consistency(c_uchar);
        allow_global_seqno: c_uchar = 1,
            rocksdb_ingestexternalfileoptions_set_allow_global_seqno(c_uchar);
        allow_blocking_flush: c_uchar = 1,
            rocksdb_ingestexternalfileoptions_set_allow_blocking_flush(c_uchar);
        ingest_behind: c_uchar = 0, rocksdb_ingestexternalfileoptions_set_ingest_behind(c_uchar);
        fail_if_not_bottommost_level: c_uchar = 0,
            rocksdb_ingestexternalfileoptions_set_fail_if_not_bottommost_level(c_uchar);
    }
}

/// A choice of four, no flag.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_compactoptions_set_bottommost_level_compaction(
    options: *mut rocksdb_compactoptions_t,
    choice: c_uchar,
) {
    (*options).bottommost = Some(choice);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_compactoptions_get_bottommost_level_compaction(
    options: *mut rocksdb_compactoptions_t,
) -> c_uchar {
    (*options).bottommost.unwrap_or(1)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_readoptions_set_snapshot(
    options: *mut rocksdb_readoptions_t,
    snapshot: *const rocksdb_snapshot_t,
) {
    (*options).engine.snapshot = snapshot.as_ref().and_then(|own| own.get()).cloned();
}

/// Copies the bound. RocksDB keeps the pointer, so its programs keep the key alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_readoptions_set_iterate_upper_bound(
    options: *mut rocksdb_readoptions_t,
    key: *const c_char,
    len: usize,
) {
    (*options).upper_bound = bound(key, len);
}

/// Copies the bound. RocksDB keeps the pointer, so its programs keep the key alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_readoptions_set_iterate_lower_bound(
    options: *mut rocksdb_readoptions_t,
    key: *const c_char,
    len: usize,
) {
    (*options).lower_bound = bound(key, len);
}

unsafe fn bound(key: *const c_char, len: usize) -> Option<Vec<u8>> {
    if key.is_null() { None } else { bytes(key, len).ok().map(<[u8]>::to_vec) }
}

/// Reads with such options are refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_readoptions_set_timestamp(
    options: *mut rocksdb_readoptions_t,
    timestamp: *const c_char,
    _len: usize,
) {
    (*options).has_timestamp = !timestamp.is_null();
}

/// Reads with such options are refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_readoptions_set_iter_start_ts(
    options: *mut rocksdb_readoptions_t,
    timestamp: *const c_char,
    _len: usize,
) {
    (*options).has_timestamp = !timestamp.is_null();
}

/// User-defined timestamps are refused where a family is opened, so this has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn rocksdb_compactoptions_set_full_history_ts_low(
    _options: *mut rocksdb_compactoptions_t,
    _timestamp: *mut c_char,
    _len: usize,
) {
}

impl rocksdb_readoptions_t {
    /// Sets `fill_cache` where the engine reads it.
    pub(crate) fn for_engine(&self) -> Outcome<ReadOptions> {
        self.check()?;
        let mut engine = self.engine.clone();
        engine.fill_cache = self.values.fill_cache != 0;
        engine.report = perf::report();
        Ok(engine)
    }

    /// Whether a point read may use the defaults of the engine.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.engine.snapshot.is_none()
            && self.values.fill_cache != 0
            && !self.has_timestamp
            && !perf::is_counting()
    }

    /// # Errors
    /// `Not implemented` for user-defined timestamps.
    pub(crate) fn check(&self) -> Outcome<()> {
        if self.has_timestamp { Err(no_timestamps()) } else { Ok(()) }
    }
}

/// Returns the error of calls with user-defined timestamps.
pub(crate) fn no_timestamps() -> Status {
    Status::unsupported("user-defined timestamps")
}

impl rocksdb_writeoptions_t {
    /// Returns what the engine writes with.
    ///
    /// # Errors
    /// `Invalid argument` for a synced write without the log.
    #[inline]
    pub(crate) fn for_engine(&self) -> Outcome<WriteOptions> {
        let own = &self.values;
        if own.sync != 0 && own.disable_WAL != 0 {
            return Err(Status::invalid("Sync writes has to enable WAL."));
        }
        Ok(WriteOptions {
            sync: own.sync != 0,
            disable_wal: own.disable_WAL != 0,
            deadline: (own.no_slowdown != 0).then_some(std::time::Duration::ZERO),
            ..WriteOptions::DEFAULT
        })
    }
}
