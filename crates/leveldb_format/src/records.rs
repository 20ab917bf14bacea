//! The records of LevelDB's manifests and logs.
//!
//! ```text
//! a file is blocks of 32 KiB, a block is parts of records:
//! +--------------+------------+---------+---------+
//! | checksum u32 | length u16 | kind u8 | payload |   kind: 1 whole, 2 first, 3 middle, 4 last
//! +--------------+------------+---------+---------+
//! fewer than 7 bytes at the end of a block are zero
//! ```
//!
//! [`Records::advance`] reads past damage, as LevelDB does: a damaged part costs the rest of its
//! block and the record that it is a part of, and the caller hears of each loss. [`Records::next`]
//! stops at the first loss.
//!
//! A process that is killed leaves a whole number of records and perhaps a part of one more. That
//! part is the *tail*. A strict reader must tell it from damage: a bad record with a good one after
//! it was once whole, so it is damage.
//!
//! RocksDB writes the same parts, and more kinds ([`Records::of_rocksdb`]):
//!
//! ```text
//! kinds 5 to 8:  as 1 to 4, with the number u32 of the log before the payload
//! kind 9:        how the records after it are compressed
//! kind 10, 11:   sizes of timestamps; 11 has the number of the log
//! from 32 on:    a reader may leave out these whole records; 34 has the number of the log
//! ```
//!
//! A log with these numbers may be written over an older log. A part with another number is a rest
//! of that log, so it ends the file.

use std::fmt;
use std::ops::Range;

use crate::encoding::masked;

const BLOCK: usize = 32 << 10;
const HEADER: usize = 7;
/// Bytes of the number of a log, behind the header of some parts of RocksDB.
const NUMBER: usize = 4;

pub(crate) const WHOLE: u8 = 1;
const FIRST: u8 = 2;
const MIDDLE: u8 = 3;
pub(crate) const LAST: u8 = 4;
/// RocksDB's kinds from here to `NUMBERED_LAST` are the four above, with the number of their log.
const NUMBERED_WHOLE: u8 = 5;
const NUMBERED_LAST: u8 = 8;
/// The kind of RocksDB's record that says how the records after it are compressed.
pub const COMPRESSION: u8 = 9;
/// The kind of RocksDB's record of the sizes of timestamps.
pub const TIMESTAMP_SIZES: u8 = 10;
const NUMBERED_TIMESTAMP_SIZES: u8 = 11;
/// A reader of RocksDB may leave out records of a kind with this bit.
const MAY_BE_LEFT_OUT: u8 = 32;
const NUMBERED_PREDECESSOR: u8 = 34;

/// The records in the bytes of a file.
#[derive(Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The number of a log of RocksDB. `None` if the file is LevelDB's.
    rocksdb: Option<u32>,
    /// The kind of the present record.
    kind: u8,
    /// Where the present record begins.
    begin: usize,
    /// The payload of the present record, if it is one part.
    whole: Range<usize>,
    /// The payloads of its parts, if it has several.
    joined: Vec<u8>,
    /// The present record lacks its last part.
    is_open: bool,
    /// The part before `at` was lost.
    is_broken: bool,
    /// What is wrong with the tail, if it is more than incomplete.
    bad_tail: Option<Reason>,
}

/// What a step over the bytes of a file finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A record.
    Record,
    /// Bytes that are no record.
    Lost(Loss),
    /// The end of the file. A part that it cuts is no loss, because its writer did not finish it.
    End,
}

/// Bytes that a reader gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The offset at which the reader noticed it.
    pub at: usize,
    /// How many bytes. Zeros that a writer reserved and did not fill count as none.
    pub bytes: usize,
    /// Why.
    pub reason: Reason,
}

/// Why bytes are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A part crosses the end of its block.
    Length,
    /// The checksum of a part does not match.
    Checksum,
    /// A part without payload, of kind 0.
    Zeros,
    /// A part of an unknown kind.
    Kind(u8),
    /// A first part, or a whole record, follows a record without its last part. Its kind.
    NoEnd(u8),
    /// A middle or last part follows no first part. Its kind.
    NoBegin(u8),
    /// The parts of a record before a part that was lost.
    Broken,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Length => "a record crosses the end of its block",
            Reason::Checksum => "the checksum of a record does not match",
            Reason::Zeros | Reason::Kind(_) => "a record is of an unknown kind",
            Reason::NoEnd(_) | Reason::NoBegin(_) => "a part of a record is missing",
            Reason::Broken => "a record has a damaged part",
        })
    }
}

