//! Samples: the figures that changed since the last one.

use std::collections::HashMap;

use crate::recording::format::Record;
use crate::stats::{Latencies, Stats};

/// What the current file knows already.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The numbers of the series by name, and their last values.
    series: HashMap<String, usize>,
    values: Vec<u64>,
    latencies: Latencies,
}

/// Most series of a recording. A database of thousands of keyspaces has the first ones recorded.
const MOST_SERIES: usize = 1000;

impl Known {
    /// Returns what a new file of the same process knows: it tells all figures anew. Times of calls
    /// are told once.
    pub(super) fn of_next_file(self) -> Known {
        Known { latencies: self.latencies, ..Known::default() }
    }

    /// Adds the records of a sample. Returns whether any figure changed.
    pub(super) fn sample(&mut self, micros: u64, stats: &Stats, out: &mut Vec<u8>) -> bool {
        let mut changes = Vec::new();
        let mut seen = vec![false; self.values.len()];
        for family in stats.families() {
            for (label, value) in &family.figures {
                let name = match label {
                    Some((label, of)) => format!("{}{{{label}=\"{of}\"}}", family.name),
                    None => family.name.clone().into_owned(),
                };
                let series = match self.series.get(&name) {
                    Some(series) => *series,
                    None if self.values.len() >= MOST_SERIES => continue,
                    None => {
                        Record::Series { kind: family.kind, name: &name }.encode(out);
                        self.series.insert(name, self.values.len());
                        self.values.push(0);
                        seen.push(false);
                        self.values.len() - 1
                    }
                };
                seen[series] = true;
                self.change(series, *value, &mut changes);
            }
        }
        // The figures of a dropped keyspace are gone.
        for series in (0..seen.len()).filter(|series| !seen[*series]) {
            self.change(series, 0, &mut changes);
        }
        let changed = !changes.is_empty();
        if changed {
            Record::Sample { micros, changes }.encode(out);
        }
        self.calls(micros, &stats.latencies, out) || changed
    }

    fn change(&mut self, series: usize, value: u64, changes: &mut Vec<(u64, i64)>) {
        let last = std::mem::replace(&mut self.values[series], value);
        if last != value {
            changes.push((series as u64, value.wrapping_sub(last) as i64));
        }
    }

    fn calls(&mut self, micros: u64, latencies: &Latencies, out: &mut Vec<u8>) -> bool {
        let mut changed = false;
        for ((call, now), (_, last)) in latencies.calls().zip(self.latencies.calls()) {
            let pairs = now.buckets.iter().zip(&last.buckets[..]).enumerate();
            let grown = pairs.filter(|(_, (now, last))| now > last);
            let buckets: Vec<(u64, u64)> =
                grown.map(|(bucket, (now, last))| (bucket as u64, now - last)).collect();
            if !buckets.is_empty() {
                let nanos = now.nanos.wrapping_sub(last.nanos);
                Record::Calls { micros, call: call.name(), nanos, buckets }.encode(out);
                changed = true;
            }
        }
        self.latencies = latencies.clone();
        changed
    }
}
