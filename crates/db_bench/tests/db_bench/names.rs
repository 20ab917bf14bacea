//! Every benchmark by its name: it runs, or says why it has no meaning here.

use crate::bench::{Bench, result, results};

/// Benchmarks with a result line. Those of checksums and codecs take seconds in a debug build;
/// their own tests run them.
const MEASURED: &str = "\
    fillseq fillrandom filluniquerandom fillanddeleteuniquerandom fillbatch fillsync fill100K \
    fillseekseq overwrite updaterandom xorupdaterandom appendrandom mergerandom \
    readrandommergerandom readrandomwriterandom randomwithverify randomtransaction \
    randomreplacekeys timeseries mixgraph readwhilewriting readwhilemerging readwhilescanning \
    readseq readtocache readtorowcache readreverse readrandom readrandomfast readrandomsmall \
    readrandomoperands multireadrandom multireadwhilewriting multiscan readmissing readhot \
    newiterator newiteratorwhilewriting seekrandom seekordered seekrandomwhilewriting \
    seekrandomwhilemerging getmergeoperands approximatesizerandom approximatememtablestats \
    deleteseq deleterandom open acquireload compact verifychecksum verifyfilechecksums backup \
    restore";

const STEPS: &str = "compactall compact0 compact1 flush waitforcompaction stats resetstats \
                     levelstats memstats sstables";

const SKIPPED: &str = "openandcompact replay stats_history block_cache_entry_stats \
                       cache_report_problems heapprofile fillseqdeterministic verify";

/// Runs all of these benchmarks, in one run.
fn run_all(bench: &Bench, names: &str) -> String {
    let list = names.split_whitespace().collect::<Vec<_>>().join(",");
    bench.run(&[
        &format!("--benchmarks={list}"),
        "--num=2000",
        "--reads=1000",
        "--merge_operator=stringappend",
        "--value_size=20",
        "--transaction_db",
        "--seed=1",
        "--threads=2",
    ])
}

#[test]
fn every_measured_benchmark_has_a_result_line() {
    let stdout = run_all(&Bench::new(), MEASURED);
    for name in MEASURED.split_whitespace() {
        assert!(result(&stdout, name).operations > 0, "{name}");
    }
    assert!(!stdout.contains("skipped"), "{stdout}");
}

#[test]
fn steps_run_without_a_result_line() {
    let stdout = run_all(&Bench::new(), &format!("fillrandom {STEPS} readrandom"));
    assert!(!stdout.contains("skipped"), "{stdout}");
    for name in STEPS.split_whitespace() {
        assert!(results(&stdout, name).is_empty(), "{name}");
    }
    assert_eq!(results(&stdout, "readrandom").len(), 1, "the run goes on");
}

#[test]
fn what_has_no_meaning_says_so_and_goes_on() {
    let stdout = run_all(&Bench::new(), &format!("fillrandom {SKIPPED} readrandom"));
    for name in SKIPPED.split_whitespace() {
        let line = format!("\n{name:<12} : skipped (");
        assert!(stdout.contains(&line), "{name} in {stdout}");
    }
    assert_eq!(results(&stdout, "readrandom").len(), 1);
}
