//! The names of RocksDB's options, and of their values.
//!
//! The lists are those of release 10.4, with the names that it only passes over. `text` reads them.

/// Names of a family's options that RocksDB changes while a database is open.
pub(crate) const CHANGEABLE: &[&str] = &[
    "arena_block_size",
    "blob_compaction_readahead_size",
    "blob_compression_type",
    "blob_file_size",
    "blob_file_starting_level",
    "blob_garbage_collection_age_cutoff",
    "blob_garbage_collection_force_threshold",
    "block_based_table_factory",
    "block_protection_bytes_per_key",
    "bottommost_compression",
    "bottommost_file_compaction_delay",
    "bottommost_temperature",
    "check_flush_compaction_key_order",
    "compaction_options_fifo",
    "compaction_options_universal",
    "compression",
    "compression_manager",
    "compression_per_level",
    "default_write_temperature",
    "disable_auto_compactions",
    "enable_blob_files",
    "enable_blob_garbage_collection",
    "expanded_compaction_factor",
    "experimental_mempurge_threshold",
    "filter_deletes",
    "hard_pending_compaction_bytes_limit",
    "hard_rate_limit",
    "ignore_max_compaction_bytes_for_input",
    "inplace_update_num_locks",
    "last_level_temperature",
    "level0_file_num_compaction_trigger",
    "level0_slowdown_writes_trigger",
    "level0_stop_writes_trigger",
    "max_bytes_for_level_base",
    "max_bytes_for_level_multiplier",
    "max_bytes_for_level_multiplier_additional",
    "max_compaction_bytes",
    "max_grandparent_overlap_factor",
    "max_sequential_skip_in_iterations",
    "max_successive_merges",
    "max_write_buffer_number",
    "memtable_avg_op_scan_flush_trigger",
    "memtable_huge_page_size",
    "memtable_max_range_deletions",
    "memtable_op_scan_flush_trigger",
    "memtable_prefix_bloom_bits",
    "memtable_prefix_bloom_huge_page_tlb_size",
    "memtable_prefix_bloom_probes",
    "memtable_prefix_bloom_size_ratio",
    "memtable_protection_bytes_per_key",
    "memtable_whole_key_filtering",
    "min_blob_size",
    "min_partial_merge_operands",
    "paranoid_file_checks",
    "paranoid_memory_checks",
    "periodic_compaction_seconds",
    "plain_table_factory",
    "preclude_last_level_data_seconds",
    "prefix_extractor",
    "prepopulate_blob_cache",
    "preserve_internal_time_seconds",
    "report_bg_io_stats",
    "sample_for_compression",
    "snap_refresh_nanos",
    "soft_pending_compaction_bytes_limit",
    "soft_rate_limit",
    "source_compaction_factor",
    "strict_max_successive_merges",
    "table_factory",
    "target_file_size_base",
    "target_file_size_multiplier",
    "ttl",
    "uncache_aggressiveness",
    "verify_checksums_in_compaction",
    "write_buffer_size",
    "compression_opts",
    "bottommost_compression_opts",
];

/// Names of a family's options that RocksDB does not change while a database is open.
pub(crate) const FIXED: &[&str] = &[
    "blob_cache",
    "bloom_locality",
    "compaction_filter",
    "compaction_filter_factory",
    "compaction_measure_io_stats",
    "compaction_pri",
    "compaction_style",
    "comparator",
    "default_temperature",
    "disallow_memtable_writes",
    "force_consistency_checks",
    "inplace_update_support",
    "level_compaction_dynamic_file_size",
    "level_compaction_dynamic_level_bytes",
    "max_mem_compaction_level",
    "max_write_buffer_number_to_maintain",
    "max_write_buffer_size_to_maintain",
    "memtable",
    "memtable_factory",
    "memtable_insert_with_hint_prefix_extractor",
    "merge_operator",
    "min_write_buffer_number_to_merge",
    "num_levels",
    "optimize_filters_for_hits",
    "persist_user_defined_timestamps",
    "purge_redundant_kvs_while_flush",
    "rate_limit_delay_max_milliseconds",
    "sst_partitioner_factory",
    "table_properties_collectors",
];

/// Names that this library reads and does not store, by what their values are. All of them tune.
pub(crate) const UNSTORED: &[(Kind, &[&str])] =
    &[(Kind::Flag, FLAGS), (Kind::Whole, WHOLE_NUMBERS), (Kind::Text, TEXTS)];

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Flag,
    Whole,
    /// Anything.
    Text,
}

