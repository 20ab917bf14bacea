//! Everything about one workload.

use maud::{Markup, html};

use super::figures::{self, NONE, or_dash};
use super::overview;
use super::plot::bars::{self, Measure, Wanted};
use super::plot::{growing, latency, timeline};
use super::rows::{Contender, Ratio, Row, Rows, Verdict, least, median};
use super::table;
use crate::results::Run;

/// The section of `row`.
pub(super) fn section(row: &Row<'_>, rows: &Rows<'_>) -> Markup {
    let workload = &row.workload;
    html! {
        section id=(row.anchor) {
            h2 { (workload.name) }
            @if !workload.about.is_empty() { p { (workload.about) } }
            (judgement(row, rows))
            (table::command(&workload.command))
            @if row.contenders.is_empty() { p { "Nothing of it was run." } } @else {
                (rates(row, rows))
                (latencies(row))
                (timelines(row))
                @if let Some(steps) = growing::figure(row) { (steps) }
                (resources(row))
                (settings(row))
            }
        }
    }
}

fn judgement(row: &Row<'_>, rows: &Rows<'_>) -> Markup {
    let ratio = rows.ratio(row);
    html! {
        @if let Some(peer) = &row.workload.peer {
            p class="judgement" {
                @if let Some(ratio) = &ratio {
                    strong { (figures::times(ratio.median)) } " the " (compared(row)) " of " (peer)
                    " (repetitions: " (figures::times(ratio.least))
                    " to " (figures::times(ratio.most)) ")"
                } @else { "Not compared with " (peer) }
                @for (name, value) in [("bar", row.workload.bar), ("aim", row.workload.aim)] {
                    @if let Some(value) = value { ", " (name) " " (figures::times(value)) }
                }
                @let verdict = ratio.map(|ratio| ratio.verdict(&row.workload));
                @if verdict != Some(Verdict::Open) { ": " (overview::verdict(row, verdict)) }
                "."
            }
        }
    }
}

/// Returns what the bar compares.
fn compared(row: &Row<'_>) -> String {
    let percentile = row.workload.percentile.map(figures::percentile);
    percentile.map_or("rate".to_owned(), |percentile| format!("speed at {percentile}"))
}

/// Returns the rates of bar and aim; none if the bar compares latencies.
fn wanted(row: &Row<'_>, rows: &Rows<'_>) -> Vec<Wanted> {
    if row.workload.percentile.is_some() {
        return Vec::new();
    }
    let peer = rows.peer_speeds(row).and_then(|rates| median(&rates));
    let Some(rate) = peer else { return Vec::new() };
    [("bar", row.workload.bar), ("aim", row.workload.aim)]
        .into_iter()
        .filter_map(|(name, times)| {
            let times = times.filter(|times| times.is_finite())?;
            Some(Wanted { name: format!("{name} {}", figures::times(times)), value: rate * times })
        })
        .collect()
}

fn rates(row: &Row<'_>, rows: &Rows<'_>) -> Markup {
    html! {
        @if let Some(plot) = bars::figure(row, &bars::RATE, &wanted(row, rows)) {
            figure class="pair" {
                (caption(&bars::RATE))
                div { (plot) }
                (rate_table(row, rows.subject))
            }
        }
    }
}

fn caption(measure: &Measure) -> Markup {
    html! {
        figcaption {
            (measure.title) " "
            span class="note" { "bar: median, dots: repetitions; " (measure.better) }
        }
    }
}

fn rate_table(row: &Row<'_>, subject: &str) -> Markup {
    let own = row.contender(subject).map(Contender::rates).unwrap_or_default();
    let compared = row.contenders.len() > 1 && !own.is_empty();
    let ratio_head = format!("{subject} is");
    let mut heads = vec!["Engine", "Median, ops/s", "Every repetition, ops/s", "Seconds"];
    if compared {
        heads.push(&ratio_head);
    }
    let rows: Vec<Vec<String>> = row
        .contenders
        .iter()
        .map(|contender| {
            let rates = contender.rates();
            let seconds = median(&contender.values(|run| Some(run.seconds)));
            let mut cells = vec![
                contender.name.to_owned(),
                or_dash(median(&rates), figures::grouped),
                list(&rates, figures::grouped),
                or_dash(seconds, figures::seconds),
            ];
            if compared {
                let ratio = Ratio::of(&own, &rates).filter(|_| contender.name != subject);
                cells.push(or_dash(ratio.map(|ratio| ratio.median), figures::times));
            }
            cells
        })
        .collect();
    table::plain(&heads, &rows)
}

