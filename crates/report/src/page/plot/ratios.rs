//! The compared engine against the peer of each workload, with bar and aim.

use maud::{Markup, html};

use super::frame::{Frame, Tick};
use super::scale::{Logarithmic, Scale};
use super::{WIDTH, alone, level, px, series, svg, upright};
use crate::page::figures;
use crate::page::rows::{Ratio, Row, Rows, Verdict};

/// Height of a workload: its name, and below it the ratio.
const ROW: f64 = 40.0;
/// Vertical place of the ratio in the row of its workload.
const TRACK: f64 = 27.0;
/// Letters of a workload's name.
const LETTERS: usize = 40;

/// The ratio of each workload that has one; `None` if none does.
pub(crate) fn figure(rows: &Rows<'_>) -> Option<Markup> {
    let Drawing { height, label, content } = draw(rows)?;
    Some(svg("ratio", None, &label, height, &content))
}

/// Returns the figure as a self-contained picture.
pub(crate) fn picture(rows: &Rows<'_>) -> Option<Markup> {
    let Drawing { height, label, content } = draw(rows)?;
    Some(alone(&label, height, &content))
}

/// The content of the figure, before it is placed.
struct Drawing {
    height: f64,
    label: String,
    content: Markup,
}

fn draw(rows: &Rows<'_>) -> Option<Drawing> {
    let shown: Vec<(&Row<'_>, Ratio)> =
        rows.all.iter().filter_map(|row| Some((row, rows.ratio(row)?))).collect();
    if shown.is_empty() {
        return None;
    }
    let all = shown.iter().flat_map(|(row, ratio)| {
        let wanted = [row.workload.bar, row.workload.aim];
        [Some(1.0), Some(ratio.least), Some(ratio.most)].into_iter().chain(wanted).flatten()
    });
    let scale = Logarithmic::around(all);
    let height = ROW * shown.len() as f64 + 44.0;
    let frame = Frame::new(height, 8.0, 4.0, 24.0, 40.0);
    let ticks: Vec<Tick> =
        scale.ticks().into_iter().map(|tick| (scale.at(tick), figures::short(tick))).collect();
    let at = |value: f64| frame.x(scale.at(value));
    let subject = shown[0].0.contender(rows.subject);
    let slot = subject.map_or(0, |subject| subject.slot);
    let top = |i: usize| frame.top + ROW * i as f64;
    let quantity = format!("times the rate of the peer ({} ÷ peer)", rows.subject);
    let dots = html! {
        @for (i, (_, ratio)) in shown.iter().enumerate() { (dot(ratio, top(i) + TRACK, &at)) }
    };
    let content = html! {
        (frame.below(&ticks, true, &quantity))
        path class="equal" d=(upright(at(1.0), frame.top, frame.bottom)) {}
        @for (i, (row, ratio)) in shown.iter().enumerate() {
            path class="grid" d=(level(top(i) + TRACK, frame.left, frame.right)) {}
            (heading(row, ratio, top(i)))
            (wanted(row, top(i) + TRACK, &at))
        }
        (series(rows.subject, slot, shown.len(), &dots))
    };
    let label = format!("Rate of {} over its peer’s, each workload", rows.subject);
    Some(Drawing { height, label, content })
}

fn heading(row: &Row<'_>, ratio: &Ratio, top: f64) -> Markup {
    let value = figures::times(ratio.median);
    let class = match ratio.verdict(&row.workload) {
        Verdict::Below | Verdict::TooMuchMemory => "value below",
        _ => "value",
    };
    html! {
        text class="name" x="8" y=(px(top + 13.0)) {
            (super::shortened(&row.workload.name, LETTERS))
            tspan class="tick" { " against " (row.workload.peer.as_deref().unwrap_or_default()) }
        }
        text class=(class) x=(px(WIDTH - 24.0)) y=(px(top + 13.0)) text-anchor="end" { (value) }
    }
}

/// Bar and aim: a tick each, the aim's taller.
fn wanted(row: &Row<'_>, y: f64, at: &impl Fn(f64) -> f64) -> Markup {
    let asked = [(row.workload.bar, "bar", 5.0), (row.workload.aim, "aim", 8.0)];
    html! {
        @for (value, name, reach) in asked {
            @if let Some(value) = value {
                path class="asked" d=(upright(at(value), y - reach, y + reach)) {
                    title { (name) " " (figures::times(value)) }
                }
            }
        }
    }
}

/// Draws the ratio of the medians, on a line that spans the ratios of the repetitions.
fn dot(ratio: &Ratio, y: f64, at: &impl Fn(f64) -> f64) -> Markup {
    let title = format!(
        "{} ({} to {})",
        figures::times(ratio.median),
        figures::times(ratio.least),
        figures::times(ratio.most)
    );
    html! {
        path class="span" d=(level(y, at(ratio.least), at(ratio.most))) {}
        circle class="p" cx=(px(at(ratio.median))) cy=(px(y)) r="4.5" { title { (title) } }
    }
}
