//! The page of `merge_bench`: its tables, latency through time with the garbage collections shaded,
//! and the effect of the memory budget.

use maud::{Markup, html};

use super::figures;
use super::plot::budgets::{self, Measure};
use super::plot::latency_through_time;
use super::rows::median;
use super::{document, embedded, surroundings, table};
use crate::merges::{MergeRepetition, MergeResults, MergeRun, Table, name, sections, title};
use crate::results::Results;

/// The figures drawn over the budget.
const MEASURES: [Measure; 2] = [
    Measure {
        plot: "budget-duration",
        axis: "milliseconds of the merge",
        of: |merge| merge.ms,
        show: |value| figures::micros(value * 1e3),
    },
    Measure {
        plot: "budget-batches",
        axis: "batches of the merge",
        of: |merge| merge.batch_count as f64,
        show: figures::grouped,
    },
];

/// The results of `merge_bench` as one HTML document, under the same promises as [`super::html()`].
///
/// # Example
/// ```
/// use foldb_report::merges::{MergeResults, MergeRun};
/// use foldb_report::page;
///
/// let page = page::merges(&MergeResults { runs: vec![MergeRun::default()], ..Default::default() });
/// assert!(page.contains("max_lock_hold_us"));
/// ```
pub fn merges(results: &MergeResults) -> String {
    let around = Results {
        format: results.format,
        machine: results.machine.clone(),
        command: results.command.clone(),
        began: results.began.clone(),
        ..Results::default()
    };
    let main = html! {
        @for runs in results.runs.chunk_by(|a, b| title(a) == title(b)) { (section(runs)) }
        (surroundings::machine(&around))
    };
    document("Garbage collections", &surroundings::summary(&around), &main, &embedded(results))
}

fn section(runs: &[MergeRun]) -> Markup {
    html! {
        @for tables in sections(runs) {
            section {
                h2 { (tables.title) }
                h3 { "Merge" }
                (shown(&tables.merge))
                h3 { "Load" }
                (shown(&tables.load))
                @for note in &tables.notes { p { (note) } }
                (over_budgets(runs))
                (through_time(runs))
            }
        }
    }
}

fn shown(tables: &Table) -> Markup {
    table::plain(&tables.heads, &tables.rows)
}

/// Draws one pair of figures for each set of runs that differ only in their budget.
fn over_budgets(runs: &[MergeRun]) -> Markup {
    let data = |run: &MergeRun| {
        let case = &run.case;
        (case.dataset.clone(), case.workload.clone(), case.hint.clone(), case.pattern.clone())
    };
    html! {
        @for same in runs.chunk_by(|a, b| data(a) == data(b)) {
            @let case = &same[0].case;
            @let name = format!("{}, {}, hint {}", case.dataset, case.workload, case.hint);
            @let plots: Vec<Markup> = MEASURES
                .iter()
                .filter_map(|measure| budgets::figure(&name, same, measure))
                .collect();
            @if !plots.is_empty() {
                figure {
                    figcaption {
                        "Budgets: " (name) " "
                        span class="note" { "line: medians, marks: repetitions; lower is better" }
                    }
                    div class="panels" { @for plot in &plots { div { (plot) } } }
                }
            }
        }
    }
}

fn through_time(runs: &[MergeRun]) -> Markup {
    let plots: Vec<(String, Markup)> = runs
        .iter()
        .filter_map(|run| {
            let name = name(run);
            let plot = latency_through_time::figure(&name, typical(run)?)?;
            Some((name, plot))
        })
        .collect();
    html! {
        @if !plots.is_empty() {
            figure {
                figcaption {
                    "Latency through time "
                    span class="note" {
                        "the repetition with the median merge; shaded while there was a merge; what was \
                         done between copies of the data is left out"
                    }
                }
                div class="panels" {
                    @for (name, plot) in &plots { div { h3 { (name) } (plot) } }
                }
            }
        }
    }
}

/// Returns the repetition whose garbage collection is nearest to the median.
fn typical(run: &MergeRun) -> Option<&MergeRepetition> {
    let times: Vec<f64> = run.repetitions.iter().map(|repetition| repetition.merge.ms).collect();
    let middle = median(&times)?;
    let distance = |repetition: &&MergeRepetition| (repetition.merge.ms - middle).abs();
    run.repetitions.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)))
}
