//! The cases that a command line asks for, in the order of the runs, and their expected time.
//!
//! Cases that share their data follow each other, so that the data is made once.

use std::time::Duration;

use foldb_report::merges::MergeCase;

use crate::arguments::{Settings, Subcommand};
use crate::dataset::{
    ALONE, BUDGETS, Budget, DATASETS, DEFAULT_BUDGET, Dataset, Pattern, STANDARD, WORKLOADS,
    Workload,
};
use crate::plan::Plan;

/// One row of the tables.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The subcommand of the case.
    pub subcommand: &'static str,
    pub data: Data,
    pub workload: Workload,
    pub budget: Budget,
    /// Whether the load first runs without a garbage collection.
    pub has_baseline: bool,
    pub sync: bool,
    pub sample_every: u64,
    pub repetitions: u32,
}

/// The data on disk before the garbage collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Data {
    pub dataset: Dataset,
    pub pattern: Pattern,
    pub scatter: bool,
    pub hint: bool,
}

/// How long loads run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    /// Time of the load without a garbage collection, in cases with a baseline.
    pub baseline: Duration,
    /// Least time of the load during garbage collections.
    pub load: Duration,
}

/// The lengths of the runs for published tables.
pub(crate) const LENGTHS: Lengths =
    Lengths { baseline: Duration::from_secs(3), load: Duration::from_secs(3) };

/// Returns the cases of a command line.
pub(crate) fn cases(settings: &Settings) -> Vec<Case> {
    if settings.subcommand != Subcommand::All {
        return of_subcommand(settings, settings.subcommand);
    }
    let every_dataset = settings.datasets.clone().unwrap_or(DATASETS.to_vec());
    let both_hints = settings.hints.clone().unwrap_or(vec![true, false]);
    let standard = Settings {
        datasets: Some(every_dataset.clone()),
        hints: Some(both_hints),
        ..settings.clone()
    };
    // Loads take most of the time, and differ little between patterns.
    let baseline = settings.workloads.clone().unwrap_or(WORKLOADS[..1].to_vec());
    let plain = Settings { workloads: Some(baseline), ..settings.clone() };
    let scattered = Settings { datasets: Some(every_dataset), scatter: true, ..plain.clone() };
    let mut all = of_subcommand(&standard, Subcommand::Standard);
    if !settings.scatter {
        all.extend(of_subcommand(&scattered, Subcommand::Standard));
    }
    for subcommand in [Subcommand::Patterns, Subcommand::MemoryBudget, Subcommand::MemoryOptimal] {
        all.extend(of_subcommand(&plain, subcommand));
    }
    for subcommand in [Subcommand::Concurrent, Subcommand::Degradation] {
        all.extend(of_subcommand(settings, subcommand));
    }
    all
}

fn of_subcommand(settings: &Settings, subcommand: Subcommand) -> Vec<Case> {
    let own = Own::of(settings, subcommand);
    let mut cases = Vec::new();
    for &dataset in settings.datasets.as_deref().unwrap_or(&DATASETS[..1]) {
        for &pattern in &own.patterns {
            for &hint in settings.hints.as_deref().unwrap_or(&[true]) {
                let data = Data { dataset, pattern, scatter: settings.scatter, hint };
                for &workload in &own.workloads {
                    cases.extend(own.budgets.iter().map(|&budget| Case {
                        subcommand: own.name,
                        data,
                        workload,
                        budget,
                        has_baseline: own.has_baseline,
                        sync: settings.sync,
                        sample_every: settings.sample_every,
                        repetitions: settings.repetitions,
                    }));
                }
            }
        }
    }
    cases
}

/// The settings of one subcommand.
struct Own {
    name: &'static str,
    patterns: Vec<Pattern>,
    workloads: Vec<Workload>,
    budgets: Vec<Budget>,
    has_baseline: bool,
}

