//! Rewriting segments without their dead values.
//!
//! Memory is what the budget says, however large files and values are: which stretches are alive is
//! looked up for as many segments at a time as fit, values pass through a buffer, and a segment's hints
//! are bounded when it is written. Records are checked on the way and copied as they are.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::faults::{Fault, planted};
use crate::segment::address::SegmentId;
use crate::segment::extents::{Extent, Extents};
use crate::segment::file::SegmentFile;
use crate::segment::format::{MOVED, Tail};
use crate::segment::hints::{HintsBuilder, visit_hints};
use crate::segment::map::{Placement, Segment};
use crate::segment::open::{Moves, OpenFile, OpenSegments};
use crate::segment::record_check::RecordCheck;
use crate::segment::writer::{Section, WriterContext};
use crate::version::{OpenTables, Version};

/// Bytes between two stretches, at most, that are read with them.
const MOST_SKIPPED: u64 = 16 << 10;

/// What a rewrite needs from its surroundings.
pub(crate) struct RewriteContext<'a> {
    pub(crate) writer: WriterContext<'a>,
    pub(crate) segments: &'a OpenSegments,
    pub(crate) tables: &'a OpenTables,
    /// What is alive in it is kept.
    pub(crate) version: &'a Version,
    /// Bytes that lookups, buffers and hints may take.
    pub(crate) memory: usize,
    /// Told how many bytes were read and written; an error ends the rewrite.
    pub(crate) progress: &'a dyn Fn(u64) -> Result<()>,
}

/// What became of files.
#[derive(Debug, Default)]
pub(crate) struct Rewritten {
    /// Where the segments lie now, and where they lay.
    pub(crate) placed: Vec<(Placement, Placement)>,
    /// The new file, if one was needed.
    pub(crate) file: Option<Arc<SegmentFile>>,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    /// Most bytes held at once to find and move live values.
    pub(crate) peak_memory: usize,
}

/// A rewrite in progress. What it wrote is removed if it is dropped before [`Rewrite::finish`].
pub(crate) struct Rewrite<'a> {
    context: RewriteContext<'a>,
    out: Option<Growing>,
    done: Rewritten,
    held: usize,
}

type Growing = crate::segment::writer::Growing;

