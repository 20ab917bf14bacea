//! Mends damaged logs: a log that holds their intact records replaces them.
//!
//! ```text
//! 7.log: 1 2 x 4 5(first) x 7    7.log: 1 2 - 4 - - 7    7.log.damaged: 1 2 x 4 5(first) x 7
//! ```
//!
//! Each intact record keeps the numbers of its frames. Batches without writes take the place of the
//! frames that are skipped, so the next log still follows this one. A batch counts only as a whole
//! and if its sequence numbers are above those before it: old frames that a failed write left
//! behind never count. So the order of commits stays and no merge is applied twice, but a gap may
//! hold commits that are lost. The report names each gap.
//!
//! An unsynced tail that a power loss tore may have intact frames behind a hole. An open drops
//! them, because a prefix of the writes survives (H11). A repair cannot tell the hole from damage.
//! It keeps them, and names the gap.
//!
//! Invariant: a log of each name exists at every moment, damaged or mended.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use foldb_env::FileSystem;

use crate::db::lifecycle::open::files::logs_in;
use crate::db::lifecycle::open::repair::SkippedPart;
use crate::db::lifecycle::open::repair::aside::with_ending;
use crate::db::lifecycle::open::repair::cut::replace_log;
use crate::encoding::format::LOG;
use crate::error::{ErrorKind, Result};
use crate::files::{FileKind, FileNames};
use crate::key::{NO_OPERATOR, SeqNo};
use crate::wal::{BatchHeader, FRAME_HEADER_LEN, LogGap, LogHeader, LogReader, LogWriter};

/// The logs of a database that may need to be mended.
pub(crate) struct Mending<'a> {
    pub(crate) fs: &'a Arc<dyn FileSystem>,
    pub(crate) names: &'a FileNames,
    /// The numbers of the logs that are needed, ascending.
    pub(crate) logs: Vec<u64>,
    /// The identity of the database.
    pub(crate) database: u64,
}

/// What was wrong with the logs.
#[derive(Default)]
pub(crate) struct Mended {
    pub(crate) skipped: Vec<SkippedPart>,
    /// Missing logs between others.
    pub(crate) lost: Vec<PathBuf>,
}

/// Returns the needed logs among the present files.
pub(crate) fn logs_from(present: &[FileKind], first: u64) -> Vec<u64> {
    logs_in(present).into_iter().filter(|log| *log >= first).collect()
}

/// Returns the headers of these logs that are readable.
///
/// # Errors
/// `Io`.
pub(crate) fn heads(
    fs: &dyn FileSystem,
    names: &FileNames,
    logs: &[u64],
) -> Result<BTreeMap<u64, LogHeader>> {
    let mut heads = BTreeMap::new();
    let mut record = Vec::new();
    for &number in logs {
        let mut log = LogReader::open(fs, &names.log(number), number)?.for_its_head();
        match log.next(&mut record) {
            Ok(true) => {}
            Ok(false) => continue,
            Err(error) if error.kind() == ErrorKind::Corruption => continue,
            Err(error) => return Err(error),
        }
        if let Ok(head) = LogHeader::of_record(&record, &LOG) {
            heads.insert(number, head);
        }
    }
    Ok(heads)
}

impl Mending<'_> {
    /// Replaces the damaged logs.
    ///
    /// # Errors
    /// `Io` or `NoSpace`.
    pub(crate) fn run(&self) -> Result<Mended> {
        let heads = heads(&**self.fs, self.names, &self.logs)?;
        let mut done = Mended::default();
        let mut last_seqno = 0;
        for &number in &self.logs {
            let predecessor = heads.get(&number).map_or(0, |head| head.predecessor);
            let is_behind_lost = self.logs.first().is_some_and(|first| predecessor > *first)
                && !self.logs.contains(&predecessor);
            let followers = heads.values().filter(|head| head.predecessor == number);
            let end = followers.max_by_key(|head| head.predecessor_frames);
            let mut walk = Walk::open(self, number, end, last_seqno)?;
            while walk.next()?.is_some() {}
            if is_behind_lost {
                done.lost.push(self.names.log(predecessor));
            }
            if !walk.gaps.is_empty() || is_behind_lost {
                self.replace(number, end, last_seqno)?;
            }
            let file = self.names.log(number);
            done.skipped.extend(walk.gaps.iter().map(|gap| SkippedPart {
                file: file.clone(),
                offset: gap.offset,
                bytes: gap.bytes,
                frames: gap.frames,
            }));
            last_seqno = walk.last_seqno;
        }
        Ok(done)
    }

    /// Replaces a log by one with its intact records.
    fn replace(&self, number: u64, end: Option<&LogHeader>, last_seqno: SeqNo) -> Result<()> {
        let path = self.names.log(number);
        let mended = with_ending(&path, "short");
        let mut walk = Walk::open(self, number, end, last_seqno)?;
        // The log follows no other: the log before it may be lost, or its header may be.
        let mut log = LogWriter::create(self.fs, &mended, number, self.database, None)?;
        while let Some(first_frame) = walk.next()? {
            if first_frame == 1 {
                continue;
            }
            pad(&mut log, first_frame - 1)?;
            log.begin().extend_from_slice(&walk.record);
            log.append()?;
        }
        pad(&mut log, walk.frames)?;
        log.trim()?;
        log.sync_handle().sync_bytes()?;
        drop(log);
        replace_log(&**self.fs, &path, &mended)
    }
}

