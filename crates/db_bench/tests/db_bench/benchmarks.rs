//! Each benchmark on a small database: its counts and its lines.

use std::collections::HashMap;

use crate::bench::{Bench, result, results, text};
use regex::Regex;

#[test]
fn updaterandom_finds_what_rocksdb_finds() {
    let stdout = Bench::new().run(&["--benchmarks=updaterandom", "--num=200000", "--seed=1"]);
    assert!(result(&stdout, "updaterandom").rest.ends_with("( updates:200000 found:73670)"));
}

#[test]
fn merges_updates_and_reads_share_one_sequence_of_seeds() {
    let num = 50_000;
    let stdout = Bench::new().run(&[
        "--benchmarks=mergerandom,updaterandom,readrandom",
        "--merge_operator=uint64add",
        &format!("--num={num}"),
        "--seed=1",
        "--value_size=8",
        "--disable_wal=1",
    ]);
    let (updated, read) = found_by_model(num);
    let merge = result(&stdout, "mergerandom");
    assert_eq!(merge.operations, num);
    assert!(merge.rest.ends_with(&format!("( updates:{num})")), "{merge:?}");
    let update = result(&stdout, "updaterandom").rest;
    assert!(update.ends_with(&format!("( updates:{num} found:{updated})")), "{update}");
    let reads = result(&stdout, "readrandom").rest;
    assert!(reads.ends_with(&format!("({read} of {num} found)")), "{reads}");
}

/// The keys that an update after merges, and reads after both, find with seed 1.
fn found_by_model(num: u64) -> (usize, usize) {
    let mut present = vec![false; num as usize];
    let mut found_by_thread = |thread: u64, write: bool| {
        let mut draws = rand_mt::Mt64::new(1 + thread);
        let mut found = 0;
        for _ in 0..num {
            draws.next_u64();
            let key = (draws.next_u64() % num) as usize;
            found += usize::from(present[key]);
            present[key] |= write;
        }
        found
    };
    found_by_thread(1, true);
    (found_by_thread(2, true), found_by_thread(3, false))
}

#[test]
fn fills_then_reads_in_both_orders() {
    let stdout = Bench::new().run(&[
        "--benchmarks=fillseq,readseq,readreverse,readrandom,readhot,readmissing,seekrandom",
        "--num=2000",
        "--seek_nexts=3",
    ]);
    for name in ["fillseq", "readseq", "readreverse"] {
        let line = result(&stdout, name);
        assert_eq!(line.operations, 2000, "{name}");
        assert!(line.rest.ends_with("MB/s"), "{line:?}");
    }
    for (name, found) in
        [("readrandom", 2000), ("readhot", 2000), ("readmissing", 0), ("seekrandom", 2000)]
    {
        let rest = result(&stdout, name).rest;
        assert!(rest.ends_with(&format!("({found} of 2000 found)")), "{name}: {rest}");
    }
}

#[test]
fn fresh_benchmarks_start_from_nothing_and_others_go_on() {
    let stdout = Bench::new().run(&[
        "--benchmarks=fillseq,overwrite,readseq,fillbatch,readseq,fillsync,readseq,fill100K,readseq",
        "--num=3000",
        "--seed=3",
    ]);
    let read: Vec<u64> = results(&stdout, "readseq").iter().map(|line| line.operations).collect();
    assert_eq!(read[..2], [3000, 3000]);
    assert!((1..=3).contains(&read[2]) && (1..=3).contains(&read[3]), "{read:?}");
    assert!(result(&stdout, "fillsync").rest.ends_with("(3 ops)"));
    assert_eq!(result(&stdout, "fill100K").operations, 3);
}

#[test]
fn batches_write_every_entry() {
    let stdout = Bench::new().run(&[
        "--benchmarks=fillseq,readseq,deleteseq,readseq",
        "--num=1000",
        "--batch_size=10",
    ]);
    assert_eq!(result(&stdout, "fillseq").operations, 1000);
    let read = results(&stdout, "readseq");
    assert_eq!(read[0].operations, 1000);
    assert_eq!(read[1].rest, "", "something was left: {:?}", read[1]);
}

#[test]
fn multireadrandom_finds_what_is_there_in_batches() {
    let stdout = Bench::new().run(&[
        "--benchmarks=fillseq,multireadrandom,compact,multireadrandom",
        "--num=1000",
        "--reads=500",
        "--batch_size=10",
    ]);
    for line in results(&stdout, "multireadrandom") {
        assert_eq!(line.operations, 500);
        assert!(line.rest.ends_with("(500 of 500 found)"), "{line:?}");
    }
}

