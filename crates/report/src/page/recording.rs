//! The page of a recorded database: its last hours, as lines over one axis of time.
//!
//! The caller knows what was recorded; this module knows how to draw it.

use maud::{Markup, html};

use super::plot::history;
use super::{document, embedded, table};

/// What a line's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Unit {
    /// Plain numbers.
    Count,
    /// Numbers a second.
    Rate,
    /// Bytes.
    Bytes,
    /// Bytes a second.
    BytesPerSecond,
    /// Microseconds.
    Micros,
    /// Parts of a whole, shown in percent.
    Share,
}

/// A named line.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Line {
    /// The name.
    pub name: String,
    /// Seconds since the beginning of the page, and the value there. In order. A distance of more
    /// than [`Recorded::gap`] is a gap in the line.
    pub points: Vec<(f64, f64)>,
}

/// Lines of one unit in one plot.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// The unit of its lines.
    pub unit: Unit,
    /// The lines.
    pub lines: Vec<Line>,
    /// Stretches of time that are marked below the lines, by kind.
    pub marks: Vec<Marks>,
}

/// Stretches of time of one kind.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Marks {
    /// The kind, for example `stall`.
    pub kind: String,
    /// Begin and end, in seconds since the beginning of the page.
    pub spans: Vec<(f64, f64)>,
}

/// A table with text in its first column.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Table {
    /// The title.
    pub title: String,
    /// The titles of the columns.
    pub heads: Vec<String>,
    /// The cells of each row.
    pub rows: Vec<Vec<String>>,
}

/// What the page shows.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Recorded {
    /// The title.
    pub title: String,
    /// Facts below the title: name and value.
    pub facts: Vec<(String, String)>,
    /// Findings: what was seen, and what to do.
    pub findings: Vec<(String, String)>,
    /// The length of the page's axis of time, in seconds.
    pub seconds: f64,
    /// Labels of that axis: seconds since its beginning, and the text.
    pub ticks: Vec<(f64, String)>,
    /// Points further apart than this, in seconds, are not joined.
    pub gap: f64,
    /// The plots.
    pub plots: Vec<Plot>,
    /// The tables.
    pub tables: Vec<Table>,
}

/// The page as one HTML document: no other file, no network and no script is needed to read it. All
/// text is escaped. The page contains what it shows as JSON, in the element with the id `results`.
///
/// # Example
/// ```
/// use foldb_report::page::recording::{self, Line, Plot, Recorded, Unit};
///
/// let points = (0..60).map(|second| (f64::from(second), 1000.0)).collect();
/// let lines = vec![Line { name: "merges".into(), points }];
/// let plot =
///     Plot { title: "Writes".into(), unit: Unit::Rate, lines, marks: Vec::new() };
/// let recorded = Recorded {
///     title: "words.db".into(),
///     seconds: 60.0,
///     gap: 3.0,
///     plots: vec![plot],
///     ..Recorded::default()
/// };
/// assert!(recording::html(&recorded).contains(r#"data-series="merges" data-points="60""#));
/// ```
pub fn html(recorded: &Recorded) -> String {
    let facts: Vec<(&str, String)> =
        recorded.facts.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    let summary = table::facts(&facts);
    let main = html! {
        (findings(&recorded.findings))
        section {
            h2 { "Through time" }
            div class="panels" {
                @for plot in &recorded.plots {
                    @if let Some(picture) = history::picture(plot, recorded) {
                        div { h3 { (plot.title) } (picture) }
                    }
                }
            }
        }
        @for table in recorded.tables.iter().filter(|table| !table.rows.is_empty()) {
            section {
                h2 { (table.title) }
                (table::plain(&heads(table), &table.rows))
            }
        }
    };
    document(&recorded.title, &summary, &main, &embedded(recorded))
}

fn heads(table: &Table) -> Vec<&str> {
    table.heads.iter().map(String::as_str).collect()
}

fn findings(findings: &[(String, String)]) -> Markup {
    html! {
        section {
            h2 { "Findings" }
            @if findings.is_empty() {
                p class="good" { "Nothing found." }
            }
            @for (seen, remedy) in findings {
                p { strong class="below" { (seen) } br; (remedy) }
            }
        }
    }
}
