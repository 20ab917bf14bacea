//! Checkpoints: a database of its own that holds what this one holds now, made of its files.
//!
//! Tables never change once they are finished, so the checkpoint's are the same files under second
//! names: an unlink here or there takes away one name. Whatever may still grow is copied (H12): the
//! logs up to where they go at the moment of the checkpoint, files that value segments are still
//! appended to, up to the last one of that moment, and the manifest, which is begun anew.
//!
//! The moment is noted with the tree locked, the logs' ends first and the tree second:
//!
//! ```text
//! logs end at frame 7 | what the tree holds, which keyspaces and operators there are
//! ```
//!
//! so the manifest knows every keyspace and operator that the logs name, and no table is newer than
//! `flushed_through` says. Writers are not held: frames behind the noted one are not copied. The
//! checkpoint waits for the write in progress, so that reads behind it see all that it has. What
//! is noted cannot vanish meanwhile: the versions keep the tables' names, the open readers the
//! logs.
//!
//! `CURRENT` comes last, when all that it leads to is on the medium: a crash leaves a whole
//! database or none. `LOCK` is held until then, so nobody begins a database of his own in between.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use foldb_env::{FileLock, FileSystem};

use crate::db::core::Core;
use crate::db::handle::database::Db;
use crate::db::lifecycle::copying::copy_file;
use crate::db::lifecycle::copying::is_no_link;
use crate::db::lifecycle::copying::refuse_used;
use crate::db::lifecycle::open::lock;
use crate::error::{Error, Result};
use crate::files::{FileKind, FileNames};
use crate::version::{CloseRecord, Edit, Manifest, Version};
use crate::wal::{Extent, LogReader};

/// What a checkpoint is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckpointReport {
    /// Tables that are one file with the database's own, and take no space while both have them.
    pub tables_linked: u64,
    /// Bytes of those tables.
    pub bytes_linked: u64,
    /// Tables that were copied, because the file system has no links, or it is another one.
    pub tables_copied: u64,
    /// Bytes of those tables.
    pub bytes_copied: u64,
    /// Files of value segments that are one file with the database's own.
    pub segments_linked: u64,
    /// Bytes of those files.
    pub bytes_segments_linked: u64,
    /// Files of value segments that were copied: those that may still grow, and all where there are
    /// no links.
    pub segments_copied: u64,
    /// Bytes of those files.
    pub bytes_segments_copied: u64,
    /// Logs, whose ends were copied.
    pub logs: u64,
    /// Bytes of those logs.
    pub bytes_logs: u64,
}

impl Db {
    /// Makes `directory`, which must not exist or be empty, a database of its own that holds what
    /// this one holds now: all keyspaces, with their orders and operators, every write that
    /// returned before this call, and statistics. Snapshots are not part of it.
    ///
    /// Tables become hard links, so a checkpoint takes little time and little space; in another
    /// file system they are copied. The two databases share nothing that is ever written to: each
    /// may write, compact and be destroyed without a trace in the other. Writes go on meanwhile and
    /// none waits, but what was written with [`crate::WriteOptions::disable_wal`] is flushed first.
    /// The checkpoint is durable when this returns. If it fails, what was made of it is removed.
    ///
    /// The checkpoint has this database's identity, which all the shared tables carry: both are
    /// found out if they meet files of a third database, but not if they meet each other's.
    ///
    /// # Errors
    /// `InvalidArgument` for a directory with something in it, `DatabaseExists` if that is a
    /// database; `NoSpace`, `Io`, `ReadOnly`, `Closed`; `Corruption` of a log, and where a file of
    /// value segments is missing that keys still refer to.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let (path, copy) = (dir.path().join("db"), dir.path().join("copy"));
    /// use foldb::{Db, Options};
    ///
    /// let db = Db::open(&path, Options { create_if_missing: true, ..Options::default() })?;
    /// db.put("key", "flushed")?;
    /// db.flush()?;
    /// db.put("other", "logged")?;
    /// let report = db.checkpoint(&copy)?;
    /// assert_eq!((report.tables_linked, report.tables_copied), (1, 0));
    /// db.put("key", "later")?;
    ///
    /// let copy = Db::open(&copy, Options::default())?;
    /// assert_eq!(copy.get("key")?.unwrap(), b"flushed");
    /// assert_eq!(copy.get("other")?.unwrap(), b"logged");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn checkpoint(&self, directory: impl AsRef<Path>) -> Result<CheckpointReport> {
        self.core().checkpoint(directory.as_ref())
    }
}

/// A moment of the database, kept on disk while it is held.
struct Moment {
    /// Describes everything.
    edit: Edit,
    versions: Vec<Arc<Version>>,
    /// The needed logs, and the last frame of each.
    logs: Vec<(LogReader, u64)>,
}

impl Core {
    fn checkpoint(&self, directory: &Path) -> Result<CheckpointReport> {
        self.check_writable()?;
        let mut target = Target::begin(&self.options.env.fs, directory)?;
        if self.has_unlogged() {
            self.flush()?;
        }
        let mut moment = self.note_moment()?;
        let report = target.fill(&self.names, self.database, &mut moment)?;
        target.is_whole = true;
        drop(moment);
        self.remove_unreferenced_tables();
        Ok(report)
    }

    /// Whether there are writes that are neither logged nor in tables.
    pub(crate) fn has_unlogged(&self) -> bool {
        self.lock_writer().unlogged || self.sealed.any_unlogged()
    }

