//! Taking the first entry of a range: the front of a queue.
//!
//! The keys before it are mostly deleted ones. Walks remember them ([`crate::iterator`]), so a call
//! takes as long however many entries were taken before, and from however many queues. The queues
//! used last need no walk: a call leaves a *front* behind, the keys that may come first
//! ([`crate::db::state::fronts`]).
//!
//! ```text
//! walk from the start     takes a; the front knows: nothing up to a
//! walk from a             takes b, looks ahead; the front knows: c, d, f up to f
//! no walk                 reads c, d and f in turn; takes in what the notes say was written
//! ```
//!
//! The write looks into the notes under the writer lock: if its key or a smaller one was written
//! since the front was brought up to date, the call begins again. A call that found nothing looks
//! there too.

use std::ops::Bound;

use crate::db::read::settings::ReadSettings;
use crate::db::state::fronts::Front;
use crate::db::state::patience::Patience;
use crate::db::transaction::conditional::{Conditional, lost_the_key};
use crate::db::transaction::transact::Noting;
use crate::error::Result;
use crate::iterator::Bounds;
use crate::key::{AsKeyRange, KeyBounds, Kind, NO_OPERATOR};
use crate::range_tombstone::{Edge, Key};
use crate::value::Value;

/// Keys that a walk looks ahead, if it begins behind a key: where a front ends. A queue without a
/// front may be one of very many.
const AHEAD: usize = 16;

/// Bytes of a value beyond which a walk does not look ahead, because it would read the next values.
const LARGEST_BESIDE: usize = 1 << 10;

