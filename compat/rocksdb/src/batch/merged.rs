//! An iterator over a family with the writes of a batch over it.
//!
//! The batch may change while the iterator lives, so the iterator keeps a key of it, and no place.
//! A write behind that key is seen when the iterator comes to it. An iterator that has left the
//! batch's last key behind sees no write until it seeks or turns round, as in RocksDB. It stays
//! within the bounds and the prefix of the read options.
//!
//! ```text
//! database   a b   d e
//! batch      a(delete)   c(put)   e(merge)
//! iterator   b c d e(folded over the database's)
//! ```

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use foldb::custom::Comparator;
use parking_lot::RwLock;

use crate::batch::index::{IndexedBatch, OwnState};
use crate::database::Family;
use crate::iterator::Cursor;
use crate::options::calls::rocksdb_readoptions_t;
use crate::options::effect::comparator;
use crate::status::Outcome;

/// A cursor over the entries of a family and of a batch.
pub(crate) struct MergedEntries {
    batch: Arc<RwLock<IndexedBatch>>,
    family: Arc<Family>,
    base: Box<dyn Cursor>,
    order: Arc<dyn Comparator>,
    options: rocksdb_readoptions_t,
    /// The batch's next key; `None` behind its last one.
    own: Option<Vec<u8>>,
    /// The entry under the cursor.
    current: Option<(Vec<u8>, Vec<u8>)>,
    is_forward: bool,
    /// The prefix that bounds the iterator since its last seek.
    prefix: Option<Vec<u8>>,
    status: Outcome<()>,
}

impl MergedEntries {
    pub(crate) fn of(
        batch: Arc<RwLock<IndexedBatch>>,
        family: Arc<Family>,
        base: Box<dyn Cursor>,
        options: rocksdb_readoptions_t,
    ) -> MergedEntries {
        batch.write().introduce(&family);
        let order = comparator(&family.options);
        MergedEntries {
            batch,
            family,
            base,
            order,
            options,
            own: None,
            current: None,
            is_forward: true,
            prefix: None,
            status: Ok(()),
        }
    }

    fn start_prefix(&mut self, key: &[u8]) {
        let values = &self.options.values;
        if values.prefix_same_as_start != 0 && values.total_order_seek == 0 {
            let extractor = self.family.prefix_extractor.as_ref();
            self.prefix = extractor.and_then(|extractor| extractor.prefix(key)).map(<[u8]>::to_vec);
        }
    }

    fn is_within_prefix(&self, key: &[u8]) -> bool {
        let Some(prefix) = &self.prefix else { return true };
        let extractor = self.family.prefix_extractor.as_ref();
        extractor.and_then(|extractor| extractor.prefix(key)) == Some(&prefix[..])
    }

    /// Returns the batch's first key from a bound on, within the lower and upper bound.
    fn own_from(&self, from: Bound<&[u8]>) -> Option<Vec<u8>> {
        let lower = self.options.lower_bound.as_deref();
        let from = match (from, lower) {
            (Bound::Unbounded, Some(lower)) => Bound::Included(lower),
            (Bound::Included(key) | Bound::Excluded(key), Some(lower))
                if self.order.compare(key, lower) == Ordering::Less =>
            {
                Bound::Included(lower)
            }
            (from, _) => from,
        };
        let to = self.options.upper_bound.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        self.batch.read().key_within(self.family.id, from, to, false)
    }

    /// Returns the batch's last key up to a bound, within the lower and upper bound.
    fn own_up_to(&self, to: Bound<&[u8]>) -> Option<Vec<u8>> {
        let upper = self.options.upper_bound.as_deref();
        let to = match (to, upper) {
            (Bound::Unbounded, Some(upper)) => Bound::Excluded(upper),
            (Bound::Included(key) | Bound::Excluded(key), Some(upper))
                if self.order.compare(key, upper) != Ordering::Less =>
            {
                Bound::Excluded(upper)
            }
            (to, _) => to,
        };
        let lower = self.options.lower_bound.as_deref();
        let from = lower.map_or(Bound::Unbounded, Bound::Included);
        self.batch.read().key_within(self.family.id, from, to, true)
    }

