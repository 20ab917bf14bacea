//! The declaration of every option of a database.
//!
//! [`declared_options`] hands its table to a macro, which makes one thing of it. `options/mod.rs`
//! makes the fields of `Options`, with their documentation and defaults. `options/declared.rs`
//! makes the list that checks, explains, reads and writes options by name. `settings/resolved.rs`
//! makes the settings that the engine works with. A group names the reader of its options:
//!
//! ```text
//! open       an open or a repair, the runtime, or a handle: they read `Options`
//! keyspace   each keyspace has its own: `KeyspaceOptions`
//! engine     the engine reads `Settings`          segments   `Settings::segments`
//! tree       the compaction policy reads `Settings::tree`
//! knobs      benches and tests set `Knobs`, whose fields are public with the feature
//!            `internals`. No list of options has them
//! ```
//!
//! The options of a keyspace are the fields of `KeyspaceOptions`. The field `default` of `Options`
//! has those of the keyspace `default`. Such an option has a default for that keyspace, or `none`.
//!
//! An option has its documentation, its name and type, and in braces its default with its unit and
//! range, the effect of more and of less, and the names that other engines have for it. The default
//! of an `automatic` option is 0, which stands for a number that follows from other options. A
//! `handle` is no text; the second expression shows it.

macro_rules! declared_options {
    ($then:ident) => { $then! {

open {
    /// The profile that these options started from ([`Options::profile`]). [`Options::explain`]
    /// uses it to say which values come from the profile.
    profile: Profile {
        value Profile::Balanced;
        "A label only: setting this field changes no other option."
    }
    /// Whether an open creates the database if the directory holds none.
    create_if_missing: bool {
        value false;
        "true: a mistyped path becomes an empty database."
        RocksDB "create_if_missing" LevelDB "create_if_missing"
    }
    /// Whether an open fails if the directory already holds a database.
    error_if_exists: bool {
        value false;
        "true: an open never writes to an existing database."
        RocksDB "error_if_exists" LevelDB "error_if_exists"
    }
    /// Merge operators of the program, found by name beside the built-in ones.
    operators: Vec<Arc<dyn MergeOperator>> {
        handle Vec::new(), |o| list(o.operators.iter().map(|operator| operator.name()));
        "Every open must register each operator that is not built in and whose operands the \
         database holds."
    }
    /// Listeners that receive events: flushes, compactions, stalls, failed merges.
    listeners: Vec<Arc<dyn EventListener>> {
        handle Vec::new(),
        |o| Some(o.listeners.len()).filter(|&n| n > 0).map(|n| format!("{n} given"));
        "The thread that reports an event waits for each listener."
        RocksDB "listeners"
    }
    /// Orders that keyspaces of the database use, found by name at the open. The byte order and
    /// that of the keyspace `default` need not be listed.
    comparators: Vec<Arc<dyn Comparator>> {
        handle Vec::new(), |o| list(o.comparators.iter().map(|comparator| comparator.name()));
        "Every open must register each comparator of a keyspace, except the byte order."
    }

    /// Bytes of the memtables being filled at which they are sealed and flushed at the latest: all
    /// keyspaces together, indexes included.
    write_buffer_size: usize {
        value 64 << 20, "bytes" in between(4 * KIB, 4 * GIB);
        "More: fewer, larger flushes, less write amplification, longer recovery. Less: less memory."
        RocksDB "write_buffer_size" LevelDB "write_buffer_size"
    }
    /// Write buffers that may exist at once, the one being filled included. Writes stall beyond it.
    /// Half of them, sealed, are flushed together. Two automatic buffers above 32 MiB share the
    /// size of one and a half: a buffer that fills as fast as flushes drain it is sealed early, at
    /// half its size or more.
    max_write_buffers: usize {
        automatic "as many as fit in 64 MiB, at least 2 and at most 17"
        |o| automatic_count(o.write_buffer_size, usize::MAX),
        "buffers" in automatic_or(2, 4096);
        "More: absorbs bursts. Less: less memory."
        RocksDB "max_write_buffer_number"
    }
    /// Bytes of archived logs. Logs whose writes are in tables are archived, not removed, and the
    /// change feed reads them ([`crate::Db::updates_since`]). With
    /// [`Options::wal_retention_seconds`] also 0, no log is kept, and an open removes archived
    /// logs. A log is about as long as the writes of one write buffer.
    wal_retention_bytes: u64 {
        value 0, "bytes" in between(0, MOST_BYTES);
        "More: a follower of the change feed may fall further behind. Less: less space."
        RocksDB "WAL_size_limit_MB, in MiB"
    }
    /// Seconds for which an archived log is kept. They count from its flush, and after a reopen
    /// from the last change of the file. 0 is no limit of time. If both options are set, a log is
    /// removed at the first limit that it reaches.
    wal_retention_seconds: u64 {
        value 0, "seconds" in between(0, u64::MAX);
        "More: a follower may be away for longer. Less: less space."
        RocksDB "WAL_ttl_seconds"
    }

    /// Bytes of memory for memtables, block cache, indexes and filters of open tables, and the
    /// buffers of flushes and compactions, all together. [`crate::Db::memory`] itemises it. A given
    /// budget (at least 8 MiB) wins over the sizes of write buffers, cache and compactions. Write
    /// buffers then shrink to at most half of it, and the cache shrinks to fit. Open tables get the
    /// rest; if it is not enough, the least recently used tables are closed. Opening a table again
    /// reads its index and filter, about 2 % of its bytes. Flushed memtables that readers pin may
    /// exceed the budget, and so may the logged writes that a read-only handle holds. An open whose
    /// logs hold more than the budget reads them twice. In RocksDB, indexes and filters are
    /// unbounded unless `cache_index_and_filter_blocks` is set.
    memory_budget: usize {
        automatic "256 MiB, or more if the write buffers, the cache or \
                   `compaction_memory_budget` are set to sizes that need it"
        |o| o.memory_shares().budget,
        "bytes" in MEMORY_BUDGET;
        "More: fewer tables opened again. Less: less memory."
    }
    /// Bytes of the memory budget for flushes and compactions, all threads together.
    compaction_memory_budget: usize {
        automatic "an eighth of the budget, at most 16 MiB a thread"
        |o| o.memory_shares().background,
        "bytes" in COMPACTION_MEMORY_BUDGET;
        "More: larger tables of small records, longer read-ahead when a compaction has many \
         inputs. Less: less memory."
    }
    /// A runtime that several databases may use. Its settings replace [`Options::memory_budget`],
    /// [`Options::block_cache_size`], [`Options::compaction_memory_budget`],
    /// [`Options::max_open_files`] and the threads of [`Options::env`]. A write buffer takes at
    /// most a quarter of its budget. Without one, the database has a runtime of its own. RocksDB
    /// shares an `Env`, a `Cache` and a `WriteBufferManager`.
    runtime: Option<Runtime> {
        handle None, |o| o.runtime.as_ref().map(|_| "shared".to_owned());
        "Databases that share a runtime share its threads, cache, table handles and memory."
    }
    /// Bytes of cached blocks, uncompressed; 0: no cache. The operating system's page cache often
    /// holds the compressed blocks that this cache does not.
    block_cache_size: usize {
        value 32 << 20, "bytes" in BLOCK_CACHE_SIZE;
        "More: fewer blocks are read and decompressed again. Less: less memory."
        RocksDB "block_cache, an object" LevelDB "block_cache, an object"
    }
    /// A cache of the program's own for the blocks of this database, a subclass of `Cache` in
    /// RocksDB. [`Options::block_cache_size`] has no effect then.
    block_cache: Option<Arc<dyn CustomCache>> {
        handle None, |o| o.block_cache.as_ref().map(|_| "given".to_owned());
        "Its memory is no part of the memory budget."
        RocksDB "block_cache" LevelDB "block_cache"
    }
    /// Filter policies that keyspaces of the database were created with, found by name at the open.
    /// That of the keyspace `default` need not be listed.
    filter_policies: Vec<Arc<dyn FilterPolicy>> {
        handle Vec::new(), |o| list(o.filter_policies.iter().map(|policy| policy.name()));
        "Without its policy, a keyspace is read without the filters of that policy."
    }
    /// Filters of the values that compactions rewrite, each with the name of its keyspace. A
    /// keyspace that is created later gets its own then.
    /// [`Keyspace::set_compaction_filter`](crate::Keyspace::set_compaction_filter) changes it.
    compaction_filters: Vec<(String, Arc<dyn CompactionFilterFactory>)> {
        handle Vec::new(), |o| list(o.compaction_filters.iter().map(|(keyspace, _)| &**keyspace));
        "Compactions of these keyspaces show each value that they rewrite to the filter."
        RocksDB "compaction_filter_factory"
    }
    /// Tables that are open at once, at most.
    ///
    /// An open table needs no file handle of its own. All databases of the process together use at
    /// most [`crate::env::file_budget`] handles for tables and value segments: what the limit of
    /// the process (`ulimit -n`) leaves after a reserve for the program. They give handles back
    /// when the system has none left.
    max_open_files: usize {
        value 1000, "tables" in MAX_OPEN_FILES;
        "More: fewer tables opened again. Less: less memory for indexes and filters, fewer file \
         handles."
        RocksDB "max_open_files" LevelDB "max_open_files"
    }
    /// Whether logs are written through a memory mapping. Appending a small record then costs no
    /// system call. It works on file systems that keep the blocks they reserve (ext4, tmpfs).
    /// Elsewhere, and if mapping fails, logs are written by calls;
    /// [`crate::stats::Stats::log_is_mapped`] says which.
    map_log: bool {
        value true;
        "false: each write is a system call, and a failing disk is an error instead of a SIGBUS."
        RocksDB "allow_mmap_writes"
    }
    /// Files, clock and threads.
    env: Env {
        handle Env::system(), |_o| None;
        "Another environment than the operating system's sees every file, clock and thread."
        RocksDB "env" LevelDB "env"
    }
    /// Bytes of the flight recorder's files, which hold what the database did: its figures once a
    /// second and its events ([`crate::recorder::Recording`]). 0: nothing is recorded. Two hours of
    /// steady work take about 2 MiB.
    flight_recorder: u64 {
        value 2 << 20, "bytes" in or_off(64 * KIB, GIB);
        "More: a longer past. Less: less space."
    }
}

keyspace {
    /// The operator of merges that name none, as `NAME` or `NAME:PARAM` (`uint64add`,
    /// `stringappend:,`). Without one, the keyspace `default` keeps the operator of its last open.
    /// Each stored operand names its own operator.
    merge_operator: String {
        none;
        "A different operator than at the last open affects later merges only."
        RocksDB "merge_operator"
    }
    /// The order of the keys; fixed when the keyspace is created. Every later open gives the
    /// comparator again: that of the keyspace `default` here, others in [`Options::comparators`].
    comparator: Arc<dyn Comparator> {
        handle Arc::new(BytewiseComparator), |own| Some(own.comparator().name().to_owned());
        "An order other than that of the bytes makes comparisons slower."
        RocksDB "comparator" LevelDB "comparator"
    }
    /// The compression codec of blocks. A block that hardly shrinks is stored uncompressed.
    compression: Compression {
        value Compression::Lz4;
        "None: faster, larger. Zstd: smaller, slower."
        RocksDB "compression" LevelDB "compression"
    }
    /// Filter bits per key in the last level; 0 turns filters off. Smaller levels above get more
    /// bits, so that all filters together pass about 1 % of missing keys.
    bloom_bits: u32 {
        value 10, "bits a key" in BLOOM_BITS;
        "More: fewer reads of tables that do not have the key. Less: less memory."
        RocksDB "filter_policy, an object" LevelDB "filter_policy, an object"
    }
    /// Makes the filters of tables in place of the built-in one, to which `bloom_bits` applies. The
    /// database stores its name. Every later open gives the policy again: that of the keyspace
    /// `default` here, others in [`Options::filter_policies`].
    filter_policy: Arc<dyn FilterPolicy> {
        handle none, |own| own.filter_policy.as_ref().map(|policy| policy.name().to_owned());
        "A policy that knows the keys may rule out more missing ones. Reads take longer."
        RocksDB "filter_policy" LevelDB "filter_policy"
    }
    /// The shape of the tree. Lazy leveled lies between the others.
    compaction: CompactionPreset {
        value CompactionPreset::LazyLeveled;
        "Leveled: shortest reads, most write amplification. Tiered: least write amplification, \
         longest reads, most space."
        RocksDB "compaction_style"
    }
    /// Bytes from which a value is separated: it is written once, to a value segment, and the tree
    /// moves only its address. `usize::MAX`: no value is. `docs/experiments/value-segments.md`
    /// measures both by value size. From 1024 bytes on, values that are looked up rather than
    /// scanned gain, for up to `max_dead_fraction` more space. A log of almost nothing but such
    /// values becomes the segment itself, so they are not written twice ([`Options::adopt_logs`]).
    value_separation_min: usize {
        none, "bytes" in between(0, u64::MAX);
        "Less: less write amplification and faster random reads, slower scans."
        RocksDB "enable_blob_files" RocksDB "min_blob_size"
    }
    /// When entries expire; fixed when the keyspace is created. Values of a keyspace with expiry
    /// are not separated. Entries of the keyspace `default` never expire.
    expiry: Expiry {
        none;
        "Each value and operand is a few bytes longer."
        RocksDB "ttl of DBWithTTL"
    }
    /// How the program encodes keys and values: a text of at most 1 KiB, fixed when the keyspace is
    /// created. The engine stores and shows it, and never reads it. An open with another text than
    /// the stored one fails, and one without a text keeps it. A new keyspace does not take that of
    /// the keyspace `default`.
    schema: String {
        none;
        "A program that would misread the keys or values fails at its open."
    }
}

knobs {
    /// The first level whose tables are compressed; 0: all levels are.
    min_level_to_compress: usize {
        // A number above every level: no level is compressed.
        value 0, "levels" in between(0, u64::MAX);
        "More: cheaper flushes and small compactions. Less: less space."
        RocksDB "min_level_to_compress"
    }
    /// Runs that gather in an inner tier before a compaction merges them into one (lazy leveled,
    /// tiered).
    tier_fan_in: usize {
        value 4, "runs" in between(2, MOST_RUNS);
        "More: less write amplification, more runs to read. Less: shorter reads, more write \
         amplification."
        RocksDB "compaction_options_universal.min_merge_width"
    }
    /// Bytes above the last level, as a fraction of the last level's, at which lazy leveled merges
    /// a slice into it. It takes the slice with the most bytes to merge for each byte to rewrite.
    staging_ratio: f64 {
        value 0.25, "of the last level" in above(0.0, 10.0);
        "More: less write amplification. Less: less space and shorter reads."
        RocksDB "compaction_options_universal.max_size_amplification_percent"
    }
    /// Bytes of a value segment file. Many flushes append to one file until it is full.
    segment_size: u64 {
        value 64 << 20, "bytes" in between(4 * KIB, 4 * GIB);
        "More: fewer files. Less: smaller steps of garbage collection."
        RocksDB "blob_file_size"
    }
    /// Whether a value segment ends with the keys of its values, so that a repair need not read the
    /// values.
    value_hints: bool {
        value true;
        "false: each key is stored next to its value, and a repair reads the values too."
    }
    /// Bytes of memory that garbage collection of value segments may take for lookups, buffers and
    /// hints.
    gc_memory_budget: usize {
        value 64 << 20, "bytes" in between(64 * KIB, MOST_MEMORY);
        "More: fewer but longer reads and writes of files. Less: less memory."
    }
    /// Bytes per second that garbage collection of value segments may read and write in the
    /// background; 0: no limit.
    gc_io_budget: u64 {
        value 0, "bytes a second" in IO_BUDGET;
        "More: space is reclaimed sooner. Less: less interference with reads and writes."
        RocksDB "rate_limiter, of all files"
    }
}

engine {
    /// Bytes of log after which the oldest memtables are flushed even if they are not full: all
    /// keyspaces together.
    wal_limit: u64 {
        automatic "four write buffers, at least 64 MiB"
        |o| (4 * o.write_buffer_size as u64).max(64 << 20),
        // Below the floor each put would begin a new log.
        "bytes" in automatic_or(4 * KIB, MOST_BYTES);
        "More: fewer flushes of hot keys. Less: shorter recovery, less space."
        RocksDB "max_total_wal_size"
    }
    /// Uncompressed bytes of a block, the unit of the index. Blocks above 4 KiB are read in parts
    /// of about 4 KiB, so a point read does not pay for a large block.
    block_size: usize {
        value 4096, "bytes" in between(256, 64 * MIB);
        "More: smaller index. Less: a little less to decode."
        RocksDB "block_size" LevelDB "block_size"
    }
    /// Whether the background only flushes, and compacts only when the program asks.
    disable_auto_compactions: bool {
        value false;
        "true: no background rewriting, but reads meet ever more runs."
        RocksDB "disable_auto_compactions"
    }
    /// Threads that compact this database at once, beside one that is kept for flushes. They share
    /// a large compaction, each with a key range of its own. With 0, flushes and compactions take
    /// turns on one thread.
    max_background_compactions: usize {
        value 1, "threads" in COMPACTING_THREADS;
        "More: keeps up with faster writes, for processor time and memory. 0: a flush may wait for \
         a slice of a compaction."
        RocksDB "max_background_compactions"
    }
    /// Opens even if an operator that stored operands need is not registered. Without it, such an
    /// open fails and names the operator. `get_operands` shows these operands, and flushes and
    /// compactions keep them as they are.
    allow_unresolved_operators: bool {
        value false;
        "true: a read of a key with operands of an unregistered operator fails."
    }
    /// Whether a write with [`crate::WriteOptions::sync`] becomes visible only when it is durable.
    /// The writer then syncs before it applies the write, and other writers wait for the sync. A
    /// synced write that fails is then never seen. Otherwise a write is visible as soon as it
    /// survives a kill of the process, so readers may see it before its call returns, and one sync
    /// serves all waiting writers.
    visible_when_durable: bool {
        value false;
        "true: threads that sync their writes sync one after another, so put writes of several \
         callers into one batch."
    }
    /// Bytes per second that the background may read to check files that nothing else reads; 0: no
    /// file is checked. It goes round all tables and value segments, a file at a time, while no
    /// other work is due. A round takes an hour at least. Damage raises
    /// [`crate::events::Event::TableDamaged`] or [`crate::events::Event::BackgroundError`]. Files
    /// in the system's page cache are checked there, not on the disk.
    scrub_io_budget: u64 {
        value 0, "bytes a second" in IO_BUDGET;
        "More: damage is found sooner. Less: fewer reads."
    }
    /// Most bytes of the reserve: a file with space that only deletes, drops of keyspaces, and the
    /// work that frees their space may use when the disk is full. Writes of other kinds then fail
    /// with [`NoSpace`](crate::ErrorKind::NoSpace) until there is space again. The file takes an
    /// eighth of the database's bytes, at most this many; 0: no reserve.
    space_reserve: u64 {
        value 64 << 20, "bytes" in between(0, MOST_BYTES);
        "More: more deletes pass on a full disk, and larger memtables are flushed there. Less: \
         less space."
    }
}

tree {
    /// Bytes of a table after which the next one begins.
    target_file_size: u64 {
        automatic "one write buffer, at least 8 MiB and at most 64 MiB"
        |o| (o.write_buffer_size as u64).clamp(8 << 20, 64 << 20),
        // Below the floor each key would be a table.
        "bytes" in automatic_or(KIB, TIB);
        "More: fewer files. Less: smaller slices of background work."
        RocksDB "target_file_size_base" LevelDB "max_file_size"
    }
    /// Number of levels. A tree that has more levels keeps them.
    num_levels: usize {
        value 7, "levels" in between(2, MAX_LEVELS as u64);
        "More: room for a larger tree. Less: fewer runs before the last level."
        RocksDB "num_levels"
    }
    /// Flushed runs in level 0 that start a compaction.
    level0_compaction_trigger: usize {
        value 4, "runs" in between(1, MOST_RUNS);
        "More: less write amplification, more runs to read. Less: shorter reads, more write \
         amplification."
        RocksDB "level0_file_num_compaction_trigger"
    }
    /// Runs in level 0 at which writes slow down. They slow down more as level 0 nears
    /// `level0_stop_trigger`.
    level0_slowdown_trigger: usize {
        value 20, "runs" in between(0, MOST_RUNS);
        "More: longer bursts at full speed, longer reads after them. Less: writes slow down \
         earlier."
        RocksDB "level0_slowdown_writes_trigger"
    }
    /// Runs in level 0 at which writes stall until a compaction has made room.
    level0_stop_trigger: usize {
        value 36, "runs" in between(1, MOST_RUNS);
        "More: writes stall later, reads meet more runs until then. Less: a firmer bound on reads."
        RocksDB "level0_stop_writes_trigger"
    }
    /// Bytes of level 1 (leveled; the other shapes do not use it).
    max_bytes_for_level_base: u64 {
        value 256 << 20, "bytes" in between(KIB, MOST_BYTES);
        "More: fewer levels, and more rewritten at each compaction into level 1. Less: the reverse."
        RocksDB "max_bytes_for_level_base"
    }
    /// The size of a level divided by the size of the one above (leveled; the other shapes do not
    /// use it).
    max_bytes_for_level_multiplier: f64 {
        value 10.0, "times" in at_least(1.0, 1e6);
        "More: fewer levels to read and less space, more rewriting in each. Less: the reverse."
        RocksDB "max_bytes_for_level_multiplier"
    }
}

segments {
    /// Which logs become value segments instead of having the flush copy their values. Only logs of
    /// almost nothing but separated values qualify. Adoption needs logs of at least 16 MiB, and a
    /// file system with hard links; otherwise values are copied.
    adopt_logs: LogAdoption {
        value LogAdoption::InKeyOrder;
        "`Always`: values that arrive out of key order are also written only once, but scans of \
         them take about twice as long."
    }
    /// The largest fraction of the bytes in value segments that may be dead. Beyond it the
    /// background rewrites segments without their dead values. With 1, only
    /// [`crate::Db::collect_garbage`] reclaims space.
    max_dead_fraction: f64 {
        value 0.25, "of the segments" in above(0.0, 1.0);
        "More: less rewriting. Less: less space."
        RocksDB "blob_garbage_collection_force_threshold"
    }
}

    } };
}

pub(crate) use declared_options;
