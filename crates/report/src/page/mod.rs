//! One page that shows [`Results`]: a table with each plot, and the results themselves.
//!
//! The page fetches nothing and runs no script; its plots are SVG drawn here. A plot is an `svg`
//! with `data-plot`, and inside a workload `data-workload`. Each of its series is a group with
//! `data-series` (its name) and `data-points` (the number of its values). A program can count the
//! values. A value is an element of class `p`, an `H` of a path of class `steps`, or an `M` of a
//! path of class `marks`.
//!
//! Invariant: the page draws only measured values. A missing value has no point in the plot and a
//! dash in the table. A series without values is left out.

pub(crate) mod figures;
mod merges;
mod overview;
mod plot;
pub mod recording;
pub(crate) mod rows;
mod surroundings;
mod table;
mod workload;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;

use crate::results::Results;
use crate::soak::Sample;
pub use merges::merges;
use rows::Rows;

/// The page's rights in a browser: to apply its own style.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The page as one HTML document: no other file, no network and no script is needed to read it.
///
/// All text of `results` is escaped. The page contains the results as JSON, in the element with the
/// id `results`.
///
/// # Example
/// ```
/// use foldb_report::page;
/// use foldb_report::results::{Results, Run};
///
/// let run = Run {
///     workload: "fillrandom".into(),
///     engine: "foldb".into(),
///     operations: 1_000_000,
///     seconds: 0.8,
///     ..Run::default()
/// };
/// let page = page::html(&Results { runs: vec![run], ..Results::default() });
/// assert!(page.contains(r#"data-series="foldb" data-points="1""#));
/// ```
pub fn html(results: &Results) -> String {
    let rows = Rows::of(results);
    let main = html! {
        (overview::section(&rows))
        (growth(&rows))
        @for row in &rows.all { (workload::section(row, &rows)) }
        (surroundings::probes(&results.probes))
        (surroundings::engines(results))
        (surroundings::machine(results))
    };
    document(&title(results, &rows), &surroundings::summary(results), &main, &embedded(results))
}

/// Draws the samples of a soak as a self-contained picture (SVG), with the first `warm` bytes
/// shaded.
///
/// ```
/// use foldb_report::page;
/// use foldb_report::soak::Sample;
///
/// let sample = |n: u64| Sample { written: n << 20, handles: 20, ..Sample::default() };
/// let samples: Vec<Sample> = (0..100).map(sample).collect();
/// assert!(page::soak(&samples, 10 << 20).starts_with("<svg"));
/// ```
pub fn soak(samples: &[Sample], warm: u64) -> String {
    plot::soak::picture(samples, warm).into_string()
}

/// Draws the ratios of rates to those of peers, for the named `workloads`, as a self-contained
/// picture (SVG). Returns `None` if none of these workloads has a ratio.
///
/// ```
/// use foldb_report::page;
/// use foldb_report::results::{Results, Run, Workload};
///
/// let run = |engine: &str, seconds| Run {
///     workload: "fill".into(),
///     engine: engine.into(),
///     operations: 1000,
///     seconds,
///     ..Run::default()
/// };
/// let fill = Workload { name: "fill".into(), peer: Some("rocksdb".into()), ..Workload::default() };
/// let runs = vec![run("foldb", 1.0), run("rocksdb", 3.0)];
/// let results = Results { workloads: vec![fill], runs, ..Results::default() };
/// assert!(page::ratios(&results, &["fill"]).unwrap().starts_with("<svg"));
/// assert_eq!(page::ratios(&results, &["scan"]), None);
/// ```
pub fn ratios(results: &Results, workloads: &[&str]) -> Option<String> {
    let mut rows = Rows::of(results);
    rows.all.retain(|row| workloads.contains(&row.workload.name.as_str()));
    Some(plot::ratios::picture(&rows)?.into_string())
}

/// Draws the steps of the first workload in which the database grows, as a self-contained picture
/// (SVG). Returns `None` if there is none.
///
/// ```
/// use foldb_report::page;
/// use foldb_report::results::{Results, Run, Step};
///
/// let step = Step { operations: 1_000_000, seconds: 0.3, reads: 100, ..Step::default() };
/// let run = Run {
///     workload: "growth/large".into(),
///     engine: "foldb".into(),
///     steps: vec![step.clone(), step],
///     ..Run::default()
/// };
/// let results = Results { runs: vec![run], ..Results::default() };
/// assert!(page::growing(&results).unwrap().starts_with("<svg"));
/// assert_eq!(page::growing(&Results::default()), None);
/// ```
pub fn growing(results: &Results) -> Option<String> {
    Some(plot::growing::picture(&Rows::of(results))?.into_string())
}

/// Makes a page that contains the shown data as JSON.
fn document(title: &str, summary: &Markup, main: &Markup, json: &str) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                header {
                    h1 { (title) }
                    (summary)
                }
                main { (main) }
                script type="application/json" id="results" { (PreEscaped(json)) }
            }
        }
    };
    page.into_string()
}

fn title(results: &Results, rows: &Rows<'_>) -> String {
    match (rows.subject, results.engines.len()) {
        ("", _) => "Benchmark results".to_owned(),
        (subject, 0 | 1) => format!("Benchmarks of {subject}"),
        (subject, _) => format!("{subject} beside other engines"),
    }
}

fn growth(rows: &Rows<'_>) -> Markup {
    let figures = plot::growth::figures(rows);
    html! {
        @if !figures.is_empty() {
            section {
                h2 { "Rate as the database grows" }
                @for figure in &figures { (figure) }
            }
        }
    }
}

/// Writes the results as JSON that cannot end its HTML element: `<`, `>` and `&` occur only within
/// strings, and are escaped there.
fn embedded(results: &impl Serialize) -> String {
    serde_json::to_string(results)
        .expect("results are numbers, strings and lists of them")
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}
