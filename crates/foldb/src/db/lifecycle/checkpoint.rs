//! Checkpoints: a separate database with the current contents, made of this database's files.
//!
//! A finished table never changes, so the checkpoint gets a hard link to it. If one database
//! removes its link, the other keeps its own. Files that may still grow are copied (H12). Logs are
//! copied up to their ends at the moment of the checkpoint. Segment files are copied up to the last
//! segment of that moment. The checkpoint gets a new manifest.
//!
//! With the tree locked, the checkpoint notes first the ends of the logs, then the tree:
//!
//! ```text
//! logs end at frame 7 | the tree, the keyspaces, the operators
//! ```
//!
//! So the manifest knows every keyspace and operator that the logs name, and no table of a flush is
//! newer than `flushed_through` says. The logs have every write before a sorted load in the tree,
//! because the load synced them and then changed the tree. Writers continue, and their later frames
//! are not copied. A moment has an unlogged write before each later logged one: see
//! [`Core::note_moment`]. The end of a log is its last settled frame. So readers of the database
//! see everything that the checkpoint has, and no failed write takes its frames back. No file
//! vanishes before it is linked or copied: the versions keep the tables, and the open readers keep
//! the logs.
//!
//! `CURRENT` is written last, when all other files are durable. So a crash leaves a whole database
//! or none. The checkpoint holds `LOCK` until then, so no other open creates a database in the
//! directory.
//!
//! If another directory comes to the path meanwhile, the checkpoint fails and leaves that alone.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;

use foldb_env::{FileLock, FileSystem};

use crate::db::core::Core;
use crate::db::lifecycle::open::{Locked, lock};
use crate::error::{Error, ErrorKind, Result};
use crate::events::holding_back;
use crate::files::copy_file;
use crate::files::is_no_link;
use crate::files::refuse_used;
use crate::files::{FileKind, FileNames, Proof, is_there, refuse_inside, remove, remove_empty};
use crate::version::{CloseKnown, CloseRecord, Edit, Manifest, Version};
use crate::wal::{Extent, LogReader};

/// How often a moment is noted. The last round holds the writer lock.
const ROUNDS: usize = 3;

/// The files of a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckpointReport {
    /// Tables that are hard links of this database's. They take no space while both databases have
    /// them.
    pub tables_linked: u64,
    /// Bytes of those tables.
    pub bytes_linked: u64,
    /// Tables that were copied, because the file system has no hard links or the directory is in
    /// another file system.
    pub tables_copied: u64,
    /// Bytes of those tables.
    pub bytes_copied: u64,
    /// Files of value segments that are hard links of this database's.
    pub segments_linked: u64,
    /// Bytes of those files.
    pub bytes_segments_linked: u64,
    /// Files of value segments that were copied: files that may still grow, and all files if hard
    /// links are not possible.
    pub segments_copied: u64,
    /// Bytes of those files.
    pub bytes_segments_copied: u64,
    /// Logs that were copied.
    pub logs: u64,
    /// Bytes of the copies.
    pub bytes_logs: u64,
}

/// A moment of the database. The files of that moment stay on disk while this value lives.
pub(crate) struct Moment {
    /// The edit that describes the whole state.
    edit: Edit,
    pub(crate) versions: Vec<Arc<Version>>,
    /// The needed logs, with the last frame of each.
    logs: Vec<(LogReader, u64)>,
}

impl Moment {
    /// Returns the numbers and lengths of all tables.
    pub(crate) fn tables(&self) -> BTreeSet<(u64, u64)> {
        let tables = self.versions.iter().flat_map(|version| version.tables());
        tables.map(|table| (table.file.number, table.file.len)).collect()
    }

    /// Writes the files that belong to this moment alone, durably: the logs up to their ends, a
    /// manifest, `CURRENT`, and the record of a close. All other files must be in place already.
    pub(crate) fn write_own_files(
        &mut self,
        fs: &Arc<dyn FileSystem>,
        names: &FileNames,
        database: u64,
    ) -> Result<Vec<Extent>> {
        let mut logs = Vec::with_capacity(self.logs.len());
        for (log, last) in &mut self.logs {
            logs.push(copy_log(&**fs, names, log, *last)?);
        }
        let directory = names.directory();
        let sync = || {
            let synced = fs.sync_dir(directory);
            synced.map_err(|error| Error::io(directory, "sync the directory", &error))
        };
        sync()?;
        let mut edit = self.edit.clone();
        let number = edit.next_file.expect("a full description has the next file number");
        assert!(
            logs.is_sorted_by(|before, next| before.number < next.number),
            "the close record of a copy names its logs in order"
        );
        assert!(
            self.tables().iter().all(|(table, _)| *table < number)
                && logs.iter().all(|log| log.number < number),
            "the next file number is above those of all files"
        );
        edit.next_file = Some(number + 1);
        let mut manifest = Manifest::begin(fs, names, number, database, &edit)?;
        manifest.trim()?;
        manifest.put_in_force(&**fs, names)?;
        // The copy is as complete as a cleanly closed database.
        let known = edit.last_seqno.zip(edit.totals);
        let known = known.map(|(last_seqno, totals)| CloseKnown { last_seqno, totals });
        let closed = CloseRecord { database, manifest: manifest.extent(), logs, known };
        closed.write(&**fs, names, true)?;
        sync()?;
        Ok(closed.logs)
    }
}

