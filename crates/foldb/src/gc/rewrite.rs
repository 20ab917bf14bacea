//! Rewrites segments without their dead values.
//!
//! The memory budget holds for files, values and table references of any size. The rewrite looks up
//! as many segments together as fit the budget. It looks up a segment that does not fit alone in
//! parts ([`super::lookup`]). Values, moves and hints pass through buffers. The rewrite checks the
//! records and copies them unchanged.
//!
//! ```text
//! budget 64    lookups 0..32    values 8    moves, hints 2 each
//! 7: 20  8: 9  9: 40            look up 7 and 8 together, then 9 in three parts
//! ```

use std::collections::HashSet;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::faults::{Fault, planted};
use crate::gc::copy::Copy;
use crate::gc::lookup::{Lookup, Part};
use crate::segment::file::SegmentFile;
use crate::segment::format::{ADOPTED, MOVED, Tail, UNHINTED};
use crate::segment::hints::{Hint, Hints, HintsWriter};
use crate::segment::logged::LoggedValues;
use crate::segment::map::{Placement, Segment};
use crate::segment::open::{OpenFile, OpenSegments};
use crate::segment::section::{Growing, Section, WriterContext};
use crate::segment::tails::{TailReader, TailWriter};
use crate::separated::address::SegmentId;
use crate::separated::extents::{Extent, Extents, PieceWriter};
use crate::table::ReferencesReader;
use crate::version::{OpenTables, Version};

/// Smallest budget that a rewrite can work with, in bytes. Smaller budgets are raised to it.
const LEAST_MEMORY: usize = 64 << 10;

/// The inputs of a rewrite.
pub(crate) struct RewriteContext<'a> {
    pub(crate) writer: WriterContext<'a>,
    pub(crate) segments: &'a OpenSegments,
    pub(crate) tables: &'a OpenTables,
    /// The rewrite keeps every value that this version refers to.
    pub(crate) version: &'a Version,
    /// Bytes that lookups, buffers and hints may take.
    pub(crate) memory: usize,
    /// Called with the number of bytes just read or written. If it returns an error, the rewrite
    /// ends.
    pub(crate) progress: &'a dyn Fn(u64) -> Result<()>,
    /// Called for damage that loses no value.
    pub(crate) damaged: &'a dyn Fn(Error),
}

/// The result of a rewrite.
#[derive(Debug, Default)]
pub(crate) struct Rewritten {
    /// For each segment, its new place and its old one.
    pub(crate) placed: Vec<(Placement, Placement)>,
    /// The new file, if one was needed.
    pub(crate) file: Option<Arc<SegmentFile>>,
    pub(crate) bytes_read: u64,
    pub(crate) bytes_written: u64,
    /// Bytes of tables read to find live values.
    pub(crate) references_read: u64,
    /// Most bytes held at once to find and move live values.
    pub(crate) peak_memory: usize,
}

/// A rewrite in progress. If it is dropped before [`Rewrite::finish`], it removes its new file.
pub(crate) struct Rewrite<'a> {
    context: RewriteContext<'a>,
    out: Option<Growing>,
    done: Rewritten,
    /// Bytes of finished lookups, which stay until their group of segments is rewritten.
    held: usize,
}

