//! A compaction job: a state machine whose step is a *slice*.
//!
//! A slice writes one output table. It takes the smallest key range left in the inputs and compacts
//! it. Its one edit adds the output and carves the range out of every input. So finished work is
//! never lost, temporary space is one table, and a job may stop after any slice. The work left is
//! exactly what the inputs still show in the job's range: the job keeps no other record of its
//! progress.

use std::sync::Arc;

use foldb_env::FileSystem;

use crate::error::{Error, ErrorKind, Result};
use crate::faults::{Fault, planted};
use crate::files::FileNames;
use crate::fold::Resolver;
use crate::fold::stamp::{Moment, NEVER};
use crate::iterator::{CoverSource, Covers, MergingCursor, RunCursor, Source};
use crate::key::{Comparator, OperatorId, SeqNo};
use crate::range_tombstone::Edge;
use crate::rewriting::filtering::{Filtered, Filtering, KeyspaceFilters};
use crate::rewriting::folding::{FoldCounts, Folder, stripe_ends};
use crate::rewriting::memory::WorkMemory;
use crate::rewriting::older_tables::OlderTables;
use crate::rewriting::output::TableOutput;
use crate::rewriting::range_deletes::{PassedOn, passed_on};
use crate::segment::{NewSegments, ValueReader, ValueWriter};
use crate::table::{CursorOptions, LaterSyncs, TableBuilderOptions};
use crate::version::{
    FileFacts, Key, KeyRange, OpenTables, Run, RunId, TableRef, TreeEdit, Upper, Version,
    has_much_expired,
};

/// What to compact, and where to.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// Runs that the job carves its range out of.
    pub(crate) inputs: Vec<RunId>,
    pub(crate) range: KeyRange,
    pub(crate) output_level: usize,
    /// The run that takes the output. If it exists, its overlapping tables are compacted too.
    pub(crate) output_run: RunId,
    /// Place of a new output run: directly before (newer than) this run, or as its level's newest.
    pub(crate) before: Option<RunId>,
    pub(crate) moves: Moves,
    /// The call that asked for it, if one did.
    pub(crate) called: Option<Called>,
    /// Why it runs, as its events tell it.
    pub(crate) reason: &'static str,
}

/// A caller's compaction, which may be many jobs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called {
    /// Its earlier jobs wrote the tables from this file number on, and showed their values to the
    /// caller's filter. `u64::MAX`: it need not show each value.
    pub(crate) filtered_from: u64,
}

/// Which tables that overlap nothing move without being rewritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moves {
    /// No table: the job rewrites everything.
    None,
    /// Tables of at least this many bytes, or of half the keys at which a table ends. A rewrite
    /// would change nothing in them.
    Large(u64),
    /// All tables: the whole job is a move.
    All,
}

/// What a job needs from its surroundings.
pub(crate) struct JobContext<'a> {
    pub(crate) version: &'a Version,
    /// Last write that the version's tables hold.
    pub(crate) flushed_through: SeqNo,
    /// Returns the tables that no version refers to and that may still exist.
    pub(crate) gone: &'a dyn Fn() -> Vec<u64>,
    pub(crate) fs: &'a Arc<dyn FileSystem>,
    pub(crate) names: &'a FileNames,
    pub(crate) tables: &'a Arc<OpenTables>,
    pub(crate) comparator: &'a Arc<dyn Comparator>,
    pub(crate) operators: &'a Resolver,
    pub(crate) snapshots: &'a [SeqNo],
    /// The time up to which expired records may go, if the keyspace has an expiry. Operands in
    /// newer tables lower it.
    pub(crate) expired_through: Option<Moment>,
    /// The caller's filters of the keyspace, if it has any.
    pub(crate) filters: Option<Arc<KeyspaceFilters>>,
    pub(crate) next_number: &'a dyn Fn() -> u64,
    pub(crate) table_options: TableBuilderOptions,
    /// Bytes at which an output table ends.
    pub(crate) target_file_size: u64,
    pub(crate) memory: &'a WorkMemory,
    /// Takes the values that are large enough for a segment.
    pub(crate) values: Option<ValueWriter<'a>>,
    /// Collects the syncs of tables, if they become durable together with others.
    pub(crate) later: Option<&'a LaterSyncs>,
}

