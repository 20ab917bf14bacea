//! The manifest: the log of edits that led to the current version.
//!
//! The manifest *in force* is the one that `CURRENT` names. A manifest begins with one edit that
//! describes the whole tree. So the old manifest is not needed after `CURRENT` names a new one. An
//! edit takes effect when it is synced. Everything that it refers to is synced before. So are the
//! names of those files, because changes of a directory may become durable in any order.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use foldb_env::FileSystem;

use crate::encoding::format::MANIFEST;
use crate::error::{Error, ErrorKind, Result};
use crate::faults::{Fault, planted};
use crate::files::{FileKind, FileNames, MAX_FILE_NUMBER, Proof, is_there, manifest_name, remove};
use crate::version::closed::CloseRecord;
use crate::version::edit::Edit;
use crate::wal::{Extent, LogHeader, LogReader, LogWriter, Tail};

/// The manifest open for appending.
#[derive(Debug)]
pub(crate) struct Manifest {
    log: LogWriter,
    path: PathBuf,
    /// Bytes of its first edit.
    base_len: u64,
}

/// The result of recovery.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) number: u64,
    pub(crate) edits: Vec<Edit>,
    /// Where the last edit ends. `tail` describes the bytes after it.
    pub(crate) end: u64,
    pub(crate) tail: Tail,
}

/// If the edits after the first exceed this many bytes, a new manifest replaces the old one.
const ROLL_LEN: u64 = 16 << 20;

impl Manifest {
    /// Begins manifest `number` with an edit that describes the whole database, and puts the
    /// manifest in force.
    pub(crate) fn create(
        fs: &Arc<dyn FileSystem>,
        names: &FileNames,
        number: u64,
        database: u64,
        snapshot: &Edit,
    ) -> Result<Manifest> {
        let manifest = Manifest::begin(fs, names, number, database, snapshot)?;
        manifest.put_in_force(fs.as_ref(), names)?;
        Ok(manifest)
    }

    /// Returns a placeholder for the manifest of a read-only database. It takes no edits.
    pub(crate) fn unwritable(fs: &Arc<dyn FileSystem>, names: &FileNames, number: u64) -> Manifest {
        let path = names.manifest(number);
        Manifest { log: LogWriter::unwritable(fs, &path, number), path, base_len: 0 }
    }

    /// Returns the manifest that a clean close left with this extent. It takes no edits: the next
    /// edit begins another one.
    pub(crate) fn closed(fs: &Arc<dyn FileSystem>, names: &FileNames, extent: &Extent) -> Manifest {
        let path = names.manifest(extent.number);
        Manifest { log: LogWriter::closed(fs, &path, extent), path, base_len: extent.len }
    }

    /// Returns whether an earlier open closed the manifest.
    pub(crate) fn is_closed(&self) -> bool {
        self.log.is_closed()
    }

    /// Begins manifest `number` with an edit that describes the whole database. It also writes the
    /// next `CURRENT`. Neither file takes effect before [`Manifest::put_in_force`]. After an error
    /// neither file exists.
    pub(crate) fn begin(
        fs: &Arc<dyn FileSystem>,
        names: &FileNames,
        number: u64,
        database: u64,
        snapshot: &Edit,
    ) -> Result<Manifest> {
        let path = names.manifest(number);
        let mut log = LogWriter::create_in_format(&MANIFEST, fs, &path, number, database, None)?;
        debug_assert!(is_read_as_written(snapshot), "an open reads another edit than {snapshot:?}");
        snapshot.encode(log.begin());
        let written = log.append().and_then(|()| log.sync_handle().sync_bytes());
        if let Err(error) = written.and_then(|()| write_next_current(&**fs, names, number)) {
            if planted(Fault::LeaveAttempts) {
                return Err(error);
            }
            drop(log);
            remove_begun(&**fs, names, &path);
            return Err(error);
        }
        let base_len = log.len();
        Ok(Manifest { log, path, base_len })
    }

