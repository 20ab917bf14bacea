//! Hints: the keys of a section's values, so that repair finds them without reading the values.
//!
//! Module [`super::format`] draws the layout. There is one hint per record, in the order of the
//! records. So a record's position follows from the lengths before it and the section's moves.

use crate::encoding::{ByteReader, common_prefix, put_length_delimited, put_varint};
use crate::error::{Error, Result};
use crate::key::SeqNo;
use crate::segment::format::Tail;
use crate::segment::map::Placement;
use crate::segment::open::OpenFile;
use crate::segment::tails::{Kept, TailReader, TailWriter};
use crate::separated::address::{SegmentId, head_len};
use crate::separated::extents::PIECE;
use crate::separated::record::CHECKSUM_LEN;

/// Hints being written.
#[derive(Debug)]
pub(crate) struct HintsWriter {
    tail: TailWriter,
    /// The chunk that is not full yet.
    chunk: Vec<u8>,
    last_key: Vec<u8>,
}

impl HintsWriter {
    pub(crate) fn new(segment: SegmentId, flags: u32) -> HintsWriter {
        let tail = TailWriter::new(segment, flags, Tail::Hints);
        HintsWriter { tail, chunk: Vec::new(), last_key: Vec::new() }
    }

    /// Adds the hint of the next record. Full chunks go to `out`.
    pub(crate) fn add(&mut self, key: &[u8], seqno: SeqNo, value_len: u64, out: &mut Vec<u8>) {
        if self.chunk.len() + key.len() > PIECE {
            self.end_chunk(out);
        }
        let shared = common_prefix(&self.last_key, key);
        put_varint(&mut self.chunk, shared as u64);
        put_length_delimited(&mut self.chunk, &key[shared..]);
        put_varint(&mut self.chunk, seqno);
        put_varint(&mut self.chunk, value_len);
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(&key[shared..]);
    }

    fn end_chunk(&mut self, out: &mut Vec<u8>) {
        self.tail.put(out, &self.chunk);
        self.chunk.clear();
        self.last_key.clear();
    }

    pub(crate) fn end(mut self, out: &mut Vec<u8>) {
        self.end_chunk(out);
        self.tail.end(out);
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.chunk.capacity() + self.last_key.capacity()
    }
}

/// The key, sequence number and place of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hint {
    pub(crate) key: Vec<u8>,
    pub(crate) seqno: SeqNo,
    pub(crate) value_len: u64,
    pub(crate) position: u64,
}

/// The hints of a section, one after another.
pub(crate) struct Hints<'a> {
    tail: TailReader<'a>,
    kept: Kept<'a>,
    chunk: Vec<u8>,
    at: usize,
    hint: Hint,
    /// Where the next record would begin if the section had kept all records before it.
    next: u64,
}

