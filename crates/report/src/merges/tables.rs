//! The two tables of each subcommand, as text: the cost of a garbage collection, and its effect on
//! the load.

use super::MergeRun;
use crate::page::figures::short;

/// Marks a missing figure.
const NONE: &str = "-";

/// The tables of one subcommand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The subcommand, and how its data is spread.
    pub title: String,
    /// The cost of garbage collections.
    pub merge: Table,
    /// The figures of loads.
    pub load: Table,
    /// The conclusion: the best budgets.
    pub notes: Vec<String>,
}

/// A table, cell by cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Names of the columns.
    pub heads: Vec<&'static str>,
    /// The rows. Each has one cell for each column.
    pub rows: Vec<Vec<String>>,
}

/// Returns the tables. Consecutive runs with the same title share a section.
pub fn sections(runs: &[MergeRun]) -> Vec<Section> {
    let belong = |a: &MergeRun, b: &MergeRun| title(a) == title(b);
    runs.chunk_by(belong).map(section).collect()
}

/// Returns the heading of a run's tables.
pub(crate) fn title(run: &MergeRun) -> String {
    let (case, scattered) = (&run.case, if run.case.scatter { ", scattered" } else { "" });
    format!("{}{scattered}", case.subcommand)
}

/// Returns the name of a row: `small-100k-128b, read, hint on`.
pub(crate) fn name(run: &MergeRun) -> String {
    let words = cases(run, false).into_iter().map(|(head, cell)| match head {
        "hint" => format!("hint {cell}"),
        _ => cell,
    });
    words.collect::<Vec<_>>().join(", ")
}

/// Returns whether the run compares budgets.
fn is_about_memory(run: &MergeRun) -> bool {
    run.case.subcommand.starts_with("memory-")
}

/// Returns the columns that describe the case.
fn cases(run: &MergeRun, has_budgets: bool) -> Vec<(&'static str, String)> {
    let case = &run.case;
    let mut cells = vec![
        ("dataset", case.dataset.clone()),
        ("workload", case.workload.clone()),
        ("hint", case.hint.clone()),
    ];
    if case.subcommand == "patterns" {
        cells.push(("pattern", case.pattern.clone()));
    }
    if has_budgets || is_about_memory(run) {
        cells.push(("budget", budget(case.budget_bytes)));
    }
    cells
}

fn section(runs: &[MergeRun]) -> Section {
    let is_optimal = |runs: &&[MergeRun]| runs[0].case.subcommand == "memory-optimal";
    let by_data = runs.chunk_by(|a, b| data(a) == data(b));
    Section {
        title: title(&runs[0]),
        merge: table(runs, merge_cells),
        load: table(runs, load_cells),
        notes: by_data.filter(is_optimal).map(best_budgets).collect(),
    }
}

/// Returns the parts of the case that runs of different budgets have in common.
fn data(run: &MergeRun) -> (&str, &str, &str) {
    (&run.case.dataset, &run.case.workload, &run.case.hint)
}

