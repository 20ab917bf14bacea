//! Settings: plain data, each with its unit, its default and what more or less of it costs.
//!
//! [`Options`] is fixed at open; [`WriteOptions`] and [`ReadOptions`](crate::ReadOptions) go with a
//! call. A [`Profile`]
//! is a set of options to begin with, and [`Options::explain`] tells what is in effect and why.

mod explain;
mod keyspace;
mod memory;
mod profile;
mod resolve;
#[cfg(test)]
mod tests;
mod validate;
mod write;

use std::sync::Arc;

use foldb_env::Env;

use crate::events::EventListener;
use crate::fold::MergeOperator;
use crate::key::{BytewiseComparator, Comparator};
use crate::runtime::Runtime;
use crate::settings::{CompactionPreset, Compression, LogAdoption};

pub use explain::{ExplainedOption, OptionSource, OptionValue};
pub use keyspace::KeyspaceOptions;
pub use profile::Profile;
pub(crate) use validate::check_comparator;
pub use write::WriteOptions;

/// How a database is opened and how it behaves while it is open.
///
/// # Example
/// ```
/// let options = foldb::Options {
///     create_if_missing: true,
///     merge_operator: Some("uint64add".to_owned()),
///     write_buffer_size: 16 << 20,
///     ..foldb::Options::default()
/// };
/// options.validate()?;
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Options {
    /// The profile that these options began as ([`Options::profile`]). Default: balanced. Sets
    /// others; each may be set on top of it. Setting this field alone changes nothing: it only lets
    /// [`Options::explain`] tell what the profile set.
    pub profile: Profile,
    /// Create the database where none is. Default: false. true: a mistyped path becomes an empty
    /// database. RocksDB: `create_if_missing`.
    pub create_if_missing: bool,
    /// Fail where a database already is. Default: false. true: a database that is there is never
    /// written to. RocksDB: `error_if_exists`.
    pub error_if_exists: bool,
    /// Operator of merges that name none, as `NAME` or `NAME:PARAM` (`uint64add`,
    /// `stringappend:,`). Default: none, and a database that had one keeps it. Another one than
    /// last time changes later merges only. (Each stored operand names its own operator.)
    /// RocksDB: `merge_operator`.
    pub merge_operator: Option<String>,
    /// Operators of your own, found by name beside the built-in ones. Default: none. Each whose
    /// operands a database holds must be given whenever it is opened.
    pub operators: Vec<Arc<dyn MergeOperator>>,
    /// Open although the database holds operands of operators that nobody gave. Default: false, and
    /// such an open fails naming the operator. true: keys with operands of an operator that was not
    /// given fail when they are read. `get_operands` shows them, and flushes and compactions keep
    /// them untouched.
    pub allow_unresolved_operators: bool,
    /// Who is told of flushes, compactions, stalls and failed merges. Default: nobody. Each
    /// is waited for by the thread that tells it. RocksDB: `listeners`.
    pub listeners: Vec<Arc<dyn EventListener>>,
    /// Order of the keys; fixed when the database is created. Default: the order of the bytes.
    /// Another order than that of the bytes costs time at each comparison. RocksDB: `comparator`.
    pub comparator: Arc<dyn Comparator>,
    /// Orders of your own that keyspaces have, found by name when the database is opened. The order
    /// of the bytes and [`Options::comparator`] need not be among them. Default: none. Each that a
    /// keyspace has must be given whenever the database is opened.
    pub comparators: Vec<Arc<dyn Comparator>>,

    /// Bytes of the memtables being filled, of all keyspaces together and indexes included, at
    /// which they are sealed and flushed at the latest. Default: 64 MiB. More: fewer, larger
    /// flushes, less write amplification, longer recovery. Less: less memory.
    /// RocksDB: `write_buffer_size`.
    pub write_buffer_size: usize,
    /// Write buffers that may exist at once, the one being filled included; writes wait beyond it.
    /// Default: 0, which is as many as fit in 64 MiB, at least 2 and at most 17 (half of them,
    /// sealed, are flushed together). Two that are automatic and larger than 32 MiB do not have to
    /// fit whole: they take one and a half together, and one that fills as fast as it could be
    /// flushed is sealed early, at half its size or more. More: absorbs bursts. Less: less memory.
    /// RocksDB: `max_write_buffer_number`.
    pub max_write_buffers: usize,
    /// Bytes of log, of all keyspaces together, after which the oldest memtables are flushed even
    /// if they are not full.
    /// Default: 0, which is four write buffers, at least 64 MiB. More: fewer flushes of hot keys.
    /// Less: shorter recovery, less space. RocksDB: `max_total_wal_size`.
    pub wal_limit: u64,

    /// What memtables, block cache, indexes and filters of open tables, and the buffers of flushes
    /// and compactions take together, in bytes; [`crate::Db::memory`] itemises it. Default: 0,
    /// which is 256 MiB, or more where the write buffers, the cache or
    /// [`Options::compaction_memory_budget`] are set so large that they need it. A budget that is
    /// set (at least 8 MiB) wins over them: at most half is for write buffers, which shrink to fit,
    /// as does the cache. Open tables get what the others leave, and the least recently used are
    /// closed when it is not enough. More: fewer tables opened again. Less: less memory. Opening
    /// one again reads its index and filter, about 2 % of it. What readers pin of flushed memtables
    /// may exceed it. RocksDB: none; its indexes and filters are unbounded unless
    /// `cache_index_and_filter_blocks` is set.
    pub memory_budget: usize,
    /// What flushes and compactions may take of it, all threads together, in bytes. Default: 0, an
    /// eighth of the budget, at most 16 MiB a thread. More: larger tables of small records, longer
    /// read-ahead of each of many inputs. Less: less memory. RocksDB: none.
    pub compaction_memory_budget: usize,
    /// Threads, block cache, table handles and memory that several databases share. Databases that
    /// share one keep to its threads, cache, table handles and memory together. What it was made
    /// with takes the place of [`Options::memory_budget`], [`Options::block_cache_size`],
    /// [`Options::compaction_memory_budget`], [`Options::max_open_files`] and the threads of
    /// [`Options::env`]; a write buffer takes at most a quarter of its budget. Default: none, and
    /// the database has all of its own. RocksDB: a shared `Env`, `Cache` and `WriteBufferManager`.
    pub runtime: Option<Runtime>,
    /// Bytes of cached blocks, uncompressed. Default: 32 MiB; 0: no cache. More: fewer blocks are
    /// read and decompressed again. Less: less memory. What the cache does not hold the operating
    /// system's page cache often does, compressed. RocksDB: `block_cache`.
    pub block_cache_size: usize,
    /// Uncompressed bytes of a block, the unit of the index. Default: 4096. More: smaller index.
    /// Less: a little less to decode. Blocks above 4 KiB are read in parts of about 4 KiB, so a
    /// point read does not pay for a large block. RocksDB: `block_size`.
    pub block_size: usize,
    /// Filter bits per key in the last level; smaller levels above get more, so that all of them
    /// together answer "maybe" wrongly for about 1 % of missing keys. 0 turns filters off.
    /// Default: 10. More: fewer tables read in vain for keys they do not have. Less: less memory.
    /// RocksDB: `filter_policy`.
    pub bloom_bits: u32,
    /// How blocks are compressed. Default: LZ4. None: faster, larger. Zstd: smaller, slower. Blocks
    /// that hardly shrink are stored as they are. RocksDB: `compression`.
    ///
    /// This, [`Options::bloom_bits`] and [`Options::compaction`] are those of the default keyspace,
    /// and of keyspaces created without their own.
    pub compression: Compression,
    /// Levels above this one are not compressed. Default: 0, all are. More: cheaper flushes and
    /// small compactions. Less: less space.
    /// RocksDB: `min_level_to_compress`.
    pub min_level_to_compress: usize,
    /// Bytes of a table before the next is begun. Default: 0, which is one write buffer, at least
    /// 8 MiB and at most 64 MiB. More: fewer files. Less: smaller slices of background work.
    /// RocksDB: `target_file_size_base`.
    pub target_file_size: u64,
    /// Tables held open at once. Default: 1000. More: fewer are opened again. Less: less memory for
    /// indexes and filters, fewer file handles. RocksDB: `max_open_files`.
    pub max_open_files: usize,

    /// Shape of the tree. Default: lazy leveled. Leveled: shortest reads, most writing. Tiered:
    /// least writing, longest reads, most space. Lazy leveled: between them. RocksDB:
    /// `compaction_style`.
    pub compaction: CompactionPreset,
    /// Number of levels, 2 to 32. Default: 7. More: room for a larger tree. Less: fewer runs before
    /// the last level. A tree that has more keeps them. RocksDB: `num_levels`.
    pub num_levels: usize,
    /// Runs that gather in an inner tier before they are merged into one (lazy leveled, tiered).
    /// Default: 4. More: less writing, more runs to read. Less: shorter reads, more writing.
    /// RocksDB: universal's `min_merge_width`.
    pub tier_fan_in: usize,
    /// Bytes above the last level, as a fraction of its own, that make lazy leveled merge the
    /// ripest slice into it. Default: 0.25. More: less writing. Less: less space and shorter reads.
    /// RocksDB: universal's `max_size_amplification_percent`.
    pub staging_ratio: f64,
    /// Flushed runs in level 0 that start a compaction. Default: 4. More: less writing, more runs
    /// to read. Less: shorter reads, more writing.
    /// RocksDB: `level0_file_num_compaction_trigger`.
    pub level0_compaction_trigger: usize,
    /// Runs in level 0 from which writes are slowed, the more the closer they come to
    /// `level0_stop_trigger`. Default: 20. More: longer bursts at full speed, longer reads after
    /// them. Less: writes give way earlier.
    /// RocksDB: `level0_slowdown_writes_trigger`.
    pub level0_slowdown_trigger: usize,
    /// Runs in level 0 at which writes wait for a compaction. Default: 36. More: writes wait later,
    /// reads meet more runs until then. Less: a firmer bound on reads.
    /// RocksDB: `level0_stop_writes_trigger`.
    pub level0_stop_trigger: usize,
    /// Bytes of level 1 (leveled; the other shapes do not use it). Default: 256 MiB. More: fewer
    /// levels, and more rewritten at each merge into level 1. Less: the reverse.
    /// RocksDB: `max_bytes_for_level_base`.
    pub max_bytes_for_level_base: u64,
    /// How much larger each next level may be (leveled; the other shapes do not use it). Default:
    /// 10. More: fewer levels to read and less space, more rewriting in each. Less: the reverse.
    /// RocksDB: `max_bytes_for_level_multiplier`.
    pub max_bytes_for_level_multiplier: f64,
    /// Runs over one key above which a database that nobody writes to merges its upper runs, so
    /// that reads meet fewer. Default: 0, never. Less, but not 0: shorter reads after a pause, more
    /// writing.
    /// RocksDB: none.
    pub idle_runs: usize,
    /// Flush, but never compact, until asked. Default: false. true: no background rewriting, but
    /// reads meet ever more runs.
    /// RocksDB: `disable_auto_compactions`.
    pub disable_auto_compactions: bool,
    /// Threads that compact this database at once, beside the one that is left to flush.
    /// Default: 1. More: keeps up with more writing, for processor time and memory.
    /// RocksDB: `max_background_compactions`.
    pub max_background_compactions: usize,

    /// Bytes from which a value is separated: written to a value segment once and left there, while
    /// the tree moves its address. Default: none, values stay in the tree. Less: less is written
    /// and random reads are faster, scans are slower. `docs/experiments/value-segments.md` has both
    /// by size: from 1024 bytes on, values that are looked up rather than scanned gain, for up to
    /// `max_dead_fraction` more space. Where the log holds almost nothing else it becomes the
    /// segment, and they are written no second time ([`Options::adopt_logs`]). RocksDB:
    /// `enable_blob_files`, `min_blob_size`.
    pub value_separation_min: Option<usize>,
    /// Bytes of a value segment file, which grows over as many flushes as it takes. Default: 64
    /// MiB. More: fewer files. Less: smaller steps of garbage collections. RocksDB:
    /// `blob_file_size`.
    pub segment_size: u64,
    /// Whether value segments end with the keys of their values, so that a repair need not read the
    /// values. Default: true. false: each value has its key beside it. RocksDB: none.
    pub value_hints: bool,
    /// Which logs of almost nothing but separated values become value segments as they are, instead
    /// of having the values copied into one by the flush. Default: [`LogAdoption::InKeyOrder`].
    /// `Always`: values are written once in whatever order, and scans take about twice as long. It
    /// needs logs of a quarter of `segment_size` and more, and a file system with hard links; else
    /// values are copied. RocksDB: none.
    pub adopt_logs: LogAdoption,
    /// Largest part of the bytes in value segments that may be dead, as a fraction. Beyond it the
    /// background rewrites segments without their dead values. Default: 0.25; 1: never, until
    /// [`crate::Db::collect_garbage`] is called. More: less rewriting. Less: less space. RocksDB:
    /// `blob_garbage_collection_force_threshold`.
    pub max_dead_fraction: f64,
    /// Bytes of memory that garbage collection of value segments may take for lookups, buffers and
    /// hints. Default: 64 MiB. More: longer reads and writes at a time. Less: less memory. RocksDB:
    /// none.
    pub gc_memory_budget: usize,
    /// Most bytes per second that garbage collection of value segments reads and writes in the
    /// background. Default: 0, unlimited. More: space comes back sooner. Less: less in the way of
    /// reads and writes. RocksDB: `rate_limiter`.
    pub gc_io_budget: u64,

    /// Whether logs are written through a mapping, where the file system keeps the blocks that it
    /// reserves (ext4, tmpfs): appending a small record costs no system call then. Elsewhere, and
    /// where mapping fails, logs are written by calls; [`crate::Stats::log_is_mapped`] tells.
    /// Default: true. false: each write is a system call, and a failing disk an error instead of a
    /// SIGBUS. RocksDB: `allow_mmap_writes`.
    pub map_log: bool,

    /// Files, clock and threads. Default: the machine's.
    pub env: Env,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            profile: Profile::Balanced,
            create_if_missing: false,
            error_if_exists: false,
            merge_operator: None,
            operators: Vec::new(),
            allow_unresolved_operators: false,
            listeners: Vec::new(),
            comparator: Arc::new(BytewiseComparator),
            comparators: Vec::new(),
            write_buffer_size: 64 << 20,
            max_write_buffers: 0,
            wal_limit: 0,
            memory_budget: 0,
            compaction_memory_budget: 0,
            runtime: None,
            block_cache_size: 32 << 20,
            block_size: 4096,
            bloom_bits: 10,
            compression: Compression::Lz4,
            min_level_to_compress: 0,
            target_file_size: 0,
            max_open_files: 1000,
            compaction: CompactionPreset::LazyLeveled,
            num_levels: 7,
            tier_fan_in: 4,
            staging_ratio: 0.25,
            level0_compaction_trigger: 4,
            level0_slowdown_trigger: 20,
            level0_stop_trigger: 36,
            max_bytes_for_level_base: 256 << 20,
            max_bytes_for_level_multiplier: 10.0,
            idle_runs: 0,
            disable_auto_compactions: false,
            max_background_compactions: 1,
            value_separation_min: None,
            segment_size: 64 << 20,
            value_hints: true,
            adopt_logs: LogAdoption::default(),
            max_dead_fraction: 0.25,
            gc_memory_budget: 64 << 20,
            gc_io_budget: 0,
            map_log: true,
            env: Env::system(),
        }
    }
}

impl Options {
    /// Adds a merge operator of your own, and makes it the operator of merges that name none. Where
    /// operators share a name, those without a parameter in [`Options::merge_operator`] mean the
    /// first.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use foldb::{Db, Options, merge_fn};
    ///
    /// let last = merge_fn("app.last", |_, operands| operands.last().map(|last| last.to_vec()));
    /// let options = Options { create_if_missing: true, ..Options::default() }.operator(last);
    /// assert_eq!(options.merge_operator.as_deref(), Some("app.last"));
    /// let db = Db::open(dir.path(), options)?;
    /// db.merge("key", "1")?;
    /// db.merge("key", "2")?;
    /// assert_eq!(db.get("key")?.unwrap(), b"2");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    #[must_use]
    pub fn operator(mut self, operator: impl MergeOperator + 'static) -> Options {
        self.merge_operator = Some(operator.name().to_owned());
        self.operators.push(Arc::new(operator));
        self
    }
}
