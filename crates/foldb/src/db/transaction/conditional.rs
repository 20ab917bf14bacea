//! Steps without a transaction: each reads one key and writes it.
//!
//! The key is read without a lock. The write then takes the writer lock and looks into the notes of
//! recent writes. If another write came to the key in between, the step begins again:
//!
//! ```text
//! a: read k=1 .................. lock: k unchanged, k.PUT.2, unlock
//! b:      read k=1 ................................ lock: k changed | read k=2 ...
//! ```
//!
//! After [`LOSSES_BEFORE_TURN`] losses the step gets a turn, as a transaction does. Each further
//! turn is longer, and after [`MOST_LOSSES`] losses the step gives up.
//!
//! [`LOSSES_BEFORE_TURN`]: crate::db::throttle::turn::LOSSES_BEFORE_TURN

use std::sync::Arc;

use crate::db::core::Core;
use crate::db::handle::keyspace::Keyspace;
use crate::db::read::settings::ReadSettings;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::patience::{Patience, busy};
use crate::db::state::recent_writes::{Noted, RecentWrites};
use crate::db::state::time::Reading;
use crate::db::throttle::turn::{TurnGuard, turn_after};
use crate::db::transaction::claims::range_of_key;
use crate::db::transaction::steps::{Next, Steps};
use crate::db::transaction::transact::Noting;
use crate::error::{Error, ErrorKind, Result};
use crate::key::{AsKeyRange, Kind, NO_OPERATOR, SeqNo};
use crate::options::WriteOptions;
use crate::settings::Expires;
use crate::value::Value;

/// Losses after which a step gives up.
const MOST_LOSSES: u32 = 100;

/// Writes of a keyspace under a condition, each an optimistic step of its own.
#[derive(Clone, Copy)]
pub(super) struct Conditional<'a> {
    pub(super) keyspace: &'a Keyspace,
    pub(super) options: &'a WriteOptions,
}

impl Conditional<'_> {
    /// Returns the options of the write, without what only its read can tell.
    ///
    /// # Errors
    /// As [`WriteOptions::check`].
    pub(super) fn options_of_writes(&self) -> Result<WriteOptions> {
        let options = WriteOptions { keep_end: false, ..*self.options };
        options.check().map(|()| options)
    }

    /// Returns the time, if entries of the keyspace expire.
    pub(super) fn time(&self) -> Option<Reading> {
        self.keyspace.state().settings.expiry.map(|_| self.keyspace.core().time_reading())
    }

    /// Returns whether the entry that was read at this time may have expired since then, or come
    /// back by a reset of the time.
    pub(super) fn is_later(&self, time: Option<Reading>) -> bool {
        time.is_some_and(|time| self.keyspace.core().time.last_reading() > time)
    }

    /// Returns a later time at which a key is still there, or still absent, if the decision took
    /// until another second. Otherwise a step whose decision takes that long would always lose.
    fn time_of_same(
        &self,
        key: &[u8],
        was_there: bool,
        time: Option<Reading>,
    ) -> Result<Option<Reading>> {
        // Asks the clock, as the write does.
        let now = self.time();
        if now == time {
            return Ok(time);
        }
        let (core, keyspace) = (self.keyspace.core(), self.keyspace.state());
        let is_reset = time.is_some_and(|time| core.time.was_reset_since(time));
        let is_there = core.get(keyspace, key, ReadSettings::default())?.is_some();
        Ok(if is_there == was_there && !is_reset { now } else { time })
    }

    /// Returns the end of the value that was found, if a new value keeps it.
    fn end_to_keep(&self, key: &[u8], found: &Option<Value>) -> Result<Option<Expires>> {
        if !self.options.keep_end
            || found.is_none()
            || self.keyspace.state().settings.expiry.is_none()
        {
            return Ok(None);
        }
        // If the key changes between the two reads, the step begins again.
        Ok(Some(self.keyspace.expires_at(key)?.map_or(Expires::Never, Expires::At)))
    }
}

