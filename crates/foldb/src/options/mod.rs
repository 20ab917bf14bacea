//! Options: plain data, each with its unit, its default, and the effect of more and of less.
//!
//! A database is opened with [`Options`]. [`WriteOptions`] and [`ReadOptions`](crate::ReadOptions)
//! go with one call. A [`Profile`] is a set of options to start from. [`Options::explain`] returns
//! the options in effect and where each value comes from.

mod explain;
mod keyspace;
mod memory;
mod profile;
mod resolve;
#[cfg(test)]
mod tests;
#[cfg(feature = "serde")]
mod text;
mod validate;
mod write;

use std::sync::Arc;

use foldb_env::Env;

use crate::events::EventListener;
use crate::fold::MergeOperator;
use crate::key::{BytewiseComparator, Comparator, FilterPolicy};
use crate::runtime::Runtime;
use crate::settings::{CompactionPreset, Compression, LogAdoption};
use crate::table::CustomCache;

pub use explain::{ExplainedOption, OptionSource, OptionValue};
pub use keyspace::KeyspaceOptions;
pub use profile::Profile;
pub(crate) use validate::check_comparator;
pub use write::WriteOptions;

/// The options with which a database is opened. They hold until it is closed.
///
/// Later versions add fields. End a literal with `..Options::default()`, as below, and it goes on
/// compiling. With the cargo feature `serde`, options are read from and written to TOML, JSON and
/// the like. A file names a `profile` and what differs from it; the program then adds the handles:
/// operators, comparators, filter policies, listeners, runtime and environment.
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
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize, serde::Serialize),
    serde(from = "text::NamedOptions", into = "text::NamedOptions")
)]
pub struct Options {
    /// The profile that these options started from ([`Options::profile`]). Default: balanced. A
    /// label only: setting this field changes no other option. [`Options::explain`] uses it to say
    /// which values come from the profile.
    pub profile: Profile,
    /// Whether an open creates the database if the directory holds none. Default: false. true: a
    /// mistyped path becomes an empty database. RocksDB: `create_if_missing`.
    pub create_if_missing: bool,
    /// Whether an open fails if the directory already holds a database. Default: false. true: an
    /// open never writes to an existing database. RocksDB: `error_if_exists`.
    pub error_if_exists: bool,
    /// The operator of merges that name none, as `NAME` or `NAME:PARAM` (`uint64add`,
    /// `stringappend:,`). Default: none; a database that had one at its last open keeps it. A
    /// different operator than at the last open affects later merges only. Each stored operand
    /// names its own operator. RocksDB: `merge_operator`.
    pub merge_operator: Option<String>,
    /// Merge operators of the program, found by name beside the built-in ones. Default: none. Every
    /// open must register each operator that is not built in and whose operands the database holds.
    pub operators: Vec<Arc<dyn MergeOperator>>,
    /// Opens even if an operator that stored operands need is not registered. Default: false: such
    /// an open fails and names the operator. true: a read of a key with operands of an unregistered
    /// operator fails. `get_operands` shows these operands, and flushes and compactions keep them
    /// as they are.
    pub allow_unresolved_operators: bool,
    /// Listeners that receive events: flushes, compactions, stalls, failed merges. Default: none.
    /// The thread that reports an event waits for each listener. RocksDB: `listeners`.
    pub listeners: Vec<Arc<dyn EventListener>>,
    /// The order of the keys; fixed when the database is created. Default: the order of the bytes.
    /// An order other than that of the bytes makes comparisons slower. RocksDB: `comparator`.
    pub comparator: Arc<dyn Comparator>,
    /// Orders that keyspaces of the database use, found by name at the open. The byte order and
    /// [`Options::comparator`] need not be listed. Default: none. Every open must register each
    /// comparator of a keyspace, except the byte order.
    pub comparators: Vec<Arc<dyn Comparator>>,