/// Copies a log up to its frame `last`. The copy never grows.
fn copy_log(
    fs: &dyn FileSystem,
    names: &FileNames,
    log: &mut LogReader,
    last: u64,
) -> Result<Extent> {
    let path = names.log(log.number());
    let failed = |doing: &'static str| {
        let path = path.clone();
        move |error: io::Error| Error::io(&path, doing, &error)
    };
    let copy = fs.create(&path).map_err(failed("create the log"))?;
    let extent = log.copy_through(last, |frames, offset| {
        copy.write_at(frames, offset).map_err(failed("write the log"))
    })?;
    copy.sync().and_then(|()| copy.close()).map_err(failed("sync the log"))?;
    Ok(extent)
}

impl Core {
    pub(crate) fn checkpoint(&self, directory: &Path) -> Result<CheckpointReport> {
        self.check_writable()?;
        self.check_may_wait()?;
        let mut target = Target::begin(&self.options.env.fs, directory)?;
        let mut moment = self.note_moment()?;
        let report = target.fill(&self.names, self.database, &mut moment)?;
        target.is_whole = true;
        drop(moment);
        self.remove_unreferenced_tables();
        Ok(report)
    }

    /// Returns whether there are writes that are neither logged nor in tables.
    ///
    /// # Errors
    /// `Reentrant`.
    pub(crate) fn has_unlogged(&self) -> Result<bool> {
        Ok(self.lock_writer()?.unlogged || self.sealed.any_unlogged())
    }

    /// Notes a moment that came during this call. Every write of that moment is in tables or logs.
    ///
    /// Unlogged writes are only in tables. If one came after the flush and before a logged write
    /// that the moment has, it is in a memtable, or a flush of it has changed the tree since:
    ///
    /// ```text
    /// flush | unlogged a | logged b | the moment has b | a is unlogged, or tree.log is newer
    /// ```
    ///
    /// Then the moment is noted again, and in the last round without writers.
    pub(crate) fn note_moment(&self) -> Result<Moment> {
        for _ in 1..ROUNDS {
            if self.has_unlogged()? {
                self.flush()?;
            }
            let moment = self.note_files()?;
            if !self.has_unlogged()? && Some(self.lock_tree().log) == moment.edit.log {
                return Ok(moment);
            }
        }
        let last = || {
            // A listener may write while its thread flushes, so this lock comes before the
            // writer's.
            let locks = &self.background.locks;
            let _flushing = locks.flush();
            let mut writer = self.lock_writer()?;
            self.check_writable()?;
            self.flush_all(&mut writer)?;
            self.keyspaces.check_comparators()?;
            assert!(
                !writer.unlogged && !self.sealed.any_unlogged(),
                "a copy with a write has all writes before it"
            );
            self.note_files()
        };
        let (noted, events) = holding_back(last);
        self.events.tell_held(&events);
        self.tell_failed_callbacks();
        noted
    }

    /// Notes the ends of the logs, then the tree.
    fn note_files(&self) -> Result<Moment> {
        let tree = self.lock_tree();
        let syncs = self.logs.since(tree.log);
        let mut logs = Vec::with_capacity(syncs.len());
        for (number, sync) in syncs {
            // An open on a full disk keeps older logs until their flush.
            let Some(sync) = sync else {
                let message = "the disk is full; free some space, and try again";
                return Err(Error::new(ErrorKind::NoSpace, message));
            };
            let last = sync.settled();
            // The tree is locked, so the log is still needed and exists.
            let log = LogReader::open(&*self.options.env.fs, &self.names.log(number), number)?;
            logs.push((log, last));
        }
        let versions = tree.keyspaces.values().map(|own| Arc::clone(&own.version)).collect();
        let edit = self.describe(&tree);
        drop(tree);
        Ok(Moment { edit, versions, logs })
    }
}

/// The directory of a checkpoint in progress. Dropping an unfinished one empties it again.
pub(crate) struct Target {
    /// Reaches the directory while it is locked and in its place.
    pub(crate) fs: Arc<dyn FileSystem>,
    /// Reaches what comes to the path, for the directory itself.
    outside: Arc<dyn FileSystem>,
    pub(crate) names: FileNames,
    /// Whether the checkpoint created the directory.
    is_new: bool,
    pub(crate) is_whole: bool,
    lock: Option<Box<dyn FileLock>>,
    report: CheckpointReport,
    /// Whether to link tables. False after the first link that the file system refuses.
    links: bool,
}