fn table(runs: &[MergeRun], figures: fn(&MergeRun) -> Vec<(&'static str, String)>) -> Table {
    let has_budgets = runs.iter().any(|run| run.case.budget_bytes != runs[0].case.budget_bytes);
    let cells = |run: &MergeRun| cases(run, has_budgets).into_iter().chain(figures(run));
    let heads = cells(&runs[0]).map(|(head, _)| head).collect();
    let rows = runs.iter().map(|run| cells(run).map(|(_, cell)| cell).collect()).collect();
    Table { heads, rows }
}

fn merge_cells(run: &MergeRun) -> Vec<(&'static str, String)> {
    let merge = &run.merge;
    vec![
        ("ms/op", short(merge.ms)),
        ("MiB/op", short(merge.mib)),
        ("allocs/op", merge.allocs.to_string()),
        ("peak_alloc_bytes", merge.peak_alloc_bytes.to_string()),
        ("peak_lookup_bytes", merge.peak_lookup_bytes.to_string()),
        ("max_lock_hold_us", short(merge.max_lock_hold_us)),
        ("batch_count", merge.batch_count.to_string()),
        ("reduction_ratio_pct", short(merge.reduction_ratio_pct)),
        ("bytes_per_mb_budget", format!("{:.0}", merge.bytes_per_mb_budget)),
    ]
}

fn load_cells(run: &MergeRun) -> Vec<(&'static str, String)> {
    let load = &run.load;
    let whole = |value: Option<f64>| value.map_or(NONE.to_owned(), |value| format!("{value:.0}"));
    // A percentile of few operations says little, so the cell shows their number.
    let reads = |micros: Option<f64>| timed(micros, load.read_timed_ops);
    let writes = |micros: Option<f64>| timed(micros, load.write_timed_ops);
    let degradation = load.throughput_degradation_pct;
    vec![
        ("read_ops_per_sec", whole(load.read_ops_per_sec)),
        ("read_p50_us", reads(load.read_p50_us)),
        ("read_p95_us", reads(load.read_p95_us)),
        ("read_p99_us", reads(load.read_p99_us)),
        ("read_max_us", reads(load.read_max_us)),
        ("write_ops_per_sec", whole(load.write_ops_per_sec)),
        ("write_p50_us", writes(load.write_p50_us)),
        ("write_p95_us", writes(load.write_p95_us)),
        ("write_p99_us", writes(load.write_p99_us)),
        ("write_max_us", writes(load.write_max_us)),
        ("baseline_ops_per_sec", whole(load.baseline_ops_per_sec)),
        ("merge_ops_per_sec", whole(load.merge_ops_per_sec)),
        ("throughput_degradation_pct", degradation.map_or(NONE.to_owned(), short)),
    ]
}

fn timed(micros: Option<f64>, operations: Option<u64>) -> String {
    match (micros, operations) {
        (Some(micros), Some(operations)) => format!("{} (n={operations})", short(micros)),
        _ => NONE.to_owned(),
    }
}

/// Writes a budget as the flag does: `64MB`. A MB is 2^20 bytes here.
pub(crate) fn budget(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 30 && bytes.is_multiple_of(1 << 30) => format!("{}GB", bytes >> 30),
        bytes => format!("{}MB", bytes >> 20),
    }
}

fn best_budgets(runs: &[MergeRun]) -> String {
    let least = |of: fn(&MergeRun) -> f64| runs.iter().min_by(|a, b| of(a).total_cmp(&of(b)));
    let fastest = least(|run| run.merge.ms).unwrap_or(&runs[0]);
    let leanest = least(|run| run.merge.peak_alloc_bytes as f64).unwrap_or(&runs[0]);
    format!(
        "{}, {}, hint {}: best budget by duration {} ({} ms/op), by memory {} ({} bytes at most)",
        fastest.case.dataset,
        fastest.case.workload,
        fastest.case.hint,
        budget(fastest.case.budget_bytes),
        short(fastest.merge.ms),
        budget(leanest.case.budget_bytes),
        leanest.merge.peak_alloc_bytes,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merges::{MergeCase, MergeFigures};

    fn run(subcommand: &str, budget_mb: u64, ms: f64, peak: u64) -> MergeRun {
        let case = MergeCase {
            subcommand: subcommand.to_owned(),
            dataset: "d".to_owned(),
            workload: "baseline".to_owned(),
            hint: "on".to_owned(),
            pattern: "mixed".to_owned(),
            budget_bytes: budget_mb << 20,
            ..MergeCase::default()
        };
        let merge = MergeFigures { ms, peak_alloc_bytes: peak, ..MergeFigures::default() };
        MergeRun { case, merge, ..MergeRun::default() }
    }

    #[test]
    fn the_best_budgets_are_named() {
        let runs = [run("memory-optimal", 16, 5.0, 10), run("memory-optimal", 1024, 4.0, 20)];
        let sections = sections(&runs);
        assert_eq!(
            sections[0].notes,
            [
                "d, baseline, hint on: best budget by duration 1GB (4 ms/op), by memory 16MB (10 bytes \
              at most)"
            ]
        );
        assert_eq!(sections[0].merge.heads[..4], ["dataset", "workload", "hint", "budget"]);
    }

    #[test]
    fn each_subcommand_has_tables_of_its_own() {
        let mut runs = vec![run("standard", 64, 1.0, 1), run("standard", 64, 2.0, 1)];
        runs.push(run("patterns", 64, 1.0, 1));
        let mut scattered = run("standard", 64, 1.0, 1);
        scattered.case.scatter = true;
        runs.push(scattered);
        let sections = sections(&runs);
        let titles: Vec<_> = sections.iter().map(|section| section.title.as_str()).collect();
        assert_eq!(titles, ["standard", "patterns", "standard, scattered"]);
        assert_eq!(sections[0].merge.rows.len(), 2);
        assert_eq!(sections[1].merge.heads[3], "pattern");
        for table in sections.iter().flat_map(|section| [&section.merge, &section.load]) {
            assert!(table.rows.iter().all(|row| row.len() == table.heads.len()));
        }
    }
}
