//! The page of `merge_bench`.

use foldb_report::merges::{
    LatencyMoment, LoadFigures, MergeCase, MergeFigures, MergeRepetition, MergeResults, MergeRun,
    Side, Span,
};
use foldb_report::page;

fn moments(operations: [u64; 3]) -> Vec<LatencyMoment> {
    let moment = |(i, operations): (usize, u64)| LatencyMoment {
        at: (i + 1) as f64,
        operations,
        mean_us: 2.0,
        max_us: 30.0,
    };
    operations.into_iter().enumerate().map(moment).collect()
}

fn run(subcommand: &str, workload: &str, budget_bytes: u64, reads: Vec<LatencyMoment>) -> MergeRun {
    let case = MergeCase {
        subcommand: subcommand.to_owned(),
        dataset: "<small>".to_owned(),
        workload: workload.to_owned(),
        hint: "on".to_owned(),
        budget_bytes,
        ..MergeCase::default()
    };
    let side = Side { ops_per_sec: 1e6, percentiles_us: [1.0, 2.0, 3.0], max_us: 30.0, timed: 9 };
    let load = if reads.is_empty() {
        LoadFigures::default()
    } else {
        LoadFigures::of(Some(side), None).with_rates(Some(1.1e6), 1e6)
    };
    let repetition = MergeRepetition {
        merge: MergeFigures { ms: 12.0, batch_count: 3, ..MergeFigures::default() },
        load,
        merges: 1,
        spans: vec![Span { from: 1.0, to: 2.5 }],
        reads,
        ..MergeRepetition::default()
    };
    MergeRun::of(case, vec![repetition.clone(), repetition])
}

#[test]
fn merges_are_shaded_and_latencies_drawn() {
    let runs = vec![
        run("standard", "baseline", 1, vec![]),
        run("standard", "read", 1, moments([5, 0, 7])),
    ];
    let page = page::merges(&MergeResults { format: 1, runs, ..MergeResults::default() });
    assert_eq!(page.matches("data-plot=\"latency-through-time\"").count(), 1);
    assert_eq!(page.matches("class=\"shade\"").count(), 1);
    assert_eq!(page.matches("data-series=\"reads, max\" data-points=\"2\"").count(), 1);
    assert!(!page.contains("data-series=\"writes"), "there were none");
    assert!(!page.contains("<small>"), "names are escaped");
    assert!(page.contains("3 (n=18)"), "beside each percentile the operations of all repetitions");
}

#[test]
fn budgets_are_drawn_against_duration_and_batches() {
    let budgets = [16 << 20, 64 << 20, 1 << 30];
    let runs = budgets.map(|budget| run("memory-budget", "baseline", budget, vec![]));
    let page = page::merges(&MergeResults { runs: runs.to_vec(), ..MergeResults::default() });
    for plot in ["budget-duration", "budget-batches"] {
        assert_eq!(page.matches(&format!("data-plot=\"{plot}\"")).count(), 1, "{plot}");
    }
    assert_eq!(page.matches("data-points=\"6\"").count(), 2, "each repetition of each budget");
    for label in ["16MB", "64MB", "1GB"] {
        assert!(page.contains(label), "{label}");
    }
}

#[test]
fn results_come_back_from_json_under_the_names_of_the_columns() {
    let results = MergeResults {
        format: 1,
        runs: vec![run("standard", "read", 64 << 20, moments([1, 2, 3]))],
        ..MergeResults::default()
    };
    let json = serde_json::to_value(&results).unwrap();
    let run = &json["runs"][0];
    assert_eq!(run["dataset"], "<small>");
    for name in ["ms/op", "MiB/op", "allocs/op", "peak_alloc_bytes", "read_p99_us"] {
        assert!(run[name].is_number(), "{name}: {run}");
        assert!(run["repetitions"][0][name].is_number(), "{name}: {run}");
    }
    assert!(run["write_p99_us"].is_null());
    assert_eq!(serde_json::from_value::<MergeResults>(json).unwrap(), results);
}
