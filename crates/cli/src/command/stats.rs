//! `stats`: prints what the engine did and the shape of the tree.
//!
//! One list ([`sections`]) has all figures; both the table and the JSON come from that list.

use foldb::ReadOnlyDb;
use foldb::stats::Stats;
use indicatif::{HumanBytes, HumanCount};
use serde_json::{Map, Value, json};

use crate::args::{self, Common};
use crate::columns::{Side, align};
use crate::command::scan::{Walk, once};
use crate::exit::Outcome;
use crate::form::json::integer;
use crate::location;
use crate::output::Output;

/// Prints the figures of a database.
pub(super) fn run(args: &args::Stats, common: &Common) -> Outcome {
    let db = location::open_to_read(&args.db, common.options())?;
    let stats = db.stats();
    let operator = db.default_operator().map(|operator| operator.spec());
    let keys = if args.keys { Some(count_keys(&db)?) } else { None };
    let mut output = Output::new();
    if common.json {
        output.json(&to_json(&stats, operator, keys))?;
    } else {
        output.text(&to_table(&stats, operator, keys))?;
    }
    output.flush()?;
    Ok(db.close()?)
}

/// Counts the keys in all keyspaces.
fn count_keys(db: &ReadOnlyDb) -> Outcome<u64> {
    let mut keys = 0;
    for name in db.keyspaces() {
        let entries = db.keyspace(&name)?.with(&once()).iter()?;
        keys += Walk { entries, reverse: false, limit: u64::MAX }.count()?;
    }
    Ok(keys)
}

/// One figure.
#[derive(Clone, Copy, Debug)]
enum Figure {
    Count(u64),
    Bytes(u64),
    Micros(u64),
    Ratio(f64),
}

impl Figure {
    fn text(self) -> String {
        match self {
            Figure::Count(n) => HumanCount(n).to_string(),
            Figure::Bytes(n) => HumanBytes(n).to_string(),
            Figure::Micros(n) => format!("{:.3} s", n as f64 / 1e6),
            Figure::Ratio(x) => format!("{x:.2}"),
        }
    }

    fn json(self) -> Value {
        match self {
            Figure::Count(n) | Figure::Bytes(n) | Figure::Micros(n) => integer(n),
            Figure::Ratio(x) => json!(x),
        }
    }
}

/// Its name in JSON, its title in the table, and the figure.
type Row = (&'static str, &'static str, Figure);

/// Returns all figures except those of the levels.
fn sections(stats: &Stats) -> Vec<(&'static str, Vec<Row>)> {
    vec![
        ("writes", writes(stats)),
        ("background work", background(stats)),
        ("reads", reads(stats)),
        ("time", time(stats)),
        ("space", space(stats)),
    ]
}

fn writes(stats: &Stats) -> Vec<Row> {
    use Figure::{Bytes, Count, Micros, Ratio};
    vec![
        ("puts", "puts", Count(stats.puts)),
        ("deletes", "deletes", Count(stats.deletes)),
        ("range_deletes", "deletes of ranges", Count(stats.range_deletes)),
        ("merges", "merges: operands in", Count(stats.merges)),
        ("bytes_user", "keys and values", Bytes(stats.bytes_user)),
        ("bytes_log", "written to the log", Bytes(stats.bytes_log)),
        ("bytes_flush", "written by flushes", Bytes(stats.bytes_flush)),
        ("bytes_compaction", "written by compactions", Bytes(stats.bytes_compaction)),
        ("bytes_compaction_read", "compactions read", Bytes(stats.bytes_compaction_read)),
        ("bytes_segments", "written to value segments", Bytes(stats.bytes_segments)),
        ("bytes_adopted", "in logs that became segments", Bytes(stats.bytes_adopted)),
        ("bytes_gc_written", "written by garbage collections", Bytes(stats.bytes_gc_written)),
        ("bytes_gc_read", "read by garbage collections", Bytes(stats.bytes_gc_read)),
        ("log_is_mapped", "log mapped (0: by calls)", Count(stats.log_is_mapped.into())),
        ("reserved_space", "reserved for a full disk", Bytes(stats.reserved_space)),
        ("disk_is_full", "disk full (1: only deletes)", Count(stats.disk_is_full.into())),
        ("bytes_manifest", "written to the manifest", Bytes(stats.bytes_manifest)),
        ("write_amplification", "write amplification", Ratio(stats.write_amplification())),
        ("stall_micros", "writers waited", Micros(stats.stall_micros)),
        ("pace_micros_per_mib", "writers wait a MiB now", Micros(stats.pace_micros_per_mib)),
    ]
}

