//! The figures of a row: medians over the repetitions, and foldb's rate relative to another.

use foldb_report::results::{MEMORY_RULE, Results, Run, Workload};

use crate::engine::Name;
use crate::workload::DOES_NOT_COUNT;

/// Medians of an engine's repetitions of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Microseconds an operation; the latency at a percentile, if the row compares that.
    pub micros: f64,
    /// Operations a second.
    pub rate: f64,
    /// The 99.9th percentile, microseconds.
    pub p999: Option<f64>,
    /// Bytes written for each byte that the user wrote.
    pub amplification: Option<f64>,
    /// Bytes of all files.
    pub space: Option<f64>,
    /// Peak resident memory, bytes.
    pub memory: Option<f64>,
    /// Bytes owed when the clock stopped.
    pub owed: Option<f64>,
    /// Seconds until background work rested.
    pub to_rest: Option<f64>,
    /// Repetitions.
    pub repetitions: usize,
    /// Whether the rate may reach a bar. The notes of a run say why it may not.
    pub counts: bool,
}

impl Figures {
    /// Returns the figures of `engine` in a row, if it ran.
    pub fn of(results: &Results, workload: &str, engine: &str) -> Option<Figures> {
        let percentile = percentile(results, workload);
        let figures = Figures::of_runs(&results.runs, workload, engine)?;
        let runs = runs_of(&results.runs, workload, engine);
        let latency = percentile.and_then(|percent| median(&runs, |run| run.latency(percent)));
        Some(Figures { micros: latency.unwrap_or(figures.micros), ..figures })
    }

    fn of_runs(runs: &[Run], workload: &str, engine: &str) -> Option<Figures> {
        let runs = runs_of(runs, workload, engine);
        let rate = median(&runs, |run| Some(run.rate()))?;
        Some(Figures {
            micros: if rate > 0.0 { 1e6 / rate } else { 0.0 },
            rate,
            p999: median(&runs, |run| run.latency(99.9)),
            amplification: median(&runs, |run| Some(run.written.as_ref()?.amplification())),
            space: median(&runs, |run| Some(run.space? as f64)),
            memory: median(&runs, |run| Some(run.peak_memory? as f64)),
            owed: median(&runs, |run| Some(run.owed_bytes? as f64)),
            to_rest: median(&runs, |run| run.seconds_to_rest),
            repetitions: runs.len(),
            counts: runs.iter().all(|run| counts(run)),
        })
    }
}

/// Returns the percentile of latency that a row compares, if not the rate.
pub fn percentile(results: &Results, workload: &str) -> Option<f64> {
    results.workloads.iter().find(|row| row.name == workload)?.percentile
}

/// Returns an engine's runs of a row.
pub fn runs_of<'a>(runs: &'a [Run], workload: &str, engine: &str) -> Vec<&'a Run> {
    runs.iter().filter(|run| run.workload == workload && run.engine == engine).collect()
}

fn counts(run: &Run) -> bool {
    !run.notes.iter().any(|note| note.starts_with(DOES_NOT_COUNT))
}

/// Returns the engine other than foldb with the highest rate in a row, of those that count.
pub fn fastest_peer(runs: &[Run], workload: &str) -> Option<String> {
    let mut peers: Vec<&str> = runs
        .iter()
        .filter(|run| run.workload == workload && run.engine != Name::Foldb.as_str())
        .map(|run| run.engine.as_str())
        .collect();
    peers.sort_unstable();
    peers.dedup();
    let rate = |engine: &str| {
        let figures = Figures::of_runs(runs, workload, engine)?;
        figures.counts.then_some(figures.rate)
    };
    let rated = peers.into_iter().filter_map(|engine| Some((rate(engine)?, engine)));
    rated.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, engine)| engine.to_owned())
}

/// Returns the median of a figure over runs; of an even number, the mean of the middle two.
pub fn median(runs: &[&Run], tell: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
    let mut values: Vec<f64> = runs.iter().filter_map(|run| tell(run)).collect();
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        length if length % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// foldb's figures relative to those of another row or engine.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// The other side: an engine, or another row of foldb.
    pub against: String,
    /// foldb's rate over that rate; or that latency over foldb's.
    pub ratio: f64,
    /// Least ratio that the row must reach; `None`: no requirement.
    pub bar: Option<f64>,
    /// Ratio that the row should reach.
    pub aim: Option<f64>,
    /// foldb's peak memory over the other's, if that is an engine.
    pub memory: Option<f64>,
    /// The other's figures.
    pub other: Figures,
}

impl Standing {
    /// Returns foldb's standing in a row, if both sides ran.
    pub fn of(results: &Results, workload: &Workload) -> Option<Standing> {
        let ours = Figures::of(results, &workload.name, Name::Foldb.as_str())?;
        let against = workload.peer.clone()?;
        let is_engine = results.engines.iter().any(|engine| engine.name == against);
        let other = if is_engine {
            Figures::of(results, &workload.name, &against)?
        } else {
            Figures::of(results, &against, Name::Foldb.as_str())?
        };
        let memory = ours
            .memory
            .zip(other.memory)
            .filter(|_| is_engine)
            .map(|(ours, others)| ours / others.max(1.0));
        Some(Standing {
            against,
            ratio: if ours.micros > 0.0 { other.micros / ours.micros } else { 0.0 },
            bar: workload.bar,
            aim: workload.aim,
            memory,
            other,
        })
    }

    /// Returns whether the ratio reaches the bar and the aim. With too much memory it reaches
    /// neither.
    pub fn verdict(&self) -> &'static str {
        let reached = |goal: Option<f64>| goal.is_some_and(|goal| self.ratio >= goal);
        let is_too_large = self.memory.is_some_and(|memory| memory > MEMORY_RULE);
        match (self.bar, self.aim) {
            (None, None) => "",
            _ if is_too_large && reached(self.bar.or(self.aim)) => "too much memory",
            _ if reached(self.aim) => "aim",
            _ if reached(self.bar) => "bar",
            _ => "below",
        }
    }
}

/// Returns a number with about three significant digits.
pub fn short(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v => format!("{v:.3}"),
    }
}

/// The same, or a dash.
pub fn optional(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), short)
}

/// Bytes as megabytes (10^6), or a dash.
pub fn megabytes(bytes: Option<f64>) -> String {
    bytes.map_or("-".to_owned(), |bytes| short(bytes / 1e6))
}