impl<'a> Rewrite<'a> {
    pub(crate) fn new(context: RewriteContext<'a>) -> Rewrite<'a> {
        let memory = context.memory.max(LEAST_MEMORY);
        let context = RewriteContext { memory, ..context };
        Rewrite { context, out: None, done: Rewritten::default(), held: 0 }
    }

    /// Rewrites these segments of the version into one file.
    ///
    /// # Errors
    /// `Corruption` with the path if a file is damaged or missing; `Io` or `NoSpace` if a read or
    /// write fails.
    pub(crate) fn run(&mut self, segments: &[SegmentId]) -> Result<()> {
        let version = self.context.version;
        let found: Vec<&Segment> =
            segments.iter().filter_map(|&id| version.segments.get(id)).collect();
        let mut rest = &found[..];
        while !rest.is_empty() {
            let count = self.fitting(rest).max(1);
            let (group, behind) = rest.split_at(count);
            let most = self.lookup_room();
            let room = |segment: &&Segment| Lookup::most_of(&segment.placement);
            let fits = room(&group[0]) <= most;
            let lookups = group.iter().map(|segment| {
                // If a segment does not fit, two of its parts are in memory: the first and the
                // current one.
                let room = if fits { room(segment) } else { most / 2 };
                Lookup::new(segment.placement.segment, 0, room)
            });
            let parts = self.look_up(lookups.collect())?;
            self.held = parts.iter().map(|part| part.live.memory_bytes()).sum();
            for (segment, part) in group.iter().zip(parts) {
                let bytes = part.live.memory_bytes();
                self.rewrite_segment(segment, &part)?;
                drop(part);
                self.held -= bytes;
            }
            debug_assert_eq!(self.held, 0, "each part is charged until it is rewritten, once");
            rest = behind;
        }
        Ok(())
    }

    /// Returns the result. The contents of the new file are durable, but its name is not.
    pub(crate) fn finish(mut self) -> Rewritten {
        if let Some(out) = self.out.take() {
            out.seal();
        }
        std::mem::take(&mut self.done)
    }

    /// Returns how many extents all lookups together may hold at once.
    fn lookup_room(&self) -> usize {
        self.context.memory / 2 / Lookup::bytes_of(1)
    }

    /// Returns how many of these segments one lookup pass takes.
    fn fitting(&self, segments: &[&Segment]) -> usize {
        let mut room = 0_usize;
        let fit = segments.iter().take_while(|segment| {
            room = room.saturating_add(Lookup::most_of(&segment.placement));
            room <= self.lookup_room()
        });
        fit.count()
    }

    /// Finds the extents of some segments that the version's tables refer to. The lookups must be
    /// in ascending order of segment.
    fn look_up(&mut self, mut lookups: Vec<Lookup>) -> Result<Vec<Part>> {
        let mut files: HashSet<u64> = HashSet::new();
        let mut bytes = 0;
        for table in self.context.version.tables() {
            let references = &table.file.references;
            let wanted = lookups.iter_mut().filter_map(|lookup| {
                let skipped = references.binary_search_by_key(&lookup.segment, |(id, _)| *id);
                skipped.ok().map(|skipped| (skipped, lookup))
            });
            let mut wanted = wanted.peekable();
            if wanted.peek().is_none() || !files.insert(table.file.number) {
                continue;
            }
            if planted(Fault::GcDropsLiveValue) && files.len() == 1 {
                continue;
            }
            let open = self.context.tables.get_owned(&table.file)?;
            let mut reader = ReferencesReader::new(&open)?;
            let mut peak = 0;
            for (skipped, lookup) in wanted {
                let (segment, before) = (lookup.segment, lookup.memory_bytes());
                let visit = |stretch| {
                    let grown = lookup.add(stretch).unwrap_or(0);
                    peak = peak.max((bytes + grown).saturating_sub(before));
                };
                reader.stretches(segment, skipped, visit)?;
                bytes = bytes + lookup.memory_bytes() - before;
            }
            self.note_memory(peak.max(bytes) + reader.memory_bytes());
            self.done.references_read += reader.read;
        }
        Ok(lookups.into_iter().map(Lookup::finish).collect())
    }

    /// Visits the live extents of a segment part by part, from the first part on.
    fn each_part(
        &mut self,
        segment: SegmentId,
        first: &Part,
        mut visit: impl FnMut(&mut Self, &Extents) -> Result<()>,
    ) -> Result<()> {
        visit(self, &first.live)?;
        let mut next = first.until;
        while let Some(from) = next {
            let lookup = Lookup::new(segment, from, self.lookup_room() / 2);
            let parts = self.look_up(vec![lookup])?;
            for Part { live, until } in parts {
                let bytes = live.memory_bytes();
                self.held += bytes;
                visit(self, &live)?;
                self.held -= bytes;
                next = until;
                assert!(
                    next.is_none_or(|next| next > from),
                    "each part begins behind the part before it"
                );
            }
        }
        Ok(())
    }

    fn note_memory(&mut self, more: usize) {
        self.done.peak_memory = self.done.peak_memory.max(self.held + more);
    }

    /// Returns how many bytes one read of values takes. A write takes as many.
    fn chunk(&self) -> usize {
        (self.context.memory / 16).clamp(4 << 10, 1 << 20)
    }

    /// Rewrites one segment. Marks its file as damaged if the file is missing or damaged.
    fn rewrite_segment(&mut self, segment: &Segment, first: &Part) -> Result<()> {
        let from = segment.placement;
        let file = self.context.segments.get(self.context.writer.keyspace, &segment.file);
        let rewritten = file.and_then(|file| self.copy_section(&file, &from, first));
        let is_of_it = |error: &Error| {
            error.path().is_none_or(|path| *path == self.context.writer.names.segment(from.file))
        };
        let to = rewritten.inspect_err(|error| {
            if error.kind() == ErrorKind::Corruption && is_of_it(error) {
                segment.file.mark_damaged();
            }
        })?;
        self.done.placed.push((to, from));
        Ok(())
    }

    /// Writes a section with the live records of another. Returns its place.
    fn copy_section(
        &mut self,
        file: &OpenFile,
        from: &Placement,
        first: &Part,
    ) -> Result<Placement> {
        file.check_section(from)?;
        let is_whole = first.until.is_none() && first.live.bytes() == from.records_len;
        let mut flags = if is_whole { from.flags } else { from.flags | MOVED };
        // Records copied from a log go to an ordinary section.
        flags &= !ADOPTED;
        if !from.is_keyed()
            && let Err(error) = self.check_hints(file, from)
        {
            if error.kind() != ErrorKind::Corruption {
                return Err(error);
            }
            // Only repair needs hints. If damaged hints ended the rewrite, the dead values would
            // stay forever.
            (self.context.damaged)(error);
            flags |= UNHINTED;
        }
        let out = match self.out.take() {
            Some(out) => out,
            None => {
                let out = self.context.writer.create()?;
                self.done.file = Some(Arc::clone(out.meta()));
                out
            }
        };
        let mut section = Section::begin(from.segment, flags, out, &self.context.writer);
        self.copy_records(file, from, first, &mut section)?;
        self.write_moves(from.segment, flags, first, &mut section)?;
        self.write_hints(file, from, flags, first, &mut section)?;
        let (placement, appender) = section.finish(self.context.writer.names)?;
        assert!(
            !is_whole || placement.records_len == from.records_len,
            "a copy of a whole segment has all its records"
        );
        self.done.bytes_written += appender.written;
        self.out = Some(appender.growing);
        Ok(placement)
    }

    /// Reads all hints of a section, or all frames of a log, to find damage.
    ///
    /// # Errors
    /// `Corruption` if the hints are damaged now or were lost before.
    fn check_hints(&mut self, file: &OpenFile, from: &Placement) -> Result<()> {
        if !from.is_adopted() {
            let mut tail = TailReader::hints(file, from)?;
            while tail.next()?.is_some() {}
            return Ok(());
        }
        let (mut values, mut reported) = (LoggedValues::new(file, from, self.chunk()), 0);
        while values.next()?.is_some() {
            self.report_passed(&mut reported, values.passed())?;
        }
        self.note_memory(values.memory_bytes());
        Ok(())
    }

    /// Reports the bytes of a log that were read, about once per chunk.
    fn report_passed(&mut self, reported: &mut u64, passed: u64) -> Result<()> {
        let new = passed - *reported;
        if new < self.chunk() as u64 {
            return Ok(());
        }
        *reported = passed;
        self.done.bytes_read += new;
        (self.context.progress)(new)
    }

    fn copy_records(
        &mut self,
        file: &OpenFile,
        from: &Placement,
        first: &Part,
        section: &mut Section,
    ) -> Result<()> {
        let mut copy = Copy::new(file, from, self.chunk() as u64);
        self.each_part(from.segment, first, |rewrite, live| {
            let RewriteContext { writer, progress, .. } = &rewrite.context;
            copy.run(live, section, writer.names, progress)?;
            rewrite.note_memory(copy.memory_bytes());
            Ok(())
        })?;
        section.values = copy.end()?;
        section.end_records();
        self.done.bytes_read += copy.read;
        Ok(())
    }

    /// Writes the extents that the new section keeps, unless it keeps all records.
    fn write_moves(
        &mut self,
        segment: SegmentId,
        flags: u32,
        first: &Part,
        section: &mut Section,
    ) -> Result<()> {
        let (names, most) = (self.context.writer.names, self.chunk());
        let (mut tail, mut out) = (TailWriter::new(segment, flags, Tail::Moves), Vec::new());
        if flags & MOVED != 0 {
            let (mut pieces, mut last) = (PieceWriter::default(), None::<Extent>);
            self.each_part(segment, first, |rewrite, live| {
                for stretch in live.iter() {
                    // The last extent of one part and the first of the next may be neighbours.
                    match &mut last {
                        Some(last) if last.end == stretch.start => last.end = stretch.end,
                        last => {
                            if let Some(before) = last.replace(stretch)
                                && pieces.add(before)
                            {
                                tail.put(&mut out, pieces.piece());
                                pieces.clear();
                                section.append(&out, most, names)?;
                                out.clear();
                            }
                        }
                    }
                }
                rewrite.note_memory(most + out.capacity());
                Ok(())
            })?;
            last.map(|last| pieces.add(last));
            tail.put(&mut out, pieces.piece());
        }
        tail.end(&mut out);
        section.append(&out, most, names)
    }

    /// Writes the hints of live records.
    fn write_hints(
        &mut self,
        file: &OpenFile,
        from: &Placement,
        flags: u32,
        first: &Part,
        section: &mut Section,
    ) -> Result<()> {
        let (names, most) = (self.context.writer.names, self.chunk());
        let (mut writer, mut out) = (HintsWriter::new(from.segment, flags), Vec::new());
        if !from.is_keyed() && flags & UNHINTED == 0 {
            let mut hints = SectionHints::new(file, from, most)?;
            let (mut is_left, mut reported) = (hints.advance()?, 0);
            self.each_part(from.segment, first, |rewrite, live| {
                for stretch in live.iter() {
                    while is_left && hints.last().position < stretch.end {
                        let hint = hints.last();
                        if hint.position >= stretch.start {
                            writer.add(&hint.key, hint.seqno, hint.value_len, &mut out);
                        }
                        is_left = hints.advance()?;
                        rewrite.report_passed(&mut reported, hints.passed())?;
                        if !out.is_empty() {
                            section.append(&out, most, names)?;
                            out.clear();
                        }
                    }
                }
                let passing = writer.memory_bytes() + out.capacity() + hints.memory_bytes();
                rewrite.note_memory(most + passing);
                Ok(())
            })?;
        }
        writer.end(&mut out);
        section.append(&out, most, names)
    }
}

/// The keys of a section's values: from its hints, or from the frames of a log.
enum SectionHints<'a> {
    Tail(Box<Hints<'a>>),
    Log(Box<LoggedValues<'a>>),
}

impl<'a> SectionHints<'a> {
    fn new(file: &'a OpenFile, from: &Placement, step: usize) -> Result<SectionHints<'a>> {
        Ok(match from.is_adopted() {
            true => SectionHints::Log(Box::new(LoggedValues::new(file, from, step))),
            false => SectionHints::Tail(Box::new(Hints::new(file, from)?)),
        })
    }

    /// Moves to the next value. Returns whether there is one.
    fn advance(&mut self) -> Result<bool> {
        Ok(match self {
            SectionHints::Tail(hints) => hints.next()?.is_some(),
            SectionHints::Log(values) => values.next()?.is_some(),
        })
    }

    /// Returns the bytes of a log that the walk has read. Hints are small and do not count.
    fn passed(&self) -> u64 {
        match self {
            SectionHints::Tail(_) => 0,
            SectionHints::Log(values) => values.passed(),
        }
    }

    fn last(&self) -> &Hint {
        match self {
            SectionHints::Tail(hints) => hints.last(),
            SectionHints::Log(values) => &values.last().hint,
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            SectionHints::Tail(hints) => hints.memory_bytes(),
            SectionHints::Log(values) => values.memory_bytes(),
        }
    }
}

impl Drop for Rewrite<'_> {
    fn drop(&mut self) {
        // The rewrite did not finish, so no version refers to the new file.
        if let Some(file) = self.done.file.take() {
            file.set_obsolete(true);
        }
    }
}