impl Steps for Conditional<'_> {
    fn own_keyspace(&self) -> &Keyspace {
        self.keyspace
    }

    fn expires(&self) -> Option<Expires> {
        self.options.expires
    }

    fn expire(&self, key: &[u8], expires: Expires) -> Result<bool> {
        let options = WriteOptions { expires: Some(expires), ..*self.options };
        Conditional { options: &options, ..*self }.touch(key)
    }

    fn take_first(&self, range: impl AsKeyRange) -> Result<Option<(Vec<u8>, Value)>> {
        self.take_first_entry(range)
    }

    /// Begins again until no other write came in between.
    fn step<'a, T>(
        &self,
        key: &[u8],
        mut decide: impl FnMut(Option<Value>) -> Result<(Next<'a>, T)>,
    ) -> Result<T> {
        let (core, keyspace) = (self.keyspace.core(), self.keyspace.state());
        core.check_writable()?;
        let options = self.options_of_writes()?;
        let clock = &*core.options.env.clock;
        let patience = Patience::of(&options, clock);
        let _noting = Noting::begin(&**core, patience)?;
        let mut losses = 0;
        loop {
            let _turn = core.turn_after(losses, patience)?;
            let since = core.published();
            let time = self.time();
            let found = core.get(keyspace, key, ReadSettings::default())?;
            let end = self.end_to_keep(key, &found)?;
            let was_there = found.is_some();
            let (next, result) = decide(found)?;
            let (kind, value) = match &next {
                Next::Nothing => return Ok(result),
                Next::Put(value) => ((Kind::Put, NO_OPERATOR), &value[..]),
                Next::Again(value) => ((Kind::Put, NO_OPERATOR), &value[..]),
                Next::Delete => ((Kind::Delete, NO_OPERATOR), &[][..]),
                Next::Merge(operator, operand) => {
                    ((Kind::Merge, core.stored_operator(keyspace, operator)?), *operand)
                }
            };
            let time = self.time_of_same(key, was_there, time)?;
            let mut lost = false;
            let mut options = patience.limit(&options, clock);
            if matches!(next, Next::Put(_)) && end.is_some() {
                options.expires = end;
            }
            let written = core.write_one_if(keyspace, kind, key, value, &options, |writer| {
                lost = has_changed(&writer.recent, keyspace, key, since) || self.is_later(time);
                if lost { Err(lost_the_key()) } else { Ok(()) }
            });
            if !lost {
                return written.map(|()| result);
            }
            losses += 1;
        }
    }
}

/// Never leaves the step, which begins again.
pub(super) fn lost_the_key() -> Error {
    Error::new(ErrorKind::Conflict, "another write changed the key")
}

/// Returns whether a key may have changed after `since`.
fn has_changed(recent: &RecentWrites, keyspace: &KeyspaceState, key: &[u8], since: SeqNo) -> bool {
    let (id, comparator) = (keyspace.id, &*keyspace.comparator);
    let noted = match comparator.bytewise_equality() {
        true => recent.has_changed(id, comparator, key, since),
        false => recent.has_range_changed(id, comparator, &range_of_key(key), since),
    };
    noted != Noted::Unchanged
}

impl Core {
    /// Takes a turn for a step that lost several times.
    ///
    /// # Errors
    /// `Busy` if the step lost and patience is over, or lost [`MOST_LOSSES`] times.
    pub(super) fn turn_after(
        self: &Arc<Core>,
        losses: u32,
        patience: Patience,
    ) -> Result<Option<TurnGuard>> {
        let is_over = losses > 0 && patience.is_over(&*self.options.env.clock);
        if is_over || losses >= MOST_LOSSES {
            return Err(busy("other writes kept changing the key"));
        }
        turn_after(losses).map(|limit| self.take_turn(limit, patience)).transpose()
    }
}
