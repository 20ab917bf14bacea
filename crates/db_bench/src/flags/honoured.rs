//! The table of flags with an effect: name, type, default, steered setting and help.
//!
//! An option of the engine needs a row only if RocksDB's flag has another meaning than the option.
//! `options.rs` makes the flags of the others.

use super::value::FlagValue;

/// The benchmarks that run without `--benchmarks`.
const DEFAULT_BENCHMARKS: &str = "fillseq,fillsync,fillrandom,overwrite,readrandom,seekrandom,\
                                  readseq,readreverse,compact,readrandom,readseq,readreverse,\
                                  fill100K,crc32c";

/// A flag as the help page shows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flag {
    /// Its name, without dashes.
    pub name: &'static str,
    /// Whether it takes a value only after `=`.
    pub boolean: bool,
    /// The setting that it steers: a field of `foldb::Options`, `foldb::KeyspaceOptions` or
    /// `foldb::WriteOptions`, or `workload`.
    pub steers: &'static str,
    /// Its effect, in one line.
    pub help: &'static str,
}

/// Declares [`Flags`], its defaults, [`HONOURED`] and the setter from one list.
macro_rules! honoured {
    ($($name:ident: $type:ty = $default:expr, $steers:literal, $help:literal;)*) => {
        /// The value of every honoured flag.
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct Flags {
            $(#[doc = $help] pub $name: $type,)*
            /// The options of the engine that are given by their names.
            pub options: Vec<(&'static str, String)>,
        }

        impl Default for Flags {
            fn default() -> Flags {
                Flags { $($name: $default,)* options: Vec::new() }
            }
        }

        /// Every honoured flag, in the order of the help page.
        pub(crate) const HONOURED: &[Flag] = &[$(
            Flag {
                name: stringify!($name),
                boolean: <$type as FlagValue>::BOOLEAN,
                steers: $steers,
                help: $help,
            },
        )*];

        impl Flags {
            /// Sets the flag `name` from its text; `Err` is the expected text.
            pub(crate) fn set(&mut self, name: &str, text: &str) -> Result<(), &'static str> {
                match name {
                    $(stringify!($name) => {
                        self.$name = <$type as FlagValue>::parse(text)
                            .ok_or(<$type as FlagValue>::EXPECTED)?;
                    })*
                    _ => unreachable!("{name} is not in the table of honoured flags"),
                }
                Ok(())
            }

            /// The value of the flag `name`, as text.
            pub(crate) fn show(&self, name: &str) -> String {
                match name {
                    $(stringify!($name) => self.$name.show(),)*
                    _ => unreachable!("{name} is not in the table of honoured flags"),
                }
            }
        }
    };
}

honoured! {
    benchmarks: String = DEFAULT_BENCHMARKS.to_owned(), "workload",
        "Comma-separated benchmarks, run in this order.";
    num: i64 = 1_000_000, "workload",
        "Number of operations, and of keys that they choose from.";
    reads: i64 = -1, "workload",
        "Reads to do; negative: as many as --num.";
    writes: i64 = -1, "workload",
        "Writes to do; negative: as many as --num.";
    threads: u64 = 1, "workload",
        "Threads, each doing the whole number of operations.";
    duration: u64 = 0, "workload",
        "Seconds that random-order benchmarks run instead of a number of operations; 0: off.";
    benchmark_write_rate_limit: u64 = 0, "workload",
        "Bytes of keys and values that all threads together write a second; 0: no limit.";
    benchmark_read_rate_limit: u64 = 0, "workload",
        "Reads or seeks that all threads together begin a second; 0: no limit.";
    seed: i64 = 0, "workload",
        "Base of the random generators' seeds; 0: from the clock, and printed.";
    key_size: u64 = 16, "workload",
        "Bytes of a key: the number as 8 bytes big-endian, then '0'.";
    value_size: u64 = 100, "workload",
        "Bytes of a value or merge operand.";
    batch_size: u64 = 1, "workload",
        "Entries of one call in fill*, overwrite, delete*, multiread* and approximate* benchmarks.";
    merge_keys: i64 = -1, "workload",
        "Number of keys that merges choose from; negative: as many as --num.";
    mergereadpercent: u64 = 70, "workload",
        "Merges, in percent of the operations of readrandommergerandom.";
    readwritepercent: u64 = 90, "workload",
        "Reads, in percent of the operations of readrandomwriterandom.";
    seek_nexts: u64 = 0, "workload",
        "Entries read after each seek of seekrandom.";
    reverse_iterator: bool = false, "workload",
        "Read the entries before the key of each seek of seekrandom, not those after it.";
    deletes: i64 = -1, "workload",
        "Deletes to do; negative: as many as --num.";
    ops_between_duration_checks: u64 = 1000, "workload",
        "Operations between two looks at the clock with --duration.";
    keys_per_prefix: u64 = 0, "workload",
        "Keys that begin with the same --prefix_size bytes; 0: keys have no prefix.";
    prefix_size: u64 = 0, "workload",
        "Bytes of the prefix of keys, with --keys_per_prefix.";
    read_random_exp_range: f64 = 0.0, "workload",
        "Skew of the keys that random reads choose: log of hottest over coldest; 0: none.";
    multiread_stride: u64 = 0, "workload",
        "Distance of the keys of a batch in multireadrandom and readrandom; 0: random keys.";
    multiscan_size: u64 = 10, "workload",
        "Ranges of one multiscan.";
    multiscan_stride: u64 = 100, "workload",
        "Keys between two ranges of one multiscan.";
    max_scan_distance: u64 = 0, "workload",
        "Keys between that of a seek of seekrandom and the bound of its iterator; 0: no bound.";
    explicit_snapshot: bool = false, "workload",
        "Scans and seeks read at a snapshot.";
    readonly: bool = false, "workload",
        "As --use_existing_db, and refuse benchmarks that write.";
    finish_after_writes: bool = false, "workload",
        "The thread beside reading benchmarks ends after --writes, not with them.";
    numdistinct: u64 = 1000, "workload",
        "Number of keys of randomwithverify and randomreplacekeys.";
    deletepercent: u64 = 2, "workload",
        "Deletes, in percent of the operations of randomwithverify.";
    stddev: f64 = 2000.0, "workload",
        "Standard deviation of the keys that randomreplacekeys chooses.";
    key_id_range: u64 = 100_000, "workload",
        "Number of series in timeseries.";
    expire_style: String = "none".to_owned(), "workload",
        "none, or delete: readers of timeseries delete entries older than --time_range.";
    time_range: u64 = 100_000, "workload",
        "Entries after which an entry of timeseries is old.";
    num_deletion_threads: u64 = 1, "workload",
        "Readers of timeseries that delete, with --expire_style=delete.";
    transaction_db: bool = false, "workload",
        "randomtransaction runs transactions, and checks the sums at the end.";
    optimistic_transaction_db: bool = false, "workload",
        "As --transaction_db: transactions of foldb are optimistic.";
    transaction_sets: u64 = 2, "workload",
        "Sets of which randomtransaction changes one key each.";
    writes_before_delete_range: u64 = 0, "workload",
        "Writes before the first range delete.";
    writes_per_range_tombstone: u64 = 0, "workload",
        "Writes from one range delete to the next; 0: no range deletes.";
    range_tombstone_width: u64 = 100, "workload",
        "Keys of a range delete.";
    max_num_range_tombstones: u64 = 0, "workload",
        "Range deletes at most; they also add to the keys that fills choose from.";
    expand_range_tombstones: bool = false, "workload",
        "Delete the keys of a range one by one.";
    overwrite_probability: f64 = 0.0, "workload",
        "Share of writes of filluniquerandom that overwrite a recent key.";
    overwrite_window_size: u64 = 1, "workload",
        "Recent keys that such writes choose from.";
    disposable_entries_batch_size: u64 = 0, "workload",
        "Entries that fillanddeleteuniquerandom deletes again, at a time; 0: none.";
    disposable_entries_delete_delay: u64 = 0, "workload",
        "Microseconds until it deletes them.";
    disposable_entries_value_size: u64 = 64, "workload",
        "Bytes of their values.";
    persistent_entries_batch_size: u64 = 0, "workload",
        "Entries that it puts before it deletes a batch, and keeps.";
    persistent_entries_value_size: u64 = 64, "workload",
        "Bytes of their values.";
    mix_get_ratio: f64 = 1.0, "workload",
        "Share of gets in mixgraph.";
    mix_put_ratio: f64 = 0.0, "workload",
        "Share of puts in mixgraph.";
    mix_seek_ratio: f64 = 0.0, "workload",
        "Share of seeks in mixgraph.";
    mix_max_scan_len: u64 = 10_000, "workload",
        "A scan of mixgraph reads fewer entries than this.";
    mix_max_value_size: u64 = 1024, "workload",
        "A value of mixgraph has at most these bytes.";
    value_k: f64 = 0.2615, "workload",
        "Shape of the generalized Pareto distribution of value sizes in mixgraph.";
    value_sigma: f64 = 25.45, "workload",
        "Scale of that distribution.";
    value_theta: f64 = 0.0, "workload",
        "Location of that distribution.";
    iter_k: f64 = 2.517, "workload",
        "Shape of the generalized Pareto distribution of scan lengths in mixgraph.";
    iter_sigma: f64 = 14.236, "workload",
        "Scale of that distribution.";
    iter_theta: f64 = 0.0, "workload",
        "Location of that distribution.";
    key_dist_a: f64 = 0.0, "workload",
        "Factor a of the power law a*x^b of keys in mixgraph; 0: all keys are alike.";
    key_dist_b: f64 = 0.0, "workload",
        "Exponent b of that law; 0: all keys are alike.";
    keyrange_dist_a: f64 = 0.0, "workload",
        "Factor a of the law a*e^(b*x)+c*e^(d*x) of key ranges in mixgraph.";
    keyrange_dist_b: f64 = 0.0, "workload",
        "Exponent b of that law.";
    keyrange_dist_c: f64 = 0.0, "workload",
        "Factor c of that law.";
    keyrange_dist_d: f64 = 0.0, "workload",
        "Exponent d of that law.";
    keyrange_num: i64 = 1, "workload",
        "Number of key ranges in mixgraph.";
    sine_mix_rate: bool = false, "workload",
        "Offer the operations of mixgraph at the rate a*sin(b*t+c)+d a second.";
    sine_mix_rate_interval_milliseconds: u64 = 10_000, "workload",
        "Milliseconds until that rate changes.";
    sine_mix_rate_noise: f64 = 0.0, "workload",
        "Noise of that rate, as a share of a: 0 to 1.";
    sine_write_rate: bool = false, "workload",
        "Offer the bytes of fills at the rate a*sin(b*t+c)+d a second.";
    sine_write_rate_interval_milliseconds: u64 = 10_000, "workload",
        "Milliseconds until that rate changes.";
    sine_a: f64 = 1.0, "workload",
        "a of the sine rates.";
    sine_b: f64 = 1.0, "workload",
        "b of the sine rates.";
    sine_c: f64 = 0.0, "workload",
        "c of the sine rates.";
    sine_d: f64 = 1.0, "workload",
        "d of the sine rates.";
    value_size_distribution_type: String = "fixed".to_owned(), "workload",
        "Sizes of values: fixed, or uniform or normal between the next two flags.";
    value_size_min: u64 = 100, "workload",
        "Least bytes of a value whose size is not fixed.";
    value_size_max: u64 = 102_400, "workload",
        "Most bytes of a value whose size is not fixed.";
    same_value_percentage: f64 = 0.0, "workload",
        "Percent of values that are all the same.";
    backup_dir: String = String::new(), "workload",
        "Directory of backup and restore; not given: the database's with -backup.";
    restore_dir: String = String::new(), "workload",
        "Directory of restore; not given: the database's with -restore.";
    truth_db: String = String::new(), "workload",
        "Database that verify compares with.";
    compression_ratio: f64 = 0.5, "workload",
        "Fraction of their size to which generated values compress.";
    db: Option<String> = None, "Db::open",
        "Directory of the database; not given: foldb-dbbench in the system's temporary directory.";
    use_existing_db: bool = false, "Options::create_if_missing",
        "Keep an existing database; benchmarks that need a fresh one are skipped.";
    merge_operator: String = String::new(), "KeyspaceOptions::merge_operator",
        "Merge operator as NAME or NAME:PARAM (see `foldb operators`).";
    disable_wal: bool = false, "WriteOptions::disable_wal",
        "Write no log.";
    sync: bool = false, "WriteOptions::sync",
        "Sync the log at each write.";
    profile: Option<String> = None, "Options::profile",
        "balanced, write_heavy, small_memory or small: the defaults of the other database flags.";
    cache_size: i64 = -1, "Options::block_cache_size",
        "Bytes of the block cache; negative: 8388608, or the profile's.";
    block_size: Option<u64> = None, "Options::block_size",
        "Uncompressed bytes of a block, and bytes of one crc32c operation; not given: 4096.";
    bloom_bits: f64 = -1.0, "KeyspaceOptions::bloom_bits",
        "Filter bits per key, rounded to a whole number; negative: foldb's own, 0: no filters.";
    open_files: Option<i64> = None, "Options::max_open_files",
        "Tables held open at once; 0: foldb's own, negative: all.";
    num_levels: Option<u64> = None, "Options::num_levels",
        "Levels of the tree; not given: 7. Below 2 is taken as 2, above 32 as 32.";
    min_level_to_compress: i64 = -1, "Knobs::min_level_to_compress",
        "First level that is compressed; negative: all are.";
    compression_type: Option<String> = None, "KeyspaceOptions::compression",
        "none, snappy, lz4, or zstd in a build with the cargo feature zstd.";
    enable_blob_files: Option<bool> = None, "KeyspaceOptions::value_separation_min",
        "Separate values of --min_blob_size bytes and more; not given: foldb's own.";
    min_blob_size: u64 = 0, "KeyspaceOptions::value_separation_min",
        "Bytes from which values are separated, with --enable_blob_files.";
    compaction_style: Option<i64> = None, "KeyspaceOptions::compaction",
        "0: leveled, 1: tiered (RocksDB's universal); not given: foldb's own, lazy leveled.";
    max_background_compactions: Option<i64> = None, "Options::max_background_compactions",
        "Threads that compact; below 1: foldb's own.";
    histogram: bool = false, "report",
        "Print percentiles of the times of operations.";
    statistics: bool = false, "report",
        "Print the counters of the database at the end.";
    stats_interval: u64 = 0, "report",
        "Operations between progress lines of each thread, on stderr; 0: none.";
    stats_interval_seconds: u64 = 0, "report",
        "Seconds between progress lines of each thread, looked at each 1000 operations; 0: off.";
    progress_reports: bool = true, "report",
        "Print progress.";
    report_file: String = "report.csv".to_owned(), "report",
        "File for the operations of each --report_interval_seconds, as CSV.";
    report_interval_seconds: u64 = 0, "report",
        "Seconds between lines of --report_file; 0: no file.";
    confidence_interval_only: bool = false, "report",
        "Of benchmarks that run several times, print intervals instead of averages.";
    stats_per_interval: i64 = 0, "report",
        "Above 0: print the database's counters with the progress lines of the first thread.";
    report: String = String::new(), "report",
        "Write a page with plots of every benchmark to this file; this times every operation.";
}
