//! The output of a benchmark: its result line, and the counters of the database.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use foldb::explain::TableInfo;
use foldb::stats::Stats;
use foldb_report::timeline::Timeline;

use crate::histogram::Histograms;

/// The result of a benchmark over all its counted threads.
#[derive(Clone, Debug)]
pub(crate) struct Totals {
    /// Operations done.
    pub done: u64,
    /// Bytes of keys and values moved.
    pub bytes: u64,
    /// Sum of the threads' times.
    pub busy: Duration,
    /// When the first thread began.
    pub started: Instant,
    /// When the last thread ended.
    pub finished: Instant,
    /// The end of the result line, such as `( updates:100 found:2)`: that of the first thread.
    pub message: String,
    /// Lines to print before the result line.
    pub notes: Vec<String>,
    /// The times of operations, with `--histogram` or `--report`.
    pub histograms: Option<Histograms>,
    /// When operations ended, with `--report`.
    pub timeline: Option<Timeline<u64>>,
}

impl Totals {
    /// Adds another thread's result.
    pub(crate) fn merge(&mut self, other: &Totals) {
        self.done += other.done;
        self.bytes += other.bytes;
        self.busy += other.busy;
        self.started = self.started.min(other.started);
        self.finished = self.finished.max(other.finished);
        if self.message.is_empty() {
            self.message.clone_from(&other.message);
        }
        self.notes.extend(other.notes.iter().cloned());
        if let (Some(mine), Some(theirs)) = (&mut self.histograms, &other.histograms) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.timeline, &other.timeline) {
            mine.merge(theirs);
        }
    }

    /// Returns the wall-clock time, never 0.
    pub(crate) fn elapsed(&self) -> Duration {
        self.finished.duration_since(self.started).max(Duration::from_nanos(1))
    }

    /// Returns the result line in RocksDB's form:
    ///
    /// ```text
    /// mergerandom  :       2.861 micros/op 349481 ops/sec 14.307 seconds 5000000 operations;    8.0 MB/s ( updates:5000000)
    /// ```
    ///
    /// The microseconds are the sum of the threads' times, divided by the number of operations. The
    /// rates use wall-clock time.
    pub(crate) fn line(&self, name: &str) -> String {
        let done = self.done.max(1);
        let elapsed = self.elapsed();
        let mut line = format!(
            "{name:<12} : {:11.3} micros/op {} ops/sec {:.3} seconds {done} operations;",
            self.busy.as_secs_f64() * 1e6 / done as f64,
            (done as f64 / elapsed.as_secs_f64()) as u64,
            elapsed.as_secs_f64(),
        );
        if self.bytes > 0 {
            let rate = self.bytes as f64 / f64::from(1 << 20) / elapsed.as_secs_f64();
            write!(line, " {rate:6.1} MB/s").expect("writing to a String does not fail");
        }
        if !self.message.is_empty() {
            line.push(' ');
            line.push_str(&self.message);
        }
        line
    }
}

/// Returns the output of the `stats` benchmark: counters, then bytes written, then the levels.
pub(crate) fn stats_lines(stats: &Stats) -> String {
    let mut text = String::new();
    for (name, value) in counters(stats) {
        line(&mut text, format_args!("{name}: {value}"));
    }
    line(&mut text, format_args!("space_amplification: {:.2}", stats.space_amplification()));
    line(&mut text, format_args!("runs_per_read: {}", stats.runs_per_read()));
    let segments = &stats.segments;
    if segments.files > 0 {
        let (files, bytes, live) = (segments.files, segments.bytes, segments.live_bytes);
        line(&mut text, format_args!("segments: files {files} bytes {bytes} live {live}"));
    }
    for (name, value) in bytes_written(stats) {
        line(&mut text, format_args!("{name}: {value}"));
    }
    line(&mut text, format_args!("write_amplification: {:.2}", stats.write_amplification()));
    for (i, level) in stats.levels.iter().enumerate() {
        let (runs, tables, bytes) = (level.runs, level.tables, level.bytes);
        line(&mut text, format_args!("level {i}: runs {runs} tables {tables} bytes {bytes}"));
    }
    text
}

