//! Recovers separated values of keys whose tables are lost, from the keys in their segments.
//!
//! ```text
//! lost: L1.t [a, m), which referred to segment 7        7: a.PUT.5  b.PUT.9  n.PUT.6
//! left: L2   b.PUT.12                                   found: a.PUT.5
//! ```
//!
//! `n` is not recovered because it lies outside of the lost range, and `b` because a newer value of
//! it exists. The lost table may have deleted `a`; that is unknown, so `a` is recovered (H26).
//!
//! Without a manifest, the lost tables are unknown ([`Sought::All`]). Then all segments are
//! searched, and values that existing tables refer to or have replaced are left out. So are values
//! that the logs bring back too: a flush that a crash interrupted had separated them. The replay
//! puts all it finds above the recovered values:
//!
//! ```text
//! log: a.PUT.5 a.PUT.9   segment of the flush: a.PUT.9   as a run: a.PUT.9 below a.PUT.5, wrong
//! ```

use std::cmp::Ordering;
use std::ops::ControlFlow;

use crate::db::lifecycle::open::repair::{LostRange, Repair};
use crate::db::state::keyspace::KeyspaceParts;
use crate::error::{ErrorKind, Result};
use crate::key::{Comparator, Kind, MAX_SEQNO, NO_OPERATOR, RecordHeader, SeqNo};
use crate::rewriting::folding::RecordSink;
use crate::segment::SegmentFiles;
use crate::segment::{Placement, SegmentMap};
use crate::separated::Address;
use crate::table::CursorOptions;
use crate::version::{FileFacts, OpenTables, TableRef, Version};

use std::sync::Arc;

/// A value with its key.
pub(crate) struct Found {
    key: Vec<u8>,
    seqno: SeqNo,
    address: Address,
}

/// The segments and keys to search.
pub(crate) enum Sought<'a> {
    /// The keys of these parts of tables, in the segments that the tables referred to.
    Of(&'a [LostPart]),
    /// All keys, because the lost tables are unknown, up to the first write that the logs bring
    /// back.
    All(&'a [Placement], SeqNo),
}

/// The lost part of a table.
pub(crate) struct LostPart {
    pub(crate) table: TableRef,
    pub(crate) ranges: Vec<LostRange>,
}

impl LostPart {
    fn contains(&self, comparator: &dyn Comparator, key: &[u8]) -> bool {
        self.table.contains(comparator, key)
            && self.ranges.iter().any(|range| {
                comparator.compare(&range.first_key, key).is_le()
                    && comparator.compare(key, &range.last_key).is_le()
            })
    }
}

impl Sought<'_> {
    fn segments(&self, version: &Version) -> Result<SegmentMap> {
        let (mut segments, segment_files) = (SegmentMap::default(), Arc::<SegmentFiles>::default());
        let mut place = |at: Placement| segments.place(at, segment_files.get(at.file));
        match self {
            Sought::All(placements, _) => placements.iter().try_for_each(|&at| place(at))?,
            Sought::Of(parts) => {
                let parts = parts.iter().filter(|part| !part.ranges.is_empty());
                let referred = parts.flat_map(|part| &*part.table.file.references);
                let known = referred.filter_map(|(id, _)| version.segments.get(*id));
                known.map(|segment| segment.placement).try_for_each(place)?;
            }
        }
        Ok(segments)
    }

    fn seeks(&self, comparator: &dyn Comparator, key: &[u8], seqno: SeqNo) -> bool {
        match self {
            Sought::All(_, logged_from) => seqno < *logged_from,
            Sought::Of(parts) => parts.iter().any(|part| part.contains(comparator, key)),
        }
    }
}

impl Repair<'_> {
    /// Returns the newest separated value of each sought key, in key order. Values older than an
    /// existing record are left out.
    pub(crate) fn find_values(
        &mut self,
        own: &KeyspaceParts,
        sought: &Sought<'_>,
        left: &Version,
        tables: &OpenTables,
    ) -> Result<Vec<Found>> {
        let comparator = &*own.comparator;
        let mut found: Vec<Found> = Vec::new();
        for segment in sought.segments(&own.version)?.iter() {
            let visited = tables.segments().visit_values(own.id, segment, |key, seqno, address| {
                if sought.seeks(comparator, key, seqno) {
                    found.push(Found { key: key.to_vec(), seqno, address });
                }
                Ok(())
            });
            match visited {
                Err(error) if error.kind() == ErrorKind::Corruption => {
                    let path = self.names.segment(segment.placement.file);
                    if !self.report.lost_segments.contains(&path) {
                        self.report.lost_segments.push(path);
                    }
                }
                visited => visited?,
            }
        }
        // The newest value of each key comes first. Two values with one sequence number are one
        // write that was separated twice.
        found.sort_by(|a, b| {
            let by_age = (b.seqno, b.address.segment).cmp(&(a.seqno, a.address.segment));
            comparator.compare(&a.key, &b.key).then(by_age)
        });
        found.dedup_by(|next, first| comparator.compare(&next.key, &first.key) == Ordering::Equal);
        let mut newest = Vec::new();
        for value in found {
            if !is_hidden(&value, own, left, tables)? {
                newest.push(value);
            }
        }
        // Readers see only records up to the last sequence number of the database.
        let last = newest.iter().map(|value| value.seqno).max().unwrap_or(0);
        self.stored.last_seqno = self.stored.last_seqno.max(last);
        Ok(newest)
    }

    /// Writes the recovered values to tables and syncs them. The caller still syncs the directory.
    pub(crate) fn write_found(
        &mut self,
        own: &KeyspaceParts,
        found: Vec<Found>,
    ) -> Result<Vec<FileFacts>> {
        let target = self.options.resolve().tree.target_file_size;
        self.write_tables(own, 0, |output| {
            let mut address = Vec::new();
            for value in found {
                if output.is_full(target, 0) {
                    output.cut_before(&value.key)?;
                }
                address.clear();
                value.address.encode(&mut address);
                let kind = Kind::Separated;
                let header = RecordHeader { seqno: value.seqno, kind, operator: NO_OPERATOR };
                output.add(&value.key, header, &address)?;
            }
            Ok(())
        })
    }
}

/// Returns whether an existing record is newer. Records of the last level have no sequence numbers.
/// Such a record is older than a value that was separated after its table was begun.
fn is_hidden(
    value: &Found,
    own: &KeyspaceParts,
    left: &Version,
    tables: &OpenTables,
) -> Result<bool> {
    let comparator = &*own.comparator;
    for (_, run) in left.runs() {
        let Some(table) = run.table_of(comparator, &value.key) else { continue };
        let open = tables.get_owned(&table.file)?;
        if open.cover(&value.key, MAX_SEQNO) >= value.seqno.max(1) {
            return Ok(true);
        }
        let mut hidden = None;
        open.get(&value.key, MAX_SEQNO, CursorOptions::default(), |header, _| {
            hidden = Some(match header.seqno {
                0 => value.seqno == 0 || table.file.number > value.address.segment,
                newest => newest >= value.seqno,
            });
            ControlFlow::Break(())
        })?;
        if let Some(hidden) = hidden {
            return Ok(hidden);
        }
    }
    Ok(false)
}