/// Damage at an offset of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The offset.
    pub at: usize,
    /// What is wrong.
    pub reason: Reason,
}

/// What reading the next part of a record gives.
enum Part {
    /// Its kind, and the range of its payload.
    Good(u8, Range<usize>),
    /// The file ends, perhaps within the part.
    End,
    /// The part is not as it was written.
    Bad(Reason),
}

impl<'a> Records<'a> {
    /// Returns the records in the bytes of a file.
    pub fn of(bytes: &'a [u8]) -> Records<'a> {
        Records {
            bytes,
            at: 0,
            rocksdb: None,
            kind: WHOLE,
            begin: 0,
            whole: 0..0,
            joined: Vec::new(),
            is_open: false,
            is_broken: false,
            bad_tail: None,
        }
    }

    /// Returns the records in the bytes of a log or manifest of RocksDB. The number is that of the
    /// log, without its high bits.
    pub fn of_rocksdb(bytes: &'a [u8], number: u32) -> Records<'a> {
        Records { rocksdb: Some(number), ..Records::of(bytes) }
    }

    /// Returns [`COMPRESSION`] or [`TIMESTAMP_SIZES`] for such a record, and 1 for any other.
    pub fn kind(&self) -> u8 {
        self.kind
    }

    /// Returns the present record.
    pub fn record(&self) -> &[u8] {
        if self.whole.is_empty() { &self.joined } else { &self.bytes[self.whole.clone()] }
    }

    /// Returns the offset of the present record.
    pub fn offset(&self) -> usize {
        self.begin
    }

    /// Returns the number of bytes behind the last whole record. Call it once [`Records::next`]
    /// returned `None`.
    pub fn tail(&self) -> u64 {
        (self.bytes.len() - self.begin) as u64
    }

    /// Returns what is wrong with the tail. `None` if the file only ends too early, or with zeros.
    pub fn bad_tail(&self) -> Option<Reason> {
        self.bad_tail
    }

    /// Returns the next record. `None` at the end, or at a tail.
    ///
    /// # Errors
    /// Fails for damage.
    #[expect(clippy::should_implement_trait, reason = "the record is borrowed from the reader")]
    pub fn next(&mut self) -> Result<Option<&[u8]>, Damage> {
        let (at, reason) = match self.advance() {
            Step::Record => return Ok(Some(self.record())),
            Step::End if !self.has_good_part_from(self.at) => return Ok(None),
            // The length of a part leads beyond the end of the file.
            Step::End => (self.at, Reason::Length),
            Step::Lost(loss) => (loss.at, loss.reason),
        };
        if self.has_good_part_from(at) {
            return Err(Damage { at, reason });
        }
        let is_zero = self.bytes[at..].iter().all(|&byte| byte == 0);
        self.bad_tail = (!is_zero).then_some(reason);
        Ok(None)
    }

    /// Moves to the next record, or to the next loss.
    pub fn advance(&mut self) -> Step {
        self.whole = 0..0;
        if !self.is_open {
            self.joined.clear();
        }
        loop {
            if std::mem::take(&mut self.is_broken) && self.is_open {
                return self.give_up(self.at, 0, Reason::Broken);
            }
            self.skip_padding();
            let at = self.at;
            if !self.is_open {
                self.begin = at;
            }
            let (kind, payload) = match self.part(at) {
                Part::Good(kind, payload) => (kind, payload),
                Part::End => return Step::End,
                Part::Bad(reason) => {
                    self.at = self.block_end(at);
                    self.is_broken = true;
                    let bytes = if reason == Reason::Zeros { 0 } else { self.at - at };
                    return Step::Lost(Loss { at, bytes, reason });
                }
            };
            self.kind = WHOLE;
            match kind {
                _ if self.rocksdb.is_some() && kind & MAY_BE_LEFT_OUT != 0 => {
                    self.at = payload.end;
                    continue;
                }
                COMPRESSION | TIMESTAMP_SIZES if self.rocksdb.is_some() && !self.is_open => {
                    self.kind = kind;
                    self.at = payload.end;
                    self.whole = payload;
                    return Step::Record;
                }
                // LevelDB once left a first part without payload at the end of a block.
                WHOLE | FIRST if !self.joined.is_empty() => {
                    return self.give_up(at, 0, Reason::NoEnd(kind));
                }
                WHOLE | FIRST => self.begin = at,
                MIDDLE | LAST if self.is_open => {}
                MIDDLE | LAST => {
                    self.at = payload.end;
                    let reason = Reason::NoBegin(kind);
                    return Step::Lost(Loss { at, bytes: payload.len(), reason });
                }
                _ => {
                    self.at = payload.end;
                    return self.give_up(at, payload.len(), Reason::Kind(kind));
                }
            }
            self.at = payload.end;
            self.is_open = matches!(kind, FIRST | MIDDLE);
            if kind == WHOLE {
                self.whole = payload;
                return Step::Record;
            }
            self.joined.extend_from_slice(&self.bytes[payload]);
            if kind == LAST {
                return Step::Record;
            }
        }
    }

    /// Gives up the parts of the present record, and `more` bytes.
    fn give_up(&mut self, at: usize, more: usize, reason: Reason) -> Step {
        let bytes = self.joined.len() + more;
        self.joined.clear();
        self.is_open = false;
        Step::Lost(Loss { at, bytes, reason })
    }

    /// Skips the end of a block that is too short for a header.
    fn skip_padding(&mut self) {
        let left = BLOCK - self.at % BLOCK;
        let end = (self.at + left).min(self.bytes.len());
        // A header with the number of the log is longer.
        let is_padding = left < HEADER
            || self.rocksdb.is_some()
                && left < HEADER + NUMBER
                && self.bytes[self.at..end].iter().all(|&byte| byte == 0);
        if is_padding {
            self.at = end;
        }
    }

    /// Returns where the block of an offset ends.
    fn block_end(&self, at: usize) -> usize {
        (at - at % BLOCK + BLOCK).min(self.bytes.len())
    }

    fn part(&self, at: usize) -> Part {
        let block_end = self.block_end(at);
        let block = &self.bytes[at..block_end];
        let Some(&[c0, c1, c2, c3, l0, l1, kind]) = block.first_chunk::<HEADER>() else {
            return Part::End;
        };
        let (kind, more) = self.known_as(kind);
        let len = more + usize::from(u16::from_le_bytes([l0, l1]));
        if let (1.., Some(number)) = (more, self.rocksdb) {
            match block.get(HEADER..HEADER + NUMBER) {
                Some(own) if own == number.to_le_bytes() => {}
                _ => return Part::End,
            }
        }
        let Some(covered) = block.get(HEADER - 1..HEADER + len) else {
            // Only a block that is not full is cut.
            let is_cut = !block_end.is_multiple_of(BLOCK);
            return if is_cut { Part::End } else { Part::Bad(Reason::Length) };
        };
        if kind == 0 && len == 0 {
            return Part::Bad(Reason::Zeros);
        }
        if u32::from_le_bytes([c0, c1, c2, c3]) != masked(crc32c::crc32c(covered)) {
            return Part::Bad(Reason::Checksum);
        }
        Part::Good(kind, at + HEADER + more..at + HEADER + len)
    }

    /// Returns what a kind of RocksDB's means, and how many bytes follow the header.
    fn known_as(&self, kind: u8) -> (u8, usize) {
        match kind {
            _ if self.rocksdb.is_none() => (kind, 0),
            NUMBERED_WHOLE..=NUMBERED_LAST => (kind - NUMBERED_WHOLE + WHOLE, NUMBER),
            NUMBERED_TIMESTAMP_SIZES => (TIMESTAMP_SIZES, NUMBER),
            NUMBERED_PREDECESSOR => (kind, NUMBER),
            _ => (kind, 0),
        }
    }

    /// Returns whether a part at `at` or after it is good. The length of a bad part is not to be
    /// trusted, so the rest of its block is searched byte by byte.
    fn has_good_part_from(&self, at: usize) -> bool {
        let next_block = self.block_end(at);
        let blocks = (next_block..self.bytes.len()).step_by(BLOCK);
        (at..next_block).chain(blocks).any(|at| {
            // Before the checksum, because the search looks at every byte.
            let kind = self.bytes.get(at + HEADER - 1).copied().unwrap_or_default();
            (WHOLE..=LAST).contains(&self.known_as(kind).0)
                && matches!(self.part(at), Part::Good(..))
        })
    }
}

/// Appends a record to the bytes of a file.
pub fn append(file: &mut Vec<u8>, mut record: &[u8]) {
    let mut is_first = true;
    loop {
        let left = BLOCK - file.len() % BLOCK;
        if left < HEADER {
            file.resize(file.len() + left, 0);
            continue;
        }
        let (part, rest) = record.split_at(record.len().min(left - HEADER));
        let kind = match (is_first, rest.is_empty()) {
            (true, true) => WHOLE,
            (true, false) => FIRST,
            (false, false) => MIDDLE,
            (false, true) => LAST,
        };
        let checksum = masked(crc32c::crc32c_append(crc32c::crc32c(&[kind]), part));
        file.extend_from_slice(&checksum.to_le_bytes());
        // A part fits into a block.
        file.extend_from_slice(&(part.len() as u16).to_le_bytes());
        file.push(kind);
        file.extend_from_slice(part);
        if rest.is_empty() {
            return;
        }
        (record, is_first) = (rest, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the records up to damage, and the tail or what is wrong.
    fn all(bytes: &[u8]) -> (Vec<Vec<u8>>, Result<u64, Reason>) {
        let (mut records, mut found) = (Records::of(bytes), Vec::new());
        loop {
            match records.next() {
                Ok(Some(record)) => found.push(record.to_vec()),
                Ok(None) => return (found, Ok(records.tail())),
                Err(damage) => return (found, Err(damage.reason)),
            }
        }
    }

    /// Records whose parts end at and around the end of a block.
    fn written() -> (Vec<Vec<u8>>, Vec<u8>) {
        let lengths = [0, 1, BLOCK - 3 * HEADER - 1 - 5, 3, 100_000, BLOCK, 20];
        let make = |(n, len): (usize, &usize)| vec![b'a' + n as u8; *len];
        let records: Vec<Vec<u8>> = lengths.iter().enumerate().map(make).collect();
        let mut file = Vec::new();
        records.iter().for_each(|record| append(&mut file, record));
        (records, file)
    }

    #[test]
    fn records_are_read_as_written() {
        let (records, file) = written();
        assert!(file.len() > 4 * BLOCK);
        assert_eq!(all(&file), (records, Ok(0)));
        assert_eq!(all(b""), (Vec::new(), Ok(0)));
    }

    #[test]
    fn a_file_cut_anywhere_holds_its_first_records() {
        let (records, file) = written();
        for len in
            (0..300).chain((file.len() - 300..file.len()).chain((0..file.len()).step_by(997)))
        {
            let (found, tail) = all(&file[..len]);
            assert_eq!(found, records[..found.len()], "{len}");
            assert!(tail.is_ok(), "{len}");
        }
    }

    #[test]
    fn damage_before_a_good_record_is_an_error_and_at_the_end_a_tail() {
        let (records, file) = written();
        let last = file.len() - 20 - HEADER;
        for at in (0..file.len()).step_by(509).chain(last - 30..file.len()) {
            // The padding of a block holds nothing.
            let mut damaged = file.clone();
            damaged[at] ^= 0x40;
            let (found, end) = all(&damaged);
            if at >= last {
                assert_eq!((found, end), (records[..6].to_vec(), Ok(27)), "{at}");
            } else {
                assert!(end.is_err() || found == records, "{at}: {end:?}");
            }
        }
    }

    #[test]
    fn zeros_after_the_last_record_are_a_tail() {
        let (records, mut file) = written();
        file.resize(file.len() + 100_000, 0);
        assert_eq!(all(&file), (records, Ok(100_000)));
    }

    #[test]
    fn parts_in_the_wrong_order_are_damage() {
        let mut file = Vec::new();
        append(&mut file, &[7; 100_000]);
        // Without its first part.
        let (found, end) = all(&file[BLOCK..]);
        assert_eq!((found, end), (Vec::new(), Err(Reason::NoBegin(MIDDLE))));
        // Without its last part, but with another record after it.
        file.truncate(BLOCK * 3);
        append(&mut file, b"next");
        assert_eq!(all(&file).1, Err(Reason::NoEnd(WHOLE)));
    }

    /// A length that leads beyond the end of a short file once hid all later records as a tail.
    #[test]
    fn a_length_beyond_a_short_file_is_damage_before_a_good_record() {
        let mut file = Vec::new();
        for n in 0..4 {
            append(&mut file, &[n; 100]);
        }
        file[107 + 5] ^= 0x20;
        assert_eq!(all(&file), (vec![vec![0; 100]], Err(Reason::Length)));
        // Without a record behind it, it is a record that was not finished.
        file.truncate(200);
        assert_eq!(all(&file), (vec![vec![0; 100]], Ok(93)));
    }

    #[test]
    fn the_rest_of_an_older_log_ends_a_log_of_rocksdb() {
        let part = |kind: u8, log: u32, payload: &[u8]| {
            let covered = [&[kind][..], &log.to_le_bytes(), payload].concat();
            let checksum = masked(crc32c::crc32c(&covered)).to_le_bytes();
            [&checksum[..], &(payload.len() as u16).to_le_bytes(), &covered].concat()
        };
        let parts = [part(5, 9, b"one"), part(6, 9, b"tw"), part(8, 9, b"o"), part(5, 3, b"old")];
        let file = parts.concat();
        let mut records = Records::of_rocksdb(&file, 9);
        assert_eq!(records.next(), Ok(Some(&b"one"[..])));
        assert_eq!(records.next(), Ok(Some(&b"two"[..])));
        assert_eq!(records.next(), Ok(None));
        assert_eq!(records.tail(), 14);
        // LevelDB has no such parts.
        let mut records = Records::of(&file);
        assert_eq!(records.next(), Ok(None));
        assert_eq!(records.bad_tail(), Some(Reason::Checksum));
    }

    /// The end of a block of a recycled log is too short for a header from 10 bytes on.
    #[test]
    fn the_padding_of_a_recycled_log_is_no_damage() {
        let part = |payload: &[u8]| {
            let covered = [&[NUMBERED_WHOLE][..], &9_u32.to_le_bytes(), payload].concat();
            let checksum = masked(crc32c::crc32c(&covered)).to_le_bytes();
            [&checksum[..], &(payload.len() as u16).to_le_bytes(), &covered].concat()
        };
        for padding in 0..HEADER + NUMBER {
            let first = vec![7; BLOCK - HEADER - NUMBER - padding];
            let mut file = part(&first);
            file.resize(BLOCK, 0);
            file.extend(part(b"next"));
            let mut records = Records::of_rocksdb(&file, 9);
            assert_eq!(records.next(), Ok(Some(&first[..])), "{padding}");
            assert_eq!(records.next(), Ok(Some(&b"next"[..])), "{padding}");
            assert_eq!(records.next(), Ok(None));
        }
    }

    /// A length that leads beyond the end of the file once hid all later blocks as a tail.
    #[test]
    fn a_length_beyond_the_file_is_damage_before_a_good_record() {
        let mut file = Vec::new();
        for n in 0..40 {
            append(&mut file, &[n; 1000]);
        }
        assert!(file.len() < 2 * BLOCK);
        file[4..6].fill(0xff);
        assert_eq!(all(&file), (Vec::new(), Err(Reason::Length)));
    }

    /// Returns the records and the losses.
    fn past_damage(bytes: &[u8]) -> (Vec<Vec<u8>>, Vec<Loss>) {
        let (mut records, mut found, mut lost) = (Records::of(bytes), Vec::new(), Vec::new());
        loop {
            match records.advance() {
                Step::Record => found.push(records.record().to_vec()),
                Step::Lost(loss) => lost.push(loss),
                Step::End => return (found, lost),
            }
        }
    }

    #[test]
    fn a_reader_past_damage_loses_the_block_and_the_record() {
        let (records, file) = written();
        assert_eq!(past_damage(&file), (records.clone(), Vec::new()));
        // The record of 100 000 bytes begins in block 1, and loses its part in block 2.
        let mut damaged = file.clone();
        damaged[2 * BLOCK + 100] ^= 1;
        let (found, lost) = past_damage(&damaged);
        assert_eq!(found, [&records[..4], &records[5..]].concat());
        let reasons: Vec<Reason> = lost.iter().map(|loss| loss.reason).collect();
        let (middle, last) = (Reason::NoBegin(MIDDLE), Reason::NoBegin(LAST));
        assert_eq!(reasons, [Reason::Checksum, Reason::Broken, middle, last]);
        assert_eq!((lost[0].at, lost[0].bytes), (2 * BLOCK, BLOCK));
        // Zeros cost no bytes, but the record that they interrupt.
        damaged = file.clone();
        damaged[2 * BLOCK..3 * BLOCK].fill(0);
        let (found, zeros) = past_damage(&damaged);
        assert_eq!(found, [&records[..4], &records[5..]].concat());
        assert_eq!((zeros[0].reason, zeros[0].bytes), (Reason::Zeros, 0));
        assert_eq!(zeros[1..], lost[1..]);
    }
}
