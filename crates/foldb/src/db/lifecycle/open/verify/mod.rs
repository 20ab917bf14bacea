//! Verification of a closed database: every checksum of every file, and whether the files agree
//! with each other. The database need not open. Verification changes nothing and continues after a
//! fault. It checks:
//!
//! - the manifest that `CURRENT` names, and the trees that its edits build ([`tables`]);
//! - each table against itself, the manifest, its segments and the operators of its operands;
//! - each value segment, record by record ([`segments`]);
//! - each log that is needed, then all of them as an open would replay them ([`logs`]);
//! - each archived log up to the end that the log after it names ([`archives`]).
//!
//! Without a readable manifest each file is checked on its own.

mod archives;
mod logs;
mod report;
mod segments;
mod tables;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldb_env::{FileSystem, ReadOnlyFs};

pub use self::report::{VerifiedFile, VerifyProgress, VerifyReport};

use crate::db::lifecycle::open::assembly::keyspace_parts;
use crate::db::lifecycle::open::lock;
use crate::db::lifecycle::open::platform;
use crate::db::lifecycle::open::repair::{check_is_database, manifest};
use crate::db::lifecycle::open::stored::Stored;
use crate::db::lifecycle::open::surroundings::runtime_of;
use crate::db::state::keyspace::KeyspaceParts;
use crate::error::{Error, ErrorKind, Result};
use crate::files::{FileKind, FileNames};
use crate::options::Options;
use crate::runtime::Runtime;
use crate::segment::SegmentFiles;
use crate::table::BlockCache;
use crate::version::{CloseRecord, OpenTables};

/// Verifies the database at `path`.
pub(crate) fn verify(
    path: &Path,
    options: Options,
    progress: &mut dyn FnMut(VerifyProgress),
) -> Result<VerifyReport> {
    platform::check()?;
    let mut options = Options { allow_unresolved_operators: true, ..options };
    options.validate()?;
    let names = FileNames::at(&*options.env.fs, path)?;
    let present = check_is_database(&*options.env.fs, names.directory())?;
    // A directory without write permission may have no lock file, and then has no writer.
    let locked = match present.contains(&FileKind::Lock) {
        true => match lock(&options.env.fs, &names) {
            Err(error) if error.kind() == ErrorKind::Locked => return Err(error),
            locked => locked.ok(),
        },
        false => None,
    };
    let held = locked.as_ref().map_or(&options.env.fs, |locked| &locked.fs);
    options.env.fs = Arc::new(ReadOnlyFs::new(Arc::clone(held)));
    let fs = Arc::clone(&options.env.fs);
    let runtime = runtime_of(&options);
    let mut work = Verification {
        options,
        names,
        fs,
        runtime,
        present,
        closed: None,
        of_feed: BTreeSet::new(),
        report: VerifyReport::default(),
        done: VerifyProgress::default(),
        progress,
    };
    work.run();
    Ok(work.report)
}

struct Verification<'a> {
    options: Options,
    names: FileNames,
    /// Rejects writes.
    fs: Arc<dyn FileSystem>,
    runtime: Runtime,
    present: Vec<FileKind>,
    /// The record of a clean close, if the database has one.
    closed: Option<CloseRecord>,
    /// The logs that no open replays, and that the change feed reads.
    of_feed: BTreeSet<u64>,
    report: VerifyReport,
    done: VerifyProgress,
    progress: &'a mut dyn FnMut(VerifyProgress),
}

/// Bytes and records of a sound file.
struct Checked {
    bytes: u64,
    records: u64,
}

/// The contents of the manifest.
struct Recorded {
    stored: Stored,
    parts: Vec<KeyspaceParts>,
}

