//! Draws the rate of one engine through time, with its flushes and compactions.
//!
//! The repetition with the median rate has a strong line, and its flushes and compactions are
//! marked below it. The other repetitions are faint. Each engine has its own scales, because this
//! plot shows how even its rate is; the bars show which engine is faster.

use maud::{Markup, html};

use super::frame::{Frame, Tick};
use super::scale::{Linear, Scale};
use super::{px, series, svg};
use crate::page::figures;
use crate::page::rows::Contender;
use crate::results::{BackgroundEvent, Moment, Run};

/// Height without lanes.
const HEIGHT: f64 = 158.0;
/// Height of a lane of marks.
const LANE: f64 = 15.0;
/// Least width of a mark, for an event shorter than a pixel.
const LEAST_MARK: f64 = 1.0;

/// An interval of a timeline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    /// Seconds since the run began.
    pub from: f64,
    /// Seconds since the run began.
    pub to: f64,
    /// Operations per second.
    pub rate: f64,
}

/// The intervals of a run that take time, in order.
pub(crate) fn intervals(moments: &[Moment]) -> Vec<Interval> {
    let mut from = 0.0;
    let mut intervals = Vec::new();
    for moment in moments.iter().filter(|moment| moment.at.is_finite()) {
        if moment.at > from {
            let rate = moment.operations as f64 / (moment.at - from);
            intervals.push(Interval { from, to: moment.at, rate });
            from = moment.at;
        }
    }
    intervals
}

/// Kinds of background events in `run`, each once.
fn kinds(run: &Run) -> Vec<&str> {
    let mut kinds: Vec<&str> = run.events.iter().map(|event| event.kind.as_str()).collect();
    kinds.sort_unstable_by_key(|kind| (*kind != "flush", *kind != "compaction", *kind));
    kinds.dedup();
    kinds
}

/// Draws the rate of `contender` in `workload` over time; `None` if no run has a timeline.
pub(crate) fn figure(workload: &str, contender: &Contender<'_>) -> Option<Markup> {
    let timelines: Vec<Vec<Interval>> =
        contender.runs.iter().map(|run| intervals(&run.timeline)).collect();
    let all = || timelines.iter().flatten();
    all().next()?;
    let typical = contender.typical();
    let run = contender.runs[typical];
    let kinds = kinds(run);
    let fastest = all().map(|interval| interval.rate).fold(0.0, f64::max);
    let seconds = all().map(|interval| interval.to).fold(0.0, f64::max);
    let unit = figures::rate_axis(fastest);
    let rates = Linear::to(fastest / unit.size);
    let time = Linear::exactly(seconds);
    let lanes = LANE * kinds.len() as f64;
    let height = HEIGHT + lanes;
    let left = if kinds.is_empty() { 44.0 } else { 80.0 };
    let frame = Frame::new(height, left, 22.0, 12.0, 38.0 + lanes);
    let ticks: Vec<Tick> =
        rates.ticks().into_iter().map(|tick| (rates.at(tick), rates.label(tick))).collect();
    let at = |value: f64| frame.x(time.at(value));
    let height_of = |interval: &Interval| frame.y(rates.at(interval.rate / unit.size));
    let strongest_last = (0..timelines.len()).filter(|i| *i != typical).chain([typical]);
    let content = html! {
        (frame.beside(&ticks, unit.name))
        (seconds_below(&frame, &time, lanes))
        @for i in strongest_last {
            @if !timelines[i].is_empty() {
                (steps(contender, contender.runs[i], &timelines[i], i == typical, &at, &height_of))
            }
        }
        @for (lane, kind) in kinds.iter().enumerate() {
            (marks(contender, run, kind, frame.bottom + 6.0 + LANE * lane as f64, &at, frame.right))
        }
    };
    let label = format!("Rate of {} over time in {workload}", contender.name);
    Some(svg("timeline", Some(workload), &label, height, &content))
}

/// The axis of time, below the lanes.
fn seconds_below(frame: &Frame, time: &super::scale::Exactly, lanes: f64) -> Markup {
    let ticks: Vec<Tick> =
        time.ticks().into_iter().map(|tick| (time.at(tick), time.label(tick))).collect();
    let below = Frame { top: frame.bottom + lanes, bottom: frame.bottom + lanes + 4.0, ..*frame };
    below.below(&ticks, false, "seconds")
}

/// The name of a run's series: `foldb 2` is foldb's second repetition.
fn name(contender: &Contender<'_>, run: &Run) -> String {
    format!("{} {}", contender.name, run.repetition)
}

fn steps(
    contender: &Contender<'_>,
    run: &Run,
    intervals: &[Interval],
    strong: bool,
    x: &impl Fn(f64) -> f64,
    y: &impl Fn(&Interval) -> f64,
) -> Markup {
    let path = super::steps(
        intervals.iter().map(|interval| (x(interval.from), x(interval.to), y(interval))),
    );
    let class = if strong { "steps" } else { "steps faint" };
    let content = html! { path class=(class) d=(path) {} };
    series(&name(contender, run), contender.slot, intervals.len(), &content)
}

/// Draws a lane of marks: each event of `kind` has a mark as long as the event.
fn marks(
    contender: &Contender<'_>,
    run: &Run,
    kind: &str,
    top: f64,
    x: &impl Fn(f64) -> f64,
    right: f64,
) -> Markup {
    let of_kind = |event: &&BackgroundEvent| event.kind == kind;
    let events: Vec<&BackgroundEvent> = run.events.iter().filter(of_kind).collect();
    let mut path = String::new();
    for event in &events {
        // Marks are cut off at the beginning and the end of the measured time.
        let from = x(event.began.max(0.0)).min(right - LEAST_MARK);
        let to = x(event.ended).min(right);
        let length = (to - from).max(LEAST_MARK);
        path.push_str(&format!(
            "M{} {}h{}v{}h-{}z",
            px(from),
            px(top),
            px(length),
            px(LANE - 6.0),
            px(length)
        ));
    }
    let content = html! { path class="marks" d=(path) {} };
    html! {
        text class="tick" x="0" y=(px(top + 9.0)) { (super::shortened(kind, 12)) }
        (series(&format!("{} {kind}", name(contender, run)), contender.slot, events.len(), &content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_intervals_that_take_time() {
        let at = |at: f64, operations: u64| Moment { at, operations };
        let moments = [at(1.0, 100), at(1.0, 5), at(3.0, 100), at(f64::NAN, 7)];
        assert_eq!(
            intervals(&moments),
            [
                Interval { from: 0.0, to: 1.0, rate: 100.0 },
                Interval { from: 1.0, to: 3.0, rate: 50.0 }
            ]
        );
    }
}
