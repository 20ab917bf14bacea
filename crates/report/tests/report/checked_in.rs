//! Checks docs/compare, the results behind the tables of docs/performance.md and docs/ratios.svg.
//! These results have the figures of each run, without the series of its plots.

use std::path::Path;

use foldb_report::merges::MergeResults;
use foldb_report::results::Results;

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/compare");

/// `UPDATE_GOLDEN=1` removes the series from a new `results.json`.
#[test]
fn results_of_comparisons_are_figures_only() {
    for name in ["full.json", "growth.json", "separated.json"] {
        let path = Path::new(DIRECTORY).join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        let results: Results = serde_json::from_str(&text).unwrap();
        assert!(!results.runs.is_empty(), "{name} has no runs");
        let figures = figures(results);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, figures).unwrap();
        } else {
            assert!(figures == text, "{name}: UPDATE_GOLDEN=1 rewrites it");
        }
    }
}

#[test]
fn results_of_merges_are_medians_only() {
    let text = std::fs::read_to_string(Path::new(DIRECTORY).join("merges.json")).unwrap();
    let results: MergeResults = serde_json::from_str(&text).unwrap();
    assert_eq!(results.runs.len(), 44);
    for run in results.runs {
        assert!(run.repetitions.is_empty(), "{:?}", run.case);
        assert!(run.merge.ms > 0.0 && run.verified_live > 0, "{:?}", run.case);
    }
}

/// Returns results as JSON without timelines and background events; a list has one element on each
/// line.
fn figures(mut results: Results) -> String {
    for run in &mut results.runs {
        run.timeline.clear();
        run.events.clear();
    }
    let fields = [
        ("format", json(&results.format)),
        ("machine", json(&results.machine)),
        ("commit", json(&results.commit)),
        ("command", json(&results.command)),
        ("began", json(&results.began)),
        ("scale", json(&results.scale)),
        ("engines", lines(&results.engines)),
        ("workloads", lines(&results.workloads)),
        ("runs", lines(&results.runs)),
        ("probes", lines(&results.probes)),
    ];
    let fields = fields.map(|(name, value)| format!("\"{name}\":{value}"));
    let text = format!("{{\n{}\n}}\n", fields.join(",\n"));
    assert_eq!(serde_json::from_str::<Results>(&text).unwrap(), results, "a field is missing");
    text
}

fn lines<T: serde::Serialize>(elements: &[T]) -> String {
    let lines: Vec<String> = elements.iter().map(json).collect();
    format!("[\n{}\n]", lines.join(",\n"))
}

fn json<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap()
}
