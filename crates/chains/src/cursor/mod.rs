//! A cursor over the records of a memtable, in both directions.
//!
//! Records come in the order (key ascending, sequence number descending). The cursor merges the
//! sorted stretches that cover the key list; each is a source with a position. Invariant: the
//! position of every source is the number of its keys before the current one. This also holds
//! before the first and after the last key. So the next key is the least one *at* a position, and
//! the previous key is the greatest one *before* a position. Changing direction costs nothing.

mod partial;

use std::fmt;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::bytes::ValueBytes;
use crate::chains::{Chains, Index};
use crate::cursor::partial::Partial;
use crate::gone::{Cover, GoneRun, covered_run, gone_at};
use crate::layout::{IN_NODE, NODE, visible_up_to};
use crate::lookahead::{Direction, Lookahead};
use crate::node::Node;
use crate::order::{Entry, Place, Rebase, Stretch, common_of, compare};
use crate::pinned::PinnedBytes;
use crate::planted::{Fault, planted};
use crate::versions::{Version, Versions};

/// A stretch and the cursor's position in it.
struct Source {
    stretch: Arc<Stretch>,
    rebase: Rebase,
    /// How many of its keys are before the current one.
    at: usize,
    /// The entry up to which the walk has prefetched.
    fetched: usize,
    /// Whether it is a window, and keys of its nodes lie before the window.
    ends_below: bool,
    /// Whether it is a window, and keys of its nodes lie after the window.
    ends_above: bool,
}

impl Source {
    /// Returns entry `index` in a form that compares with those of other sources.
    #[inline]
    fn entry(&self, index: usize) -> Option<Entry> {
        let entry = *self.stretch.entries().get(index)?;
        Some(Entry { prefix: self.rebase.prefix(entry.prefix), node: entry.node })
    }
}

/// The place of a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// At no record.
    Nowhere,
    /// At the version `link` of a node, which is the current entry of a source.
    At { source: usize, node: u32, link: u32 },
}

/// Walks the records that a reader sees, in both directions. It keeps the memtable alive and shows
/// its keys as of its creation: later keys and versions have sequence numbers above its own. A new
/// cursor stands nowhere: seek first.
pub struct Cursor {
    chains: Arc<Chains>,
    max_seqno: u64,
    max_word: u64,
    /// Snapshots for which the cursor must show every visible record, ascending. If a snapshot sees
    /// only a part of a folded version, the cursor shows the versions that it stands for. Empty if
    /// `max_seqno` alone decides.
    snapshots: Box<[u64]>,
    sources: SmallVec<[Source; 6]>,
    /// Set while the last source is a window of unsorted keys.
    partial: Option<Partial>,
    position: Position,
    /// Links of the current key's versions from the newest to the current one. Empty until the
    /// cursor goes backwards among them.
    trail: Vec<u32>,
    lookahead: Lookahead,
    /// The last run of gone keys in each source. Empty until the cursor finds a gone key.
    gone: Vec<Gathered>,
}

/// A run of keys found gone that grows as the cursor walks.
struct Gathered {
    run: GoneRun,
    /// Number of its keys that are not yet noted in the stretch.
    unnoted: usize,
    /// Sequence number of the last range delete that removed few neighbours.
    barren: u64,
}

/// Keys that a cursor gathers before it notes them in the stretch. A later cursor walks over at
/// most this many gone keys.
const NOTED_EVERY: usize = if cfg!(any(miri, loom)) { 2 } else { 4 };

/// The direction of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To larger keys.
    Forward,
    /// To smaller keys.
    Backward,
}

impl Cursor {
    pub(crate) fn new(chains: Arc<Chains>, max_seqno: u64) -> Cursor {
        let nodes = chains.nodes();
        if chains.order.is_far_behind(nodes) {
            return Cursor::over(chains, max_seqno, SmallVec::new(), Some(Partial::new(nodes)));
        }
        let sources = all_sources(&chains);
        Cursor::over(chains, max_seqno, sources, None)
    }

    pub(crate) fn for_snapshots(chains: Arc<Chains>, snapshots: &[u64]) -> Cursor {
        let sources = all_sources(&chains);
        let cursor = Cursor::over(chains, crate::layout::MAX_SEQNO, sources, None);
        Cursor { snapshots: snapshots.into(), ..cursor }
    }

