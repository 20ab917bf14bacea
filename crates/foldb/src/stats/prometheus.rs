//! Statistics in Prometheus' text format, version 0.0.4, and as OpenMetrics.

use std::fmt::{Display, Write as _};

use crate::stats::Stats;
use crate::stats::figures::FigureKind;
use crate::stats::latency::Histogram;

impl Stats {
    /// Returns the statistics in the format that Prometheus scrapes. Counters are named
    /// `foldb_NAME_total` and gauges `foldb_NAME`. Labels: `item` for memory, `level` for levels,
    /// `keyspace` for keyspaces. Times are in seconds, except for the pace: microseconds for each
    /// MiB.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// db.put("key", "value")?;
    /// let text = db.stats().to_prometheus();
    /// assert!(text.contains("# TYPE foldb_puts_total counter\nfoldb_puts_total 1\n"));
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn to_prometheus(&self) -> String {
        self.metrics(Format::Prometheus)
    }

    /// Returns the statistics as OpenMetrics text, version 1.0.0, with the names of
    /// [`Stats::to_prometheus`].
    ///
    /// # Example
    /// ```
    /// let text = foldb::stats::Stats::default().to_openmetrics();
    /// assert!(text.contains("# TYPE foldb_puts counter\nfoldb_puts_total 0\n"));
    /// assert!(text.ends_with("# EOF\n"));
    /// ```
    pub fn to_openmetrics(&self) -> String {
        self.metrics(Format::OpenMetrics)
    }

    fn metrics(&self, format: Format) -> String {
        let mut text = String::new();
        for family in self.families() {
            let kind = match family.kind {
                FigureKind::Counter | FigureKind::Micros => "counter",
                FigureKind::Gauge => "gauge",
            };
            let name = match format {
                Format::Prometheus => &family.name,
                // The samples of a counter have the suffix, but not its family.
                Format::OpenMetrics => family.name.trim_end_matches("_total"),
            };
            describe(&mut text, name, kind, family.help);
            for (label, value) in family.figures {
                let label = label.map_or(String::new(), |(name, value)| {
                    format!("{{{name}={}}}", quoted(&value))
                });
                let name = format!("{}{label}", family.name);
                match family.kind {
                    FigureKind::Micros => sample(&mut text, &name, value as f64 / 1e6),
                    FigureKind::Counter | FigureKind::Gauge => sample(&mut text, &name, value),
                }
            }
        }
        self.write_latencies(&mut text);
        if format == Format::OpenMetrics {
            text.push_str("# EOF\n");
        }
        text
    }

    fn write_latencies(&self, text: &mut String) {
        let help = "How long calls took: a sample of the calls since the open.";
        describe(text, LATENCY, "histogram", help);
        for (call, histogram) in self.latencies.calls() {
            write_histogram(text, call.name(), histogram);
        }
    }
}

/// A text format.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Prometheus,
    OpenMetrics,
}

/// The name of the histograms of calls.
const LATENCY: &str = "foldb_call_seconds";

/// Writes a histogram whose buckets end at powers of four nanoseconds, from 256 ns to 17 s.
fn write_histogram(text: &mut String, call: &str, histogram: &Histogram) {
    let ends = (4..=17).map(|power| 1u64 << (2 * power));
    for end in ends {
        let le = end as f64 / 1e9;
        let below = histogram.count_below(end);
        sample(text, &format!("{LATENCY}_bucket{{call=\"{call}\",le=\"{le}\"}}"), below);
    }
    let count = histogram.count();
    sample(text, &format!("{LATENCY}_bucket{{call=\"{call}\",le=\"+Inf\"}}"), count);
    let sum = histogram.sum().as_secs_f64();
    sample(text, &format!("{LATENCY}_sum{{call=\"{call}\"}}"), sum);
    sample(text, &format!("{LATENCY}_count{{call=\"{call}\"}}"), count);
}

/// Returns a label's value in quotes.
fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

fn describe(text: &mut String, name: &str, kind: &str, help: &str) {
    writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}")
        .expect("writing to a String never fails");
}

fn sample(text: &mut String, name: &str, value: impl Display) {
    writeln!(text, "{name} {value}").expect("writing to a String never fails");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{KeyspaceStats, LevelShape, LevelStats};

    #[test]
    fn every_line_is_a_comment_or_a_sample_of_the_family_before_it() {
        let stats = Stats { levels: vec![LevelStats::default(); 2], ..Stats::default() };
        let text = stats.to_prometheus();
        let mut family = "";
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                family = rest.split_once(' ').unwrap().0;
            } else if !line.starts_with("# HELP ") {
                let (name, value) = line.rsplit_once(' ').unwrap();
                let name = name.split('{').next().unwrap();
                let parts = ["", "_bucket", "_sum", "_count"];
                let is_of = |part: &str| name.strip_suffix(part) == Some(family);
                assert!(parts.iter().any(|part| is_of(part)), "{line}");
                value.parse::<f64>().unwrap();
            }
        }
        assert!(text.ends_with('\n'));
    }

    #[test]
    fn keyspaces_are_labels() {
        let levels = vec![LevelShape { runs: 3, ..LevelShape::default() }; 2];
        let own = KeyspaceStats {
            name: r#"a "b" \c"#.to_owned(),
            levels,
            memtable_bytes: 5,
            ..KeyspaceStats::default()
        };
        let text = Stats { keyspaces: vec![own], ..Stats::default() }.to_prometheus();
        let label = r#"{keyspace="a \"b\" \\c"}"#;
        assert!(text.contains(&format!("\nfoldb_keyspace_runs{label} 6\n")), "{text}");
        assert!(text.contains(&format!("\nfoldb_keyspace_memtable_bytes{label} 5\n")), "{text}");
    }

    #[test]
    fn levels_are_labels_and_stalls_are_seconds() {
        let level = LevelStats { runs: 3, ..LevelStats::default() };
        let levels = vec![LevelStats::default(), level];
        let stats = Stats { levels, stall_micros: 1_500_000, ..Stats::default() };
        let text = stats.to_prometheus();
        assert!(text.contains("\nfoldb_level_runs{level=\"1\"} 3\n"), "{text}");
        assert!(text.contains("\nfoldb_stall_seconds_total 1.5\n"), "{text}");
    }
}
