//! Properties that are texts: reports for people, and figures of one level.
//!
//! The reports have RocksDB's headings, and below them the figures that the engine has.

use std::fmt::Write as _;

use crate::database::properties::Figures;

const MIB: f64 = 1024.0 * 1024.0;

/// Returns a property that is a text. `None` if there is none of that name.
pub(crate) fn of(figures: &Figures<'_>, name: &str, argument: &str) -> Option<String> {
    Some(match name {
        "num-files-at-level" => figures.tables_at(level(figures, argument)?).to_string(),
        "compression-ratio-at-level" => {
            level(figures, argument)?;
            // RocksDB's answer for a ratio that is not known.
            "-1.000000".to_owned()
        }
        "stats" => figures.family_report() + &figures.database_report(),
        "cfstats" | "cfstats-no-file-histogram" => figures.family_report(),
        // Reads are not counted by file.
        "cf-file-histogram" => String::new(),
        "dbstats" => figures.database_report(),
        "cf-write-stall-stats" | "db-write-stall-stats" => figures.stall_report(),
        "levelstats" => figures.level_report(),
        "sstables" => figures.table_report(),
        "aggregated-table-properties" => figures.sum_of_tables(None),
        "aggregated-table-properties-at-level" => {
            figures.sum_of_tables(Some(level(figures, argument)?))
        }
        // No file has a temperature, which RocksDB calls 0.
        "live-sst-files-size-at-temperature" => match argument.parse::<u8>().ok()? {
            0 => figures.table_bytes().to_string(),
            _ => "0".to_owned(),
        },
        "blob-stats" => figures.blob_report(),
        "options-statistics" => figures.database.options.statistics.as_ref()?.report(),
        _ => return None,
    })
}

/// Returns the level that a property names.
fn level(figures: &Figures<'_>, argument: &str) -> Option<usize> {
    argument.parse().ok().filter(|&level| level < figures.level_count())
}

impl Figures<'_> {
    fn tables_at(&self, level: usize) -> u64 {
        self.own.levels.get(level).map_or(0, |shape| shape.tables)
    }

    fn bytes_at(&self, level: usize) -> u64 {
        self.own.levels.get(level).map_or(0, |shape| shape.bytes)
    }

    fn level_report(&self) -> String {
        let mut report = String::from("Level Files Size(MB)\n--------------------\n");
        for level in 0..self.level_count() {
            let (tables, bytes) = (self.tables_at(level), self.bytes_at(level) as f64 / MIB);
            // A `String` takes every text.
            let _ = writeln!(report, "{level:3} {tables:8} {bytes:8.0}");
        }
        report
    }

    fn family_report(&self) -> String {
        let name = &self.family.name;
        let mut report = format!("\n** Compaction Stats [{name}] **\n");
        report += "Level    Files   Size\n---------------------\n";
        for level in (0..self.level_count()).filter(|&level| self.tables_at(level) > 0) {
            let (tables, bytes) = (self.tables_at(level), self.bytes_at(level) as f64 / MIB);
            let _ = writeln!(report, "  L{level} {tables:10} {bytes:9.2} MB");
        }
        let (tables, bytes) = (self.tables.len(), self.table_bytes() as f64 / MIB);
        let _ = writeln!(report, " Sum {tables:9} {bytes:9.2} MB");
        let memtables = self.own.active.memtables + self.own.sealed.memtables;
        let bytes = self.own.memtable_bytes;
        let _ = writeln!(report, "Memtables: {memtables}, {bytes} bytes");
        report
    }

    fn database_report(&self) -> String {
        let stats = &self.stats;
        let writes = stats.puts + stats.deletes + stats.range_deletes + stats.merges;
        let stalled = stats.stall_micros as f64 / 1e6;
        format!(
            "\n** DB Stats **\nCumulative writes: {writes} keys, ingest: {:.2} MB\n\
             Cumulative WAL: written: {:.2} MB\nCumulative flush: {:.2} MB written\n\
             Cumulative compaction: {:.2} MB write, {:.2} MB read\n\
             Cumulative stall: {stalled:.3} seconds\n",
            stats.bytes_user as f64 / MIB,
            stats.bytes_log as f64 / MIB,
            stats.bytes_flush as f64 / MIB,
            stats.bytes_compaction as f64 / MIB,
            stats.bytes_compaction_read as f64 / MIB,
        )
    }

    fn stall_report(&self) -> String {
        format!("Write Stall: {} micros in all\n", self.stats.stall_micros)
    }

    fn table_report(&self) -> String {
        let mut report = String::new();
        for level in 0..self.level_count() {
            let _ = writeln!(report, "--- level {level} ---");
            for table in self.tables.iter().filter(|table| table.level == level) {
                let (number, bytes) = (table.number, table.bytes);
                let (smallest, largest) =
                    (table.smallest.escape_ascii(), table.largest.escape_ascii());
                let _ = writeln!(report, " {number}:{bytes}['{smallest}' .. '{largest}']");
            }
        }
        report
    }

    fn sum_of_tables(&self, level: Option<usize>) -> String {
        let tables = self.tables.iter().filter(|table| level.is_none_or(|own| own == table.level));
        let (records, deletes) = tables.fold((0, 0), |(records, deletes), table| {
            (records + table.records, deletes + table.deletes)
        });
        format!("# entries={records}; # deletions={deletes}; ")
    }

    fn blob_report(&self) -> String {
        let segments = &self.stats.segments;
        let amplification = match segments.live_bytes {
            0 => 0.0,
            live => segments.bytes as f64 / live as f64,
        };
        format!(
            "Number of blob files: {}\nTotal size of blob files: {}\n\
             Total size of garbage in blob files: {}\nBlob file space amplification: {}\n",
            segments.files, segments.bytes, segments.dead_bytes, amplification
        )
    }
}
