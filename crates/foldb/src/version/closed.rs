//! The record of a clean close: the lengths and digests of the manifest and the needed logs.
//!
//! ```text
//! CLOSED: magic "end/fold" | version u32 | database u64 | manifest (extent) | logs u32 | extents |
//!         [last seqno u64 | totals u32 | u64 ...] | checksum u64
//! extent: number u64 | length u64 | frames u64 | digest u64
//!   digest:     of the frames' checksums, see `wal::format::digest_with`
//!   logs:       ascending; all logs from the first one with writes that are in no table on
//!   last seqno: of all writes; older databases leave it out, with the totals
//!   totals:     the statistics at the close
//!   checksum:   XXH3-64 of all before it
//! ```
//!
//! A log has no end mark, so a reader takes damage at the end of a log for a torn tail. After a
//! clean close no log has a torn tail, and this file says where each log ends. The close writes
//! this file last, when everything that the file describes is durable. A rename gives the file its
//! name, so the file exists whole or not at all. The close does not sync that name: a power loss
//! within seconds may take it, and the database then looks as after a crash with all logs synced.
//!
//! The next open changes no file that the record describes. Before a new log takes a write, the
//! open removes the record. That removal is durable by the first sync of the log, because both are
//! changes of one directory. Before another manifest takes effect, the removal is durable too. A
//! power loss may bring the record back, beside a log that follows the last one of the record:
//!
//! ```text
//! CLOSED: log 7 ends at frame 3    000007.log: 1 2 3    000009.log, after 7 as of 3: 4 (5 lost)
//! ```
//!
//! Such a record is *outdated*. It counts as removed, and the logs are read as after a kill.
//!
//! Invariant: while the file exists and is not outdated, manifest and logs match it. Any difference
//! is damage.

use foldb_env::FileSystem;

use crate::encoding::format::{CLOSED, FORMAT_VERSION, LOG, MAGIC_LEN};
use crate::encoding::{ByteReader, checksum};
use crate::error::{Error, ErrorKind, Result};
use crate::files::{FileKind, FileNames, Proof, remove};
use crate::key::SeqNo;
use crate::wal::{Extent, LogHeader, LogReader};

/// Where the manifest's extent begins.
const MANIFEST_AT: u64 = 20;

/// The record of a clean close.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CloseRecord {
    pub(crate) database: u64,
    pub(crate) manifest: Extent,
    /// Ascending.
    pub(crate) logs: Vec<Extent>,
    /// What the close knew; `None` in a database of an older foldb, whose manifest has it.
    pub(crate) known: Option<Known>,
}

/// What a close knew of the whole database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) last_seqno: SeqNo,
    pub(crate) totals: Vec<u64>,
}

impl CloseRecord {
    /// Reads the record. Returns `None` if the database was not closed cleanly, if it is open, or
    /// if the record is outdated.
    ///
    /// # Errors
    /// `Corruption` if the record is damaged; `Unsupported` for another format version; `Io` if a
    /// read fails.
    pub(crate) fn read(fs: &dyn FileSystem, names: &FileNames) -> Result<Option<CloseRecord>> {
        let Some(record) = CloseRecord::read_any(fs, names)? else { return Ok(None) };
        let directory = names.directory();
        let list = fs.list(directory).map_err(|error| Error::io(directory, "list", &error))?;
        let present: Vec<FileKind> = list.iter().filter_map(|name| FileKind::parse(name)).collect();
        Ok((!record.is_outdated(fs, names, &present)?).then_some(record))
    }

    /// Does the same as [`CloseRecord::read`] if these are the files of the directory.
    pub(crate) fn read_among(
        present: &[FileKind],
        fs: &dyn FileSystem,
        names: &FileNames,
    ) -> Result<Option<CloseRecord>> {
        let Some(record) = CloseRecord::read_any(fs, names)? else { return Ok(None) };
        Ok((!record.is_outdated(fs, names, present)?).then_some(record))
    }

