//! Draws a bar for each engine, as long as its median, and on the bar a dot for each repetition.

use maud::{Markup, html};

use super::frame::Frame;
use super::scale::{Linear, Scale};
use super::{NAME_LETTERS, px, series, shortened, svg, upright, width};
use crate::page::figures::{self, Unit};
use crate::page::rows::{Contender, Row, median, most};
use crate::results::Run;

/// Height of an engine's row.
const ROW: f64 = 28.0;
/// Height of a bar.
const BAR: f64 = 16.0;

/// A figure of runs that bars can show.
pub(crate) struct Measure {
    /// Name of the plot.
    pub plot: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// A note whether longer or shorter bars are better.
    pub better: &'static str,
    /// The value of a run.
    pub of: fn(&Run) -> Option<f64>,
    /// Formats a value with its unit.
    pub show: fn(f64) -> String,
    /// The unit of the axis for values up to this.
    pub axis: fn(f64) -> Unit,
}

/// Operations per second.
pub(crate) const RATE: Measure = Measure {
    plot: "rate",
    title: "Rate",
    better: "longer is faster",
    of: |run| Some(run.rate()),
    show: figures::rate,
    axis: figures::rate_axis,
};
/// Bytes written for each byte that the user wrote.
pub(crate) const AMPLIFICATION: Measure = Measure {
    plot: "write-amplification",
    title: "Write amplification",
    better: "shorter is better",
    of: |run| run.written.as_ref().map(crate::results::Written::amplification),
    show: figures::times,
    axis: |_| Unit { size: 1.0, name: "bytes written for each byte of the user’s" },
};
/// Blocks of all files at rest.
pub(crate) const SPACE: Measure = Measure {
    plot: "space",
    title: "Space",
    better: "shorter is better",
    of: |run| run.space.map(|bytes| bytes as f64),
    show: figures::bytes,
    axis: figures::byte_axis,
};
/// Peak resident memory.
pub(crate) const MEMORY: Measure = Measure {
    plot: "memory",
    title: "Peak memory",
    better: "shorter is better",
    of: |run| run.peak_memory.map(|bytes| bytes as f64),
    show: figures::bytes,
    axis: figures::byte_axis,
};

/// A required or desired rate, drawn as a line across the bars.
pub(crate) struct Wanted {
    /// Label of the line.
    pub name: String,
    /// The rate.
    pub value: f64,
}

/// The bars of `measure`, with lines at `wanted`; `None` if no run has a value.
pub(crate) fn figure(row: &Row<'_>, measure: &Measure, wanted: &[Wanted]) -> Option<Markup> {
    let bars: Vec<(&Contender<'_>, Vec<f64>)> = row
        .contenders
        .iter()
        .map(|contender| (contender, contender.values(measure.of)))
        .filter(|(_, values)| !values.is_empty())
        .collect();
    let asked = wanted.iter().map(|wanted| wanted.value);
    let largest =
        most(&bars.iter().flat_map(|(_, values)| values).copied().chain(asked).collect::<Vec<_>>());
    if bars.is_empty() {
        return None;
    }
    let largest = largest.unwrap_or_default();
    let unit = (measure.axis)(largest);
    let scale = Linear::to(largest / unit.size);
    let names = bars.iter().map(|(contender, _)| shortened(contender.name, NAME_LETTERS));
    let left = names.map(|name| width(&name)).fold(40.0, f64::max) + 10.0;
    let top = if wanted.is_empty() { 4.0 } else { 20.0 };
    let height = top + ROW * bars.len() as f64 + 40.0;
    let frame = Frame::new(height, left, top, 68.0, 40.0);
    let ticks: Vec<_> =
        scale.ticks().into_iter().map(|tick| (scale.at(tick), scale.label(tick))).collect();
    let at = |value: f64| frame.x(scale.at(value / unit.size));
    let content = html! {
        (frame.below(&ticks, true, unit.name))
        @for (i, wanted) in wanted.iter().enumerate() { (line(wanted, i > 0, &frame, &at)) }
        @for (i, (contender, values)) in bars.iter().enumerate() {
            (bar(contender, values, measure, &frame, frame.top + ROW * (i as f64 + 0.5), &at))
        }
    };
    let label = format!("{} of {}", measure.title, row.workload.name);
    Some(svg(measure.plot, Some(&row.workload.name), &label, height, &content))
}

fn bar(
    contender: &Contender<'_>,
    values: &[f64],
    measure: &Measure,
    frame: &Frame,
    y: f64,
    at: &impl Fn(f64) -> f64,
) -> Markup {
    let middle = median(values).unwrap_or_default();
    let length = at(middle) - frame.left;
    let end = at(most(values).unwrap_or_default());
    let dots = html! {
        rect x=(px(frame.left)) y=(px(y - BAR / 2.0)) width=(px(length)) height=(px(BAR)) {}
        @for value in values {
            circle class="p" cx=(px(at(*value))) cy=(px(y)) r="2.6" {
                title { ((measure.show)(*value)) }
            }
        }
    };
    html! {
        text class="name" x=(px(frame.left - 8.0)) y=(px(y + 4.0)) text-anchor="end" {
            (shortened(contender.name, NAME_LETTERS))
        }
        (series(contender.name, contender.slot, values.len(), &dots))
        text class="value" x=(px(end + 8.0)) y=(px(y + 4.0)) { ((measure.show)(middle)) }
    }
}

/// Draws a line across the bars. Its name is above it, to the left of it, or to the `right`.
fn line(wanted: &Wanted, right: bool, frame: &Frame, at: &impl Fn(f64) -> f64) -> Markup {
    let x = at(wanted.value);
    let (anchor, label) = if right { ("start", x - 2.0) } else { ("end", x + 2.0) };
    html! {
        path class="wanted" d=(upright(x, frame.top - 4.0, frame.bottom)) {}
        text class="tick" x=(px(label)) y=(px(frame.top - 8.0)) text-anchor=(anchor) {
            (wanted.name)
        }
    }
}
