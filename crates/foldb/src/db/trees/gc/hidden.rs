//! Hidden dead values: values that were overwritten or deleted, but are not known to be dead until
//! a compaction reads their records (H21).

use crate::db::state::tree::KeyspaceTree;

/// The known dead bytes of a tree's values, and an upper bound of those that are not known yet.
struct Hidden {
    /// Bytes in segment files.
    used: u64,
    /// Bytes in segment files that are known to be dead.
    dead: u64,
    /// Bytes that may be dead but are not known to be: each record above the oldest run may replace
    /// a record below it.
    at_most: f64,
    /// Bytes of the tables.
    index: u64,
}

impl KeyspaceTree {
    /// Returns the hidden dead bytes; `None` if no values are separated.
    fn hidden(&self) -> Option<Hidden> {
        if self.version.segments.is_empty() {
            return None;
        }
        let mut hidden = Hidden { used: 0, dead: 0, at_most: 0.0, index: 0 };
        for file in self.version.segments.files().into_values() {
            hidden.used += file.used();
            hidden.dead += file.dead();
        }
        let (mut upper, mut last, mut referred) = (0, 0, 0);
        for (_, run) in self.version.runs() {
            upper += std::mem::take(&mut last);
            for table in &run.tables {
                let file = &table.file;
                last += file.entries + file.range_deleted;
                referred += file.references.iter().map(|(_, bytes)| bytes).sum::<u64>();
                hidden.index += file.len;
            }
        }
        let each = referred as f64 / (upper + last).max(1) as f64;
        hidden.at_most = (upper as f64 * each).min(referred as f64);
        Some(hidden)
    }

    /// Returns whether to compact the tree before a collection on demand. That is worth it if the
    /// tree may hide more dead bytes than `fraction` allows, and if its tables are no larger than
    /// its values.
    pub(crate) fn is_worth_compacting_first(&self, fraction: f64) -> bool {
        self.hidden().is_some_and(|Hidden { used, dead, at_most, index }| {
            at_most > 0.0 && dead as f64 + at_most > fraction * used as f64 && index <= used
        })
    }

    /// Returns whether the known dead bytes are at most `fraction` of the values' bytes, but more
    /// together with an estimate of the hidden ones. The estimate uses the dead share that the
    /// tree's own compactions found, and must exceed the share `least` of the values' bytes. The
    /// tables must be small compared with the values, so that compacting them costs little.
    pub(crate) fn hides_dead_values(&self, fraction: f64, least: f64) -> bool {
        self.hidden().is_some_and(|Hidden { used, dead, at_most, index }| {
            let (bound, dead) = (fraction * used as f64, dead as f64);
            let estimate = at_most * self.dead_share.get();
            dead <= bound
                && dead + estimate > bound
                && estimate > least * used as f64
                && index <= used / 4
        })
    }
}
