//! Draws memory, handles, space and latencies of a long run over its written bytes.
//!
//! The result is one self-contained picture with a panel for each quantity.

use maud::{Markup, html};

use super::frame::{Frame, Tick};
use super::scale::{Linear, Logarithmic, Scale};
use super::{alone, px, series, steps};
use crate::page::figures;
use crate::soak::{Percentiles, Sample};

/// Height of a panel.
const PANEL: f64 = 148.0;
/// Steps of a curve, at most.
const STEPS: usize = 220;

/// The value of a curve in an interval of samples.
type Worst = Box<dyn Fn(&[Sample]) -> f64>;

/// A curve: its name, its colour, and its value in an interval of samples.
struct Curve {
    name: &'static str,
    slot: usize,
    of: Worst,
}

/// Draws the samples of a soak. Shades the first `warm` bytes, which the verdict on the soak leaves
/// out.
pub(crate) fn picture(samples: &[Sample], warm: u64) -> Markup {
    let intervals: Vec<&[Sample]> = samples.chunks(samples.len().div_ceil(STEPS).max(1)).collect();
    let latencies = |kind: fn(&Sample) -> Percentiles| {
        let curve = |name, slot, of: fn(&Percentiles) -> f64| {
            let largest = move |samples: &[Sample]| {
                samples.iter().map(|sample| of(&kind(sample))).fold(0.0, f64::max)
            };
            Curve { name, slot, of: Box::new(largest) }
        };
        [
            curve("p50", 0, |took| took.p50),
            curve("p99", 2, |took| took.p99),
            curve("p99.9", 4, |took| took.p999),
            curve("max", 1, |took| took.max),
        ]
    };
    let amount = |of: fn(&Sample) -> f64| {
        let largest = move |samples: &[Sample]| samples.iter().map(of).fold(0.0, f64::max);
        [Curve { name: "", slot: 0, of: Box::new(largest) }]
    };
    let panels = [
        linear("resident memory, MiB", &intervals, &amount(|it| it.resident as f64 / 1_048_576.0)),
        linear("open files", &intervals, &amount(|it| it.handles as f64)),
        linear("directory, GB", &intervals, &amount(|it| it.space as f64 / 1e9)),
        logarithmic("time of a put", &intervals, &latencies(|sample| sample.puts)),
        logarithmic("time of a get", &intervals, &latencies(|sample| sample.gets)),
        logarithmic("control: no database", &intervals, &latencies(|sample| sample.control)),
    ];
    let height = PANEL * panels.len() as f64 + 36.0;
    let content = html! {
        @for (i, panel) in panels.iter().enumerate() {
            g transform=(format!("translate(0 {})", 8.0 + PANEL * i as f64)) {
                (shade(&intervals, warm))
                (panel)
                @if i + 1 == panels.len() { (below(&intervals)) }
            }
        }
    };
    alone("A soak, by bytes written", height, &content)
}

fn frame() -> Frame {
    Frame::new(PANEL, 56.0, 26.0, 14.0, 10.0)
}

/// The axis of bytes, which all panels share.
fn bytes(intervals: &[&[Sample]]) -> super::scale::Exactly {
    Linear::exactly(intervals.last().map_or(0.0, |samples| end(samples)))
}

fn below(intervals: &[&[Sample]]) -> Markup {
    let scale = bytes(intervals);
    let ticks: Vec<Tick> =
        scale.ticks().into_iter().map(|tick| (scale.at(tick), scale.label(tick))).collect();
    frame().below(
        &ticks,
        false,
        "GB of keys and values written; each point is the worst of its interval",
    )
}

/// Gigabytes written at the end of an interval.
fn end(samples: &[Sample]) -> f64 {
    samples.last().map_or(0.0, |sample| sample.written as f64 / 1e9)
}

/// Shades the warm-up.
fn shade(intervals: &[&[Sample]], warm: u64) -> Markup {
    let (frame, scale) = (frame(), bytes(intervals));
    let width = frame.x(scale.at(warm as f64 / 1e9).min(1.0)) - frame.left;
    html! {
        path class="shade" d=(format!("M{} {}h{}V{}h-{}z", px(frame.left), px(frame.top), px(width),
            px(frame.bottom), px(width))) { title { "warming up" } }
    }
}

fn linear(quantity: &str, intervals: &[&[Sample]], curves: &[Curve]) -> Markup {
    let most = intervals.iter().flat_map(|samples| curves.iter().map(|curve| (curve.of)(samples)));
    let scale = Linear::to(most.fold(0.0, f64::max));
    let ticks = scale.ticks().into_iter().map(|tick| (scale.at(tick), scale.label(tick)));
    panel(quantity, &ticks.collect::<Vec<_>>(), intervals, curves, |value| scale.at(value))
}

fn logarithmic(quantity: &str, intervals: &[&[Sample]], curves: &[Curve]) -> Markup {
    let values = intervals.iter().flat_map(|samples| curves.iter().map(|it| (it.of)(samples)));
    let scale = Logarithmic::around(values);
    let ticks = scale.ticks().into_iter().map(|tick| (scale.at(tick), figures::micros(tick)));
    panel(quantity, &ticks.collect::<Vec<_>>(), intervals, curves, |value| scale.at(value))
}

fn panel(
    quantity: &str,
    ticks: &[Tick],
    intervals: &[&[Sample]],
    curves: &[Curve],
    at: impl Fn(f64) -> f64,
) -> Markup {
    let (frame, scale) = (frame(), bytes(intervals));
    let drawn = |curve: &Curve| {
        let mut from = 0.0;
        let values = intervals.iter().map(|samples| {
            let from = std::mem::replace(&mut from, end(samples));
            let y = frame.y(at((curve.of)(samples)));
            (frame.x(scale.at(from)), frame.x(scale.at(end(samples))), y)
        });
        html! { path class="steps" d=(steps(values)) {} }
    };
    html! {
        (frame.beside(ticks, quantity))
        @for (i, curve) in curves.iter().enumerate() {
            (series(&format!("{quantity} {}", curve.name), curve.slot, intervals.len(), &drawn(curve)))
            text class={ "name s" (curve.slot) } x=(px(frame.left + 140.0 + 58.0 * i as f64)) y="11" {
                (curve.name)
            }
        }
    }
}