impl Conditional<'_> {
    /// Deletes the first entry of a range, and returns it.
    pub(super) fn take_first_entry(
        &self,
        range: impl AsKeyRange,
    ) -> Result<Option<(Vec<u8>, Value)>> {
        let (core, keyspace) = (self.keyspace.core(), self.keyspace.state());
        core.check_writable()?;
        let options = self.options_of_writes()?;
        let bounds = range.key_bounds();
        keyspace.check_ends(bounds)?;
        let clock = &*core.options.env.clock;
        let patience = Patience::of(&options, clock);
        let _noting = Noting::begin(&**core, patience)?;
        let mut losses = 0;
        loop {
            let _turn = core.turn_after(losses, patience)?;
            let time = self.time();
            let mut front = self.front(bounds.0, patience)?;
            let Some((key, value)) = self.first_of(&mut front, bounds)? else {
                let is_known = self.catch_up(&mut front, patience)?;
                let is_empty = is_known && !self.is_within(front.first(), bounds);
                if is_known && !self.is_later(time) {
                    self.leave(front);
                }
                if is_empty && !time.is_some_and(|time| core.time.was_reset_since(time)) {
                    return Ok(None);
                }
                losses += 1;
                continue;
            };
            front.take_first();
            let mut lost = false;
            let delete = (Kind::Delete, NO_OPERATOR);
            let options = patience.limit(&options, clock);
            let written = core.write_one_if(keyspace, delete, &key, &[], &options, |writer| {
                // The number of the delete, which the front knows too then.
                let deleted_at = core.published() + 1;
                let own = (keyspace.id, &*keyspace.comparator);
                let is_known = front.catch_up(&writer.recent, own, deleted_at);
                let is_first = |known: &Key| keyspace.comparator.compare(&key, known).is_lt();
                lost = !is_known || !front.first().is_none_or(is_first) || self.is_later(time);
                if lost { Err(lost_the_key()) } else { Ok(()) }
            });
            if !lost {
                written?;
                self.leave(front);
                return Ok(Some((key.to_vec(), value)));
            }
            losses += 1;
        }
    }

    /// Returns the front of the range with this start, brought up to the present.
    fn front(&self, start: Bound<&[u8]>, patience: Patience) -> Result<Front> {
        let (core, keyspace) = (self.keyspace.core(), self.keyspace.state());
        if let Some(mut front) = core.fronts.take(keyspace.id, start)
            && self.catch_up(&mut front, patience)?
        {
            return Ok(front);
        }
        Ok(Front::new(Edge::at_start(start), core.published()))
    }

    /// Brings a front up to the present. A call that found no entry needs this too: it read the
    /// keys one after another, and meanwhile another may have come:
    ///
    /// ```text
    /// front     c                      c? nothing
    /// others       e.PUT  c.DELETE                   a queue of at least one entry throughout
    /// ```
    ///
    /// Returns `false` if it is not known what was written meanwhile.
    fn catch_up(&self, front: &mut Front, patience: Patience) -> Result<bool> {
        let (core, keyspace) = (self.keyspace.core(), self.keyspace.state());
        if front.is_of(core.published()) {
            return Ok(true);
        }
        let writer = core.lock_writer_for(patience)?;
        let own = (keyspace.id, &*keyspace.comparator);
        Ok(front.catch_up(&writer.recent, own, core.published()))
    }

    fn is_within(&self, key: Option<&Key>, bounds: KeyBounds<'_>) -> bool {
        let comparator = &*self.keyspace.state().comparator;
        key.is_some_and(|key| !Edge::at_end(bounds.1).is_before(comparator, key))
    }

    /// Leaves a front for the next call. If different bytes may be one key, a front would have to
    /// know in which spelling.
    fn leave(&self, front: Front) {
        let keyspace = self.keyspace.state();
        if keyspace.comparator.bytewise_order() || keyspace.comparator.bytewise_equality() {
            self.keyspace.core().fronts.set(keyspace.id, front);
        }
    }

    /// Returns the first entry of a range, which is then the first key of the front.
    fn first_of(&self, front: &mut Front, bounds: KeyBounds<'_>) -> Result<Option<(Key, Value)>> {
        let comparator = &*self.keyspace.state().comparator;
        let end = Edge::at_end(bounds.1);
        while let Some(key) = front.first() {
            if end.is_before(comparator, key) {
                return Ok(None);
            }
            if let Some(value) = self.keyspace.get(key)? {
                return Ok(Some((key.clone(), value)));
            }
            front.take_first();
        }
        match front.through().compare(comparator, &end).is_lt() {
            true => self.walk(front, bounds.1),
            false => Ok(None),
        }
    }

    /// Walks from the place where a front ends. Returns the first entry.
    fn walk(&self, front: &mut Front, upper: Bound<&[u8]>) -> Result<Option<(Key, Value)>> {
        let (lower, ahead) = match front.through() {
            Edge::Lowest | Edge::Highest => (Bound::Unbounded, 0),
            Edge::Before(key) => (Bound::Included(&**key), 0),
            Edge::Behind(key) => (Bound::Excluded(&**key), AHEAD),
        };
        let rest = Bounds::between((lower, upper));
        let mut iter = self.keyspace.new_iter(rest, ReadSettings::default())?.at_front();
        let Some(first) = iter.next() else {
            front.extend(None, Edge::at_end(upper));
            return Ok(None);
        };
        let (key, value) = first?;
        let mut keys: Vec<Key> = vec![key[..].into()];
        let (mut has_more, mut is_small) = (true, value.len() <= LARGEST_BESIDE);
        while has_more && is_small && keys.len() <= ahead {
            // What cannot be read here, the call that comes to it will tell.
            let Ok(found) = iter.advance() else { break };
            has_more = found;
            if found {
                keys.push(iter.key().into());
                is_small = iter.value().is_ok_and(|value| value.len() <= LARGEST_BESIDE);
            }
        }
        let through = match keys.last() {
            Some(last) if has_more => Edge::Behind(last.clone()),
            _ => Edge::at_end(upper),
        };
        let first = keys[0].clone();
        front.extend(keys, through);
        Ok(Some((first, value)))
    }
}

#[cfg(all(test, debug_assertions, feature = "internals"))]
mod tests;
