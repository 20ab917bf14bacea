//! Writes values: sections appended to files that grow over many flushes.
//!
//! A flush or slice takes a growing file that no other writer uses, or creates a file. It appends a
//! section, and gives the file back if the file has less than `segment_size` bytes. So segment
//! files reach that size even if flushes are small, and each value is written once. These rules
//! make sharing a file safe:
//!
//! - A section is complete and synced before an edit names it, and it never changes afterwards.
//!   Readers ignore bytes that a crash leaves after the last section in the manifest.
//! - Only the session that created a file appends to it: no file grows after a reopen.
//! - A file whose write or sync failed gets no more sections.
//! - The writer of a section holds its file until the section is installed ([`NewSegments`]).
//!   Otherwise the file could be removed in the meantime, when no table refers to its other
//!   segments any more.
//! - A growing file has no hard link: checkpoints copy it (H12).

use std::sync::Arc;

use crate::error::Result;
use crate::key::SeqNo;
use crate::locks::rank::GROWING;
use crate::locks::{Lock, LockGuard};
use crate::memory::Charge;
use crate::segment::adopted::AdoptedLog;
use crate::segment::file::SegmentFile;
use crate::segment::format::KEYED;
use crate::segment::hints::HintsWriter;
use crate::segment::map::Placement;
use crate::segment::section::{Growing, Section, WRITE_STEP, WriterContext};
use crate::separated::address::Address;
use crate::separated::record::{put_key_part, put_record};

/// How a keyspace separates values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Separation {
    /// Shortest value that goes to a segment, in bytes; `None` if no value does.
    pub(crate) min: Option<usize>,
    /// Length of a segment file in bytes from which it takes no more sections.
    pub(crate) segment_size: u64,
    /// Whether sections end with hints. If not, each record is followed by its key.
    pub(crate) hints: bool,
    /// Bytes of hints at which a section ends, so that a rewrite needs bounded memory for the
    /// hints.
    pub(crate) most_hints: usize,
}

impl Separation {
    /// Returns the number of values at which a section ends. The limit bounds the memory of a
    /// lookup of live values to a few times that of the hints.
    fn most_values(&self) -> u64 {
        (self.most_hints / 8).max(1) as u64
    }
}

/// Segments that were written and are not yet part of the tree.
///
/// This value holds the files of the segments. Otherwise a file could be removed when no table
/// refers to its other segments any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewSegments {
    pub(crate) placed: Vec<Placement>,
    /// Bytes written, with headers and hints.
    pub(crate) bytes: u64,
    /// Bytes of values that stay in logs, which become segments.
    pub(crate) adopted: u64,
    files: Vec<Arc<SegmentFile>>,
}

/// Files of a keyspace that may get more sections and that no writer uses.
#[derive(Debug, Default)]
pub(crate) struct GrowingFiles(Lock<Vec<Growing>, GROWING>);

impl GrowingFiles {
    fn lock(&self) -> LockGuard<'_, Vec<Growing>, GROWING> {
        self.0.lock()
    }

    /// Takes a file, so that no other writer appends to it.
    fn take(&self) -> Option<Growing> {
        self.remove_obsolete();
        self.lock().pop()
    }

    fn give_back(&self, growing: Growing) {
        debug_assert!(growing.meta.is_growing(), "a finished file takes no more sections");
        self.lock().push(growing);
    }

    /// Drops files without a segment. Each is removed when its last holder drops it.
    pub(crate) fn remove_obsolete(&self) {
        self.lock().retain(|growing| {
            let is_used = !growing.meta.is_obsolete();
            if !is_used {
                // A section that is not yet installed may still give the file a segment, but the
                // file no longer grows.
                growing.meta.set_growing(false);
            }
            is_used
        });
    }

    /// Returns whether no writer appends to a file at the moment.
    pub(crate) fn may_retire(&self, file: &SegmentFile) -> bool {
        let is_it = |growing: &Growing| growing.meta().number() == file.number();
        !file.is_growing() || self.lock().iter().any(is_it)
    }

    /// Ends the growth of a file. Returns `false` if a writer appends to it now.
    pub(crate) fn retire(&self, file: &SegmentFile) -> bool {
        if !file.is_growing() {
            return true;
        }
        let mut files = self.lock();
        let Some(at) = files.iter().position(|growing| growing.meta().number() == file.number())
        else {
            return false;
        };
        let growing = files.swap_remove(at);
        growing.meta.set_growing(false);
        true
    }
}

/// A section of new values, and their hints.
struct NewSection {
    section: Section,
    hints: HintsWriter,
    /// Finished chunks of hints.
    done: Vec<u8>,
}

impl NewSection {
    fn hint_bytes(&self) -> usize {
        self.hints.memory_bytes() + self.done.capacity()
    }
}

/// Takes the values that a flush or a slice separates.
pub(crate) struct ValueWriter<'a> {
    context: WriterContext<'a>,
    separation: Separation,
    growing: &'a GrowingFiles,
    section: Option<NewSection>,
    finished: NewSegments,
    /// Files to give back. The writer gives them back only after all its work succeeded, so until
    /// then no other writer knows the new files.
    kept: Vec<Growing>,
    created: Vec<Arc<SegmentFile>>,
    /// Logs that become segments.
    adopted: Vec<AdoptedLog>,
    charge: Charge,
}

