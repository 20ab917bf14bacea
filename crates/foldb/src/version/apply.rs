//! Applies edits: makes the next version from one version.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::faults::{Fault, planted};
use crate::key::{Comparator, SeqNo};
use crate::segment::SegmentFiles;
use crate::separated::SegmentId;
use crate::table::{Piece, Surroundings};
use crate::version::bounds::{KeyRange, Upper};
use crate::version::edit::TreeEdit;
use crate::version::file::{FileFacts, FileMeta};
use crate::version::level::{Run, RunId, TableRef, Version};

impl Version {
    /// Returns the version after these changes. It shares the objects of files already in use, and
    /// makes objects for other files.
    ///
    /// # Errors
    /// `Corruption` if an edit names a missing run or makes an invalid change.
    pub(crate) fn apply(
        &self,
        changes: &[TreeEdit],
        comparator: &dyn Comparator,
        segment_files: &Arc<SegmentFiles>,
    ) -> Result<Version> {
        self.apply_all([changes], comparator, segment_files)
    }

    /// Returns the version after several edits. A run that one edit empties does not exist for the
    /// next edit, which may create the run again.
    ///
    /// # Errors
    /// As [`Version::apply`].
    pub(crate) fn apply_all<'a>(
        &self,
        edits: impl IntoIterator<Item = &'a [TreeEdit]>,
        comparator: &dyn Comparator,
        segment_files: &Arc<SegmentFiles>,
    ) -> Result<Version> {
        let mut inserted: HashMap<u64, Arc<FileMeta>> = HashMap::new();
        let mut next = self.clone();
        for changes in edits {
            let before = next.tables_at_stake(changes);
            for change in changes {
                if let TreeEdit::Insert { file, .. } = change {
                    inserted.entry(file.number).or_insert_with(|| {
                        self.file(file, comparator).unwrap_or_else(|| {
                            Arc::new(FileMeta::new(file.clone(), segment_files.trash()))
                        })
                    });
                }
                next.change(change, &inserted, comparator, segment_files)?;
            }
            next.settle_segments(before)?;
            for level in &mut next.levels {
                level.runs.retain(|run| !run.tables.is_empty());
            }
        }
        Ok(next)
    }

    fn change(
        &mut self,
        change: &TreeEdit,
        inserted: &HashMap<u64, Arc<FileMeta>>,
        comparator: &dyn Comparator,
        segment_files: &Arc<SegmentFiles>,
    ) -> Result<()> {
        match change {
            TreeEdit::NewRun { level, run, before } => self.create_run(*level, *run, *before),
            TreeEdit::Insert { run, file, lo, hi } => {
                let file = Arc::clone(&inserted[&file.number]);
                let table = TableRef { file, lo: Arc::clone(lo), hi: hi.clone() };
                Arc::make_mut(self.run_mut(*run)?).insert(comparator, table);
                Ok(())
            }
            TreeEdit::Carve { run, range } => self.carve(*run, range, comparator),
            TreeEdit::Place(placement) => {
                self.segments.place(*placement, segment_files.get(placement.file))
            }
        }
    }

    /// Returns the object of a file that the tree shows. It looks only where the file's keys lie: a
    /// tree may have very many tables.
    pub(super) fn file(
        &self,
        facts: &FileFacts,
        comparator: &dyn Comparator,
    ) -> Option<Arc<FileMeta>> {
        let extent =
            KeyRange { lo: Some(Arc::clone(&facts.smallest)), hi: Some(facts.end.clone()) };
        let tables = self.runs().flat_map(|(_, run)| run.overlapping(comparator, &extent));
        let found = tables.map(|table| &table.file).find(|file| file.number == facts.number);
        debug_assert!(
            found.is_some() || self.tables().all(|table| table.file.number != facts.number),
            "a table shows nothing beyond the keys of its file"
        );
        found.cloned()
    }

    /// Returns the files that the changes may add or remove, and whether this version has them.
    /// Leaves out files without references to segments.
    fn tables_at_stake(&self, changes: &[TreeEdit]) -> HashMap<u64, AtStake> {
        let mut files = HashMap::new();
        for change in changes {
            match change {
                TreeEdit::Insert { file, .. } if !file.references.is_empty() => {
                    let references = Arc::clone(&file.references);
                    files.insert(file.number, AtStake { references, was_there: false });
                }
                TreeEdit::Carve { run, .. } => {
                    let tables = self.run(*run).map_or(&[][..], |run| &run.tables);
                    for file in tables.iter().map(|table| &table.file) {
                        if !file.references.is_empty() {
                            let references = Arc::clone(&file.references);
                            files.insert(file.number, AtStake { references, was_there: false });
                        }
                    }
                }
                _ => {}
            }
        }
        if !files.is_empty() {
            for table in self.tables() {
                if let Some(file) = files.get_mut(&table.file.number) {
                    file.was_there = true;
                }
            }
        }
        files
    }

    /// Updates the live bytes of segments after an edit.
    fn settle_segments(&mut self, before: HashMap<u64, AtStake>) -> Result<()> {
        if !before.is_empty() {
            let is_there: HashSet<u64> = self
                .tables()
                .map(|table| table.file.number)
                .filter(|number| before.contains_key(number))
                .collect();
            let (came, went): (Vec<_>, Vec<_>) = before
                .iter()
                .filter(|(number, file)| file.was_there != is_there.contains(number))
                .partition(|(_, file)| !file.was_there);
            for (_, file) in came {
                self.segments.add_table(&file.references)?;
            }
            for (_, file) in went {
                self.segments.remove_table(&file.references)?;
            }
        }
        self.segments.prune();
        Ok(())
    }

    /// Returns the description of the tree after these edits, for a table to store. The edits must
    /// only remove. The description lists this version's files that are then not visible as a
    /// whole, with their visible parts. A file of which no part is visible has an empty list. So
    /// has each table that an earlier edit replaced and that may still exist (`gone`): the table
    /// whose description said so may be unlinked before it. It also lists the sequence numbers of
    /// the sorted loads in this version.
    pub(crate) fn surroundings(
        &self,
        edits: &[TreeEdit],
        comparator: &dyn Comparator,
        flushed_through: SeqNo,
        gone: &[u64],
    ) -> Result<Surroundings> {
        let after = self.apply(edits, comparator, &Arc::default())?;
        let mut files: BTreeMap<u64, Vec<&TableRef>> =
            self.tables().map(|table| (table.file.number, Vec::new())).collect();
        for table in after.tables() {
            files.entry(table.file.number).or_default().push(table);
        }
        for &number in gone {
            files.entry(number).or_default();
        }
        let is_live = |shown: &Vec<&TableRef>| !shown.is_empty();
        let live =
            files.iter().filter(|(_, shown)| is_live(shown)).map(|(file, _)| *file).collect();
        files.retain(|_, shown| !matches!(shown[..], [table] if table.is_whole()));
        let trimmed = files.into_iter().map(|(number, mut shown)| {
            shown.sort_by(|a, b| comparator.compare(&a.lo, &b.lo));
            let pieces = shown.into_iter().map(|table| Piece {
                lo: table.lo.to_vec(),
                hi: table.hi.key().to_vec(),
                hi_included: matches!(table.hi, Upper::Included(_)),
            });
            (number, pieces.collect())
        });
        let loaded = self
            .tables()
            .filter_map(|table| table.file.loaded.map(|first| (first, table.file.largest_seqno)));
        let loads = loaded.collect::<BTreeSet<_>>().into_iter().collect();
        Ok(Surroundings { flushed_through, trimmed: trimmed.collect(), loads, live })
    }

    /// Marks the files that this version refers to and `next` does not.
    pub(crate) fn mark_obsolete_files(&self, next: &Version) {
        let mut gone: Vec<&Arc<FileMeta>> = self
            .runs()
            .flat_map(|(_, run)| run.differing(next.run(run.id).map(|run| &**run)))
            .map(|table| &table.file)
            .collect();
        gone.sort_unstable_by_key(|file| Arc::as_ptr(file));
        gone.dedup_by(|a, b| Arc::ptr_eq(a, b));
        if !gone.is_empty() {
            let mut is_kept = vec![false; gone.len()];
            for TableRef { file, .. } in next.tables() {
                let place = gone.binary_search_by_key(&Arc::as_ptr(file), |file| Arc::as_ptr(file));
                if let Ok(at) = place {
                    is_kept[at] = true;
                }
            }
            let mut is_kept = is_kept.into_iter();
            gone.retain(|_| is_kept.next() == Some(false));
        }
        gone.into_iter().for_each(|file| file.mark_obsolete());
        debug_assert!(
            !next.tables().any(|table| table.file.is_obsolete()),
            "no table of the tree in force is marked for removal"
        );
        self.segments.mark_files(&next.segments);
    }

    /// Returns the edits that make this version from an empty one.
    pub(crate) fn describe(&self) -> Vec<TreeEdit> {
        let mut changes: Vec<_> =
            self.segments.iter().map(|segment| TreeEdit::Place(segment.placement)).collect();
        for (level, run) in self.levels.iter().enumerate().flat_map(|(level, runs)| {
            // A new run is its level's newest, so the oldest comes first.
            runs.runs.iter().rev().map(move |run| (level, run))
        }) {
            changes.push(TreeEdit::NewRun { level, run: run.id, before: None });
            changes.extend(run.tables.iter().map(|table| TreeEdit::Insert {
                run: run.id,
                file: table.file.facts().clone(),
                lo: Arc::clone(&table.lo),
                hi: table.hi.clone(),
            }));
        }
        changes
    }

    fn create_run(&mut self, level: usize, run: RunId, before: Option<RunId>) -> Result<()> {
        if self.position(run).is_some() {
            return Err(Error::corruption(format!("run {run} is created twice")));
        }
        let runs = match self.levels.get_mut(level) {
            Some(level) => &mut level.runs,
            None => return Err(Error::corruption(format!("there is no level {level}"))),
        };
        let at = match before {
            None => 0,
            Some(before) => runs
                .iter()
                .position(|run| run.id == before)
                .ok_or_else(|| Error::corruption(format!("there is no run {before}")))?,
        };
        runs.insert(at, Arc::new(Run::new(run, Vec::new())));
        Ok(())
    }

    fn run_mut(&mut self, id: RunId) -> Result<&mut Arc<Run>> {
        let (level, at) = self
            .position(id)
            .ok_or_else(|| Error::corruption(format!("there is no run {id} in the tree")))?;
        Ok(&mut self.levels[level].runs[at])
    }

    fn carve(&mut self, id: RunId, range: &KeyRange, comparator: &dyn Comparator) -> Result<()> {
        let run = self.run_mut(id)?;
        if let Some(end @ Upper::Included(_)) = &range.hi {
            let mut tables = run.overlapping(comparator, range);
            if tables.any(|table| table.hi.compare(comparator, end).is_gt()) {
                return Err(Error::corruption(format!(
                    "the last key carved out of run {id} lies inside a table"
                )));
            }
        }
        let left = run.carve(comparator, range);
        debug_assert!(
            planted(Fault::KeepUsedUpSlice)
                || left.iter().all(|run| run.overlapping(comparator, range).next().is_none()),
            "a run shows nothing of the range that was carved out of it (H1)"
        );
        *run = Arc::new(left.unwrap_or(Run::new(id, Vec::new())));
        Ok(())
    }
}

/// A table whose addition or removal changes the live bytes of segments.
struct AtStake {
    references: Arc<[(SegmentId, u64)]>,
    was_there: bool,
}
