//! Draws lines over hours, with marked stretches of time below them.
//!
//! A plot has at most [`COLUMNS`] values a line: the largest of each column, so that a spike of one
//! second stays visible.

use maud::{Markup, html};

use super::frame::{Frame, Tick};
use super::scale::{Linear, Scale};
use super::{line, px, series, svg};
use crate::page::figures;
use crate::page::recording::{Line, Marks, Plot, Recorded, Unit};

/// Height without lanes and legend.
const HEIGHT: f64 = 150.0;
/// Height of a lane of marks, and of a row of the legend.
const ROW: f64 = 15.0;
/// Most values of a line.
const COLUMNS: usize = 240;
/// Letters of a name of which three fit a row of the legend. Of longer names two do.
const SHORT_NAME: usize = 14;
/// Least width of a mark.
const LEAST_MARK: f64 = 1.0;

/// Draws a plot; `None` without values.
pub(crate) fn picture(plot: &Plot, recorded: &Recorded) -> Option<Markup> {
    let lines: Vec<&Line> = plot.lines.iter().filter(|line| !line.points.is_empty()).collect();
    let values = || lines.iter().flat_map(|line| &line.points).map(|(_, value)| *value);
    values().next()?;
    let most = values().fold(0.0, f64::max);
    let (size, quantity) = axis(plot.unit, most);
    let scale = Linear::to(if most > 0.0 { most / size } else { 1.0 });
    let marks: Vec<&Marks> = plot.marks.iter().filter(|marks| !marks.spans.is_empty()).collect();
    let is_short = lines.iter().all(|line| line.name.chars().count() <= SHORT_NAME);
    let names = if is_short { 3 } else { 2 };
    let (lanes, legend) = (ROW * marks.len() as f64, ROW * lines.len().div_ceil(names) as f64);
    let height = HEIGHT + lanes + legend;
    let frame = Frame::new(height, 52.0, 22.0, 12.0, 24.0 + lanes + legend);
    let ticks: Vec<Tick> =
        scale.ticks().into_iter().map(|tick| (scale.at(tick), scale.label(tick))).collect();
    let x = |second: f64| frame.x((second / recorded.seconds.max(1e-9)).clamp(0.0, 1.0));
    let y = |value: f64| frame.y(scale.at(value / size));
    let times: Vec<Tick> = recorded
        .ticks
        .iter()
        .map(|(second, label)| (second / recorded.seconds.max(1e-9), label.clone()))
        .collect();
    let below = Frame { top: frame.bottom + lanes, bottom: frame.bottom + lanes + 4.0, ..frame };
    let content = html! {
        (frame.beside(&ticks, &quantity))
        (below.below(&times, false, ""))
        @for (slot, own) in lines.iter().enumerate() {
            (drawn(own, slot, recorded, &x, &y))
        }
        @for (lane, own) in marks.iter().enumerate() {
            (lane_of(own, frame.bottom + 4.0 + ROW * lane as f64, &x, frame.right))
        }
        @for (slot, own) in lines.iter().enumerate() {
            @let column = (slot % names) as f64 * (frame.right - frame.left) / names as f64;
            @let row = height - legend + ROW * (slot / names) as f64 + 11.0;
            text class={ "name s" (slot % 9) } x=(px(frame.left + column)) y=(px(row)) {
                (super::shortened(&own.name, super::NAME_LETTERS))
            }
        }
    };
    Some(svg("history", None, &format!("{} over time", plot.title), height, &content))
}

/// Returns the size of an axis' unit and what the axis counts.
fn axis(unit: Unit, most: f64) -> (f64, String) {
    match unit {
        Unit::Count => (1.0, String::new()),
        Unit::Rate => {
            let unit = figures::rate_axis(most);
            (unit.size, unit.name.to_owned())
        }
        Unit::Bytes | Unit::BytesPerSecond => {
            let own = figures::byte_axis(most);
            let each = if unit == Unit::BytesPerSecond { " a second" } else { "" };
            (own.size, format!("{}{each}", own.name))
        }
        Unit::Micros if most >= 10_000.0 => (1000.0, "ms".to_owned()),
        Unit::Micros => (1.0, "µs".to_owned()),
        Unit::Share => (0.01, "%".to_owned()),
    }
}

/// Returns the largest value of each column, in stretches without a gap.
fn stretches(own: &Line, seconds: f64, gap: f64) -> Vec<Vec<(f64, f64)>> {
    let width = seconds / COLUMNS as f64;
    let mut all: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut last = f64::NEG_INFINITY;
    for &(second, value) in &own.points {
        if second - last > gap || all.is_empty() {
            all.push(Vec::new());
        }
        last = second;
        let stretch = all.last_mut().expect("one was pushed");
        match stretch.last_mut() {
            Some((begin, largest)) if second - *begin < width => *largest = largest.max(value),
            _ => stretch.push((second, value)),
        }
    }
    all
}

fn drawn(
    own: &Line,
    slot: usize,
    recorded: &Recorded,
    x: &impl Fn(f64) -> f64,
    y: &impl Fn(f64) -> f64,
) -> Markup {
    let stretches = stretches(own, recorded.seconds, recorded.gap);
    let content = html! {
        @for stretch in &stretches {
            @let places: Vec<(f64, f64)> =
                stretch.iter().map(|(second, value)| (x(*second), y(*value))).collect();
            @match places[..] {
                // A single point has no length to draw.
                [(at, value)] => { (line(&[(at, value), (at + 1.0, value)])) }
                _ => { (line(&places)) }
            }
        }
    };
    series(&own.name, slot % 9, own.points.len(), &content)
}

fn lane_of(own: &Marks, top: f64, x: &impl Fn(f64) -> f64, right: f64) -> Markup {
    let mut path = String::new();
    for (from, to) in &own.spans {
        let from = x(*from).min(right - LEAST_MARK);
        let length = (x(*to).min(right) - from).max(LEAST_MARK);
        let (from, length) = (px(from), px(length));
        path.push_str(&format!("M{from} {}h{length}v{}h-{length}z", px(top), px(ROW - 6.0)));
    }
    html! {
        text class="tick" x="0" y=(px(top + 9.0)) { (super::shortened(&own.kind, 8)) }
        (series(&own.kind, 7, own.spans.len(), &html! { path class="marks" d=(path) {} }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spike_of_one_second_is_drawn_and_a_gap_is_none() {
        let value = |second: i32| if second == 5001 { 9.0 } else { 1.0 };
        let seconds = (0..10_000).filter(|second| !(2000..3000).contains(second));
        let points = seconds.map(|second| (f64::from(second), value(second))).collect();
        let stretches = stretches(&Line { name: "a".into(), points }, 10_000.0, 3.0);
        assert_eq!(stretches.len(), 2);
        let all = || stretches.iter().flatten();
        assert!(all().count() <= COLUMNS + 2);
        assert_eq!(all().filter(|(_, value)| *value == 9.0).count(), 1);
    }
}