fn list(values: &[f64], show: impl Fn(f64) -> String) -> String {
    values.iter().map(|value| show(*value)).collect::<Vec<_>>().join(", ")
}

/// Returns the rows of each engine that has a value: first one of medians, then one for each
/// repetition. A single repetition has only its own row.
fn repetitions(row: &Row<'_>, columns: &[Column<'_>]) -> Vec<(bool, Vec<String>)> {
    let mut rows = Vec::new();
    let told = |contender: &&Contender<'_>| columns.iter().any(|column| column.is_told(contender));
    for contender in row.contenders.iter().filter(told) {
        if contender.runs.len() > 1 {
            let name = format!("{}, median", contender.name);
            rows.push((true, cells(name, columns, |column| column.median(contender))));
        }
        for run in &contender.runs {
            let name = format!("{} {}", contender.name, run.repetition);
            rows.push((
                false,
                cells(name, columns, |column| or_dash((column.of)(run), column.show)),
            ));
        }
    }
    rows
}

fn cells(name: String, columns: &[Column<'_>], of: impl Fn(&Column<'_>) -> String) -> Vec<String> {
    [name].into_iter().chain(columns.iter().map(of)).collect()
}

/// Returns a run's value in a column.
type Value<'a> = dyn Fn(&Run) -> Option<f64> + 'a;

/// A column of a table of repetitions.
struct Column<'a> {
    head: String,
    of: Box<Value<'a>>,
    show: fn(f64) -> String,
}

impl<'a> Column<'a> {
    fn new(
        head: &str,
        show: fn(f64) -> String,
        of: impl Fn(&Run) -> Option<f64> + 'a,
    ) -> Column<'a> {
        Column { head: head.to_owned(), of: Box::new(of), show }
    }

    fn median(&self, contender: &Contender<'_>) -> String {
        or_dash(median(&contender.values(&self.of)), self.show)
    }

    /// Returns whether any run of `contender` has a value.
    fn is_told(&self, contender: &Contender<'_>) -> bool {
        !contender.values(&self.of).is_empty()
    }

    /// Returns whether any run of `row` has a value.
    fn is_known(&self, row: &Row<'_>) -> bool {
        row.contenders.iter().any(|contender| self.is_told(contender))
    }
}

