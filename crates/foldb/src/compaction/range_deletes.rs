//! Which range tombstones a flush or compaction passes on.
//!
//! Of each snapshot stripe only the newest around a key matters: the older ones of the stripe hide
//! nothing more from anybody. A tombstone reaches no further than what it may have to hide: in the
//! oldest stripe the older tables around it, in the others also what the job itself keeps for
//! snapshots. So one over "everything" ends at keys once it is in a table, and one with nothing
//! below is gone:
//!
//! ```text
//! snapshots 4          [..]@9 [b, f)@7 [c, z)@3        older tables: [d..m]
//! passed on            [b, m]@9 (if the job keeps b..) [d, m]@3
//! ```

use crate::compaction::folding::OlderTables;
use crate::key::{Comparator, SeqNo};
use crate::range_tombstone::{Edge, RangeTombstone, skyline};

/// The tombstones to pass on, in the order of their starts. `own` is where the job's own records lie, if
/// it has any.
pub(crate) fn passed_on(
    mut tombstones: Vec<RangeTombstone>,
    snapshots: &[SeqNo],
    older: &OlderTables,
    own: Option<&(Edge, Edge)>,
    comparator: &dyn Comparator,
) -> Vec<RangeTombstone> {
    tombstones.sort_by_key(|tombstone| tombstone.seqno);
    let mut kept = Vec::new();
    let mut rest = &tombstones[..];
    for stripe in 0..=snapshots.len() {
        let end = snapshots.get(stripe).copied().unwrap_or(SeqNo::MAX);
        let (here, newer) = rest.split_at(rest.partition_point(|t| t.seqno <= end));
        rest = newer;
        let own = own.filter(|_| stripe > 0);
        for fragment in skyline::of(comparator, here) {
            let Some((start, end)) = hull(older.around(&fragment), own, comparator) else {
                continue;
            };
            kept.extend(fragment.clipped(comparator, &start, &end));
        }
    }
    kept.sort_by(|a, b| a.start.compare(comparator, &b.start).then(b.seqno.cmp(&a.seqno)));
    kept
}

/// The least range that holds both.
fn hull(
    a: Option<(Edge, Edge)>,
    b: Option<&(Edge, Edge)>,
    comparator: &dyn Comparator,
) -> Option<(Edge, Edge)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((
            Edge::earlier(comparator, &a.0, &b.0).clone(),
            Edge::later(comparator, &a.1, &b.1).clone(),
        )),
        (a, b) => a.or_else(|| b.cloned()),
    }
}
