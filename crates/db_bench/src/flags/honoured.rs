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
        "Entries of one call in fill*, overwrite, delete* and multireadrandom benchmarks.";
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
    stats_per_interval: i64 = 0, "report",
        "Above 0: print the database's counters with the progress lines of the first thread.";
    report: String = String::new(), "report",
        "Write a page with plots of every benchmark to this file; this times every operation.";
}
