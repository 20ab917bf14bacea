//! The references of a table to value segments, in its file. The builder writes them once. A reader
//! reads all of them, or those of one segment.
//!
//! The module `references` of [`crate::segment`] draws the format.

use crate::error::{Error, Result};
use crate::separated::{
    Extent, Extents, MOST_PIECE, PIECE, References, ReferencesEntry, SegmentId, SegmentPieces,
};
use crate::settings::Compression;
use crate::table::footer::Footer;
use crate::table::frame::{FRAME_TRAILER, Handle};
use crate::table::frame_writer::FrameWriter;
use crate::table::reader::TableReader;
use crate::table::source::FrameBuffers;

/// Bytes of an entry's frame.
const ENTRY: u32 = (ReferencesEntry::LEN + FRAME_TRAILER) as u32;

/// Most bytes of a piece's frame.
const MOST_FRAME: usize = MOST_PIECE + FRAME_TRAILER;

/// Writes references. Returns the place of their directory, or `None` if there are no references.
pub(super) fn write_references(
    writer: &mut FrameWriter,
    references: &References,
) -> Result<Option<Handle>> {
    let mut put = |payload: &[u8]| writer.add_frame(payload, Compression::None);
    let mut entries = Vec::new();
    references.pieces(|segment, piece| {
        let Handle { offset, len } = put(piece)?;
        entries.push(ReferencesEntry { segment, offset, len });
        Ok(())
    })?;
    let mut directory: Option<Handle> = None;
    for entry in entries {
        let handle = put(&entry.encode())?;
        let all = directory.get_or_insert(Handle { offset: handle.offset, len: 0 });
        all.len = all.len.checked_add(handle.len).ok_or_else(|| {
            Error::invalid_argument("the table refers to more segments than it can list")
        })?;
    }
    Ok(directory)
}

impl TableReader {
    /// Reads the table's references to value segments from its file.
    ///
    /// # Errors
    /// `Corruption` or `Io` if they cannot be read.
    pub(crate) fn references(&self) -> Result<References> {
        let mut reader = ReferencesReader::new(self)?;
        let mut all: Vec<(SegmentId, Extents)> = Vec::new();
        let mut at = 0;
        while at < reader.entries {
            let (segment, mut stretches) = (reader.entry(at)?.segment, Vec::new());
            if all.last().is_some_and(|(last, _)| *last >= segment) {
                let error = Error::corruption("references: expected ascending segments");
                return Err(self.locate(error, reader.handle(at)));
            }
            at = reader.pieces(segment, at, |stretch| stretches.push(stretch))?;
            all.push((segment, Extents::of(stretches)));
        }
        Ok(all.into_iter().collect())
    }

    /// Returns the frames of the references, in file order.
    pub(super) fn reference_frames(&self) -> Result<Vec<Handle>> {
        let mut reader = ReferencesReader::new(self)?;
        let entries = 0..reader.entries;
        let mut frames = Vec::new();
        for at in entries.clone() {
            let ReferencesEntry { offset, len, .. } = reader.entry(at)?;
            frames.push(Handle { offset, len });
        }
        frames.extend(entries.map(|at| reader.handle(at)));
        Ok(frames)
    }
}

/// Reads the references of a table, one segment after another.
pub(crate) struct ReferencesReader<'a> {
    table: &'a TableReader,
    directory: Handle,
    entries: u64,
    /// The entry read last.
    last: Option<(u64, ReferencesEntry)>,
    buffers: FrameBuffers,
    /// Bytes that were read so far.
    pub(crate) read: u64,
}

