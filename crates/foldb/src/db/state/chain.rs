//! The logs that the change feed reads, from the oldest that is kept to the active one.
//!
//! ```text
//! 000004.arc <- 000007.arc <- 000009.log <- 000012.log
//! archived      archived      sealed        takes writes
//! ```
//!
//! Each log names its predecessor and how many frames that has at its end. So the end of every log
//! except the last is known, and a reader that finds another number of frames notices it.
//!
//! Invariant: each log of the chain directly follows the one before it. Removal takes the oldest.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::db::state::news::News;
use crate::db::state::position::Position;
use crate::error::{Error, ErrorKind, Result};
use crate::key::SeqNo;
use crate::locks::rank::LINKS;
use crate::locks::{Lock, LockGuard};
use crate::settings::WalRetention;
use crate::wal::{LogSync, Predecessor};

/// A log of the chain.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) number: u64,
    pub(crate) id: u64,
    pub(crate) predecessor: Option<Predecessor>,
    /// The last sequence number before the log.
    pub(crate) last_seqno: SeqNo,
    /// Tells which frames are settled and synced; `None` if all of them are.
    pub(crate) sync: Option<Arc<LogSync>>,
    pub(crate) archived: Option<Archived>,
}

impl Link {
    /// Returns the position at which the log begins.
    pub(crate) fn begin(&self) -> Position {
        let seqno = self.last_seqno;
        match self.predecessor {
            Some(Predecessor { log, id, frames }) => {
                Position { seqno, log, frame: frames, lineage: id }
            }
            None if seqno == 0 => Position::BEGINNING,
            None => Position { seqno, log: self.number, frame: 0, lineage: self.id },
        }
    }
}

/// The file of an archived log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Archived {
    pub(crate) bytes: u64,
    /// A moment on the clock of this open.
    pub(crate) since: Duration,
    /// The age at that moment. It is 0 if the log was archived then.
    pub(crate) age: Duration,
}

impl Archived {
    fn age_at(&self, now: Duration) -> Duration {
        now.saturating_sub(self.since).saturating_add(self.age)
    }
}

/// What a reader may read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The reader may read its log up to this frame.
    pub(crate) through: u64,
    /// Number and id of the log that follows, if the reader has read its log to the end.
    pub(crate) next: Option<(u64, u64)>,
}

/// The chain of a writable database.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) retention: WalRetention,
    links: Lock<VecDeque<Link>, LINKS>,
    /// All writes up to this number are durable: logged ones in synced frames, others in tables.
    /// Raised with `AcqRel` after the sync or flush, and read with `Acquire`: a reader that sees
    /// the number, and then looks at the logs, sees those frames as synced.
    durable: AtomicU64,
    /// Wakes readers that wait for more.
    pub(crate) news: News,
}

impl Chain {
    pub(crate) fn new(retention: WalRetention, links: Vec<Link>, durable: SeqNo) -> Chain {
        let (links, durable) = (Lock::new(links.into()), AtomicU64::new(durable));
        Chain { retention, links, durable, news: News::default() }
    }

