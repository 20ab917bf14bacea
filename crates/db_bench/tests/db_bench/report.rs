//! `--report`: the page, and the results in it.

use std::fs;

use foldb_report::results::{Results, Run};

use crate::bench::{Bench, exists, result, text};

/// Runs with `--report` and reads back the page and its results.
fn report(arguments: &[&str]) -> (String, Results, String) {
    let bench = Bench::new();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("report.html");
    let flag = format!("--report={}", file.display());
    let stdout = bench.run(&[&[flag.as_str()], arguments].concat());
    let page = fs::read_to_string(file).unwrap();
    let (_, json) = page.split_once("id=\"results\">").unwrap();
    let results = serde_json::from_str(json.split_once("</script>").unwrap().0).unwrap();
    (page, results, stdout)
}

fn names(results: &Results) -> Vec<&str> {
    results.workloads.iter().map(|workload| workload.name.as_str()).collect()
}

fn operations(run: &Run) -> u64 {
    run.timeline.iter().map(|moment| moment.operations).sum()
}

#[test]
fn every_benchmark_is_a_series_of_the_page() {
    let (page, results, stdout) = report(&[
        "--benchmarks=fillseq,readrandom,compact,open,readrandom,stats",
        "--num=20000",
        "--threads=2",
    ]);
    assert_eq!(names(&results), ["fillseq", "readrandom", "compact", "open", "readrandom/2"]);
    assert_eq!(page.matches("data-plot=\"rate\"").count(), 5);
    assert_eq!(results.runs.len(), 5);
    for run in &results.runs {
        assert_eq!(operations(run), run.operations, "{}", run.workload);
        assert!(run.seconds > 0.0 && (1..=300).contains(&run.timeline.len()));
        assert_eq!(run.timeline.last().unwrap().at, run.seconds);
        assert!(run.settings.is_empty() && run.digest == "not checked");
    }
    assert_eq!(results.runs[0].operations, result(&stdout, "fillseq").operations);
    let read = &results.runs[1];
    assert_eq!(read.operations, 40_000);
    assert!(read.latencies.windows(2).all(|pair| pair[0].micros <= pair[1].micros));
    assert_eq!(read.latencies.len(), 6);
    assert!(read.slowest_micros >= Some(read.latencies[5].micros));
    assert!(read.written.is_none());
    assert!(results.runs[2].latencies.is_empty(), "compact has no operations of its own");
    assert!(!stdout.contains("Microseconds per"), "only --histogram prints them");
}

/// Bytes in value segments count as written.
#[test]
fn what_a_load_wrote_to_segments_is_told() {
    let (_, _, stdout) = report(&[
        "--benchmarks=fillseq,compact,stats",
        "--num=2000",
        "--value_size=1000",
        "--enable_blob_files=1",
        "--min_blob_size=500",
    ]);
    assert!(stdout.contains("\nSeparated:  values of 500 bytes and more\n"), "{stdout}");
    let told = |name: &str| -> u64 {
        let line = stdout.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap().split(' ').next().unwrap().parse().unwrap()
    };
    assert!(told("bytes_segments: ") > 2_000_000, "{stdout}");
    assert!(told("segments: files 1 bytes ") > 2_000_000, "{stdout}");
    let small = "--write_buffer_size=65536";
    let benchmarks = "--benchmarks=fillseq,waitforcompaction";
    let (_, results, _) =
        report(&[benchmarks, "--num=2000", "--value_size=1000", "--enable_blob_files=1", small]);
    let written = results.runs[0].written.clone().unwrap();
    let (own, seen) = (written.own.unwrap(), written.calls + written.mapped);
    assert!(own > 4_000_000 && own.abs_diff(seen) < own / 50 + 65_536, "{written:?}");
}

#[test]
fn what_a_load_wrote_and_took_is_told() {
    let (page, results, _) = report(&[
        "--benchmarks=fillrandom,waitforcompaction",
        "--num=100000",
        "--value_size=200",
        "--write_buffer_size=2097152",
    ]);
    let run = &results.runs[0];
    let written = run.written.as_ref().unwrap();
    assert_eq!(written.user, 100_000 * 216);
    assert!(written.amplification() > 1.5, "log and tables: {written:?}");
    assert!(written.own.unwrap() <= written.calls + written.mapped);
    assert!(run.space.unwrap() > 1 << 20);
    assert!(run.seconds_to_rest.is_some() && run.owed_bytes.is_some());
    assert!(run.events.iter().any(|event| event.kind == "flush" && event.bytes > 0));
    let seconds = run.seconds;
    assert!(run.events.iter().all(|event| event.began <= event.ended && event.began < seconds));
    assert_eq!(run.settings, "--write_buffer_size=2097152");
    let command = " --num=100000 --value_size=200 --write_buffer_size=2097152";
    assert_eq!(results.workloads[0].command, format!("db_bench --benchmarks=fillrandom{command}"));
    assert!(page.contains("data-plot=\"write-amplification\""));
    if cfg!(target_os = "linux") {
        assert!(run.peak_memory.unwrap() > 1 << 20);
        assert!(results.machine.memory > 0);
    }
}

#[test]
fn histogram_and_report_go_together() {
    let (_, _, stdout) = report(&["--benchmarks=fillseq", "--num=1000", "--histogram"]);
    assert!(stdout.contains("Microseconds per write:\n"));
}

#[test]
fn a_page_that_cannot_be_written_is_refused_before_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let absent = directory.path().join("absent/report.html");
    for path in [directory.path(), &absent] {
        let bench = Bench::new();
        let flag = format!("--report={}", path.display());
        let output = bench.output(&["--benchmarks=fillseq", &flag]);
        assert_eq!(output.status.code(), Some(1));
        let stderr = text(&output.stderr);
        assert!(stderr.starts_with("db_bench: --report: "), "{stderr}");
        assert!(stderr.contains(&path.display().to_string()) && stderr.lines().count() == 1);
        assert!(output.stdout.is_empty() && !exists(&bench.database()));
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
