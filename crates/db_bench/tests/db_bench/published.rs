//! The published command lines of RocksDB's and MergeDB's figures run unchanged, with fewer keys.

use crate::bench::{Bench, result, results, text};

/// RocksDB's "read-modify-write" page: its shared flags, for `r` keys.
const READ_MODIFY_WRITE: &str = "--disable_seek_compaction=1 --mmap_read=0 --statistics=1 \
    --histogram=1 --threads=1 --value_size=8 --block_size=65536 --disable_wal=1 \
    --stats_interval=1000000 --max_background_compactions=20 \
    --level0_file_num_compaction_trigger=4 --level0_slowdown_writes_trigger=8 \
    --level0_stop_writes_trigger=12 --num_levels=6 \
    --delete_obsolete_files_period_micros=300000000 --min_level_to_compress=2 \
    --max_grandparent_overlap_factor=10 --stats_per_interval=1 \
    --max_bytes_for_level_base=10485760 --use_existing_db=0 --num=20000 --seed=1";

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn read_modify_write() {
    let bench = Bench::new();
    let shared = words(READ_MODIFY_WRITE);
    let output = bench.output(&[&["--benchmarks=updaterandom"], shared.as_slice()].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let noted: Vec<String> = text(&output.stderr)
        .lines()
        .filter(|line| line.starts_with("db_bench: "))
        .map(str::to_owned)
        .collect();
    assert_eq!(
        noted,
        ["db_bench: accepted without effect: --disable_seek_compaction --mmap_read \
          --delete_obsolete_files_period_micros --max_grandparent_overlap_factor"]
    );
    assert_eq!(result(&text(&output.stdout), "updaterandom").operations, 20_000);

    let merge = ["--benchmarks=mergerandom", "--merge_operator=uint64add"];
    let stdout = bench.run(&[merge.as_slice(), shared.as_slice()].concat());
    assert!(result(&stdout, "mergerandom").rest.ends_with("( updates:20000)"));
    assert!(stdout.contains("Microseconds per merge:\n"));
    assert!(stdout.contains("\nOperator:   uint64add\n"));
}

#[test]
fn hot_counters() {
    let stdout = Bench::new().run(&words(
        "--benchmarks=mergerandom,readrandom --merge_operator=uint64add --num=100000 \
         --merge_keys=1000 --value_size=8 --disable_wal=1 --seed=1",
    ));
    assert_eq!(result(&stdout, "mergerandom").operations, 100_000);
    let rest = result(&stdout, "readrandom").rest;
    assert!(rest.ends_with("of 100000 found)"), "{rest}");
}

#[test]
fn merging_without_copying_operands() {
    let bench = Bench::new();
    for merge_keys in [10_000, 1_000] {
        let stdout = bench.run(&words(&format!(
            "--benchmarks=mergerandom,readseq,readseq,readseq,readseq,readseq \
             --merge_operator=max --merge_keys={merge_keys} --num=10000 \
             --disable_auto_compactions --value_size=10240 --write_buffer_size=1000000000"
        )));
        let filled = results(&stdout, "readseq");
        assert_eq!(filled.len(), 5);
        let stdout = bench.run(&words(
            "--benchmarks=readseq,readseq,readseq,readseq,readseq --merge_operator=max \
             --num=100000 --cache_size=1000000000 --use_existing_db --disable_auto_compactions",
        ));
        for line in results(&stdout, "readseq") {
            assert_eq!(line.operations, filled[0].operations);
        }
    }
}

#[test]
fn random_overwrites() {
    let shared = "--num=20000 --threads=1 --value_size=4096 --cache_size=104857600 \
                  --bloom_bits=10 --open_files=500000 --compression_ratio=1 \
                  --write_buffer_size=2097152 --seed=1";
    let bench = Bench::new();
    let stdout =
        bench.run(&words(&format!("--benchmarks=fillrandom {shared} --use_existing_db=0")));
    assert_eq!(result(&stdout, "fillrandom").operations, 20_000);
    assert!(stdout.contains("\nFilter:     10 bits per key\n"));
    let stdout = bench
        .run(&words(&format!("--benchmarks=readrandom {shared} --use_existing_db=1 --reads=2000")));
    assert_eq!(result(&stdout, "readrandom").operations, 2000);
    assert!(result(&stdout, "readrandom").rest.ends_with("of 2000 found)"));
}

/// Forms and numbers that people published with their results.
#[test]
fn other_forms_and_numbers() {
    let bench = Bench::new();
    let output = bench.output(&words(
        "--benchmarks=fillrandom,seekrandom --num=2000 --histogram true --num_levels=40 \
         --bloom_bits=9.9 --undefok=no_such_flag --no_such_flag=1 --seek_nexts=10 --seed=1 \
         --reverse_iterator=true",
    ));
    let stderr = text(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let noted: Vec<&str> = stderr.lines().filter(|line| line.starts_with("db_bench: ")).collect();
    assert_eq!(
        noted,
        [
            "db_bench: accepted without effect: --no_such_flag",
            "db_bench: --num_levels=40 is taken as 32",
            "db_bench: --bloom_bits=9.9 is taken as 10",
        ]
    );
    let stdout = text(&output.stdout);
    assert!(stdout.contains("Microseconds per seek:\n"), "{stdout}");
    assert_eq!(result(&stdout, "seekrandom").operations, 2000);
}
