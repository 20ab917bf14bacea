//! The page of `report`: what to draw of a recording. `foldb_report` draws it.

use std::time::{Duration, SystemTime};

use foldb::recorder::{RecordedEvent, RecordedSample, Recording};
use foldb::stats::Call;
use foldb_report::page::recording::{Line, Marks, Plot, Recorded, Table, Unit};
use indicatif::{HumanBytes, HumanCount};

use crate::watch::doctor::{Finding, slowest};
use crate::watch::view::{Key, micros};
use crate::watch::{View, clock};

/// Samples further apart are not joined: the database was idle or closed between them.
const GAP: f64 = 5.0;

/// Marks on the axis of time.
const TICKS: u64 = 4;

/// Returns what the page shows of a stretch of time.
pub(crate) fn recorded(
    title: String,
    recording: &Recording,
    findings: &[Finding],
    (from, to): (SystemTime, SystemTime),
) -> Recorded {
    let view = View::of(recording, from, to);
    let seconds = to.duration_since(from).unwrap_or_default().as_secs_f64().max(1.0);
    let axis = Axis { from, recording };
    let tick = |tick: u64| {
        let second = seconds * (tick as f64 + 0.5) / TICKS as f64;
        (second, clock::time_of_day(from + Duration::from_secs_f64(second)))
    };
    Recorded {
        title,
        facts: facts(recording, &view, (from, to)),
        findings: findings.iter().map(|own| (own.seen.clone(), own.remedy.to_owned())).collect(),
        seconds,
        ticks: (0..TICKS).map(tick).collect(),
        gap: GAP,
        plots: axis.plots(),
        tables: vec![
            levels(&view),
            keyspaces(&view),
            keys("Hottest keys", "timed calls", &view.hot),
            keys("Slowest keys", "µs", &view.slow),
            keys("Longest chains", "operands", &view.chains),
            keys("Largest entries", "bytes", &view.large),
            events(&view),
        ],
    }
}

fn facts(
    recording: &Recording,
    view: &View,
    (from, to): (SystemTime, SystemTime),
) -> Vec<(String, String)> {
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let bytes = |name: &str| HumanBytes(view.now(name) as u64).to_string();
    let tables: f64 = view.levels().iter().map(|level| level.bytes).sum();
    let mut facts = vec![
        fact("from", clock::date_and_time(from)),
        fact("to", clock::date_and_time(to)),
        fact("tables", HumanBytes(tables as u64).to_string()),
        fact("memory budget", bytes("foldb_memory_budget_bytes")),
    ];
    if let Some(session) = recording.sessions.last() {
        let version = format!("foldb {}, process {}", session.version, session.process);
        facts.push(fact("written by", version));
    }
    facts.extend(slowest(view).map(|slowest| fact("slowest timed read", slowest)));
    facts
}

/// The axis of time, and what lies on it.
struct Axis<'a> {
    from: SystemTime,
    recording: &'a Recording,
}