impl<'a> Rewrite<'a> {
    pub(crate) fn new(context: RewriteContext<'a>) -> Rewrite<'a> {
        Rewrite { context, out: None, done: Rewritten::default(), held: 0 }
    }

    /// Rewrites these segments of the version into one file.
    ///
    /// # Errors
    /// `Corruption` naming the file that is damaged; `Io`, `NoSpace`.
    pub(crate) fn run(&mut self, segments: &[SegmentId]) -> Result<()> {
        let version = self.context.version;
        let found: Vec<&Segment> =
            segments.iter().filter_map(|&id| version.segments.get(id)).collect();
        let mut rest = &found[..];
        while !rest.is_empty() {
            let count = self.fitting(rest);
            let (group, behind) = rest.split_at(count);
            let live = self.live_stretches(group)?;
            for segment in group {
                if let Some(live) = live.get(&segment.placement.segment) {
                    self.rewrite_segment(segment, live)?;
                }
            }
            self.held = 0;
            rest = behind;
        }
        Ok(())
    }

    /// What was rewritten; the new file is durable but for its name.
    pub(crate) fn finish(mut self) -> Rewritten {
        if let Some(out) = self.out.take() {
            out.seal();
        }
        std::mem::take(&mut self.done)
    }

    /// How many of these segments are looked up together.
    fn fitting(&self, segments: &[&Segment]) -> usize {
        let mut bytes = 0;
        let fit = segments.iter().take_while(|segment| {
            // Every record in another table than its neighbours is the most stretches there can be.
            bytes += segment.placement.values as usize * size_of::<Extent>();
            bytes <= self.context.memory / 4
        });
        fit.count().max(1)
    }

    /// What the version's tables refer to in these segments.
    fn live_stretches(&mut self, segments: &[&Segment]) -> Result<BTreeMap<SegmentId, Extents>> {
        let mut found: BTreeMap<SegmentId, Vec<Extent>> =
            segments.iter().map(|segment| (segment.placement.segment, Vec::new())).collect();
        let mut files: HashSet<u64> = HashSet::new();
        for table in self.context.version.tables() {
            let wanted = table.file.references.iter().any(|(id, _)| found.contains_key(id));
            if !wanted || !files.insert(table.file.number) {
                continue;
            }
            if planted(Fault::MergeDropsLiveValue) && files.len() == 1 {
                continue;
            }
            let reader = self.context.tables.get_owned(&table.file)?;
            let references = reader.references()?;
            self.note_memory(references.memory_bytes() + stretch_bytes(&found));
            for (id, stretches) in &mut found {
                stretches.extend(references.of(*id).into_iter().flat_map(Extents::iter));
            }
            // Tables share what slices have not carved out yet.
            for stretches in found.values_mut() {
                if stretches.capacity() > 2 * stretches.len() {
                    stretches.shrink_to_fit();
                }
            }
        }
        self.held = stretch_bytes(&found);
        self.note_memory(0);
        Ok(found.into_iter().map(|(id, stretches)| (id, Extents::of(stretches))).collect())
    }

    fn note_memory(&mut self, more: usize) {
        self.done.peak_memory = self.done.peak_memory.max(self.held + more);
    }

    /// Bytes of values held at once.
    fn chunk(&self) -> u64 {
        (self.context.memory as u64 / 8).clamp(16 << 10, 1 << 20)
    }

    /// A file that is missing or damaged is marked as such.
    fn rewrite_segment(&mut self, segment: &Segment, live: &Extents) -> Result<()> {
        let from = segment.placement;
        let file = self.context.segments.get(self.context.writer.keyspace, &segment.file);
        let rewritten = file.and_then(|file| self.copy_section(&file, &from, live));
        let (to, read, written) = rewritten.inspect_err(|error| {
            if error.kind() == ErrorKind::Corruption {
                segment.file.mark_damaged();
            }
        })?;
        self.done.bytes_read += read;
        self.done.bytes_written += written;
        self.done.placed.push((to, from));
        Ok(())
    }

    /// Writes a section of the live records of another; answers where, and the bytes read and written.
    fn copy_section(
        &mut self,
        file: &OpenFile,
        from: &Placement,
        live: &Extents,
    ) -> Result<(Placement, u64, u64)> {
        file.check_section(from)?;
        let moves = file.moves(from)?;
        let whole = moves.is_none() && live.bytes() == from.records_len;
        let flags = if whole { from.flags } else { from.flags | MOVED };
        let out = match self.out.take() {
            Some(out) => out,
            None => {
                let out = self.context.writer.create()?;
                self.done.file = Some(Arc::clone(out.meta()));
                out
            }
        };
        let mut section = Section::begin(from.segment, flags, out, &self.context.writer);
        section.hints = self.live_hints(file, from, moves.as_deref(), live)?;
        let chunk = self.chunk();
        self.note_memory(section.hints.memory_bytes() + 3 * chunk as usize);
        let mut copy = Copy {
            file,
            from,
            moves: moves.as_deref(),
            chunk,
            check: RecordCheck::new(from.segment, from.is_keyed()),
            read: 0,
        };
        copy.run(live, &mut section, &self.context)?;
        section.values = copy.check.end()?;
        let mut tail = Vec::new();
        if flags & MOVED != 0 {
            live.encode(&mut tail);
        }
        let (placement, appender) = section.finish(&tail, self.context.writer.names)?;
        let written = appender.written;
        self.out = Some(appender.growing);
        Ok((placement, copy.read, written))
    }

    /// The hints of live records.
    fn live_hints(
        &mut self,
        file: &OpenFile,
        from: &Placement,
        moves: Option<&Moves>,
        live: &Extents,
    ) -> Result<HintsBuilder> {
        let mut hints = HintsBuilder::default();
        if from.is_keyed() {
            return Ok(hints);
        }
        let payload = file.read_tail(from, Tail::Hints)?;
        visit_hints(&payload, moves.map(|moves| &moves.kept), |hint| {
            if live.around(hint.position).is_some() {
                hints.add(&hint.key, hint.seqno, hint.value_len);
            }
            Ok(())
        })
        .map_err(|error| error.at(file.path(), from.records_end()))?;
        self.note_memory(payload.len() + hints.memory_bytes());
        Ok(hints)
    }
}

impl Drop for Rewrite<'_> {
    fn drop(&mut self) {
        // It did not come to its end: nobody knows of the file.
        if let Some(file) = self.done.file.take() {
            file.set_obsolete(true);
        }
    }
}