impl Verification<'_> {
    fn run(&mut self) {
        let sizes = self.present.iter().filter_map(|kind| self.fs.len(&self.path_of(*kind)?).ok());
        self.done.bytes_total = sizes.sum();
        self.record_of_the_close();
        let recorded = self.manifest();
        match &recorded {
            Some(recorded) => {
                let tables = self.open_tables(recorded.stored.database);
                for own in &recorded.parts {
                    self.tables(own, &recorded.stored, &tables);
                    self.segments(own, &tables);
                }
            }
            None => self.files_alone(),
        }
        self.logs(recorded.as_ref());
        self.archives(recorded.as_ref());
        self.leftovers(recorded.as_ref());
    }

    /// Reads the record of a clean close, if the database has one.
    fn record_of_the_close(&mut self) {
        let path = self.names.closed();
        match CloseRecord::read(&*self.fs, &self.names) {
            Ok(Some(closed)) => {
                self.closed = Some(closed);
                let bytes = self.fs.len(&path).unwrap_or(0);
                self.finished(path, bytes, Ok(Checked { bytes, records: 1 }));
            }
            Ok(None) => {}
            Err(error) => self.fault(error),
        }
    }

    /// Reads the manifest in force and builds its trees.
    fn manifest(&mut self) -> Option<Recorded> {
        let mut recovered = manifest(&*self.fs, &self.names, self.closed.as_ref());
        if let Err(error) = &recovered
            && self.closed.is_some()
        {
            // The readable part of the manifest still leads to the other files.
            self.fault(error.clone());
            recovered = manifest(&*self.fs, &self.names, None);
        }
        let recovered = match recovered {
            Ok(recovered) => recovered,
            Err(error) => {
                self.fault(error);
                return None;
            }
        };
        let (number, edits) = (recovered.number, recovered.edits.len() as u64);
        let recorded = Stored::recover(recovered, &self.options, &self.names).and_then(|stored| {
            let segment_files: Arc<SegmentFiles> = Arc::default();
            let parts = keyspace_parts(&stored, &self.options, &self.names, &segment_files)?;
            Ok(Recorded { stored, parts })
        });
        match recorded {
            Ok(recorded) => {
                for (path, records) in
                    [(self.names.current(), 1), (self.names.manifest(number), edits)]
                {
                    let bytes = self.fs.len(&path).unwrap_or(0);
                    self.finished(path, bytes, Ok(Checked { bytes, records }));
                }
                Some(recorded)
            }
            Err(error) => {
                self.fault(error);
                None
            }
        }
    }

    fn open_tables(&self, database: u64) -> OpenTables {
        let ledger = self.runtime.ledger();
        OpenTables::new(
            Arc::clone(&self.fs),
            self.names.clone(),
            self.options.default.comparator(),
            Arc::new(BlockCache::sharing(&ledger.blocks)),
            Arc::clone(&ledger.tables),
            database,
        )
    }

    /// Records the result of a file, and reports the progress.
    fn finished(&mut self, file: PathBuf, len: u64, checked: Result<Checked>) {
        match checked {
            Ok(Checked { bytes, records }) => {
                self.report.files.push(VerifiedFile { file, bytes, records });
            }
            Err(error) => self.fault(error.in_file(&file)),
        }
        self.done.bytes_done = (self.done.bytes_done + len).min(self.done.bytes_total);
        (self.progress)(self.done);
    }

    fn fault(&mut self, error: Error) {
        let same = |other: &Error| {
            (other.path(), other.offset(), other.kind())
                == (error.path(), error.offset(), error.kind())
        };
        if !self.report.faults.iter().any(same) {
            self.report.faults.push(error);
        }
    }

    fn path_of(&self, kind: FileKind) -> Option<PathBuf> {
        match kind {
            FileKind::Current => Some(self.names.current()),
            FileKind::Closed => Some(self.names.closed()),
            FileKind::Manifest(number) => Some(self.names.manifest(number)),
            FileKind::Log(number) => Some(self.names.log(number)),
            FileKind::Archive(number) => Some(self.names.archive(number)),
            FileKind::Table(number) => Some(self.names.table(number)),
            FileKind::Segment(number) => Some(self.names.segment(number)),
            FileKind::Lock
            | FileKind::Restoring
            | FileKind::Reserve
            | FileKind::Flight(_)
            | FileKind::Temporary => None,
        }
    }

    /// Records the files that the manifest does not need.
    fn leftovers(&mut self, recorded: Option<&Recorded>) {
        let directory = self.names.directory();
        let mut leftovers: Vec<PathBuf> = Vec::new();
        for name in self.fs.list(directory).unwrap_or_default() {
            let is_needed = match FileKind::parse(&name) {
                None | Some(FileKind::Temporary) => false,
                Some(FileKind::Archive(number)) => self.of_feed.contains(&number),
                Some(kind) => recorded.is_none_or(|recorded| self.needs(recorded, kind)),
            };
            if !is_needed {
                leftovers.push(directory.join(name));
            }
        }
        leftovers.sort();
        self.report.leftovers = leftovers;
    }

    /// Returns whether a database needs one of its files.
    fn needs(&self, recorded: &Recorded, kind: FileKind) -> bool {
        let mut versions = recorded.parts.iter().map(|own| &own.version);
        match kind {
            FileKind::Current
            | FileKind::Closed
            | FileKind::Lock
            | FileKind::Reserve
            | FileKind::Flight(_) => true,
            FileKind::Restoring | FileKind::Temporary => false,
            FileKind::Archive(number) => self.of_feed.contains(&number),
            FileKind::Manifest(number) => recorded.stored.manifest == Some(number),
            FileKind::Log(number) => {
                number >= recorded.stored.log || self.of_feed.contains(&number)
            }
            FileKind::Table(number) => {
                versions.any(|version| version.tables().any(|table| table.file.number == number))
            }
            FileKind::Segment(number) => versions
                .any(|version| version.segments.iter().any(|it| it.placement.file == number)),
        }
    }
}
