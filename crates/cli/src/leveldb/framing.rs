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
//! A process that is killed leaves a whole number of records and perhaps a part of one more. That
//! part is the *tail*. A reader must tell it from damage: a bad record with a good one after it was
//! once whole, so it is damage.

use std::path::{Path, PathBuf};

use super::encoding::masked;
use crate::exit::{Exit, Outcome};
use crate::location::shown;

const BLOCK: usize = 32 << 10;
const HEADER: usize = 7;

const WHOLE: u8 = 1;
const FIRST: u8 = 2;
const MIDDLE: u8 = 3;
const LAST: u8 = 4;

/// Returns the error of damage at an offset of a file.
pub(super) fn damaged(path: &Path, offset: usize, what: &str) -> Exit {
    Exit::failed(format!(
        "corruption: {what} ({}, offset {offset}): nothing was imported; restore the file from a \
         copy, or repair the database with LevelDB, which gives up what it cannot read",
        shown(path)
    ))
}

/// The records of a file.
pub(super) struct Records {
    path: PathBuf,
    bytes: Vec<u8>,
    at: usize,
    /// Where the record that was returned last begins.
    begin: usize,
    /// The record, if it has several parts.
    joined: Vec<u8>,
    /// What is wrong with the tail, if it is more than incomplete.
    bad_tail: Option<&'static str>,
}

/// What reading the next part of a record gives.
enum Part {
    /// Its kind, and the range of its payload.
    Good(u8, std::ops::Range<usize>),
    /// The file ends.
    End,
    /// The file ends within the part.
    Cut,
    /// The part is not as it was written.
    Bad(&'static str),
}

impl Records {
    pub(super) fn read(path: &Path) -> Outcome<Records> {
        let bytes = std::fs::read(path)
            .map_err(|error| Exit::failed(format!("cannot read {}: {error}", shown(path))))?;
        Ok(Records::of(path.to_owned(), bytes))
    }

    /// Returns the records in the bytes of a file.
    pub(super) fn of(path: PathBuf, bytes: Vec<u8>) -> Records {
        Records { path, bytes, at: 0, begin: 0, joined: Vec::new(), bad_tail: None }
    }

    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns the offset of the last record.
    pub(super) fn offset(&self) -> usize {
        self.begin
    }

    /// Returns the number of bytes behind the last whole record. Call it once [`Records::next`]
    /// returned `None`.
    pub(super) fn tail(&self) -> u64 {
        (self.bytes.len() - self.begin) as u64
    }

    /// Returns what is wrong with the tail. `None` if the file only ends too early, or with zeros.
    pub(super) fn bad_tail(&self) -> Option<&'static str> {
        self.bad_tail
    }

    /// Returns the error of damage in the last record.
    pub(super) fn damaged(&self, what: &str) -> Exit {
        damaged(&self.path, self.begin, what)
    }

    /// Returns the next record. `None` at the end, or at a tail.
    ///
    /// # Errors
    /// Fails for damage.
    pub(super) fn next(&mut self) -> Outcome<Option<&[u8]>> {
        self.joined.clear();
        let mut is_open = false;
        loop {
            self.skip_padding();
            if !is_open {
                self.begin = self.at;
            }
            let (kind, payload) = match self.part(self.at) {
                Part::Good(kind, payload) => (kind, payload),
                Part::End | Part::Cut => return Ok(None),
                Part::Bad(_) if self.is_zero_from(self.at) => return Ok(None),
                Part::Bad(what) if !self.has_good_part_after(self.at) => {
                    self.bad_tail = Some(what);
                    return Ok(None);
                }
                Part::Bad(what) => return Err(damaged(&self.path, self.at, what)),
            };
            let fits = if is_open { matches!(kind, MIDDLE | LAST) } else { kind <= FIRST };
            if !fits {
                return Err(damaged(&self.path, self.at, "a part of a record is missing"));
            }
            self.at = payload.end;
            if kind == WHOLE {
                return Ok(Some(&self.bytes[payload]));
            }
            is_open = true;
            self.joined.extend_from_slice(&self.bytes[payload]);
            if kind == LAST {
                return Ok(Some(&self.joined));
            }
        }
    }

    /// Skips the end of a block that is too short for a header.
    fn skip_padding(&mut self) {
        let left = BLOCK - self.at % BLOCK;
        if left < HEADER {
            self.at = (self.at + left).min(self.bytes.len());
        }
    }

    fn part(&self, at: usize) -> Part {
        if at == self.bytes.len() {
            return Part::End;
        }
        let Some(&[c0, c1, c2, c3, l0, l1, kind]) =
            self.bytes.get(at..).and_then(|bytes| bytes.first_chunk::<HEADER>())
        else {
            return Part::Cut;
        };
        let begin = at + HEADER;
        let end = begin + usize::from(u16::from_le_bytes([l0, l1]));
        if end > self.bytes.len() {
            return Part::Cut;
        }
        if end > (at / BLOCK + 1) * BLOCK {
            return Part::Bad("a record crosses the end of its block");
        }
        // Before the checksum, because a search for good parts looks at every byte.
        if !(WHOLE..=LAST).contains(&kind) {
            return Part::Bad("a record is of an unknown kind");
        }
        let stored = u32::from_le_bytes([c0, c1, c2, c3]);
        if stored != masked(crc32c::crc32c(&self.bytes[begin - 1..end])) {
            return Part::Bad("the checksum of a record does not match");
        }
        Part::Good(kind, begin..end)
    }

    fn is_zero_from(&self, at: usize) -> bool {
        self.bytes[at..].iter().all(|&byte| byte == 0)
    }

    /// Returns whether a part after `at` is good. The length of a bad part is not to be trusted, so
    /// the rest of its block is searched byte by byte.
    fn has_good_part_after(&self, at: usize) -> bool {
        let next_block = (at / BLOCK + 1) * BLOCK;
        let near = at + 1..next_block.min(self.bytes.len());
        let blocks = (next_block..self.bytes.len()).step_by(BLOCK);
        near.chain(blocks).any(|at| matches!(self.part(at), Part::Good(..)))
    }
}

/// Appends a record to the bytes of a file.
pub(super) fn append(file: &mut Vec<u8>, mut record: &[u8]) {
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

    fn records(bytes: &[u8]) -> Records {
        Records::of(PathBuf::from("000003.log"), bytes.to_vec())
    }

    fn all(bytes: &[u8]) -> (Vec<Vec<u8>>, Result<u64, String>) {
        let (mut records, mut found) = (records(bytes), Vec::new());
        loop {
            match records.next() {
                Ok(Some(record)) => found.push(record.to_vec()),
                Ok(None) => return (found, Ok(records.tail())),
                Err(error) => return (found, Err(error.message())),
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
        assert!(found.is_empty() && end.unwrap_err().contains("a part of a record is missing"));
        // Without its last part, but with another record after it.
        file.truncate(BLOCK * 3);
        append(&mut file, b"next");
        assert!(all(&file).1.unwrap_err().contains("a part of a record is missing"));
    }
}
