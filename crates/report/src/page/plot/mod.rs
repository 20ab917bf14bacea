//! Plots as SVG: their common parts, and one module for each kind.
//!
//! Units are CSS pixels at the width of a plot on a wide screen. On a narrow one everything shrinks
//! together. Colours come from the style sheet: `s0`, `s1`, ... for series.

pub(super) mod bars;
pub(super) mod budgets;
mod frame;
pub(super) mod growing;
pub(super) mod growth;
pub(super) mod history;
pub(super) mod latency;
pub(super) mod latency_through_time;
pub(super) mod probes;
pub(super) mod ratios;
pub(super) mod scale;
pub(super) mod soak;
pub(super) mod timeline;

use maud::{Markup, PreEscaped, html};

/// Width of every plot.
const WIDTH: f64 = 440.0;
/// Approximate width of a letter in a wide font, to reserve space for labels.
const LETTER: f64 = 7.6;
/// Letters of an engine's name that are shown in a plot.
const NAME_LETTERS: usize = 18;

/// Makes a plot of `height`, for a workload if given. `label` describes it to readers who cannot
/// see it.
fn svg(plot: &str, workload: Option<&str>, label: &str, height: f64, content: &Markup) -> Markup {
    html! {
        svg data-plot=(plot) data-workload=[workload] viewBox=(format!("0 0 {WIDTH} {height}"))
            role="img" aria-label=(label) { (content) }
    }
}

/// Makes a self-contained picture of `height`: an SVG with the style sheet in it.
fn alone(label: &str, height: f64, content: &Markup) -> Markup {
    html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(format!("-4 0 {} {height}", WIDTH + 8.0))
            width=(px(WIDTH + 8.0)) height=(px(height)) role="img" aria-label=(label) {
            style { (PreEscaped(include_str!("../style.css"))) }
            rect x="-4" width="100%" height="100%" style="fill: var(--page)" {}
            (content)
        }
    }
}

/// A series of `points` values in the colour of `slot`.
fn series(name: &str, slot: usize, points: usize, content: &Markup) -> Markup {
    html! { g class={ "s" (slot) } data-series=(name) data-points=(points) { (content) } }
}

/// Draws a value: a mark in the shape of `slot`, with `title` as its tooltip.
fn mark(slot: usize, x: f64, y: f64, title: &str) -> Markup {
    html! { path class="p" d=(shape(slot, x, y)) { title { (title) } } }
}

/// Shapes differ as colours do, for readers who cannot tell the colours apart.
fn shape(slot: usize, x: f64, y: f64) -> String {
    let at = |dx: f64, dy: f64| format!("{} {}", px(x + dx), px(y + dy));
    match slot % 6 {
        0 => format!("M{}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z", at(-3.0, 0.0)),
        1 => format!("M{}h5.4v5.4h-5.4z", at(-2.7, -2.7)),
        2 => format!("M{}l3.4 5.9h-6.8z", at(0.0, -3.7)),
        3 => format!("M{}l3.7 3.7l-3.7 3.7l-3.7 -3.7z", at(0.0, -3.7)),
        4 => format!("M{}l3.4 -5.9h-6.8z", at(0.0, 3.7)),
        _ => format!("M{}h7.6v3.4h-7.6z", at(-3.8, -1.7)),
    }
}

/// A coordinate, rounded to a tenth of a pixel. A whole number has no decimal.
fn px(value: f64) -> String {
    let tenths = (value * 10.0).round();
    match tenths % 10.0 {
        0.0 => format!("{:.0}", tenths / 10.0 + 0.0),
        _ => format!("{:.1}", tenths / 10.0),
    }
}

/// The path of an upright line.
fn upright(x: f64, top: f64, bottom: f64) -> String {
    format!("M{} {}V{}", px(x), px(top), px(bottom))
}

/// The path of a level line.
fn level(y: f64, left: f64, right: f64) -> String {
    format!("M{} {}H{}", px(left), px(y), px(right))
}

/// The straight lines through `points`.
fn line(points: &[(f64, f64)]) -> Markup {
    let mut path = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        path.push(if i == 0 { 'M' } else { 'L' });
        path.push_str(&format!("{} {}", px(*x), px(*y)));
    }
    html! { path class="line" d=(path) {} }
}

/// Returns the path of steps: each value holds from one place to another. Steps that touch are
/// joined.
fn steps(values: impl IntoIterator<Item = (f64, f64, f64)>) -> String {
    let mut path = String::new();
    let mut end = f64::NAN;
    for (from, to, y) in values {
        match from == end {
            true => path.push_str(&format!("V{}", px(y))),
            false => path.push_str(&format!("M{} {}", px(from), px(y))),
        }
        path.push_str(&format!("H{}", px(to)));
        end = to;
    }
    path
}

/// A name short enough to stand in a plot.
fn shortened(name: &str, letters: usize) -> String {
    match name.chars().count() > letters {
        true => name.chars().take(letters - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

/// Returns the approximate width of `text`.
fn width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// Moves apart labels that would overlap, so that neighbours are at least `gap` apart. A label
/// moves down from the label above it. Labels near `bottom` move up instead. The labels keep their
/// order. If `top..=bottom` is too short for all, the first labels end up above `top`.
fn spread(wanted: &[f64], gap: f64, top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|&a, &b| wanted[a].total_cmp(&wanted[b]));
    let mut placed = vec![0.0; wanted.len()];
    let mut free = top;
    for &i in &order {
        placed[i] = wanted[i].max(free);
        free = placed[i] + gap;
    }
    let mut free = bottom;
    for &i in order.iter().rev() {
        placed[i] = f64::min(placed[i], free);
        free = placed[i] - gap;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_distance_and_order() {
        assert_eq!(spread(&[50.0, 10.0], 12.0, 0.0, 100.0), [50.0, 10.0]);
        assert_eq!(spread(&[50.0, 50.0, 49.0], 12.0, 0.0, 100.0), [61.0, 73.0, 49.0]);
        assert_eq!(spread(&[99.0, 98.0], 12.0, 0.0, 100.0), [100.0, 88.0]);
    }

    #[test]
    fn steps_are_drawn_through_what_touches() {
        let values = [(0.0, 1.0, 5.0), (1.0, 2.0, 6.0), (3.0, 4.0, 7.0)];
        assert_eq!(steps(values), "M0 5H1V6H2M3 7H4");
    }

    #[test]
    fn coordinates_are_short() {
        assert_eq!([px(1.0), px(1.04), px(1.06), px(-0.01)], ["1", "1", "1.1", "0"]);
    }

    #[test]
    fn long_names_are_cut() {
        assert_eq!(shortened("foldb", 6), "foldb");
        assert_eq!(shortened("a very long name", 6), "a ver…");
    }
}
