//! Copies the live records of one segment from one file to another. It reads in large steps, checks
//! the records, and appends them unchanged.

use std::collections::VecDeque;

use crate::error::{Error, Result};
use crate::files::FileNames;
use crate::segment::map::Placement;
use crate::segment::open::OpenFile;
use crate::segment::record_check::RecordCheck;
use crate::segment::section::Section;
use crate::segment::tails::Kept;
use crate::separated::extents::{Extent, Extents};

/// Largest gap between two live extents, in bytes, that one read includes.
const MOST_SKIPPED: u64 = 16 << 10;

/// A copy in progress.
pub(super) struct Copy<'a> {
    file: &'a OpenFile,
    from: &'a Placement,
    kept: Kept<'a>,
    /// Most bytes read at once.
    chunk: u64,
    check: RecordCheck,
    window: Window,
    /// The next live extents, whose places in the file are known already.
    ahead: VecDeque<Span>,
    pub(super) read: u64,
}

/// Where a live extent lies in the file.
struct Span {
    position: u64,
    start: u64,
    end: u64,
}

impl<'a> Copy<'a> {
    pub(super) fn new(file: &'a OpenFile, from: &'a Placement, chunk: u64) -> Copy<'a> {
        Copy {
            file,
            from,
            kept: Kept::new(file, from),
            chunk,
            check: RecordCheck::new(from.segment, from.is_keyed()),
            window: Window::default(),
            ahead: VecDeque::new(),
            read: 0,
        }
    }

    /// Returns the memory of the copy in bytes, with the buffer that gathers writes.
    pub(super) fn memory_bytes(&self) -> usize {
        let ahead = self.ahead.capacity() * size_of::<Span>();
        self.window.bytes.capacity() + self.chunk as usize + ahead + self.kept.memory_bytes()
    }

    /// Copies live extents. All of them must lie after the extents copied before.
    pub(super) fn run(
        &mut self,
        live: &Extents,
        section: &mut Section,
        names: &FileNames,
        progress: &dyn Fn(u64) -> Result<()>,
    ) -> Result<()> {
        let mut stretches = live.iter();
        while let Some(span) = self.next_span(&mut stretches)? {
            self.check.begin(span.position)?;
            let mut at = span.start;
            while at < span.end {
                if !self.window.has(at) {
                    self.look_ahead(&mut stretches)?;
                    let len = self.worth_reading(at, span.end);
                    self.window.fill(self.file, at, len)?;
                    self.read += len;
                    progress(len)?;
                    self.file.will_need(at + len, self.chunk);
                }
                let bytes = self.window.from(at, span.end);
                self.check.feed(bytes).map_err(|error| error.at(self.file.path(), at))?;
                section.append(bytes, self.chunk as usize, names)?;
                at += bytes.len() as u64;
            }
        }
        Ok(())
    }

    /// Returns the number of copied records.
    ///
    /// # Errors
    /// `Corruption` if the copy stopped inside a record.
    pub(super) fn end(&self) -> Result<u64> {
        self.check.end()
    }

    fn next_span(&mut self, stretches: &mut impl Iterator<Item = Extent>) -> Result<Option<Span>> {
        match self.ahead.pop_front() {
            Some(span) => Ok(Some(span)),
            None => stretches.next().map(|stretch| self.place(stretch)).transpose(),
        }
    }

    /// Finds the places of the next extents, as many as one read may hold.
    fn look_ahead(&mut self, stretches: &mut impl Iterator<Item = Extent>) -> Result<()> {
        let most = (self.chunk / 1024) as usize;
        while self.ahead.len() < most
            && let Some(stretch) = stretches.next()
        {
            let span = self.place(stretch)?;
            self.ahead.push_back(span);
        }
        Ok(())
    }

    /// Returns the number of bytes up to the next gap that is too large to read, at most a chunk.
    fn worth_reading(&self, at: u64, end: u64) -> u64 {
        let mut until = end;
        for next in &self.ahead {
            if next.start > until + MOST_SKIPPED || next.start > at + self.chunk {
                break;
            }
            until = next.end;
        }
        (until - at).min(self.chunk)
    }

    fn place(&mut self, stretch: Extent) -> Result<Span> {
        let Extent { start: position, end } = stretch;
        let place = self.kept.find(position, end)?.ok_or_else(|| {
            let segment = self.from.segment;
            let message = format!(
                "expected records from position {position} to {end} of segment {segment}, \
                 found none"
            );
            Error::corruption(message).at(self.file.path(), self.from.offset)
        })?;
        let start = self.from.records_at() + place;
        Ok(Span { position, start, end: start + (end - position) })
    }
}

/// Bytes of one read.
#[derive(Default)]
struct Window {
    bytes: Vec<u8>,
    offset: u64,
}

impl Window {
    fn has(&self, offset: u64) -> bool {
        (self.offset..self.offset + self.bytes.len() as u64).contains(&offset)
    }

    fn fill(&mut self, file: &OpenFile, offset: u64, len: u64) -> Result<()> {
        let len = len as usize;
        self.bytes.truncate(len);
        self.bytes.reserve_exact(len - self.bytes.len());
        self.bytes.resize(len, 0);
        self.offset = offset;
        let read = file.read(&mut self.bytes, offset);
        read.inspect_err(|_| self.bytes.clear())
    }

    /// Returns the part of `[start, end)` that the window holds, from `start` on.
    fn from(&self, start: u64, end: u64) -> &[u8] {
        let (first, last) = ((start - self.offset) as usize, (end - self.offset) as usize);
        &self.bytes[first..last.min(self.bytes.len())]
    }
}
