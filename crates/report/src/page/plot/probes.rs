//! Draws the probes, which measure the machine without an engine, in the order of time.

use maud::{Markup, html};

use super::frame::{Frame, Tick};
use super::scale::{Linear, Scale};
use super::{mark, series, svg};
use crate::page::figures;
use crate::page::rows::SLOTS;
use crate::results::Probe;

const HEIGHT: f64 = 170.0;

/// A figure that probes measure.
struct Measured {
    plot: &'static str,
    series: &'static str,
    of: fn(&Probe) -> f64,
    unit: &'static str,
    label: &'static str,
}

const MEASURED: [Measured; 2] = [
    Measured {
        plot: "probe-write",
        series: "synced write",
        of: |probe| probe.synced_write_mb_per_second,
        unit: "MB/s",
        label: "synced sequential write",
    },
    Measured {
        plot: "probe-sync",
        series: "longest fdatasync",
        of: |probe| probe.longest_sync_millis,
        unit: "ms",
        label: "longest fdatasync",
    },
];

/// Draws a plot of each figure; none without probes.
pub(crate) fn figures(probes: &[Probe]) -> Vec<Markup> {
    if probes.is_empty() {
        Vec::new()
    } else {
        MEASURED.iter().map(|of| figure(probes, of)).collect()
    }
}

fn figure(probes: &[Probe], measured: &Measured) -> Markup {
    let most = probes.iter().map(measured.of).fold(0.0, f64::max);
    let scale = Linear::to(most);
    let frame = Frame::new(HEIGHT, 44.0, 22.0, 12.0, 38.0);
    let ticks: Vec<Tick> =
        scale.ticks().into_iter().map(|tick| (scale.at(tick), scale.label(tick))).collect();
    let place = |i: usize| (i as f64 + 0.5) / probes.len() as f64;
    let ends = [0, probes.len() - 1];
    let numbers: Vec<Tick> =
        ends[..probes.len().min(2)].iter().map(|i| (place(*i), format!("{}", i + 1))).collect();
    let marks = html! {
        @for (i, probe) in probes.iter().enumerate() {
            @let value = (measured.of)(probe);
            @let (number, shown) = (i + 1, figures::short(value));
            @let title = format!("{number} before {}: {shown} {}", probe.workload, measured.unit);
            (mark(0, frame.x(place(i)), frame.y(scale.at(value)), &title))
        }
    };
    let content = html! {
        (frame.beside(&ticks, &format!("{}, {}", measured.label, measured.unit)))
        (frame.below(&numbers, false, "probes in the order of time"))
        (series(measured.series, SLOTS, probes.len(), &marks))
    };
    svg(measured.plot, None, measured.label, HEIGHT, &content)
}