    /// Bytes of the memtables being filled at which they are sealed and flushed at the latest: all
    /// keyspaces together, indexes included. Default: 64 MiB. More: fewer, larger flushes, less
    /// write amplification, longer recovery. Less: less memory. RocksDB: `write_buffer_size`.
    pub write_buffer_size: usize,
    /// Write buffers that may exist at once, the one being filled included. Writes stall beyond it.
    /// Default: 0, which means as many as fit in 64 MiB, at least 2 and at most 17. Half of them,
    /// sealed, are flushed together. Two automatic buffers above 32 MiB share the size of one and a
    /// half: a buffer that fills as fast as flushes drain it is sealed early, at half its size or
    /// more. More: absorbs bursts. Less: less memory. RocksDB: `max_write_buffer_number`.
    pub max_write_buffers: usize,
    /// Bytes of log after which the oldest memtables are flushed even if they are not full: all
    /// keyspaces together. Default: 0, which means four write buffers, at least 64 MiB. More: fewer
    /// flushes of hot keys. Less: shorter recovery, less space. RocksDB: `max_total_wal_size`.
    pub wal_limit: u64,
    /// Bytes of archived logs. Logs whose writes are in tables are archived, not removed, and the
    /// change feed reads them ([`crate::Db::updates_since`]). Default: 0. With
    /// [`Options::wal_retention_seconds`] also 0, no log is kept, and an open removes archived
    /// logs. More: a follower of the change feed may fall further behind. Less: less space. A log
    /// is about as long as the writes of one write buffer. RocksDB: `WAL_size_limit_MB`.
    pub wal_retention_bytes: u64,
    /// Seconds for which an archived log is kept. They count from its flush, and after a reopen
    /// from the last change of the file. Default: 0, which means no limit of time. If both options
    /// are set, a log is removed at the first limit that it reaches. More: a follower may be away
    /// for longer. Less: less space. RocksDB: `WAL_ttl_seconds`.
    pub wal_retention_seconds: u64,

    /// Bytes of memory for memtables, block cache, indexes and filters of open tables, and the
    /// buffers of flushes and compactions, all together. [`crate::Db::memory`] itemises it.
    /// Default: 0, which means 256 MiB, or more if the write buffers, the cache or
    /// [`Options::compaction_memory_budget`] are set to sizes that need it. A given budget (at
    /// least 8 MiB) wins over these sizes. Write buffers then shrink to at most half of it, and the
    /// cache shrinks to fit. Open tables get the rest; if it is not enough, the least recently used
    /// tables are closed. More: fewer tables opened again. Less: less memory. Opening a table again
    /// reads its index and filter, about 2 % of its bytes. Flushed memtables that readers pin may
    /// exceed the budget, and so may the logged writes that a read-only handle holds. An open whose
    /// logs hold more than the budget reads them twice. RocksDB: none; its indexes and filters are
    /// unbounded unless `cache_index_and_filter_blocks` is set.
    pub memory_budget: usize,
    /// Bytes of the memory budget for flushes and compactions, all threads together. Default: 0,
    /// which means an eighth of the budget, at most 16 MiB a thread. More: larger tables of small
    /// records, longer read-ahead when a compaction has many inputs. Less: less memory. RocksDB:
    /// none.
    pub compaction_memory_budget: usize,
    /// A runtime that several databases may use. Databases that share a runtime share its threads,
    /// cache, table handles and memory. Its settings replace [`Options::memory_budget`],
    /// [`Options::block_cache_size`], [`Options::compaction_memory_budget`],
    /// [`Options::max_open_files`] and the threads of [`Options::env`]. A write buffer takes at
    /// most a quarter of its budget. Default: none: the database has a runtime of its own. RocksDB:
    /// a shared `Env`, `Cache` and `WriteBufferManager`.
    pub runtime: Option<Runtime>,
    /// Bytes of cached blocks, uncompressed. Default: 32 MiB; 0: no cache. More: fewer blocks are
    /// read and decompressed again. Less: less memory. The operating system's page cache often
    /// holds the compressed blocks that this cache does not. RocksDB: `block_cache`.
    pub block_cache_size: usize,
    /// A cache of the program's own for the blocks of this database. Its memory is no part of the
    /// memory budget. [`Options::block_cache_size`] has no effect then. Default: none: the
    /// built-in cache. RocksDB: a subclass of `Cache` in `block_cache`.
    pub block_cache: Option<Arc<dyn CustomCache>>,
    /// Uncompressed bytes of a block, the unit of the index. Default: 4096. More: smaller index.
    /// Less: a little less to decode. Blocks above 4 KiB are read in parts of about 4 KiB, so a
    /// point read does not pay for a large block. RocksDB: `block_size`.
    pub block_size: usize,
    /// Filter bits per key in the last level; 0 turns filters off. Default: 10. Smaller levels
    /// above get more bits, so that all filters together pass about 1 % of missing keys. More:
    /// fewer reads of tables that do not have the key. Less: less memory. RocksDB: `filter_policy`.
    pub bloom_bits: u32,
    /// Makes the filters of tables in place of the built-in one. Default: none, and
    /// [`Options::bloom_bits`] applies. A policy that knows the keys may rule out more missing
    /// ones. Reads take longer. Each open gives the policy again. RocksDB: `filter_policy`.
    pub filter_policy: Option<Arc<dyn FilterPolicy>>,
    /// Filter policies that keyspaces of the database were created with, found by name at the open.
    /// [`Options::filter_policy`] need not be listed. Default: none. Without its policy, a keyspace
    /// is read without the filters of that policy.
    pub filter_policies: Vec<Arc<dyn FilterPolicy>>,
    /// The compression codec of blocks. Default: LZ4. None: faster, larger. Zstd: smaller, slower.
    /// A block that hardly shrinks is stored uncompressed. RocksDB: `compression`.
    ///
    /// This option, [`Options::bloom_bits`], [`Options::filter_policy`] and [`Options::compaction`]
    /// apply to the default keyspace, and to each keyspace that is created without its own.
    pub compression: Compression,
    /// The first level whose tables are compressed. Default: 0, which means all levels. More:
    /// cheaper flushes and small compactions. Less: less space. RocksDB: `min_level_to_compress`.
    pub min_level_to_compress: usize,
    /// Bytes of a table after which the next one begins. Default: 0, which means one write buffer,
    /// at least 8 MiB and at most 64 MiB. More: fewer files. Less: smaller slices of background
    /// work. RocksDB: `target_file_size_base`.
    pub target_file_size: u64,
    /// Tables that are open at once, at most. Default: 1000. More: fewer tables opened again. Less:
    /// less memory for indexes and filters, fewer file handles. RocksDB: `max_open_files`.
    ///
    /// An open table needs no file handle of its own. All databases of the process together use at
    /// most [`crate::env::file_budget`] handles for tables and value segments: what the limit of
    /// the process (`ulimit -n`) leaves after a reserve for the program. They give handles back
    /// when the system has none left.
    pub max_open_files: usize,

