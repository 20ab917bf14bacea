//! Reads of a transaction: its own writes over its snapshot, by the fold routine of all reads.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::SystemTime;

use crate::counters::Totals;
use crate::db::handle::keyspace::Keyspace;
use crate::db::handle::snapshot::Snapshot;
use crate::db::read::key_walk::Sought;
use crate::db::read::operands::Operands;
use crate::db::read::settings::ReadSettings;
use crate::db::transaction::claiming::SecondClaim;
use crate::db::transaction::claims::Claims;
use crate::db::transaction::own_writes::{FIRST_OWN, OwnView};
use crate::error::{Error, ErrorKind, Result};
use crate::fold::stamp::time_of;
use crate::fold::{CachedResolver, Chain, ReadTime, end_of};
use crate::iterator::{
    Bounded, Bounds, CoverSource, Covers, DeadStretches, Effort, FoldedCursor, Iter, MergingCursor,
    Opened, Origin, Source, Viewpoint, Watched,
};
use crate::key::{Order, SeqNo};
use crate::locks::Lock;
use crate::locks::rank::{CLAIMS, OWN_WALK};
use crate::segment::ValueReader;
use crate::stats::ReadReport;
use crate::value::Value;

/// The parts of a transaction that one read of a keyspace needs.
pub(super) struct OverSnapshot<'a> {
    pub(super) keyspace: &'a Keyspace,
    pub(super) snapshot: &'a Snapshot,
    /// The transaction's own writes to the keyspace.
    pub(super) own: Option<OwnView>,
    /// Where reads are claimed; `None` if reads claim nothing.
    pub(super) claims: Option<&'a Arc<Lock<Claims, CLAIMS>>>,
    /// When the first of the values read expires, if the commit depends on it.
    pub(super) first_end: Option<&'a Arc<AtomicU32>>,
}

impl OverSnapshot<'_> {
    /// Collects the chain of a key: own records, then those of the snapshot.
    pub(super) fn chain(&self, key: &[u8]) -> Result<Chain> {
        let (core, keyspace) = (self.keyspace.core(), self.keyspace.state());
        core.check_open()?;
        keyspace.check_key(key)?;
        let mut chain = Chain::default();
        if let Some(own) = &self.own
            && !own.collect(key, &mut chain)
        {
            return Ok(chain);
        }
        self.claim_key(key);
        collect_below(self.keyspace, self.snapshot, key, &mut chain)?;
        Ok(chain)
    }

    /// Returns the moment of a read, if the keyspace has an expiry.
    fn time(&self) -> Option<ReadTime> {
        let first_end = self.first_end.cloned();
        let now = self.snapshot.time();
        let expires = self.keyspace.state().settings.expiry.is_some();
        expires.then_some(ReadTime { first_end, ..ReadTime::at(now) })
    }

    /// Reads a key.
    pub(super) fn get(&self, key: &[u8]) -> Result<Option<Value>> {
        let mut chain = self.chain(key)?;
        if chain.is_empty() {
            return Ok(None);
        }
        let time = self.time().inspect(|time| time.note_end_of(&chain, FIRST_OWN));
        if let Some(time) = &time {
            time.drop_expired(&mut chain)?;
        }
        let core = self.keyspace.core();
        let value = chain.value(key, &core.registry.resolver(), &mut Vec::new());
        if let Err(error) = &value {
            core.note_failed_read(self.keyspace.state(), error);
        }
        match time {
            None => value,
            Some(time) => {
                // The end of an own write begins at the commit.
                let time = ReadTime { first_end: None, ..time };
                value?.map_or(Ok(None), |stored| time.show(stored))
            }
        }
    }

    /// Notes when a key expires, without reading its value.
    pub(super) fn note_end(&self, key: &[u8]) -> Result<()> {
        let mut chain = Chain::default();
        collect_below(self.keyspace, self.snapshot, key, &mut chain)?;
        if let Some(time) = self.time() {
            time.note_end_of(&chain, FIRST_OWN);
        }
        Ok(())
    }

    /// Returns when a key expires; `None` if it is absent or never expires.
    pub(super) fn expires_at(&self, key: &[u8]) -> Result<Option<SystemTime>> {
        let mut chain = self.chain(key)?;
        let Some(time) = self.time() else { return Ok(None) };
        time.note_end_of(&chain, FIRST_OWN);
        time.drop_expired(&mut chain)?;
        let resolver = self.keyspace.core().registry.resolver();
        let Some(stored) = chain.value(key, &resolver, &mut Vec::new())? else { return Ok(None) };
        let end = end_of(&stored);
        Ok(if end > time.now { time_of(end) } else { None })
    }

    /// Reads base and operands of a key, own ones included.
    pub(super) fn operands(&self, key: &[u8]) -> Result<Operands> {
        let chain = self.chain(key)?;
        let time = self.time().inspect(|time| time.note_end_of(&chain, FIRST_OWN));
        self.keyspace.core().operands_of(chain, time)
    }

    /// Returns an iterator over a range. It sees the own writes made before this call.
    pub(super) fn iter(&self, bounds: Bounds) -> Result<Iter> {
        let options =
            ReadSettings { snapshot: Some(self.snapshot.moment()), ..ReadSettings::default() };
        let as_stored = self.own.is_some();
        let below = self.keyspace.cursor_at(bounds.clone(), options, |time| ReadTime {
            as_stored,
            first_end: self.first_end.cloned(),
            ..time
        })?;
        let mut below = Watched::from(below);
        self.claim_walks(&mut below, &bounds);
        match self.own.clone() {
            None => Ok(Iter::from(below)),
            Some(own) => Ok(self.over(below, own, bounds)),
        }
    }

    /// Returns an iterator over own records and, below them, the entries of the snapshot.
    fn over(&self, below: Watched, own: OwnView, bounds: Bounds) -> Iter {
        let origin = Arc::new(OwnOrigin {
            second_claim: self.second_claim(&bounds),
            keyspace: self.keyspace.clone(),
            snapshot: self.snapshot.clone(),
            below: Lock::new(below.second()),
            own,
        });
        let opened = origin.over(below);
        let viewpoint = Viewpoint {
            seqno: origin.own.newest,
            // The iterator below notes when what it shows expires.
            time: self.time().map(|time| ReadTime { first_end: None, ..time }),
            order: Order::of(&self.keyspace.state().comparator),
            origin,
            report: None,
        };
        Iter::from(Bounded::new(viewpoint, opened, bounds))
    }
}

