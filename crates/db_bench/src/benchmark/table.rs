//! Every benchmark, in the order of the help page.

use foldb::Compression;

use super::{Benchmark, Beside, Hash, Scale, Step, What, Work};

const fn row(name: &'static str, what: What, help: &'static str) -> Benchmark {
    let scale = Scale::AsGiven;
    Benchmark { name, what, scale, fresh: false, merges: false, single: false, help }
}

const fn work(name: &'static str, work: Work, help: &'static str) -> Benchmark {
    row(name, What::Threads(work), help)
}

const fn beside(name: &'static str, work: Work, beside: Beside, help: &'static str) -> Benchmark {
    row(name, What::Beside(work, beside), help)
}

const fn step(name: &'static str, step: Step, help: &'static str) -> Benchmark {
    row(name, What::Session(step), help)
}

const fn nothing(name: &'static str, why: &'static str) -> Benchmark {
    row(name, What::Nothing(why), "skipped: it has no meaning here")
}

impl Benchmark {
    const fn fresh(self) -> Benchmark {
        Benchmark { fresh: true, ..self }
    }

    const fn merges(self) -> Benchmark {
        Benchmark { merges: true, ..self }
    }

    const fn single(self) -> Benchmark {
        Benchmark { single: true, ..self }
    }

    const fn scaled(self, scale: Scale) -> Benchmark {
        Benchmark { scale, ..self }
    }
}

