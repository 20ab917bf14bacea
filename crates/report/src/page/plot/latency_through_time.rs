//! Latency of a load through time, during garbage collections: the mean, and the longest operation
//! of each interval. The garbage collections are shaded.

use maud::{Markup, html};

use super::frame::{Frame, Tick};
use super::scale::{Linear, Logarithmic, Scale};
use super::{px, series, steps, svg};
use crate::merges::{LatencyMoment, MergeRepetition, Span};
use crate::page::figures;

const HEIGHT: f64 = 206.0;
/// Least width of a shade, for a garbage collection shorter than a pixel.
const LEAST_SHADE: f64 = 1.0;

/// A curve: its name, its colour, the value of an interval, and the intervals.
struct Curve<'a> {
    name: &'static str,
    slot: usize,
    of: fn(&LatencyMoment) -> f64,
    moments: &'a [LatencyMoment],
}

/// Draws the latencies of one repetition of `run`; `None` if it had no load.
pub(crate) fn figure(run: &str, repetition: &MergeRepetition) -> Option<Markup> {
    let (reads, writes) = (&repetition.reads[..], &repetition.writes[..]);
    let (mean, max) =
        (|moment: &LatencyMoment| moment.mean_us, |moment: &LatencyMoment| moment.max_us);
    let curves = [
        Curve { name: "reads, max", slot: 0, of: max, moments: reads },
        Curve { name: "reads, mean", slot: 6, of: mean, moments: reads },
        Curve { name: "writes, max", slot: 1, of: max, moments: writes },
        Curve { name: "writes, mean", slot: 4, of: mean, moments: writes },
    ];
    let curves = curves.into_iter().filter(|curve| intervals(curve).next().is_some());
    let curves: Vec<Curve<'_>> = curves.collect();
    let values = || curves.iter().flat_map(|curve| intervals(curve).map(|(_, _, value)| value));
    values().next()?;
    let ends = reads.iter().chain(writes).map(|moment| moment.at);
    let seconds = ends.chain(repetition.spans.iter().map(|span| span.to)).fold(0.0, f64::max);
    let (scale, time) = (Logarithmic::around(values()), Linear::exactly(seconds));
    let frame = Frame::new(HEIGHT, 56.0, 40.0, 12.0, 38.0);
    let x = |seconds: f64| frame.x(time.at(seconds));
    let y = |micros: f64| frame.y(scale.at(micros));
    let latencies: Vec<Tick> =
        scale.ticks().into_iter().map(|tick| (scale.at(tick), figures::micros(tick))).collect();
    let times: Vec<Tick> =
        time.ticks().into_iter().map(|tick| (time.at(tick), time.label(tick))).collect();
    let content = html! {
        (shades(&repetition.spans, &frame, &x))
        (frame.beside(&latencies, "latency of an operation"))
        (frame.below(&times, false, "seconds of load"))
        @for (i, curve) in curves.iter().enumerate() {
            (drawn(curve, &x, &y))
            text class={ "name s" (curve.slot) } x=(px(frame.left + 96.0 * i as f64)) y="28" {
                (curve.name)
            }
        }
    };
    Some(svg(
        "latency-through-time",
        Some(run),
        &format!("Latency through time: {run}"),
        HEIGHT,
        &content,
    ))
}

/// Returns the intervals with any operation: their start, their end, and the curve's value.
fn intervals<'a>(curve: &'a Curve<'_>) -> impl Iterator<Item = (f64, f64, f64)> + 'a {
    let mut from = 0.0;
    curve.moments.iter().filter_map(move |moment| {
        let interval = (std::mem::replace(&mut from, moment.at), moment.at, (curve.of)(moment));
        (moment.operations > 0).then_some(interval)
    })
}

fn drawn(curve: &Curve<'_>, x: &impl Fn(f64) -> f64, y: &impl Fn(f64) -> f64) -> Markup {
    let path = steps(intervals(curve).map(|(from, to, value)| (x(from), x(to), y(value))));
    let content = html! { path class="steps" d=(path) {} };
    series(curve.name, curve.slot, intervals(curve).count(), &content)
}

fn shades(spans: &[Span], frame: &Frame, x: &impl Fn(f64) -> f64) -> Markup {
    let height = frame.bottom - frame.top;
    html! {
        @for span in spans {
            @let width = (x(span.to) - x(span.from)).max(LEAST_SHADE);
            rect class="shade" x=(px(x(span.from))) y=(px(frame.top)) width=(px(width))
                height=(px(height)) { title { "merge" } }
        }
    }
}