    fn over(
        chains: Arc<Chains>,
        max_seqno: u64,
        sources: SmallVec<[Source; 6]>,
        partial: Option<Partial>,
    ) -> Cursor {
        Cursor {
            chains,
            max_seqno,
            max_word: visible_up_to(max_seqno),
            snapshots: Box::default(),
            sources,
            partial,
            position: Position::Nowhere,
            trail: Vec::new(),
            lookahead: Lookahead::default(),
            gone: Vec::new(),
        }
    }

    /// Goes to the first record.
    pub fn seek_to_first(&mut self) {
        self.cover(Place::First);
        for source in &mut self.sources {
            source.at = 0;
        }
        self.begin_walk();
        self.land_forward();
    }

    /// Goes to the last record.
    pub fn seek_to_last(&mut self) {
        self.cover(Place::Last);
        for source in &mut self.sources {
            source.at = source.stretch.len();
        }
        self.begin_walk();
        self.land_backward();
    }

    /// Goes to the first record of the first key that is at least `key`.
    pub fn seek(&mut self, key: &[u8]) {
        self.approach(key);
        self.land();
    }

    /// Does the first half of a [`Cursor::seek`]: finds the place, and prefetches the memory that
    /// the second half, [`Cursor::land`], reads. Between the halves, the cursor stands nowhere.
    pub fn approach(&mut self, key: &[u8]) {
        self.position = Position::Nowhere;
        self.rank_sources(key);
        self.begin_walk();
        for source in &self.sources {
            if let Some(entry) = source.stretch.entries().get(source.at) {
                self.chains.prefetch(entry.node as usize * NODE);
            }
        }
    }

    /// Does the second half of a [`Cursor::seek`], after a [`Cursor::approach`].
    pub fn land(&mut self) {
        self.land_forward();
    }

    /// Goes to the last record of the last key that is less than `key`.
    pub fn seek_before(&mut self, key: &[u8]) {
        self.rank_sources(key);
        self.begin_walk();
        self.land_backward();
    }

    /// Goes to the next record: an older version of the key, else the next key. Does nothing if
    /// the cursor stands nowhere.
    #[inline]
    pub fn next(&mut self) {
        let Position::At { source, node, link } = self.position else { return };
        // SAFETY: a position's link is an acquired one of its node.
        match unsafe { self.older(self.node(node), link) } {
            Some(older) => {
                self.lookahead.deeper();
                self.position = Position::At { source, node, link: older };
                if !self.trail.is_empty() {
                    self.trail.push(older);
                }
            }
            None => self.next_key(),
        }
    }

    /// Goes to the first record of the next key. Does nothing if the cursor stands nowhere.
    #[inline]
    pub fn next_key(&mut self) {
        let Position::At { source, .. } = self.position else { return };
        self.sources[source].at += 1;
        self.land_forward();
    }

    /// Goes to the oldest record of the previous key. Does nothing if the cursor stands nowhere.
    #[inline]
    pub fn prev_key(&mut self) {
        if self.valid() {
            self.land_backward();
        }
    }

    /// Moves on from a key that is gone for a reader at `seqno`: deleted, or older than the range
    /// deletes that `cover` it. The cursor jumps over neighbours that an earlier cursor found gone,
    /// or that the same deletes cover, but it stops before `limit`. Returns whether the key was
    /// gone; if not, the cursor stays.
    ///
    /// Other sources of the caller may hold older records of the passed keys, which the caller must
    /// hide. So it gives the next key of these sources as `limit`.
    pub fn pass_gone(
        &mut self,
        way: Way,
        seqno: u64,
        cover: Option<Cover<'_>>,
        limit: Option<&[u8]>,
    ) -> bool {
        let Position::At { source, node, .. } = self.position else { return false };
        // Read before the version: see `gone`.
        let mut checked = self.chains.revived.count();
        let node = self.node(node);
        // SAFETY: `newest` is an acquired link of this chain.
        let (newest, _) = unsafe { node.word_and_depth(node.newest()) };
        if planted(Fault::CheckGoneLate) {
            checked = self.chains.revived.count();
        }
        let covered_to = cover.map_or(0, |cover| cover.seqno);
        let Some(gone_at) = gone_at(newest, covered_to).filter(|gone_at| *gone_at <= seqno) else {
            return false;
        };
        let at = self.sources[source].at;
        let to = self
            .gather(source, GoneRun { entries: at..at + 1, seqno: gone_at, checked })
            .or_else(|| self.gather_covered(source, cover?))
            .filter(|run| run.seqno <= seqno);
        let Source { stretch, at, .. } = &mut self.sources[source];
        let rank = limit.map(|limit| stretch.rank(&self.chains, limit));
        match way {
            Way::Forward => {
                let end = to.map_or(*at + 1, |run| run.entries.end);
                *at = end.min(rank.unwrap_or(usize::MAX)).max(*at + 1);
                self.land_forward();
            }
            Way::Backward => {
                // The jump does not pass the limit itself, which may be the entry at its rank.
                let start = to.map_or(*at, |run| run.entries.start);
                *at = start.max(rank.map_or(0, |rank| (rank + 1).min(*at)));
                self.land_backward();
            }
        }
        true
    }

