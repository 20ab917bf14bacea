//! The series that a page must show, computed from the results alone, without the page's code.

use std::collections::BTreeMap;

use foldb_report::results::{Results, Run};

/// Plot, workload (or group, or nothing) and name of a series, with its number of values.
pub(crate) type Series = BTreeMap<(String, String, String), usize>;

/// The series of the page of `results`; it has growth workloads named `growth/NAME-SIZE` only.
pub(crate) fn series(results: &Results) -> Series {
    let mut series = Series::new();
    let mut add = |plot: &str, workload: &str, name: &str, points: usize| {
        if points > 0 {
            *series.entry((plot.into(), workload.into(), name.into())).or_default() += points;
        }
    };
    for run in &results.runs {
        let (workload, engine) = (run.workload.as_str(), run.engine.as_str());
        let latencies = run.latencies.len() + usize::from(run.slowest_micros.is_some());
        add("rate", workload, engine, 1);
        add("latency", workload, engine, latencies);
        add("write-amplification", workload, engine, usize::from(run.written.is_some()));
        add("space", workload, engine, usize::from(run.space.is_some()));
        add("memory", workload, engine, usize::from(run.peak_memory.is_some()));
        let name = format!("{engine} {}", run.repetition);
        add("timeline", workload, &name, run.timeline.len());
        if !run.timeline.is_empty() && has_median_rate(run, results) {
            for event in &run.events {
                add("timeline", workload, &format!("{name} {}", event.kind), 1);
            }
        }
        if let Some((group, _size)) =
            workload.strip_prefix("growth/").and(workload.rsplit_once('-'))
        {
            add("growth", group, engine, 1);
        }
    }
    let ran = |workload: &str, engine: &str| {
        results.runs.iter().any(|run| run.workload == workload && run.engine == engine)
    };
    for workload in &results.workloads {
        let subject = results.engines[0].name.as_str();
        let Some(peer) = &workload.peer else { continue };
        // The peer is an engine, or a workload in which the subject is compared with itself.
        let both =
            ran(&workload.name, subject) && (ran(&workload.name, peer) || ran(peer, subject));
        add("ratio", "", subject, usize::from(both));
    }
    add("probe-write", "", "synced write", results.probes.len());
    add("probe-sync", "", "longest fdatasync", results.probes.len());
    series
}

/// Returns whether half of the repetitions are slower and half faster; of two in the middle, the
/// slower.
fn has_median_rate(run: &Run, results: &Results) -> bool {
    let same = |other: &&Run| other.workload == run.workload && other.engine == run.engine;
    let all: Vec<&Run> = results.runs.iter().filter(same).collect();
    let slower = all.iter().filter(|other| other.rate() < run.rate()).count();
    slower == (all.len() - 1) / 2
}