    /// Makes this the manifest that the next open reads.
    ///
    /// # Errors
    /// `Io` if a sync or the rename fails. If the error says that nothing was done
    /// ([`Error::did_nothing`]), the manifest before this one surely is in force: the caller may
    /// [`discard`](Manifest::discard) this one. Otherwise it is unknown which of the two is.
    pub(crate) fn put_in_force(&self, fs: &dyn FileSystem, names: &FileNames) -> Result<()> {
        let (next, current) = (names.current_temporary(), names.current());
        let failed = |doing| {
            let current = current.clone();
            move |error: std::io::Error| Error::io(&current, doing, &error)
        };
        // The record of a clean close is obsolete now. Before `CURRENT` names the new manifest, the
        // names of manifest and first log and the removal of the record must be durable.
        CloseRecord::invalidate(fs, names)?;
        if !planted(Fault::CurrentBeforeNames) {
            fs.sync_dir(names.directory()).map_err(failed("sync the directory of"))?;
        }
        self.log.sync_handle().note_durable();
        fs.rename(&next, &current).map_err(failed("replace"))?;
        if planted(Fault::SkipDirSync) {
            return Ok(());
        }
        fs.sync_dir(names.directory()).map_err(failed("sync the directory of"))
    }

    /// Removes a manifest that surely is not in force.
    pub(crate) fn discard(self, fs: &dyn FileSystem, names: &FileNames) {
        let Manifest { log, path, .. } = self;
        // Some systems remove no file that is open.
        drop(log);
        remove_begun(fs, names, &path);
    }

    /// Appends an edit. After an error nothing was appended, and the next edit goes to the same
    /// offset.
    pub(crate) fn append(&mut self, edit: &Edit) -> Result<()> {
        edit.encode(self.log.begin());
        debug_assert!(is_read_as_written(edit), "an open reads another edit than {edit:?}");
        self.log.append()
    }

    /// Returns whether an append failed, and its bytes could not be cleared yet. The next append
    /// clears them first; an open before that may read the edit. A file that only grows, and did
    /// not grow, holds nothing of it.
    pub(crate) fn may_hold_failed_edit(&self, fs: &dyn FileSystem) -> bool {
        self.log.may_hold_failed_record()
            && fs.len(&self.path).map_or(true, |len| len > self.log.len())
    }

    /// Makes the edits appended so far durable.
    ///
    /// # Errors
    /// `Io` if a sync fails, and at every later call: it is unknown which edits are durable.
    pub(crate) fn sync(&self) -> Result<()> {
        self.log.sync_handle().sync_all()
    }

    /// Returns the length of the manifest in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.log.len()
    }

    /// Returns whether a new manifest is due.
    pub(crate) fn is_long(&self) -> bool {
        self.log.len() > self.base_len * 2 + ROLL_LEN
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Releases the reserved space after the last edit, durably.
    ///
    /// # Errors
    /// `Io` if the file cannot be truncated or synced.
    pub(crate) fn trim(&mut self) -> Result<()> {
        self.log.trim()?;
        self.log.sync_handle().sync_bytes()
    }

    /// Returns the extent of the manifest so far.
    pub(crate) fn extent(&self) -> Extent {
        self.log.extent()
    }

    /// Reads the manifest in force. If the database was closed cleanly, checks that the manifest is
    /// as the close left it. Returns `None` if the directory holds no database.
    ///
    /// # Errors
    /// `Corruption` with file and offset if the manifest is damaged; `Io` if a read fails.
    pub(crate) fn recover(
        fs: &dyn FileSystem,
        names: &FileNames,
        closed: Option<&CloseRecord>,
    ) -> Result<Option<Recovered>> {
        let number = manifest_in_force(fs, names)?;
        if let Some(closed) = closed {
            closed.check_number(number, names)?;
        }
        let Some(number) = number else { return Ok(None) };
        Manifest::read(fs, names, number, closed.map(|closed| &closed.manifest)).map(Some)
    }

    /// Reads a manifest, in force or not. After a clean close its extent is known.
    ///
    /// # Errors
    /// `Corruption` with file and offset if the manifest is damaged; `Io` if a read fails.
    pub(crate) fn read(
        fs: &dyn FileSystem,
        names: &FileNames,
        number: u64,
        closed: Option<&Extent>,
    ) -> Result<Recovered> {
        let path = names.manifest(number);
        let is_there = fs.try_exists(&path).map_err(|error| Error::io(&path, "read", &error))?;
        if !is_there {
            return Err(Error::corruption(format!(
                "{} is named by CURRENT but missing; restore it from a copy, or run `foldb repair`",
                manifest_name(number)
            ))
            .in_file(&path));
        }
        let mut reader = LogReader::open(fs, &path, number)?;
        let mut record = Vec::new();
        let mut edits = Vec::new();
        let mut offset = 0;
        while reader.next(&mut record)? {
            if offset == 0 {
                LogHeader::of_record(&record, &MANIFEST).map_err(|error| error.at(&path, 0))?;
            } else {
                edits.push(Edit::decode(&record).map_err(|error| error.at(&path, offset))?);
            }
            offset = reader.offset();
        }
        let end = reader.end_as(closed)?;
        let len = fs.len(&path).map_err(|error| Error::io(&path, "look at", &error))?;
        if offset == 0 && len > 0 {
            return Err(Error::corruption(
                "expected the header of a foldb manifest, found other bytes: damage, or the \
                 database of another engine",
            )
            .at(&path, 0));
        }
        if edits.is_empty() {
            return Err(Error::new(ErrorKind::Corruption, "the manifest is empty").at(&path, 0));
        }
        Ok(Recovered { number, edits, end: end.offset, tail: end.tail })
    }
}

