//! A section being written to the end of a file.

use std::sync::Arc;

use foldb_env::{FileSystem, WritableFile};

use crate::error::{Error, Result};
use crate::files::FileNames;
use crate::key::KeyspaceId;
use crate::segment::SegmentFiles;
use crate::segment::file::SegmentFile;
use crate::segment::format::{
    ADOPTED, FILE_HEADER_LEN, FileHeader, SECTION_HEADER_LEN, Tail, put_section_header,
};
use crate::segment::hints::HintsWriter;
use crate::segment::map::Placement;
use crate::segment::tails::TailWriter;
use crate::separated::address::SegmentId;

/// Bytes gathered before they are written.
pub(crate) const WRITE_STEP: usize = 256 << 10;

/// Bytes written between two syncs of the file, so that a sync of the log does not wait long for
/// the device (H23).
const SYNC_STEP: u64 = 1 << 20;

/// A file to which sections may be appended.
#[derive(Debug)]
pub(crate) struct Growing {
    pub(crate) meta: Arc<SegmentFile>,
    file: Arc<dyn WritableFile>,
    /// Where the next section begins.
    pub(crate) end: u64,
}

impl Growing {
    pub(crate) fn meta(&self) -> &Arc<SegmentFile> {
        &self.meta
    }

    /// Ends the file. No section is appended to it any more.
    pub(crate) fn seal(self) {
        self.meta.set_growing(false);
    }
}

/// The inputs of a writer of values.
#[derive(Clone, Copy)]
pub(crate) struct WriterContext<'a> {
    pub(crate) fs: &'a Arc<dyn FileSystem>,
    pub(crate) names: &'a FileNames,
    pub(crate) segment_files: &'a Arc<SegmentFiles>,
    pub(crate) next_number: &'a dyn Fn() -> u64,
    pub(crate) database: u64,
    pub(crate) keyspace: KeyspaceId,
}

impl WriterContext<'_> {
    /// Creates a new file. No version refers to it yet.
    pub(crate) fn create(&self) -> Result<Growing> {
        let number = (self.next_number)();
        let path = self.names.segment(number);
        let file = self
            .fs
            .create(&path)
            .map_err(|error| Error::io(&path, "create the value segment", &error))?;
        let meta = self.segment_files.get(number);
        meta.set_growing(true);
        Ok(Growing { meta, file, end: 0 })
    }
}

/// Appends bytes to the end of a file.
pub(crate) struct Appender {
    pub(crate) growing: Growing,
    /// Gathered bytes, before they are written.
    pub(crate) buffer: Vec<u8>,
    at: u64,
    unsynced: u64,
    pub(crate) written: u64,
}

impl Appender {
    fn new(growing: Growing) -> Appender {
        let at = growing.end;
        Appender { growing, buffer: Vec::new(), at, unsynced: 0, written: 0 }
    }

    /// Returns where the next byte goes.
    pub(crate) fn position(&self) -> u64 {
        self.at + self.buffer.len() as u64
    }

    pub(crate) fn write_if_full(&mut self, most: usize, names: &FileNames) -> Result<()> {
        if self.buffer.len() < most {
            return Ok(());
        }
        self.write(names)?;
        if self.unsynced >= SYNC_STEP {
            self.sync(names)?;
        }
        Ok(())
    }

    fn write(&mut self, names: &FileNames) -> Result<()> {
        let failed = |error| {
            let path = names.segment(self.growing.meta.number());
            Error::io(&path, "write the value segment", &error)
        };
        self.growing.file.write_at(&self.buffer, self.at).map_err(failed)?;
        let len = self.buffer.len() as u64;
        (self.at, self.unsynced, self.written) =
            (self.at + len, self.unsynced + len, self.written + len);
        self.buffer.clear();
        self.buffer.shrink_to(2 * WRITE_STEP);
        Ok(())
    }

    fn sync(&mut self, names: &FileNames) -> Result<()> {
        let path = || names.segment(self.growing.meta.number());
        let synced = self.growing.file.sync();
        synced.map_err(|error| Error::io(&path(), "sync the value segment", &error))?;
        self.unsynced = 0;
        Ok(())
    }
}

/// A section being written.
pub(crate) struct Section {
    id: SegmentId,
    /// Offset of the section's header.
    offset: u64,
    flags: u32,
    pub(crate) values: u64,
    records_len: Option<u64>,
    pub(crate) appender: Appender,
}

impl Section {
    pub(crate) fn begin(
        id: SegmentId,
        flags: u32,
        growing: Growing,
        context: &WriterContext<'_>,
    ) -> Section {
        assert!(growing.meta.is_growing(), "only an unfinished file takes another section");
        assert!(flags & ADOPTED == 0, "a section is written, an adopted log is linked");
        let mut appender = Appender::new(growing);
        if appender.at == 0 {
            let file = appender.growing.meta.number();
            let (database, keyspace) = (context.database, context.keyspace);
            FileHeader { file, database, keyspace }.encode(&mut appender.buffer);
            debug_assert_eq!(appender.buffer.len() as u64, FILE_HEADER_LEN);
        }
        let offset = appender.position();
        put_section_header(&mut appender.buffer, id, flags);
        Section { id, offset, flags, values: 0, records_len: None, appender }
    }

    pub(crate) fn id(&self) -> SegmentId {
        self.id
    }

    /// Appends bytes of records or of tails. Writes the buffer once it holds `most` bytes.
    pub(crate) fn append(&mut self, bytes: &[u8], most: usize, names: &FileNames) -> Result<()> {
        let buffer = &mut self.appender.buffer;
        if buffer.len() + bytes.len() > most && !buffer.is_empty() {
            self.appender.write(names)?;
        }
        let buffer = &mut self.appender.buffer;
        if buffer.capacity() < buffer.len() + bytes.len() {
            // Do not let the buffer double on its own: it might exceed the caller's budget.
            let wanted = (2 * buffer.capacity()).min(most).max(buffer.len() + bytes.len());
            buffer.reserve_exact(wanted - buffer.len());
        }
        buffer.extend_from_slice(bytes);
        self.appender.write_if_full(most, names)
    }

    /// Returns the bytes of records so far.
    pub(crate) fn records_len(&self) -> u64 {
        self.appender.position() - self.offset - SECTION_HEADER_LEN
    }

    /// Ends the records. The caller then appends the two tails, moves first.
    pub(crate) fn end_records(&mut self) {
        self.records_len = Some(self.records_len());
        self.appender.buffer.push(0);
    }

    /// Ends the records of a new section, and appends its tails.
    pub(crate) fn end_first(&mut self, hints: HintsWriter, done: &[u8]) {
        self.end_records();
        let out = &mut self.appender.buffer;
        TailWriter::new(self.id, self.flags, Tail::Moves).end(out);
        out.extend_from_slice(done);
        hints.end(out);
    }

    /// Syncs the section. The file's next section begins after it.
    pub(crate) fn finish(mut self, names: &FileNames) -> Result<(Placement, Appender)> {
        let records_len = self.records_len.expect("the records were ended");
        let end = self.appender.position();
        self.appender.write(names)?;
        self.appender.sync(names)?;
        assert_eq!(self.appender.at, end, "a segment is placed when all its bytes are in the file");
        self.appender.growing.end = end;
        let placement = Placement {
            segment: self.id,
            file: self.appender.growing.meta.number(),
            offset: self.offset,
            len: end - self.offset,
            records_len,
            values: self.values,
            flags: self.flags,
        };
        Ok((placement, self.appender))
    }
}