/// The bytes of one segment on their way.
struct Copy<'a> {
    file: &'a OpenFile,
    from: &'a Placement,
    moves: Option<&'a Moves>,
    chunk: u64,
    check: RecordCheck,
    read: u64,
}

impl Copy<'_> {
    fn run(
        &mut self,
        live: &Extents,
        section: &mut Section,
        context: &RewriteContext<'_>,
    ) -> Result<()> {
        let mut window = Window::default();
        let mut stretches = live.iter().peekable();
        while let Some(stretch) = stretches.next() {
            let start = self.offset_of(stretch)?;
            let end = start + (stretch.end - stretch.start);
            self.check.begin(stretch.start)?;
            let mut at = start;
            while at < end {
                if !window.has(at) {
                    // Until the next gap that is worth skipping.
                    let mut until = end;
                    for next in stretches.clone() {
                        let next_start = self.offset_of(next)?;
                        if next_start > until + MOST_SKIPPED || next_start > at + self.chunk {
                            break;
                        }
                        until = next_start + (next.end - next.start);
                    }
                    let len = (until - at).min(self.chunk);
                    window.fill(self.file, at, len)?;
                    self.read += len;
                    (context.progress)(len)?;
                    self.file.will_need(at + len, self.chunk);
                }
                let bytes = window.from(at, end);
                self.check.feed(bytes).map_err(|error| error.at(self.file.path(), at))?;
                section.append(bytes, self.chunk as usize, context.writer.names)?;
                at += bytes.len() as u64;
            }
        }
        Ok(())
    }

    /// Where a live stretch lies in the file.
    fn offset_of(&self, stretch: Extent) -> Result<u64> {
        let place = match self.moves {
            None => Some(stretch.start).filter(|_| stretch.end <= self.from.records_len),
            Some(moves) => moves.find(stretch.start, stretch.end),
        };
        let place = place.ok_or_else(|| {
            let message = format!(
                "expected records from position {} to {} of segment {}, found none",
                stretch.start, stretch.end, self.from.segment
            );
            Error::corruption(message).at(self.file.path(), self.from.offset)
        })?;
        Ok(self.from.records_at() + place)
    }
}

/// Bytes that were read at once.
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
        self.bytes.resize(len as usize, 0);
        self.offset = offset;
        let read = file.read(&mut self.bytes, offset);
        if read.is_err() {
            self.bytes.clear();
        }
        read
    }

    /// What it has of `[start, end)` from `start` on.
    fn from(&self, start: u64, end: u64) -> &[u8] {
        let (first, last) = ((start - self.offset) as usize, (end - self.offset) as usize);
        &self.bytes[first..last.min(self.bytes.len())]
    }
}

fn stretch_bytes(found: &BTreeMap<SegmentId, Vec<Extent>>) -> usize {
    found.values().map(|stretches| stretches.capacity() * size_of::<Extent>()).sum()
}