/// A finished slice.
#[derive(Debug, Default)]
pub(crate) struct FinishedSlice {
    pub(crate) edits: Vec<TreeEdit>,
    pub(crate) counts: FoldCounts,
    /// The first keys that failed to fold, each with the operator that failed.
    pub(crate) failures: Vec<(Vec<u8>, OperatorId)>,
    /// What the caller's filter did.
    pub(crate) filtered: Filtered,
    /// Bytes read from the input runs.
    pub(crate) bytes_above: u64,
    /// Bytes read from the output run.
    pub(crate) bytes_base: u64,
    pub(crate) bytes_written: u64,
    /// The value segments written, which the edits place. Held until the edits are installed.
    pub(crate) segments: NewSegments,
    pub(crate) moved: bool,
}

impl FinishedSlice {
    /// Returns the numbers of the tables that the slice wrote.
    pub(crate) fn new_tables(&self) -> impl Iterator<Item = u64> {
        let inserted = self.edits.iter().filter_map(|edit| match edit {
            TreeEdit::Insert { file, .. } => Some(file.number),
            TreeEdit::NewRun { .. } | TreeEdit::Carve { .. } | TreeEdit::Place(_) => None,
        });
        inserted.filter(|_| !self.moved)
    }

    /// Returns the tables of the version before that the slice took keys from: level and number.
    pub(crate) fn inputs<'a>(
        &'a self,
        before: &'a Version,
        comparator: &'a dyn Comparator,
    ) -> impl Iterator<Item = (usize, u64)> {
        let carved = self.edits.iter().filter_map(|edit| match edit {
            TreeEdit::Carve { run, range } => Some((*run, range)),
            TreeEdit::NewRun { .. } | TreeEdit::Insert { .. } | TreeEdit::Place(_) => None,
        });
        carved.flat_map(move |(id, range)| {
            let runs = before.runs().filter(move |(_, run)| run.id == id);
            runs.flat_map(move |(level, run)| {
                run.overlapping(comparator, range).map(move |table| (level, table.file.number))
            })
        })
    }
}

impl Job {
    /// Does the next slice. Returns `None` when nothing is left to do.
    pub(crate) fn step(&self, mut context: JobContext<'_>) -> Result<Option<FinishedSlice>> {
        let values = context.values.take();
        let context = &context;
        let Some(first) = self.first_input(context) else { return Ok(None) };
        let mut slice = if self.can_move(&first.1, context) {
            self.move_table(&first.1, first.0)
        } else {
            self.merge_slice(&first.1, context, values)?
        };
        self.place_output(&mut slice.edits, context.version);
        Ok(Some(slice))
    }

    /// Lets a slice's edits make the output run exactly if `version` lacks it. Since the slice
    /// began, another part of the job may have made that run or used it up.
    pub(crate) fn place_output(&self, edits: &mut Vec<TreeEdit>, version: &Version) {
        edits.retain(|edit| !matches!(edit, TreeEdit::NewRun { .. }));
        if version.position(self.output_run).is_none() {
            let (level, run) = (self.output_level, self.output_run);
            let before = self.place_of_output(version);
            edits.insert(0, TreeEdit::NewRun { level, run, before });
        }
    }

    /// Returns the run that a missing output run stands directly before, or `None` if it is its
    /// level's newest. Earlier slices may have used up the named run or the output run itself. The
    /// inputs left in the level mark the place where it stood.
    pub(super) fn place_of_output(&self, version: &Version) -> Option<RunId> {
        let mut runs = version.levels[self.output_level].runs.iter().map(|run| run.id);
        runs.find(|&id| Some(id) == self.before || self.inputs.contains(&id))
    }

    /// Returns the input table with the smallest key in the range.
    fn first_input(&self, context: &JobContext<'_>) -> Option<(RunId, TableRef)> {
        self.first_input_of(context.version, &**context.comparator)
    }

    fn first_input_of(
        &self,
        version: &Version,
        comparator: &dyn Comparator,
    ) -> Option<(RunId, TableRef)> {
        let runs = self.inputs.iter().filter_map(|&id| version.run(id));
        runs.filter_map(|run| {
            let table = run.overlapping(comparator, &self.range).next()?;
            Some((run.id, table.clone()))
        })
        .min_by(|(_, a), (_, b)| comparator.compare(&a.lo, &b.lo))
    }

