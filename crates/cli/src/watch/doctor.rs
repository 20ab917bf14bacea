//! Findings: what is wrong with a database, in words, and what to do about it.
//!
//! Each finding is a rule over a [`View`]. A rule names the figures that it saw.

use std::time::Duration;

use foldb::recorder::{RecordedEvent, Recording};
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;

use crate::watch::View;
use crate::watch::view::{Key, micros};

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// The name of the rule, for programs.
    pub(crate) name: &'static str,
    /// What was seen.
    pub(crate) seen: String,
    /// What to do.
    pub(crate) remedy: &'static str,
}

/// A rule. It returns what it saw, if it found something.
type Rule = (&'static str, fn(&View) -> Option<String>, &'static str);

/// The rules, the worst first.
const RULES: [Rule; 13] = [
    (
        "disk_full",
        |view| {
            (view.now("foldb_disk_is_full") > 0.0)
                .then(|| "the disk is full: only deletes pass".into())
        },
        "free some space on the disk; the database goes on by itself",
    ),
    (
        "damaged",
        |view| {
            let parts = view.now("foldb_damaged_parts");
            (parts > 0.0)
                .then(|| format!("{parts} parts of tables are damaged: reads of their keys fail"))
        },
        "close the database and run `foldb verify`, then `foldb repair` or restore a backup",
    ),
    (
        "background_errors",
        |view| told(view, "background_error", "background work failed"),
        "read the message: it names the file and the cause",
    ),
    (
        "failed_merges",
        |view| told(view, "merge_failed", "operands cannot be folded, so reads of their keys fail"),
        "see `foldb get --operands` of the key; `foldb operands drop-last` removes an operand",
    ),
    (
        "stalls",
        stalls,
        "see the reasons above; more memory, fewer bytes, or a faster disk end them",
    ),
    (
        "snapshot",
        snapshot,
        "drop snapshots, iterators and transactions soon after use; a long one keeps every old \
         version that it may read",
    ),
    (
        "filters",
        |view| {
            let lookups = view.grown("foldb_filters_left_out_total");
            (lookups > 0.0).then(|| {
                let lookups = HumanCount(lookups as u64);
                format!("{lookups} lookups went to tables whose filters had no room in memory")
            })
        },
        "raise memory_budget until `foldb options` reports no lack, or lower bloom_bits",
    ),
    ("budget", budget, "raise memory_budget"),
    ("cache", cache, "raise block_cache_size, and memory_budget with it"),
    (
        "long_chains",
        |view| chain(view.chains.first()?),
        "give the operator a `partial`, so that operands fold with each other; or compact the key",
    ),
    (
        "deletes",
        deletes,
        "take from a queue with take_first, delete ranges with delete_range, or compact",
    ),
    (
        "dead_values",
        |view| {
            let bytes = view.now("foldb_value_segment_bytes");
            let dead = view.now("foldb_value_segment_dead_bytes");
            (bytes > 64e6 && dead > bytes / 2.0).then(|| {
                let (dead, bytes) = (HumanBytes(dead as u64), HumanBytes(bytes as u64));
                format!("{dead} of {bytes} of separated values are dead")
            })
        },
        "run `foldb gc`, or lower max_dead_fraction",
    ),
    (
        "clock",
        |view| {
            let ahead = view.now("foldb_time_ahead_seconds");
            (ahead > 60.0).then(|| {
                format!("the database is {ahead} s ahead of the clock: nothing expires until then")
            })
        },
        "see `foldb clock`: it can set the time back",
    ),
];

/// Returns the findings of a stretch of time.
pub(crate) fn findings(view: &View) -> Vec<Finding> {
    let found = |(name, rule, remedy): Rule| {
        let seen = rule(view)?;
        Some(Finding { name, seen, remedy })
    };
    RULES.into_iter().filter_map(found).collect()
}

/// Returns the finding of a process that ended without a close.
pub(crate) fn killed(recording: &Recording, runs: impl Fn(u64) -> bool) -> Option<Finding> {
    let last = recording.sessions.last()?;
    let is_dead = last.ended.is_none() && !runs(last.process);
    is_dead.then(|| Finding {
        name: "killed",
        seen: format!(
            "process {} does not run here any more, and did not close the database",
            last.process
        ),
        remedy: "none, the next open replays the log; a process in another container is not seen from here",
    })
}

/// More unread bytes than the frame that a killed process was writing.
const UNREAD: u64 = 64 << 10;

/// Returns the finding of a recording with damage in it.
pub(crate) fn unread(recording: &Recording) -> Option<Finding> {
    (recording.unread_bytes > UNREAD).then(|| Finding {
        name: "unread",
        seen: format!("{} of the recording cannot be read", HumanBytes(recording.unread_bytes)),
        remedy: "none, a power loss may damage files that nothing syncs; the rest is shown",
    })
}

