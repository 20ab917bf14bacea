//! Reads of a transaction: its own writes over its snapshot, by the fold routine of all reads.

use std::sync::{Arc, Mutex, PoisonError};

use crate::db::handle::keyspace::Keyspace;
use crate::db::handle::read_options::ReadOptions;
use crate::db::handle::snapshot::Snapshot;
use crate::db::state::recent_writes::EdgeRange;
use crate::db::transaction::claims::{Claims, Forbids};
use crate::db::transaction::own_writes::{FIRST_OWN, OwnView};
use crate::db::transaction::walk::Walk;
use crate::encoding::key_hash;
use crate::error::Result;
use crate::fold::Chain;
use crate::iterator::{
    Bounds, CoverSource, Covers, Effort, FoldedCursor, Iter, MergingCursor, Payee, Source,
    VisibleParts,
};
use crate::range_tombstone::Edge;
use crate::value::Value;

/// The parts of a transaction that one read of a keyspace needs.
pub(super) struct OverSnapshot<'a> {
    pub(super) keyspace: &'a Keyspace,
    pub(super) snapshot: &'a Snapshot,
    /// The transaction's own writes to the keyspace.
    pub(super) own: Option<OwnView>,
    /// Where reads are claimed; `None` if reads claim nothing.
    pub(super) claims: Option<&'a Arc<Mutex<Claims>>>,
}

impl OverSnapshot<'_> {
    /// Collects the chain of a key: own records, then those of the snapshot.
    pub(super) fn chain(&self, key: &[u8]) -> Result<Chain> {
        let (core, keyspace) = (self.keyspace.core(), self.keyspace.state());
        core.check_open()?;
        keyspace.check_key(key)?;
        let (hash, mut chain) = (key_hash(key), Chain::default());
        if let Some(own) = &self.own {
            let is_open = own.memtable.collect(hash, key, own.newest, &mut chain);
            if !is_open || chain.is_covered_above(FIRST_OWN - 1) {
                return Ok(chain);
            }
        }
        if let Some(claims) = self.claims {
            let mut claims = claims.lock().unwrap_or_else(PoisonError::into_inner);
            claims.add_key(self.keyspace, key, hash, Forbids::Any);
        }
        let view = keyspace.view.load();
        keyspace.check_exists()?;
        let options = ReadOptions::default();
        core.collect(keyspace, &view, key, self.snapshot.seqno(), &options, &mut chain)?;
        keyspace.resolve(&view.version, key, &mut chain)?;
        Ok(chain)
    }

    /// Reads a key.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        let mut chain = self.chain(key)?;
        if chain.is_empty() {
            return Ok(None);
        }
        let core = self.keyspace.core();
        let value = chain.value(key, &core.registry.resolver(), &mut Vec::new());
        if let Err(error) = &value {
            core.note_failed_read(self.keyspace.state(), error);
        }
        value
    }

    /// Returns an iterator over a range. It sees the own writes made before this call.
    pub(super) fn iter(&self, bounds: Bounds) -> Result<Iter> {
        let options =
            ReadOptions { snapshot: Some(self.snapshot.clone()), ..ReadOptions::default() };
        let below = self.keyspace.new_iter(bounds.clone(), &options)?;
        let below = match self.claims {
            None => below,
            Some(claims) => self.claimed(below, &bounds, claims),
        };
        match &self.own {
            None => Ok(below),
            Some(own) => Ok(self.over(below, own, bounds)),
        }
    }

    /// Lets an iterator claim what it reads.
    fn claimed(&self, iter: Iter, bounds: &Bounds, claims: &Arc<Mutex<Claims>>) -> Iter {
        let (lower, upper) = bounds.as_refs();
        let range = EdgeRange { start: Edge::at_start(lower), end: Edge::at_end(upper) };
        let number = {
            let mut claims = claims.lock().unwrap_or_else(PoisonError::into_inner);
            claims.begin_walk(self.keyspace, range)
        };
        let keyspace = self.keyspace.clone();
        let walk = Walk { claims: Arc::downgrade(claims), keyspace, number };
        iter.watched(Box::new(move |start, end| walk.walked(EdgeRange { start, end })))
    }

    /// Returns an iterator over own records and, below them, the entries of the snapshot.
    fn over(&self, below: Iter, own: &OwnView, bounds: Bounds) -> Iter {
        let comparator = &self.keyspace.state().comparator;
        let core = self.keyspace.core();
        let OwnView { memtable, newest: seqno } = own;
        let records = vec![
            Source::Memtable(memtable.cursor(*seqno)),
            Source::Folded(FoldedCursor::new(below)),
        ];
        let covers = memtable.range_tombstones().map(CoverSource::Memtable).into_iter().collect();
        Iter::new(VisibleParts {
            records: MergingCursor::new(records, Arc::clone(comparator)),
            covers: Covers::new(covers, [*seqno], comparator),
            seqno: *seqno,
            bounds,
            comparator: Arc::clone(comparator),
            resolver: core.registry.cached_resolver(),
            totals: Arc::clone(&core.totals),
            report: None,
            values: None,
            reader: Arc::new(OwnReader),
        })
    }
}

/// The reader of own records: nothing is paid for them, and the cursor keeps them alive.
struct OwnReader;

impl Payee for OwnReader {
    fn pay(&self, _: Effort) {}
}