    /// Checks that a slice took something from the front of the inputs, or from the output run
    /// before them. Otherwise a comparator that contradicts itself would repeat one slice for ever.
    ///
    /// # Errors
    /// `ComparatorFailed` if the slice took nothing from either.
    pub(crate) fn check_progress(
        &self,
        before: &Version,
        after: &Version,
        comparator: &dyn Comparator,
    ) -> Result<()> {
        let first = |version: &Version| {
            let (run, table) = self.first_input_of(version, comparator)?;
            Some((run, table.file.number, table.lo))
        };
        let next = first(after);
        if next.is_none() || next != first(before) {
            return Ok(());
        }
        // A slice that begins in front of the inputs may also end there. Then it shortens the
        // output run's table around their first key.
        let around = |version: &Version| {
            let (_, first) = self.first_input_of(version, comparator)?;
            let table = version.run(self.output_run)?.table_of(comparator, &first.lo)?;
            Some((table.file.number, Arc::clone(&table.lo)))
        };
        if let (Some(before), Some(after)) = (around(before), around(after))
            && before.0 == after.0
            && before.1 != after.1
        {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::ComparatorFailed,
            format!(
                "comparator '{}' contradicts itself: a compaction made no progress",
                comparator.name()
            ),
        ))
    }

    /// Returns the runs that the job reads: its inputs, and the output run if it exists.
    pub(super) fn sources<'a>(&self, version: &'a Version) -> Vec<&'a Arc<Run>> {
        let takes_part =
            |run: &&Arc<Run>| run.id == self.output_run || self.inputs.contains(&run.id);
        version.runs().map(|(_, run)| run).filter(takes_part).collect()
    }

    /// Returns the tables that the job reads.
    pub(crate) fn tables(&self, version: &Version, comparator: &dyn Comparator) -> Vec<TableRef> {
        let runs = self.sources(version).into_iter();
        runs.flat_map(|run| run.overlapping(comparator, &self.range)).cloned().collect()
    }

    /// Returns whether a table overlaps nothing else in the job and lies inside its range.
    fn can_move(&self, table: &TableRef, context: &JobContext<'_>) -> bool {
        let comparator = &**context.comparator;
        // A rewrite may drop tombstones, operands and records that a snapshot kept apart. It also
        // makes small tables grow.
        let file = &table.file;
        let settled = file.deletes == 0
            && file.merges == 0
            && file.range_deletes == 0
            && file.kept_apart == 0
            && !context.expired_through.is_some_and(|now| has_much_expired(file, now));
        let moves = match self.moves {
            Moves::None => false,
            Moves::Large(least) => {
                let is_large =
                    file.len >= least || file.entries >= context.memory.max_keys() as u64 / 2;
                settled && is_large
            }
            Moves::All => true,
        };
        if !moves {
            return false;
        }
        let inside =
            self.range.lo.as_ref().is_none_or(|lo| comparator.compare(lo, &table.lo).is_le())
                && self.range.hi.as_ref().is_none_or(|hi| table.hi.compare(comparator, hi).is_le());
        let extent = KeyRange { lo: Some(Arc::clone(&table.lo)), hi: Some(table.hi.clone()) };
        let overlapping = self
            .sources(context.version)
            .into_iter()
            .map(|run| run.overlapping(comparator, &extent).count())
            .sum::<usize>();
        inside && overlapping == 1
    }

    fn move_table(&self, table: &TableRef, from: RunId) -> FinishedSlice {
        let range = KeyRange { lo: Some(Arc::clone(&table.lo)), hi: Some(table.hi.clone()) };
        let insert = TreeEdit::Insert {
            run: self.output_run,
            file: table.file.facts().clone(),
            lo: Arc::clone(&table.lo),
            hi: table.hi.clone(),
        };
        let edits = vec![TreeEdit::Carve { run: from, range }, insert];
        FinishedSlice { edits, moved: true, ..FinishedSlice::default() }
    }

    /// Compacts from the first key until one output table is full.
    fn merge_slice<'a>(
        &self,
        first: &TableRef,
        context: &'a JobContext<'_>,
        values: Option<ValueWriter<'a>>,
    ) -> Result<FinishedSlice> {
        let start = self.slice_start(first, context);
        let rest = KeyRange { lo: Some(Arc::clone(&start)), hi: self.range.hi.clone() };
        let comparator = &**context.comparator;
        let inputs = self.sources(context.version).len();
        let readahead = context.memory.readahead(inputs);
        let _windows = context.memory.charge(inputs * readahead);
        let mut records = self.open_inputs(&rest, readahead, context);
        records.seek(&start)?;

        let mut involved = self.inputs.clone();
        involved.push(self.output_run);
        let older = OlderTables::below(context.version, &involved, &rest, context.comparator);
        let covers = self.open_covers(&rest, context);
        let mut folder =
            Folder::new(context.operators, context.snapshots, older).covered_by(covers);
        let expired_through = context.expired_through.map(|through| {
            let newest_first = context.version.runs().map(|(_, run)| run);
            let newer = newest_first.take_while(|run| !involved.contains(&run.id));
            through.min(merged_since(newer, &rest, comparator))
        });
        folder = folder.reading(values_of(context)).expiring(expired_through);
        folder = folder.filtering(self.begin_filter(&rest, context));
        let options = context.table_options.clone();
        let mut output = TableOutput::new(
            context.fs,
            context.names,
            context.next_number,
            options,
            context.memory,
        );
        if let Some(later) = context.later {
            output = output.syncing_later(later);
        }
        if let Some(values) = values {
            output = output.separating(values);
        }
        let mut end = self.range.hi.clone();
        while records.valid() {
            if rest.hi.as_ref().is_some_and(|hi| !hi.admits(comparator, records.key())) {
                break;
            }
            if output.is_full(context.target_file_size, folder.memory_bytes()) {
                end = Some(Upper::Excluded(records.key().into()));
                break;
            }
            folder.fold_key(&mut records, &mut output)?;
        }
        let (counts, failures) = (folder.counts, std::mem::take(&mut folder.failures));
        let filtered = folder.finish_filtering();
        let range = KeyRange { lo: Some(start), hi: end };
        debug_assert!(
            range.contains(comparator, range.lo.as_deref().unwrap_or_default()),
            "a slice begins before it ends"
        );
        let tombstones = tombstones_to_pass_on(&folder, &range, comparator)?;
        output.set_tombstones(tombstones, &folder.older);
        let segments = output.finish_values()?;
        // Another part of the job may use up a run that has nothing here.
        let has_keys = |run: &&Arc<Run>| run.overlapping(comparator, &range).next().is_some();
        let carve = |run: &Arc<Run>| TreeEdit::Carve { run: run.id, range: range.clone() };
        let sources = self.sources(context.version).into_iter();
        let mut edits: Vec<_> = sources.filter(has_keys).map(carve).collect();
        let flushed_through = context.flushed_through;
        let surroundings =
            context.version.surroundings(&edits, comparator, flushed_through, &(context.gone)())?;
        output.set_surroundings(surroundings);
        let files = output.finish()?;
        assert!(
            files.iter().all(|file| holds(&range, file, comparator)),
            "a slice puts nothing outside the range that it carves (H1)"
        );
        let bytes_base = bytes_in(context.version.run(self.output_run), &range, comparator);
        let inputs = self.inputs.iter().map(|&id| context.version.run(id));
        let bytes_above = inputs.map(|run| bytes_in(run, &range, comparator)).sum();
        let bytes_written = files.iter().map(|file| file.len).sum();
        edits.extend(segments.placed.iter().copied().map(TreeEdit::Place));
        edits.extend(files.into_iter().map(|file| TreeEdit::Insert {
            run: self.output_run,
            lo: Arc::clone(&file.smallest),
            hi: file.end.clone(),
            file,
        }));
        Ok(FinishedSlice {
            edits,
            counts,
            failures,
            filtered,
            bytes_above,
            bytes_base,
            bytes_written,
            segments,
            moved: false,
        })
    }

    /// Returns where the slice begins: the first input key, or the start of the output run's table
    /// around it. So no remainder of that table keeps the whole file alive. Only a part of a job
    /// may leave one, at its start, until the next job there.
    fn slice_start(&self, first: &TableRef, context: &JobContext<'_>) -> Key {
        let comparator = &**context.comparator;
        let in_range =
            |key: &Key| self.range.lo.as_ref().is_none_or(|lo| comparator.compare(lo, key).is_le());
        let first_key = match &self.range.lo {
            Some(lo) if !in_range(&first.lo) => Arc::clone(lo),
            _ => Arc::clone(&first.lo),
        };
        let around = context
            .version
            .run(self.output_run)
            .and_then(|run| run.table_of(comparator, &first_key));
        match around {
            Some(table) if in_range(&table.lo) => Arc::clone(&table.lo),
            _ => first_key,
        }
    }

    /// Asks the caller for a filter of the slice in this range.
    fn begin_filter(&self, range: &KeyRange, context: &JobContext<'_>) -> Option<Filtering> {
        let filters = context.filters.as_ref()?;
        let comparator = &**context.comparator;
        if let Some(Called { filtered_from }) = self.called {
            let sources = self.sources(context.version).into_iter();
            let mut tables = sources.flat_map(|run| run.overlapping(comparator, range));
            if tables.all(|table| table.file.number >= filtered_from) {
                return None;
            }
        }
        let takes_part =
            |run: &Arc<Run>| run.id == self.output_run || self.inputs.contains(&run.id);
        let mut runs = context.version.runs().map(|(_, run)| run);
        let is_full =
            runs.all(|run| takes_part(run) || run.overlapping(comparator, range).next().is_none());
        filters.begin(self.output_level, is_full, self.called.is_some())
    }

    /// Opens the range tombstones of the job's runs, to be asked stripe by stripe.
    fn open_covers(&self, range: &KeyRange, context: &JobContext<'_>) -> Option<Covers> {
        let (tables, comparator) = (context.tables, context.comparator);
        let runs = self.sources(context.version).into_iter();
        let sources = runs.filter_map(|run| CoverSource::of_run(run, range, tables, &**comparator));
        Covers::new(sources.collect(), stripe_ends(context.snapshots), comparator)
    }

    fn open_inputs(
        &self,
        range: &KeyRange,
        readahead: usize,
        context: &JobContext<'_>,
    ) -> MergingCursor {
        let options = CursorOptions { readahead, ..CursorOptions::walk() };
        let sources = self
            .sources(context.version)
            .into_iter()
            .map(|run| {
                let (tables, comparator) = (context.tables, context.comparator);
                Source::Run(RunCursor::new(run, range, tables, comparator, options.clone()))
            })
            .collect();
        MergingCursor::new(sources, context.comparator)
    }
}