impl Axis<'_> {
    fn second(&self, at: SystemTime) -> f64 {
        at.duration_since(self.from).unwrap_or_default().as_secs_f64()
    }

    fn samples(&self) -> impl Iterator<Item = &RecordedSample> {
        self.recording.samples.iter().filter(|sample| sample.at() >= self.from)
    }

    /// A line of a figure.
    fn gauge(&self, name: &str, figure: &str) -> Line {
        let point =
            |sample: &RecordedSample| Some((self.second(sample.at()), sample.figure(figure)?));
        Line { name: name.to_owned(), points: self.samples().filter_map(point).collect() }
    }

    /// A line of how fast a counter grows, between two samples of one process.
    fn rate(&self, name: &str, figure: &str) -> Line {
        let pairs = self.samples().zip(self.samples().skip(1));
        let point = |(before, after): (&RecordedSample, &RecordedSample)| {
            let seconds = self.second(after.at()) - self.second(before.at());
            let grown = after.figure(figure)? - before.figure(figure).unwrap_or(0.0);
            let is_rate = before.session() == after.session() && seconds > 0.0;
            is_rate.then(|| (self.second(after.at()), grown.max(0.0) / seconds))
        };
        Line { name: name.to_owned(), points: pairs.filter_map(point).collect() }
    }

    /// A line of a quantile of the times of a call.
    fn times(&self, name: &str, call: Call, share: f64) -> Line {
        let calls = self.recording.calls.iter();
        let own = calls.filter(|calls| calls.call == call && calls.at >= self.from);
        let point = |calls: &foldb::recorder::RecordedCalls| {
            (self.second(calls.at), micros(calls.times.quantile(share)))
        };
        Line { name: name.to_owned(), points: own.map(point).collect() }
    }

    /// Lines of the figures of a family that differ in a label.
    fn labelled(&self, family: &str) -> Vec<Line> {
        let prefix = format!("{family}{{");
        let Some(last) = self.samples().last() else { return Vec::new() };
        let names = last.figures().map(|(name, _)| name).filter(|name| name.starts_with(&prefix));
        let mut lines: Vec<Line> = names
            .map(|figure| {
                let label = figure.split('"').nth(1).unwrap_or_default();
                self.gauge(&label.replace('_', " "), figure)
            })
            .collect();
        lines.retain(|line| line.points.iter().any(|(_, value)| *value > 0.0));
        let most = |line: &Line| line.points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
        lines.sort_by(|a, b| most(b).total_cmp(&most(a)));
        lines.truncate(6);
        lines
    }

    fn marks(&self, name: &str) -> Marks {
        let own = self.recording.events.iter();
        let own = own.filter(|event| event.name == name && event.at >= self.from);
        let span = |event: &RecordedEvent| {
            let end = self.second(event.at);
            // Events of one second may overlap, so they mark that second at most.
            ((end - event.total.as_secs_f64().min(1.0)).max(0.0), end)
        };
        Marks { kind: name.to_owned(), spans: own.map(span).collect() }
    }

    fn plot(&self, title: &str, unit: Unit, lines: Vec<Line>) -> Plot {
        let marks = ["stall", "compaction"].map(|name| self.marks(name)).into();
        Plot { title: title.to_owned(), unit, lines, marks }
    }

    fn rates(&self, lines: &[(&str, &str)]) -> Vec<Line> {
        let mut lines: Vec<Line> =
            lines.iter().map(|(name, figure)| self.rate(name, figure)).collect();
        // Lines at zero would hide the others.
        let is_busy = |line: &Line| line.points.iter().any(|(_, value)| *value > 0.0);
        if lines.iter().any(is_busy) {
            lines.retain(is_busy);
        }
        lines
    }

    fn plots(&self) -> Vec<Plot> {
        self.plots_of_calls().into_iter().chain(self.plots_of_work()).collect()
    }

    fn plots_of_calls(&self) -> [Plot; 4] {
        let writes = self.rates(&[
            ("puts", "foldb_puts_total"),
            ("merges", "foldb_merges_total"),
            ("deletes", "foldb_deletes_total"),
        ]);
        let times_of_writes = vec![
            self.times("median", Call::Write, 0.5),
            self.times("P99", Call::Write, 0.99),
            self.times("P99 with sync", Call::SyncedWrite, 0.99),
        ];
        let times_of_reads = vec![
            self.times("get median", Call::Get, 0.5),
            self.times("get P99", Call::Get, 0.99),
            self.times("seek P99", Call::Seek, 0.99),
        ];
        let waited = vec![self.rate("stalled", "foldb_stall_seconds_total")];
        [
            self.plot("Writes", Unit::Rate, writes),
            self.plot("Times of writes", Unit::Micros, times_of_writes),
            self.plot("Times of reads", Unit::Micros, times_of_reads),
            self.plot("Time that writers waited", Unit::Share, waited),
        ]
    }

    fn plots_of_work(&self) -> [Plot; 6] {
        let written = self.rates(&[
            ("log", "foldb_log_bytes_total"),
            ("flushes", "foldb_flush_bytes_total"),
            ("compactions", "foldb_compaction_bytes_total"),
        ]);
        let levels = self.labelled("foldb_level_bytes").into_iter();
        let levels = levels.map(|line| Line { name: format!("level {}", line.name), ..line });
        let debt = vec![self.gauge("debt", "foldb_compaction_debt_bytes")];
        let runs = vec![self.gauge("runs", "foldb_level_runs{level=\"0\"}")];
        let blocks = self.rates(&[
            ("in the cache", "foldb_block_cache_hits_total"),
            ("read", "foldb_block_cache_misses_total"),
        ]);
        [
            self.plot("Written", Unit::BytesPerSecond, written),
            self.plot("Compaction debt", Unit::Bytes, debt),
            self.plot("The tree", Unit::Bytes, levels.collect()),
            self.plot("Runs of level 0", Unit::Count, runs),
            self.plot("Memory", Unit::Bytes, self.labelled("foldb_memory_bytes")),
            self.plot("Blocks", Unit::Rate, blocks),
        ]
    }
}

