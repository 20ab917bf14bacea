//! Which range tombstones a flush or compaction passes on.
//!
//! Of each snapshot stripe, only the newest tombstone around a key matters. A reader that sees an
//! older one of the stripe also sees the newest, and the newest hides all that the older one hides.
//! A tombstone reaches no further than what it may have to hide. In the oldest stripe, these are
//! the older tables around it. In the others, these are also the records that the job itself keeps
//! for snapshots. Even a tombstone over all keys is therefore cut to a range between two keys
//! before it enters a table. A tombstone with nothing below it is dropped:
//!
//! ```text
//! snapshots 4          [..]@9 [b, f)@7 [c, z)@3        older tables: [d..m]
//! passed on            [b, m]@9 [d, m]@3               the job's own records: [b..k]
//! ```

use crate::key::{Comparator, SeqNo};
use crate::range_tombstone::{Edge, RangeTombstone, skyline};
use crate::rewriting::older_tables::OlderTables;

/// The range tombstones to pass on.
#[derive(Debug, Default)]
pub(crate) struct PassedOn {
    /// In the order of their starts.
    pub(crate) tombstones: Vec<RangeTombstone>,
    /// The newest snapshot without which one of them would be dropped; 0 for none.
    pub(crate) kept_apart: SeqNo,
}

/// Picks the tombstones to pass on. `own` is where the job's own records lie, if it has any.
pub(crate) fn passed_on(
    mut tombstones: Vec<RangeTombstone>,
    snapshots: &[SeqNo],
    older: &OlderTables,
    own: Option<&(Edge, Edge)>,
    comparator: &dyn Comparator,
) -> PassedOn {
    tombstones.sort_by_key(|tombstone| tombstone.seqno);
    let (mut kept, mut kept_apart) = (Vec::new(), 0);
    let mut rest = &tombstones[..];
    while let Some(oldest) = rest.first() {
        let stripe = snapshots.partition_point(|&snapshot| snapshot < oldest.seqno);
        let end = snapshots.get(stripe).copied().unwrap_or(SeqNo::MAX);
        let (here, newer) = rest.split_at(rest.partition_point(|t| t.seqno <= end));
        rest = newer;
        let own = own.filter(|_| stripe > 0);
        for fragment in skyline::of(comparator, here) {
            let around = older.around(&fragment);
            let held_by = if around.is_none() && stripe > 0 { snapshots[stripe - 1] } else { 0 };
            let Some((start, end)) = hull(around, own, comparator) else { continue };
            if let Some(clipped) = fragment.clipped(comparator, &start, &end) {
                kept.push(clipped);
                kept_apart = held_by.max(kept_apart);
            }
        }
    }
    kept.sort_by(|a, b| a.start.compare(comparator, &b.start).then(b.seqno.cmp(&a.seqno)));
    PassedOn { tombstones: kept, kept_apart }
}

/// Returns the smallest range that holds both.
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
