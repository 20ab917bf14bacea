//! Tables of rows that have more figures: steps of a growing database, and latencies.

use foldb_report::results::{Results, Run, Step};

use super::figures::{median, megabytes, optional, percentile, runs_of};

/// A small table.
pub struct Details {
    /// Titles of the columns.
    pub titles: Vec<&'static str>,
    /// The cells of each line.
    pub lines: Vec<Vec<String>>,
}

/// The percentiles of a table of latencies.
const PERCENTS: [f64; 4] = [50.0, 99.0, 99.9, 99.99];

/// Returns the table of latencies of a row that compares a percentile.
pub fn latencies(results: &Results, workload: &str) -> Option<Details> {
    percentile(results, workload)?;
    let titles = ["µs from when an operation is due", "p50", "p99", "p99.9", "p99.99", "longest"];
    let line = |engine: &str, runs: &[&Run]| {
        let percentiles =
            PERCENTS.map(|percent| optional(median(runs, |run| run.latency(percent))));
        let longest = optional(median(runs, |run| run.slowest_micros));
        let name = format!("{workload}, {engine}");
        [name].into_iter().chain(percentiles).chain([longest]).collect()
    };
    let lines = engines(results, workload).map(|(engine, runs)| line(engine, &runs)).collect();
    Some(Details { titles: titles.to_vec(), lines })
}

/// Returns the table of steps of a row whose database grows.
pub fn steps(results: &Results, workload: &str) -> Option<Details> {
    let titles = [
        "million operations until then",
        "engine",
        "processor time, µs/op",
        "elapsed, µs/op",
        "write amplification",
        "owed, MB",
        "peak memory, MB",
        "random get, µs",
        "of processor time",
        "open, ms",
    ];
    let count = results.runs.iter().filter(|run| run.workload == workload);
    let count = count.map(|run| run.steps.len()).max().filter(|&count| count > 0)?;
    let lines = (0..count).flat_map(|place| {
        engines(results, workload).map(move |(engine, runs)| line(engine, &runs, place))
    });
    Some(Details { titles: titles.to_vec(), lines: lines.collect() })
}

fn line(engine: &str, runs: &[&Run], place: usize) -> Vec<String> {
    let figure =
        |of: &dyn Fn(&Step) -> Option<f64>| median(runs, |run| of(run.steps.get(place)?));
    let each = |seconds: f64, operations: u64| Some(seconds * 1e6 / operations.max(1) as f64);
    let done = median(runs, |run| {
        let steps = run.steps.get(..=place)?;
        Some(steps.iter().map(|step| step.operations).sum::<u64>() as f64 / 1e6)
    });
    vec![
        optional(done),
        engine.to_owned(),
        optional(figure(&|step| each(step.processor_seconds, step.operations))),
        optional(figure(&|step| each(step.seconds, step.operations))),
        optional(figure(&|step| Some(step.written.amplification()))),
        megabytes(figure(&|step| Some(step.owed_bytes? as f64))),
        megabytes(figure(&|step| Some(step.peak_memory? as f64))),
        optional(figure(&|step| each(step.read_seconds, step.reads))),
        optional(figure(&|step| each(step.read_processor_seconds, step.reads))),
        optional(figure(&|step| Some(step.open_seconds * 1e3))),
    ]
}

/// Returns the engines that ran a row, in the order of the tables, with their runs.
fn engines<'a>(
    results: &'a Results,
    workload: &'a str,
) -> impl Iterator<Item = (&'a str, Vec<&'a Run>)> {
    let runs = |name: &'a str| (name, runs_of(&results.runs, workload, name));
    let names = results.engines.iter().map(|engine| engine.name.as_str());
    names.map(runs).filter(|(_, runs)| !runs.is_empty())
}