fn table(title: &str, heads: &[&str], rows: Vec<Vec<String>>) -> Table {
    let heads = heads.iter().map(|head| (*head).to_owned()).collect();
    Table { title: title.to_owned(), heads, rows }
}

fn levels(view: &View) -> Table {
    let row = |level: crate::watch::view::Level| {
        vec![
            format!("level {}", level.level),
            format!("{}", level.runs),
            format!("{}", level.tables),
            HumanBytes(level.bytes as u64).to_string(),
            format!("{}/s", HumanBytes(level.written_per_second as u64)),
        ]
    };
    let rows = view.levels().into_iter().map(row).collect();
    table("The tree now", &["level", "runs", "tables", "bytes", "written"], rows)
}

fn keyspaces(view: &View) -> Table {
    let runs = view.labelled("foldb_keyspace_runs");
    let row = |(name, bytes): (String, f64)| {
        let own = runs.iter().find(|(other, _)| *other == name).map_or(0.0, |(_, runs)| *runs);
        let memtable = view.now(&format!("foldb_keyspace_memtable_bytes{{keyspace=\"{name}\"}}"));
        let shown = |bytes: f64| HumanBytes(bytes as u64).to_string();
        vec![name, shown(bytes), shown(memtable), format!("{own}")]
    };
    let rows = view.labelled("foldb_keyspace_bytes").into_iter().map(row).collect();
    table("Keyspaces now", &["keyspace", "tables", "memtables", "runs"], rows)
}

fn keys(title: &str, figure: &str, keys: &[Key]) -> Table {
    let row = |own: &Key| {
        let figure = HumanCount(own.figure as u64).to_string();
        vec![own.key.clone(), own.keyspace.clone(), figure]
    };
    table(title, &["key", "keyspace", figure], keys.iter().map(row).collect())
}

/// The kinds of events, summed.
fn events(view: &View) -> Table {
    let mut sums: Vec<(String, RecordedEvent)> = Vec::new();
    for event in &view.events {
        // Compactions and stalls are told apart by their reasons. Details of others differ.
        let name = match event.name.as_str() {
            "compaction" | "stall" => format!("{}: {}", event.name, event.detail),
            name => name.to_owned(),
        };
        match sums.iter_mut().find(|(own, _)| *own == name) {
            Some((_, sum)) => {
                sum.count += event.count;
                sum.total += event.total;
                sum.longest = sum.longest.max(event.longest);
                sum.bytes_read += event.bytes_read;
                sum.bytes_written += event.bytes_written;
            }
            None => sums.push((name, event.clone())),
        }
    }
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.total));
    let row = |(name, sum): (String, RecordedEvent)| {
        vec![
            name,
            HumanCount(sum.count).to_string(),
            format!("{:.1?}", sum.total),
            format!("{:.1?}", sum.longest),
            HumanBytes(sum.bytes_read).to_string(),
            HumanBytes(sum.bytes_written).to_string(),
        ]
    };
    let heads = ["event", "count", "time", "longest", "read", "written"];
    table("Events", &heads, sums.into_iter().map(row).collect())
}