/// Returns `stats` with counters that began at 0 when they were `before`.
pub(crate) fn since(mut stats: Stats, before: &Stats) -> Stats {
    macro_rules! subtract {
        ($($counter:ident)*) => {
            $(stats.$counter = stats.$counter.saturating_sub(before.$counter);)*
        };
    }
    subtract! {
        puts deletes range_deletes merges bytes_user bytes_log bytes_flush bytes_compaction
        bytes_compaction_read bytes_manifest bytes_segments bytes_adopted bytes_gc_written
        bytes_gc_read garbage_collections bytes_reclaimed flushes compactions compaction_slices
        trivial_moves flush_records_in flush_records_out compaction_records_in
        compaction_records_out failed_merges stall_micros block_cache_hits block_cache_misses
        filter_negatives filters_left_out
    }
    stats
}

/// Returns the output of `levelstats`, in RocksDB's form.
pub(crate) fn level_lines(stats: &Stats) -> String {
    let mut text = String::from("Level Files Size(MB)\n--------------------\n");
    for (i, level) in stats.levels.iter().enumerate() {
        let mib = (level.bytes as f64 / f64::from(1 << 20)).round();
        line(&mut text, format_args!("{i:>3} {:>8} {mib:>8.0}", level.tables));
    }
    text
}

/// Returns the output of `memstats`, by the names of RocksDB's properties.
pub(crate) fn memory_lines(stats: &Stats) -> String {
    let memory = &stats.memory;
    let used = memory.active_memtables + memory.sealed_memtables;
    let mut text = String::new();
    for (name, value) in [
        ("rocksdb.cur-size-active-mem-table", memory.active_memtables),
        ("rocksdb.cur-size-all-mem-tables", used),
        ("rocksdb.size-all-mem-tables", used + memory.pinned_memtables),
    ] {
        line(&mut text, format_args!("{name}: {value}"));
    }
    text
}

/// Returns the output of `sstables`: the tables of each level, in the order of their keys.
pub(crate) fn table_lines(tables: &[TableInfo], levels: usize) -> String {
    let hex = |key: &[u8]| key.iter().map(|byte| format!("{byte:02X}")).collect::<String>();
    let mut text = String::new();
    for level in 0..levels {
        line(&mut text, format_args!("--- level {level} ---"));
        for table in tables.iter().filter(|table| table.level == level) {
            let (first, last) = (hex(&table.smallest), hex(&table.largest));
            let TableInfo { number, bytes, records, .. } = table;
            let seqnos = (table.smallest_seqno, table.largest_seqno);
            line(
                &mut text,
                format_args!(
                    " {number}:{bytes}[{} .. {}]['{first}' .. '{last}']({records})",
                    seqnos.0, seqnos.1
                ),
            );
        }
    }
    text
}

/// Returns the output of `--statistics`: one counter on each line, as in RocksDB.
pub(crate) fn statistics_lines(stats: &Stats) -> String {
    let mut text = String::from("STATISTICS:\n");
    for (name, value) in counters(stats).into_iter().chain(bytes_written(stats)) {
        line(&mut text, format_args!("foldb.{} COUNT : {value}", name.replace('_', ".")));
    }
    text
}

fn line(text: &mut String, content: std::fmt::Arguments<'_>) {
    writeln!(text, "{content}").expect("writing to a String does not fail");
}