#[test]
fn deleterandom_leaves_the_keys_it_did_not_draw() {
    let stdout =
        Bench::new().run(&["--benchmarks=fillseq,deleterandom,readseq", "--num=20000", "--seed=5"]);
    let left = result(&stdout, "readseq").operations as f64 / 20_000.0;
    assert!((left - (-1.0_f64).exp()).abs() < 0.02, "{left}");
}

#[test]
fn existing_database_is_kept_and_fills_are_skipped() {
    let bench = Bench::new();
    bench.run(&["--benchmarks=fillseq", "--num=1000", "--disable_wal"]);
    let stdout =
        bench.run(&["--benchmarks=fillrandom,readseq", "--num=1000", "--use_existing_db=1"]);
    assert!(stdout.contains("fillrandom   : skipped (--use_existing_db is true)\n"), "{stdout}");
    assert_eq!(result(&stdout, "readseq").operations, 1000);
    let stdout = bench.run(&["--benchmarks=readseq", "--num=1000", "--use_existing_db=0"]);
    assert_eq!(result(&stdout, "readseq").rest, "");
}

#[test]
fn threads_each_do_all_operations() {
    let stdout = Bench::new().run(&[
        "--benchmarks=fillrandom,readrandom,updaterandom",
        "--num=5000",
        "--threads=4",
        "--seed=1",
    ]);
    for name in ["fillrandom", "readrandom", "updaterandom"] {
        let line = result(&stdout, name);
        assert_eq!(line.operations, 20_000, "{name}");
        let threads_busy = line.micros * line.rate as f64 / 1e6;
        assert!(threads_busy <= 4.2, "{name}: {line:?}");
    }
}

#[test]
fn background_writer_is_not_counted() {
    let stdout = Bench::new().run(&[
        "--benchmarks=fillseq,readwhilewriting,readwhilemerging",
        "--merge_operator=max",
        "--num=5000",
        "--threads=2",
    ]);
    for name in ["readwhilewriting", "readwhilemerging"] {
        let line = result(&stdout, name);
        assert_eq!(line.operations, 10_000);
        assert!(line.rest.ends_with("(5000 of 5000 found)"), "{line:?}");
    }
}

#[test]
fn mixed_benchmarks_keep_their_percentages() {
    let stdout = Bench::new().run(&[
        "--benchmarks=readrandommergerandom,readrandomwriterandom",
        "--merge_operator=stringappend",
        "--num=10000",
        "--value_size=5",
        "--merge_keys=100",
        "--mergereadpercent=30",
        "--readwritepercent=80",
        "--seed=1",
    ]);
    let rest = result(&stdout, "readrandommergerandom").rest;
    let pattern =
        Regex::new(r"^\(reads:(\d+) merges:(\d+) total:10000 hits:(\d+) maxlength:(\d+)\)$")
            .unwrap();
    let counts = pattern.captures(&rest).unwrap_or_else(|| panic!("{rest}"));
    let count = |i: usize| counts[i].parse::<u64>().unwrap();
    assert_eq!(count(1) + count(2), 10_000);
    assert!((2_800..3_200).contains(&count(2)), "{rest}");
    assert!(count(3) <= count(1) && count(4) > 5, "{rest}");
    let rest = result(&stdout, "readrandomwriterandom").rest;
    assert!(rest.starts_with("( reads:8000 writes:2000 total:10000 found:"), "{rest}");
}

#[test]
fn duration_ends_random_benchmarks() {
    let stdout = Bench::new().run(&["--benchmarks=fillrandom", "--num=100", "--duration=1"]);
    assert!(result(&stdout, "fillrandom").operations > 100);
}

#[test]
fn threads_together_keep_to_the_offered_rates() {
    // 4 threads of 250 writes of 116 bytes, then as many reads.
    let stdout = Bench::new().run(&[
        "--benchmarks=fillrandom,readrandom",
        "--num=250",
        "--threads=4",
        "--benchmark_write_rate_limit=580000",
        "--benchmark_read_rate_limit=5000",
    ]);
    for benchmark in ["fillrandom", "readrandom"] {
        let result = result(&stdout, benchmark);
        assert_eq!(result.operations, 1000);
        assert!(result.rate < 6000, "at most 5000 a second: {result:?}");
    }
}

