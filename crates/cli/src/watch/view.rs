//! What a stretch of a recording says: rates, times of calls, memory, the tree, and keys.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use foldb::recorder::{RecordedEvent, RecordedSample, Recording, Remarkable};
use foldb::stats::Histogram;
use serde::Serialize;
use serde_json::{Value, json};

use crate::form::escape;

/// The engine times one call in this number, on average.
const CALLS_PER_TIMED: f64 = 63.5;

/// The levels of all trees together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Level {
    pub(crate) level: usize,
    pub(crate) runs: f64,
    pub(crate) tables: f64,
    pub(crate) bytes: f64,
    /// Bytes written into it a second.
    pub(crate) written_per_second: f64,
}

/// The times of the calls of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Calls {
    pub(crate) call: &'static str,
    /// Calls a second. Estimated from the timed ones, except for synced writes.
    pub(crate) per_second: f64,
    pub(crate) median_micros: f64,
    pub(crate) p99_micros: f64,
    pub(crate) longest_micros: f64,
}

/// A key that stood out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Key {
    pub(crate) keyspace: String,
    /// As text, cut after 64 bytes.
    pub(crate) key: String,
    /// Timed calls, microseconds, operands or bytes.
    pub(crate) figure: f64,
}

/// A stretch of a recording.
#[derive(Clone, Debug)]
pub(crate) struct View {
    /// The newest figures.
    pub(crate) last: Option<RecordedSample>,
    /// The figures at the beginning, of the same process.
    first: Option<RecordedSample>,
    pub(crate) calls: Vec<Calls>,
    pub(crate) hot: Vec<Key>,
    pub(crate) slow: Vec<Key>,
    pub(crate) chains: Vec<Key>,
    pub(crate) large: Vec<Key>,
    pub(crate) events: Vec<RecordedEvent>,
}

impl View {
    /// Returns what happened between two moments.
    pub(crate) fn of(recording: &Recording, from: SystemTime, to: SystemTime) -> View {
        let within = |at: SystemTime| at >= from && at <= to;
        let samples = || recording.samples.iter().filter(|sample| within(sample.at()));
        let last = samples().next_back();
        // Rates are those of one process: the counters of a new one may begin lower.
        let session = last.map(RecordedSample::session);
        let first = samples().find(|sample| Some(sample.session()) == session);
        let mut times: BTreeMap<&'static str, Histogram> = BTreeMap::new();
        for calls in recording.calls.iter().filter(|calls| within(calls.at)) {
            times.entry(calls.call.name()).or_default().add(&calls.times);
        }
        let seconds = seconds_between(first, last);
        let keys = |wanted: fn(&Remarkable) -> Option<f64>| keys_of(recording, from, to, wanted);
        View {
            calls: times.iter().map(|(call, times)| calls_of(call, times, seconds)).collect(),
            hot: keys(|why| match why {
                Remarkable::Hot(calls) => Some(*calls as f64),
                _ => None,
            }),
            slow: keys(|why| match why {
                Remarkable::Slow(took) => Some(micros(*took)),
                _ => None,
            }),
            chains: keys(|why| match why {
                Remarkable::LongChain(operands) => Some(*operands as f64),
                _ => None,
            }),
            large: keys(|why| match why {
                Remarkable::Large(bytes) => Some(*bytes as f64),
                _ => None,
            }),
            events: recording.events.iter().filter(|event| within(event.at)).cloned().collect(),
            first: first.cloned(),
            last: last.cloned(),
        }
    }

    /// Returns the newest value of a figure; 0 if it is not recorded.
    pub(crate) fn now(&self, name: &str) -> f64 {
        self.last.as_ref().and_then(|last| last.figure(name)).unwrap_or(0.0)
    }

    /// Returns how much a counter grew.
    pub(crate) fn grown(&self, name: &str) -> f64 {
        let before = self.first.as_ref().and_then(|first| first.figure(name)).unwrap_or(0.0);
        (self.now(name) - before).max(0.0)
    }

    /// Returns how much a counter grew a second.
    pub(crate) fn rate(&self, name: &str) -> f64 {
        match self.seconds() {
            seconds if seconds > 0.0 => self.grown(name) / seconds,
            _ => 0.0,
        }
    }

    /// Returns the seconds between the first and the last figures.
    pub(crate) fn seconds(&self) -> f64 {
        seconds_between(self.first.as_ref(), self.last.as_ref())
    }

    /// Returns the levels.
    pub(crate) fn levels(&self) -> Vec<Level> {
        let figure =
            |family: &str, level: usize| format!("foldb_level_{family}{{level=\"{level}\"}}");
        let is_there = |level: &usize| {
            self.last.as_ref().is_some_and(|last| last.figure(&figure("runs", *level)).is_some())
        };
        let of = |level| Level {
            level,
            runs: self.now(&figure("runs", level)),
            tables: self.now(&figure("tables", level)),
            bytes: self.now(&figure("bytes", level)),
            written_per_second: self.rate(&figure("written_bytes_total", level)),
        };
        (0..).take_while(is_there).map(of).collect()
    }