/// Whether a table shows keys of the range only.
fn holds(range: &KeyRange, file: &FileFacts, comparator: &dyn Comparator) -> bool {
    range.contains(comparator, &file.smallest)
        && range.hi.as_ref().is_none_or(|hi| file.end.compare(comparator, hi).is_le())
}

/// Returns the earliest moment of an operand in these runs' tables.
fn merged_since<'a>(
    runs: impl Iterator<Item = &'a Arc<Run>>,
    range: &KeyRange,
    comparator: &dyn Comparator,
) -> Moment {
    if planted(Fault::DropExpiredBelowMerge) {
        return NEVER;
    }
    let tables = runs.flat_map(|run| run.overlapping(comparator, range));
    let expiry = tables.filter_map(|table| table.file.expiry);
    expiry.map(|expiry| expiry.merged_since).min().unwrap_or(NEVER)
}

/// Returns a reader of the inputs' separated values, if there are any.
fn values_of(context: &JobContext<'_>) -> Option<ValueReader> {
    let (segments, keyspace) = (context.tables.segments(), context.table_options.keyspace);
    let map = &context.version.segments;
    (!map.is_empty()).then(|| ValueReader::new(segments, keyspace, map))
}

/// Returns the range tombstones of a slice: those of its inputs, clipped to its range. The next
/// slice's tombstones begin where these end (H10).
fn tombstones_to_pass_on(
    folder: &Folder<'_>,
    range: &KeyRange,
    comparator: &dyn Comparator,
) -> Result<PassedOn> {
    let Some(covers) = folder.covers() else { return Ok(PassedOn::default()) };
    let inputs = covers.between(&range.start(), &range.end())?;
    // Tombstones of tables end at keys, whatever keys the job's own records have.
    let own = (Edge::Lowest, Edge::Highest);
    Ok(passed_on(inputs, folder.snapshots, &folder.older, Some(&own), comparator))
}