const FLAGS: &[&str] = &[
    "allow_2pc",
    "allow_data_in_errors",
    "allow_fallocate",
    "avoid_flush_during_recovery",
    "avoid_flush_during_shutdown",
    "background_close_inactive_wals",
    "best_efforts_recovery",
    "compaction_verify_record_count",
    "enable_thread_tracking",
    "enforce_single_del_contracts",
    "flush_verify_memtable_count",
    "force_consistency_checks",
    "paranoid_file_checks",
    "paranoid_memory_checks",
    "persist_stats_to_disk",
    "persist_user_defined_timestamps",
    "prefix_seek_opt_in_only",
    "strict_bytes_per_sync",
    "strict_max_successive_merges",
    "track_and_verify_wals",
    "two_write_queues",
    "verify_sst_unique_id_in_manifest",
];

const WHOLE_NUMBERS: &[&str] = &[
    "bgerror_resume_retry_interval",
    "block_protection_bytes_per_key",
    "bottommost_file_compaction_delay",
    "delayed_write_rate",
    "follower_catchup_retry_count",
    "follower_catchup_retry_wait_ms",
    "follower_refresh_catchup_period_ms",
    "log_readahead_size",
    "max_bgerror_resume_count",
    "max_write_batch_group_size_bytes",
    "memtable_max_range_deletions",
    "memtable_protection_bytes_per_key",
    "preclude_last_level_data_seconds",
    "preserve_internal_time_seconds",
    "sample_for_compression",
    "stats_history_buffer_size",
    "uncache_aggressiveness",
    "write_thread_max_yield_usec",
    "write_thread_slow_yield_usec",
];

const TEXTS: &[&str] = &[
    "listeners",
    "max_bytes_for_level_multiplier_additional",
    "access_hint_on_compaction_start",
    "allow_os_buffer",
    "base_background_compactions",
    "blob_cache",
    "bottommost_temperature",
    "check_flush_compaction_key_order",
    "compaction_measure_io_stats",
    "compression_manager",
    "concurrent_prepare",
    "daily_offpeak_time_utc",
    "db_host_id",
    "db_log_dir",
    "default_temperature",
    "default_write_temperature",
    "disableDataSync",
    "disable_data_sync",
    "env",
    "expanded_compaction_factor",
    "experimental_allow_mempurge",
    "experimental_mempurge_policy",
    "fail_if_options_file_error",
    "file_checksum_gen_factory",
    "filter_deletes",
    "hard_rate_limit",
    "ignore_max_compaction_bytes_for_input",
    "last_level_temperature",
    "level_compaction_dynamic_file_size",
    "lowest_used_cache_tier",
    "max_grandparent_overlap_factor",
    "max_mem_compaction_level",
    "max_write_buffer_number_to_maintain",
    "memtable",
    "memtable_factory",
    "memtable_insert_with_hint_prefix_extractor",
    "memtable_prefix_bloom_bits",
    "memtable_prefix_bloom_huge_page_tlb_size",
    "memtable_prefix_bloom_probes",
    "metadata_write_temperature",
    "min_partial_merge_operands",
    "new_table_reader_for_compaction_inputs",
    "plain_table_factory",
    "preserve_deletes",
    "purge_redundant_kvs_while_flush",
    "random_access_max_buffer_size",
    "rate_limit_delay_max_milliseconds",
    "rate_limiter",
    "rate_limiter_bytes_per_sec",
    "seq_per_batch",
    "skip_log_error_on_recovery",
    "snap_refresh_nanos",
    "soft_rate_limit",
    "source_compaction_factor",
    "sst_partitioner_factory",
    "statistics",
    "table_properties_collectors",
    "use_direct_writes",
    "verify_checksums_in_compaction",
    "wal_dir",
    "wal_filter",
    "wal_write_temperature",
];

/// Names of tables' options that this library reads and does not store. All of them tune.
pub(crate) const UNSTORED_OF_TABLES: &[&str] = &[
    "block_align",
    "block_cache_compressed",
    "data_block_hash_table_util_ratio",
    "decouple_partitioned_filters",
    "detect_filter_construct_corruption",
    "enable_index_compression",
    "flush_block_policy_factory",
    "hash_index_allow_collision",
    "index_per_partition",
    "index_shortening",
    "initial_auto_readahead_size",
    "max_auto_readahead_size",
    "num_file_reads_for_auto_readahead",
    "partition_pinning",
    "prepopulate_block_cache",
    "read_amp_bytes_per_bit",
    "reserve_table_builder_memory",
    "reserve_table_reader_memory",
    "skip_table_builder_flush",
    "top_level_index_pinning",
    "unpartitioned_pinning",
    "verify_compression",
];

