//! The open database and what it did since, for `stats` and for progress lines.
//!
//! The first part has the lines of RocksDB's compaction statistics that its scripts read, at the
//! same places in the line. What foldb does not count is 0 there. The second part is foldb's own.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use foldb::Db;
use foldb::events::{Event, EventListener, StallReason};
use foldb::stats::Stats;

use crate::report::{since, stats_lines};

/// Bytes of a gigabyte.
const GIB: f64 = (1_u64 << 30) as f64;
/// Bytes of a megabyte.
const MIB: f64 = (1_u64 << 20) as f64;

/// Background work and stalls, from the events of the database.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    flush_nanos: AtomicU64,
    compaction_nanos: AtomicU64,
    stalls_for_memtables: AtomicU64,
    stalls_for_compaction: AtomicU64,
}

impl EventListener for Activity {
    fn on_event(&self, event: &Event) {
        let add = |to: &AtomicU64, time: &Duration| {
            let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
            to.fetch_add(nanos, Ordering::Relaxed);
        };
        match event {
            Event::Flush { duration, .. } => add(&self.flush_nanos, duration),
            Event::Compaction { duration, .. } => add(&self.compaction_nanos, duration),
            Event::Stall { reason: StallReason::CompactionDebt, .. } => {
                self.stalls_for_compaction.fetch_add(1, Ordering::Relaxed);
            }
            Event::Stall { .. } => {
                self.stalls_for_memtables.fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

/// An open database.
#[derive(Clone)]
pub(crate) struct Observed {
    /// The database.
    pub db: Db,
    /// When it was opened.
    pub opened: Instant,
    /// What it did in the background.
    pub activity: Arc<Activity>,
    /// The counters when it was opened.
    pub at_open: Stats,
    /// The counters at the last `resetstats`.
    pub baseline: Stats,
}

impl Observed {
    /// Returns the output of the `stats` benchmark.
    pub(crate) fn lines(&self) -> String {
        let stats = self.db.stats();
        let here = since(stats.clone(), &self.at_open);
        let mut text = compaction_lines(&here, &self.activity, self.opened.elapsed());
        text.push_str(&stats_lines(&since(stats, &self.baseline)));
        text
    }
}

/// Returns the lines in RocksDB's form.
fn compaction_lines(stats: &Stats, activity: &Activity, uptime: Duration) -> String {
    let mut text = String::new();
    write_lines(&mut text, stats, activity, uptime).expect("writing to a String does not fail");
    text
}

fn write_lines(
    text: &mut String,
    stats: &Stats,
    activity: &Activity,
    uptime: Duration,
) -> std::fmt::Result {
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let seconds = |counter: &AtomicU64| read(counter) as f64 / 1e9;
    let busy = seconds(&activity.flush_nanos) + seconds(&activity.compaction_nanos);
    let sum = write_levels(text, stats, busy)?;
    write_segments(text, stats)?;
    let up = uptime.as_secs_f64();
    write_sums(text, stats, up, &sum)?;
    write_stalls(text, stats, activity, up)
}

/// Writes a row for each level, and returns the row of their sums.
fn write_levels(text: &mut String, stats: &Stats, busy: f64) -> Result<Row, std::fmt::Error> {
    writeln!(text, "\n** Compaction Stats [default] **")?;
    writeln!(
        text,
        "Level    Files   Size     Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) Wnew(GB) Moved(GB) \
         W-Amp Rd(MB/s) Wr(MB/s) Comp(sec) CompMergeCPU(sec) Comp(cnt) Avg(sec) KeyIn KeyDrop \
         Rblob(GB) Wblob(GB)"
    )?;
    let mut sum = Row { name: "Sum".to_owned(), ..Row::default() };
    for (level, shape) in stats.levels.iter().enumerate() {
        let (files, bytes, written) = (shape.tables, shape.bytes, shape.bytes_written);
        Row { name: format!("L{level}"), files, bytes, written, ..Row::default() }.write(text)?;
        (sum.files, sum.bytes) = (sum.files + files, sum.bytes + bytes);
    }
    sum.written = stats.bytes_flush + stats.bytes_compaction;
    sum.read = stats.bytes_compaction_read;
    sum.amplification = sum.written as f64 / (stats.bytes_flush as f64).max(1.0);
    sum.seconds = busy;
    sum.jobs = stats.flushes + stats.compactions;
    sum.records_in = stats.flush_records_in + stats.compaction_records_in;
    let records_out = stats.flush_records_out + stats.compaction_records_out;
    sum.records_dropped = sum.records_in.saturating_sub(records_out);
    sum.values_read = stats.bytes_gc_read;
    sum.values_written = stats.bytes_segments;
    sum.write(text)?;
    Ok(sum)
}

fn write_segments(text: &mut String, stats: &Stats) -> std::fmt::Result {
    let segments = &stats.segments;
    writeln!(
        text,
        "\nBlob file count: {}, total size: {:.1} GB, garbage size: {:.1} GB, space amp: {:.1}\n",
        segments.files,
        segments.bytes as f64 / GIB,
        segments.dead_bytes as f64 / GIB,
        segments.bytes as f64 / (segments.live_bytes as f64).max(1.0),
    )
}

fn write_sums(text: &mut String, stats: &Stats, up: f64, sum: &Row) -> std::fmt::Result {
    writeln!(text, "Uptime(secs): {up:.1} total, {up:.1} interval")?;
    let flushed = stats.bytes_flush as f64 / GIB;
    writeln!(text, "Flush(GB): cumulative {flushed:.3}, interval {flushed:.3}")?;
    let a_second = |bytes: u64| bytes as f64 / MIB / up.max(1e-3);
    writeln!(
        text,
        "Cumulative compaction: {:.2} GB write, {:.2} MB/s write, {:.2} GB read, {:.2} MB/s read, \
         {:.1} seconds",
        sum.written as f64 / GIB,
        a_second(sum.written),
        sum.read as f64 / GIB,
        a_second(sum.read),
        sum.seconds,
    )
}

fn write_stalls(
    text: &mut String,
    stats: &Stats,
    activity: &Activity,
    up: f64,
) -> std::fmt::Result {
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (slowed, full) =
        (read(&activity.stalls_for_compaction), read(&activity.stalls_for_memtables));
    writeln!(
        text,
        "Stalls(count): 0 level0_slowdown, 0 level0_slowdown_with_compaction, 0 level0_numfiles, \
         0 level0_numfiles_with_compaction, 0 stop for pending_compaction_bytes, {slowed} slowdown \
         for pending_compaction_bytes, {full} memtable_compaction, 0 memtable_slowdown, interval \
         {} total count",
        slowed + full
    )?;
    let stalled = stats.stall_micros as f64 / 1e6;
    let (whole, rest) = (stalled as u64, stalled.fract());
    writeln!(
        text,
        "Cumulative stall: {:02}:{:02}:{:.3} H:M:S, {:.1} percent\n",
        whole / 3600,
        whole / 60 % 60,
        (whole % 60) as f64 + rest,
        100.0 * stalled / up.max(1e-3),
    )
}

/// A row of the table of levels.
#[derive(Default)]
struct Row {
    name: String,
    files: u64,
    bytes: u64,
    read: u64,
    written: u64,
    amplification: f64,
    seconds: f64,
    jobs: u64,
    records_in: u64,
    records_dropped: u64,
    values_read: u64,
    values_written: u64,
}

impl Row {
    fn write(&self, text: &mut String) -> std::fmt::Result {
        let (size, unit) = in_unit(self.bytes);
        let rate = |bytes: u64| bytes as f64 / MIB / self.seconds.max(1e-3);
        let rates =
            if self.seconds > 0.0 { (rate(self.read), rate(self.written)) } else { (0.0, 0.0) };
        writeln!(
            text,
            "{:>4} {:>6}/0 {size:>7.2} {unit} {:>5.1} {:>8.1} {:>7.1} {:>8.1} {:>9.1} {:>8.1} \
             {:>9.1} {:>5.1} {:>8.1} {:>8.1} {:>9.2} {:>17.2} {:>9} {:>8.3} {:>7} {:>6} {:>9.1} \
             {:>9.1}",
            self.name,
            self.files,
            0.0,
            self.read as f64 / GIB,
            0.0,
            0.0,
            self.written as f64 / GIB,
            0.0,
            0.0,
            self.amplification,
            rates.0,
            rates.1,
            self.seconds,
            0.0,
            self.jobs,
            self.seconds / (self.jobs as f64).max(1.0),
            self.records_in,
            self.records_dropped,
            self.values_read as f64 / GIB,
            self.values_written as f64 / GIB,
        )
    }
}

fn in_unit(bytes: u64) -> (f64, &'static str) {
    match bytes as f64 {
        bytes if bytes >= GIB => (bytes / GIB, "GB"),
        bytes if bytes >= MIB => (bytes / MIB, "MB"),
        bytes => (bytes / 1024.0, "KB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word<'a>(text: &'a str, begins: &str, index: usize) -> &'a str {
        let line = text.lines().find(|line| line.starts_with(begins)).unwrap();
        line.split_whitespace().nth(index - 1).unwrap()
    }

    /// RocksDB's benchmark.sh takes the words at these places, counted from 1.
    #[test]
    fn scripts_find_their_words() {
        let mut stats = Stats::default();
        stats.bytes_flush = 1 << 30;
        stats.bytes_compaction = 3 << 30;
        stats.bytes_gc_read = 1 << 31;
        stats.stall_micros = 5_000_000;
        stats.flushes = 7;
        stats.segments.bytes = 5 << 30;
        let activity = Activity::default();
        let duration = Duration::from_secs(2);
        activity.on_event(&Event::Stall { reason: StallReason::Memtables, duration });
        activity.on_event(&Event::Stall { reason: StallReason::CompactionDebt, duration });
        activity.compaction_nanos.store(9_000_000_000, Ordering::Relaxed);
        let text = compaction_lines(&stats, &activity, Duration::from_secs(10));
        assert_eq!(word(&text, " Sum", 2), "0/0");
        assert_eq!([word(&text, " Sum", 3), word(&text, " Sum", 4)], ["0.00", "KB"]);
        assert_eq!([word(&text, " Sum", 15), word(&text, " Sum", 21)], ["9.00", "2.0"]);
        assert_eq!(word(&text, "Uptime(secs", 2), "10.0");
        assert_eq!(word(&text, "Flush(GB)", 3), "1.000,");
        assert_eq!(word(&text, "Cumulative compaction", 3), "4.00");
        assert_eq!(word(&text, "Cumulative compaction", 6), "409.60");
        assert_eq!(word(&text, "Cumulative stall", 3), "00:00:5.000");
        assert_eq!(word(&text, "Cumulative stall", 5), "50.0");
        assert_eq!(
            [word(&text, "Blob file count:", 7), word(&text, "Blob file count:", 8)],
            ["5.0", "GB,"]
        );
        let stalls = |index| word(&text, "Stalls(count):", index).parse::<u64>().unwrap();
        assert_eq!([stalls(14), stalls(18)], [1, 1]);
    }
}
