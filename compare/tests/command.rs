//! The program as a user meets it, on databases of a thousandth.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use foldb_report::results::{Results, Run};

fn compare(out: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_foldb-compare"))
        .args(["--scale", "tiny", "--out"])
        .arg(out)
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn results(out: &Path) -> Results {
    serde_json::from_str(&fs::read_to_string(out.join("results.json")).unwrap()).unwrap()
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn a_run_leaves_results_with_every_figure_of_a_write_workload() {
    let out = tempfile::tempdir().unwrap();
    let output = compare(out.path(), &["--workload", "hot-counters", "--engines", "foldb"]);
    succeeded(&output);
    assert!(text(&output.stdout).contains("hot-counters/wal-off"), "{}", text(&output.stdout));
    let results = results(out.path());
    assert_eq!((results.format, results.scale.as_str()), (1, "tiny"));
    assert!(
        results.engines.iter().any(|engine| engine.name == "mergedb" && engine.absent.is_some())
    );
    assert_eq!(results.workloads.len(), 2);
    assert_eq!(results.runs.len(), 2);
    for run in &results.runs {
        assert_eq!((run.engine.as_str(), run.operations), ("foldb", 20_000));
        assert!(run.seconds > 0.0 && run.slowest_micros.unwrap() > 0.0);
        assert_eq!(run.latencies.len(), 5);
        assert_eq!(run.timeline.iter().map(|moment| moment.operations).sum::<u64>(), 20_000);
        assert!(run.peak_memory.is_some() && run.owed_bytes.is_some());
        assert!(run.seconds_to_rest.is_some() && run.space.is_some());
        assert!(run.digest.ends_with("of 1000 entries"), "{}", run.digest);
        let written = run.written.as_ref().unwrap();
        assert_eq!(written.user, 20_000 * 24);
        assert_eq!(written.mapped > 0, run.workload.ends_with("wal-on"), "{written:?}");
    }
}

#[test]
fn what_was_run_is_kept_and_only_what_is_missing_runs() {
    let out = tempfile::tempdir().unwrap();
    let once = ["--workload", "update-random", "--engines", "foldb", "--reps", "1"];
    succeeded(&compare(out.path(), &once));
    let first = results(out.path());
    let twice = ["--workload", "update-random", "--engines", "foldb", "--reps", "2"];
    let output = compare(out.path(), &twice);
    succeeded(&output);
    let stderr = text(&output.stderr);
    assert_eq!(stderr.matches("  kept  ").count(), 1, "{stderr}");
    let second = results(out.path());
    assert_eq!(second.runs.len(), 2);
    assert_eq!(second.runs[0], first.runs[0]);
    assert_eq!(second.runs[1].repetition, 2);
    assert_eq!(second.probes, first.probes);
}

#[test]
fn another_scale_in_the_same_directory_is_refused() {
    let out = tempfile::tempdir().unwrap();
    succeeded(&compare(out.path(), &["--workload", "update-random", "--engines", "foldb"]));
    let mut results = results(out.path());
    results.scale = "full".into();
    fs::write(out.path().join("results.json"), serde_json::to_string(&results).unwrap()).unwrap();
    let output = compare(out.path(), &["--workload", "update-random", "--engines", "foldb"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("holds results of scale full"));
}

#[test]
fn a_planted_digest_fails_the_program_but_not_its_results() {
    let out = tempfile::tempdir().unwrap();
    let arguments = ["--workload", "update-random", "--engines", "foldb", "--reps", "2"];
    succeeded(&compare(out.path(), &arguments));
    let path = out.path().join("runs/update-random__foldb__2.json");
    let mut runs: Vec<Run> = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    runs[0].digest = "planted".into();
    fs::write(&path, serde_json::to_string(&runs).unwrap()).unwrap();
    let output = compare(out.path(), &arguments);
    assert_eq!(output.status.code(), Some(1));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("update-random: the databases differ: foldb has "), "{stderr}");
    assert!(stderr.contains("foldb has planted"), "{stderr}");
    assert_eq!(results(out.path()).runs[1].digest, "planted");
}

#[test]
fn commands_that_make_no_sense_are_answered_in_one_line() {
    let out = tempfile::tempdir().unwrap();
    for (arguments, told) in [
        (["--workload", "fillseq"], "unknown workload fillseq; there are all, merge-random, "),
        (["--scale", "huge"], "unknown scale huge; there are tiny, small, medium, full"),
        (["--engines", "sqlite"], "unknown engine sqlite; there are foldb, rocksdb, "),
        (["--mergedb", "/nowhere"], "--mergedb: there is no file /nowhere"),
        (
            ["--engines", "mergedb"],
            "nothing to run; mergedb: not run (--mergedb gives its db_bench)",
        ),
        (["--reps", "0"], "invalid value '0' for '--reps <N>': 0 is not in 1..=100; --help "),
        (["--nonsense", "x"], "unexpected argument '--nonsense' found; --help lists all flags"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_foldb-compare"))
            .args(arguments)
            .arg("--out")
            .arg(out.path().join("never"))
            .output()
            .unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.contains(told), "{stderr}");
    }
    assert!(!out.path().join("never").exists());
}

#[test]
fn a_job_without_the_scale_is_refused_by_name() {
    let out = tempfile::tempdir().unwrap();
    let arguments = ["--scale", "large", "--workload", "hot-counters"];
    let output = Command::new(env!("CARGO_BIN_EXE_foldb-compare"))
        .args(arguments)
        .arg("--out")
        .arg(out.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = "foldb-compare: hot-counters/wal-off, hot-counters/wal-on not at scale large, which \
                is for growth/large\n";
    assert_eq!(text(&output.stderr), told);
}

#[test]
fn a_growing_database_has_its_steps_in_the_results_and_the_tables() {
    let out = tempfile::tempdir().unwrap();
    let output = compare(out.path(), &["--workload", "growth/large", "--engines", "foldb"]);
    succeeded(&output);
    assert!(text(&output.stdout).contains("  0.200  foldb  "), "{}", text(&output.stdout));
    let results = results(out.path());
    let steps = &results.runs[0].steps;
    assert_eq!((steps.len(), results.runs[0].operations), (10, 200_000));
    for step in steps {
        assert_eq!((step.operations, step.reads), (20_000, 100));
        assert!(step.processor_seconds > 0.0 && step.open_seconds > 0.0, "{step:?}");
    }
    assert!(steps.windows(2).all(|pair| pair[0].written.user < pair[1].written.user));
}

#[test]
fn help_names_every_workload() {
    let output = Command::new(env!("CARGO_BIN_EXE_foldb-compare")).arg("--help").output().unwrap();
    assert!(output.status.success());
    let help = text(&output.stdout);
    for job in foldb_compare::workload::JOBS {
        for row in job.rows {
            for name in row.name.split('/') {
                assert!(help.contains(name), "{} is not in the help", row.name);
            }
        }
    }
}

#[test]
fn tables_are_put_between_the_markers_of_a_document() {
    let out = tempfile::tempdir().unwrap();
    succeeded(&compare(out.path(), &["--workload", "update-random", "--engines", "foldb"]));
    let document = out.path().join("performance.md");
    fs::write(&document, "a\n<!-- compare:begin -->\n<!-- compare:end -->\nb\n").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_foldb-compare"))
        .arg("--tables")
        .arg(out.path().join("results.json"))
        .arg("--into")
        .arg(&document)
        .output()
        .unwrap();
    succeeded(&output);
    let document = fs::read_to_string(&document).unwrap();
    assert!(document.starts_with("a\n<!-- compare:begin -->\nScale tiny"), "{document}");
    assert!(document.contains("| update-random |"), "{document}");
    assert!(document.ends_with("<!-- compare:end -->\nb\n"), "{document}");
}

#[test]
fn a_run_of_store_rows_writes_its_table_and_its_results_where_it_is_told() {
    let out = tempfile::tempdir().unwrap();
    let (document, kept) = (out.path().join("store.md"), out.path().join("store.json"));
    fs::write(&document, "<!-- compare:begin -->\n<!-- compare:end -->\n").unwrap();
    let [into, keep] = [&document, &kept].map(|path| path.to_str().unwrap());
    let rows = "store/transact-1,store/synced-1,store/queue-flushed";
    let arguments = ["--workload", rows, "--engines", "foldb,bare", "--into", into, "--keep", keep];
    succeeded(&compare(out.path(), &arguments));
    let document = fs::read_to_string(&document).unwrap();
    assert!(document.contains("| store/transact-1 |"), "{document}");
    assert!(document.contains(" x bare | 0.833 |"), "{document}");
    assert!(document.contains(" x store/queue-flushed-first | 0.833 |"), "{document}");
    let kept: Results = serde_json::from_str(&fs::read_to_string(&kept).unwrap()).unwrap();
    let runs = |row: &str| kept.runs.iter().filter(|run| run.workload == row).count();
    assert_eq!((runs("store/transact-1"), runs("store/synced-1")), (1, 2));
    assert!(kept.runs.iter().all(|run| run.timeline.is_empty() && run.operations > 0));
}
