//! The segments of a version: where each lies, and how many of its bytes are live.
//!
//! The map is part of a version, so a reader of an older version finds the older file. An edit
//! places segments, adds tables and removes tables. The map derives all other facts. A segment's
//! live bytes are the sum over the references of the version's tables. A file is removed when
//! tables refer to none of its segments. So no counter can drift from the tables.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::encoding::{ByteReader, put_varint};
use crate::error::{Error, Result};
use crate::segment::file::SegmentFile;
use crate::segment::format::{
    ADOPTED, FILE_HEADER_LEN, KEYED, MOVED, SECTION_HEADER_LEN, UNHINTED,
};
use crate::separated::address::SegmentId;

/// Where a segment lies: its file, and its section in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) segment: SegmentId,
    /// Number of the file.
    pub(crate) file: u64,
    /// Offset of the section's header.
    pub(crate) offset: u64,
    /// Bytes of the section.
    pub(crate) len: u64,
    /// Bytes of the section's records.
    pub(crate) records_len: u64,
    /// Number of records.
    pub(crate) values: u64,
    /// Flags: see [`super::format`].
    pub(crate) flags: u32,
}

impl Placement {
    /// Returns the placement of a segment that no file holds. The placement names a missing file
    /// with the segment's own number, which no existing file has.
    pub(crate) fn lost(segment: SegmentId, records_len: u64) -> Placement {
        let len = SECTION_HEADER_LEN + records_len;
        let (file, offset) = (segment, FILE_HEADER_LEN);
        Placement { segment, file, offset, len, records_len, values: 0, flags: 0 }
    }

    /// Returns the placement of a log of this many bytes that became a segment. All bytes other
    /// than the records of values count as dead from the start.
    pub(crate) fn adopted(log: u64, len: u64, values: u64) -> Placement {
        let (segment, file, records_len) = (log, log, len - SECTION_HEADER_LEN);
        Placement { segment, file, offset: 0, len, records_len, values, flags: ADOPTED }
    }

    /// Returns the placement of the beginning of a log. `end` is the end of a frame.
    pub(crate) fn up_to(&self, end: u64) -> Placement {
        Placement { len: end, ..*self }
    }

    /// Returns where the records begin in the file.
    pub(crate) fn records_at(&self) -> u64 {
        self.offset + SECTION_HEADER_LEN
    }

    /// Returns where the records end in the file.
    pub(crate) fn records_end(&self) -> u64 {
        self.records_at() + self.records_len
    }

    /// Returns where the section ends in the file.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.len
    }

    pub(crate) fn is_moved(&self) -> bool {
        self.flags & MOVED != 0
    }

    pub(crate) fn is_keyed(&self) -> bool {
        self.flags & KEYED != 0
    }

    pub(crate) fn is_unhinted(&self) -> bool {
        self.flags & UNHINTED != 0
    }

    /// Returns whether the segment is a log.
    pub(crate) fn is_adopted(&self) -> bool {
        self.flags & ADOPTED != 0
    }

    /// Appends the encoding in the manifest: seven varints in the order of the fields.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        debug_assert!(
            self.records_len + SECTION_HEADER_LEN <= self.len && self.end() <= 1 << 62,
            "an open accepts the bounds of each segment: {self:?}"
        );
        for number in [
            self.segment,
            self.file,
            self.offset,
            self.len,
            self.records_len,
            self.values,
            u64::from(self.flags),
        ] {
            put_varint(out, number);
        }
    }

    /// Reads the encoding in the manifest.
    ///
    /// # Errors
    /// `Corruption` if the bytes are too few, or if the numbers contradict each other.
    pub(crate) fn decode(body: &mut ByteReader<'_>) -> Result<Placement> {
        let placement = Placement {
            segment: body.varint("segment")?,
            file: body.varint("segment file")?,
            offset: body.varint("segment offset")?,
            len: body.varint("segment length")?,
            records_len: body.varint("bytes of records")?,
            values: body.varint("values")?,
            flags: body.varint32("segment flags")?,
        };
        let rest = placement.records_len.saturating_add(SECTION_HEADER_LEN);
        let end = placement.offset.checked_add(placement.len);
        if rest > placement.len {
            return Err(Error::corruption("a value segment is shorter than its records"));
        }
        if end.is_none_or(|end| end > 1 << 62) {
            return Err(Error::corruption("the end of a value segment is past 2^62 bytes"));
        }
        let whole_log = || Placement::adopted(placement.segment, placement.len, placement.values);
        if placement.is_adopted() && placement != whole_log() {
            let message = "expected a whole log as a segment, found a part of a file";
            return Err(Error::corruption(message));
        }
        Ok(placement)
    }
}