/// Collects the chain of a key in the snapshot, below its own records.
fn collect_below(
    keyspace: &Keyspace,
    snapshot: &Snapshot,
    key: &[u8],
    chain: &mut Chain,
) -> Result<()> {
    let (core, keyspace) = (keyspace.core(), keyspace.state());
    let view = keyspace.view.load();
    keyspace.check_exists()?;
    let sought = Sought::new(key, snapshot.seqno());
    core.collect(keyspace, &view, &sought, ReadSettings::default(), chain)?;
    keyspace.resolve(&view.version, key, chain)
}

/// The own records and the snapshot below them, for an iterator that is read from both ends.
struct OwnOrigin {
    keyspace: Keyspace,
    snapshot: Snapshot,
    own: OwnView,
    /// A cursor of the same moment, which is never moved.
    below: Lock<Bounded, OWN_WALK>,
    second_claim: Option<SecondClaim>,
}

impl OwnOrigin {
    fn over(&self, below: Watched) -> Opened {
        let comparator = &self.keyspace.state().comparator;
        let OwnView { memtables, newest, .. } = &self.own;
        let own =
            memtables.iter().map(|memtable| Source::Memtable(Box::new(memtable.cursor(*newest))));
        let below = Source::Folded(FoldedCursor::new(below));
        let records = own.chain([below]).collect();
        let covers = memtables.iter().filter_map(|memtable| memtable.range_tombstones());
        let covers = covers.map(CoverSource::Memtable).collect();
        Opened {
            records: MergingCursor::new(records, comparator),
            covers: Covers::new(covers, [*newest], comparator),
        }
    }
}

impl Origin for OwnOrigin {
    /// Opens a second cursor, which walks unobserved.
    fn open(&self, _: SeqNo, _: Option<&ReadReport>) -> Opened {
        if let Some(claim) = &self.second_claim {
            claim.add();
        }
        let below = self.below.lock().second();
        self.over(Watched::from(below))
    }

    /// The iterator below has read them.
    fn values(&self) -> Option<ValueReader> {
        None
    }

    fn operators(&self) -> CachedResolver {
        self.keyspace.core().registry.cached_resolver()
    }

    fn totals(&self) -> &Totals {
        &self.keyspace.core().totals
    }

    fn value_below(&self, key: &[u8]) -> Result<Value> {
        let core = self.keyspace.core();
        core.check_open()?;
        let mut chain = Chain::default();
        collect_below(&self.keyspace, &self.snapshot, key, &mut chain)?;
        if self.keyspace.state().settings.expiry.is_some() {
            ReadTime::at(self.snapshot.time()).drop_expired(&mut chain)?;
        }
        let value = chain.value(key, &core.registry.resolver(), &mut Vec::new())?;
        // An operator that was registered since may find that the key has no value.
        value.ok_or_else(|| {
            Error::new(ErrorKind::Busy, "the operators changed during the iteration; iterate again")
        })
    }

    /// Own records cost no compaction. The iterator below reports its own effort.
    fn note_effort(&self, _: Effort) {}

    fn dead(&self) -> &DeadStretches {
        &self.own.dead
    }

    /// The snapshot below has no newer file.
    fn newest_file(&self) -> u64 {
        u64::MAX
    }

    /// What the snapshot shows is the same in all versions.
    fn installs(&self) -> u64 {
        0
    }
}
