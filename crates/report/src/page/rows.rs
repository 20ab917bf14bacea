//! Sorts results into the order of the page: workloads, the engines of each, and their runs.
//!
//! Workloads and engines that only runs name come after those that the results list.

use crate::results::{MEMORY_RULE, Results, Run, Workload};

/// All workloads, and the engine that is compared.
pub(crate) struct Rows<'a> {
    /// In the order of the results.
    pub all: Vec<Row<'a>>,
    /// The engine that is compared; empty if there is none.
    pub subject: &'a str,
}

/// A workload and the engines that ran it.
pub(crate) struct Row<'a> {
    /// The workload.
    pub workload: Workload,
    /// Name of the row's anchor in the page.
    pub anchor: String,
    /// The engines that ran it.
    pub contenders: Vec<Contender<'a>>,
    /// Listed engines that did not run it.
    pub missing: Vec<&'a str>,
}

/// An engine's runs of one workload, at least one.
pub(crate) struct Contender<'a> {
    /// The engine.
    pub name: &'a str,
    /// Its colour and mark, the same in all plots.
    pub slot: usize,
    /// In the order of the repetitions.
    pub runs: Vec<&'a Run>,
}

/// The ratio of the compared engine's rate to a peer's, or to its own in another workload.
pub(crate) struct Ratio {
    /// Ratio of the medians.
    pub median: f64,
    /// Ratio of the slowest repetition to the other's fastest.
    pub least: f64,
    /// Ratio of the fastest repetition to the other's slowest.
    pub most: f64,
    /// Ratio of the median peak memories, if the other is another engine.
    pub memory: Option<f64>,
}

/// The judgement of a ratio by its workload's bar and aim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// There is no bar.
    Open,
    /// The ratio misses the bar.
    Below,
    /// The ratio reaches the bar, but with more memory than the rule allows.
    TooMuchMemory,
    /// The ratio reaches the bar.
    Bar,
    /// The ratio reaches the aim.
    Aim,
}

/// Engines whose colour does not depend on the other engines.
const KNOWN: [&str; 6] = ["foldb", "rocksdb", "fjall", "leveldb", "mergedb", "rocksdb-universal"];
/// Number of colours.
pub(crate) const SLOTS: usize = 8;

impl<'a> Rows<'a> {
    /// Sorts `results`.
    pub(crate) fn of(results: &'a Results) -> Rows<'a> {
        let engines = engines(results);
        let all = workloads(results)
            .into_iter()
            .enumerate()
            .map(|(i, workload)| Row::of(results, workload, i, &engines))
            .collect();
        Rows { all, subject: engines.first().copied().unwrap_or_default() }
    }

    /// Returns the speeds that `row`'s bar compares with: its peer's, or the subject's own if the
    /// peer names a workload.
    pub(crate) fn peer_speeds(&self, row: &Row<'_>) -> Option<Vec<f64>> {
        let peer = row.workload.peer.as_deref()?;
        let own = || self.all.iter().find(|row| row.workload.name == peer)?.contender(self.subject);
        row.contender(peer).or_else(own).map(|contender| contender.speeds(&row.workload))
    }

    /// Returns the ratio of the subject's rates to the peer's; `None` if either side has no rate.
    pub(crate) fn ratio(&self, row: &Row<'_>) -> Option<Ratio> {
        let ours = row.contender(self.subject)?;
        let ratio = Ratio::of(&ours.speeds(&row.workload), &self.peer_speeds(row)?)?;
        let peer = row.contender(row.workload.peer.as_deref()?);
        let memory = peer.and_then(|peer| Some(ours.peak_memory()? / peer.peak_memory()?.max(1.0)));
        Some(Ratio { memory, ..ratio })
    }
}

/// Returns the listed engines, then those that only runs name.
fn engines(results: &Results) -> Vec<&str> {
    let listed = results.engines.iter().map(|engine| engine.name.as_str());
    let mut engines: Vec<&str> = Vec::new();
    for name in listed.chain(results.runs.iter().map(|run| run.engine.as_str())) {
        if !engines.contains(&name) {
            engines.push(name);
        }
    }
    engines
}

/// Returns the listed workloads, then those that only runs name.
fn workloads(results: &Results) -> Vec<Workload> {
    let mut workloads = results.workloads.clone();
    for run in &results.runs {
        if workloads.iter().all(|workload| workload.name != run.workload) {
            workloads.push(Workload { name: run.workload.clone(), ..Workload::default() });
        }
    }
    workloads
}

fn slot(engine: &str, engines: &[&str]) -> usize {
    match KNOWN.iter().position(|known| *known == engine) {
        Some(slot) => slot,
        None => {
            let unknown = engines.iter().filter(|name| !KNOWN.contains(name));
            let place = unknown.clone().position(|name| *name == engine).unwrap_or_default();
            KNOWN.len() + place % (SLOTS - KNOWN.len())
        }
    }
}

impl<'a> Row<'a> {
    fn of(results: &'a Results, workload: Workload, index: usize, engines: &[&'a str]) -> Row<'a> {
        let (mut contenders, mut missing) = (Vec::new(), Vec::new());
        for name in engines {
            let of_both = |run: &&Run| run.workload == workload.name && run.engine == *name;
            let mut runs: Vec<&Run> = results.runs.iter().filter(of_both).collect();
            runs.sort_by_key(|run| run.repetition);
            match runs.is_empty() {
                true => missing.push(*name),
                false => contenders.push(Contender { name, slot: slot(name, engines), runs }),
            }
        }
        Row { workload, anchor: format!("w{}", index + 1), contenders, missing }
    }

    /// Returns the runs of `engine`, if there are any.
    pub(crate) fn contender(&self, engine: &str) -> Option<&Contender<'a>> {
        self.contenders.iter().find(|contender| contender.name == engine)
    }
}

