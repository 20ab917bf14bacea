//! Draws the steps of a run in which the database grows, a panel for each quantity, over the
//! operations until then.
//!
//! Processor time and reads have axes from zero, because the question is how they grow. Each engine
//! is one line; a dot is a step.

use maud::{Markup, html};

use super::frame::{Frame, Tick};
use super::scale::{Linear, Scale};
use super::{NAME_LETTERS, alone, line, mark, px, series, shortened, svg};
use crate::page::figures;
use crate::page::rows::{Contender, Row, Rows};
use crate::results::{Run, Step};

/// Height of a panel.
const PANEL: f64 = 140.0;
/// Width that an engine's name takes above a panel.
const NAME: f64 = 90.0;

/// A quantity of a step.
struct Quantity {
    name: &'static str,
    of: fn(&Step) -> Option<f64>,
}

const QUANTITIES: [Quantity; 7] = [
    Quantity { name: "µs a merge", of: |step| micros(step.seconds, step.operations) },
    Quantity {
        name: "processor µs a merge",
        of: |step| micros(step.processor_seconds, step.operations),
    },
    Quantity { name: "write amplification", of: |step| Some(step.written.amplification()) },
    Quantity { name: "owed, GB", of: |step| Some(step.owed_bytes? as f64 / 1e9) },
    Quantity { name: "peak memory, MB", of: |step| Some(step.peak_memory? as f64 / 1e6) },
    Quantity { name: "open, ms", of: |step| Some(step.open_seconds * 1e3) },
    Quantity {
        name: "processor µs a get",
        of: |step| micros(step.read_processor_seconds, step.reads),
    },
];

fn micros(seconds: f64, operations: u64) -> Option<f64> {
    (operations > 0).then(|| seconds * 1e6 / operations as f64)
}

/// The steps of one engine.
struct Curve<'a> {
    name: &'a str,
    slot: usize,
    steps: &'a [Step],
}

/// Draws the first row with steps as a self-contained picture.
pub(crate) fn picture(rows: &Rows<'_>) -> Option<Markup> {
    let row = rows.all.iter().find(|row| !curves(row).is_empty())?;
    let label = format!("{}, by operations until then", row.workload.name);
    Some(alone(&label, height(), &panels(&curves(row))))
}

/// Draws the steps of a row.
pub(crate) fn figure(row: &Row<'_>) -> Option<Markup> {
    let curves = curves(row);
    if curves.is_empty() {
        return None;
    }
    let name = &row.workload.name;
    let label = format!("Steps of {name}");
    Some(html! {
        figure {
            figcaption { "Steps of a growing database " span class="note" { "lower is better" } }
            div { (svg("growing", Some(name), &label, height(), &panels(&curves))) }
        }
    })
}

fn height() -> f64 {
    PANEL * QUANTITIES.len() as f64 + 44.0
}

fn curves<'a>(row: &Row<'a>) -> Vec<Curve<'a>> {
    let steps = |contender: &Contender<'a>| -> &'a [Step] {
        let run: &'a Run = contender.runs[contender.typical()];
        &run.steps
    };
    let curves = row.contenders.iter().map(|contender| Curve {
        name: contender.name,
        slot: contender.slot,
        steps: steps(contender),
    });
    curves.filter(|curve| !curve.steps.is_empty()).collect()
}

fn panels(curves: &[Curve<'_>]) -> Markup {
    html! {
        @for (place, quantity) in QUANTITIES.iter().enumerate() {
            g transform=(format!("translate(0 {})", px(8.0 + PANEL * place as f64))) {
                (panel(quantity, curves))
                @if place + 1 == QUANTITIES.len() { (below(curves)) }
            }
        }
    }
}

fn frame() -> Frame {
    Frame::new(PANEL, 56.0, 26.0, 14.0, 10.0)
}

/// Returns the operations until the end of each step, in millions.
fn done(steps: &[Step]) -> impl Iterator<Item = f64> {
    let mut done = 0.0;
    steps.iter().map(move |step| {
        done += step.operations as f64 / 1e6;
        done
    })
}

/// The axis of operations, which all panels share.
fn operations(curves: &[Curve<'_>]) -> super::scale::Exactly {
    Linear::exactly(curves.iter().filter_map(|curve| done(curve.steps).last()).fold(0.0, f64::max))
}

fn below(curves: &[Curve<'_>]) -> Markup {
    let scale = operations(curves);
    let ticks: Vec<Tick> =
        scale.ticks().into_iter().map(|tick| (scale.at(tick), scale.label(tick))).collect();
    frame().below(&ticks, false, "million merges until then")
}

fn panel(quantity: &Quantity, curves: &[Curve<'_>]) -> Markup {
    let (frame, along) = (frame(), operations(curves));
    let values = curves.iter().flat_map(|curve| curve.steps).filter_map(quantity.of);
    let up = Linear::to(values.fold(0.0, f64::max));
    let ticks: Vec<Tick> =
        up.ticks().into_iter().map(|tick| (up.at(tick), up.label(tick))).collect();
    html! {
        (frame.beside(&ticks, quantity.name))
        @for (place, curve) in curves.iter().enumerate() {
            @let at = done(curve.steps).zip(curve.steps);
            @let found: Vec<(f64, f64)> =
                at.filter_map(|(done, step)| Some((done, (quantity.of)(step)?))).collect();
            @let points: Vec<(f64, f64)> = found
                .iter()
                .map(|(done, value)| (frame.x(along.at(*done)), frame.y(up.at(*value))))
                .collect();
            @let content = html! {
                (line(&points))
                @for ((x, y), (done, value)) in points.iter().zip(&found) {
                    @let title = format!("{}, {} M: {}", curve.name, figures::short(*done),
                        figures::short(*value));
                    (mark(curve.slot, *x, *y, &title))
                }
            };
            @let name = format!("{} {}", quantity.name, curve.name);
            @if !points.is_empty() { (series(&name, curve.slot, points.len(), &content)) }
            text class={ "name s" (curve.slot) }
                x=(px(frame.left + 150.0 + NAME * place as f64)) y="11" {
                (shortened(curve.name, NAME_LETTERS))
            }
        }
    }
}
