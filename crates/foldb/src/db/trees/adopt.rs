//! Adoption: a log of mostly separated values becomes a value segment, so the flush does not copy
//! its values. Each of these values is written only once.
//!
//! ```text
//! 000007.log ─┐ link   tables refer to (7, 120), (7, 4300) ..   edit: segment 7 is a log   unlink
//! 000007.seg ─┘ sync                                                                 000007.log
//! ```
//!
//! The log gets a second name and is durable before any table refers to it. Before the edit it is a
//! log, and its second name is an orphan. After the edit it is a segment, and its first name is
//! unlinked. All other bytes of the log count as dead from the start. A log is adopted only if they
//! stay within the bound for dead bytes.
//!
//! Values of a log lie in order of arrival. If that is not key order, every scan is slower. If
//! frames take more than a twentieth of the log, garbage collection would copy the log anyway. It
//! would also find the values faster through the hints at the end of a segment than through frames.
//! The values of such logs are copied, unless [`LogAdoption::Always`] is set.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use crate::db::core::Core;
use crate::db::state::buffers::SealedGroup;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::trees::flush::{Sealed, covers_of};
use crate::error::{Error, ErrorKind, Result};
use crate::faults::{Fault, planted};
use crate::files::is_no_link;
use crate::iterator::{MergingCursor, Source};
use crate::key::{KeyspaceId, Kind, MAX_SEQNO};
use crate::memtable::Memtable;
use crate::segment::AdoptedLog;
use crate::settings::LogAdoption;
use crate::wal::SealedLog;

/// The largest dead fraction of an adopted log, even if the bound for dead bytes is larger.
const MOST_DEAD: f64 = 0.5;

/// The largest dead fraction by default. Garbage collection on demand leaves as many dead bytes, so
/// it does not rewrite a log only for its frames.
const MOST_DEAD_BY_DEFAULT: f64 = 0.05;

/// A log shorter than a full segment file divided by this is copied, so that segment files stay
/// few.
const LEAST_PART: u64 = 4;

/// A log counts as in key order if at most one value in this many lies before its predecessor by
/// key.
const IN_ORDER_PARTS: u64 = 8;

/// A log that may be adopted, with the values that a keyspace keeps of it.
struct Candidate<'a> {
    log: &'a SealedLog,
    kept: Kept,
}

/// The values of a log that a keyspace keeps, counted in key order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Kept {
    bytes: u64,
    values: u64,
    /// Values whose position in the log is after that of the previous value.
    in_order: u64,
    last_position: u64,
}

impl Kept {
    fn note(&mut self, position: u64, bytes: u64) {
        self.bytes += bytes;
        self.values += 1;
        self.in_order += u64::from(position >= self.last_position);
        self.last_position = position;
    }

    fn is_in_key_order(&self) -> bool {
        (self.values - self.in_order) * IN_ORDER_PARTS <= self.values
    }
}