impl Contender<'_> {
    /// Returns the values of `of` in all runs that have one.
    pub(crate) fn values(&self, of: impl Fn(&Run) -> Option<f64>) -> Vec<f64> {
        self.runs.iter().filter_map(|run| of(run)).filter(|value| value.is_finite()).collect()
    }

    /// Returns the operations per second of each run.
    pub(crate) fn rates(&self) -> Vec<f64> {
        self.values(|run| Some(run.rate()))
    }

    /// Returns what the bar of `workload` compares: rates, or the inverse of a latency.
    fn speeds(&self, workload: &Workload) -> Vec<f64> {
        match workload.percentile {
            Some(percent) => self.values(|run| Some(1e6 / run.latency(percent)?)),
            None => self.rates(),
        }
    }

    /// Returns the median of the peaks of resident memory, in bytes.
    fn peak_memory(&self) -> Option<f64> {
        median(&self.values(|run| Some(run.peak_memory? as f64)))
    }

    /// Returns the run with the median rate, the slower of the middle two.
    pub(crate) fn typical(&self) -> usize {
        let mut order: Vec<usize> = (0..self.runs.len()).collect();
        order.sort_by(|&a, &b| self.runs[a].rate().total_cmp(&self.runs[b].rate()));
        order[(order.len() - 1) / 2]
    }
}

impl Ratio {
    /// Returns the ratio of rates; `None` if a side has no rates or if their median is zero.
    pub(crate) fn of(ours: &[f64], theirs: &[f64]) -> Option<Ratio> {
        let over = |a: Option<f64>, b: Option<f64>| match (a?, b?) {
            (a, b) if b > 0.0 => Some(a / b),
            _ => None,
        };
        Some(Ratio {
            median: over(median(ours), median(theirs))?,
            least: over(least(ours), most(theirs))?,
            most: over(most(ours), least(theirs))?,
            memory: None,
        })
    }

    /// Judges the ratio by `workload`'s bar and aim.
    pub(crate) fn verdict(&self, workload: &Workload) -> Verdict {
        let is_too_large = self.memory.is_some_and(|memory| memory > MEMORY_RULE);
        match self.reached(workload) {
            Verdict::Bar | Verdict::Aim if is_too_large => Verdict::TooMuchMemory,
            reached => reached,
        }
    }

    /// Judges by rates alone.
    fn reached(&self, workload: &Workload) -> Verdict {
        match (workload.bar, workload.aim) {
            (_, Some(aim)) if self.median >= aim => Verdict::Aim,
            (Some(bar), _) if self.median >= bar => Verdict::Bar,
            (None, None) => Verdict::Open,
            _ => Verdict::Below,
        }
    }
}

/// Returns the middle value, or the mean of the middle two.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    match sorted.len() % 2 {
        0 => Some(f64::midpoint(sorted[sorted.len() / 2 - 1], upper)),
        _ => Some(upper),
    }
}

/// Returns the least value.
pub(crate) fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().min_by(f64::total_cmp)
}