#[test]
fn meta_benchmarks_print_their_lines() {
    let stdout = Bench::new().run(&[
        "--benchmarks=fillrandom,compact,waitforcompaction,open,crc32c,stats",
        "--num=20000",
        "--block_size=65536",
        "--statistics",
    ]);
    assert_eq!(result(&stdout, "compact").operations, 1);
    assert_eq!(result(&stdout, "open").operations, 2);
    let crc = result(&stdout, "crc32c");
    assert_eq!(crc.operations, 80_000);
    assert!(crc.rest.ends_with("(65536 per op)"), "{crc:?}");
    assert!(stdout.contains("waitforcompaction("), "{stdout}");

    let stats = &stdout[stdout.find("bytes_user: ").unwrap()..stdout.find("STATISTICS:").unwrap()];
    let pattern = Regex::new(
        r"\Abytes_user: 2320000\nbytes_log: \d+\nbytes_flush: \d+\nbytes_compaction: \d+\nwrite_amplification: \d+\.\d\d\n(level \d+: runs \d+ tables \d+ bytes \d+\n)+\z",
    )
    .unwrap();
    assert!(pattern.is_match(stats), "{stats}");
    assert!(stdout.contains("\nfoldb.puts COUNT : 20000\n"), "{stdout}");
}

#[test]
fn histogram_prints_a_block_for_each_kind_of_operation() {
    let stdout =
        Bench::new().run(&["--benchmarks=fillseq,readrandom", "--num=2000", "--histogram=1"]);
    let pattern = Regex::new(
        r"Microseconds per (\w+):\nCount: (\d+) Average: \d+\.\d{4}  StdDev: \d+\.\d+\nMin: \S+  Median: \S+  Max: \S+\nPercentiles: P50: \S+ P75: \S+ P99: \S+ P99\.9: \S+ P99\.99: \S+\n",
    )
    .unwrap();
    let blocks: HashMap<&str, &str> = pattern
        .captures_iter(&stdout)
        .map(|block| (block.get(1).unwrap().as_str(), block.get(2).unwrap().as_str()))
        .collect();
    assert_eq!(blocks, HashMap::from([("write", "2000"), ("read", "2000")]));
}

#[test]
fn header_tells_what_is_run() {
    let stdout = Bench::new().run(&[
        "--benchmarks=mergerandom,readrandom",
        "--merge_operator=uint64add",
        "--num=1000",
        "--seed=7",
    ]);
    for line in [
        "Keys:       16 bytes each (+ 0 bytes user-defined timestamp)",
        "Values:     100 bytes each (50 bytes after compression)",
        "Entries:    1000",
        "RawSize:    0.1 MB (estimated)",
        "FileSize:   0.1 MB (estimated)",
        "Compression: LZ4 (foldb's own)",
        "Seed:       7",
    ] {
        assert!(stdout.lines().any(|printed| printed == line), "{line} is not in:\n{stdout}");
    }
    assert!(stdout.contains("\nOperator:   uint64add:rocksdb_lenient (because"), "{stdout}");
}

#[test]
fn seed_zero_is_printed() {
    let stdout = Bench::new().run(&["--benchmarks=fillseq", "--num=10"]);
    let pattern = Regex::new(r"(?m)^Set seed to (\d+) because --seed was 0$").unwrap();
    let seed = &pattern.captures(&stdout).unwrap()[1];
    assert!(stdout.contains(&format!("\nSeed:       {seed}\n")), "{stdout}");
}

#[test]
fn progress_goes_to_stderr_and_results_to_stdout() {
    let output = Bench::new().output(&[
        "--benchmarks=fillseq",
        "--num=3000",
        "--stats_interval=1000",
        "--stats_per_interval=1",
    ]);
    let stderr = text(&output.stderr);
    let pattern = Regex::new(
        r"(?m)^\S+ \.\.\. thread 0: \(1000,(\d+)\) ops and \(\d+\.\d,\d+\.\d\) ops/second in \(\d+\.\d{6},\d+\.\d{6}\) seconds$",
    )
    .unwrap();
    let told: Vec<&str> =
        pattern.captures_iter(&stderr).map(|line| line.get(1).unwrap().as_str()).collect();
    assert_eq!(told, ["1000", "2000", "3000"], "{stderr}");
    assert!(stderr.contains("\nputs: "), "{stderr}");
    assert!(!text(&output.stdout).contains("... thread"));
}