/// Appends batches without writes until the log has so many frames.
fn pad(log: &mut LogWriter, frames: u64) -> Result<()> {
    let nothing = BatchHeader { default_operator: NO_OPERATOR, first_seqno: 0, count: 0 };
    while log.frames() < frames {
        nothing.encode(log.begin());
        log.append()?;
    }
    Ok(())
}

/// A walk over the intact records of a log.
struct Walk {
    log: LogReader,
    record: Vec<u8>,
    gaps: Vec<LogGap>,
    /// Frames so far, those in gaps included.
    frames: u64,
    /// Where the last record that counts ends, and its last frame.
    kept: (u64, u64),
    /// The last sequence number of the records so far, and of the logs before.
    last_seqno: SeqNo,
    /// Length and frames of the log, as a later log knows them.
    end: Option<(u64, u64)>,
}

impl Walk {
    fn open(
        mending: &Mending<'_>,
        number: u64,
        end: Option<&LogHeader>,
        last_seqno: SeqNo,
    ) -> Result<Walk> {
        let log = LogReader::open(&**mending.fs, &mending.names.log(number), number)?;
        let end = end.map(|next| (next.predecessor_len, next.predecessor_frames));
        let (record, gaps) = (Vec::new(), Vec::new());
        Ok(Walk { log, record, gaps, frames: 0, kept: (0, 0), last_seqno, end })
    }

    /// Reads the next record that counts. Returns the number of its first frame; `None` at the end.
    fn next(&mut self) -> Result<Option<u64>> {
        loop {
            let mut gap = None;
            let from = self.log.offset();
            let is_read = self.log.next_intact(&mut self.record, &mut gap)?;
            let skipped = gap.map_or((0, 0), |gap| (gap.bytes, gap.frames));
            self.gaps.extend(gap);
            if !is_read {
                self.frames += skipped.1;
                let end = self.leave_torn_end(from + skipped.0, gap.is_some());
                self.note_missing_end(end);
                return Ok(None);
            }
            let (offset, first_frame) = (from + skipped.0, self.frames + skipped.1 + 1);
            self.frames = self.log.frames();
            if self.is_in_order()? {
                self.kept = (self.log.offset(), self.frames);
                return Ok(Some(first_frame));
            }
            let (bytes, frames) = (self.log.offset() - offset, self.frames + 1 - first_frame);
            self.gaps.push(LogGap { offset, bytes, frames });
        }
    }

    /// Returns whether the record is no batch, or one with sequence numbers above those before it.
    fn is_in_order(&mut self) -> Result<bool> {
        let Some(batch) = BatchHeader::of_record(&self.record)? else { return Ok(true) };
        if batch.count == 0 {
            return Ok(true);
        }
        if batch.first_seqno <= self.last_seqno {
            return Ok(false);
        }
        self.last_seqno = batch.first_seqno + SeqNo::from(batch.count) - 1;
        Ok(true)
    }

    /// Forgets the gaps behind the last record that counts, unless a frame proves that they held
    /// synced writes. Such an end is torn, or has what a failed write left, as after every kill.
    /// Returns where the log ends.
    fn leave_torn_end(&mut self, end: u64, is_proven: bool) -> u64 {
        let (offset, frames) = self.kept;
        if is_proven || self.log.max_synced() > frames {
            return end;
        }
        self.gaps.retain(|gap| gap.offset < offset);
        self.frames = frames;
        offset
    }

    /// Notes that the log lacks frames at its end that a later log has counted.
    fn note_missing_end(&mut self, offset: u64) {
        let Some((len, frames)) = self.end else { return };
        let missing = frames.saturating_sub(self.frames);
        // Another number is not that of this log's frames.
        let fit = len.saturating_sub(offset) / FRAME_HEADER_LEN as u64;
        if missing == 0 || missing > fit {
            return;
        }
        self.frames = frames;
        self.gaps.push(LogGap { offset, bytes: len - offset, frames: missing });
    }
}