/// Estimates the bytes of a run's tables inside a range.
fn bytes_in(run: Option<&Arc<Run>>, range: &KeyRange, comparator: &dyn Comparator) -> u64 {
    let tables = run.into_iter().flat_map(|run| run.overlapping(comparator, range));
    tables.map(|table| table.bytes_within(comparator, range)).sum()
}

/// Checks that a job's inputs keep the order invariant (H4). In its range, the job must take every
/// run between its newest input and its output, and between its newest and its oldest input.
///
/// # Panics
/// If the policy left out a run: the job would bring old values back.
pub(crate) fn assert_inputs_in_order(job: &Job, version: &Version, comparator: &dyn Comparator) {
    if planted(Fault::MovePastOlderRun) {
        return;
    }
    let runs: Vec<_> = version.runs().collect();
    let newest = runs.iter().position(|(_, run)| job.inputs.contains(&run.id));
    let output = runs.iter().position(|(level, run)| {
        run.id == job.output_run
            || (version.position(job.output_run).is_none()
                && (*level > job.output_level
                    || (*level == job.output_level && job.before.is_none_or(|id| run.id == id))))
    });
    let oldest = runs.iter().rposition(|(_, run)| job.inputs.contains(&run.id));
    let (Some(newest), Some(oldest)) = (newest, oldest) else { return };
    let end = output.unwrap_or(runs.len()).max(oldest + 1);
    for (level, run) in runs.iter().take(end).skip(newest) {
        let takes_part = run.id == job.output_run || job.inputs.contains(&run.id);
        assert!(
            takes_part || run.overlapping(comparator, &job.range).next().is_none(),
            "a job into level {} passes over run {} of level {level}",
            job.output_level,
            run.id
        );
    }
}