    /// Returns the figures of a family with a label, for example memory by item.
    pub(crate) fn labelled(&self, family: &str) -> Vec<(String, f64)> {
        let Some(last) = &self.last else { return Vec::new() };
        let of = |(name, value): (&str, f64)| {
            let label = name.strip_prefix(family)?.strip_prefix('{')?;
            let (_, label) = label.split_once('=')?;
            Some((label.trim_end_matches('}').trim_matches('"').to_owned(), value))
        };
        last.figures().filter_map(of).collect()
    }

    /// Returns the view as JSON, for programs.
    pub(crate) fn to_json(&self) -> Value {
        let figures: serde_json::Map<String, Value> = match &self.last {
            Some(last) => {
                last.figures().map(|(name, value)| (name.to_owned(), json!(value))).collect()
            }
            None => serde_json::Map::new(),
        };
        let rates = RATES.map(|(name, figure)| (name.to_owned(), json!(self.rate(figure))));
        json!({
            "at": self.last.as_ref().map(|last| seconds_since_1970(last.at())),
            "seconds": self.seconds(),
            "rates": serde_json::Map::from_iter(rates),
            "calls": self.calls,
            "levels": self.levels(),
            "figures": figures,
            "hot_keys": self.hot,
            "slow_keys": self.slow,
            "long_chains": self.chains,
            "large_entries": self.large,
            "events": self.events.iter().map(event_json).collect::<Vec<_>>(),
        })
    }
}

/// The rates that a view shows first.
pub(crate) const RATES: [(&str, &str); 8] = [
    ("puts", "foldb_puts_total"),
    ("merges", "foldb_merges_total"),
    ("deletes", "foldb_deletes_total"),
    ("user_bytes", "foldb_user_bytes_total"),
    ("log_bytes", "foldb_log_bytes_total"),
    ("flush_bytes", "foldb_flush_bytes_total"),
    ("compaction_bytes", "foldb_compaction_bytes_total"),
    ("stall_seconds", "foldb_stall_seconds_total"),
];

/// Returns an event as JSON.
pub(crate) fn event_json(event: &RecordedEvent) -> Value {
    json!({
        "at": seconds_since_1970(event.at),
        "name": event.name,
        "keyspace": event.keyspace,
        "detail": event.detail,
        "count": event.count,
        "total_micros": event.total.as_micros() as u64,
        "longest_micros": event.longest.as_micros() as u64,
        "bytes_read": event.bytes_read,
        "bytes_written": event.bytes_written,
        "level": event.level,
    })
}

pub(crate) fn seconds_since_1970(at: SystemTime) -> f64 {
    at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

fn seconds_between(first: Option<&RecordedSample>, last: Option<&RecordedSample>) -> f64 {
    let (Some(first), Some(last)) = (first, last) else { return 0.0 };
    last.at().duration_since(first.at()).unwrap_or_default().as_secs_f64()
}

fn calls_of(call: &'static str, times: &Histogram, seconds: f64) -> Calls {
    let timed = times.count() as f64;
    let all = if call == "synced_write" { timed } else { timed * CALLS_PER_TIMED };
    let at = |share: f64| micros(times.quantile(share));
    Calls {
        call,
        per_second: if seconds > 0.0 { all / seconds } else { 0.0 },
        median_micros: at(0.5),
        p99_micros: at(0.99),
        longest_micros: at(1.0),
    }
}

/// Returns the keys of a list with the largest figures, each once.
fn keys_of(
    recording: &Recording,
    from: SystemTime,
    to: SystemTime,
    wanted: fn(&Remarkable) -> Option<f64>,
) -> Vec<Key> {
    /// Keys of a list that a view shows.
    const SHOWN: usize = 8;
    let mut largest: BTreeMap<(String, Vec<u8>), f64> = BTreeMap::new();
    // They are written every ten seconds.
    let from = from - Duration::from_secs(20);
    for key in recording.keys.iter().filter(|key| key.at >= from && key.at <= to) {
        if let Some(figure) = wanted(&key.why) {
            let own = largest.entry((key.keyspace.clone(), key.key.clone())).or_insert(0.0);
            *own = own.max(figure);
        }
    }
    let mut keys: Vec<Key> = largest
        .into_iter()
        .map(|((keyspace, key), figure)| Key { keyspace, key: text_of(&key), figure })
        .collect();
    keys.sort_by(|a, b| b.figure.total_cmp(&a.figure));
    keys.truncate(SHOWN);
    keys
}

/// Returns a key as text.
fn text_of(key: &[u8]) -> String {
    let mut text = Vec::new();
    escape::write(key, &mut text).expect("memory takes all bytes");
    String::from_utf8_lossy(&text).into_owned()
}

pub(crate) fn micros(took: Duration) -> f64 {
    took.as_secs_f64() * 1e6
}
