//! Changes to a database between its lives: repairs of a copy after a stop, and misdirected writes.

use std::path::Path;
use std::sync::Arc;

use foldb::repair::RepairOptions;
use foldb::{Db, ErrorKind};
use foldb_env::{FileSystem, MemFs};
use foldb_stress::draws;

use crate::checker::Wrong;
use crate::counts::Counted;
use crate::damage::misdirect;
use crate::disk::{Disk, Stop, Temper};
use crate::history::Seen;
use crate::world::{MOST_LIVES, PATH, World};

/// Path of the repaired copies.
const REPAIRED: &str = "/repaired";

impl World<'_> {
    /// Repairs a copy of the files after a stop, for some seeds and stops. The repaired database
    /// must show a moment that the stop may leave. After some kills and closes, this removes the
    /// manifest first, but only if it names every file: without a manifest, a repair would also
    /// use files that are not part of the database.
    pub(crate) fn repair_copy(&mut self, life: u64) -> Result<(), Wrong> {
        let mut rng = draws(self.features.seed, "repair", &[life]);
        if self.features.repairs == 0 || rng.u8(..self.features.repairs) > 0 {
            return Ok(());
        }
        let files = self.files.kill();
        let was_created = files.exists(&Path::new(PATH).join("CURRENT"));
        let seed = rng.u64(..);
        let disk = Arc::new(Disk::new(files.clone(), Temper::CALM, Stop::Kill, None, seed));
        let options = self.options(&disk, life);
        let second = self.day.second();
        let may_rebuild = self.keeps_all && rng.bool() && {
            let report = foldb::repair::verify(PATH, options.clone());
            report.is_ok_and(|report| report.leftovers.is_empty())
        };
        let is_rebuild = may_rebuild && take_manifest_away(&files);
        if is_rebuild {
            // The manifest had the time.
            self.day.catch_up();
        }
        let copy_to = rng.bool().then(|| REPAIRED.into());
        let path = if copy_to.is_some() { REPAIRED } else { PATH };
        let options = RepairOptions { copy_to, ..options.into() };
        let report = match Db::repair(PATH, options) {
            Ok(report) => report,
            Err(error) => {
                // The stop may have come before any write was durable.
                let kinds = [ErrorKind::DatabaseMissing, ErrorKind::Corruption];
                let (mut checker, nothing) = (self.checker.clone(), self.nothing());
                let may_be_nothing =
                    checker.begin_life(u64::MAX, self.keeps_all, &nothing, second).is_ok();
                let is_right = may_be_nothing && kinds.contains(&error.kind());
                return is_right.then_some(()).ok_or(format!("the repair failed: {error}"));
            }
        };
        self.counts.add(if is_rebuild { Counted::Rebuild } else { Counted::Repair });
        // A repair keeps what a power loss left behind a hole in a log. An open would not, so the
        // checker does not know such a state.
        let has_hole = !report.skipped.is_empty() || !report.lost_logs.is_empty();
        let is_behind_a_hole = !self.keeps_all && has_hole;
        if !is_rebuild && was_created && !report.found_nothing() && !is_behind_a_hole {
            return Err(format!("the repair found what no stop does: {report:?}"));
        }
        let failed = |error| format!("does not open: {error}");
        let opened = self.open(path, &disk, life).map_err(failed)?;
        let (number, found) = opened.entries().map_err(failed)?;
        opened.db.verify().map_err(|error| format!("does not verify: {error}"))?;
        // Without a manifest, a repair may not know the newest files. Then it says so.
        let is_told = is_rebuild && !report.lost_nothing();
        if is_behind_a_hole || is_told {
            return Ok(());
        }
        // Without a manifest and without records, no file has the last number.
        let number = if is_rebuild { u64::MAX } else { number };
        self.checker.clone().begin_life(number, self.keeps_all, &found, second).map(drop)
    }

    /// Returns the answers of an empty database.
    fn nothing(&self) -> Vec<Seen> {
        let empty = |keyspace| Seen::Entries { keyspace, range: None, entries: Vec::new() };
        (0..self.features.operators.len()).map(empty).collect()
    }

    /// After a clean close, misdirects a write. Every answer must be right or `Corruption`. If a
    /// verification finds no fault, every answer must be right.
    pub(crate) fn damaged_life(&mut self) -> Result<(), Wrong> {
        let mut rng = draws(self.features.seed, "damage", &[]);
        let damage = misdirect(&self.files, Path::new(PATH), &mut rng);
        self.day.catch_up();
        let Some(damage) = damage.map_err(|error| format!("cannot damage: {error}"))? else {
            return Ok(());
        };
        self.counts.add(Counted::Damage);
        let disk = self.disk(Temper::CALM, Stop::Kill, None, MOST_LIVES + 2);
        let verified = foldb::repair::verify(PATH, self.options(&disk, MOST_LIVES + 2));
        let is_sound = verified.is_ok_and(|report| report.is_sound());
        let read = self.open(PATH, &disk, MOST_LIVES + 2).and_then(|opened| opened.entries());
        match read {
            Ok((number, found)) => {
                if !is_sound {
                    self.counts.add(Counted::DamageNoticed);
                }
                self.begin_life(number, &found).map_err(|wrong| format!("{damage}; {wrong}"))
            }
            Err(error) if error.kind() != ErrorKind::Corruption => {
                Err(format!("{damage}, which is no Corruption: {error}"))
            }
            Err(error) if is_sound => Err(format!("{damage}, and it verifies; {error}")),
            Err(_) => {
                self.counts.add(Counted::DamageNoticed);
                Ok(())
            }
        }
    }
}

/// Removes the manifest. Returns whether there was one.
fn take_manifest_away(files: &MemFs) -> bool {
    let names = files.list(Path::new(PATH)).unwrap_or_default();
    let is_manifest = |name: &&String| name.starts_with("MANIFEST") || *name == "CURRENT";
    let of_manifest: Vec<_> = names.iter().filter(is_manifest).collect();
    let removed = of_manifest.iter().map(|name| files.remove(&Path::new(PATH).join(name)));
    removed.fold(false, |any, outcome| any | outcome.is_ok())
}
