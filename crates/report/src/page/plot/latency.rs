//! Draws latency by percentile. Both axes are logarithmic: rarity to the right, time upwards.

use maud::{Markup, html};

use super::frame::{Frame, Tick};
use super::scale::{Logarithmic, Scale};
use super::{NAME_LETTERS, line, mark, px, series, shortened, spread, svg, width};
use crate::page::figures;
use crate::page::rows::{Contender, Row, median};
use crate::results::Run;

const HEIGHT: f64 = 236.0;
/// Assumed rarity of the rarest percentile that differs from the slowest operation.
const RAREST: f64 = 1e-9;
/// Space for the name of a percentile.
const LABEL: f64 = 42.0;

/// A column of the plot: a percentile, or the slowest operation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Column {
    Percentile(f64),
    Slowest,
}

impl Column {
    fn of(self, run: &Run) -> Option<f64> {
        match self {
            Column::Slowest => run.slowest_micros,
            Column::Percentile(percent) => {
                let found = run.latencies.iter().find(|latency| latency.percent == percent);
                found.map(|latency| latency.micros)
            }
        }
    }
}

/// Percentiles that any run of `row` has, in order.
pub(crate) fn percents(row: &Row<'_>) -> Vec<f64> {
    let runs = row.contenders.iter().flat_map(|contender| &contender.runs);
    let latencies = runs.flat_map(|run| &run.latencies);
    let mut percents: Vec<f64> =
        latencies.map(|latency| latency.percent).filter(|percent| percent.is_finite()).collect();
    percents.sort_by(f64::total_cmp);
    percents.dedup();
    percents
}

/// The places of the columns: percentiles by rarity, the slowest operation a step after the last
/// percentile.
struct Columns {
    places: Vec<(Column, f64)>,
}

impl Columns {
    fn of(row: &Row<'_>) -> Columns {
        let rarity = |percent: f64| -((1.0 - percent / 100.0).max(RAREST)).log10();
        let mut places: Vec<(Column, f64)> = percents(row)
            .into_iter()
            .map(|percent| (Column::Percentile(percent), rarity(percent)))
            .collect();
        let mut runs = row.contenders.iter().flat_map(|contender| &contender.runs);
        if runs.any(|run| run.slowest_micros.is_some()) {
            let last = places.last().map_or(0.0, |(_, rarity)| *rarity);
            places.push((Column::Slowest, last + 0.9));
        }
        let first = places.first().map_or(0.0, |(_, rarity)| *rarity);
        let last = places.last().map_or(0.0, |(_, rarity)| *rarity);
        for (_, place) in &mut places {
            *place = if last > first { (*place - first) / (last - first) } else { 0.5 };
        }
        Columns { places }
    }

    /// Returns the names of columns that do not overlap.
    fn ticks(&self, frame: &Frame) -> Vec<Tick> {
        let mut ticks: Vec<Tick> = Vec::new();
        for (column, place) in &self.places {
            let free = |last: &Tick| frame.x(*place) - frame.x(last.0) >= LABEL;
            match column {
                Column::Slowest => ticks.push((*place, "slowest".to_owned())),
                Column::Percentile(percent) if ticks.last().is_none_or(free) => {
                    ticks.push((*place, figures::percentile(*percent)));
                }
                Column::Percentile(_) => {}
            }
        }
        ticks
    }
}

/// The latencies of `row`; `None` where no run has any.
pub(crate) fn figure(row: &Row<'_>) -> Option<Markup> {
    let columns = Columns::of(row);
    let values = row.contenders.iter().flat_map(|contender| {
        columns.places.iter().flat_map(|(column, _)| contender.values(|run| column.of(run)))
    });
    let values: Vec<f64> = values.collect();
    if values.is_empty() {
        return None;
    }
    let scale = Logarithmic::around(values);
    let drawn: Vec<&Contender<'_>> =
        row.contenders.iter().filter(|contender| !end(contender, &columns).is_nan()).collect();
    let names = drawn.iter().map(|contender| width(&shortened(contender.name, NAME_LETTERS)));
    let frame = Frame::new(HEIGHT, 52.0, 22.0, names.fold(30.0, f64::max) + 12.0, 24.0);
    let ticks: Vec<Tick> =
        scale.ticks().into_iter().map(|tick| (scale.at(tick), figures::micros(tick))).collect();
    let wanted: Vec<f64> =
        drawn.iter().map(|contender| frame.y(scale.at(end(contender, &columns)))).collect();
    let labels = spread(&wanted, 14.0, frame.top, frame.bottom);
    let content = html! {
        (frame.beside(&ticks, "latency of an operation"))
        (frame.below(&columns.ticks(&frame), false, ""))
        @for (contender, y) in drawn.iter().zip(labels) {
            (curve(contender, &columns, &scale, &frame))
            text class={ "name s" (contender.slot) } x=(px(frame.right + 8.0)) y=(px(y + 4.0)) {
                (shortened(contender.name, NAME_LETTERS))
            }
        }
    };
    let label = format!("Latency percentiles of {}", row.workload.name);
    Some(svg("latency", Some(&row.workload.name), &label, HEIGHT, &content))
}

/// Returns the median of `contender`'s last column, which places its name; NaN if it has no column.
fn end(contender: &Contender<'_>, columns: &Columns) -> f64 {
    let medians = columns
        .places
        .iter()
        .rev()
        .filter_map(|(column, _)| median(&contender.values(|run| column.of(run))));
    medians.into_iter().next().unwrap_or(f64::NAN)
}

fn curve(
    contender: &Contender<'_>,
    columns: &Columns,
    scale: &Logarithmic,
    frame: &Frame,
) -> Markup {
    let mut medians = Vec::new();
    let mut marks = Vec::new();
    for (column, x) in &columns.places {
        let values = contender.values(|run| column.of(run));
        let x = frame.x(*x);
        medians.extend(median(&values).map(|middle| (x, frame.y(scale.at(middle)))));
        for value in values {
            let title = format!("{}: {}", contender.name, figures::micros(value));
            marks.push(mark(contender.slot, x, frame.y(scale.at(value)), &title));
        }
    }
    let content = html! { (line(&medians)) @for mark in &marks { (mark) } };
    series(contender.name, contender.slot, marks.len(), &content)
}
