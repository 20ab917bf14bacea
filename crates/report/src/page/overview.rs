//! All workloads at a glance: ratios with bar and aim, and the rate of every engine.

use maud::{Markup, html};

use super::figures::{self, NONE};
use super::plot;
use super::rows::{Row, Rows, Verdict, median};

/// The first section: the ratios, and a table of all workloads with links to their sections.
pub(super) fn section(rows: &Rows<'_>) -> Markup {
    html! {
        section {
            h2 { "All workloads" }
            @if rows.all.is_empty() { p { "Nothing was run." } } @else {
                @if let Some(ratios) = plot::ratios::figure(rows) {
                    figure class="pair" {
                        figcaption {
                            "Against the peer "
                            span class="note" {
                                "right of 1 is faster; line: how far repetitions are apart; short tick: \
                                 bar, long tick: aim"
                            }
                        }
                        div { (ratios) }
                        (table(rows))
                    }
                } @else { (table(rows)) }
            }
        }
    }
}

fn engines<'a>(rows: &Rows<'a>) -> Vec<&'a str> {
    let mut engines: Vec<&str> = Vec::new();
    for contender in rows.all.iter().flat_map(|row| &row.contenders) {
        if !engines.contains(&contender.name) {
            engines.push(contender.name);
        }
    }
    engines
}

fn table(rows: &Rows<'_>) -> Markup {
    let engines = engines(rows);
    let compared = rows.all.iter().any(|row| row.workload.peer.is_some());
    html! {
        div class="box" {
            table {
                thead {
                    tr {
                        th scope="col" { "Workload" }
                        @if compared {
                            @for head in ["Ratio", "Bar", "Aim", "Verdict"] {
                                th scope="col" { (head) }
                            }
                        }
                        @for engine in &engines { th scope="col" { (engine) } }
                    }
                }
                tbody { @for row in &rows.all { (line(row, rows, compared, &engines)) } }
            }
        }
    }
}

fn line(row: &Row<'_>, rows: &Rows<'_>, compared: bool, engines: &[&str]) -> Markup {
    let ratio = rows.ratio(row);
    let wanted = |value: Option<f64>| figures::or_dash(value, figures::times);
    html! {
        tr {
            th scope="row" { a href={ "#" (row.anchor) } { (row.workload.name) } }
            @if compared {
                td { (wanted(ratio.as_ref().map(|ratio| ratio.median))) }
                td { (wanted(row.workload.bar)) }
                td { (wanted(row.workload.aim)) }
                td { (verdict(row, ratio.as_ref().map(|ratio| ratio.verdict(&row.workload)))) }
            }
            @for engine in engines {
                td {
                    @let rate = row.contender(engine).and_then(|contender| median(&contender.rates()));
                    (figures::or_dash(rate, figures::rate))
                }
            }
        }
    }
}

/// Writes a verdict in words; `None` without a ratio to judge.
pub(super) fn verdict(row: &Row<'_>, verdict: Option<Verdict>) -> Markup {
    html! {
        @match (verdict, &row.workload.peer) {
            (Some(Verdict::Aim), _) => span class="good" { "aim reached" },
            (Some(Verdict::Bar), _) => span class="good" { "bar reached" },
            (Some(Verdict::TooMuchMemory), _) => span class="below" { "too much memory" },
            (Some(Verdict::Below), _) => span class="below" { "below the bar" },
            (None, Some(_)) => "peer did not run",
            _ => (NONE),
        }
    }
}