    /// The shape of the tree. Default: lazy leveled, which lies between the others. Leveled:
    /// shortest reads, most write amplification. Tiered: least write amplification, longest reads,
    /// most space. RocksDB: `compaction_style`.
    pub compaction: CompactionPreset,
    /// Number of levels, 2 to 32. Default: 7. More: room for a larger tree. Less: fewer runs before
    /// the last level. A tree that has more levels keeps them. RocksDB: `num_levels`.
    pub num_levels: usize,
    /// Runs that gather in an inner tier before a compaction merges them into one (lazy leveled,
    /// tiered). Default: 4. More: less write amplification, more runs to read. Less: shorter reads,
    /// more write amplification. RocksDB: universal's `min_merge_width`.
    pub tier_fan_in: usize,
    /// Bytes above the last level, as a fraction of the last level's, at which lazy leveled merges
    /// a slice into it. It takes the slice with the most bytes to merge for each byte to rewrite.
    /// Default: 0.25. More: less write amplification. Less: less space and shorter reads. RocksDB:
    /// universal's `max_size_amplification_percent`.
    pub staging_ratio: f64,
    /// Flushed runs in level 0 that start a compaction. Default: 4. More: less write amplification,
    /// more runs to read. Less: shorter reads, more write amplification. RocksDB:
    /// `level0_file_num_compaction_trigger`.
    pub level0_compaction_trigger: usize,
    /// Runs in level 0 at which writes slow down. They slow down more as level 0 nears
    /// `level0_stop_trigger`. Default: 20. More: longer bursts at full speed, longer reads after
    /// them. Less: writes slow down earlier. RocksDB: `level0_slowdown_writes_trigger`.
    pub level0_slowdown_trigger: usize,
    /// Runs in level 0 at which writes stall until a compaction has made room. Default: 36. More:
    /// writes stall later, reads meet more runs until then. Less: a firmer bound on reads. RocksDB:
    /// `level0_stop_writes_trigger`.
    pub level0_stop_trigger: usize,
    /// Bytes of level 1 (leveled; the other shapes do not use it). Default: 256 MiB. More: fewer
    /// levels, and more rewritten at each compaction into level 1. Less: the reverse. RocksDB:
    /// `max_bytes_for_level_base`.
    pub max_bytes_for_level_base: u64,
    /// The size of a level divided by the size of the one above (leveled; the other shapes do not
    /// use it). Default: 10. More: fewer levels to read and less space, more rewriting in each.
    /// Less: the reverse. RocksDB: `max_bytes_for_level_multiplier`.
    pub max_bytes_for_level_multiplier: f64,
    /// Runs over one key above which an idle database compacts its upper runs, so that reads meet
    /// fewer. Default: 0, which means never. Less, but not 0: shorter reads after a pause, more
    /// write amplification. RocksDB: none.
    pub idle_runs: usize,
    /// Whether the background only flushes, and compacts only when the program asks. Default:
    /// false. true: no background rewriting, but reads meet ever more runs. RocksDB:
    /// `disable_auto_compactions`.
    pub disable_auto_compactions: bool,
    /// Threads that compact this database at once, beside one that is kept for flushes. Default: 1.
    /// More: keeps up with faster writes, for processor time and memory. RocksDB:
    /// `max_background_compactions`.
    pub max_background_compactions: usize,

