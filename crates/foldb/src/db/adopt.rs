//! Adoption: a log whose bytes are mostly separated values becomes a value segment as it lies, instead of
//! having the values copied into one. What is written to it once is written once.
//!
//! ```text
//! 000007.log  ─┐ link    tables refer to (7, 120), (7, 4300) ...    edit: segment 7 is a log    unlink
//! 000007.seg  ─┘ sync                                                                       000007.log
//! ```
//!
//! The log gets a second name and is made durable before anything refers to it. Before the edit it is
//! still the log, and its second name a file of nobody; behind the edit it is a segment, and nobody needs its
//! first name. What it holds beside values that are kept is dead from birth, and counts as dead: a log
//! is adopted where that is no more than may be dead anyway.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use crate::db::buffers::SealedGroup;
use crate::db::checkpoint::is_no_link;
use crate::db::core::Core;
use crate::db::flush::{Sealed, covers_of};
use crate::db::keyspace::KeyspaceState;
use crate::error::{Error, Result};
use crate::faults::{Fault, planted};
use crate::iterator::{MergingCursor, Source};
use crate::key::{KeyspaceId, Kind, MAX_SEQNO};
use crate::memtable::Memtable;
use crate::segment::AdoptedLog;
use crate::wal::SealedLog;

/// Most of a log that may be dead from birth, whatever of segments may be.
const MOST_DEAD: f64 = 0.5;

/// Smaller logs than this part of a full segment file are copied: files would get many.
const LEAST_PART: u64 = 4;

/// A log that may be worth it, and the bytes of its values that a keyspace keeps.
struct Candidate<'a> {
    log: &'a SealedLog,
    kept: u64,
}

impl Core {
    /// Makes durable the logs of sealed groups that are worth being segments, and gives them their second
    /// names.
    pub(super) fn adopt_logs(
        &self,
        groups: &[Arc<SealedGroup>],
        memtables: &BTreeMap<KeyspaceId, Sealed>,
    ) -> Result<Vec<AdoptedLog>> {
        let logs = groups.iter().filter_map(|group| group.log.as_ref());
        let may_do = logs.filter(|log| self.is_worth_adopting(log, log.values.bytes()));
        let mut candidates: Vec<_> = may_do.map(|log| Candidate { log, kept: 0 }).collect();
        let mut adopted = Vec::new();
        for (keyspace, memtables) in memtables.values() {
            if candidates.is_empty() {
                break;
            }
            if keyspace.is_dropped() || keyspace.separable_from == usize::MAX {
                continue;
            }
            candidates.iter_mut().for_each(|candidate| candidate.kept = 0);
            count_kept(keyspace, memtables, &mut candidates)?;
            // It is more than half of the log, so no other keyspace has as much.
            let is_worth = |candidate: &mut Candidate<'_>| {
                self.is_worth_adopting(candidate.log, candidate.kept)
            };
            for candidate in candidates.extract_if(.., is_worth) {
                adopted.extend(self.adopt(keyspace.id, candidate.log)?);
            }
        }
        Ok(adopted)
    }

    /// Whether a log is long enough and has few bytes beside so many of values.
    fn is_worth_adopting(&self, log: &SealedLog, kept: u64) -> bool {
        if planted(Fault::AdoptUnexamined) {
            return log.values.bytes() > 0;
        }
        let most_dead = self.options.max_dead_fraction.min(MOST_DEAD);
        log.len >= self.options.segment_size / LEAST_PART
            && (log.len - kept) as f64 <= most_dead * log.len as f64
    }

    /// `None` where files cannot have two names.
    fn adopt(&self, keyspace: KeyspaceId, log: &SealedLog) -> Result<Option<AdoptedLog>> {
        let (from, to) = (self.names.log(log.number), self.names.segment(log.number));
        match self.options.env.fs.hard_link(&from, &to) {
            Ok(()) => {}
            // What is left of a flush that failed: the number is the log's alone.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) if is_no_link(&error) => return Ok(None),
            Err(error) => return Err(Error::io(&from, "link the log", &error)),
        }
        let adopted = AdoptedLog::new(keyspace, log, self.trash.segment_file(log.number));
        log.sync.trim(log.len)?;
        log.sync.sync_bytes().inspect_err(|error| self.poison(error))?;
        Ok(Some(adopted))
    }
}

/// Counts the bytes of values in logs that a flush of these memtables keeps as they are. Values that only a
/// snapshot keeps are left out.
fn count_kept(
    keyspace: &KeyspaceState,
    memtables: &[Arc<Memtable>],
    candidates: &mut [Candidate<'_>],
) -> Result<()> {
    memtables.iter().for_each(|memtable| memtable.order_all());
    let sources = memtables.iter().map(|memtable| Source::Memtable(memtable.cursor(MAX_SEQNO)));
    let mut records = MergingCursor::new(sources.collect(), Arc::clone(&keyspace.comparator));
    let mut covers = covers_of(keyspace, memtables, &[]);
    let mut key: Option<Vec<u8>> = None;
    records.seek_to_first()?;
    while records.valid() {
        if key.as_deref() != Some(records.key()) {
            let known = key.get_or_insert_default();
            known.clear();
            known.extend_from_slice(records.key());
            let header = records.header();
            let covered =
                covers.as_mut().map_or(Ok(0), |covers| covers.of(known).map(|all| all[0]))?;
            if header.kind == Kind::Put && header.seqno > covered {
                let candidates = candidates.iter_mut();
                for candidate in candidates.filter(|one| one.log.values.contains(header.seqno)) {
                    candidate.kept += records.value().len() as u64;
                }
            }
        }
        records.next()?;
    }
    Ok(())
}