impl Own {
    fn of(settings: &Settings, subcommand: Subcommand) -> Own {
        let or = |workloads: &[Workload]| settings.workloads.clone().unwrap_or(workloads.to_vec());
        let budgets = |default: &[Budget]| settings.budgets.clone().unwrap_or(default.to_vec());
        let standard = Own {
            name: "standard",
            patterns: vec![STANDARD],
            workloads: or(&WORKLOADS),
            budgets: budgets(&[DEFAULT_BUDGET]),
            has_baseline: false,
        };
        let memory = |name| Own {
            name,
            patterns: vec![STANDARD],
            workloads: or(&WORKLOADS[..1]),
            budgets: budgets(&BUDGETS),
            has_baseline: false,
        };
        match subcommand {
            Subcommand::Standard | Subcommand::All => standard,
            Subcommand::Patterns => {
                Own { name: "patterns", patterns: settings.patterns.clone(), ..standard }
            }
            Subcommand::MemoryBudget => memory("memory-budget"),
            Subcommand::MemoryOptimal => memory("memory-optimal"),
            Subcommand::Concurrent => Own {
                name: "concurrent",
                workloads: settings.scenarios.clone(),
                has_baseline: true,
                ..standard
            },
            Subcommand::Degradation => Own {
                name: "degradation",
                workloads: ALONE.to_vec(),
                has_baseline: true,
                ..standard
            },
        }
    }
}

impl Case {
    /// Returns the case as results store it.
    pub(crate) fn described(&self) -> MergeCase {
        MergeCase {
            subcommand: self.subcommand.to_owned(),
            dataset: self.data.dataset.name.to_owned(),
            workload: self.workload.name.to_owned(),
            hint: if self.data.hint { "on" } else { "off" }.to_owned(),
            pattern: self.data.pattern.name.to_owned(),
            scatter: self.data.scatter,
            sync: self.sync,
            budget_bytes: self.budget.bytes,
            readers: self.workload.readers,
            writers: self.workload.writers,
            sample_every: self.sample_every,
        }
    }

    /// Returns the case in a few words, for progress output.
    pub(crate) fn name(&self) -> String {
        let Data { dataset, pattern, scatter, hint } = self.data;
        let mut name = format!("{}: {}, {}", self.subcommand, dataset.name, self.workload.name);
        name.push_str(if hint { ", hint on" } else { ", hint off" });
        if pattern != STANDARD {
            name.push_str(&format!(", {}", pattern.name));
        }
        if scatter {
            name.push_str(", scattered");
        }
        if self.subcommand.starts_with("memory") {
            name.push_str(&format!(", {}", self.budget.name));
        }
        name
    }

    pub(crate) fn has_load(&self) -> bool {
        self.workload.readers + self.workload.writers > 0
    }
}

/// The assumed speed of the machine, for [`expected`]: low on purpose, so that runs end early
/// rather than late.
mod speed {
    /// Records written per second.
    pub(super) const PREPARED: f64 = 250_000.0;
    /// Bytes copied and synced per second.
    pub(super) const COPIED: f64 = 250e6;
    /// Bytes of segments collected per second.
    pub(super) const MERGED: f64 = 400e6;
    /// Keys verified per second by reading each.
    pub(super) const VERIFIED: f64 = 350_000.0;
    /// Keys verified per second in order.
    pub(super) const SCANNED: f64 = 1_500_000.0;
    /// Seconds for each copy whatever its size: opening, closing, syncing.
    pub(super) const OVERHEAD: f64 = 0.05;
}

/// Estimates the time of a case whose data exists.
pub(crate) fn expected(case: &Case, lengths: Lengths) -> Duration {
    once(case, lengths).mul_f64(f64::from(case.repetitions))
}

