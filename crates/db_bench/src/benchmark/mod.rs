//! The benchmarks by name: what each does, and which database it needs.
//!
//! [`table`] has a row for each name of RocksDB's and LevelDB's db_bench. [`work`] names the parts
//! that rows share. A name may be followed by `[X3-W1]`: one run that is not reported, then three.

mod table;
mod work;

pub(crate) use table::TABLE;
pub(crate) use work::{Beside, Hash, Scale, Step, What, Work};

use crate::failure::Failure;

/// A row of the table of benchmarks.
#[derive(Debug)]
pub(crate) struct Benchmark {
    /// Its name in `--benchmarks` and in the result line.
    pub name: &'static str,
    /// What it does.
    pub what: What,
    /// Its sizes, where they are not those of the flags.
    pub scale: Scale,
    /// Whether it needs a new, empty database.
    pub fresh: bool,
    /// Whether it needs `--merge_operator`.
    pub merges: bool,
    /// Whether it runs on one thread, whatever `--threads` says.
    pub single: bool,
    /// What it does, in one line.
    pub help: &'static str,
}

impl Benchmark {
    /// Returns the benchmark of this name.
    pub(crate) fn find(name: &str) -> Option<&'static Benchmark> {
        TABLE.iter().find(|benchmark| benchmark.name == name)
    }

    /// Whether it writes several entries as one batch.
    pub(crate) fn writes_batches(&self) -> bool {
        let work = self.what.work();
        matches!(work, Some(Work::FillInOrder | Work::FillRandom | Work::FillUnique))
    }

    /// Whether it changes the entries of an existing database.
    pub(crate) fn writes(&self) -> bool {
        let beside = matches!(self.what, What::Beside(_, Beside::Put | Beside::Merge));
        let changes = self.merges || beside || self.what.work().is_some_and(Work::writes);
        changes && !self.fresh
    }
}

/// A benchmark of `--benchmarks`, with how often it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// The benchmark.
    pub benchmark: &'static Benchmark,
    /// Runs that are reported.
    pub runs: usize,
    /// Runs before them.
    pub warm_ups: usize,
}

/// Reads a comma-separated list; empty names are skipped.
///
/// # Errors
/// An unknown name, or a bad number of runs.
pub(crate) fn list(names: &str) -> Result<Vec<Request>, Failure> {
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(request).collect()
}

fn request(text: &str) -> Result<Request, Failure> {
    let (name, counts) = match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
        Some((name, counts)) => (name, counts),
        None => (text, ""),
    };
    let Some(benchmark) = Benchmark::find(name) else {
        let known = TABLE.iter().map(|benchmark| benchmark.name);
        return Err(Failure::unknown("benchmark", name, "", known));
    };
    let mut request = Request { benchmark, runs: 1, warm_ups: 0 };
    for count in counts.split('-').filter(|count| !count.is_empty()) {
        let number = |digits: &str| digits.parse().ok();
        let (target, number) = match (count.strip_prefix('X'), count.strip_prefix('W')) {
            (Some(digits), _) => (&mut request.runs, number(digits).filter(|runs| *runs > 0)),
            (None, Some(digits)) => (&mut request.warm_ups, number(digits)),
            (None, None) => (&mut request.runs, None),
        };
        *target = number.ok_or_else(|| {
            Failure::new(format!(
                "bad number of runs in {text}: expected {name}[X3-W1] for example"
            ))
        })?;
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names in the help page of RocksDB's db_bench and in its code, then those that only
    /// LevelDB's has.
    const ORIGINALS: &str = "\
        fillseq fillseqdeterministic fillsync fillrandom filluniquerandom \
        filluniquerandomdeterministic fillanddeleteuniquerandom fillbatch fill100K fillseekseq \
        overwrite deleteseq deleterandom readseq readtocache readtorowcache readreverse readrandom \
        readrandomfast readrandomsmall readmissing readrandomoperands multireadrandom multiscan \
        multireadwhilewriting readwhilewriting readwhilemerging readwhilescanning \
        readrandomwriterandom readrandommergerandom updaterandom xorupdaterandom appendrandom \
        mergerandom newiterator newiteratorwhilewriting seekrandom seekrandomwhilewriting \
        seekrandomwhilemerging approximatesizerandom approximatememtablestats mixgraph \
        randomwithverify randomtransaction randomreplacekeys timeseries getmergeoperands crc32c \
        xxhash xxhash64 xxh3 acquireload compress uncompress compact compactall compact0 compact1 \
        waitforcompaction flush openandcompact stats resetstats levelstats memstats sstables \
        stats_history block_cache_entry_stats cache_report_problems heapprofile replay verify \
        verifychecksum verifyfilechecksums backup restore \
        readhot seekordered open snappycomp snappyuncomp zstdcomp zstduncomp";

    #[test]
    fn every_name_of_the_originals_is_in_the_table() {
        for name in ORIGINALS.split_whitespace() {
            assert!(Benchmark::find(name).is_some(), "{name}");
        }
        assert_eq!(TABLE.len(), ORIGINALS.split_whitespace().count());
    }

    #[test]
    fn table_has_each_name_once() {
        for (i, benchmark) in TABLE.iter().enumerate() {
            let name = benchmark.name;
            assert!(TABLE[..i].iter().all(|other| other.name != name), "{name}");
            assert_eq!(list(name).unwrap()[0].benchmark.name, name);
        }
    }

    fn read(names: &str) -> Vec<(&'static str, usize, usize)> {
        let requests = list(names).unwrap();
        requests.iter().map(|it| (it.benchmark.name, it.runs, it.warm_ups)).collect()
    }

    #[test]
    fn list_keeps_order_and_skips_empty_names() {
        let list = read("readseq,,mergerandom,readseq,");
        assert_eq!(list, [("readseq", 1, 0), ("mergerandom", 1, 0), ("readseq", 1, 0)]);
    }

    #[test]
    fn a_name_may_say_how_often_it_runs() {
        assert_eq!(read("readseq[X3]"), [("readseq", 3, 0)]);
        assert_eq!(read("readseq[X3-W1],fillseq[W2]"), [("readseq", 3, 1), ("fillseq", 1, 2)]);
        for bad in ["readseq[3]", "readseq[X0]", "readseq[Xa]", "readseq[W-1]", "readseq]"] {
            assert!(list(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn unknown_name_tells_the_nearest() {
        let Err(Failure::Message(message)) = list("fillseq,mergerandm") else { panic!("accepted") };
        assert_eq!(message, "unknown benchmark mergerandm; the nearest is mergerandom");
    }
}