impl Core {
    /// Picks the logs of sealed groups that are worth adopting, syncs them, and gives them a second
    /// name.
    pub(crate) fn adopt_logs(
        &self,
        groups: &[Arc<SealedGroup>],
        memtables: &BTreeMap<KeyspaceId, Sealed>,
    ) -> Result<Vec<AdoptedLog>> {
        let logs = groups.iter().filter_map(|group| group.log.as_ref());
        let may_do = logs.filter(|log| self.is_worth_adopting(log, log.values.bytes()));
        let candidate = |log| Candidate { log, kept: Kept::default() };
        let mut candidates: Vec<_> = may_do.map(candidate).collect();
        let mut adopted = Vec::new();
        for (keyspace, memtables) in memtables.values() {
            if candidates.is_empty() {
                break;
            }
            if keyspace.is_dropped()
                || keyspace.has_failed()
                || keyspace.separable_from == usize::MAX
            {
                continue;
            }
            candidates.iter_mut().for_each(|candidate| candidate.kept = Kept::default());
            let counted =
                keyspace.guarded("a flush", || count_kept(keyspace, memtables, &mut candidates));
            match counted {
                Err(error) if error.kind() == ErrorKind::ComparatorFailed => continue,
                counted => counted?,
            }
            // The kept values exceed half of the log, so no other keyspace keeps as many bytes of
            // it.
            let is_worth = |Candidate { log, kept }: &mut Candidate<'_>| {
                self.is_worth_adopting(log, kept.bytes) && self.is_adopted_in_order_of(kept)
            };
            for candidate in candidates.extract_if(.., is_worth) {
                adopted.extend(self.adopt(keyspace.id, candidate.log)?);
            }
        }
        Ok(adopted)
    }

    /// Returns whether a log is long enough, and has few bytes other than the kept values.
    fn is_worth_adopting(&self, log: &SealedLog, kept: u64) -> bool {
        if planted(Fault::AdoptUnexamined) {
            return log.values.bytes() > 0;
        }
        assert!(kept <= log.len, "a log has at least the bytes of the values that are kept of it");
        let most_dead =
            self.settings.segments.max_dead_fraction.min(match self.settings.segments.adopt_logs {
                LogAdoption::Always => MOST_DEAD,
                LogAdoption::InKeyOrder | LogAdoption::Never => MOST_DEAD_BY_DEFAULT,
            });
        log.len >= self.settings.knobs.segment_size / LEAST_PART
            && (log.len - kept) as f64 <= most_dead * log.len as f64
    }

    fn is_adopted_in_order_of(&self, kept: &Kept) -> bool {
        match self.settings.segments.adopt_logs {
            LogAdoption::Never => false,
            LogAdoption::InKeyOrder => kept.is_in_key_order(),
            LogAdoption::Always => true,
        }
    }

    /// Gives a log a second name, as a segment, and syncs the log. Returns `None` if the file
    /// system has no hard links.
    fn adopt(&self, keyspace: KeyspaceId, log: &SealedLog) -> Result<Option<AdoptedLog>> {
        let (from, to) = (self.names.log(log.number), self.names.segment(log.number));
        // An earlier flush may have adopted the log, and its segment may wait to be unlinked. While
        // this thread holds the directory, no other unlinks the name. Then the segment is in use.
        let owned = self.ownership.hold();
        let file = self.segment_files.get(log.number);
        let linked = self.options.env.fs.hard_link(&from, &to);
        drop(owned);
        match linked {
            Ok(()) => {}
            // A flush that failed left the name. File numbers are unique, so the name belongs to
            // this log.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) if is_no_link(&error) => return Ok(None),
            Err(error) => return Err(Error::io(&from, "link the log", &error)),
        }
        let adopted = AdoptedLog::new(keyspace, log, file);
        debug_assert!(
            log.sync.sealed().is_some(),
            "only a log that takes no more frames is adopted"
        );
        log.sync.trim(log.len)?;
        log.sync.sync_bytes().inspect_err(|error| self.standing.note_failed_sync(error))?;
        Ok(Some(adopted))
    }
}

/// Counts the bytes of values in logs that a flush of these memtables would keep there. Values that
/// only a snapshot keeps do not count.
fn count_kept(
    keyspace: &KeyspaceState,
    memtables: &[Arc<Memtable>],
    candidates: &mut [Candidate<'_>],
) -> Result<()> {
    memtables.iter().for_each(|memtable| memtable.order_all());
    let sources =
        memtables.iter().map(|memtable| Source::Memtable(Box::new(memtable.cursor(MAX_SEQNO))));
    let mut records = MergingCursor::new(sources.collect(), &keyspace.comparator);
    let mut covers = covers_of(keyspace, memtables, &[]);
    let mut key: Option<Vec<u8>> = None;
    records.seek_to_first()?;
    while records.valid() {
        if key.as_deref() != Some(records.key()) {
            let known = key.get_or_insert_default();
            known.clear();
            known.extend_from_slice(records.key());
            let header = records.header();
            let covered = covers.as_mut().map_or(Ok(0), |covers| covers.of(known))?;
            if header.kind == Kind::Put && header.seqno > covered {
                for Candidate { log, kept } in candidates.iter_mut() {
                    if let Some(position) = log.values.position(header.seqno) {
                        kept.note(position, records.value().len() as u64);
                    }
                }
            }
        }
        records.next()?;
    }
    Ok(())
}