fn background(stats: &Stats) -> Vec<Row> {
    use Figure::{Bytes, Count};
    vec![
        ("flushes", "flushes", Count(stats.flushes)),
        ("flush_records_in", "records into flushes", Count(stats.flush_records_in)),
        ("flush_records_out", "records out of flushes", Count(stats.flush_records_out)),
        ("compactions", "compactions", Count(stats.compactions)),
        ("compaction_slices", "slices compacted", Count(stats.compaction_slices)),
        ("trivial_moves", "tables moved unread", Count(stats.trivial_moves)),
        ("compaction_records_in", "records into compactions", Count(stats.compaction_records_in)),
        (
            "compaction_records_out",
            "records out of compactions",
            Count(stats.compaction_records_out),
        ),
        ("compaction_debt", "work still owed", Bytes(stats.compaction_debt)),
        ("damaged_parts", "damaged, compacted around", Count(stats.damaged_parts)),
        ("garbage_collections", "garbage collections", Count(stats.garbage_collections)),
        ("bytes_reclaimed", "given back by them", Bytes(stats.bytes_reclaimed)),
    ]
}

fn reads(stats: &Stats) -> Vec<Row> {
    use Figure::{Bytes, Count};
    vec![
        ("block_cache_hits", "blocks found in the cache", Count(stats.block_cache_hits)),
        ("block_cache_misses", "blocks read", Count(stats.block_cache_misses)),
        ("filter_negatives", "tables ruled out by filters", Count(stats.filter_negatives)),
        ("filters_left_out", "filters without room", Count(stats.filters_left_out)),
        ("skipped_deletes", "deleted keys stepped over", Count(stats.skipped_deletes)),
        ("failed_merges", "merges that failed", Count(stats.failed_merges)),
        ("dropped_tail_bytes", "never synced, left out", Bytes(stats.dropped_tail_bytes)),
        ("dropped_tail_frames", "log frames among them", Count(stats.dropped_tail_frames)),
        ("runs_per_read", "runs a read may look into", Count(stats.runs_per_read())),
        ("snapshots", "moments that snapshots show", Count(stats.snapshots)),
        (
            "writes_since_oldest_snapshot",
            "writes since the oldest",
            Count(stats.writes_since_oldest_snapshot),
        ),
    ]
}

fn time(stats: &Stats) -> Vec<Row> {
    use Figure::{Bytes, Count};
    vec![
        ("clock_jumps_forward", "clock jumped forward", Count(stats.clock_jumps_forward)),
        ("bytes_scrubbed", "checked in the background", Bytes(stats.bytes_scrubbed)),
        ("clock_jumps_back", "clock jumped back", Count(stats.clock_jumps_back)),
        (
            "time_ahead_seconds",
            "seconds until entries expire again",
            Count(stats.time_ahead_seconds),
        ),
    ]
}

fn space(stats: &Stats) -> Vec<Row> {
    use Figure::{Bytes, Count, Ratio};
    vec![
        ("memtable_bytes", "in memtables", Bytes(stats.memtable_bytes)),
        ("block_cache_bytes", "in the block cache", Bytes(stats.block_cache_bytes)),
        ("open_table_bytes", "in indexes and filters", Bytes(stats.open_table_bytes)),
        ("archived_logs", "logs kept for the change feed", Count(stats.archived_logs)),
        ("archived_log_bytes", "in archived logs", Bytes(stats.archived_log_bytes)),
        ("space_amplification", "space amplification", Ratio(stats.space_amplification())),
        ("segments", "value segments", Count(stats.segments.segments)),
        ("segment_files", "segment files", Count(stats.segments.files)),
        ("segment_bytes", "in segment files", Bytes(stats.segments.bytes)),
        ("segment_live_bytes", "live in them", Bytes(stats.segments.live_bytes)),
        ("segment_dead_bytes", "dead in them", Bytes(stats.segments.dead_bytes)),
    ]
}

/// Returns the figures of memory: a section of the table, an object in JSON.
fn memory_rows(stats: &Stats) -> Vec<Row> {
    let title = |item| match item {
        "active_memtables" => "memtables being filled",
        "sealed_memtables" => "memtables to be flushed",
        "pinned_memtables" => "memtables kept by readers",
        "spare_memtables" => "for the next memtables",
        "block_cache" => "cached blocks",
        "indexes" => "indexes of open tables",
        "filters" => "filters of open tables",
        "background" => "flushes and compactions",
        "logs" => "windows of logs",
        "transactions" => "open transactions",
        "reserved" => "the program's own",
        other => other,
    };
    let memory = &stats.memory;
    let items = memory.items();
    let items = items.into_iter().map(|(item, bytes)| (item, title(item), Figure::Bytes(bytes)));
    let sums = [
        ("total", "all of it", Figure::Bytes(memory.total())),
        ("budget", "budget", Figure::Bytes(memory.budget)),
    ];
    items.chain(sums).collect()
}