impl<'a> Hints<'a> {
    /// Opens the hints of a section.
    ///
    /// # Errors
    /// As [`TailReader::hints`].
    pub(crate) fn new(file: &'a OpenFile, placement: &Placement) -> Result<Hints<'a>> {
        Ok(Hints {
            tail: TailReader::hints(file, placement)?,
            kept: Kept::new(file, placement),
            chunk: Vec::new(),
            at: 0,
            hint: Hint::default(),
            next: 0,
        })
    }

    /// Returns the next hint.
    ///
    /// # Errors
    /// `Corruption` with file and offset if the bytes are not hints; `Io` if a read fails.
    pub(crate) fn next(&mut self) -> Result<Option<&Hint>> {
        if self.at == self.chunk.len() {
            let Some(chunk) = self.tail.next()? else { return Ok(None) };
            self.chunk.clear();
            self.chunk.extend_from_slice(chunk);
            self.at = 0;
            self.hint.key.clear();
        }
        let mut bytes = ByteReader::new(&self.chunk[self.at..]);
        decode(&mut bytes, &mut self.hint).map_err(|error| self.tail.locate(error))?;
        self.at += bytes.position();
        let Some((stretch, _)) = self.kept.behind(self.next)? else {
            return Err(self.tail.locate(Error::corruption("expected no more hints, found one")));
        };
        self.hint.position = self.next.max(stretch.start);
        let len = self.hint.value_len;
        let len = len.saturating_add(head_len(len.min(1 << 60)) + CHECKSUM_LEN);
        self.next = self.hint.position.saturating_add(len);
        Ok(Some(&self.hint))
    }

    /// Returns the last hint that [`Hints::next`] returned.
    pub(crate) fn last(&self) -> &Hint {
        &self.hint
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let key = self.hint.key.capacity();
        self.tail.memory_bytes() + self.kept.memory_bytes() + self.chunk.capacity() + key
    }
}

fn decode(bytes: &mut ByteReader<'_>, hint: &mut Hint) -> Result<()> {
    let shared = bytes.varint("hint: shared bytes")?;
    let suffix = bytes.length_delimited("hint: key")?;
    if shared > hint.key.len() as u64 {
        return Err(Error::corruption("a hint shares more than the key before it has"));
    }
    hint.key.truncate(shared as usize);
    hint.key.extend_from_slice(suffix);
    hint.seqno = bytes.varint("hint: seqno")?;
    hint.value_len = bytes.varint("hint: value length")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::format::{MOVED, put_section_header};
    use crate::segment::open::in_memory;
    use crate::separated::extents::{Extent, PieceWriter};

    /// Returns a section without records, whose hints are for one record of 100 bytes per key.
    fn section(keys: &[&str], moves: &[Extent]) -> (Placement, Vec<u8>) {
        let flags = if moves.is_empty() { 0 } else { MOVED };
        let mut out = Vec::new();
        put_section_header(&mut out, 7, flags);
        let records_len = 100 * keys.len() as u64;
        out.resize(out.len() + records_len as usize + 1, 0);
        let (mut tail, mut pieces) =
            (TailWriter::new(7, flags, Tail::Moves), PieceWriter::default());
        moves.iter().for_each(|&stretch| assert!(!pieces.add(stretch)));
        tail.put(&mut out, pieces.piece());
        tail.end(&mut out);
        let (mut hints, mut done) = (HintsWriter::new(7, flags), Vec::new());
        for (seqno, key) in keys.iter().enumerate() {
            hints.add(key.as_bytes(), seqno as u64, 91, &mut done);
        }
        hints.end(&mut done);
        out.extend_from_slice(&done);
        let values = keys.len() as u64;
        let len = out.len() as u64;
        (Placement { segment: 7, file: 1, offset: 0, len, records_len, values, flags }, out)
    }

    fn found(placement: &Placement, bytes: &[u8]) -> Result<Vec<(String, u64, u64)>> {
        let file = in_memory(bytes);
        let mut kept = Kept::new(&file, placement);
        while kept.next()?.is_some() {}
        let mut hints = Hints::new(&file, placement)?;
        let mut found = Vec::new();
        while let Some(hint) = hints.next()? {
            let key = String::from_utf8_lossy(&hint.key).into_owned();
            found.push((key, hint.seqno, hint.position));
        }
        Ok(found)
    }

    #[test]
    fn hints_come_back_with_their_positions() {
        let long: String = "x".repeat(3000);
        let keys = ["apple", "apply", "b", &format!("{long}a"), &format!("{long}b"), "y"];
        let (placement, bytes) = section(&keys, &[]);
        let positions = (0..).step_by(100);
        let expected: Vec<_> = keys
            .iter()
            .zip(0..)
            .zip(positions)
            .map(|((k, n), at)| (k.to_string(), n, at))
            .collect();
        assert_eq!(found(&placement, &bytes).unwrap(), expected, "hints of several chunks");

        // The same records, with two left out before the first and one before the last.
        let moves = [Extent { start: 200, end: 700 }, Extent { start: 800, end: 900 }];
        let (placement, bytes) = section(&keys, &moves);
        let found_moved = found(&placement, &bytes).unwrap();
        let positions: Vec<u64> = found_moved.iter().map(|(_, _, position)| *position).collect();
        assert_eq!(positions, [200, 300, 400, 500, 600, 800]);
    }

    /// Each changed bit of a tail causes an error that contains its offset.
    #[test]
    fn damaged_hints_are_reported() {
        let moves = [Extent { start: 200, end: 300 }, Extent { start: 800, end: 900 }];
        let (placement, bytes) = section(&["apple", "apply"], &moves);
        for at in placement.records_end() as usize + 1..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x10;
            let error = found(&placement, &bytes).unwrap_err();
            assert!(error.path().is_some() && error.offset().is_some(), "{error}");
        }
    }
}
