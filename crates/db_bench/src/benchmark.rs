//! The benchmarks by name: what each does, and which database it needs.

use crate::failure::Failure;

/// The benchmarks of `--benchmarks`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Benchmark {
    FillSeq,
    FillRandom,
    FillBatch,
    FillSync,
    Fill100K,
    Overwrite,
    UpdateRandom,
    MergeRandom,
    ReadRandomMergeRandom,
    ReadRandomWriteRandom,
    ReadWhileWriting,
    ReadWhileMerging,
    ReadSeq,
    ReadReverse,
    ReadRandom,
    MultiReadRandom,
    ReadMissing,
    ReadHot,
    SeekRandom,
    DeleteSeq,
    DeleteRandom,
    Open,
    Crc32c,
    Compact,
    WaitForCompaction,
    Stats,
}

/// One row of the table of benchmarks.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// Its name in `--benchmarks` and in the result line.
    pub name: &'static str,
    /// Whether it needs a new, empty database.
    pub fresh: bool,
    /// Whether it needs `--merge_operator`.
    pub merges: bool,
    /// What it does, in one line.
    pub help: &'static str,
}

const fn entry(benchmark: Benchmark, name: &'static str, help: &'static str) -> Entry {
    Entry { benchmark, name, fresh: false, merges: false, help }
}

impl Entry {
    const fn fresh(self) -> Entry {
        Entry { fresh: true, ..self }
    }

    const fn merges(self) -> Entry {
        Entry { merges: true, ..self }
    }
}

/// Every benchmark, in the order of the help page.
pub(crate) const TABLE: &[Entry] = &[
    entry(Benchmark::FillSeq, "fillseq", "puts in key order into a new database").fresh(),
    entry(Benchmark::FillRandom, "fillrandom", "puts of random keys into a new database").fresh(),
    entry(Benchmark::FillBatch, "fillbatch", "fillseq in batches of 1000 entries").fresh(),
    entry(Benchmark::FillSync, "fillsync", "num/1000 synced puts of random keys").fresh(),
    entry(Benchmark::Fill100K, "fill100K", "num/1000 puts of 100000-byte values").fresh(),
    entry(Benchmark::Overwrite, "overwrite", "puts of random keys"),
    entry(Benchmark::UpdateRandom, "updaterandom", "reads a random key, then puts it"),
    entry(Benchmark::MergeRandom, "mergerandom", "merges a generated operand on a random key")
        .merges(),
    entry(Benchmark::ReadRandomMergeRandom, "readrandommergerandom", "reads or merges random keys")
        .merges(),
    entry(Benchmark::ReadRandomWriteRandom, "readrandomwriterandom", "reads or puts random keys"),
    entry(Benchmark::ReadWhileWriting, "readwhilewriting", "readrandom while one more thread puts"),
    entry(
        Benchmark::ReadWhileMerging,
        "readwhilemerging",
        "readrandom while one more thread merges",
    )
    .merges(),
    entry(Benchmark::ReadSeq, "readseq", "reads entries in key order"),
    entry(Benchmark::ReadReverse, "readreverse", "reads entries in reverse key order"),
    entry(Benchmark::ReadRandom, "readrandom", "reads random keys"),
    entry(Benchmark::MultiReadRandom, "multireadrandom", "reads --batch_size random keys at once"),
    entry(Benchmark::ReadMissing, "readmissing", "reads random keys that are not stored"),
    entry(Benchmark::ReadHot, "readhot", "reads random keys of the first 1 %"),
    entry(Benchmark::SeekRandom, "seekrandom", "seeks random keys, reads --seek_nexts entries"),
    entry(Benchmark::DeleteSeq, "deleteseq", "deletes in key order"),
    entry(Benchmark::DeleteRandom, "deleterandom", "deletes random keys"),
    entry(Benchmark::Open, "open", "closes and opens the database num/10000 times"),
    entry(Benchmark::Crc32c, "crc32c", "checksums 5000 MiB, --block_size bytes at a time"),
    entry(Benchmark::Compact, "compact", "compacts the whole database"),
    entry(Benchmark::WaitForCompaction, "waitforcompaction", "waits until no work is left to do"),
    entry(Benchmark::Stats, "stats", "prints what the database did and its shape"),
];

impl Benchmark {
    /// Returns its row in the table.
    pub(crate) fn entry(self) -> &'static Entry {
        TABLE.iter().find(|entry| entry.benchmark == self).expect("every benchmark is in the table")
    }

    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        self.entry().name
    }

    /// Returns whether it writes several entries as one batch.
    pub(crate) fn writes_batches(self) -> bool {
        matches!(
            self,
            Benchmark::FillSeq
                | Benchmark::FillRandom
                | Benchmark::FillBatch
                | Benchmark::FillSync
                | Benchmark::Fill100K
                | Benchmark::Overwrite
        )
    }

    /// Reads a comma-separated list; empty names are skipped.
    ///
    /// # Errors
    /// An unknown name.
    pub(crate) fn list(names: &str) -> Result<Vec<Benchmark>, Failure> {
        names
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(Benchmark::find)
            .collect()
    }

    fn find(name: &str) -> Result<Benchmark, Failure> {
        match TABLE.iter().find(|entry| entry.name == name) {
            Some(entry) => Ok(entry.benchmark),
            None => {
                let known = TABLE.iter().map(|entry| entry.name);
                Err(Failure::unknown("benchmark", name, "", known))
            }
        }
    }

    /// Whether one more thread writes in the background until the counted ones are done.
    pub(crate) fn has_background_writer(self) -> bool {
        matches!(self, Benchmark::ReadWhileWriting | Benchmark::ReadWhileMerging)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_has_each_name_once() {
        for (i, entry) in TABLE.iter().enumerate() {
            assert!(TABLE[..i].iter().all(|other| other.name != entry.name), "{}", entry.name);
            assert_eq!(Benchmark::list(entry.name).unwrap(), [entry.benchmark]);
            assert_eq!(entry.benchmark.name(), entry.name);
        }
    }

    #[test]
    fn list_keeps_order_and_skips_empty_names() {
        let list = Benchmark::list("readseq,,mergerandom,readseq,").unwrap();
        assert_eq!(list, [Benchmark::ReadSeq, Benchmark::MergeRandom, Benchmark::ReadSeq]);
    }

    #[test]
    fn unknown_name_tells_the_nearest() {
        let Err(Failure::Message(message)) = Benchmark::list("fillseq,mergerandm") else {
            panic!("accepted")
        };
        assert_eq!(message, "unknown benchmark mergerandm; the nearest is mergerandom");
    }
}
