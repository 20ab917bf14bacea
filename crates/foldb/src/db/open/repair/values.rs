//! Separated values of keys whose tables are gone, found again by what their segments say of themselves.
//!
//! ```text
//! lost: L1.t [a, m), which referred to segment 7        7: a.PUT.5  b.PUT.9  n.PUT.6
//! left: L2   b.PUT.12                                   found: a.PUT.5
//! ```
//!
//! `n` lay outside, and `b` is hidden by something newer. Whether `a` was deleted since, by a record of the lost
//! table, is not known: it shows (H26).

use std::cmp::Ordering;
use std::ops::ControlFlow;

use super::Repair;
use crate::compaction::folding::RecordSink;
use crate::compaction::memory::WorkMemory;
use crate::compaction::output::TableOutput;
use crate::db::keyspace::KeyspaceParts;
use crate::error::{ErrorKind, Result};
use crate::key::{Kind, MAX_SEQNO, NO_OPERATOR, RecordHeader, SeqNo};
use crate::options::Compression;
use crate::segment::{Address, SegmentId};
use crate::table::{CursorOptions, TableBuilderOptions};
use crate::version::{FileFacts, OpenTables, TableRef, Version};

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// A value and whose it is.
pub(super) struct Found {
    key: Vec<u8>,
    seqno: SeqNo,
    address: Address,
}

impl Repair<'_> {
    /// The newest separated value of each key in the ranges of lost tables, where nothing that is left
    /// is newer; in the order of the keys.
    pub(super) fn find_values(
        &mut self,
        own: &KeyspaceParts,
        lost: &[TableRef],
        left: &Version,
        tables: &OpenTables,
    ) -> Result<Vec<Found>> {
        let comparator = &*own.comparator;
        let referred = |table: &TableRef| table.file.references.iter().map(|(id, _)| *id).collect();
        let segments: BTreeSet<SegmentId> =
            lost.iter().flat_map(|table| -> Vec<SegmentId> { referred(table) }).collect();
        let mut found: Vec<Found> = Vec::new();
        for id in segments {
            let Some(segment) = own.version.segments.get(id) else { continue };
            let visited = tables.segments().visit_values(own.id, segment, |key, seqno, address| {
                if lost.iter().any(|table| table.contains(comparator, key)) {
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
        // The newest of each key first. Two of one number are one write, separated again later.
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
        Ok(newest)
    }

    /// Writes what was found into tables, which are durable but for their names.
    pub(super) fn write_table(
        &mut self,
        own: &KeyspaceParts,
        found: Vec<Found>,
    ) -> Result<Vec<FileFacts>> {
        let options = TableBuilderOptions {
            path: PathBuf::new(),
            file_number: 0,
            database_id: self.stored.database,
            keyspace: own.id,
            comparator: Arc::clone(&own.comparator),
            block_size: self.options.block_size,
            compression: Compression::None,
            filter_bits: own.settings.filter_bits(own.version.levels.len(), 0),
            operators: self.stored.registry.resolver().definitions().cloned().collect(),
        };
        let next = Cell::new(self.stored.next_file);
        let next_number = || next.replace(next.get() + 1);
        let memory = WorkMemory::new(Arc::default(), self.options.compaction_memory_budget);
        let mut output = TableOutput::new(&self.fs, &self.names, &next_number, options, &memory);
        let mut address = Vec::new();
        for value in found {
            if output.is_full(self.options.target_file_size(), 0) {
                output.cut_before(&value.key)?;
            }
            address.clear();
            value.address.encode(&mut address);
            let kind = Kind::Separated;
            let header = RecordHeader { seqno: value.seqno, kind, operator: NO_OPERATOR };
            output.add(&value.key, header, &address)?;
        }
        let files = output.finish()?;
        self.stored.next_file = next.get();
        Ok(files)
    }
}

/// Whether something that is left is newer. Records of the bottom have lost their sequence numbers; such
/// a one is older than what was separated after its table was begun.
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