    /// Comes to the next entry, from where the base and the batch's next key are.
    fn settle(&mut self) {
        self.current = None;
        loop {
            if let Err(status) = self.base.status() {
                self.status = Err(status);
                return;
            }
            let nearer = match (self.base.is_valid(), &self.own) {
                (false, None) => return,
                (true, None) => Ordering::Less,
                (false, Some(_)) => Ordering::Greater,
                (true, Some(own)) => {
                    let order = self.order.compare(self.base.key(), own);
                    if self.is_forward { order } else { order.reverse() }
                }
            };
            if nearer == Ordering::Less {
                // Only the base has the key.
                let (key, value) = (self.base.key().to_vec(), self.base.value().to_vec());
                self.take(key, Ok(Some(value)));
                return;
            }
            let Some(key) = self.own.clone() else { return };
            let found = self.own_value(&key, nearer == Ordering::Equal);
            if nearer == Ordering::Equal {
                self.step_base();
            }
            if !matches!(found, Ok(None)) {
                self.take(key, found);
                return;
            }
            self.step_own(&key);
        }
    }

    /// Goes on to the batch's key after this one.
    fn step_own(&mut self, key: &[u8]) {
        self.own = match self.is_forward {
            true => self.own_from(Bound::Excluded(key)),
            false => self.own_up_to(Bound::Excluded(key)),
        };
    }

    /// Returns the value of a key of the batch. The base is at the same key, or has none there.
    fn own_value(&mut self, key: &[u8], base_has_it: bool) -> Outcome<Option<Vec<u8>>> {
        let state = self.batch.read().state(self.family.id, key);
        match state {
            OwnState::Deleted(operands) => self.family.fold(key, None, &operands),
            OwnState::Put(value, operands) => self.family.fold(key, Some(&value), &operands),
            OwnState::Merged(operands) => {
                let base = base_has_it.then(|| self.base.value().to_vec());
                self.base.status()?;
                self.family.fold(key, base.as_deref(), &operands)
            }
            OwnState::Untouched => Ok(base_has_it.then(|| self.base.value().to_vec())),
        }
    }

    fn take(&mut self, key: Vec<u8>, found: Outcome<Option<Vec<u8>>>) {
        match found.and_then(|value| self.base.status().map(|()| value)) {
            Ok(Some(value)) if self.is_within_prefix(&key) => self.current = Some((key, value)),
            Ok(_) => {}
            Err(status) => self.status = Err(status),
        }
    }

    fn step_base(&mut self) {
        if self.is_forward { self.base.advance() } else { self.base.retreat() }
    }

    /// Moves on from an entry, in a direction.
    fn leave(&mut self, key: &[u8], is_forward: bool) {
        let turns = self.is_forward != is_forward;
        if turns {
            self.is_forward = is_forward;
            if is_forward { self.base.seek(key) } else { self.base.seek_for_prev(key) }
        }
        let is_there =
            self.base.is_valid() && self.order.compare(self.base.key(), key) == Ordering::Equal;
        if is_there {
            self.step_base();
        }
        if turns || self.own.as_deref() == Some(key) {
            self.step_own(key);
        }
        self.settle();
    }

    /// Bounds the iterator by the prefix of the entry that a seek to an end found.
    fn start_prefix_here(&mut self) {
        if let Some((key, _)) = &self.current {
            let key = key.clone();
            self.start_prefix(&key);
        }
    }

    fn begin(&mut self, is_forward: bool) {
        self.is_forward = is_forward;
        self.status = Ok(());
        self.prefix = None;
    }
}

impl Cursor for MergedEntries {
    fn is_valid(&self) -> bool {
        self.current.is_some()
    }

    fn seek_to_first(&mut self) {
        self.begin(true);
        self.base.seek_to_first();
        self.own = self.own_from(Bound::Unbounded);
        self.settle();
        self.start_prefix_here();
    }

    fn seek_to_last(&mut self) {
        self.begin(false);
        self.base.seek_to_last();
        self.own = self.own_up_to(Bound::Unbounded);
        self.settle();
        self.start_prefix_here();
    }

    fn seek(&mut self, key: &[u8]) {
        self.begin(true);
        self.start_prefix(key);
        self.base.seek(key);
        self.own = self.own_from(Bound::Included(key));
        self.settle();
    }

    fn seek_for_prev(&mut self, key: &[u8]) {
        self.begin(false);
        self.start_prefix(key);
        self.base.seek_for_prev(key);
        self.own = self.own_up_to(Bound::Included(key));
        self.settle();
    }

    fn advance(&mut self) {
        let Some((key, _)) = self.current.take() else { return };
        self.leave(&key, true);
    }

    fn retreat(&mut self) {
        let Some((key, _)) = self.current.take() else { return };
        self.leave(&key, false);
    }

    fn key(&self) -> &[u8] {
        self.current.as_ref().map_or(&[], |(key, _)| key)
    }

    fn value(&mut self) -> &[u8] {
        self.current.as_ref().map_or(&[], |(_, value)| value)
    }

    fn status(&self) -> Outcome<()> {
        self.status.clone()
    }

    fn refresh(&mut self) -> Outcome<()> {
        self.current = None;
        self.base.refresh()
    }
}