fn heads<'a>(columns: &'a [Column<'_>]) -> Vec<&'a str> {
    ["Engine, repetition"]
        .into_iter()
        .chain(columns.iter().map(|column| column.head.as_str()))
        .collect()
}

fn latencies(row: &Row<'_>) -> Markup {
    let percents = latency::percents(row).into_iter().map(|percent| {
        Column::new(&figures::percentile(percent), figures::micros, move |run: &Run| {
            run.latency(percent)
        })
    });
    let slowest = Column::new("slowest", figures::micros, |run: &Run| run.slowest_micros);
    let columns: Vec<Column<'_>> =
        percents.chain([slowest]).filter(|column| column.is_known(row)).collect();
    html! {
        @if let Some(plot) = latency::figure(row) {
            figure class="pair" {
                figcaption {
                    "Latency "
                    span class="note" { "line: medians, marks: repetitions; lower is better" }
                }
                div { (plot) }
                (table::grouped(&heads(&columns), &repetitions(row, &columns)))
            }
        }
    }
}

fn timelines(row: &Row<'_>) -> Markup {
    let plots: Vec<(&Contender<'_>, Markup)> = row
        .contenders
        .iter()
        .filter_map(|contender| Some((contender, timeline::figure(&row.workload.name, contender)?)))
        .collect();
    html! {
        @if !plots.is_empty() {
            figure {
                figcaption {
                    "Rate over time "
                    span class="note" {
                        "strong: the repetition with the median rate, below it its flushes and \
                         compactions; each engine has its own scales"
                    }
                }
                div class="panels" {
                    @for (contender, plot) in &plots { div { h3 { (contender.name) } (plot) } }
                }
                (timeline_table(row))
            }
        }
    }
}

fn timeline_table(row: &Row<'_>) -> Markup {
    let rates = |run: &Run| -> Vec<f64> {
        timeline::intervals(&run.timeline).iter().map(|interval| interval.rate).collect()
    };
    let events = |kind: &'static str| {
        move |run: &Run| match run.events.iter().filter(|event| event.kind == kind).count() {
            0 if run.events.is_empty() => None,
            count => Some(count as f64),
        }
    };
    let written = |run: &Run| {
        let bytes = run.events.iter().map(|event| event.bytes as f64).sum();
        (!run.events.is_empty()).then_some(bytes)
    };
    let columns = [
        Column::new("intervals", figures::grouped, move |run: &Run| {
            Some(rates(run).len() as f64).filter(|count| *count > 0.0)
        }),
        Column::new("slowest interval", figures::rate, move |run: &Run| least(&rates(run))),
        Column::new("median interval", figures::rate, move |run: &Run| median(&rates(run))),
        Column::new("flushes", figures::grouped, events("flush")),
        Column::new("compactions", figures::grouped, events("compaction")),
        Column::new("written by both", figures::bytes, written),
    ];
    table::grouped(&heads(&columns), &repetitions(row, &columns))
}

/// Shows the cost of a load except its time: bytes written, space, memory, and remaining work.
fn resources(row: &Row<'_>) -> Markup {
    let measures = [bars::AMPLIFICATION, bars::SPACE, bars::MEMORY];
    let plots: Vec<(&Measure, Markup)> = measures
        .iter()
        .filter_map(|measure| Some((measure, bars::figure(row, measure, &[])?)))
        .collect();
    let bytes = |value: Option<u64>| value.map(|bytes| bytes as f64);
    let written = |of: fn(&crate::results::Written) -> Option<u64>| {
        move |run: &Run| run.written.as_ref().and_then(of).map(|bytes| bytes as f64)
    };
    let columns = [
        Column::new("write amplification", figures::times, bars::AMPLIFICATION.of),
        Column::new("written by the user", figures::bytes, written(|written| Some(written.user))),
        Column::new("by write calls", figures::bytes, written(|written| Some(written.calls))),
        Column::new("into mapped logs", figures::bytes, written(|written| Some(written.mapped))),
        Column::new("by its own statistics", figures::bytes, written(|written| written.own)),
        Column::new("sent to the device", figures::bytes, written(|written| Some(written.device))),
        Column::new("space", figures::bytes, bars::SPACE.of),
        Column::new("peak memory", figures::bytes, bars::MEMORY.of),
        Column::new("owed at the end", figures::bytes, move |run: &Run| bytes(run.owed_bytes)),
        Column::new("until at rest", figures::seconds, |run: &Run| run.seconds_to_rest),
        Column::new("runs per read", figures::short, |run: &Run| run.runs_per_read.map(f64::from)),
    ];
    let columns: Vec<Column<'_>> =
        columns.into_iter().filter(|column| column.is_known(row)).collect();
    html! {
        @if !plots.is_empty() || !columns.is_empty() {
            figure {
                figcaption {
                    "Writing, space and memory "
                    @if !plots.is_empty() {
                        span class="note" { "bar: median, dots: repetitions; shorter is better" }
                    }
                }
                div class="panels" {
                    @for (measure, plot) in &plots { div { h3 { (measure.title) } (plot) } }
                }
                (table::grouped(&heads(&columns), &repetitions(row, &columns)))
            }
        }
    }
}

const SETTINGS: [&str; 4] =
    ["Engine", "Operations", "Settings other than its defaults", "Digest of a full scan"];

/// Shows each engine's settings and the digest of its scan, and the engines that did not run.
fn settings(row: &Row<'_>) -> Markup {
    let each = |contender: &Contender<'_>, of: fn(&Run) -> &str| -> String {
        let mut texts: Vec<&str> = contender.runs.iter().map(|run| of(run)).collect();
        texts.dedup();
        let texts: Vec<&str> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        if texts.is_empty() { NONE.to_owned() } else { texts.join("; ") }
    };
    html! {
        div class="box" {
            table class="texts" {
                (table::head(&SETTINGS))
                tbody {
                    @for contender in &row.contenders {
                        tr {
                            th scope="row" { (contender.name) }
                            td { (operations(contender)) }
                            td { (each(contender, |run| &run.settings)) }
                            td { (each(contender, |run| &run.digest)) }
                        }
                    }
                }
            }
        }
        (notes(row))
        @if !row.missing.is_empty() {
            p class="note" { "No runs of " (row.missing.join(", ")) "." }
        }
    }
}

/// Shows the runs' notes, each with its run.
fn notes(row: &Row<'_>) -> Markup {
    let runs = || row.contenders.iter().flat_map(|contender| &contender.runs);
    html! {
        @if runs().any(|run| !run.notes.is_empty()) {
            ul class="note" {
                @for run in runs() {
                    @for note in &run.notes { li { (run.engine) " " (run.repetition) ": " (note) } }
                }
            }
        }
    }
}

/// Writes the operations of the runs, once if all have the same number.
fn operations(contender: &Contender<'_>) -> String {
    let mut operations = contender.values(|run| Some(run.operations as f64));
    operations.dedup();
    list(&operations, figures::grouped)
}