fn to_json(stats: &Stats, operator: Option<String>, keys: Option<u64>) -> Value {
    let mut object = Map::new();
    object.insert("operator".to_owned(), json!(operator));
    if let Some(keys) = keys {
        object.insert("keys".to_owned(), integer(keys));
    }
    for (name, _, figure) in sections(stats).into_iter().flat_map(|(_, rows)| rows) {
        object.insert(name.to_owned(), figure.json());
    }
    object.insert("memory".to_owned(), memory(stats));
    let levels = stats.levels.iter().enumerate().map(|(number, level)| {
        json!({
            "level": number,
            "runs": integer(level.runs),
            "tables": integer(level.tables),
            "bytes": integer(level.bytes),
            "bytes_written": integer(level.bytes_written),
        })
    });
    object.insert("levels".to_owned(), levels.collect());
    let names = stats.keyspaces.iter().map(|keyspace| keyspace.name.as_str());
    object.insert("keyspaces".to_owned(), names.collect());
    Value::Object(object)
}

fn memory(stats: &Stats) -> Value {
    let rows = memory_rows(stats).into_iter();
    Value::Object(rows.map(|(name, _, figure)| (name.to_owned(), figure.json())).collect())
}

fn to_table(stats: &Stats, operator: Option<String>, keys: Option<u64>) -> String {
    let operator = operator.unwrap_or_else(|| "none yet".to_owned());
    let mut lines = vec![("operator", operator)];
    if let Some(keys) = keys {
        lines.push(("keys", HumanCount(keys).to_string()));
    }
    let mut sections = sections(stats);
    sections.push(("memory", memory_rows(stats)));
    let titles = sections.iter().flat_map(|(_, rows)| rows).map(|(_, title, _)| title.len());
    let width = titles.max().unwrap_or(0);
    let mut text = String::new();
    for (title, value) in lines {
        text.push_str(&format!("{title:<width$}    {value}\n", width = width));
    }
    for (heading, rows) in sections {
        text.push_str(&format!("\n{heading}\n"));
        for (_, title, figure) in rows {
            text.push_str(&format!("  {title:<width$}  {:>14}\n", figure.text()));
        }
    }
    text.push('\n');
    text + &levels(stats)
}

fn levels(stats: &Stats) -> String {
    let heading = ["level", "runs", "tables", "bytes", "written"].map(str::to_owned).to_vec();
    let mut rows = vec![heading];
    for (number, level) in stats.levels.iter().enumerate() {
        rows.push(vec![
            number.to_string(),
            HumanCount(level.runs).to_string(),
            HumanCount(level.tables).to_string(),
            HumanBytes(level.bytes).to_string(),
            HumanBytes(level.bytes_written).to_string(),
        ]);
    }
    align("", &[Side::Right; 5], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Stats` is not exhaustive, so this test reads its fields from its debug form. The fields of
    /// memory form an object of their own; those of segments have `segment` before their names.
    fn fields_of_stats() -> Vec<String> {
        let memory = format!("{:?}", Stats::default().memory);
        let segments = format!("{:?}", Stats::default().segments);
        let text = format!("{:?}", Stats::default()).replace(&memory, "").replace(&segments, "");
        let fields = text.trim_start_matches("Stats {").trim_end_matches('}').split(", ");
        fields
            .filter_map(|field| field.split_once(':'))
            .map(|(name, _)| name.trim().into())
            // An open that only reads has timed no calls.
            .filter(|name| name != "latencies")
            .collect()
    }

    #[test]
    fn every_figure_is_in_the_json() {
        let object = to_json(&Stats::default(), None, Some(3));
        let fields = fields_of_stats();
        assert!(fields.len() > 20, "{fields:?}");
        for field in fields {
            assert!(object.get(&field).is_some(), "{field}");
        }
        assert!(object["memory"].get("active_memtables").is_some());
        assert!(object["memory"].get("budget").is_some());
        assert_eq!(object["keys"], 3);
        assert_eq!(object["operator"], Value::Null);
    }

    #[test]
    fn the_table_has_a_line_for_every_figure() {
        let mut stats = Stats::default();
        stats.merges = 1_234_567;
        stats.bytes_user = 100;
        stats.bytes_log = 250;
        stats.stall_micros = 1_500;
        stats.levels = vec![Default::default(); 2];
        let table = to_table(&stats, Some("uint64add".to_owned()), Some(12));
        let mut sections = sections(&stats);
        sections.push(("memory", memory_rows(&stats)));
        let figures: usize = sections.iter().map(|(_, rows)| rows.len()).sum();
        // Two lines at the top, a blank and a heading for each section, then a blank, a heading
        // and two levels.
        assert_eq!(table.lines().count(), 2 + figures + 2 * sections.len() + 4);
        for part in ["1,234,567", "2.50", "0.002 s", "uint64add", "level"] {
            assert!(table.contains(part), "{part} in\n{table}");
        }
        assert!(table.lines().all(|line| line == line.trim_end()), "{table}");
    }

    #[test]
    fn large_figures_are_strings_in_json() {
        let mut stats = Stats::default();
        stats.bytes_user = u64::MAX;
        assert_eq!(to_json(&stats, None, None)["bytes_user"], u64::MAX.to_string());
    }
}
