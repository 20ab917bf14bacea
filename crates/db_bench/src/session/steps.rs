//! The steps without a result line.

use std::io::Write;
use std::time::Instant;

use foldb::{Db, Iter};

use super::Session;
use crate::benchmark::Step;
use crate::failure::Failure;
use crate::report::{level_lines, memory_lines, table_lines};

impl Session {
    pub(super) fn step(&mut self, name: &'static str, step: Step) -> Result<(), Failure> {
        match step {
            Step::Flush => {
                self.database.db.flush().map_err(Failure::during(name))?;
                writeln!(self.out, "flush memtable")?;
            }
            Step::CompactAll => self.database.db.compact(..).map_err(Failure::during(name))?,
            Step::CompactLevel(level) => self.compact_level(name, level)?,
            Step::WaitForCompaction => self.wait_for_compaction()?,
            Step::Stats => write!(self.out, "{}", self.database.lines())?,
            Step::ResetStats => {
                self.database.baseline = self.database.db.stats();
                self.database.at_open = self.database.baseline.clone();
            }
            Step::LevelStats => {
                write!(self.out, "\n{}\n", level_lines(&self.database.db.stats()))?;
            }
            Step::MemoryStats => write!(self.out, "{}", memory_lines(&self.database.db.stats()))?,
            Step::Tables => {
                let tables = self.database.db.tables().map_err(Failure::during(name))?;
                write!(self.out, "\n{}\n", table_lines(&tables, self.plan.options.num_levels))?;
            }
            Step::Compare => self.compare(name)?,
        }
        Ok(())
    }

    /// Compacts the key range of level 0, or of the first level with tables below it (RocksDB:
    /// `CompactLevel`, which writes into the next level).
    fn compact_level(&mut self, name: &str, from: usize) -> Result<(), Failure> {
        let tables = self.database.db.tables().map_err(Failure::during(name))?;
        let levels = tables.iter().map(|table| table.level);
        let level = if from == 0 { Some(0) } else { levels.clone().filter(|it| *it > 0).min() };
        let chosen: Vec<_> = tables.iter().filter(|table| Some(table.level) == level).collect();
        let first = chosen.iter().map(|table| &table.smallest).min();
        let last = chosen.iter().map(|table| &table.largest).max();
        let (Some(level), Some(first), Some(last)) = (level, first, last) else {
            writeln!(self.out, "{name} found 0 files to compact")?;
            return Ok(());
        };
        if !levels.clone().any(|other| other > level) {
            writeln!(self.out, "{name} found no data beyond L{level}")?;
            return Ok(());
        }
        let (count, bottom) = (chosen.len(), self.plan.options.num_levels - 1);
        writeln!(self.out, "{name} found {count} files to compact from L{level} to L{bottom}")?;
        self.database.db.compact(first..=last).map_err(Failure::during(name))
    }

    fn wait_for_compaction(&mut self) -> Result<(), Failure> {
        let directory = self.plan.directory.display();
        writeln!(self.out, "waitforcompaction({directory}): started")?;
        self.out.flush()?;
        let started = Instant::now();
        self.database.db.wait_for_background().map_err(Failure::during("waitforcompaction"))?;
        if let Some(evidence) = &mut self.evidence {
            evidence.rested(started.elapsed(), &self.database.db);
        }
        writeln!(self.out, "waitforcompaction({directory}): finished with status (OK)")?;
        Ok(())
    }

    /// Compares all entries with those of `--truth_db` (RocksDB: `VerifyDBFromDB`).
    fn compare(&mut self, name: &'static str) -> Result<(), Failure> {
        if self.plan.flags.truth_db.is_empty() {
            writeln!(self.out, "{name:<12} : skipped (it needs --truth_db)")?;
            return Ok(());
        }
        eprintln!("Verifying db == truth_db...");
        let truth = Db::open_read_only(&self.plan.flags.truth_db, self.plan.options.clone())
            .map_err(Failure::during("--truth_db"))?;
        let same = truth
            .iter()
            .and_then(|mut truth| same_entries(&mut truth, &mut self.database.db.iter()?))
            .map_err(Failure::during(name))?;
        if !same {
            return Err(Failure::new(format!("{name}: the two databases differ")));
        }
        eprintln!("...Verified");
        Ok(())
    }
}

fn same_entries(one: &mut Iter, other: &mut Iter) -> foldb::Result<bool> {
    let mut valid = (one.seek_to_first()?, other.seek_to_first()?);
    while valid == (true, true) {
        if one.key() != other.key() || one.value()? != other.value()? {
            return Ok(false);
        }
        valid = (one.advance()?, other.advance()?);
    }
    Ok(valid == (false, false))
}
