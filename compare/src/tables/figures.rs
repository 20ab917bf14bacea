//! What a row says: medians over the repetitions, and how foldb stands.

use foldb_report::results::{MEMORY_RULE, Results, Run, Workload};

use crate::engine::Name;

/// Medians of an engine's repetitions of a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Microseconds an operation.
    pub micros: f64,
    /// Operations a second.
    pub rate: f64,
    /// The 99.9th percentile, microseconds.
    pub p999: Option<f64>,
    /// Bytes written for each byte of the user's.
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
}

impl Figures {
    /// Of `engine` in a row, if it ran.
    pub fn of(results: &Results, workload: &str, engine: &str) -> Option<Figures> {
        let runs: Vec<&Run> = results
            .runs
            .iter()
            .filter(|run| run.workload == workload && run.engine == engine)
            .collect();
        let rate = median(&runs, |run| Some(run.rate()))?;
        let p999 = |run: &Run| {
            let mut latencies = run.latencies.iter();
            latencies.find(|latency| latency.percent == 99.9).map(|latency| latency.micros)
        };
        Some(Figures {
            micros: if rate > 0.0 { 1e6 / rate } else { 0.0 },
            rate,
            p999: median(&runs, p999),
            amplification: median(&runs, |run| Some(run.written.as_ref()?.amplification())),
            space: median(&runs, |run| Some(run.space? as f64)),
            memory: median(&runs, |run| Some(run.peak_memory? as f64)),
            owed: median(&runs, |run| Some(run.owed_bytes? as f64)),
            to_rest: median(&runs, |run| run.seconds_to_rest),
            repetitions: runs.len(),
        })
    }
}

/// The median of what runs tell; of an even number, the mean of the middle two.
fn median(runs: &[&Run], tell: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
    let mut values: Vec<f64> = runs.iter().filter_map(|run| tell(run)).collect();
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        length if length % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// foldb beside what it is measured against.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// What that is: an engine, or a row of foldb's own.
    pub against: String,
    /// foldb's rate over that rate.
    pub ratio: f64,
    /// How many times is needed, and hoped for.
    pub bar: Option<f64>,
    /// See `bar`.
    pub aim: Option<f64>,
    /// foldb's peak memory over the other's, if that is an engine.
    pub memory: Option<f64>,
    /// The other's figures.
    pub other: Figures,
}

impl Standing {
    /// Of foldb in a row, if both ran.
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
            ratio: if other.rate > 0.0 { ours.rate / other.rate } else { 0.0 },
            bar: workload.bar,
            aim: workload.aim,
            memory,
            other,
        })
    }

    /// Whether the bar is cleared, the aim reached. A rate that took too much memory reaches
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

/// A number as people write it in a table: three significant digits or so.
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
