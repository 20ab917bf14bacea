//! Options of tables.
//!
//! The engine has one table format of its own. It takes the size of blocks, the filter and the
//! cache; the other values are kept, and have no effect.

use std::ffi::{c_char, c_int, c_uchar};
use std::sync::Arc;

use crate::boundary::free;
use crate::objects::cache::{Cache, rocksdb_cache_t};
use crate::objects::filter_policy::rocksdb_filterpolicy_t;
use crate::options::rocksdb_options_t;
use crate::options::values::{made_and_freed, values};

/// RocksDB: `BlockBasedTableOptions`.
#[derive(Clone, Debug, Default)]
pub struct rocksdb_block_based_table_options_t {
    pub(crate) values: TableValues,
    cache: Option<Arc<Cache>>,
    filter_bits: Option<f64>,
}

/// What an open takes of the table options.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableChoice {
    pub(crate) values: TableValues,
    pub(crate) cache: Option<Arc<Cache>>,
    /// Filter bits for each key, if the program set a filter.
    pub(crate) filter_bits: Option<f64>,
}

/// RocksDB: `CuckooTableOptions`.
#[derive(Clone, Debug, Default)]
pub struct rocksdb_cuckoo_table_options_t {
    values: CuckooValues,
}

made_and_freed! {
    rocksdb_block_based_table_options_t:
        rocksdb_block_based_options_create, rocksdb_block_based_options_destroy;
    rocksdb_cuckoo_table_options_t: rocksdb_cuckoo_options_create, rocksdb_cuckoo_options_destroy;
}

values! {
    /// Plain values of a [`rocksdb_block_based_table_options_t`].
    TableValues of rocksdb_block_based_table_options_t {
        checksum: c_char = 4, rocksdb_block_based_options_set_checksum(c_char);
        block_size: usize = 4 << 10, rocksdb_block_based_options_set_block_size(usize);
        block_size_deviation: c_int = 10,
            rocksdb_block_based_options_set_block_size_deviation(c_int);
        block_restart_interval: c_int = 16,
            rocksdb_block_based_options_set_block_restart_interval(c_int);
        index_block_restart_interval: c_int = 1,
            rocksdb_block_based_options_set_index_block_restart_interval(c_int);
        metadata_block_size: u64 = 4096, rocksdb_block_based_options_set_metadata_block_size(u64);
        partition_filters: c_uchar = 0,
            rocksdb_block_based_options_set_partition_filters(c_uchar);
        optimize_filters_for_memory: c_uchar = 1,
            rocksdb_block_based_options_set_optimize_filters_for_memory(c_uchar);
        use_delta_encoding: c_uchar = 1,
            rocksdb_block_based_options_set_use_delta_encoding(c_uchar);
        no_block_cache: c_uchar = 0, rocksdb_block_based_options_set_no_block_cache(c_uchar);
        whole_key_filtering: c_uchar = 1,
            rocksdb_block_based_options_set_whole_key_filtering(c_uchar);
        format_version: c_int = 6, rocksdb_block_based_options_set_format_version(c_int);
        index_type: c_int = 0, rocksdb_block_based_options_set_index_type(c_int);
        data_block_index_type: c_int = 0,
            rocksdb_block_based_options_set_data_block_index_type(c_int);
        data_block_hash_ratio: f64 = 0.75,
            rocksdb_block_based_options_set_data_block_hash_ratio(f64);
        cache_index_and_filter_blocks: c_uchar = 0,
            rocksdb_block_based_options_set_cache_index_and_filter_blocks(c_uchar);
        cache_index_and_filter_blocks_with_high_priority: c_uchar = 1,
            rocksdb_block_based_options_set_cache_index_and_filter_blocks_with_high_priority(
                c_uchar
            );
        pin_l0_filter_and_index_blocks_in_cache: c_uchar = 0,
            rocksdb_block_based_options_set_pin_l0_filter_and_index_blocks_in_cache(c_uchar);
        pin_top_level_index_and_filter: c_uchar = 1,
            rocksdb_block_based_options_set_pin_top_level_index_and_filter(c_uchar);
        top_level_index_pinning_tier: c_int = 0,
            rocksdb_block_based_options_set_top_level_index_pinning_tier(c_int);
        partition_pinning_tier: c_int = 0,
            rocksdb_block_based_options_set_partition_pinning_tier(c_int);
        unpartitioned_pinning_tier: c_int = 0,
            rocksdb_block_based_options_set_unpartitioned_pinning_tier(c_int);
    }
}
values! {
    /// Plain values of a [`rocksdb_cuckoo_table_options_t`].
    CuckooValues of rocksdb_cuckoo_table_options_t {
        hash_ratio: f64 = 0.9, rocksdb_cuckoo_options_set_hash_ratio(f64);
        max_search_depth: u32 = 100, rocksdb_cuckoo_options_set_max_search_depth(u32);
        cuckoo_block_size: u32 = 5, rocksdb_cuckoo_options_set_cuckoo_block_size(u32);
        identity_as_first_hash: c_uchar = 0,
            rocksdb_cuckoo_options_set_identity_as_first_hash(c_uchar);
        use_module_hash: c_uchar = 1, rocksdb_cuckoo_options_set_use_module_hash(c_uchar);
    }
}

/// Takes the policy: the program does not free it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_block_based_options_set_filter_policy(
    table: *mut rocksdb_block_based_table_options_t,
    policy: *mut rocksdb_filterpolicy_t,
) {
    (*table).filter_bits = policy.as_ref().map(|own| own.bits_per_key);
    free(policy);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_block_based_options_set_block_cache(
    table: *mut rocksdb_block_based_table_options_t,
    cache: *mut rocksdb_cache_t,
) {
    (*table).cache = cache.as_ref().map(|own| own.0.clone());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_options_set_block_based_table_factory(
    options: *mut rocksdb_options_t,
    table: *mut rocksdb_block_based_table_options_t,
) {
    if let Some(table) = table.as_ref() {
        (*options).table = TableChoice {
            values: table.values.clone(),
            cache: table.cache.clone(),
            filter_bits: table.filter_bits,
        };
    }
}