    /// Reads the record, outdated or not.
    fn read_any(fs: &dyn FileSystem, names: &FileNames) -> Result<Option<CloseRecord>> {
        let path = names.closed();
        let content = match fs.read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(&path, "read", &error)),
        };
        CloseRecord::decode(&content).map(Some).map_err(|error| match error.kind() {
            ErrorKind::Corruption => error.at(&path, 0),
            _ => error.in_file(&path),
        })
    }

    /// Returns whether a log follows the last one of the record. A log of an open that failed
    /// follows no log.
    ///
    /// # Errors
    /// `Io` if a log cannot be read: it may have the latest writes.
    fn is_outdated(
        &self,
        fs: &dyn FileSystem,
        names: &FileNames,
        present: &[FileKind],
    ) -> Result<bool> {
        let Some(last) = self.logs.last() else { return Ok(false) };
        let newer = present.iter().filter_map(|kind| match *kind {
            FileKind::Log(number) if number > last.number => Some(number),
            _ => None,
        });
        let follows = |number| -> Result<bool> {
            let mut log = LogReader::open(fs, &names.log(number), number)?.for_its_head();
            let mut record = Vec::new();
            let has_header = log.next(&mut record)?;
            Ok(has_header && LogHeader::of_record(&record, &LOG)?.predecessor == last.number)
        };
        for number in newer {
            match follows(number) {
                // A log with a damaged header has no write, or replay reports it. A writer in
                // another process may remove a log.
                Err(error) if error.kind() == ErrorKind::Corruption || error.is_missing_file() => {}
                Ok(false) => {}
                Ok(true) => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Writes the record. All bytes that it describes must be durable already. `are_named`: whether
    /// the names of all its files are, too. A power loss within seconds may take the record, but
    /// leaves no part of one.
    ///
    /// # Errors
    /// `NoSpace` or `Io` if a write or sync fails. The next open then finds a database that was not
    /// closed.
    pub(crate) fn write(
        &self,
        fs: &dyn FileSystem,
        names: &FileNames,
        are_named: bool,
    ) -> Result<()> {
        let (next, path) = (names.closed_temporary(), names.closed());
        let failed = |doing| {
            let path = path.clone();
            move |error: std::io::Error| Error::io(&path, doing, &error)
        };
        let file = fs.create(&next).map_err(failed("create"))?;
        file.write_at(&self.encode(), 0).map_err(failed("write"))?;
        file.sync().map_err(failed("sync"))?;
        file.close().map_err(failed("close"))?;
        if !are_named {
            // A power loss may keep a later change of the directory and lose an earlier one.
            fs.sync_dir(names.directory()).map_err(failed("sync the directory of"))?;
        }
        // No sync of the name: without the record, the next open reads the logs as after a kill.
        fs.rename(&next, &path).map_err(failed("rename"))
    }

    /// Removes the record, if it exists. The removal is durable with the next sync of the
    /// directory.
    ///
    /// # Errors
    /// `Io` if the removal fails.
    pub(crate) fn invalidate(fs: &dyn FileSystem, names: &FileNames) -> Result<()> {
        let path = names.closed();
        match remove(fs, &path, Proof::Listed) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io(&path, "remove", &error))
            }
            _ => Ok(()),
        }
    }

    /// Checks that `CURRENT` names the manifest that the close recorded.
    ///
    /// # Errors
    /// `Corruption` if `CURRENT` is missing or names another manifest.
    pub(crate) fn check_number(&self, in_force: Option<u64>, names: &FileNames) -> Result<()> {
        match in_force {
            Some(number) if number == self.manifest.number => Ok(()),
            Some(number) => Err(Error::corruption(format!(
                "the database was closed with manifest {}, but CURRENT names manifest {number}: one of \
                 the two files is not what it was",
                self.manifest.number
            ))
            .at(&names.closed(), MANIFEST_AT)),
            None => Err(Error::corruption(
                "CURRENT is missing, but the database was closed: run `foldb repair`, or destroy it",
            )
            .in_file(&names.current())),
        }
    }

    /// Returns the extent of a log.
    pub(crate) fn log(&self, number: u64) -> Option<&Extent> {
        self.logs.iter().find(|log| log.number == number)
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(CLOSED.magic());
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&self.database.to_le_bytes());
        debug_assert_eq!(out.len() as u64, MANIFEST_AT);
        put_extent(&self.manifest, &mut out);
        out.extend_from_slice(&(self.logs.len() as u32).to_le_bytes());
        self.logs.iter().for_each(|log| put_extent(log, &mut out));
        debug_assert_eq!(
            out.len(),
            MANIFEST_AT as usize + EXTENT_LEN * (1 + self.logs.len()) + size_of::<u32>(),
            "a record of the close holds the extents of the manifest and of each log"
        );
        if let Some(Known { last_seqno, totals }) = &self.known {
            out.extend_from_slice(&last_seqno.to_le_bytes());
            out.extend_from_slice(&(totals.len() as u32).to_le_bytes());
            totals.iter().for_each(|total| out.extend_from_slice(&total.to_le_bytes()));
        }
        out.extend_from_slice(&checksum(0, &out).to_le_bytes());
        out
    }

    fn decode(content: &[u8]) -> Result<CloseRecord> {
        let mut bytes = ByteReader::new(content);
        CLOSED.check_magic(bytes.take(MAGIC_LEN, "magic")?)?;
        let sum_at = content.len().saturating_sub(size_of::<u64>());
        let found = ByteReader::new(&content[sum_at..]).u64("checksum")?;
        let expected = checksum(0, &content[..sum_at]);
        if found != expected {
            return Err(Error::corruption(format!(
                "checksum of the record of the close: expected {expected:016x}, found {found:016x}"
            )));
        }
        CLOSED.check_version(bytes.u32("format version")?)?;
        let database = bytes.u64("database")?;
        let manifest = extent(&mut bytes)?;
        let count = bytes.u32("number of logs")?;
        let logs = (0..count).map(|_| extent(&mut bytes)).collect::<Result<Vec<_>>>()?;
        let known = match bytes.remaining() > size_of::<u64>() {
            true => Some(known(&mut bytes)?),
            false => None,
        };
        if bytes.remaining() != size_of::<u64>() {
            return Err(Error::corruption(format!(
                "expected a checksum after {count} logs, found {} bytes",
                bytes.remaining()
            )));
        }
        Ok(CloseRecord { database, manifest, logs, known })
    }
}

/// The bytes of an extent.
const EXTENT_LEN: usize = 4 * size_of::<u64>();

fn put_extent(extent: &Extent, out: &mut Vec<u8>) {
    for word in [extent.number, extent.len, extent.frames, extent.digest] {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

fn known(bytes: &mut ByteReader<'_>) -> Result<Known> {
    let last_seqno = bytes.u64("last sequence number")?;
    let count = bytes.u32("number of totals")?;
    let totals = (0..count).map(|_| bytes.u64("total")).collect::<Result<Vec<_>>>()?;
    Ok(Known { last_seqno, totals })
}

fn extent(bytes: &mut ByteReader<'_>) -> Result<Extent> {
    Ok(Extent {
        number: bytes.u64("number of a file")?,
        len: bytes.u64("length of a file")?,
        frames: bytes.u64("frames of a file")?,
        digest: bytes.u64("digest of a file")?,
    })
}
