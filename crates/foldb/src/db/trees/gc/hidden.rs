//! What a tree hides: values that were overwritten or deleted, and are not known to be dead before
//! it is compacted (H21).

use crate::db::state::tree::KeyspaceTree;

/// What a tree hides of its values being dead.
struct Hidden {
    /// Bytes in segment files.
    used: u64,
    /// Of those, bytes known to be dead.
    dead: u64,
    /// Bytes that may be dead and are not known to be: each record above the oldest run may hide
    /// one below it.
    at_most: f64,
    /// Bytes of the tables.
    index: u64,
}

impl KeyspaceTree {
    /// `None` where no values are separated.
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

    /// Whether the tree is to be compacted before a collection on demand: what it may hide
    /// is more than may be left, and finding out is cheaper than rewriting values.
    pub(crate) fn is_worth_compacting_first(&self, fraction: f64) -> bool {
        self.hidden().is_some_and(|Hidden { used, dead, at_most, index }| {
            at_most > 0.0 && dead as f64 + at_most > fraction * used as f64 && index <= used
        })
    }

    /// Whether more than a fraction of the values may be dead, though less is known to be, as far
    /// as the tree's own merges teach. Only where the tree is small beside its values, so that
    /// compacting it costs little, and if it hides more than `least` of them.
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