/// Estimates the time of one repetition.
pub(crate) fn once(case: &Case, lengths: Lengths) -> Duration {
    let (keys, records) = sizes(case.data);
    let bytes = records * (case.data.dataset.value_len + 30) as f64;
    let merge = 0.015 + bytes / speed::MERGED;
    let load = lengths.load.as_secs_f64();
    let merges = if case.has_load() { (load / merge).ceil().max(1.0) } else { 1.0 };
    let each = merge + bytes / speed::COPIED + keys / speed::SCANNED + speed::OVERHEAD;
    let baseline = if case.has_baseline { lengths.baseline.as_secs_f64() } else { 0.0 };
    Duration::from_secs_f64(merges * each + baseline + keys / speed::VERIFIED)
}

/// Estimates the time of making the data.
pub(crate) fn preparation(data: Data) -> Duration {
    Duration::from_secs_f64(sizes(data).1 / speed::PREPARED)
}

/// Returns the numbers of keys and of records.
fn sizes(data: Data) -> (f64, f64) {
    let of = |percent: u64| data.dataset.entries as f64 * percent as f64 / 100.0;
    let keys = of(100 + data.pattern.appended);
    (keys, keys + of(data.pattern.overwritten))
}

/// Returns the plan for this data.
pub(crate) fn plan(data: Data) -> Plan {
    Plan::new(data.dataset, data.pattern, data.scatter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Request, parse};

    fn names(words: &str) -> Vec<String> {
        let words = words.split_whitespace().map(Into::into);
        let Ok(Request::Run(settings)) = parse(words) else { panic!("not understood") };
        cases(&settings).iter().map(Case::name).collect()
    }

    #[test]
    fn standard_goes_through_all_loads_of_the_small_data() {
        assert_eq!(
            names("merge_bench standard"),
            ["baseline", "read", "write", "readwrite"]
                .map(|load| format!("standard: small-100k-128b, {load}, hint on"))
        );
        assert_eq!(names("merge_bench standard --dataset all --hint both").len(), 24);
    }

    #[test]
    fn cases_that_share_their_data_follow_each_other() {
        let words = "merge_bench all".split_whitespace().map(Into::into);
        let Ok(Request::Run(settings)) = parse(words) else { panic!("not understood") };
        let data: Vec<Data> = cases(&settings).iter().map(|case| case.data).collect();
        let made = data.chunk_by(|a, b| a == b).count();
        assert!(made <= 6 + 3 + 4 + 1, "made {made} times");
    }

    #[test]
    fn each_subcommand_has_its_own_rows() {
        assert_eq!(names("merge_bench patterns --workload baseline").len(), 4);
        assert_eq!(names("merge_bench patterns").len(), 16);
        assert_eq!(
            names("merge_bench memory-budget"),
            ["16MB", "64MB", "256MB", "1GB"].map(|budget| format!(
                "memory-budget: small-100k-128b, baseline, hint on, {budget}"
            ))
        );
        assert_eq!(names("merge_bench memory-optimal --budget 16MB").len(), 1);
        assert_eq!(
            names("merge_bench concurrent --scatter"),
            ["read-heavy", "write-heavy", "balanced"]
                .map(|load| format!("concurrent: small-100k-128b, {load}, hint on, scattered"))
        );
        assert_eq!(names("merge_bench degradation").len(), 2);
    }

    #[test]
    fn all_is_everything_and_fits_its_time() {
        let words = "merge_bench all".split_whitespace().map(Into::into);
        let Ok(Request::Run(settings)) = parse(words) else { panic!("not understood") };
        let cases = cases(&settings);
        let of = |name: &str| cases.iter().filter(|case| case.subcommand == name).count();
        let counts = [
            "standard",
            "patterns",
            "memory-budget",
            "memory-optimal",
            "concurrent",
            "degradation",
        ];
        assert_eq!(counts.map(of), [24 + 3, 4, 4, 4, 3, 2]);
        let time: Duration = cases.iter().map(|case| expected(case, LENGTHS)).sum();
        assert!(time < crate::deadline::LIMIT, "{time:?}");
    }
}
