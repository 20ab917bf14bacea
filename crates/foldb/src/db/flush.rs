//! Flushing: sealed memtables become a run of level 0.
//!
//! Several sealed memtables are flushed together (hazard H19): they fold into each other on the way
//! and level 0 gets fewer, larger runs. They are taken oldest first, so runs appear in the order in
//! which memtables were sealed.

use std::sync::{Arc, PoisonError};

use crate::compaction::folding::{Folder, OlderTables};
use crate::compaction::output::TableOutput;
use crate::db::core::Core;
use crate::error::Result;
use crate::faults::{Fault, planted};
use crate::iterator::{MergingCursor, Source};
use crate::key::{DEFAULT_KEYSPACE, SeqNo};
use crate::memtable::Memtable;
use crate::totals::Total;
use crate::version::{Edit, FileFacts, KeyRange, TreeEdit, Upper, Version};

/// Most memtables flushed together.
const MAX_TOGETHER: usize = 8;

impl Core {
    /// Flushes the oldest sealed memtables, as soon as there are enough of them or `eager`ly.
    /// Whether there was anything to flush.
    pub(crate) fn flush_step(&self, eager: bool) -> Result<bool> {
        let _flushing = self.background.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        let view = self.view.load_full();
        let wanted = if eager { 1 } else { self.options.flush_together() };
        if view.sealed.len() < wanted.max(1) {
            return Ok(false);
        }
        self.check_sound()?;
        let group_start = view.sealed.len().saturating_sub(MAX_TOGETHER);
        let group = &view.sealed[group_start..];
        let files = self.write_memtables(group, &view.version)?;

        let successor =
            group_start.checked_sub(1).map_or(&view.active, |index| &view.sealed[index]);
        let mut edit = Edit {
            log: Some(successor.log),
            flushed_through: Some((DEFAULT_KEYSPACE, group[0].sealed_through())),
            ..Edit::default()
        };
        {
            let mut tree = self.lock_tree();
            if !files.is_empty() {
                edit.tree = new_level0_run(tree.next_run, files);
                tree.next_run += 1;
            }
            self.install(&mut tree, edit, group)?;
        }
        self.background.memtables_flushed(group.iter().map(|memtable| memtable.log_bytes()).sum());
        self.remove_logs_below(successor.log);
        Ok(true)
    }

    /// Folds memtables, newest first, into tables.
    pub(crate) fn write_memtables(
        &self,
        memtables: &[Arc<Memtable>],
        version: &Version,
    ) -> Result<Vec<FileFacts>> {
        memtables.iter().for_each(|memtable| memtable.order_all());
        let snapshots = self.snapshots.live();
        let shown: &[SeqNo] = if planted(Fault::FlushFoldedWhole) { &[] } else { &snapshots };
        let sources = memtables.iter().map(|memtable| Source::Memtable(memtable.cursor_for(shown)));
        let mut records = MergingCursor::new(sources.collect(), Arc::clone(&self.comparator));
        records.seek_to_first()?;
        let resolver = self.registry.resolver();
        let older = OlderTables::below(version, &[], &KeyRange::all(), &self.comparator);
        let mut folder = Folder::new(&resolver, &snapshots, older);
        let next_number = || self.new_file_number();
        let fs = &self.options.env.fs;
        let mut output = TableOutput::new(fs, &self.names, &next_number, self.table_options(0));
        while records.valid() {
            if output.current_bytes() >= self.options.target_file_size() {
                output.cut()?;
            }
            folder.fold_key(&mut records, &mut output)?;
        }
        let (files, counts) = (output.finish()?, folder.counts);
        let bytes = files.iter().map(|file| file.len).sum();
        self.totals.add(Total::Flushes, memtables.len() as u64);
        self.totals.add(Total::BytesFlush, bytes);
        self.totals.add_level_bytes(0, bytes);
        self.totals.add(Total::FlushRecordsIn, counts.records_in);
        self.totals.add(Total::FlushRecordsOut, counts.records_out);
        self.totals.add(Total::FailedMerges, counts.failed);
        Ok(files)
    }

    /// Unlinks logs whose writes are all in tables.
    pub(crate) fn remove_logs_below(&self, needed: u64) {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        logs.retain(|&(log, _)| {
            if log >= needed {
                return true;
            }
            // A log that cannot be unlinked now is removed at the next open.
            let _best_effort = self.options.env.fs.remove(&self.names.log(log));
            false
        });
    }
}

/// The edits that make tables the newest run of level 0.
pub(crate) fn new_level0_run(run: u64, files: Vec<FileFacts>) -> Vec<TreeEdit> {
    let mut edits = vec![TreeEdit::NewRun { level: 0, run, before: None }];
    edits.extend(files.into_iter().map(|file| TreeEdit::Insert {
        run,
        lo: Arc::clone(&file.smallest),
        hi: Upper::Included(Arc::clone(&file.largest)),
        file,
    }));
    edits
}
