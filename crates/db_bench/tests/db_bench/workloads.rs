//! What the workloads leave in the database, and the flags that change them.

use std::fs;

use crate::bench::{Bench, result, results, text};

/// The entries that `readseq` finds after these benchmarks.
fn entries_after(benchmarks: &str, arguments: &[&str]) -> u64 {
    let benchmarks = format!("--benchmarks={benchmarks},readseq");
    let stdout = Bench::new().run(&[&[benchmarks.as_str()], arguments].concat());
    let line = result(&stdout, "readseq");
    if line.rest.is_empty() { 0 } else { line.operations }
}

#[test]
fn filluniquerandom_puts_every_key_once() {
    assert_eq!(entries_after("filluniquerandom", &["--num=2000"]), 2000);
    let stdout = Bench::new().run(&["--benchmarks=filluniquerandom", "--num=2000", "--threads=3"]);
    assert_eq!(result(&stdout, "filluniquerandom").operations, 2000, "by one thread");
    let stdout = Bench::new().run(&[
        "--benchmarks=filluniquerandom",
        "--num=2000",
        "--overwrite_probability=0.5",
        "--overwrite_window_size=10",
    ]);
    let count = |begins: &str| {
        let line = stdout.lines().find(|line| line.starts_with(begins)).unwrap();
        let digits = line.rsplit(' ').next().unwrap().trim_end_matches('.');
        digits.parse::<u64>().unwrap()
    };
    let (unique, again) =
        (count("Number of unique keys inserted:"), count("Number of overwrites:"));
    assert_eq!(unique + again, 2000);
    assert!((800..1200).contains(&again), "{again}");
}

#[test]
fn disposable_entries_go_and_persistent_ones_stay() {
    let left = entries_after(
        "fillanddeleteuniquerandom",
        &["--num=3000", "--disposable_entries_batch_size=10", "--persistent_entries_batch_size=10"],
    );
    // Each round of 30 writes leaves its 10 persistent entries.
    assert_eq!(left, 1000);
}

#[test]
fn deletes_and_range_deletes_are_as_many_as_the_flags_say() {
    assert_eq!(entries_after("fillseq,deleteseq", &["--num=1000", "--deletes=400"]), 600);
    let stdout = Bench::new().run(&[
        "--benchmarks=fillrandom",
        "--num=1000",
        "--writes_before_delete_range=100",
        "--writes_per_range_tombstone=50",
        "--max_num_range_tombstones=5",
    ]);
    assert!(stdout.contains("\nNumber of range deletions: 5\n"), "{stdout}");
    let left = [
        "--max_num_range_tombstones=0",
        "--noexpand_range_tombstones",
        "--expand_range_tombstones",
    ]
    .map(|flag| {
        let flags = [
            "--num=1000",
            "--writes_per_range_tombstone=1000",
            "--max_num_range_tombstones=1",
            "--range_tombstone_width=5000",
            "--seed=1",
            flag,
        ];
        entries_after("fillrandom", &flags)
    });
    assert!(left[1] < left[0] && left[1] == left[2], "{left:?}");
}

#[test]
fn fillseekseq_times_its_seeks_only() {
    let stdout = Bench::new().run(&["--benchmarks=fillseekseq", "--num=1000", "--seek_nexts=9"]);
    let line = result(&stdout, "fillseekseq");
    // One seek, nine steps and one seek for ten keys each.
    assert_eq!((line.operations, line.rest.as_str()), (1100, ""));
}

#[test]
fn updates_change_values_as_their_names_say() {
    let stdout = Bench::new().run(&[
        "--benchmarks=appendrandom,readrandommergerandom,xorupdaterandom",
        "--num=10",
        "--reads=1000",
        "--value_size=4",
        "--mergereadpercent=0",
        "--merge_operator=stringappend",
        "--seed=1",
    ]);
    let found = |name: &str| result(&stdout, name).rest;
    assert!(found("appendrandom").ends_with("( updates:1000 found:990)"), "{stdout}");
    let longest = found("readrandommergerandom");
    let longest: usize = longest.rsplit(':').next().unwrap().trim_end_matches(')').parse().unwrap();
    // A key's 100 values of 4 bytes, and the commas between them.
    assert!((400..700).contains(&longest) && longest % 5 == 4, "{longest}");
    assert!(found("xorupdaterandom").ends_with("( updates:1000 found:1000)"), "{stdout}");
}

