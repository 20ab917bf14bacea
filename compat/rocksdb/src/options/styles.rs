//! Options of the compaction styles other than leveled.

use std::ffi::{c_int, c_uchar};

use crate::options::rocksdb_options_t;
use crate::options::values::{made_and_freed, values};

/// RocksDB: `CompactionOptionsUniversal`.
#[derive(Clone, Debug, Default)]
pub struct rocksdb_universal_compaction_options_t {
    pub(crate) values: UniversalValues,
}

/// RocksDB: `CompactionOptionsFIFO`.
#[derive(Clone, Debug, Default)]
pub struct rocksdb_fifo_compaction_options_t {
    pub(crate) values: FifoValues,
}

made_and_freed! {
    rocksdb_universal_compaction_options_t:
        rocksdb_universal_compaction_options_create, rocksdb_universal_compaction_options_destroy;
    rocksdb_fifo_compaction_options_t:
        rocksdb_fifo_compaction_options_create, rocksdb_fifo_compaction_options_destroy;
}

values! {
    /// Plain values of a [`rocksdb_universal_compaction_options_t`].
    UniversalValues of rocksdb_universal_compaction_options_t {
        size_ratio: c_int = 1,
            rocksdb_universal_compaction_options_set_size_ratio(c_int),
            rocksdb_universal_compaction_options_get_size_ratio;
        min_merge_width: c_int = 2,
            rocksdb_universal_compaction_options_set_min_merge_width(c_int),
            rocksdb_universal_compaction_options_get_min_merge_width;
        max_merge_width: c_int = -1,
            rocksdb_universal_compaction_options_set_max_merge_width(c_int),
            rocksdb_universal_compaction_options_get_max_merge_width;
        max_size_amplification_percent: c_int = 200,
            rocksdb_universal_compaction_options_set_max_size_amplification_percent(c_int),
            rocksdb_universal_compaction_options_get_max_size_amplification_percent;
        compression_size_percent: c_int = -1,
            rocksdb_universal_compaction_options_set_compression_size_percent(c_int),
            rocksdb_universal_compaction_options_get_compression_size_percent;
        stop_style: c_int = 1,
            rocksdb_universal_compaction_options_set_stop_style(c_int),
            rocksdb_universal_compaction_options_get_stop_style;
    }
}
values! {
    /// Plain values of a [`rocksdb_fifo_compaction_options_t`].
    FifoValues of rocksdb_fifo_compaction_options_t {
        allow_compaction: c_uchar = 0,
            rocksdb_fifo_compaction_options_set_allow_compaction(c_uchar),
            rocksdb_fifo_compaction_options_get_allow_compaction;
        max_table_files_size: u64 = 1 << 30,
            rocksdb_fifo_compaction_options_set_max_table_files_size(u64),
            rocksdb_fifo_compaction_options_get_max_table_files_size;
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_universal_compaction_options(
    options: *mut rocksdb_options_t,
    universal: *mut rocksdb_universal_compaction_options_t,
) {
    if let Some(universal) = universal.as_ref() {
        (*options).universal = universal.values.clone();
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_fifo_compaction_options(
    options: *mut rocksdb_options_t,
    fifo: *mut rocksdb_fifo_compaction_options_t,
) {
    if let Some(fifo) = fifo.as_ref() {
        (*options).fifo = fifo.values.clone();
    }
}