    /// Adds a key to the run of its source, and notes the run after every [`NOTED_EVERY`] keys.
    /// Returns the run that the key is in, if a longer one is known.
    fn gather(&mut self, source: usize, key: GoneRun) -> Option<GoneRun> {
        let nothing = || Gathered { run: GoneRun::default(), unnoted: 0, barren: 0 };
        if self.gone.is_empty() {
            self.gone.resize_with(self.sources.len(), nothing);
        }
        let stretch = &self.sources[source].stretch;
        let Gathered { run, unnoted, .. } = &mut self.gone[source];
        let at = key.entries.start;
        let touches =
            run.entries.start <= at + 1 && at <= run.entries.end && !run.entries.is_empty();
        if touches {
            run.entries = run.entries.start.min(at)..run.entries.end.max(at + 1);
            run.seqno = run.seqno.max(key.seqno);
            run.checked = run.checked.min(key.checked);
        } else {
            *run = key;
            *unnoted = 0;
        }
        *unnoted += 1;
        if touches && *unnoted < NOTED_EVERY {
            return None;
        }
        if *unnoted >= NOTED_EVERY {
            stretch.gone.note(run.clone());
            *unnoted = 0;
        }
        let known = stretch.gone.find(&self.chains, stretch, at, self.max_seqno)?;
        *run = known.clone();
        Some(known)
    }

    /// Notes the keys around a source's key that a range delete covers. Returns the run that the
    /// key is in, if the run is long enough for a jump.
    fn gather_covered(&mut self, source: usize, cover: Cover<'_>) -> Option<GoneRun> {
        let Gathered { run, unnoted, barren } = &mut self.gone[source];
        if *barren == cover.seqno {
            return None;
        }
        let Source { stretch, at, .. } = &self.sources[source];
        let covered = covered_run(&self.chains, stretch, *at, cover);
        let Some(covered) = covered.filter(|run| run.entries.len() >= NOTED_EVERY) else {
            *barren = cover.seqno;
            return None;
        };
        stretch.gone.note(covered);
        let known = stretch.gone.find(&self.chains, stretch, *at, self.max_seqno);
        match &known {
            Some(known) => (*run, *unnoted) = (known.clone(), 0),
            // Too many of the covered keys were written again.
            None => *barren = cover.seqno,
        }
        known
    }

    /// Notes how many of the current key's [`Cursor::versions`] the caller looked at. The cursor
    /// prefetches as many versions of the next keys.
    #[inline]
    pub fn looked_at(&mut self, versions: usize) {
        self.lookahead.looked_at(versions);
    }

    /// Goes to the previous record: a newer version of the key, else the oldest of the previous
    /// key. Does nothing if the cursor stands nowhere.
    #[inline]
    pub fn prev(&mut self) {
        let Position::At { source, node, link } = self.position else { return };
        if self.trail.is_empty() {
            self.collect_trail(node, link);
        }
        self.trail.pop();
        match self.trail.last() {
            Some(&newer) => self.position = Position::At { source, node, link: newer },
            None => self.land_backward(),
        }
    }

    /// Returns whether the cursor stands at a record.
    #[inline]
    pub fn valid(&self) -> bool {
        self.position != Position::Nowhere
    }

    /// Returns the key, as the record spells it.
    ///
    /// # Panics
    /// Panics if the cursor is not [`valid`](Cursor::valid), as do the other methods that return a
    /// part of the record.
    #[inline]
    pub fn key(&self) -> &[u8] {
        let (node, link) = self.current();
        // SAFETY: a position's link is an acquired one of its node.
        unsafe { node.key_of(link) }
    }

