//! The tails of a section, written and read chunk by chunk, so that no code holds a whole tail.
//!
//! Module [`super::format`] draws the layout. The moves begin after the zero that ends the records.
//! The hints begin after the moves, so a reader of hints first walks over the moves.

use crate::encoding::ByteReader;
use crate::error::{Error, Result};
use crate::segment::format::{CHUNK_OVERHEAD, ChunkOf, Tail};
use crate::segment::map::Placement;
use crate::segment::open::OpenFile;
use crate::separated::address::SegmentId;
use crate::separated::extents::{Extent, PIECE, PieceReader};

/// Bytes of one read.
const STEP: u64 = 2 * PIECE as u64;

/// Writes the chunks of a tail.
#[derive(Debug)]
pub(crate) struct TailWriter(ChunkOf);

impl TailWriter {
    pub(crate) fn new(segment: SegmentId, flags: u32, tail: Tail) -> TailWriter {
        TailWriter(ChunkOf { segment, flags, tail, index: 0 })
    }

    /// Appends a chunk. Skips an empty payload, which would end the tail.
    pub(crate) fn put(&mut self, out: &mut Vec<u8>, payload: &[u8]) {
        if !payload.is_empty() {
            self.0.put(out, payload);
            self.0.index += 1;
        }
    }

    pub(crate) fn end(self, out: &mut Vec<u8>) {
        self.0.put(out, &[]);
    }
}

/// Reads the chunks of a tail.
pub(crate) struct TailReader<'a> {
    file: &'a OpenFile,
    of: ChunkOf,
    /// Offset of the last chunk read. `offset` is that of the next chunk, `end` that of the
    /// section's end.
    last: u64,
    offset: u64,
    end: u64,
    ended: bool,
    window: Vec<u8>,
    window_at: u64,
}

