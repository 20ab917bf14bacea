//! Checks of the order invariant (H4).
//!
//! For each key, walking levels from the top and runs newest first never meets a larger sequence
//! number after a smaller one. Sequence numbers of whole files cannot prove this: they include keys
//! that a trimmed reference no longer shows. So every new version asserts only the structure of
//! runs. Builds with debug assertions also check every key of small trees.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Result;
use crate::key::{Comparator, SeqNo};
use crate::range_tombstone::{Edge, RangeTombstone};
use crate::table::{CursorOptions, TableCursor};
use crate::version::level::{Run, Version};
use crate::version::open_tables::OpenTables;

/// Asserts that the tables of each run are in order and disjoint, and that no table ends before it
/// begins.
///
/// # Panics
/// If one of these does not hold. The engine then has a bug, and going on could lose writes.
pub(crate) fn check_structure(version: &Version, comparator: &dyn Comparator) {
    for (level, run) in version.runs() {
        for table in &run.tables {
            assert!(
                comparator.compare(&table.lo, table.hi.key()) != Ordering::Greater,
                "level {level}: {:?} ends before it begins",
                table.file
            );
        }
        for pair in run.tables.windows(2) {
            assert!(
                !pair[0].hi.admits(comparator, &pair[1].lo),
                "level {level}: {:?} and {:?} overlap in run {}",
                pair[0].file,
                pair[1].file,
                run.id
            );
        }
    }
}

/// Asserts the invariant key by key, with range tombstones. The check reads every record, so it is
/// for small trees.
///
/// # Errors
/// Those of reading the tables.
///
/// # Panics
/// If the invariant does not hold.
pub(crate) fn check_order(
    version: &Version,
    tables: &OpenTables,
    comparator: &dyn Comparator,
) -> Result<()> {
    let mut oldest_above: HashMap<Vec<u8>, SeqNo> = HashMap::new();
    let mut deleted_above: Vec<RangeTombstone> = Vec::new();
    for (level, run) in version.runs() {
        let place = format!("level {level} run {}", run.id);
        let deleted_here = tombstones_of(run, tables, comparator)?;
        check_tombstones(&place, &deleted_here, &deleted_above, &oldest_above, comparator);
        let mut oldest_here: HashMap<Vec<u8>, SeqNo> = HashMap::new();
        for table in &run.tables {
            let mut cursor =
                TableCursor::new(tables.get_owned(&table.file)?, CursorOptions::walk());
            cursor.seek(&table.lo)?;
            while cursor.valid() && table.hi.admits(comparator, cursor.key()) {
                let (key, seqno) = (cursor.key(), cursor.header().seqno);
                let covers = deleted_above.iter().filter(|t| t.contains(comparator, key));
                let above = oldest_above.get(key).copied().into_iter();
                if let Some(above) = above.chain(covers.map(|t| t.seqno)).min() {
                    assert!(
                        seqno < above,
                        "{place}: key {} has seqno {seqno} below seqno {above}",
                        key.escape_ascii()
                    );
                }
                oldest_here.insert(key.to_vec(), seqno);
                cursor.next()?;
            }
        }
        oldest_above.extend(oldest_here);
        deleted_above.extend(deleted_here);
    }
    Ok(())
}

/// Returns the visible range tombstones of a run.
fn tombstones_of(
    run: &Run,
    tables: &OpenTables,
    comparator: &dyn Comparator,
) -> Result<Vec<RangeTombstone>> {
    let mut all = Vec::new();
    for table in run.tables.iter().filter(|table| table.has_range_tombstones()) {
        let (lo, hi) = (Edge::Before(Arc::clone(&table.lo)), table.hi.edge());
        let reader = tables.get_owned(&table.file)?;
        let set = reader.range_tombstones().map_or_else(Vec::new, |set| set.to_vec());
        all.extend(set.iter().filter_map(|t| t.clipped(comparator, &lo, &hi)));
    }
    Ok(all)
}

/// Asserts that the range tombstones of a run are older than the records of newer runs in their
/// ranges.
fn check_tombstones(
    place: &str,
    tombstones: &[RangeTombstone],
    deleted_above: &[RangeTombstone],
    oldest_above: &HashMap<Vec<u8>, SeqNo>,
    comparator: &dyn Comparator,
) {
    for tombstone in tombstones {
        let keys = oldest_above.iter().filter(|(key, _)| tombstone.contains(comparator, key));
        let overlaps = |above: &&RangeTombstone| {
            above.clipped(comparator, &tombstone.start, &tombstone.end).is_some()
        };
        let deleted = deleted_above.iter().filter(overlaps).map(|above| above.seqno);
        if let Some(above) = keys.map(|(_, &seqno)| seqno).chain(deleted).min() {
            assert!(tombstone.seqno < above, "{place}: {tombstone:?} lies below seqno {above}");
        }
    }
}
