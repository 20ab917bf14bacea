//! One step of a collection: it takes the segment files of a keyspace that have the most dead
//! bytes, rewrites them into one file, and installs that file.

use std::cell::Cell;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::counters::Total;
use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::throttle::full_disk::segment_size;
use crate::error::{Error, ErrorKind, Result};
use crate::events::Event;
use crate::gc::{Bound, Rewrite, RewriteContext, Rewritten, pick};
use crate::segment::{FileUse, WriterContext};
use crate::user_code::{Inside, Outside};
use crate::version::{Edit, KeyspaceEdit, TreeEdit, Version};

/// The outcome of one step.
pub(crate) enum Collected {
    /// No file was rewritten: the dead bytes are within the bound, or the keyspace was dropped.
    Nothing,
    Rewritten(GcStep),
    /// A file, or a table that refers to it, is missing or damaged. Later collections skip the file
    /// and continue with the others.
    LeftAlone,
}

/// A rewrite and its installation.
pub(crate) struct GcStep {
    pub(crate) rewritten: Rewritten,
    pub(crate) files: u64,
    /// Bytes of the old files minus those of the new one.
    pub(crate) reclaimed: u64,
    pub(crate) install: Duration,
    /// Whether any segment was installed. Segments that died or moved during the step are not
    /// installed.
    pub(crate) installed: bool,
}

impl GcStep {
    /// Returns whether the step made progress. A collection ends after a step without progress, or
    /// it would rewrite the same file again and again.
    pub(crate) fn helped(&self) -> bool {
        self.reclaimed > 0 || self.files > 1
    }
}

impl Core {
    pub(crate) fn gc_bound(&self, dead_fraction: f64) -> Bound {
        Bound { dead_fraction, segment_size: segment_size(self) }
    }

    /// Rewrites the files of a keyspace that have the most dead bytes into one file, and installs
    /// it.
    pub(crate) fn gc_step(
        &self,
        keyspace: &Arc<KeyspaceState>,
        bound: Bound,
        memory: usize,
        progress: &dyn Fn(u64) -> Result<()>,
    ) -> Result<Collected> {
        self.check_writable()?;
        let _span = tracing::debug_span!("foldb::gc", keyspace = &*keyspace.name).entered();
        let _inside = Inside::enter(self.events.mark());
        let progress = &|bytes| {
            let _outside = Outside::enter();
            progress(bytes)
        };
        let start = self.options.env.clock.now();
        let version = {
            let tree = self.lock_tree();
            let Some(own) = tree.keyspaces.get(&keyspace.id) else { return Ok(Collected::Nothing) };
            Arc::clone(&own.version)
        };
        let mut victims = pick(candidates(keyspace, &version), bound);
        // A writer may have begun to append to one of these files since then.
        victims.retain(|victim| keyspace.growing.retire(&victim.file));
        if victims.is_empty() {
            return Ok(Collected::Nothing);
        }
        let mut segments: Vec<_> =
            victims.iter().flat_map(|victim| victim.segments.iter().copied()).collect();
        segments.sort_unstable();
        assert!(
            segments.is_sorted_by(|a, b| a < b),
            "a value segment lies in one file, and is rewritten once"
        );
        let next_number = || self.new_file_number();
        let read = Cell::new(0);
        let note_read = |bytes| {
            read.set(read.get() + bytes);
            progress(read.get())
        };
        let tell = |error| self.events.tell(&Event::BackgroundError { error });
        let mut rewrite = Rewrite::new(RewriteContext {
            writer: WriterContext {
                fs: &self.options.env.fs,
                names: &self.names,
                segment_files: &self.segment_files,
                next_number: &next_number,
                database: self.database,
                keyspace: keyspace.id,
            },
            segments: keyspace.tables.segments(),
            tables: &keyspace.tables,
            version: &version,
            memory,
            progress: &note_read,
            damaged: &tell,
        });
        let outcome = rewrite.run(&segments);
        self.totals.add(Total::BytesGcRead, read.get());
        if let Err(error) = outcome {
            drop(rewrite);
            self.remove_unreferenced_tables();
            if self.leaves_alone(&error, &victims, &version) {
                self.events.tell(&Event::BackgroundError { error });
                return Ok(Collected::LeftAlone);
            }
            return Err(error);
        }
        let rewritten = rewrite.finish();
        self.totals.add(Total::BytesGcWritten, rewritten.bytes_written);
        let (install, installed) = self.install_gc(keyspace, &rewritten)?;
        let (files, bytes_before) =
            (victims.len() as u64, victims.iter().map(|victim| victim.end).sum::<u64>());
        let bytes_reclaimed = bytes_before.saturating_sub(rewritten.bytes_written);
        drop((victims, version));
        self.remove_unreferenced_tables();
        self.totals.add(Total::GarbageCollections, 1);
        self.totals.add(Total::BytesReclaimed, bytes_reclaimed);
        self.events.tell(&Event::GarbageCollection {
            keyspace: Arc::clone(&keyspace.name),
            files,
            bytes_read: rewritten.bytes_read,
            bytes_written: rewritten.bytes_written,
            bytes_reclaimed,
            duration: self.options.env.clock.now() - start,
        });
        let reclaimed = bytes_reclaimed;
        Ok(Collected::Rewritten(GcStep { rewritten, files, reclaimed, install, installed }))
    }

