//! Skylines: the newest tombstone over each key. A skyline is a list of fragments in key order that
//! do not overlap, each with the largest sequence number that covers it.

use crate::key::{Comparator, SeqNo};
use crate::range_tombstone::{Edge, RangeTombstone};

/// Fragments that do not overlap, in key order.
pub(crate) type Skyline = Vec<RangeTombstone>;

/// Combines two skylines: where both cover a key, `newer` wins. The time is linear in both.
pub(crate) fn overlay(
    comparator: &dyn Comparator,
    newer: &[RangeTombstone],
    older: &[RangeTombstone],
) -> Skyline {
    let mut out = Skyline::with_capacity(newer.len() + older.len());
    let mut newer = newer.iter().peekable();
    for below in older {
        let mut start = &below.start;
        loop {
            let above = newer.next_if(|above| above.end.compare(comparator, &below.end).is_lt());
            let Some(above) = above.or_else(|| newer.peek().copied()) else {
                push_between(&mut out, comparator, below, start, &below.end);
                break;
            };
            let cut = Edge::earlier(comparator, &above.start, &below.end);
            push_between(&mut out, comparator, below, start, cut);
            if above.end.compare(comparator, &below.end).is_ge() {
                // The tombstone continues after this fragment, or begins after its end.
                break;
            }
            push(&mut out, above.clone());
            start = Edge::later(comparator, start, &above.end);
        }
    }
    newer.for_each(|above| push(&mut out, above.clone()));
    debug_assert!(
        !comparator.bytewise_order() || is_skyline(comparator, &out),
        "a search finds at most one fragment for a key"
    );
    out
}

/// Returns whether fragments are in key order and do not overlap.
fn is_skyline(comparator: &dyn Comparator, fragments: &[RangeTombstone]) -> bool {
    fragments.is_sorted_by(|before, next| before.end.compare(comparator, &next.start).is_le())
}

/// Makes the skyline of tombstones given oldest first.
pub(crate) fn of(comparator: &dyn Comparator, oldest_first: &[RangeTombstone]) -> Skyline {
    match oldest_first {
        [] => Skyline::new(),
        [only] => vec![only.clone()],
        _ => {
            let (older, newer) = oldest_first.split_at(oldest_first.len() / 2);
            overlay(comparator, &of(comparator, newer), &of(comparator, older))
        }
    }
}

/// Returns the cover of a key. Calls `narrow` with a range around the key in which all keys have
/// the same cover.
#[inline]
pub(crate) fn search(
    skyline: &[RangeTombstone],
    comparator: &dyn Comparator,
    key: &[u8],
    narrow: &mut impl FnMut(&Edge, &Edge),
) -> SeqNo {
    let at = skyline.partition_point(|fragment| fragment.end.is_before(comparator, key));
    match skyline.get(at) {
        Some(fragment) if fragment.start.is_before(comparator, key) => {
            narrow(&fragment.start, &fragment.end);
            fragment.seqno
        }
        next => {
            let before = at.checked_sub(1).map_or(&Edge::Lowest, |before| &skyline[before].end);
            narrow(before, next.map_or(&Edge::Highest, |next| &next.start));
            0
        }
    }
}

fn push_between(
    out: &mut Skyline,
    comparator: &dyn Comparator,
    fragment: &RangeTombstone,
    start: &Edge,
    end: &Edge,
) {
    if start.compare(comparator, end).is_lt() {
        let (start, end) = (start.clone(), end.clone());
        push(out, RangeTombstone { start, end, seqno: fragment.seqno });
    }
}

/// Appends a fragment, or extends the previous one if the fragment continues it.
pub(crate) fn push(out: &mut Skyline, fragment: RangeTombstone) {
    match out.last_mut() {
        Some(last) if last.seqno == fragment.seqno && last.end == fragment.start => {
            last.end = fragment.end;
        }
        _ => out.push(fragment),
    }
}