impl<'a> TailReader<'a> {
    fn new(file: &'a OpenFile, placement: &Placement, tail: Tail, offset: u64) -> TailReader<'a> {
        let (segment, flags) = (placement.segment, placement.flags);
        TailReader {
            file,
            of: ChunkOf { segment, flags, tail, index: 0 },
            last: offset,
            offset,
            end: placement.end(),
            ended: false,
            window: Vec::new(),
            window_at: 0,
        }
    }

    fn moves(file: &'a OpenFile, placement: &Placement) -> TailReader<'a> {
        TailReader::new(file, placement, Tail::Moves, placement.records_end() + 1)
    }

    /// Opens the hints of a section.
    ///
    /// # Errors
    /// `Corruption` if the lengths of the moves before the hints are damaged; `Io` if a read fails.
    pub(crate) fn hints(file: &'a OpenFile, placement: &Placement) -> Result<TailReader<'a>> {
        let mut moves = TailReader::moves(file, placement);
        while moves.skip()? {}
        Ok(TailReader::new(file, placement, Tail::Hints, moves.offset))
    }

    /// Checks the bytes between the records and the hints. If no record was moved, reads of values
    /// do not need these bytes, but a repair does.
    ///
    /// # Errors
    /// `Corruption` with file and offset if the bytes are damaged; `Io` if a read fails.
    pub(crate) fn check_moves(file: &'a OpenFile, placement: &Placement) -> Result<()> {
        let (at, mut zero) = (placement.records_end(), [0]);
        file.read(&mut zero, at)?;
        if zero != [0] {
            let message = format!("end of the records: expected 0, found {}", zero[0]);
            return Err(Error::corruption(message).at(file.path(), at));
        }
        let mut moves = TailReader::moves(file, placement);
        while moves.next()?.is_some() {
            if !placement.is_moved() {
                return Err(moves.locate(Error::corruption("expected no moves, found some")));
            }
        }
        Ok(())
    }

    /// Returns the payload of the next chunk.
    ///
    /// # Errors
    /// `Corruption` with file and offset if the bytes are damaged; `Io` if a read fails.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>> {
        if self.ended {
            return Ok(None);
        }
        let (of, offset, path) = (self.of, self.offset, self.file.path());
        let len = self.chunk_len()?;
        self.pass(len);
        let chunk = self.bytes(offset, len)?;
        let payload = of.check(chunk).map_err(|error| error.at(path, offset))?;
        let range = payload.len();
        self.ended = range == 0;
        let start = (offset - self.window_at) as usize + 4;
        Ok((range > 0).then(|| &self.window[start..start + range]))
    }

    /// Passes a chunk without a look at its payload. Returns `false` at the empty chunk that ends
    /// the tail.
    fn skip(&mut self) -> Result<bool> {
        let len = self.chunk_len()?;
        self.pass(len);
        Ok(len > CHUNK_OVERHEAD)
    }

    fn pass(&mut self, len: u64) {
        self.last = self.offset;
        self.offset += len;
        self.of.index += 1;
    }

    /// Returns the length of the next chunk, which must end in the section.
    fn chunk_len(&mut self) -> Result<u64> {
        let room = self.end.saturating_sub(self.offset);
        let mut len = CHUNK_OVERHEAD;
        if len <= room {
            let head = self.bytes(self.offset, 4)?;
            len = ChunkOf::len(head.try_into().expect("as many as asked for"));
        }
        if len > room {
            let message = format!("tail of a segment: expected at most {room} bytes, found {len}");
            return Err(Error::corruption(message).at(self.file.path(), self.offset));
        }
        Ok(len)
    }

    fn bytes(&mut self, offset: u64, len: u64) -> Result<&[u8]> {
        let held = self.window_at..self.window_at + self.window.len() as u64;
        if offset < held.start || offset + len > held.end {
            let step = len.max(STEP).min(self.end - offset);
            self.window.resize(step as usize, 0);
            self.window_at = offset;
            let read = self.file.read(&mut self.window, offset);
            read.inspect_err(|_| self.window.clear())?;
        }
        let start = (offset - self.window_at) as usize;
        Ok(&self.window[start..start + len as usize])
    }
}

/// Walks the extents of a segment that a section holds, with the place of each.
pub(crate) struct Kept<'a> {
    /// `None` if every record is where it was written.
    moves: Option<TailReader<'a>>,
    piece: Vec<u8>,
    at: usize,
    reader: PieceReader,
    current: Option<(Extent, u64)>,
    /// Where the next extent lies, relative to the first record.
    place: u64,
}

impl<'a> Kept<'a> {
    pub(crate) fn new(file: &'a OpenFile, placement: &Placement) -> Kept<'a> {
        let whole = Extent { start: 0, end: placement.records_len };
        let moves = placement.is_moved().then(|| TailReader::moves(file, placement));
        let current = (moves.is_none() && placement.records_len > 0).then_some((whole, 0));
        Kept { current, ..Kept::of(moves) }
    }

    fn of(moves: Option<TailReader<'a>>) -> Kept<'a> {
        let (piece, at, reader) = (Vec::new(), 0, PieceReader::default());
        Kept { moves, piece, at, reader, current: None, place: 0 }
    }

    /// Returns the next extent and its place.
    ///
    /// # Errors
    /// `Corruption` with file and offset if the bytes are damaged; `Io` if a read fails.
    pub(crate) fn next(&mut self) -> Result<Option<(Extent, u64)>> {
        let Some(moves) = &mut self.moves else { return Ok(self.current.take()) };
        while self.at == self.piece.len() {
            let Some(piece) = moves.next()? else { return Ok(None) };
            self.piece.clear();
            self.piece.extend_from_slice(piece);
            self.at = 0;
            self.reader.begin();
        }
        let mut piece = ByteReader::new(&self.piece[self.at..]);
        let stretch = self.reader.next(&mut piece);
        let stretch = stretch.map_err(|error| moves.locate(error))?;
        self.at += piece.position();
        let place = self.place;
        self.place += stretch.end - stretch.start;
        Ok(Some((stretch, place)))
    }

    /// Returns the first extent that ends after a position. Positions must ascend.
    ///
    /// # Errors
    /// As [`Kept::next`].
    pub(crate) fn behind(&mut self, position: u64) -> Result<Option<(Extent, u64)>> {
        while self.current.is_none_or(|(stretch, _)| stretch.end <= position) {
            self.current = None;
            match self.next()? {
                None => return Ok(None),
                found => self.current = found,
            }
        }
        Ok(self.current)
    }

    /// Returns where `[start, end)` lies, relative to the first record; `None` if it was not kept.
    /// Starts must ascend.
    ///
    /// # Errors
    /// As [`Kept::next`].
    pub(crate) fn find(&mut self, start: u64, end: u64) -> Result<Option<u64>> {
        let found = self.behind(start)?;
        let found = found.filter(|(stretch, _)| stretch.start <= start && end <= stretch.end);
        Ok(found.map(|(stretch, place)| place + (start - stretch.start)))
    }

    /// Returns the index and the offset of the chunk that holds the last extent.
    pub(crate) fn chunk(&self) -> Option<(u64, u64)> {
        self.moves.as_ref().map(|moves| (moves.of.index - 1, moves.last))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.piece.capacity() + self.moves.as_ref().map_or(0, TailReader::memory_bytes)
    }
}

impl TailReader<'_> {
    /// Adds the place of the last chunk to an error about it.
    #[cold]
    pub(crate) fn locate(&self, error: Error) -> Error {
        error.at(self.file.path(), self.last)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.window.capacity()
    }
}

/// Where the chunks of a segment's moves lie: 24 bytes of memory for each 2 KiB of moves. If the
/// budget has no space for the moves, only this index is kept, and each lookup reads one chunk.
#[derive(Debug, Default)]
pub(crate) struct MoveChunks(Vec<ChunkStart>);

/// The beginning of a chunk.
#[derive(Debug)]
struct ChunkStart {
    /// Position of the chunk's first extent. `place` is where that extent lies now.
    position: u64,
    place: u64,
    /// Offset of the chunk in the file.
    offset: u64,
}

impl MoveChunks {
    /// Takes in the last answer of [`Kept::next`]. The caller must pass every answer, in order.
    pub(crate) fn note(&mut self, kept: &Kept<'_>, stretch: Extent, place: u64) {
        let Some((index, offset)) = kept.chunk() else { return };
        if index == self.0.len() as u64 {
            self.0.push(ChunkStart { position: stretch.start, place, offset });
        }
    }

    /// Returns where `[start, end)` lies, relative to the first record; `None` if it was not kept.
    ///
    /// # Errors
    /// As [`Kept::next`].
    pub(crate) fn find(
        &self,
        file: &OpenFile,
        placement: &Placement,
        start: u64,
        end: u64,
    ) -> Result<Option<u64>> {
        let behind = self.0.partition_point(|chunk| chunk.position <= start);
        let Some(index) = behind.checked_sub(1) else { return Ok(None) };
        let chunk = &self.0[index];
        let mut moves = TailReader::new(file, placement, Tail::Moves, chunk.offset);
        moves.of.index = index as u64;
        Kept { place: chunk.place, ..Kept::of(Some(moves)) }.find(start, end)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.capacity() * size_of::<ChunkStart>()
    }
}
