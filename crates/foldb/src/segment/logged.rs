//! A log as a segment: the records of its values stay where they were logged, between the other
//! contents of the frames.
//!
//! ```text
//! log 7:   header  | frame: batch, a.PUT.5, [record] | frame: batch, b.PUT.6, [record] | ...
//! segment 7, addresses:               (7, 120)                           (7, 4300)
//! ```
//!
//! A record's position is its offset in the file minus the length of a section's header. So a read
//! finds the record as in any section that was never rewritten. The frames contain the keys of the
//! values, so a walk over the frames replaces hints. Garbage collection copies the live values into
//! an ordinary section.

use xxhash_rust::xxh3::Xxh3;

use crate::encoding::format::LOG;
use crate::encoding::{checksum_seed, decode_varint};
use crate::error::{Error, Result};
use crate::key::{KeyspaceId, Kind, SeqNo};
use crate::operation::STAMPED;
use crate::segment::hints::Hint;
use crate::segment::map::Placement;
use crate::segment::open::OpenFile;
use crate::separated::address::Address;
use crate::separated::record::CHECKSUM_LEN;
use crate::separated::record::{check_sum, record_seed};
use crate::wal::format::{FrameHeader, HEADER_LEN, Part};
use crate::wal::{BatchHeader, LogHeader, SEPARABLE_PUT};

/// Most bytes read at once.
const MOST_STEP: usize = 256 << 10;

/// Longest varint.
const MOST_HEAD: u64 = 10;

/// Checks that a file is a log of this number and database.
///
/// # Errors
/// `Corruption` if the header is another file's or damaged; `Unsupported` for another format
/// version; `Io` if the read fails.
pub(crate) fn check_header(file: &OpenFile, log: u64, database: u64) -> Result<()> {
    let header = log_header(file, log)?;
    if (header.log, header.database) == (log, database) {
        return Ok(());
    }
    let message = format!(
        "expected log {log} of database {database:016x} as a value segment, found log {} of {:016x}",
        header.log, header.database
    );
    Err(Error::corruption(message).at(file.path(), 0))
}

/// Reads the header that a log begins with.
fn log_header(file: &OpenFile, log: u64) -> Result<LogHeader> {
    let mut frame = vec![0; HEADER_LEN + LogHeader::LEN];
    file.read(&mut frame, 0)?;
    let parsed = frame.first_chunk().and_then(FrameHeader::parse);
    let is_whole = parsed.is_some_and(|(header, length)| {
        length == LogHeader::LEN && header.log == log && header.verify(&frame, 0)
    });
    let header = match is_whole {
        true => LogHeader::of_record(&frame[HEADER_LEN..], &LOG),
        false => {
            let message = format!("expected the header of log {log}, found other bytes");
            Err(Error::corruption(message))
        }
    };
    header.map_err(|error| error.at(file.path(), 0))
}

/// A value of a log, with its key, sequence number and place.
#[derive(Debug, Default)]
pub(crate) struct LoggedValue {
    pub(crate) keyspace: KeyspaceId,
    pub(crate) hint: Hint,
}

/// A walk over the separable values of a log. Its memory is bounded for frames and values of any
/// length. It holds one key at a time.
pub(crate) struct LoggedValues<'a> {
    file: &'a OpenFile,
    log: u64,
    end: u64,
    window: Vec<u8>,
    window_at: u64,
    step: usize,
    /// Offset of the next byte.
    at: u64,
    frames: u64,
    frame: Frame,
    value: LoggedValue,
}

/// The current frame of the walk.
struct Frame {
    start: u64,
    end: u64,
    sum: u32,
    hasher: Xxh3,
    /// Operations of the frame that follow, and the sequence number of the next one.
    left: u32,
    seqno: SeqNo,
}

