//! A cursor over very many unsorted keys.
//!
//! The last source of the cursor is a window: the unsorted keys around its position. When the
//! cursor is repositioned, it takes another window, and uses keys that background threads have
//! sorted by then. When it walks out of the window, it sorts the rest for all readers. Invariant:
//! while the cursor stands at a record, the window holds the neighbours of that position.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::cursor::{Cursor, Source, all_sources, sources_of};
use crate::order::{Place, compare, key_of};

/// The state of a cursor that may need windows.
pub(super) struct Partial {
    /// The length of the key list when the cursor was created.
    nodes: u32,
    /// Whether the last source is a window.
    has_window: bool,
}

impl Partial {
    pub(super) fn new(nodes: u32) -> Partial {
        Partial { nodes, has_window: false }
    }
}

impl Cursor {
    /// Makes sure that the sources hold the keys around a place, before they are positioned there.
    #[inline]
    pub(super) fn cover(&mut self, place: Place<'_>) {
        if self.partial.is_some() {
            self.look_around(place);
        }
    }

    #[cold]
    fn look_around(&mut self, place: Place<'_>) {
        let Some(Partial { nodes, .. }) = self.partial else { return };
        if self.window().is_some_and(|window| self.is_known(window, place)) {
            return;
        }
        if !self.chains.order.is_far_behind(nodes) {
            return self.have_all_sorted(place);
        }
        let (shared, window) = self.chains.order.window(&self.chains, nodes, place);
        let tail = window.as_ref().map(|window| &window.stretch);
        let mut sources = sources_of(&self.chains, shared.iter().chain(tail));
        if let (Some(window), Some(source)) = (&window, sources.last_mut()) {
            (source.ends_below, source.ends_above) = (window.ends_below, window.ends_above);
        }
        let partial = window.map(|_| Partial { nodes, has_window: true });
        self.stand_at(place, sources, partial);
    }

    /// Returns whether the keys on both sides of a place are in the window.
    fn is_known(&self, window: &Source, place: Place<'_>) -> bool {
        let at = place.rank_in(&self.chains, &window.stretch);
        (at > 0 || !window.ends_below) && (at < window.stretch.len() || !window.ends_above)
    }

    fn have_all_sorted(&mut self, place: Place<'_>) {
        self.stand_at(place, all_sources(&self.chains), None);
    }

    fn stand_at(
        &mut self,
        place: Place<'_>,
        mut sources: SmallVec<[Source; 6]>,
        partial: Option<Partial>,
    ) {
        for source in &mut sources {
            source.at = place.rank_in(&self.chains, &source.stretch);
            source.fetched = source.at;
        }
        // From here on nothing panics: after a panic of the comparator the cursor is unchanged.
        self.sources = sources;
        self.partial = partial;
        self.gone.clear();
    }

    /// Handles a cursor that goes to larger keys and found none. Sorts all keys if some may lie
    /// after the window. Returns whether it sorted.
    #[cold]
    pub(super) fn look_behind_window(&mut self) -> bool {
        let chains = Arc::clone(&self.chains);
        let last = self.window().filter(|window| window.ends_above);
        let Some(last) = last.and_then(|window| window.stretch.entries().last()) else {
            return false;
        };
        let last = key_of(&chains, last.node);
        // The positions of other sources stay if the cursor jumps over gone keys in this source.
        let others = self.sources.iter().filter_map(|source| source.entry(source.at));
        let next = others.min_by(|a, b| compare(&chains, *a, *b));
        let next = next.map(|next| key_of(&chains, next.node));
        let keys = chains.order.keys();
        self.have_all_sorted(match next.filter(|next| keys.compare(next, last).is_lt()) {
            Some(next) => Place::Before(next),
            None => Place::Behind(last),
        });
        true
    }

    /// Handles a cursor that goes to smaller keys and found none. Sorts all keys if some may lie
    /// before the window. Returns whether it sorted.
    #[cold]
    pub(super) fn look_before_window(&mut self) -> bool {
        let chains = Arc::clone(&self.chains);
        let first = self.window().filter(|window| window.ends_below);
        let Some(first) = first.and_then(|window| window.stretch.entries().first()) else {
            return false;
        };
        let first = key_of(&chains, first.node);
        let before = |source: &Source| source.entry(source.at.wrapping_sub(1));
        let previous =
            self.sources.iter().filter_map(before).max_by(|a, b| compare(&chains, *a, *b));
        let previous = previous.map(|previous| key_of(&chains, previous.node));
        let keys = chains.order.keys();
        self.have_all_sorted(match previous.filter(|key| keys.compare(key, first).is_gt()) {
            Some(previous) => Place::Behind(previous),
            None => Place::Before(first),
        });
        true
    }

