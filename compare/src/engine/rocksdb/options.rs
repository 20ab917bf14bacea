//! Turns nominal settings into RocksDB's options.

use std::ffi::{CString, c_char, c_int};

use librocksdb_sys::rocksdb_options_t;
use rocksdb::{AsRawPtr, BlockBasedOptions, Cache, DBCompactionStyle, DBCompressionType, Options};

use crate::engine::Nominal;
use crate::failure::{Failure, Result};

unsafe extern "C" {
    /// See `shim/operators.cc`.
    fn foldb_compare_set_merge_operator(
        options: *mut rocksdb_options_t,
        name: *const c_char,
    ) -> c_int;
}

/// RocksDB's options for a workload.
///
/// # Errors
/// RocksDB has no such merge operator.
pub fn options(nominal: &Nominal, universal: bool) -> Result<Options> {
    let mut options = Options::default();
    options.create_if_missing(true);
    set_as_db_bench_does(&mut options);
    options.set_write_buffer_size(nominal.write_buffer);
    options.set_block_based_table_factory(&tables(nominal));
    options.set_disable_auto_compactions(!nominal.compactions);
    if let Some(files) = nominal.open_files {
        options.set_max_open_files(int(files));
    }
    if universal {
        options.set_compaction_style(DBCompactionStyle::Universal);
    }
    if nominal.statistics {
        options.enable_statistics();
    }
    if nominal.separated {
        // RocksDB's garbage collection of blob files is off by default, and would reclaim nothing.
        options.set_enable_blob_files(true);
        options.set_enable_blob_gc(true);
    }
    set_shape(&mut options, nominal);
    if let Some(operator) = nominal.operator {
        set_operator(&mut options, operator.name())?;
    }
    Ok(options)
}

/// Sets the options that RocksDB's `db_bench` sets without flags and that differ from the library's
/// defaults.
fn set_as_db_bench_does(options: &mut Options) {
    options.set_enable_pipelined_write(true);
    options.set_level_compaction_dynamic_level_bytes(false);
    options.set_compression_type(DBCompressionType::Lz4);
}

fn tables(nominal: &Nominal) -> BlockBasedOptions {
    let mut tables = BlockBasedOptions::default();
    tables.set_block_size(nominal.block);
    tables.set_block_cache(&Cache::new_hyper_clock_cache(nominal.cache, 0));
    if nominal.bloom_bits > 0 {
        tables.set_bloom_filter(f64::from(nominal.bloom_bits), false);
    }
    tables
}

fn set_shape(options: &mut Options, nominal: &Nominal) {
    let shape = &nominal.shape;
    options.set_num_levels(int(shape.levels));
    options.set_level_zero_file_num_compaction_trigger(int(shape.trigger));
    options.set_level_zero_slowdown_writes_trigger(int(shape.slowdown));
    options.set_level_zero_stop_writes_trigger(int(shape.stop));
    options.set_max_bytes_for_level_base(shape.level_base);
    if shape.compress_from > 0 {
        options.set_min_level_to_compress(int(shape.compress_from));
    }
    if let Some(threads) = shape.background {
        // The older pair of settings is what the published command line has.
        #[allow(deprecated)]
        options.set_max_background_compactions(int(threads));
    }
}

fn int(value: usize) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}

fn set_operator(options: &mut Options, name: &str) -> Result<()> {
    let c_name = CString::new(name).map_err(Failure::during("rocksdb: merge operator"))?;
    // SAFETY: the pointer is that of `options`, which outlives the call and is borrowed mutably;
    // the name ends with a zero byte; the shim keeps neither.
    let found = unsafe { foldb_compare_set_merge_operator(options.as_raw_ptr(), c_name.as_ptr()) };
    match found {
        0 => Err(Failure::new(format!("rocksdb: there is no merge operator {name}"))),
        _ => Ok(()),
    }
}