/// Returns the number of the manifest that `CURRENT` names; `None` if `CURRENT` does not exist.
///
/// # Errors
/// `Corruption` if `CURRENT` does not name a manifest.
pub(crate) fn manifest_in_force(fs: &dyn FileSystem, names: &FileNames) -> Result<Option<u64>> {
    let current = names.current();
    let failed = |error| Error::io(&current, "read", &error);
    if !fs.try_exists(&current).map_err(failed)? {
        return Ok(None);
    }
    let content = fs.read(&current).map_err(failed)?;
    let number = parse_current(&content).ok_or_else(|| {
        let found = content[..content.len().min(40)].escape_ascii().to_string();
        Error::corruption(format!("expected the name of a manifest, found '{found}'"))
            .at(&current, 0)
    })?;
    Ok(Some(number))
}

/// Refuses a directory whose `CURRENT` names a manifest of another program. Other engines use the
/// same file names.
///
/// # Errors
/// `InvalidArgument` if the manifest is another program's; `Io` if a read fails.
pub(crate) fn refuse_other_manifest(fs: &dyn FileSystem, names: &FileNames) -> Result<()> {
    let current = names.current();
    if !is_there(fs, &current)? {
        return Ok(());
    }
    let content = fs.read(&current).map_err(|error| Error::io(&current, "read", &error))?;
    let Some(number) = parse_current(&content) else { return Ok(()) };
    let path = names.manifest(number);
    let len = || fs.len(&path).map_err(|error| Error::io(&path, "look at", &error));
    if !is_there(fs, &path)? || len()? == 0 {
        return Ok(());
    }
    // A damaged frame may still be foldb's.
    let header = LogReader::open(fs, &path, number)?.next(&mut Vec::new());
    if !matches!(header, Ok(false)) {
        return Ok(());
    }
    Err(Error::invalid_argument(
        "this manifest was not written by foldb, so nothing is removed: if you mean it, remove the \
         directory by hand",
    )
    .in_file(&path))
}

/// Whether an open reads what the edit says. A lifetime beyond the longest that a file can name is
/// read as that one, so the encodings are compared.
fn is_read_as_written(edit: &Edit) -> bool {
    let (mut record, mut again) = (Vec::new(), Vec::new());
    edit.encode(&mut record);
    Edit::decode(&record).is_ok_and(|read| {
        read.encode(&mut again);
        again == record
    })
}

fn parse_current(content: &[u8]) -> Option<u64> {
    let name = std::str::from_utf8(content).ok()?.strip_suffix('\n')?;
    match FileKind::parse(name)? {
        FileKind::Manifest(number) if number <= MAX_FILE_NUMBER => Some(number),
        _ => None,
    }
}

/// Removes what [`Manifest::begin`] wrote. Failed attempts must not fill a full disk. A file that
/// cannot be removed does no harm.
fn remove_begun(fs: &dyn FileSystem, names: &FileNames, path: &Path) {
    let _best_effort = remove(fs, path, Proof::Written);
    let _best_effort = remove(fs, &names.current_temporary(), Proof::Written);
}

/// Writes the file that a rename makes `CURRENT`, durably.
fn write_next_current(fs: &dyn FileSystem, names: &FileNames, number: u64) -> Result<()> {
    let path = names.current_temporary();
    let failed = |doing| {
        let path = path.clone();
        move |error: std::io::Error| Error::io(&path, doing, &error)
    };
    let file = fs.create(&path).map_err(failed("create"))?;
    file.write_at(format!("{}\n", manifest_name(number)).as_bytes(), 0).map_err(failed("write"))?;
    file.sync().map_err(failed("sync"))?;
    file.close().map_err(failed("close"))
}
