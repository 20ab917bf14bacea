//! A figure of garbage collections over their memory budget.

use maud::{Markup, html};

use super::frame::{Frame, Tick};
use super::scale::{Linear, Logarithmic, Scale};
use super::{line, mark, series, svg};
use crate::merges::{MergeFigures, MergeRun, budget};
use crate::page::rows::most;

const HEIGHT: f64 = 206.0;

/// A figure that depends on the budget.
pub(crate) struct Measure {
    /// Name of the plot.
    pub plot: &'static str,
    /// Name of its axis.
    pub axis: &'static str,
    /// The value of a garbage collection.
    pub of: fn(&MergeFigures) -> f64,
    /// A value with its unit.
    pub show: fn(f64) -> String,
}

/// Draws `measure` of runs with the same data and load and different budgets: medians as a line,
/// repetitions as marks. Returns `None` for fewer than two budgets.
pub(crate) fn figure(name: &str, runs: &[MergeRun], measure: &Measure) -> Option<Markup> {
    let budgets = || runs.iter().map(|run| run.case.budget_bytes);
    if budgets().all(|budget| Some(budget) == budgets().next()) {
        return None;
    }
    let values = |run: &MergeRun| -> Vec<f64> {
        run.repetitions.iter().map(|repetition| (measure.of)(&repetition.merge)).collect()
    };
    let all = runs.iter().flat_map(|run| {
        values(run).into_iter().chain([(measure.of)(&run.merge)]).collect::<Vec<_>>()
    });
    let scale = Linear::to(most(&all.collect::<Vec<_>>())?);
    let places = Logarithmic::around(budgets().map(|budget| budget as f64));
    let frame = Frame::new(HEIGHT, 56.0, 22.0, 24.0, 38.0);
    let place = |run: &MergeRun| places.at(run.case.budget_bytes as f64);
    let x = |run: &MergeRun| frame.x(place(run));
    let y = |value: f64| frame.y(scale.at(value));
    let beside: Vec<Tick> =
        scale.ticks().into_iter().map(|tick| (scale.at(tick), scale.label(tick))).collect();
    let below: Vec<Tick> =
        runs.iter().map(|run| (place(run), budget(run.case.budget_bytes))).collect();
    let medians: Vec<(f64, f64)> =
        runs.iter().map(|run| (x(run), y((measure.of)(&run.merge)))).collect();
    let points: Vec<Markup> = runs
        .iter()
        .flat_map(|run| values(run).into_iter().map(move |value| (run, value)))
        .map(|(run, value)| mark(0, x(run), y(value), &(measure.show)(value)))
        .collect();
    let curve = html! { (line(&medians)) @for point in &points { (point) } };
    let content = html! {
        (frame.beside(&beside, measure.axis))
        (frame.below(&below, false, "memory budget"))
        (series(name, 0, points.len(), &curve))
    };
    let label = format!("{} over the memory budget: {name}", measure.axis);
    Some(svg(measure.plot, Some(name), &label, HEIGHT, &content))
}