    /// Marks the files that made a rewrite fail, so that collections skip them. Returns whether the
    /// next collection skips one of these files.
    fn leaves_alone(&self, error: &Error, victims: &[FileUse], version: &Version) -> bool {
        let is_damaged = || victims.iter().any(|victim| victim.file.is_damaged());
        let is_of = |path: PathBuf| error.path() == Some(&*path);
        match error.kind() {
            ErrorKind::Corruption if !is_damaged() => {
                // A table is damaged, so the live values of the segments that it refers to are
                // unknown.
                let mut tables = version.tables().map(|table| &table.file);
                let table = tables.find(|file| is_of(self.names.table(file.number)));
                let referred = table.iter().flat_map(|file| &*file.references);
                let referred: HashSet<_> = referred.map(|(id, _)| *id).collect();
                let refers = |victim: &&FileUse| {
                    table.is_none() || victim.segments.iter().any(|id| referred.contains(id))
                };
                victims.iter().filter(refers).for_each(|victim| victim.file.mark_damaged());
            }
            ErrorKind::Io => {
                let file = victims.iter().map(|victim| &victim.file);
                let mut file = file.filter(|file| is_of(self.names.segment(file.number())));
                file.next().inspect(|file| file.note_failure());
            }
            _ => {}
        }
        is_damaged()
    }

    /// Installs the new places of rewritten segments. Returns how long the call held the tree lock,
    /// and whether any segment was installed.
    fn install_gc(
        &self,
        keyspace: &KeyspaceState,
        rewritten: &Rewritten,
    ) -> Result<(Duration, bool)> {
        let clock = &self.options.env.clock;
        let mut tree = self.lock_tree();
        let start = clock.now();
        assert!(
            rewritten
                .placed
                .iter()
                .all(|(to, from)| to.segment == from.segment && to.file != from.file),
            "a segment keeps its id when it moves to another file"
        );
        assert!(
            rewritten.placed.iter().all(|(to, from)| to.records_len <= from.records_len),
            "a rewrite adds no records to a segment"
        );
        let mut placed = Vec::new();
        if let Some(own) = tree.keyspaces.get(&keyspace.id) {
            let still = rewritten.placed.iter().filter(|(_, from)| {
                let now = own.version.segments.get(from.segment);
                now.is_some_and(|now| now.placement == *from)
            });
            placed.extend(still.map(|(to, _)| *to));
        }
        if !placed.is_empty() {
            let edits = placed.iter().copied().map(TreeEdit::Place).collect();
            let change = KeyspaceEdit::of_tree(keyspace.id, edits);
            let installed = self.install(&mut tree, Edit::of_keyspace(change));
            installed.inspect_err(|_| self.discard_segments(&tree, keyspace.id, &placed))?;
        }
        let hold = clock.now() - start;
        let all: Vec<_> = rewritten.placed.iter().map(|(to, _)| *to).collect();
        // All rewritten segments may have died in the meantime.
        self.discard_segments(&tree, keyspace.id, &all);
        Ok((hold, !placed.is_empty()))
    }
}

/// Returns the files that a collection may take: no writer appends to them, and they are not
/// damaged.
pub(crate) fn candidates<'a>(
    keyspace: &'a KeyspaceState,
    version: &'a Version,
) -> impl Iterator<Item = FileUse> + 'a {
    let files = version.segments.files().into_values();
    files.filter(|file| !file.file.is_damaged() && keyspace.growing.may_retire(&file.file))
}

#[cold]
pub(crate) fn stopped() -> Error {
    Error::new(ErrorKind::Closed, "the garbage collection was stopped")
}