    fn lock(&self) -> LockGuard<'_, VecDeque<Link>, LINKS> {
        self.links.lock()
    }

    /// Adds the log that takes the next writes.
    pub(crate) fn push(&self, link: Link) {
        let mut links = self.lock();
        let is_newest = links.back().is_none_or(|newest| newest.number < link.number);
        assert!(is_newest, "the change feed reads the logs in the order of their numbers");
        links.push_back(link);
        drop(links);
        self.news.changed();
    }

    /// Returns number and id of the newest log.
    pub(crate) fn newest(&self) -> Option<(u64, u64)> {
        self.lock().back().map(|link| (link.number, link.id))
    }

    /// Returns the log before one of the chain.
    pub(crate) fn predecessor_of(&self, number: u64) -> Option<Predecessor> {
        let links = self.lock();
        let at = links.binary_search_by_key(&number, |link| link.number).ok()?;
        links[at].predecessor
    }

    /// Notes that all writes up to this number are durable, also unlogged ones.
    pub(crate) fn note_durable(&self, through: SeqNo) {
        self.durable.fetch_max(through, Ordering::AcqRel);
        self.news.changed();
    }

    /// Returns the number up to which all writes are durable, also unlogged ones.
    pub(crate) fn durable(&self) -> SeqNo {
        self.durable.load(Ordering::Acquire)
    }

    /// Returns whether the chain has a log, and whether that log is archived already.
    pub(crate) fn find(&self, number: u64) -> Option<bool> {
        let links = self.lock();
        let at = links.binary_search_by_key(&number, |link| link.number).ok()?;
        Some(links[at].archived.is_some())
    }

    /// Notes that a log was archived.
    pub(crate) fn note_archived(&self, number: u64, archived: Archived) {
        let mut links = self.lock();
        if let Ok(at) = links.binary_search_by_key(&number, |link| link.number) {
            debug_assert!(at + 1 < links.len(), "the log that takes the writes is not archived");
            links[at].archived = Some(archived);
            // An archived log was synced, and the handle would keep its file open.
            links[at].sync = None;
        }
        drop(links);
        self.news.changed();
    }

    /// Takes the oldest archived logs out of the chain until the rest is within the bounds. Returns
    /// their numbers.
    pub(crate) fn trim(&self, now: Duration) -> Vec<u64> {
        let mut links = self.lock();
        let mut bytes: u64 = links.iter().flat_map(|link| link.archived).map(|it| it.bytes).sum();
        let mut removed = Vec::new();
        while let Some(Link { number, archived: Some(archived), .. }) = links.front()
            && self.retention.is_beyond(bytes, archived.age_at(now))
        {
            removed.push(*number);
            bytes -= archived.bytes;
            links.pop_front();
        }
        removed
    }

    /// Returns whether archived logs expire some time.
    pub(crate) fn expires(&self) -> bool {
        let is_archived = |link: &Link| link.archived.is_some();
        self.retention.seconds > 0 && self.lock().front().is_some_and(is_archived)
    }

    /// Returns whether the oldest archived log has expired.
    pub(crate) fn has_expired(&self, now: Duration) -> bool {
        if self.retention.seconds == 0 {
            return false;
        }
        let oldest = self.lock().front().and_then(|link| link.archived);
        oldest.is_some_and(|it| self.retention.is_beyond(0, it.age_at(now)))
    }

    /// Returns the number of archived logs and their bytes.
    pub(crate) fn archived(&self) -> (u64, u64) {
        let links = self.lock();
        let archived = links.iter().filter_map(|link| link.archived);
        archived.fold((0, 0), |(logs, bytes), it| (logs + 1, bytes + it.bytes))
    }

    /// Returns the oldest position that the chain can continue.
    pub(crate) fn oldest(&self) -> Option<Position> {
        self.lock().front().map(Link::begin)
    }

    /// Returns where the log begins that may have this sequence number: the last one that begins
    /// before it. If none does, it is the oldest position.
    pub(crate) fn before(&self, seqno: SeqNo) -> Option<Position> {
        let links = self.lock();
        let has_it = links.iter().rev().find(|link| link.last_seqno < seqno);
        has_it.or_else(|| links.front()).map(Link::begin)
    }

    /// Returns what a reader at this position may read next: never a frame that may be taken back.
    /// `durable`: only synced frames.
    ///
    /// # Errors
    /// `PositionLost` if a log was removed that the reader still needs, or if the position is not
    /// in this history.
    pub(crate) fn see(&self, at: &Position, durable: bool) -> Result<Seen> {
        let links = self.lock();
        let links: Vec<&Link> = links.iter().collect();
        see_in(&links, at, |link, end| {
            let sync = link.sync.as_ref();
            let most = end.or(sync.map(|sync| sync.settled()));
            let synced = sync.filter(|_| durable).map(|sync| sync.synced());
            let through = most.unwrap_or(at.frame);
            Frames { through: synced.map_or(through, |synced| synced.min(through)), most }
        })
    }
}

/// How far a log can be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames {
    /// The last frame that the reader may read.
    pub(crate) through: u64,
    /// The last frame of the log; `None` if it is unknown.
    pub(crate) most: Option<u64>,
}

/// Returns what a reader at a position may read next. `links` is the whole chain. `frames` gets the
/// log of the position, and its last frame if another log follows.
///
/// # Errors
/// As [`Chain::see`].
pub(crate) fn see_in(
    links: &[&Link],
    at: &Position,
    frames: impl FnOnce(&Link, Option<u64>) -> Frames,
) -> Result<Seen> {
    let Some(oldest) = links.first() else { return Err(lost("the database keeps no log")) };
    let found = links.binary_search_by_key(&at.log, |link| link.number).ok();
    let Some(index) = found.filter(|&index| links[index].id == at.lineage) else {
        let is_before_oldest = oldest.predecessor.is_some_and(|before| {
            (before.log, before.id, before.frames) == (at.log, at.lineage, at.frame)
        });
        let is_beginning =
            *at == Position::BEGINNING && (oldest.predecessor, oldest.last_seqno) == (None, 0);
        if is_before_oldest || is_beginning {
            return Ok(Seen { through: at.frame, next: Some((oldest.number, oldest.id)) });
        }
        return Err(match at.log < oldest.number {
            true => lost("the log after it was removed, or never kept"),
            false => lost("it belongs to another history of the database"),
        });
    };
    let next = links.get(index + 1);
    let end = next.and_then(|next| next.predecessor).map(|before| before.frames);
    let Frames { through, most } = frames(links[index], end);
    if most.is_some_and(|most| at.frame > most) {
        return Err(lost("a power loss took back the writes before it"));
    }
    let next = next.filter(|_| end == Some(at.frame) && through >= at.frame);
    Ok(Seen { through, next: next.map(|next| (next.number, next.id)) })
}

/// Returns the error of a position that the feed cannot continue.
pub(crate) fn lost(why: &str) -> Error {
    Error::new(
        ErrorKind::PositionLost,
        format!(
            "the feed cannot continue at this position: {why}; copy the database anew, and follow \
             from the position of the copy"
        ),
    )
}