#[test]
fn keys_that_belong_together_stay_together() {
    let stdout = Bench::new().run(&[
        "--benchmarks=randomwithverify",
        "--num=20000",
        "--numdistinct=50",
        "--readwritepercent=50",
        "--deletepercent=10",
        "--threads=3",
    ]);
    let rest = result(&stdout, "randomwithverify").rest;
    assert!(rest.starts_with("( get:10000 put:8000 del:2000 total:20000 found:"), "{rest}");
    assert!(!stdout.contains("inconsistent"), "{stdout}");
}

#[test]
fn sums_of_transactions_stay_equal() {
    let run = |flag: &str| {
        Bench::new().run(&[
            "--benchmarks=randomtransaction",
            "--num=50",
            "--reads=2000",
            "--threads=4",
            "--transaction_sets=5",
            flag,
        ])
    };
    for flag in ["--transaction_db", "--optimistic_transaction_db"] {
        let stdout = run(flag);
        let rest = result(&stdout, "randomtransaction").rest;
        assert!(rest.contains("( transactions:2000 aborts:"), "{rest}");
        assert!(stdout.contains("\nRandomTransactionVerify Success.\n"), "{stdout}");
    }
    let stdout = run("--notransaction_db");
    assert!(result(&stdout, "randomtransaction").rest.ends_with("( batches:2000 )"));
    assert!(!stdout.contains("RandomTransactionVerify"));
}

#[test]
fn timeseries_reads_while_it_writes_and_deletes_what_is_old() {
    let stdout = Bench::new().run(&[
        "--benchmarks=timeseries,readseq",
        "--num=20000",
        // One second, so that every thread gets a processor.
        "--benchmark_write_rate_limit=2320000",
        "--key_id_range=10",
        "--expire_style=delete",
        "--time_range=1000",
        "--threads=3",
    ]);
    assert!(stdout.contains("\ntimeseries write : "), "{stdout}");
    assert!(result(&stdout, "timeseries").rest.ends_with(" found)"));
    assert!(result(&stdout, "readseq").operations < 20_000);
}

#[test]
fn mixgraph_keeps_to_its_mix() {
    let stdout = Bench::new().run(&[
        "--benchmarks=fillseq,mixgraph",
        "--num=10000",
        "--key_size=48",
        "--mix_get_ratio=0.5",
        "--mix_put_ratio=0.3",
        "--mix_seek_ratio=0.2",
        "--mix_max_scan_len=20",
        "--key_dist_a=0.002312",
        "--key_dist_b=0.3467",
        "--keyrange_dist_a=14.18",
        "--keyrange_dist_b=-2.917",
        "--keyrange_dist_c=0.0164",
        "--keyrange_dist_d=-0.08082",
        "--keyrange_num=30",
        "--seed=1",
    ]);
    let rest = result(&stdout, "mixgraph").rest;
    let numbers: Vec<f64> = rest
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .filter_map(|digits| digits.parse().ok())
        .collect();
    let [_, gets, puts, seeks, found, reads, size, scan] = numbers[..] else { panic!("{rest}") };
    assert!((4_800.0..5_200.0).contains(&gets) && (2_800.0..3_200.0).contains(&puts), "{rest}");
    assert!((gets + puts + seeks - 10_000.0).abs() < 0.5, "{rest}");
    assert!((found - reads).abs() < 0.5 && size >= 10.0 && scan < 20.0, "{rest}");
}

#[test]
fn codecs_and_checksums_are_measured() {
    let stdout = Bench::new().run(&[
        "--benchmarks=compress,uncompress,snappycomp,snappyuncomp,zstdcomp,xxhash,xxhash64,xxh3",
        "--block_size=1048576",
    ]);
    for name in ["compress", "uncompress", "snappycomp", "snappyuncomp"] {
        assert_eq!(result(&stdout, name).operations, 1024, "{name}");
    }
    assert!(result(&stdout, "compress").rest.contains("(output: "));
    for name in ["xxhash", "xxhash64", "xxh3"] {
        assert!(result(&stdout, name).rest.ends_with("(1048576 per op)"));
    }
    if !cfg!(feature = "zstd") {
        assert_eq!(result(&stdout, "zstdcomp").rest, "(compression type not supported)");
    }
}

