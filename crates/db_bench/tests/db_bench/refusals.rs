//! Bad command lines: one line on stderr, exit 1, and no change.

use crate::bench::{Bench, exists, run, text};

/// Runs, expects a refusal, and returns its line.
fn refusal(arguments: &[&str]) -> String {
    let bench = Bench::new();
    let output = bench.output(arguments);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(output.stdout.is_empty());
    assert!(!exists(&bench.database()), "{arguments:?} touched the database");
    stderr
}

#[test]
fn unknown_flag() {
    let line = refusal(&["--vlaue_size=8", "--disable_seek_compaction=1"]);
    assert_eq!(line, "db_bench: unknown flag --vlaue_size; the nearest is --value_size\n");
}

#[test]
fn unknown_benchmark() {
    let line = refusal(&["--benchmarks=fillseq,mergerandm", "--disable_seek_compaction=1"]);
    assert_eq!(line, "db_bench: unknown benchmark mergerandm; the nearest is mergerandom\n");
}

#[test]
fn unknown_operator() {
    let line = refusal(&["--benchmarks=mergerandom", "--merge_operator=uint64ad", "--mmap_read=0"]);
    assert_eq!(line, "db_bench: unknown merge operator uint64ad; the nearest is uint64add\n");
}

#[test]
fn merge_without_operator() {
    let line = refusal(&["--benchmarks=mergerandom"]);
    assert!(line.contains("--merge_operator"), "{line}");
}

#[test]
fn bad_values() {
    for argument in [
        "--num=many",
        "--num=0",
        "--histogram=maybe",
        "--compaction_style=2",
        "--compression_type=zstd",
        "--write_buffer_size=1",
        "--value_size=300000000",
        "readrandom",
    ] {
        refusal(&[argument]);
    }
}

#[test]
fn refused_commands_leave_an_existing_database_as_it_was() {
    let bench = Bench::new();
    bench.run(&["--benchmarks=fillseq", "--num=100"]);
    assert_eq!(bench.output(&["--benchmarks=readseqq"]).status.code(), Some(1));
    assert_eq!(bench.output(&["--nmu=1"]).status.code(), Some(1));
    let operator = ["--benchmarks=mergerandom", "--merge_operator=mx"];
    assert_eq!(bench.output(&operator).status.code(), Some(1));
    let stdout = bench.run(&["--benchmarks=readseq", "--num=100", "--use_existing_db"]);
    assert_eq!(crate::bench::result(&stdout, "readseq").operations, 100);
}

#[test]
fn existing_database_must_exist() {
    let output = Bench::new().output(&["--benchmarks=readseq", "--use_existing_db=1"]);
    assert_eq!(output.status.code(), Some(1));
    let stderr = text(&output.stderr);
    assert!(stderr.lines().last().unwrap().starts_with("db_bench: open: "), "{stderr}");
}

#[test]
fn help_and_version_need_no_database() {
    for argument in ["--help", "-help", "--version", "--build_info"] {
        let output = run(&[argument]);
        assert!(output.status.success());
        assert!(output.stderr.is_empty());
        assert!(!output.stdout.is_empty());
    }
}

#[test]
fn the_database_of_another_engine_is_not_destroyed() {
    let bench = Bench::new();
    let database = bench.database();
    std::fs::create_dir(&database).unwrap();
    std::fs::write(database.join("CURRENT"), "MANIFEST-000005\n").unwrap();
    std::fs::write(database.join("MANIFEST-000005"), "\x56\x01leveldb.BytewiseComparator").unwrap();
    let output = bench.output(&["--benchmarks=fillseq", "--num=10"]);
    assert_eq!(output.status.code(), Some(1));
    let stderr = text(&output.stderr);
    assert!(stderr.starts_with("db_bench: destroy: "), "{stderr}");
    assert!(stderr.contains("not written by foldb"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert_eq!(std::fs::read_dir(&database).unwrap().count(), 2);
}

/// These once destroyed the database, and failed then.
#[test]
fn sizes_that_the_engine_refuses_leave_an_existing_database_as_it_was() {
    let bench = Bench::new();
    bench.run(&["--benchmarks=fillseq", "--num=100"]);
    for arguments in [
        ["--benchmarks=fillseq", "--value_size=300000000", "--num=1"],
        ["--benchmarks=fillbatch", "--value_size=1000000", "--num=1000"],
        ["--benchmarks=fillrandom", "--value_size=200000000", "--batch_size=2"],
    ] {
        let output = bench.output(&arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", text(&output.stderr));
    }
    let stdout = bench.run(&["--benchmarks=readseq", "--num=100", "--use_existing_db"]);
    assert_eq!(crate::bench::result(&stdout, "readseq").operations, 100);
}

#[test]
fn files_that_foldb_did_not_write_stay() {
    let bench = Bench::new();
    let database = bench.database();
    std::fs::create_dir_all(database.join("shared")).unwrap();
    let names = ["letter.txt", "000007.log", "000008.tbl", "CURRENT.tmp", "shared/photo.jpg"];
    for name in names {
        std::fs::write(database.join(name), format!("the user's {name}")).unwrap();
    }
    // A run may refuse the directory, or use it beside these files.
    bench.output(&["--benchmarks=fillseq,readseq,fillrandom", "--num=100"]);
    bench.output(&["--benchmarks=fillrandom", "--num=100"]);
    for name in names {
        let found = std::fs::read_to_string(database.join(name)).unwrap();
        assert_eq!(found, format!("the user's {name}"));
    }
}