impl<'a> LoggedValues<'a> {
    pub(crate) fn new(file: &'a OpenFile, placement: &Placement, step: usize) -> LoggedValues<'a> {
        LoggedValues {
            file,
            log: placement.segment,
            end: placement.end(),
            window: Vec::new(),
            window_at: 0,
            step: step.min(MOST_STEP),
            at: 0,
            frames: 0,
            frame: Frame { start: 0, end: 0, sum: 0, hasher: Xxh3::new(), left: 0, seqno: 0 },
            value: LoggedValue::default(),
        }
    }

    /// Returns the next value and checks its own checksum. The walk checks the frame's checksum at
    /// the end of the frame, after it has returned the frame's values.
    ///
    /// # Errors
    /// `Corruption` with file and offset if the bytes are damaged; `Io` if a read fails.
    pub(crate) fn next(&mut self) -> Result<Option<&LoggedValue>> {
        let found = self.find_next().map_err(|error| match error.path() {
            Some(_) => error,
            None => error.at(self.file.path(), self.frame.start),
        })?;
        Ok(found.then_some(&self.value))
    }

    /// Returns the last value that [`LoggedValues::next`] returned.
    pub(crate) fn last(&self) -> &LoggedValue {
        &self.value
    }

    /// Returns the number of bytes that the walk has read.
    pub(crate) fn passed(&self) -> u64 {
        self.at
    }

    /// Returns where the current frame begins.
    pub(crate) fn frame_start(&self) -> u64 {
        self.frame.start
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.window.capacity() + self.value.hint.key.capacity()
    }

    fn find_next(&mut self) -> Result<bool> {
        loop {
            while self.frame.left > 0 {
                self.frame.left -= 1;
                // A damaged frame may begin with any number. The walk reports the damage at the end
                // of the frame.
                self.frame.seqno = self.frame.seqno.wrapping_add(1);
                if self.operation()? {
                    return Ok(true);
                }
            }
            self.end_frame()?;
            if self.at == self.end {
                return Ok(false);
            }
            self.begin_frame()?;
        }
    }

    fn begin_frame(&mut self) -> Result<()> {
        let start = self.at;
        self.frame = Frame {
            start,
            end: self.end,
            sum: 0,
            hasher: Xxh3::with_seed(checksum_seed(self.log, start)),
            left: 0,
            seqno: 0,
        };
        let log = self.log;
        let head = *self.peek(HEADER_LEN as u64)?.first_chunk().expect("as many as asked for");
        let expected = self.frames + 1;
        let parsed = FrameHeader::parse(&head).filter(|(header, length)| {
            let end = start + (HEADER_LEN + length) as u64;
            (header.log, header.frame) == (log, expected) && end <= self.end
        });
        let Some((header, length)) = parsed else {
            let message = format!("expected frame {expected} of log {log}, found other bytes");
            return Err(Error::corruption(message));
        };
        self.frames = expected;
        let (sum, rest) = head.split_at(4);
        self.frame.sum = sum.iter().rev().fold(0, |sum, &byte| sum << 8 | u32::from(byte));
        self.frame.hasher.update(rest);
        self.at += HEADER_LEN as u64;
        self.frame.end = self.at + length as u64;
        // A log record that spans several frames has no separable values.
        if header.part != Part::Whole || length < BatchHeader::LEN {
            return Ok(());
        }
        if let Some(batch) = BatchHeader::of_record(self.peek(BatchHeader::LEN as u64)?)? {
            self.pass(BatchHeader::LEN as u64, |_| {})?;
            // The walk increments the number before each operation, so it begins one below the
            // first.
            (self.frame.left, self.frame.seqno) = (batch.count, batch.first_seqno.wrapping_sub(1));
        }
        Ok(())
    }

    fn end_frame(&mut self) -> Result<()> {
        if self.frame.end == 0 {
            return Ok(());
        }
        self.pass(self.frame.end - self.at, |_| {})?;
        let found = self.frame.hasher.digest() as u32;
        check_sum("frame", u64::from(self.frame.sum), u64::from(found))
    }

    /// Reads an operation. Returns whether it has a separable value.
    fn operation(&mut self) -> Result<bool> {
        let mut kind = 0;
        self.pass(1, |byte| kind = byte[0])?;
        let is_separable = kind == SEPARABLE_PUT;
        // Values with stamps stay in tables.
        let unstamped = kind & !STAMPED;
        let known = if is_separable { Some(Kind::Put) } else { Kind::of_operation(unstamped) };
        let Some(known) = known else {
            return Err(Error::corruption(format!("operation kind {kind} is not known")));
        };
        let keyspace = self.varint()?;
        if known == Kind::Merge {
            self.varint()?;
        }
        let key_len = self.varint()?;
        if !is_separable {
            self.pass(key_len, |_| {})?;
            if known != Kind::Delete {
                let value_len = self.varint()?;
                self.pass(value_len, |_| {})?;
            }
            return Ok(false);
        }
        let mut key = std::mem::take(&mut self.value.hint.key);
        key.clear();
        self.pass(key_len, |bytes| key.extend_from_slice(bytes))?;
        let keyspace = KeyspaceId::try_from(keyspace);
        let keyspace = keyspace.map_err(|_| Error::corruption("expected a keyspace"))?;
        let position = Address::position_in_log(self.at);
        let value_len = self.record(position)?;
        let seqno = self.frame.seqno;
        self.value = LoggedValue { keyspace, hint: Hint { key, seqno, value_len, position } };
        Ok(true)
    }

    /// Reads a record. Returns the length of its value.
    fn record(&mut self, position: u64) -> Result<u64> {
        let mut hasher = Xxh3::with_seed(record_seed(self.log, position));
        let (len, head) = self.peek_varint()?;
        self.pass(head, |bytes| hasher.update(bytes))?;
        let no_record = || Error::corruption(format!("expected a record at position {position}"));
        let len = len.checked_sub(1).ok_or_else(no_record)?;
        self.pass(len, |bytes| hasher.update(bytes))?;
        let found = hasher.digest();
        let mut expected = 0;
        self.pass(CHECKSUM_LEN, |bytes| {
            expected = bytes.iter().fold(expected, |sum, &byte| sum >> 8 | u64::from(byte) << 56);
        })?;
        check_sum("value", expected, found)?;
        Ok(len)
    }

    fn varint(&mut self) -> Result<u64> {
        let (number, len) = self.peek_varint()?;
        self.pass(len, |_| {})?;
        Ok(number)
    }

    /// Returns the next number, and its length in bytes.
    fn peek_varint(&mut self) -> Result<(u64, u64)> {
        let room = (self.frame.end - self.at).min(MOST_HEAD);
        let found = decode_varint(self.peek(room)?);
        let (number, len) = found.ok_or_else(|| Error::corruption("expected a number"))?;
        Ok((number, len as u64))
    }

    /// Returns the next `len` bytes, without passing them. All of them must be in the frame.
    fn peek(&mut self, len: u64) -> Result<&[u8]> {
        self.check_room(len)?;
        let start = self.at.wrapping_sub(self.window_at);
        if self.at < self.window_at || start + len > self.window.len() as u64 {
            self.fill(len as usize)?;
        }
        let start = (self.at - self.window_at) as usize;
        Ok(&self.window[start..start + len as usize])
    }

    /// Passes the next `len` bytes of the frame, piece by piece.
    fn pass(&mut self, len: u64, mut visit: impl FnMut(&[u8])) -> Result<()> {
        self.check_room(len)?;
        let end = self.at + len;
        while self.at < end {
            let window_end = self.window_at + self.window.len() as u64;
            if self.at < self.window_at || self.at >= window_end {
                self.fill(1)?;
            }
            let start = (self.at - self.window_at) as usize;
            let piece = &self.window[start..];
            let piece = &piece[..piece.len().min((end - self.at) as usize)];
            self.frame.hasher.update(piece);
            visit(piece);
            self.at += piece.len() as u64;
        }
        Ok(())
    }

    fn check_room(&self, len: u64) -> Result<()> {
        let room = self.frame.end - self.at;
        if len <= room {
            return Ok(());
        }
        let message = format!("expected {len} more bytes of the frame, found {room}");
        Err(Error::corruption(message))
    }

    /// Reads ahead from the next byte, at least `least` bytes.
    fn fill(&mut self, least: usize) -> Result<()> {
        let len = (least.max(self.step) as u64).min(self.end - self.at) as usize;
        self.window.resize(len, 0);
        self.window_at = self.at;
        let read = self.file.read(&mut self.window, self.at);
        read.inspect_err(|_| self.window.clear())
    }
}