    /// Returns the last source, if it is a window.
    fn window(&self) -> Option<&Source> {
        self.sources.last().filter(|_| self.partial.as_ref().is_some_and(|it| it.has_window))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeSet;
    use std::ops::Bound;

    use xxhash_rust::xxh3::xxh3_64;

    use super::*;
    use crate::{ArenaPool, Chains, Cover, KeyOrder, Way, Writer};

    struct Model {
        writer: Writer,
        chains: Arc<Chains>,
        keys: BTreeSet<Vec<u8>>,
        descending: bool,
        seqno: u64,
    }

    impl Model {
        fn new(descending: bool) -> Model {
            let order = match descending {
                true => KeyOrder::Custom(Arc::new(|a: &[u8], b: &[u8]| b.cmp(a))),
                false => KeyOrder::Bytewise,
            };
            let (writer, chains) = Chains::create(&ArenaPool::new(0), 1 << 20, order);
            Model { writer, chains, keys: BTreeSet::new(), descending, seqno: 0 }
        }

        fn write(&mut self, key: &[u8]) {
            self.seqno += 1;
            self.writer.insert(xxh3_64(key), key, self.seqno, 1, 0, b"value").unwrap();
            self.keys.insert(key.to_vec());
        }

        /// The keys in the order of the cursor.
        fn sorted(&self) -> Vec<&[u8]> {
            let mut sorted: Vec<&[u8]> = self.keys.iter().map(|key| &key[..]).collect();
            if self.descending {
                sorted.reverse();
            }
            sorted
        }

        fn is_less(&self, a: &[u8], b: &[u8]) -> bool {
            if self.descending { b < a } else { a < b }
        }
    }

    fn random(seed: &mut u64) -> usize {
        *seed = xxh3_64(&seed.to_le_bytes());
        *seed as usize
    }

    /// Keys in several shapes and orders of arrival.
    fn key(shape: usize, n: u64) -> Vec<u8> {
        let scattered = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        match shape {
            0 => scattered.to_be_bytes().to_vec(),
            1 => format!("user{:012}", scattered % 1_000_000_000_000).into_bytes(),
            2 => n.to_be_bytes().to_vec(),
            3 => (u64::MAX - n).to_be_bytes().to_vec(),
            4 => format!("{}{scattered:020}", ["left", "right"][n as usize % 2]).into_bytes(),
            5 => [&b"a long beginning that all have"[..], &scattered.to_be_bytes()].concat(),
            _ => vec![0; n as usize % 200],
        }
    }

    /// A cursor with windows shows the same as a sorted list, wherever it goes.
    #[test]
    fn a_cursor_with_windows_walks_like_any_other() {
        let keys = if cfg!(miri) { 150 } else { 1000 };
        for (shape, descending) in (0..7).flat_map(|shape| [(shape, false), (shape, true)]) {
            let mut model = Model::new(descending);
            // One of each is unlike the others.
            [&b"a"[..], b"z", b""].into_iter().for_each(|key| model.write(key));
            for n in 0..keys {
                model.write(&key(shape, n));
            }
            let (sorted, mut seed) = (model.sorted(), shape as u64);
            let mut windows = 0;
            for round in 0..if cfg!(miri) { 3 } else { 60 } {
                let mut cursor = model.chains.cursor(model.seqno);
                let mut at: Option<usize> = None;
                for _ in 0..if cfg!(miri) { 6 } else { 40 } {
                    let target = match random(&mut seed) % 3 {
                        0 => sorted[random(&mut seed) % sorted.len()].to_vec(),
                        1 => key(shape, random(&mut seed) as u64 % (2 * keys)),
                        _ => [sorted[random(&mut seed) % sorted.len()], &[0][..]].concat(),
                    };
                    let rank = sorted.partition_point(|key| model.is_less(key, &target));
                    match random(&mut seed) % 8 {
                        0 => (cursor.seek_to_first(), at = Some(0)).0,
                        1 => (cursor.seek_to_last(), at = sorted.len().checked_sub(1)).0,
                        2 => (cursor.seek(&target), at = Some(rank)).0,
                        3 => (cursor.seek_before(&target), at = rank.checked_sub(1)).0,
                        way => {
                            for _ in 0..random(&mut seed) % 30 {
                                let Some(now) = at.filter(|_| cursor.valid()) else { break };
                                if way % 2 == 0 {
                                    cursor.next_key();
                                    at = Some(now + 1);
                                } else {
                                    cursor.prev_key();
                                    at = now.checked_sub(1);
                                }
                            }
                        }
                    }
                    let expected = at.and_then(|at| sorted.get(at)).copied();
                    assert_eq!(cursor.valid().then(|| cursor.key()), expected, "{shape} {round}");
                    at = at.filter(|_| expected.is_some());
                    windows += usize::from(cursor.window().is_some());
                }
            }
            assert!(windows > 0, "shape {shape}: the test is about windows");
        }
    }

    /// A cursor passes keys under a range delete in leaps, which lead to the ends of the window.
    /// Keys that were written again lie in another source, and the cursor does not leap over them.
    #[test]
    fn a_cursor_with_windows_passes_gone_keys() {
        let (seeds, keys, in_order) = if cfg!(miri) { (2, 120, 40) } else { (100, 400, 150) };
        for seed in 0..seeds {
            let mut state = seed;
            let mut model = Model::new(false);
            for n in 0..keys {
                model.write(&key(0, n));
                if n == in_order {
                    model.chains.order_all();
                }
            }
            model.seqno += 1;
            let deleted = model.seqno;
            model.writer.note_range_delete(deleted);
            let mut expected: Vec<Vec<u8>> =
                (0..20).map(|_| key(0, random(&mut state) as u64 % in_order)).collect();
            expected.sort();
            expected.dedup();
            expected.iter().for_each(|key| model.write(key));
            let cover = Cover { seqno: deleted, from: Bound::Unbounded, to: Bound::Unbounded };
            let way = if seed % 2 == 0 { Way::Forward } else { Way::Backward };
            let mut cursor = model.chains.cursor(model.seqno);
            match way {
                Way::Forward => cursor.seek(&key(0, seed)),
                Way::Backward => cursor.seek_before(&key(0, seed)),
            }
            assert!(cursor.window().is_some());
            let is_ahead = |there: &&Vec<u8>| match way {
                Way::Forward => **there >= key(0, seed),
                Way::Backward => **there < key(0, seed),
            };
            let mut ahead: Vec<_> = expected.iter().filter(is_ahead).collect();
            let mut seen = Vec::new();
            while cursor.valid() {
                if cursor.pass_gone(way, model.seqno, Some(cover), None) {
                    continue;
                }
                seen.push(cursor.key().to_vec());
                match way {
                    Way::Forward => cursor.next_key(),
                    Way::Backward => cursor.prev_key(),
                }
            }
            if way == Way::Backward {
                ahead.reverse();
            }
            assert!(seen.iter().eq(ahead), "{way:?}, seed {seed}");
        }
    }

    /// A cursor uses the keys that other threads have sorted by the time it is positioned.
    #[test]
    fn a_cursor_with_windows_uses_keys_that_others_sorted() {
        let mut model = Model::new(false);
        (0..500).for_each(|n| model.write(&key(0, n)));
        let sorted = model.sorted();
        let mut cursor = model.chains.cursor(model.seqno);
        for (at, key) in sorted.iter().enumerate().step_by(37) {
            cursor.seek(key);
            assert_eq!(cursor.key(), *key);
            if at % 2 == 0 {
                model.chains.advance_order();
            }
        }
        model.chains.order_all();
        cursor.seek(sorted[0]);
        assert!(cursor.partial.is_none(), "all is sorted: there is no window");
        assert_eq!(cursor.key(), sorted[0]);
        assert_eq!(model.chains.cursor(model.seqno).stretches(), 1);
    }

    /// A comparison that panics leaves the cursor usable.
    #[test]
    fn a_window_whose_comparison_panics_is_taken_again() {
        use std::panic::{AssertUnwindSafe, catch_unwind};
        use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

        let left = Arc::new(AtomicU64::new(u64::MAX));
        let counts = Arc::clone(&left);
        let order = KeyOrder::Custom(Arc::new(move |a: &[u8], b: &[u8]| {
            assert!(counts.fetch_sub(1, Relaxed) != 0, "one comparison panics");
            a.cmp(b)
        }));
        let mut model = Model::new(false);
        (model.writer, model.chains) = Chains::create(&ArenaPool::new(0), 1 << 20, order);
        (0..500).for_each(|n| model.write(&key(0, n)));
        let sorted = model.sorted();
        for panics_after in (0..2000).step_by(if cfg!(miri) { 700 } else { 23 }) {
            let mut cursor = model.chains.cursor(model.seqno);
            cursor.seek(sorted[250]);
            left.store(panics_after, Relaxed);
            let _ = catch_unwind(AssertUnwindSafe(|| {
                (0..100).for_each(|_| cursor.next_key());
                cursor.seek_to_last();
            }));
            left.store(u64::MAX, Relaxed);
            cursor.seek(sorted[20]);
            for key in &sorted[20..400] {
                assert_eq!(cursor.key(), *key, "after a panic at {panics_after}");
                cursor.next_key();
            }
        }
    }
}