    /// Bytes from which a value is separated: it is written once, to a value segment, and the tree
    /// moves only its address. Default: none: values stay in the tree. Less: less write
    /// amplification and faster random reads, slower scans. `docs/experiments/value-segments.md`
    /// measures both by value size. From 1024 bytes on, values that are looked up rather than
    /// scanned gain, for up to `max_dead_fraction` more space. A log of almost nothing but such
    /// values becomes the segment itself, so they are not written twice ([`Options::adopt_logs`]).
    /// RocksDB: `enable_blob_files`, `min_blob_size`.
    pub value_separation_min: Option<usize>,
    /// Bytes of a value segment file. Many flushes append to one file until it is full. Default: 64
    /// MiB. More: fewer files. Less: smaller steps of garbage collection. RocksDB:
    /// `blob_file_size`.
    pub segment_size: u64,
    /// Whether a value segment ends with the keys of its values, so that a repair need not read the
    /// values. Default: true. false: each key is stored next to its value, and a repair reads the
    /// values too. RocksDB: none.
    pub value_hints: bool,
    /// Which logs become value segments instead of having the flush copy their values. Only logs of
    /// almost nothing but separated values qualify. Default: [`LogAdoption::InKeyOrder`]. `Always`:
    /// values that arrive out of key order are also written only once, but scans of them take about
    /// twice as long. Adoption needs logs of at least a quarter of `segment_size`, and a file
    /// system with hard links; otherwise values are copied. RocksDB: none.
    pub adopt_logs: LogAdoption,
    /// The largest fraction of the bytes in value segments that may be dead. Beyond it the
    /// background rewrites segments without their dead values. Default: 0.25; 1: only
    /// [`crate::Db::collect_garbage`] reclaims space. More: less rewriting. Less: less space.
    /// RocksDB: `blob_garbage_collection_force_threshold`.
    pub max_dead_fraction: f64,
    /// Bytes of memory that garbage collection of value segments may take for lookups, buffers and
    /// hints. Default: 64 MiB. More: fewer but longer reads and writes of files. Less: less memory.
    /// RocksDB: none.
    pub gc_memory_budget: usize,
    /// Bytes per second that garbage collection of value segments may read and write in the
    /// background. Default: 0, which means no limit. More: space is reclaimed sooner. Less: less
    /// interference with reads and writes. RocksDB: `rate_limiter`.
    pub gc_io_budget: u64,
    /// Bytes per second that the background may read to check files that nothing else reads. It
    /// goes round all tables and value segments, a file at a time, while no other work is due. A
    /// round takes an hour at least.
    /// Damage raises [`crate::Event::TableDamaged`] or [`crate::Event::BackgroundError`]. Files in
    /// the system's page cache are checked there, not on the disk. Default: 0, which means that no
    /// file is checked. More: damage is found sooner. Less: fewer reads. RocksDB: none.
    pub scrub_io_budget: u64,

    /// Whether logs are written through a memory mapping. Appending a small record then costs no
    /// system call. It works on file systems that keep the blocks they reserve (ext4, tmpfs).
    /// Elsewhere, and if mapping fails, logs are written by calls; [`crate::Stats::log_is_mapped`]
    /// says which. Default: true. false: each write is a system call, and a failing disk is an
    /// error instead of a SIGBUS. RocksDB: `allow_mmap_writes`.
    pub map_log: bool,

    /// Whether a write with [`crate::WriteOptions::sync`] becomes visible only when it is durable.
    /// The writer then syncs before it applies the write, and other writers wait for the sync. A
    /// synced write that fails is then never seen. Default: false: a write is visible as soon as
    /// it survives a kill of the process, so readers may see it before its call returns, and one
    /// sync serves all waiting writers. true: threads that sync their writes sync one after
    /// another, so put writes of several callers into one batch. RocksDB: none.
    pub visible_when_durable: bool,

    /// Most bytes of the reserve: a file with space that only deletes, drops of keyspaces, and the
    /// work that frees their space may use when the disk is full. Writes of other kinds then fail
    /// with [`NoSpace`](crate::ErrorKind::NoSpace) until there is space again. The file takes an
    /// eighth of the database's bytes, at most this many. Default: 64 MiB; 0: no reserve. More:
    /// more deletes pass on a full disk, and larger memtables are flushed there. Less: less space.
    /// RocksDB: none.
    pub space_reserve: u64,

    /// Files, clock and threads. Default: those of the operating system.
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
            wal_retention_bytes: 0,
            wal_retention_seconds: 0,
            memory_budget: 0,
            compaction_memory_budget: 0,
            runtime: None,
            block_cache_size: 32 << 20,
            block_cache: None,
            block_size: 4096,
            bloom_bits: 10,
            filter_policy: None,
            filter_policies: Vec::new(),
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
            scrub_io_budget: 0,
            map_log: true,
            visible_when_durable: false,
            space_reserve: 64 << 20,
            env: Env::system(),
        }
    }
}

impl Options {
    /// Registers a merge operator and makes it the operator of merges that name none.
    /// [`Options::merge_operator`] without a parameter means the first registered operator of that
    /// name.
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
