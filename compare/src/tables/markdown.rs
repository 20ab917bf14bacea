//! The table of a page of documentation, made from results in the repository.

use std::fmt::Write as _;

use foldb_report::results::{MEMORY_RULE, Results, Workload};

use super::details::{self, Details};
use super::figures::{Figures, Standing, megabytes, optional, short};
use crate::engine::Name;
use crate::workload::DOES_NOT_COUNT;

/// The markers around the table.
pub const MARKERS: &str = "<!-- compare:begin --> and <!-- compare:end -->";
const BEGIN: &str = "<!-- compare:begin -->";
const END: &str = "<!-- compare:end -->";
/// Marks a rate that reaches no bar.
const UNCOUNTED: &str = " (1)";

/// Returns two tables: the rates of all engines, and the other figures of foldb and of each row's
/// peer. The second table is left out if no row compares memory. Rows with latencies or steps have
/// a table each after them.
pub fn markdown(results: &Results) -> String {
    let mut text = String::new();
    heading(&mut text, results);
    rates(&mut text, results);
    if has_memory(results) {
        text.push('\n');
        beside_peers(&mut text, results);
    }
    for workload in &results.workloads {
        let tables = [details::latencies, details::steps];
        for Details { titles, lines } in
            tables.into_iter().filter_map(|of| of(results, &workload.name))
        {
            text.push('\n');
            head(&mut text, titles.into_iter().map(str::to_owned));
            lines.into_iter().for_each(|cells| line(&mut text, cells));
        }
    }
    text
}

/// Returns whether a row compares memory. Rows of a general store do not.
fn has_memory(results: &Results) -> bool {
    let standing = |workload| Standing::of(results, workload);
    results.workloads.iter().filter_map(standing).any(|standing| standing.memory.is_some())
}

/// Returns `document` with `table` between its markers; `None` if it has no markers.
pub fn replace(document: &str, table: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{table}{END}{after}"))
}

fn line(text: &mut String, cells: impl IntoIterator<Item = String>) {
    let cells: Vec<_> = cells.into_iter().collect();
    writeln!(text, "| {} |", cells.join(" | ")).expect("writing to a String does not fail");
}

fn head(text: &mut String, cells: impl IntoIterator<Item = String>) {
    let cells: Vec<_> = cells.into_iter().collect();
    let rules = vec!["---".to_owned(); cells.len()];
    line(text, cells);
    line(text, rules);
}

fn heading(text: &mut String, results: &Results) {
    let machine = &results.machine;
    let versions: Vec<_> = ran(results)
        .iter()
        .map(|engine| {
            let version = results.engines.iter().find(|known| known.name == *engine);
            let version = version.and_then(|engine| engine.version.clone()).unwrap_or_default();
            format!("{engine} {version}").trim().to_owned()
        })
        .collect();
    writeln!(
        text,
        "Scale {}, commit {}, {} on {} x {}, {} GB, {}, {}. Medians.\n",
        results.scale,
        results.commit,
        versions.join(", "),
        machine.cores,
        machine.processor,
        machine.memory / 1_000_000_000,
        machine.system,
        machine.file_system,
    )
    .expect("writing to a String does not fail");
}

/// Names of the engines that have runs, in the order of the tables.
fn ran(results: &Results) -> Vec<&str> {
    let has_runs = |engine: &&str| results.runs.iter().any(|run| run.engine == **engine);
    results.engines.iter().map(|engine| engine.name.as_str()).filter(has_runs).collect()
}

fn rates(text: &mut String, results: &Results) {
    let engines = ran(results);
    let titles = ["µs/op".to_owned()]
        .into_iter()
        .chain(engines.iter().map(|&engine| engine.to_owned()))
        .chain(["ratio", "bar", "aim", "reached"].map(str::to_owned));
    head(text, titles);
    for workload in &results.workloads {
        let micros = engines.iter().map(|engine| {
            let figures = Figures::of(results, &workload.name, engine);
            figures.map_or(String::new(), |figures| {
                let mark = if figures.counts { "" } else { UNCOUNTED };
                format!("{}{mark}", short(figures.micros))
            })
        });
        let percentile = workload.percentile.map(|percent| format!(", p{percent}"));
        let name = format!("{}{}", workload.name, percentile.unwrap_or_default());
        let cells = [name].into_iter().chain(micros);
        line(text, cells.chain(verdict(results, workload)));
    }
    footnote(text, results);
}

/// Says why marked rates do not count.
fn footnote(text: &mut String, results: &Results) {
    let notes = results.runs.iter().flat_map(|run| &run.notes);
    if let Some(note) = notes.into_iter().find(|note| note.starts_with(DOES_NOT_COUNT)) {
        writeln!(text, "\n{UNCOUNTED} {note}.", UNCOUNTED = UNCOUNTED.trim())
            .expect("writing to a String does not fail");
    }
}

fn verdict(results: &Results, workload: &Workload) -> [String; 4] {
    let goal = |goal: Option<f64>| goal.map_or(String::new(), |goal| goal.to_string());
    let goals = [goal(workload.bar), goal(workload.aim)];
    let standing = Standing::of(results, workload);
    let ratio = standing.as_ref().map_or(String::new(), |standing| {
        format!("{} x {}", short(standing.ratio), standing.against)
    });
    let reached = standing.map_or(String::new(), |standing| standing.verdict().to_owned());
    let [bar, aim] = goals;
    [ratio, bar, aim, reached]
}

fn beside_peers(text: &mut String, results: &Results) {
    let titles = [
        "foldb / peer",
        "peer",
        "peak memory, MB",
        "within 1.25 x",
        "p99.9, µs",
        "write amplification",
        "space, MB",
        "owed, MB",
        "to rest, s",
    ];
    head(text, titles.map(str::to_owned));
    for workload in &results.workloads {
        let standing = Standing::of(results, workload);
        let Some(standing) = standing.filter(|standing| standing.memory.is_some()) else {
            continue;
        };
        let foldb = Name::Foldb.as_str();
        let Some(ours) = Figures::of(results, &workload.name, foldb) else { continue };
        let theirs = &standing.other;
        let pair = |show: fn(Option<f64>) -> String, ours, theirs| {
            format!("{} / {}", show(ours), show(theirs))
        };
        let within = standing.memory.map_or("-".to_owned(), |memory| {
            let answer = if memory <= MEMORY_RULE { "yes" } else { "no" };
            format!("{answer} ({memory:.2})")
        });
        line(
            text,
            [
                workload.name.clone(),
                standing.against.clone(),
                pair(megabytes, ours.memory, theirs.memory),
                within,
                pair(optional, ours.p999, theirs.p999),
                pair(optional, ours.amplification, theirs.amplification),
                pair(megabytes, ours.space, theirs.space),
                pair(megabytes, ours.owed, theirs.owed),
                pair(optional, ours.to_rest, theirs.to_rest),
            ],
        );
    }
}