#[test]
fn a_backup_is_restored_and_verify_compares_it() {
    let (bench, directory) = (Bench::new(), tempfile::tempdir().unwrap());
    let path = |name: &str| directory.path().join(name).display().to_string();
    let backup = format!("--backup_dir={}", path("backup"));
    let restore = format!("--restore_dir={}", path("restore"));
    let truth = format!("--truth_db={}", path("restore"));
    let shared = [backup.as_str(), &restore, &truth, "--num=1000"];
    let stdout = bench.run(
        &[&["--benchmarks=fillrandom,backup,backup,restore,restore,verify"][..], &shared].concat(),
    );
    assert_eq!(results(&stdout, "backup").len(), 2);
    assert!(stdout.contains(&format!("\nRestore path: [{}]\n", path("restore"))), "{stdout}");
    let output = bench.output(
        &[&["--benchmarks=overwrite,verify", "--use_existing_db", "--value_size=7"][..], &shared]
            .concat(),
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).ends_with("db_bench: verify: the two databases differ\n"));
}

/// `--readonly` once destroyed the database.
#[test]
fn readonly_keeps_the_database_and_refuses_writes() {
    let bench = Bench::new();
    bench.run(&["--benchmarks=fillseq", "--num=1000"]);
    let stdout = bench.run(&["--benchmarks=fillseq,readseq", "--num=1000", "--readonly"]);
    assert_eq!(result(&stdout, "readseq").operations, 1000);
    for writer in ["overwrite", "readwhilewriting", "compact", "fillseekseq"] {
        let output = bench.output(&[&format!("--benchmarks=readseq,{writer}"), "--readonly=1"]);
        assert_eq!(output.status.code(), Some(1), "{writer}");
        assert!(text(&output.stderr).contains("leave out --readonly"), "{writer}");
    }
}

#[test]
fn a_benchmark_may_run_several_times() {
    let stdout = Bench::new().run(&["--benchmarks=fillseq,readrandom[X3-W1]", "--num=1000"]);
    assert_eq!(results(&stdout, "readrandom").len(), 4, "{stdout}");
    assert!(stdout.contains("\nreadrandom [AVG 2 runs] : "), "{stdout}");
    assert!(stdout.contains("\nreadrandom [MEDIAN 3 runs] : "), "{stdout}");
}

#[test]
fn intervals_are_reported_in_seconds() {
    let directory = tempfile::tempdir().unwrap();
    let csv = directory.path().join("report.csv");
    let output = Bench::new().output(&[
        "--benchmarks=fillrandom",
        "--num=100000",
        "--duration=3",
        "--report_interval_seconds=1",
        "--stats_interval_seconds=1",
        &format!("--report_file={}", csv.display()),
    ]);
    let operations = result(&text(&output.stdout), "fillrandom").operations;
    let told = text(&output.stderr).lines().filter(|line| line.contains("... thread 0: (")).count();
    assert!((2..=4).contains(&told), "{told} lines");
    let csv = fs::read_to_string(&csv).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "secs_elapsed,interval_qps");
    assert!(lines[1].starts_with("1,") && lines[2].starts_with("2,"), "{csv}");
    let counted = lines[1..].iter().map(|line| line.split_once(',').unwrap().1);
    let counted: u64 = counted.map(|count| count.parse::<u64>().unwrap()).sum();
    assert!(counted > 0 && counted <= operations, "{counted} of {operations}");
}

#[test]
fn counters_begin_again_after_resetstats() {
    let stdout = Bench::new().run(&["--benchmarks=fillseq,stats,resetstats,stats", "--num=1000"]);
    let puts: Vec<&str> = stdout.lines().filter(|line| line.starts_with("puts: ")).collect();
    assert_eq!(puts, ["puts: 1000", "puts: 0"]);
}

#[test]
fn a_shaped_fill_has_a_bottom_and_runs_above_it() {
    let stdout = Bench::new().run(&[
        "--benchmarks=fillseqdeterministic,levelstats,readseq",
        "--num=10000",
        "--disable_auto_compactions",
    ]);
    assert_eq!(result(&stdout, "readseq").operations, 10_000);
    let tables: Vec<u64> = stdout
        .lines()
        .skip_while(|line| *line != "--------------------")
        .skip(1)
        .map_while(|line| line.split_whitespace().nth(1)?.parse().ok())
        .collect();
    assert_eq!((tables.len(), tables[0]), (7, 4), "{tables:?}");
    assert!(tables[6] >= 1 && tables[1..6].iter().all(|count| *count == 0), "{tables:?}");
}