impl<'a> ReferencesReader<'a> {
    /// # Errors
    /// `Corruption` if the directory does not fit where the properties place it.
    pub(crate) fn new(table: &'a TableReader) -> Result<ReferencesReader<'a>> {
        let Footer { properties, .. } = *table.footer();
        let directory = table.properties().references.unwrap_or(Handle { offset: 0, len: 0 });
        if directory.end() > properties.offset || !directory.len.is_multiple_of(ENTRY) {
            let message = format!(
                "references: expected entries of {ENTRY} bytes before offset {}, found {} bytes at {}",
                properties.offset, directory.len, directory.offset
            );
            return Err(table.locate(Error::corruption(message), properties));
        }
        let (entries, buffers) = (u64::from(directory.len / ENTRY), FrameBuffers::default());
        Ok(ReferencesReader { table, directory, entries, last: None, buffers, read: 0 })
    }

    /// Visits the table's references to a segment, in order. `skipped` says how many segments the
    /// search may skip: the segment is not among the first `skipped` that the table refers to.
    ///
    /// # Errors
    /// `Corruption`, naming the unreadable part, also if the table does not refer to the segment;
    /// `Io`.
    pub(crate) fn stretches(
        &mut self,
        segment: SegmentId,
        skipped: usize,
        visit: impl FnMut(Extent),
    ) -> Result<()> {
        let first = self.first(segment, skipped as u64)?;
        self.pieces(segment, first, visit).map(|_| ())
    }

    /// Returns the bytes in memory.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.buffers.memory_bytes()
    }

    /// Finds the first entry of a segment, or the place where it would be. Each segment has at
    /// least one entry, and only large segments have more.
    fn first(&mut self, segment: SegmentId, skipped: u64) -> Result<u64> {
        let (mut low, mut high) = (skipped, self.entries);
        let mut at = skipped;
        while low < high {
            match self.entry(at)?.segment {
                // The skipped segments have at least one entry each, so no earlier entry is of this
                // segment.
                found if found == segment && at == skipped => return Ok(at),
                found if found < segment => low = at + 1,
                _ => high = at,
            }
            at = low + (high - low) / 2;
        }
        Ok(low)
    }

    /// Visits the pieces of a segment from its first entry on. Returns the index of the entry after
    /// the segment's last.
    fn pieces(
        &mut self,
        segment: SegmentId,
        first: u64,
        mut visit: impl FnMut(Extent),
    ) -> Result<u64> {
        let (mut at, mut pieces) = (first, SegmentPieces::default());
        while at < self.entries {
            let entry = self.entry(at)?;
            if entry.segment != segment {
                break;
            }
            let handle = Handle { offset: entry.offset, len: entry.len };
            if handle.end() > self.directory.offset || entry.len as usize > MOST_FRAME {
                let message = format!(
                    "references: expected a frame of at most {MOST_FRAME} bytes before offset {}, found {} \
                     bytes at {}",
                    self.directory.offset, entry.len, entry.offset
                );
                return Err(self.table.locate(Error::corruption(message), self.handle(at)));
            }
            self.read += u64::from(entry.len);
            let piece = self.table.file().read_frame(handle, &mut self.buffers)?;
            let is_last = piece.len() < PIECE;
            let visited = pieces.visit(piece, &mut visit);
            visited.map_err(|error| self.table.locate(error, handle))?;
            at += 1;
            if is_last {
                break;
            }
        }
        if at == first {
            let message = format!("references: expected those to segment {segment}, found none");
            return Err(self.table.locate(Error::corruption(message), self.directory));
        }
        Ok(at)
    }

    fn handle(&self, at: u64) -> Handle {
        Handle { offset: self.directory.offset + at * u64::from(ENTRY), len: ENTRY }
    }

    fn entry(&mut self, at: u64) -> Result<ReferencesEntry> {
        if let Some((_, entry)) = self.last.filter(|(last, _)| *last == at) {
            return Ok(entry);
        }
        let handle = self.handle(at);
        self.read += u64::from(ENTRY);
        let bytes = self.table.file().read_frame(handle, &mut self.buffers)?;
        let entry = ReferencesEntry::decode(bytes);
        let entry = entry.map_err(|error| self.table.locate(error, handle))?;
        self.last = Some((at, entry));
        Ok(entry)
    }
}