/// A segment of a version.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) placement: Placement,
    pub(crate) file: Arc<SegmentFile>,
    /// Bytes of records that tables refer to, added up over the tables.
    referenced: u64,
    /// Number of tables that refer to the segment.
    tables: u64,
}

impl Segment {
    /// Returns the bytes of records that tables refer to, added up over the tables.
    pub(crate) fn referenced(&self) -> u64 {
        self.referenced
    }

    /// Returns the bytes of live records. The result is too large if tables share records.
    pub(crate) fn live(&self) -> u64 {
        self.referenced.min(self.placement.records_len)
    }
}

/// The segments of a version.
#[derive(Clone, Debug, Default)]
pub(crate) struct SegmentMap(Arc<BTreeMap<SegmentId, Segment>>);

/// What the segments in a file tell about the file.
#[derive(Clone, Debug)]
pub(crate) struct FileUse {
    pub(crate) file: Arc<SegmentFile>,
    /// Offset of the end of the last segment in it.
    pub(crate) end: u64,
    /// Bytes of live records before `end`, with their share of headers and hints.
    pub(crate) live: u64,
    /// The segments in it that tables refer to.
    pub(crate) segments: Vec<SegmentId>,
}

impl FileUse {
    /// Returns the bytes after the file's header.
    pub(crate) fn used(&self) -> u64 {
        self.end.saturating_sub(FILE_HEADER_LEN)
    }

    /// Returns the bytes that a rewrite would reclaim.
    pub(crate) fn dead(&self) -> u64 {
        self.used().saturating_sub(self.live)
    }

    pub(crate) fn dead_fraction(&self) -> f64 {
        if self.used() == 0 { 0.0 } else { self.dead() as f64 / self.used() as f64 }
    }
}