fn counters(stats: &Stats) -> [(&'static str, u64); 27] {
    [
        ("puts", stats.puts),
        ("deletes", stats.deletes),
        ("merges", stats.merges),
        ("flushes", stats.flushes),
        ("flush_records_in", stats.flush_records_in),
        ("flush_records_out", stats.flush_records_out),
        ("compactions", stats.compactions),
        ("compaction_slices", stats.compaction_slices),
        ("trivial_moves", stats.trivial_moves),
        ("compaction_records_in", stats.compaction_records_in),
        ("compaction_records_out", stats.compaction_records_out),
        ("compaction_debt", stats.compaction_debt),
        ("failed_merges", stats.failed_merges),
        ("stall_micros", stats.stall_micros),
        ("pace_micros_per_mib", stats.pace_micros_per_mib),
        ("block_cache_hits", stats.block_cache_hits),
        ("block_cache_misses", stats.block_cache_misses),
        ("filter_negatives", stats.filter_negatives),
        ("filters_left_out", stats.filters_left_out),
        ("memtable_bytes", stats.memtable_bytes),
        ("bytes_compaction_read", stats.bytes_compaction_read),
        ("bytes_manifest", stats.bytes_manifest),
        ("garbage_collections", stats.garbage_collections),
        ("bytes_segments", stats.bytes_segments),
        ("bytes_gc_written", stats.bytes_gc_written),
        ("bytes_gc_read", stats.bytes_gc_read),
        ("bytes_reclaimed", stats.bytes_reclaimed),
    ]
}

fn bytes_written(stats: &Stats) -> [(&'static str, u64); 4] {
    [
        ("bytes_user", stats.bytes_user),
        ("bytes_log", stats.bytes_log),
        ("bytes_flush", stats.bytes_flush),
        ("bytes_compaction", stats.bytes_compaction),
    ]
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    fn totals(done: u64, micros: u64) -> Totals {
        let started = Instant::now();
        let busy = Duration::from_micros(micros);
        Totals {
            done,
            bytes: 0,
            busy,
            started,
            finished: started + busy,
            message: String::new(),
            notes: Vec::new(),
            histograms: None,
            timeline: None,
        }
    }

    #[test]
    fn line_is_rocksdbs_to_the_letter() {
        let mut totals = totals(5_000_000, 14_307_000);
        totals.bytes = 5_000_000 * 24;
        totals.message = "( updates:5000000)".to_owned();
        assert_eq!(
            totals.line("mergerandom"),
            "mergerandom  :       2.861 micros/op 349479 ops/sec 14.307 seconds 5000000 \
             operations;    8.0 MB/s ( updates:5000000)"
        );
    }

    #[test]
    fn line_without_bytes_and_message_ends_at_the_semicolon() {
        let pattern = Regex::new(
            r"\A\S+ +: +\d+\.\d{3} micros/op \d+ ops/sec \d+\.\d{3} seconds 1 operations;\z",
        )
        .unwrap();
        let line = totals(0, 1500).line("compact");
        assert!(pattern.is_match(&line), "{line}");
        assert!(totals(0, 0).line("compact").contains(" 0.000 micros/op "));
    }

    #[test]
    fn threads_sum_their_times_but_share_the_clock() {
        let mut first = totals(100, 1000);
        let mut second = first.clone();
        second.message = "( updates:100 found:3)".to_owned();
        first.message = "( updates:100 found:2)".to_owned();
        first.merge(&second);
        assert_eq!(
            first.line("updaterandom"),
            "updaterandom :      10.000 micros/op 200000 ops/sec 0.001 seconds 200 operations; \
             ( updates:100 found:2)"
        );
    }

    #[test]
    fn counters_may_begin_again() {
        let (mut before, mut now) = (Stats::default(), Stats::default());
        (before.puts, now.puts, now.memtable_bytes) = (5, 7, 9);
        let shown = since(now, &before);
        assert_eq!((shown.puts, shown.memtable_bytes), (2, 9));
    }

    #[test]
    fn stats_end_with_bytes_and_levels() {
        let lines = stats_lines(&Stats::default());
        let pattern = Regex::new(
            r"bytes_user: 0\nbytes_log: 0\nbytes_flush: 0\nbytes_compaction: 0\nwrite_amplification: 0.00\n\z",
        )
        .unwrap();
        assert!(pattern.is_match(&lines), "{lines}");
        assert!(statistics_lines(&Stats::default()).contains("\nfoldb.puts COUNT : 0\n"));
    }
}