/// Returns the largest value.
pub(crate) fn most(values: &[f64]) -> Option<f64> {
    values.iter().copied().max_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Percentile;

    fn run(engine: &str, repetition: u32, operations: u64) -> Run {
        Run {
            workload: "w".into(),
            engine: engine.into(),
            repetition,
            operations,
            seconds: 1.0,
            ..Run::default()
        }
    }

    fn results() -> Results {
        let runs = vec![
            run("foldb", 2, 600),
            run("rocksdb", 1, 100),
            run("foldb", 1, 200),
            run("foldb", 3, 400),
            run("rocksdb", 2, 300),
        ];
        Results { runs, ..Results::default() }
    }

    #[test]
    fn medians_are_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0]), Some(2.5));
    }

    #[test]
    fn runs_come_in_the_order_of_repetitions() {
        let results = results();
        let rows = Rows::of(&results);
        let foldb = rows.all[0].contender("foldb").unwrap();
        assert_eq!(foldb.rates(), [200.0, 600.0, 400.0]);
        assert_eq!(foldb.typical(), 2);
        assert_eq!(rows.subject, "foldb");
    }

    #[test]
    fn a_ratio_is_of_medians_and_tells_how_far_repetitions_are_apart() {
        let mut results = results();
        let (peer, bar) = (Some("rocksdb".into()), Some(2.0));
        results.workloads =
            vec![Workload { name: "w".into(), peer, bar, aim: Some(5.0), ..Workload::default() }];
        let rows = Rows::of(&results);
        let ratio = rows.ratio(&rows.all[0]).unwrap();
        assert_eq!(ratio.median, 2.0);
        assert_eq!((ratio.least, ratio.most), (200.0 / 300.0, 6.0));
        assert_eq!(ratio.verdict(&rows.all[0].workload), Verdict::Bar);
    }

    #[test]
    fn a_rate_that_took_too_much_memory_reaches_nothing() {
        let verdict = |ours: u64, bar: f64| {
            let mut results = results();
            for run in &mut results.runs {
                run.peak_memory = Some(if run.engine == "foldb" { ours } else { 100 });
            }
            let (peer, bar) = (Some("rocksdb".into()), Some(bar));
            let workload = Workload { name: "w".into(), peer, bar, ..Workload::default() };
            results.workloads = vec![workload];
            let rows = Rows::of(&results);
            rows.ratio(&rows.all[0]).unwrap().verdict(&rows.all[0].workload)
        };
        assert_eq!(verdict(125, 2.0), Verdict::Bar);
        assert_eq!(verdict(126, 2.0), Verdict::TooMuchMemory);
        assert_eq!(verdict(126, 3.0), Verdict::Below);
    }

    #[test]
    fn a_bar_of_a_percentile_compares_latencies() {
        let mut results = results();
        for run in &mut results.runs {
            let micros = if run.engine == "foldb" { 20.0 } else { 50.0 };
            run.latencies = vec![Percentile { percent: 99.0, micros }];
        }
        let peer = Some("rocksdb".into());
        let workload =
            Workload { name: "w".into(), peer, percentile: Some(99.0), ..Workload::default() };
        results.workloads = vec![workload];
        let rows = Rows::of(&results);
        assert_eq!(rows.ratio(&rows.all[0]).unwrap().median, 2.5);
    }

    #[test]
    fn without_the_peers_rate_there_is_no_ratio() {
        let mut results = results();
        for run in &mut results.runs {
            run.seconds = if run.engine == "rocksdb" { 0.0 } else { 1.0 };
        }
        let peer = Some("rocksdb".into());
        results.workloads = vec![Workload { name: "w".into(), peer, ..Workload::default() }];
        let rows = Rows::of(&results);
        assert!(rows.ratio(&rows.all[0]).is_none());
    }

    #[test]
    fn a_peer_may_be_the_subject_itself_in_another_workload() {
        let mut results = results();
        let alone = |operations| Run { workload: "alone".into(), ..run("foldb", 1, operations) };
        results.runs.push(alone(200));
        let peer = Some("alone".into());
        results.workloads = vec![Workload { name: "w".into(), peer, ..Workload::default() }];
        let rows = Rows::of(&results);
        assert_eq!(rows.ratio(&rows.all[0]).unwrap().median, 2.0);
        assert!(rows.ratio(&rows.all[1]).is_none());
    }

    #[test]
    fn known_engines_keep_their_colour_and_others_get_one() {
        let engines = ["x", "foldb", "y", "fjall"];
        let slots: Vec<usize> = engines.iter().map(|name| slot(name, &engines)).collect();
        assert_eq!(slots, [6, 0, 7, 2]);
    }
}