    /// Returns the key as the newest of [`Cursor::versions`] up to `max_seqno` spells it, wherever
    /// the cursor is. If there is none, the record under the cursor spells it.
    #[inline]
    pub fn newest_key(&self, max_seqno: u64) -> &[u8] {
        let (node, link) = self.current();
        match &self.chains.index {
            Index::Hashed(_) => node.key(),
            // SAFETY: the links are acquired ones of this chain.
            Index::Ordered(_) => unsafe {
                let max_word = self.max_word.min(visible_up_to(max_seqno));
                node.key_of(node.newest_visible(max_word).unwrap_or(link))
            },
        }
    }

    /// Returns the sequence number of the record.
    #[inline]
    pub fn seqno(&self) -> u64 {
        self.version().seqno
    }

    /// Returns the kind of the record.
    #[inline]
    pub fn kind(&self) -> u8 {
        self.version().kind
    }

    /// Returns the operator of the record.
    #[inline]
    pub fn operator(&self) -> u32 {
        self.version().operator
    }

    /// Returns the value.
    #[inline]
    pub fn value(&self) -> ValueBytes<'_> {
        self.version().value
    }

    /// Returns the record without its key.
    #[inline]
    pub fn version(&self) -> Version<'_> {
        let (node, link) = self.current();
        // SAFETY: a position's link is an acquired one of its node.
        unsafe { node.version_at(link) }
    }

    /// Returns all versions of the key that the cursor shows, newest first, wherever the cursor is.
    #[inline]
    pub fn versions(&self) -> Versions<'_> {
        self.current().0.versions(self.max_seqno)
    }

    /// Returns the number of versions of the key, including those that the cursor does not show.
    #[inline]
    pub fn version_count(&self) -> u32 {
        self.current().0.version_count()
    }

    /// Returns the key, pinned.
    pub fn pinned_key(&self) -> PinnedBytes {
        PinnedBytes::pin(&self.chains, self.key())
    }

    /// Returns the value, pinned.
    #[inline]
    pub fn pinned_value(&self) -> PinnedBytes {
        PinnedBytes::new(&self.chains, self.version())
    }

    /// Returns how many sorted stretches of keys the cursor merges (H17).
    pub fn stretches(&self) -> usize {
        self.sources.len()
    }

    /// Returns the memtable.
    pub fn chains(&self) -> &Arc<Chains> {
        &self.chains
    }

    #[inline]
    fn current(&self) -> (Node<'_>, u32) {
        match self.position {
            Position::At { node, link, .. } => (self.node(node), link),
            Position::Nowhere => panic!("the cursor stands nowhere: check valid() first"),
        }
    }

    #[inline]
    fn node(&self, number: u32) -> Node<'_> {
        // SAFETY: stretches are made of published nodes only, and numbers come from them.
        unsafe { self.chains.node(number) }
    }

    /// Returns the link to the newest version of a node that the cursor shows.
    #[inline]
    fn newest(&self, node: Node<'_>) -> Option<u32> {
        let newest = node.newest_visible(self.max_word)?;
        // SAFETY: an acquired link of this chain.
        Some(unsafe { node.unfolded_for(newest, &self.snapshots) })
    }

    /// Returns the link below `link` that the cursor shows.
    ///
    /// # Safety
    /// `link` is an acquired link of the node's chain.
    #[inline]
    unsafe fn older(&self, node: Node<'_>, link: u32) -> Option<u32> {
        // SAFETY: by the caller's promise; links of written versions are good.
        unsafe { Some(node.unfolded_for(node.older(link)?, &self.snapshots)) }
    }

    fn rank_sources(&mut self, key: &[u8]) {
        self.cover(Place::Before(key));
        for source in &mut self.sources {
            source.at = source.stretch.rank(&self.chains, key);
        }
    }

    /// Goes to the first record at or after the positions of the sources.
    #[inline]
    fn land_forward(&mut self) {
        self.trail.clear();
        loop {
            while let Some((source, entry)) = self.least_at() {
                let node = self.node(entry.node);
                if let Some(link) = self.newest(node) {
                    self.position = Position::At { source, node: entry.node, link };
                    self.look_ahead(source, Direction::Forward);
                    return;
                }
                self.sources[source].at += 1;
            }
            if !self.look_behind_window() {
                break;
            }
        }
        self.position = Position::Nowhere;
    }

    /// Goes to the last record before the positions of the sources.
    #[inline]
    fn land_backward(&mut self) {
        self.trail.clear();
        loop {
            while let Some((source, entry)) = self.greatest_before() {
                self.sources[source].at -= 1;
                if self.node(entry.node).is_visible(self.max_word) {
                    self.position = Position::At { source, node: entry.node, link: IN_NODE };
                    self.look_ahead(source, Direction::Backward);
                    return;
                }
            }
            if !self.look_before_window() {
                break;
            }
        }
        self.position = Position::Nowhere;
    }

    /// Returns the least entry at a position; `None` if a window ends and a smaller entry may lie
    /// after it.
    #[inline]
    fn least_at(&self) -> Option<(usize, Entry)> {
        let (first, others) = self.sources.split_first()?;
        let mut least = first.entry(first.at).map(|entry| (0, entry));
        for (index, source) in others.iter().enumerate() {
            let Some(entry) = source.entry(source.at) else {
                if source.ends_above {
                    return None;
                }
                continue;
            };
            if least.is_none_or(|(_, least)| compare(&self.chains, entry, least).is_lt()) {
                least = Some((index + 1, entry));
            }
        }
        least
    }

    /// Returns the greatest entry before a position; `None` if a window begins and a greater entry
    /// may lie before it.
    #[inline]
    fn greatest_before(&self) -> Option<(usize, Entry)> {
        let mut greatest: Option<(usize, Entry)> = None;
        for (index, source) in self.sources.iter().enumerate() {
            let Some(entry) = source.entry(source.at.wrapping_sub(1)) else {
                if source.ends_below {
                    return None;
                }
                continue;
            };
            if greatest.is_none_or(|(_, greatest)| compare(&self.chains, entry, greatest).is_gt()) {
                greatest = Some((index, entry));
            }
        }
        greatest
    }

    /// Forgets the prefetched entries: the cursor is about to be positioned elsewhere.
    fn begin_walk(&mut self) {
        self.lookahead = Lookahead::default();
        for source in &mut self.sources {
            source.fetched = source.at;
        }
    }

    /// Prefetches the next entries, after the cursor moved to the current entry of a source.
    #[inline]
    fn look_ahead(&mut self, source: usize, direction: Direction) {
        let Source { stretch, at, fetched, .. } = &mut self.sources[source];
        self.lookahead.arrived(&self.chains, stretch.entries(), *at, fetched, direction);
    }

    /// Notes the links from the newest visible version down to the current one, so that a walk
    /// backwards over a long chain is not quadratic.
    fn collect_trail(&mut self, node: u32, current: u32) {
        let mut trail = std::mem::take(&mut self.trail);
        let node = self.node(node);
        let mut link = self.newest(node);
        while let Some(at) = link {
            trail.push(at);
            if at == current {
                break;
            }
            // SAFETY: an acquired link of this chain.
            link = unsafe { self.older(node, at) };
        }
        self.lookahead.looked_at(trail.len());
        self.trail = trail;
    }
}