impl<'a> ValueWriter<'a> {
    pub(crate) fn new(
        context: WriterContext<'a>,
        separation: Separation,
        growing: &'a GrowingFiles,
        charge: Charge,
    ) -> ValueWriter<'a> {
        ValueWriter {
            context,
            separation,
            growing,
            section: None,
            finished: NewSegments::default(),
            kept: Vec::new(),
            created: Vec::new(),
            adopted: Vec::new(),
            charge,
        }
    }

    /// Makes the writer refer to values in these logs instead of writing them.
    pub(crate) fn adopting(mut self, logs: Vec<AdoptedLog>) -> ValueWriter<'a> {
        self.adopted = logs;
        self
    }

    /// Returns whether a value of this length goes to a segment.
    #[inline]
    pub(crate) fn takes(&self, len: usize) -> bool {
        self.separation.min.is_some_and(|min| len >= min)
    }

    /// Writes a value. The address is valid once the edit with the result of
    /// [`ValueWriter::finish`] takes effect.
    pub(crate) fn add(&mut self, key: &[u8], seqno: SeqNo, value: &[u8]) -> Result<Address> {
        if let Some(address) = self.adopted.iter_mut().find_map(|log| log.take(seqno, value)) {
            return Ok(address);
        }
        if self.section.as_ref().is_some_and(|section| self.is_full(section)) {
            self.end_section()?;
        }
        if self.section.is_none() {
            self.section = Some(self.begin_section()?);
        }
        let NewSection { section, hints, done } =
            self.section.as_mut().expect("a section was begun");
        let position = section.records_len();
        let (id, out) = (section.id(), &mut section.appender.buffer);
        put_record(out, id, position, value);
        let mut key_part = 0;
        if self.separation.hints {
            hints.add(key, seqno, value.len() as u64, done);
        } else {
            key_part = put_key_part(out, id, position, key, seqno);
        }
        let address = Address { segment: id, position, len: value.len() as u64, key_part };
        debug_assert_eq!(
            section.records_len(),
            address.end(),
            "the next record begins where the address of this one ends"
        );
        section.values += 1;
        section.appender.write_if_full(WRITE_STEP, self.context.names)?;
        if section.values.is_multiple_of(1024) {
            let hints = self.section.as_ref().map_or(0, NewSection::hint_bytes);
            self.charge.set(hints + 2 * WRITE_STEP);
        }
        Ok(address)
    }

    fn is_full(&self, new: &NewSection) -> bool {
        new.section.appender.position() >= self.separation.segment_size
            || new.hint_bytes() >= self.separation.most_hints
            || new.section.values >= self.separation.most_values()
    }

    fn begin_section(&mut self) -> Result<NewSection> {
        let growing = match self.kept.pop().or_else(|| self.growing.take()) {
            Some(growing) => growing,
            None => {
                let growing = self.context.create()?;
                self.created.push(Arc::clone(&growing.meta));
                growing
            }
        };
        let flags = if self.separation.hints { 0 } else { KEYED };
        let id = (self.context.next_number)();
        let section = Section::begin(id, flags, growing, &self.context);
        Ok(NewSection { section, hints: HintsWriter::new(id, flags), done: Vec::new() })
    }

    fn end_section(&mut self) -> Result<()> {
        let Some(NewSection { mut section, hints, done }) = self.section.take() else {
            return Ok(());
        };
        let meta = Arc::clone(&section.appender.growing.meta);
        section.end_first(hints, &done);
        let finished = section.finish(self.context.names);
        let (placement, appender) = finished.inspect_err(|_| meta.set_growing(false))?;
        self.finished.bytes += appender.written;
        self.finished.placed.push(placement);
        self.finished.files.push(Arc::clone(&meta));
        if appender.growing.end < self.separation.segment_size {
            self.kept.push(appender.growing);
        } else {
            meta.set_growing(false);
        }
        Ok(())
    }

    /// Ends the last section. Returns the segments written. Their contents are durable, but the
    /// names of new files are not.
    pub(crate) fn finish(&mut self) -> Result<NewSegments> {
        self.end_section()?;
        self.charge.set(0);
        for log in self.adopted.iter_mut().filter(|log| log.used > 0) {
            self.finished.adopted += log.used;
            self.finished.placed.push(log.placement);
            self.finished.files.extend(log.file.clone());
        }
        Ok(std::mem::take(&mut self.finished))
    }

    /// Lets other writers append to the files. The caller calls this after it has written
    /// everything that refers to the sections. Otherwise a step that fails repeatedly would add
    /// garbage to a file each time.
    pub(crate) fn give_back(mut self) {
        self.created.clear();
        for mut log in self.adopted.drain(..).filter(|log| log.used > 0) {
            drop(log.file.take());
        }
        self.kept.drain(..).for_each(|growing| self.growing.give_back(growing));
    }
}

impl Drop for ValueWriter<'_> {
    fn drop(&mut self) {
        // The written bytes may be a part of a section, so no writer may append after them.
        let section = self.section.take().map(|new| new.section.appender.growing);
        for growing in section.into_iter().chain(self.kept.drain(..)) {
            growing.meta.set_growing(false);
        }
        // No other thread knows these files.
        self.created.drain(..).for_each(|file| file.set_obsolete(true));
    }
}
