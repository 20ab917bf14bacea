//! The order invariant (H4), checked.
//!
//! For each key, walking levels from the top and runs newest first never meets a larger sequence
//! number after a smaller one. File-level bounds cannot prove it (a trimmed file's bounds speak of
//! keys it no longer shows), so what is asserted at every install is the structure, and in builds
//! with debug assertions, for trees small enough, every key.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::error::Result;
use crate::key::{Comparator, SeqNo};
use crate::table::{CursorOptions, TableCursor};
use crate::version::level::Version;
use crate::version::open_tables::OpenTables;

/// Asserts that tables of a run are in order, inside their files and disjoint.
///
/// # Panics
/// When they are not: the engine itself is broken, and going on could lose writes.
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

/// Asserts the invariant key by key. Reads every record: for small trees.
///
/// # Errors
/// Those of reading the tables.
///
/// # Panics
/// When the invariant does not hold.
pub(crate) fn check_order(
    version: &Version,
    tables: &OpenTables,
    comparator: &dyn Comparator,
) -> Result<()> {
    let mut oldest_above: HashMap<Vec<u8>, SeqNo> = HashMap::new();
    for (level, run) in version.runs() {
        let mut oldest_here: HashMap<Vec<u8>, SeqNo> = HashMap::new();
        for table in &run.tables {
            let mut cursor =
                TableCursor::new(tables.get_owned(&table.file)?, CursorOptions::walk());
            cursor.seek(&table.lo)?;
            while cursor.valid() && table.hi.admits(comparator, cursor.key()) {
                let seqno = cursor.header().seqno;
                if let Some(&above) = oldest_above.get(cursor.key()) {
                    assert!(
                        seqno < above,
                        "level {level} run {}: key {} has seqno {seqno} below seqno {above}",
                        run.id,
                        cursor.key().escape_ascii()
                    );
                }
                oldest_here.insert(cursor.key().to_vec(), seqno);
                cursor.next()?;
            }
        }
        oldest_above.extend(oldest_here);
    }
    Ok(())
}