impl Target {
    /// Takes over a directory that is empty or does not exist.
    pub(crate) fn begin(fs: &Arc<dyn FileSystem>, directory: &Path) -> Result<Target> {
        let names = FileNames::at(&**fs, directory)?;
        let directory = names.directory();
        refuse_inside(&**fs, directory)?;
        let is_new = !is_there(&**fs, directory)?;
        if !is_new {
            refuse_used(&**fs, directory, |_| true)?;
        }
        fs.create_dir_all(directory)
            .map_err(|error| Error::io(directory, "create the directory", &error))?;
        let locked = lock(fs, &names).and_then(|locked| {
            // The lock keeps other opens out from here on, but the directory may have been used
            // before.
            refuse_used(&*locked.fs, directory, |name| name != "LOCK").map(|()| locked)
        });
        let Locked { lock, fs: held } = locked.inspect_err(|_| {
            if is_new {
                let _best_effort = remove_empty(&**fs, directory);
            }
        })?;
        Ok(Target {
            fs: held,
            outside: Arc::clone(fs),
            names,
            is_new,
            is_whole: false,
            lock: Some(lock),
            report: CheckpointReport::default(),
            links: true,
        })
    }

    /// Makes the names in the directory durable.
    pub(crate) fn sync(&self) -> Result<()> {
        let directory = self.names.directory();
        let synced = self.fs.sync_dir(directory);
        synced.map_err(|error| Error::io(directory, "sync the directory", &error))
    }

    /// Writes the files of the checkpoint, durably.
    fn fill(
        &mut self,
        from: &FileNames,
        database: u64,
        moment: &mut Moment,
    ) -> Result<CheckpointReport> {
        for (number, len) in moment.tables() {
            match self.take(&from.table(number), &self.names.table(number), len, false)? {
                Taken::Linked => {
                    self.report.tables_linked += 1;
                    self.report.bytes_linked += len;
                }
                Taken::Copied => {
                    self.report.tables_copied += 1;
                    self.report.bytes_copied += len;
                }
            }
        }
        self.take_segments(from, moment)?;
        let logs = moment.write_own_files(&self.fs, &self.names, database)?;
        self.report.logs = logs.len() as u64;
        self.report.bytes_logs = logs.iter().map(|log| log.len).sum();
        Ok(self.report)
    }

    /// Takes the files of value segments, each up to the end of its last segment. A file that may
    /// still grow is never shared (H12).
    fn take_segments(&mut self, from: &FileNames, moment: &Moment) -> Result<()> {
        for version in &moment.versions {
            for (number, file) in version.segments.files() {
                let (from, to) = (from.segment(number), self.names.segment(number));
                if !self.fs.exists(&from) {
                    return Err(Error::corruption(
                        "the value segment is missing: restore it from a copy, or have `foldb \
                         repair` report what is lost, and delete or overwrite it",
                    )
                    .in_file(&from));
                }
                match self.take(&from, &to, file.end, file.file.is_growing())? {
                    Taken::Linked => {
                        self.report.segments_linked += 1;
                        self.report.bytes_segments_linked += file.end;
                    }
                    Taken::Copied => {
                        self.report.segments_copied += 1;
                        self.report.bytes_segments_copied += file.end;
                    }
                }
            }
        }
        Ok(())
    }

    /// Links a file. Copies it if it is `growing` or cannot be linked.
    fn take(&mut self, from: &Path, to: &Path, len: u64, growing: bool) -> Result<Taken> {
        if self.links && !growing {
            match self.fs.hard_link(from, to) {
                Ok(()) => return Ok(Taken::Linked),
                Err(error) if is_no_link(&error) => self.links = false,
                Err(error) => return Err(Error::io(from, "link the table", &error)),
            }
        }
        copy_file(&*self.fs, from, to, len)?;
        Ok(Taken::Copied)
    }
}

/// How the checkpoint got a file.
enum Taken {
    Linked,
    Copied,
}

impl Drop for Target {
    fn drop(&mut self) {
        if self.is_whole {
            return;
        }
        // Without CURRENT, files that cannot be removed are no database, so CURRENT goes first.
        let directory = self.names.directory();
        let _best_effort = remove(&*self.fs, &self.names.current(), Proof::Written);
        for name in self.fs.list(directory).unwrap_or_default() {
            if FileKind::parse(&name).is_some_and(|kind| kind != FileKind::Lock) {
                let _best_effort = remove(&*self.fs, &directory.join(name), Proof::Written);
            }
        }
        let removed = remove(&*self.fs, &self.names.lock(), Proof::Written);
        self.lock = None;
        if self.is_new && removed.is_ok() {
            let _best_effort = remove_empty(&*self.outside, directory);
        }
    }
}