/// Makes sources for all keys.
fn all_sources(chains: &Chains) -> SmallVec<[Source; 6]> {
    let (shared, tail) = chains.order.covering(chains);
    sources_of(chains, shared.iter().chain(&tail))
}

fn sources_of<'a>(
    chains: &Chains,
    stretches: impl Iterator<Item = &'a Arc<Stretch>> + Clone,
) -> SmallVec<[Source; 6]> {
    let common = common_of(chains, stretches.clone().map(|stretch| &**stretch));
    let source = |stretch: &Arc<Stretch>| Source {
        stretch: Arc::clone(stretch),
        rebase: stretch.rebase(chains, common),
        at: 0,
        fetched: 0,
        ends_below: false,
        ends_above: false,
    };
    stretches.map(source).collect()
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cursor = f.debug_struct("Cursor");
        cursor.field("max_seqno", &self.max_seqno).field("sources", &self.sources.len());
        if self.valid() {
            cursor.field("key", &self.key().escape_ascii().to_string());
            cursor.field("seqno", &self.seqno());
        }
        cursor.finish()
    }
}

impl Chains {
    /// Makes a cursor over the records that a reader at `max_seqno` sees. Get the sequence number
    /// before the cursor: the cursor may leave out keys that are inserted later.
    pub fn cursor(self: &Arc<Self>, max_seqno: u64) -> Cursor {
        Cursor::new(Arc::clone(self), max_seqno)
    }

    /// Makes a cursor over all records, for a flush that must keep the answers of each of
    /// `snapshots` (ascending). If a snapshot sees only a part of a folded version, the cursor
    /// shows the versions that the folded version stands for instead.
    pub fn cursor_for(self: &Arc<Self>, snapshots: &[u64]) -> Cursor {
        Cursor::for_snapshots(Arc::clone(self), snapshots)
    }
}