/// Names whose functions in C have another name.
const OTHER_NAMES: [(&str, &str); 4] = [
    ("enable_blob_garbage_collection", "enable_blob_gc"),
    ("blob_garbage_collection_age_cutoff", "blob_gc_age_cutoff"),
    ("blob_garbage_collection_force_threshold", "blob_gc_force_threshold"),
    ("data_block_hash_table_util_ratio", "data_block_hash_ratio"),
];

/// The values that have names, in the order of their numbers from 0 on.
const NAMED_VALUES: &[(&str, &[&str])] = &[
    ("checksum", &["kNoChecksum", "kCRC32c", "kxxHash", "kxxHash64", "kXXH3"]),
    ("compaction_pri", PRIORITIES),
    ("compaction_style", STYLES),
    ("data_block_index_type", &["kDataBlockBinarySearch", "kDataBlockBinaryAndHash"]),
    ("index_type", INDEXES),
    ("info_log_level", LEVELS),
    ("prepopulate_blob_cache", &["kDisable", "kFlushOnly"]),
    ("stop_style", &["kCompactionStopStyleSimilarSize", "kCompactionStopStyleTotalSize"]),
    ("wal_recovery_mode", RECOVERIES),
];

const PRIORITIES: &[&str] = &[
    "kByCompensatedSize",
    "kOldestLargestSeqFirst",
    "kOldestSmallestSeqFirst",
    "kMinOverlappingRatio",
    "kRoundRobin",
];

const STYLES: &[&str] = &[
    "kCompactionStyleLevel",
    "kCompactionStyleUniversal",
    "kCompactionStyleFIFO",
    "kCompactionStyleNone",
];

const INDEXES: &[&str] =
    &["kBinarySearch", "kHashSearch", "kTwoLevelIndexSearch", "kBinarySearchWithFirstKey"];

const LEVELS: &[&str] =
    &["DEBUG_LEVEL", "INFO_LEVEL", "WARN_LEVEL", "ERROR_LEVEL", "FATAL_LEVEL", "HEADER_LEVEL"];

const RECOVERIES: &[&str] = &[
    "kTolerateCorruptedTailRecords",
    "kAbsoluteConsistency",
    "kPointInTimeRecovery",
    "kSkipAnyCorruptedRecords",
];

/// The codecs, by RocksDB's names and numbers.
const CODECS: [(&str, u8); 9] = [
    ("kNoCompression", 0),
    ("kSnappyCompression", 1),
    ("kZlibCompression", 2),
    ("kBZip2Compression", 3),
    ("kLZ4Compression", 4),
    ("kLZ4HCCompression", 5),
    ("kXpressCompression", 6),
    ("kZSTD", 7),
    ("kDisableCompressionOption", 255),
];

/// Returns the number of a codec.
pub(crate) fn codec(value: &str) -> Option<u8> {
    CODECS.iter().find(|(name, _)| *name == value).map(|&(_, number)| number)
}

/// Returns the name of a codec.
pub(crate) fn codec_name(number: i32) -> Option<&'static str> {
    CODECS.iter().find(|(_, own)| i32::from(*own) == number).map(|&(name, _)| name)
}

/// Returns whether the values of an option are codecs.
pub(crate) fn has_codecs(name: &str) -> bool {
    ["compression", "bottommost_compression", "blob_compression_type", "wal_compression"]
        .contains(&name)
}

/// Returns the names of the values of an option, if its values have names.
pub(crate) fn named_values(name: &str) -> Option<&'static [&'static str]> {
    NAMED_VALUES.iter().find(|(own, _)| *own == name).map(|&(_, values)| values)
}

/// Returns RocksDB's name of an option, by the name that its functions have in C.
pub(crate) fn in_texts(in_c: &str) -> &str {
    OTHER_NAMES.iter().find(|(_, own)| *own == in_c).map_or(in_c, |(name, _)| name)
}

/// Returns the name that the functions of an option have in C.
pub(crate) fn in_c(name: &str) -> &str {
    OTHER_NAMES.iter().find(|(own, _)| *own == name).map_or(name, |(_, in_c)| in_c)
}