    fn note_moment(&self) -> Result<Moment> {
        let tree = self.lock_tree();
        let syncs: Vec<_> = {
            let logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
            logs.iter().filter(|(log, _)| *log >= tree.log).cloned().collect()
        };
        let mut logs = Vec::with_capacity(syncs.len());
        for (number, sync) in syncs {
            let last = sync.expect("a log that is needed was begun since the open").written();
            // With the tree locked it is still needed, so it is there.
            let log = LogReader::open(&*self.options.env.fs, &self.names.log(number), number)?;
            logs.push((log, last));
        }
        let versions = tree.keyspaces.values().map(|own| Arc::clone(&own.version)).collect();
        let edit = self.describe(&tree);
        drop(tree);
        // The last frame may be of a write that no reader sees yet. Its writer has the lock.
        drop(self.lock_writer());
        Ok(Moment { edit, versions, logs })
    }
}

/// The directory of a checkpoint in progress. Dropped before it is whole, it is emptied again.
struct Target {
    fs: Arc<dyn FileSystem>,
    names: FileNames,
    /// Whether the directory was made for this.
    is_new: bool,
    is_whole: bool,
    lock: Option<Box<dyn FileLock>>,
    report: CheckpointReport,
    /// Whether tables are linked until that turns out not to work.
    links: bool,
}

impl Target {
    /// Takes a directory that is not there or empty.
    fn begin(fs: &Arc<dyn FileSystem>, directory: &Path) -> Result<Target> {
        let names = FileNames::new(directory);
        let is_new = !fs.exists(directory);
        if !is_new {
            refuse_used(&**fs, directory, |_| true)?;
        }
        fs.create_dir_all(directory)
            .map_err(|error| Error::io(directory, "create the directory", &error))?;
        let lock = lock(&**fs, &names).and_then(|lock| {
            // Nobody takes it from here on; but somebody may have before.
            refuse_used(&**fs, directory, |name| name != "LOCK").map(|()| lock)
        });
        let lock = lock.inspect_err(|_| {
            if is_new {
                let _best_effort = fs.remove_dir(directory);
            }
        })?;
        Ok(Target {
            fs: Arc::clone(fs),
            names,
            is_new,
            is_whole: false,
            lock: Some(lock),
            report: CheckpointReport::default(),
            links: true,
        })
    }

    /// Makes the database, durably.
    fn fill(
        &mut self,
        from: &FileNames,
        database: u64,
        moment: &mut Moment,
    ) -> Result<CheckpointReport> {
        let tables = moment.versions.iter().flat_map(|version| version.tables());
        let tables: BTreeSet<(u64, u64)> =
            tables.map(|table| (table.file.number, table.file.len)).collect();
        for (number, len) in tables {
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
        let mut logs = Vec::with_capacity(moment.logs.len());
        for (log, last) in &mut moment.logs {
            logs.push(self.copy_log(log, *last)?);
        }
        let directory = self.names.directory();
        self.fs
            .sync_dir(directory)
            .map_err(|error| Error::io(directory, "sync the directory", &error))?;
        let mut edit = moment.edit.clone();
        let number = edit.next_file.expect("a description says what the next file is");
        edit.next_file = Some(number + 1);
        let mut manifest = Manifest::begin(&self.fs, &self.names, number, database, &edit)?;
        manifest.trim()?;
        manifest.put_in_force(&*self.fs, &self.names)?;
        // The checkpoint is as complete as a database that was closed.
        let closed = CloseRecord { database, manifest: manifest.extent(), logs };
        closed.write(&*self.fs, &self.names)?;
        Ok(self.report)
    }

    /// Takes the files that value segments lie in, up to where the last one ends. One that may
    /// still grow is never shared (H12).
    fn take_segments(&mut self, from: &FileNames, moment: &Moment) -> Result<()> {
        for version in &moment.versions {
            for (number, file) in version.segments.files() {
                let (from, to) = (from.segment(number), self.names.segment(number));
                if !self.fs.exists(&from) {
                    return Err(Error::corruption(
                        "the value segment is missing: restore it from a copy, or have `foldb repair` tell \
                         what is lost, and delete or overwrite it",
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

    /// Links a file, or copies it where that cannot be or it is `growing`.
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

    /// Copies a log up to its frame `last`. The copy ends there: nothing grows in it any more.
    fn copy_log(&mut self, log: &mut LogReader, last: u64) -> Result<Extent> {
        let path = self.names.log(log.number());
        let failed = |doing: &'static str| {
            let path = path.clone();
            move |error: io::Error| Error::io(&path, doing, &error)
        };
        let copy = self.fs.create(&path).map_err(failed("create the log"))?;
        let extent = log.copy_through(last, |frames, offset| {
            copy.write_at(frames, offset).map_err(failed("write the log"))
        })?;
        copy.sync().map_err(failed("sync the log"))?;
        self.report.logs += 1;
        self.report.bytes_logs += extent.len;
        Ok(extent)
    }
}

/// How a file came to be part of a checkpoint.
enum Taken {
    Linked,
    Copied,
}

impl Drop for Target {
    fn drop(&mut self) {
        if self.is_whole {
            return;
        }
        // What cannot be removed is no database all the same: CURRENT goes first.
        let directory = self.names.directory();
        let _best_effort = self.fs.remove(&self.names.current());
        for name in self.fs.list(directory).unwrap_or_default() {
            if FileKind::parse(&name).is_some_and(|kind| kind != FileKind::Lock) {
                let _best_effort = self.fs.remove(&directory.join(name));
            }
        }
        let _best_effort = self.fs.remove(&self.names.lock());
        self.lock = None;
        if self.is_new {
            let _best_effort = self.fs.remove_dir(directory);
        }
    }
}