/// Every benchmark, in the order of the help page.
pub(crate) const TABLE: &[Benchmark] = &[
    work("fillseq", Work::FillInOrder, "puts in key order into a new database").fresh(),
    work("fillrandom", Work::FillRandom, "puts of random keys into a new database").fresh(),
    work("filluniquerandom", Work::FillUnique, "puts each key once, in random order")
        .fresh()
        .single(),
    work(
        "fillanddeleteuniquerandom",
        Work::FillUnique,
        "the same; --disposable_entries_batch_size entries are deleted again",
    )
    .fresh()
    .single(),
    work(
        "fillseqdeterministic",
        Work::FillShaped { in_order: true },
        "fillseq and compacts, then runs of ever fewer entries above it",
    )
    .fresh()
    .single(),
    work(
        "filluniquerandomdeterministic",
        Work::FillShaped { in_order: false },
        "filluniquerandom and compacts, then runs of ever fewer entries above it",
    )
    .fresh()
    .single(),
    work("fillbatch", Work::FillInOrder, "fillseq in batches of 1000 entries")
        .fresh()
        .scaled(Scale::InBatches),
    work("fillsync", Work::FillRandom, "num/1000 synced puts of random keys")
        .fresh()
        .scaled(Scale::Synced),
    work("fill100K", Work::FillRandom, "num/1000 puts of 100000-byte values")
        .fresh()
        .scaled(Scale::Large),
    work("fillseekseq", Work::FillThenSeek, "puts in key order, then seeks each key"),
    work("overwrite", Work::FillRandom, "puts of random keys"),
    work("updaterandom", Work::Update, "reads a random key, then puts it"),
    work("xorupdaterandom", Work::XorUpdate, "reads a random key, then puts it XOR random bytes"),
    work("appendrandom", Work::AppendUpdate, "reads a random key, then puts it with a value more"),
    work("mergerandom", Work::Merge, "merges a generated operand on a random key").merges(),
    work("readrandommergerandom", Work::ReadOrMerge, "reads or merges random keys").merges(),
    work("readrandomwriterandom", Work::ReadThenWrite, "reads or puts random keys"),
    work("randomwithverify", Work::Verified, "reads, puts or deletes three keys that must agree"),
    work("randomtransaction", Work::Transactions, "adds one number to a key of each set"),
    work("randomreplacekeys", Work::ReplaceKeys, "deletes a random key and puts its successor")
        .fresh(),
    beside(
        "timeseries",
        Work::TimeSeries,
        Beside::Series,
        "reads series by their identity while one thread puts to them",
    )
    .fresh(),
    work("mixgraph", Work::MixGraph, "gets, puts and seeks as a social graph's database has them"),
    beside("readwhilewriting", Work::ReadRandom, Beside::Put, "readrandom while one thread puts"),
    beside(
        "readwhilemerging",
        Work::ReadRandom,
        Beside::Merge,
        "readrandom while one thread merges",
    )
    .merges(),
    beside(
        "readwhilescanning",
        Work::ReadRandom,
        Beside::Scan,
        "readrandom while one thread scans",
    ),
    work("readseq", Work::ReadInOrder, "reads entries in key order"),
    work("readtocache", Work::ReadInOrder, "the same by one thread, all of --num")
        .single()
        .scaled(Scale::AllKeys),
    work("readtorowcache", Work::ReadEach, "reads each key once; foldb has no cache of rows"),
    work("readreverse", Work::ReadInReverse, "reads entries in reverse key order"),
    work("readrandom", Work::ReadRandom, "reads random keys"),
    work("readrandomfast", Work::ReadFast, "reads random keys below a power of two, in hundreds"),
    work("readrandomsmall", Work::ReadRandom, "reads/1000 random keys").scaled(Scale::FewReads),
    work("readrandomoperands", Work::ReadOperands, "reads the operands of random keys"),
    work("multireadrandom", Work::MultiRead, "reads --batch_size random keys at once"),
    beside(
        "multireadwhilewriting",
        Work::MultiRead,
        Beside::Put,
        "multireadrandom while one thread puts",
    ),
    work("multiscan", Work::MultiScan, "scans --multiscan_size ranges at a random place"),
    work("readmissing", Work::ReadRandom, "reads random keys that are not stored")
        .scaled(Scale::LongerKeys),
    work("readhot", Work::ReadHot, "reads random keys of the first 1 %"),
    work("newiterator", Work::NewIterator, "makes iterators"),
    beside(
        "newiteratorwhilewriting",
        Work::NewIterator,
        Beside::Put,
        "newiterator while one thread puts",
    ),
    work("seekrandom", Work::SeekRandom, "seeks random keys, reads --seek_nexts entries"),
    work("seekordered", Work::SeekInOrder, "seeks ascending keys with one iterator"),
    beside(
        "seekrandomwhilewriting",
        Work::SeekRandom,
        Beside::Put,
        "seekrandom while one thread puts",
    ),
    beside(
        "seekrandomwhilemerging",
        Work::SeekRandom,
        Beside::Merge,
        "seekrandom while one thread merges",
    )
    .merges(),
    work("getmergeoperands", Work::SearchOperands, "searches a list, folded and as operands"),
    work("approximatesizerandom", Work::ApproximateSize, "estimates the bytes of random ranges"),
    work(
        "approximatememtablestats",
        Work::ApproximateCount,
        "estimates the entries of ranges of --batch_size keys",
    ),
    work("deleteseq", Work::DeleteInOrder, "deletes in key order"),
    work("deleterandom", Work::DeleteRandom, "deletes random keys"),
    row("open", What::Reopen, "closes and opens the database num/10000 times")
        .scaled(Scale::FewKeys),
    work("crc32c", Work::Checksum(Hash::Crc32c), "checksums 5000 MiB, --block_size bytes at once"),
    work("xxhash", Work::Checksum(Hash::XxHash32), "the same with XXH32"),
    work("xxhash64", Work::Checksum(Hash::XxHash64), "the same with XXH64"),
    work("xxh3", Work::Checksum(Hash::Xxh3), "the same with XXH3"),
    work("acquireload", Work::AcquireLoad, "loads a shared pointer 100000 times 1000 times"),
    work("compress", Work::Compress(None), "compresses 1 GiB, --block_size bytes at once"),
    work("uncompress", Work::Uncompress(None), "decompresses 1 GiB"),
    work("snappycomp", Work::Compress(Some(Compression::Snappy)), "compress with Snappy"),
    work("snappyuncomp", Work::Uncompress(Some(Compression::Snappy)), "uncompress with Snappy"),
    work("zstdcomp", Work::Compress(Some(Compression::Zstd)), "compress with Zstandard"),
    work("zstduncomp", Work::Uncompress(Some(Compression::Zstd)), "uncompress with Zstandard"),
    work("compact", Work::Compact, "compacts the whole database"),
    step("compactall", Step::CompactAll, "the same, without a result line"),
    step("compact0", Step::CompactLevel(0), "compacts the key range of level 0"),
    step("compact1", Step::CompactLevel(1), "compacts the key range of the level below it"),
    step("flush", Step::Flush, "flushes the memtable"),
    step("waitforcompaction", Step::WaitForCompaction, "waits until no work is left to do"),
    work("verifychecksum", Work::VerifyChecksums, "reads and checks every table"),
    work("verifyfilechecksums", Work::VerifyChecksums, "the same: tables check themselves"),
    work("backup", Work::Backup, "makes a backup in --backup_dir, and removes older ones").single(),
    work("restore", Work::Restore, "restores the newest backup into --restore_dir").single(),
    step("verify", Step::Compare, "compares all entries with the database --truth_db"),
    step("stats", Step::Stats, "prints what the database did and its shape"),
    step("resetstats", Step::ResetStats, "lets the counters of stats begin at 0"),
    step("levelstats", Step::LevelStats, "prints tables and bytes of each level"),
    step("memstats", Step::MemoryStats, "prints the sizes of memtables"),
    step("sstables", Step::Tables, "prints every table"),
    nothing("openandcompact", "foldb has no remote compactions"),
    nothing("replay", "foldb reads no traces of RocksDB"),
    nothing("stats_history", "the flight recorder has it: foldb report"),
    nothing("block_cache_entry_stats", "the block cache does not count by role"),
    nothing("cache_report_problems", "the block cache reports no problems"),
    nothing("heapprofile", "foldb has no heap profiler"),
];
