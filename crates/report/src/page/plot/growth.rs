//! Draws the rate over the size of the database, for the workloads named `growth/...`.
//!
//! `growth/merge-1m` and `growth/merge-10m` are two sizes of one group, and so are `growth/1M` and
//! `growth/10M`. The size is the `--num=` of the commands, because a scaled-down run keeps the name
//! of the full size. In a group whose names have no sizes, the timeline of a run gives the points:
//! its rate in each interval, over the operations until then.

use maud::{Markup, html};

use super::frame::{Frame, Tick};
use super::scale::{Logarithmic, Scale};
use super::timeline::intervals;
use super::{NAME_LETTERS, line, mark, px, series, shortened, spread, svg, width};
use crate::page::figures;
use crate::page::rows::{Row, Rows, median};
use crate::page::table;
use crate::results::Run;

const PREFIX: &str = "growth/";
const HEIGHT: f64 = 236.0;

/// Workloads of growing size.
struct Group<'a> {
    /// The common part of their names: `growth/fillrandom`.
    name: String,
    /// Rows, with the size where names have one.
    rows: Vec<(Option<f64>, &'a Row<'a>)>,
}

/// An engine's values in a group.
struct Curve<'a> {
    name: &'a str,
    slot: usize,
    /// Size and rate of every value.
    values: Vec<(f64, f64)>,
    /// Size and median rate, in the order of sizes.
    medians: Vec<(f64, f64)>,
}

/// One figure, with its table, for each group.
pub(crate) fn figures(rows: &Rows<'_>) -> Vec<Markup> {
    groups(rows).iter().filter_map(figure).collect()
}

/// Reads a size: `10M` is ten million. Returns `None` if it is no size.
fn size(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" | "b" => 1e9,
        "kib" => 1024.0,
        "mib" => 1_048_576.0,
        "gib" => 1_073_741_824.0,
        _ => return None,
    };
    let number: f64 = digits.replace('_', "").parse().ok()?;
    (number > 0.0 && number.is_finite()).then_some(number * factor)
}

/// Returns the `--num=` of a command.
fn number(command: &str) -> Option<f64> {
    size(command.split_whitespace().find_map(|flag| flag.strip_prefix("--num="))?)
}

fn groups<'a>(rows: &'a Rows<'a>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for row in rows.all.iter().filter(|row| row.workload.name.starts_with(PREFIX)) {
        let name = row.workload.name.as_str();
        let (name, size) = match name.rsplit_once(['/', '-']) {
            Some((group, last)) if size(last).is_some() => {
                (group, number(&row.workload.command).or(size(last)))
            }
            _ => (name, None),
        };
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.rows.push((size, row)),
            None => groups.push(Group { name: name.to_owned(), rows: vec![(size, row)] }),
        }
    }
    for group in &mut groups {
        group.rows.sort_by(|a, b| a.0.unwrap_or_default().total_cmp(&b.0.unwrap_or_default()));
    }
    groups
}

impl<'a> Group<'a> {
    fn curves(&self) -> Vec<Curve<'a>> {
        let mut curves: Vec<Curve<'_>> = Vec::new();
        for (size, row) in &self.rows {
            for contender in &row.contenders {
                let index = curves.iter().position(|curve| curve.name == contender.name);
                let index = index.unwrap_or_else(|| {
                    let (name, slot) = (contender.name, contender.slot);
                    curves.push(Curve { name, slot, values: Vec::new(), medians: Vec::new() });
                    curves.len() - 1
                });
                let curve = &mut curves[index];
                match size {
                    Some(size) => {
                        let rates = contender.rates();
                        curve.medians.extend(median(&rates).map(|rate| (*size, rate)));
                        curve.values.extend(rates.into_iter().map(|rate| (*size, rate)));
                    }
                    None => {
                        let values = along(contender.runs[contender.typical()]);
                        curve.medians.extend(&values);
                        curve.values.extend(values);
                    }
                }
            }
        }
        curves.retain(|curve| !curve.values.is_empty());
        curves
    }
}

/// Returns operations and rate along one run.
fn along(run: &Run) -> Vec<(f64, f64)> {
    let mut done = 0.0;
    let grown = |interval: super::timeline::Interval| {
        done += interval.rate * (interval.to - interval.from);
        (done, interval.rate)
    };
    intervals(&run.timeline).into_iter().map(grown).filter(|(done, _)| *done > 0.0).collect()
}