impl SegmentMap {
    pub(crate) fn get(&self, segment: SegmentId) -> Option<&Segment> {
        self.0.get(&segment)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Segment> {
        self.0.values()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the files that segments lie in, by number.
    pub(crate) fn files(&self) -> BTreeMap<u64, FileUse> {
        let mut files: BTreeMap<u64, FileUse> = BTreeMap::new();
        for (&id, segment) in &*self.0 {
            let placement = &segment.placement;
            let file = files.entry(placement.file).or_insert_with(|| FileUse {
                file: Arc::clone(&segment.file),
                end: 0,
                live: 0,
                segments: Vec::new(),
            });
            file.end = file.end.max(placement.end());
            // Headers and hints count as live in proportion to the live records.
            let (live, records) =
                (segment.live() as u128, u128::from(placement.records_len.max(1)));
            file.live += (u128::from(placement.len) * live / records) as u64;
            if segment.tables > 0 {
                file.segments.push(id);
            }
        }
        files
    }

    /// Notes where a segment lies. This place replaces the segment's earlier place, if it had one.
    ///
    /// # Errors
    /// `Corruption` if the new section has another length than the earlier one, but is not marked
    /// as moved. No rewrite leaves such a section, so two segments have the same id. Reads would
    /// return values of the wrong segment, and the checksums would not show it.
    pub(crate) fn place(&mut self, placement: Placement, file: Arc<SegmentFile>) -> Result<()> {
        let segments = Arc::make_mut(&mut self.0);
        if placement.is_adopted() {
            file.set_adopted();
        }
        match segments.get_mut(&placement.segment) {
            Some(segment) => {
                let before = segment.placement;
                if !placement.is_moved() && placement.records_len != before.records_len {
                    return Err(Error::corruption(format!(
                        "there are two value segments {}: of {} bytes in file {}, and of {} in file {}",
                        before.segment,
                        before.records_len,
                        before.file,
                        placement.records_len,
                        placement.file
                    )));
                }
                (segment.placement, segment.file) = (placement, file);
            }
            None => {
                let segment = Segment { placement, file, referenced: 0, tables: 0 };
                segments.insert(placement.segment, segment);
            }
        }
        Ok(())
    }

    /// Adds a table that refers to these bytes of segments.
    ///
    /// # Errors
    /// `Corruption` for a segment that does not exist.
    pub(crate) fn add_table(&mut self, references: &[(SegmentId, u64)]) -> Result<()> {
        if references.is_empty() {
            return Ok(());
        }
        let segments = Arc::make_mut(&mut self.0);
        for (id, bytes) in references {
            let segment = segments.get_mut(id).ok_or_else(|| {
                Error::corruption(format!(
                    "a table refers to value segment {id}, which does not exist"
                ))
            })?;
            segment.tables += 1;
            segment.referenced += bytes;
        }
        Ok(())
    }

    /// Removes a table that refers to these bytes of segments.
    ///
    /// # Errors
    /// `Corruption` if the counts show that the table was never added.
    pub(crate) fn remove_table(&mut self, references: &[(SegmentId, u64)]) -> Result<()> {
        if references.is_empty() {
            return Ok(());
        }
        let segments = Arc::make_mut(&mut self.0);
        for (id, bytes) in references {
            let left = segments.get_mut(id).and_then(|segment| {
                segment.tables = segment.tables.checked_sub(1)?;
                segment.referenced = segment.referenced.checked_sub(*bytes)?;
                Some(())
            });
            left.ok_or_else(|| {
                Error::corruption(format!(
                    "an edit removes a table that never referred to segment {id}"
                ))
            })?;
        }
        Ok(())
    }

    /// Drops all segments of each file that no table refers to. In other files a dead segment
    /// stays, because the file's length follows from it.
    pub(crate) fn prune(&mut self) {
        if self.0.values().all(|segment| segment.tables > 0) {
            return;
        }
        let alive = self.0.values().filter(|segment| segment.tables > 0);
        let files: HashSet<u64> = alive.map(|segment| segment.placement.file).collect();
        if self.0.values().any(|segment| !files.contains(&segment.placement.file)) {
            let segments = Arc::make_mut(&mut self.0);
            segments.retain(|_, segment| files.contains(&segment.placement.file));
        }
    }

    /// Marks the files of both maps: a file is obsolete if `next` has no segment in it.
    pub(crate) fn mark_files(&self, next: &SegmentMap) {
        if Arc::ptr_eq(&self.0, &next.0) {
            return;
        }
        let mut files: HashMap<u64, (&Arc<SegmentFile>, bool)> = HashMap::new();
        for segment in self.iter() {
            files.insert(segment.placement.file, (&segment.file, true));
        }
        for segment in next.iter() {
            files.insert(segment.placement.file, (&segment.file, false));
        }
        files.into_values().for_each(|(file, obsolete)| file.set_obsolete(obsolete));
        debug_assert!(
            next.iter().all(|segment| !segment.file.is_obsolete()),
            "no segment of the tree in force is marked for removal"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::SegmentFiles;

    #[test]
    fn a_segment_is_never_placed_over_another_of_its_id() {
        let segment_files: Arc<SegmentFiles> = Arc::default();
        let at = |file, records_len, flags| {
            let placement = Placement { file, flags, ..Placement::lost(27, records_len) };
            (placement, segment_files.get(file))
        };
        let mut map = SegmentMap::default();
        let mut place = |file, records_len, flags| {
            let (placement, file) = at(file, records_len, flags);
            map.place(placement, file)
        };
        place(5, 1000, 0).unwrap();
        place(6, 1000, 0).expect("copied whole");
        let error = place(40, 900, 0).unwrap_err();
        assert!(error.to_string().contains("two value segments 27"), "{error}");
        place(7, 400, MOVED).expect("rewritten without dead values");
        assert_eq!(map.get(27).unwrap().placement.file, 7);
    }
}