/// Sums the events of one kind.
fn told(view: &View, name: &str, what: &str) -> Option<String> {
    let of_kind: Vec<&RecordedEvent> =
        view.events.iter().filter(|event| event.name == name).collect();
    let last = of_kind.last()?;
    let count: u64 = of_kind.iter().map(|event| event.count).sum();
    let keyspace = match last.keyspace.as_str() {
        "" => String::new(),
        keyspace => format!(" in keyspace {keyspace}"),
    };
    Some(format!("{what}: {} times{keyspace}, last: {}", HumanCount(count), last.detail))
}

/// Writers waited for a twentieth of the time, or once for a second.
fn stalls(view: &View) -> Option<String> {
    let stalls = || view.events.iter().filter(|event| event.name == "stall");
    let longest = stalls().map(|event| event.longest).max()?;
    let share = view.rate("foldb_stall_seconds_total");
    if share < 0.05 && longest < Duration::from_secs(1) {
        return None;
    }
    let mut reasons: Vec<(String, Duration)> = Vec::new();
    for event in stalls() {
        match reasons.iter_mut().find(|(reason, _)| *reason == event.detail) {
            Some((_, total)) => *total += event.total,
            None => reasons.push((event.detail.clone(), event.total)),
        }
    }
    reasons.sort_by_key(|(_, total)| std::cmp::Reverse(*total));
    let reasons: Vec<String> =
        reasons.iter().map(|(reason, total)| format!("{reason} ({total:.1?})")).collect();
    Some(format!(
        "writers waited {share:.2} s in each second, all together, and once {longest:.1?}: {}",
        reasons.join("; ")
    ))
}

/// An old snapshot keeps a tenth of the database, and 64 MB at least.
fn snapshot(view: &View) -> Option<String> {
    let writes = view.now("foldb_writes_since_oldest_snapshot");
    let figures = ["puts", "merges", "deletes"].map(|it| view.now(&format!("foldb_{it}_total")));
    let all: f64 = figures.iter().sum();
    if writes <= 0.0 || all <= 0.0 {
        return None;
    }
    let bytes = writes * view.now("foldb_user_bytes_total") / all;
    let tables: f64 = view.levels().iter().map(|level| level.bytes).sum();
    (bytes > 64e6 && bytes > tables / 10.0).then(|| {
        let (writes, bytes) = (HumanCount(writes as u64), HumanBytes(bytes as u64));
        let live = view.now("foldb_snapshots");
        format!(
            "the oldest of {live} snapshots is {writes} writes old: up to {bytes} of older \
             versions are kept for it"
        )
    })
}

/// Writes wait because the memtables of all databases exceed their share of memory.
fn budget(view: &View) -> Option<String> {
    let waits = view.events.iter().filter(|event| event.name == "stall");
    let waits = waits.filter(|event| event.detail.contains("share of memory"));
    let (count, total) = waits.fold((0, Duration::ZERO), |(count, total), event| {
        (count + event.count, total + event.total)
    });
    (count > 0).then(|| {
        let budget = HumanBytes(view.now("foldb_memory_budget_bytes") as u64);
        format!("writers waited {count} times ({total:.1?}) for memory; the budget is {budget}")
    })
}

/// Bytes of a block that a read decodes: about that, with the default `block_size`.
const BLOCK: f64 = 4096.0;

/// Half of the blocks that reads need are not in a full cache. A cache that holds little beside the
/// blocks that were read is full: a cache that fills has most of them, and one that is passed by
/// (`fill_cache`) has none.
fn cache(view: &View) -> Option<String> {
    let hits = view.grown("foldb_block_cache_hits_total");
    let misses = view.grown("foldb_block_cache_misses_total");
    let rate = view.rate("foldb_block_cache_misses_total");
    let held = view.now("foldb_block_cache_bytes");
    let is_full = held > 0.0 && misses * BLOCK > 4.0 * held;
    (rate > 1000.0 && misses > hits && is_full).then(|| {
        let bytes = HumanBytes(held as u64);
        let share = 100.0 * misses / (hits + misses);
        format!("{share:.0} % of the blocks of reads are not in the cache, which holds {bytes}")
    })
}

fn chain(longest: &Key) -> Option<String> {
    let Key { keyspace, key, figure } = longest;
    Some(format!(
        "reads fold {figure} operands of the key '{key}' in keyspace {keyspace} each time"
    ))
}

/// Walks step over ten thousand deleted keys a second.
fn deletes(view: &View) -> Option<String> {
    let rate = view.rate("foldb_skipped_deletes_total");
    (rate > 10_000.0).then(|| {
        let seek = view.calls.iter().find(|calls| calls.call == "seek");
        let seek = seek.map_or(0.0, |calls| calls.p99_micros);
        let rate = HumanCount(rate as u64);
        format!("walks step over {rate} deleted keys a second; one seek in 100 takes {seek:.0} µs")
    })
}

/// Returns the longest of the slow reads, for the summary.
pub(crate) fn slowest(view: &View) -> Option<String> {
    let reads = view.events.iter().filter(|event| event.name == "slow_read");
    let slowest = reads.max_by_key(|event| event.longest)?;
    Some(format!("{:.0} µs for a key like {}", micros(slowest.longest), slowest.detail))
}