fn figure(group: &Group<'_>) -> Option<Markup> {
    let curves = group.curves();
    let values = || curves.iter().flat_map(|curve| &curve.values);
    values().next()?;
    let sizes = Logarithmic::around(values().map(|(size, _)| *size));
    let rates = Logarithmic::around(values().map(|(_, rate)| *rate));
    let names = curves.iter().map(|curve| width(&shortened(curve.name, NAME_LETTERS)));
    let frame = Frame::new(HEIGHT, 58.0, 22.0, names.fold(30.0, f64::max) + 14.0, 40.0);
    let y_ticks: Vec<Tick> =
        rates.ticks().into_iter().map(|tick| (rates.at(tick), figures::rate(tick))).collect();
    let x_ticks: Vec<Tick> =
        sizes.ticks().into_iter().map(|tick| (sizes.at(tick), figures::count(tick))).collect();
    let at = |(size, rate): (f64, f64)| (frame.x(sizes.at(size)), frame.y(rates.at(rate)));
    let ends: Vec<f64> =
        curves.iter().map(|curve| curve.medians.last().map_or(0.0, |last| at(*last).1)).collect();
    let labels = spread(&ends, 14.0, frame.top, frame.bottom);
    let content = html! {
        (frame.beside(&y_ticks, "rate"))
        (frame.below(&x_ticks, true, "keys, or operations until then"))
        @for (curve, y) in curves.iter().zip(labels) {
            (drawn(curve, &at))
            text class={ "name s" (curve.slot) } x=(px(frame.right + 10.0)) y=(px(y + 4.0)) {
                (shortened(curve.name, NAME_LETTERS))
            }
        }
    };
    let label = format!("Rate over size, {}", group.name);
    Some(html! {
        figure class="pair" {
            figcaption {
                (group.name) " "
                span class="note" { "higher is faster; equal slopes are equal shares lost" }
            }
            div { (svg("growth", Some(&group.name), &label, HEIGHT, &content)) }
            (sizes_table(&curves))
        }
    })
}

fn drawn(curve: &Curve<'_>, at: &impl Fn((f64, f64)) -> (f64, f64)) -> Markup {
    let medians: Vec<(f64, f64)> = curve.medians.iter().map(|value| at(*value)).collect();
    let content = html! {
        (line(&medians))
        @for (size, rate) in &curve.values {
            @let (x, y) = at((*size, *rate));
            @let (size, rate) = (figures::count(*size), figures::rate(*rate));
            (mark(curve.slot, x, y, &format!("{} at {size}: {rate}", curve.name)))
        }
    };
    series(curve.name, curve.slot, curve.values.len(), &content)
}

/// Shows median rates, a row for each size. It leaves out timelines: they have too many sizes, and
/// each engine has other ones.
fn sizes_table(curves: &[Curve<'_>]) -> Markup {
    let mut sizes: Vec<f64> =
        curves.iter().flat_map(|curve| &curve.medians).map(|value| value.0).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    if sizes.len() > 24 {
        let first_and_last = |curve: &Curve<'_>| {
            let rate = |value: Option<&(f64, f64)>| {
                figures::or_dash(value.map(|value| value.1), figures::rate)
            };
            vec![curve.name.to_owned(), rate(curve.medians.first()), rate(curve.medians.last())]
        };
        let rows: Vec<Vec<String>> = curves.iter().map(first_and_last).collect();
        return table::plain(&["Engine", "At first", "At last"], &rows);
    }
    let mut heads = vec!["Size"];
    heads.extend(curves.iter().map(|curve| curve.name));
    let rows: Vec<Vec<String>> = sizes
        .iter()
        .map(|size| {
            let rates = curves.iter().map(|curve| {
                let found = curve.medians.iter().find(|value| value.0 == *size);
                figures::or_dash(found.map(|value| value.1), figures::rate)
            });
            [figures::count(*size)].into_iter().chain(rates).collect()
        })
        .collect();
    table::plain(&heads, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_from_names() {
        assert_eq!(size("1M"), Some(1e6));
        assert_eq!(size("2.5k"), Some(2500.0));
        assert_eq!(size("1_000_000"), Some(1e6));
        assert_eq!(size("4GiB"), Some(4_294_967_296.0));
        assert_eq!(size("fill"), None);
        assert_eq!(size("0"), None);
        assert_eq!(size("3µ"), None);
        assert_eq!(size(""), None);
        assert_eq!(number("db_bench --num=20000 --value_size=8"), Some(20_000.0));
        assert_eq!(number("--numb=1"), None);
    }
}
