//! Writes under a condition: each reads one key and writes it in one step.
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
use crate::db::transaction::transact::Noting;
use crate::error::{Error, ErrorKind, Result};
use crate::fold::{Chain, Operator};
use crate::key::{AsKeyRange, Kind, NO_OPERATOR, RecordHeader, SeqNo};
use crate::options::WriteOptions;
use crate::settings::Expires;
use crate::value::Value;

/// Losses after which a step gives up.
const MOST_LOSSES: u32 = 100;

/// The outcome of [`Conditional::compare_and_swap`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompareAndSwap {
    /// The key had the expected value, and has the new one.
    Swapped,
    /// The key has this value, and nothing was written.
    Found(Option<Value>),
}

impl CompareAndSwap {
    /// Returns whether the key has the new value.
    pub fn is_swapped(&self) -> bool {
        *self == CompareAndSwap::Swapped
    }
}

/// What a step does after it has read its key.
enum Next<'a> {
    Nothing,
    Put(Vec<u8>),
    Delete,
    Merge(&'a Operator, &'a [u8]),
}

/// Writes under a condition, with options. Made by [`Keyspace::conditional`]. Each is atomic: no
/// other write to the key comes between its read and its write, by a transaction or not.
///
/// The deadline of the options bounds the whole call. A call that other writes keep from writing
/// until then, or a hundred times, fails with `Busy`, and has written nothing.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// let db = foldb::Db::create(dir.path().join("db"))?;
/// let durable = foldb::WriteOptions { sync: true, ..Default::default() };
/// assert!(db.default_keyspace().conditional(&durable).put_if_absent("leader", "node 7")?);
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Conditional<'a> {
    pub(super) keyspace: &'a Keyspace,
    pub(super) options: &'a WriteOptions,
    keeps_end: bool,
}

impl Conditional<'_> {
    /// Lets a new value expire when the value before it would have expired. Without this call the
    /// keyspace decides, or [`WriteOptions::expires`]: a new value is then a first write, and its
    /// lifetime begins again. A key that is absent gets its end from them in any case.
    ///
    /// # Example
    /// At most three calls a minute for each address. The count of a minute ends with it, because
    /// each new count keeps the end of the first one.
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let db = foldb::Db::create(dir.path().join("db"))?;
    /// use std::time::Duration;
    /// use foldb::{Expiry, Keyspace, KeyspaceOptions, WriteOptions};
    ///
    /// fn may_call(calls: &Keyspace, address: &str) -> foldb::Result<bool> {
    ///     let options = WriteOptions::default();
    ///     let mut count = 0;
    ///     calls.conditional(&options).keep_end().update(address, |old| {
    ///         count = old.map_or(0, |old| old[0]).saturating_add(1);
    ///         Some(vec![count])
    ///     })?;
    ///     Ok(count <= 3)
    /// }
    ///
    /// let expiry = Some(Expiry::after_first_write(Duration::from_secs(60)));
    /// let options = KeyspaceOptions { expiry, ..KeyspaceOptions::default() };
    /// let calls = db.create_keyspace("calls", options)?;
    /// assert!(may_call(&calls, "10.0.0.1")?);
    /// let end = calls.expires_at("10.0.0.1")?;
    /// assert!(may_call(&calls, "10.0.0.1")? && may_call(&calls, "10.0.0.1")?);
    /// assert!(!may_call(&calls, "10.0.0.1")?);
    /// assert_eq!(calls.expires_at("10.0.0.1")?, end);
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn keep_end(self) -> Self {
        Conditional { keeps_end: true, ..self }
    }

    /// Sets the key to `new` if its value is `expected`. `None` stands for an absent key.
    ///
    /// # Errors
    /// As [`Keyspace::get`] and [`Keyspace::put`]; nothing was written then.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// use foldb::CompareAndSwap;
    ///
    /// let db = foldb::Db::create(dir.path().join("db"))?;
    /// assert!(db.compare_and_swap("state", None, Some(b"open"))?.is_swapped());
    /// let outcome = db.compare_and_swap("state", Some(b"closed"), Some(b"open"))?;
    /// assert_eq!(outcome, CompareAndSwap::Found(Some(b"open"[..].into())));
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn compare_and_swap(
        &self,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<CompareAndSwap> {
        self.step(key.as_ref(), |found| {
            if found.as_deref() != expected {
                return Ok((Next::Nothing, CompareAndSwap::Found(found)));
            }
            let next = new.map_or(Next::Delete, |new| Next::Put(new.to_vec()));
            Ok((next, CompareAndSwap::Swapped))
        })
    }

    /// Sets an absent key. Returns whether it was absent.
    ///
    /// # Errors
    /// As [`Conditional::compare_and_swap`].
    pub fn put_if_absent(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        self.step(key.as_ref(), |found| match found {
            Some(_) => Ok((Next::Nothing, false)),
            None => Ok((Next::Put(value.as_ref().to_vec()), true)),
        })
    }

    /// Replaces the value by what `change` makes of it, and returns the new value. `None` stands
    /// for an absent key. `change` may run several times, and must not write this key itself. Where
    /// entries expire, the new value has a new lifetime: see [`Conditional::keep_end`].
    ///
    /// # Errors
    /// As [`Conditional::compare_and_swap`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// let db = foldb::Db::create(dir.path().join("db"))?;
    /// db.put("path", "a")?;
    /// let longer = db.update("path", |path| Some([path.unwrap_or_default(), b"/b"].concat()))?;
    /// assert_eq!(longer.unwrap(), b"a/b");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn update(
        &self,
        key: impl AsRef<[u8]>,
        mut change: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<Option<Value>> {
        self.step(key.as_ref(), |found| {
            let new = change(found.as_deref());
            let value = new.as_deref().map(Value::from);
            Ok((next_of(&found, new), value))
        })
    }

    /// Replaces the value as [`Conditional::update`] does, and returns the value before.
    ///
    /// # Errors
    /// As [`Conditional::compare_and_swap`].
    pub fn fetch_update(
        &self,
        key: impl AsRef<[u8]>,
        mut change: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<Option<Value>> {
        self.step(key.as_ref(), |found| {
            let new = change(found.as_deref());
            Ok((next_of(&found, new), found))
        })
    }

    /// Deletes the key, and returns the value that it had.
    ///
    /// # Errors
    /// As [`Conditional::compare_and_swap`].
    pub fn take(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.fetch_update(key, |_| None)
    }

    /// Merges an operand with the default operator, and returns the value after this merge.
    ///
    /// # Errors
    /// As [`Keyspace::merge`] and [`Keyspace::get`]; nothing was written then. In particular
    /// `MergeFailed` if the operator rejects the operand.
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options {
    /// #     create_if_missing: true,
    /// #     merge_operator: Some("uint64add".to_owned()),
    /// #     ..Default::default()
    /// # };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// assert_eq!(db.merge_get("ticket", 1u64.to_le_bytes())?.unwrap(), 1u64.to_le_bytes());
    /// assert_eq!(db.merge_get("ticket", 1u64.to_le_bytes())?.unwrap(), 2u64.to_le_bytes());
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn merge_get(
        &self,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> Result<Option<Value>> {
        let (key, operand) = (key.as_ref(), operand.as_ref());
        let operator = self.keyspace.state().default_operator()?;
        operator.check_operand(operand)?;
        self.step(key, |found| {
            let merged = self.keyspace.core().merged(operator, key, found, operand)?;
            Ok((Next::Merge(operator, operand), merged))
        })
    }

    /// Merges an operand with the default operator if `predicate` accepts the value. Returns
    /// whether it did.
    ///
    /// # Errors
    /// As [`Conditional::merge_get`].
    ///
    /// # Example
    /// ```
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let options = foldb::Options {
    /// #     create_if_missing: true,
    /// #     merge_operator: Some("stringappend:,".to_owned()),
    /// #     ..Default::default()
    /// # };
    /// # let db = foldb::Db::open(dir.path(), options)?;
    /// let has_room = |list: Option<&[u8]>| list.map_or(0, <[u8]>::len) < 5;
    /// assert!(db.merge_if("guests", has_room, "ann")?);
    /// assert!(db.merge_if("guests", has_room, "bob")?);
    /// assert!(!db.merge_if("guests", has_room, "cid")?);
    /// assert_eq!(db.get("guests")?.unwrap(), b"ann,bob");
    /// # Ok::<(), foldb::Error>(())
    /// ```
    pub fn merge_if(
        &self,
        key: impl AsRef<[u8]>,
        mut predicate: impl FnMut(Option<&[u8]>) -> bool,
        operand: impl AsRef<[u8]>,
    ) -> Result<bool> {
        let operand = operand.as_ref();
        let operator = self.keyspace.state().default_operator()?;
        operator.check_operand(operand)?;
        self.step(key.as_ref(), |found| match predicate(found.as_deref()) {
            true => Ok((Next::Merge(operator, operand), true)),
            false => Ok((Next::Nothing, false)),
        })
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

    /// Returns the end of the value that was found, if a new value keeps it.
    fn end_to_keep(&self, key: &[u8], found: &Option<Value>) -> Result<Option<Expires>> {
        if !self.keeps_end || found.is_none() || self.keyspace.state().settings.expiry.is_none() {
            return Ok(None);
        }
        // If the key changes between the two reads, the step begins again.
        Ok(Some(self.keyspace.expires_at(key)?.map_or(Expires::Never, Expires::At)))
    }

    /// Reads the key, asks `decide`, and writes, until no other write came in between.
    fn step<'a, T>(
        &self,
        key: &[u8],
        mut decide: impl FnMut(Option<Value>) -> Result<(Next<'a>, T)>,
    ) -> Result<T> {
        let (core, keyspace) = (self.keyspace.core(), self.keyspace.state());
        core.check_writable()?;
        self.options.check()?;
        let clock = &*core.options.env.clock;
        let patience = Patience::of(self.options, clock);
        let _noting = Noting::begin(&**core, patience)?;
        let mut losses = 0;
        loop {
            let _turn = core.turn_after(losses, patience)?;
            let since = core.published();
            let time = self.time();
            let found = core.get(keyspace, key, ReadSettings::default())?;
            let end = self.end_to_keep(key, &found)?;
            let (next, result) = decide(found)?;
            let (kind, value) = match &next {
                Next::Nothing => return Ok(result),
                Next::Put(value) => ((Kind::Put, NO_OPERATOR), &value[..]),
                Next::Delete => ((Kind::Delete, NO_OPERATOR), &[][..]),
                Next::Merge(operator, operand) => {
                    ((Kind::Merge, core.stored_operator(keyspace, operator)?), *operand)
                }
            };
            let mut lost = false;
            let mut options = patience.limit(self.options, clock);
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

/// Returns what replaces a value.
fn next_of<'a>(found: &Option<Value>, new: Option<Vec<u8>>) -> Next<'a> {
    match (found, new) {
        (_, Some(new)) => Next::Put(new),
        (Some(_), None) => Next::Delete,
        (None, None) => Next::Nothing,
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

    /// Returns a value with one operand merged onto it.
    ///
    /// # Errors
    /// `MergeFailed`.
    pub(super) fn merged(
        &self,
        operator: &Operator,
        key: &[u8],
        value: Option<Value>,
        operand: &[u8],
    ) -> Result<Option<Value>> {
        let mut chain = Chain::default();
        let merge = RecordHeader { seqno: 1, kind: Kind::Merge, operator: operator.id };
        chain.push(merge, Value::from(operand));
        if let Some(value) = value {
            let put = RecordHeader { seqno: 0, kind: Kind::Put, operator: NO_OPERATOR };
            chain.push(put, value);
        }
        chain.value(key, &self.registry.resolver(), &mut Vec::new())
    }
}

impl Keyspace {
    /// Returns the conditional writes with options. Those of the keyspace itself have
    /// [`WriteOptions::default`].
    pub fn conditional<'a>(&'a self, options: &'a WriteOptions) -> Conditional<'a> {
        Conditional { keyspace: self, options, keeps_end: false }
    }

    fn plain(&self) -> Conditional<'_> {
        self.conditional(&PLAIN)
    }

    /// Sets the key to `new` if its value is `expected`; see [`Conditional::compare_and_swap`].
    ///
    /// # Errors
    /// As [`Conditional::compare_and_swap`].
    pub fn compare_and_swap(
        &self,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<CompareAndSwap> {
        self.plain().compare_and_swap(key, expected, new)
    }

    /// Sets an absent key. Returns whether it was absent.
    ///
    /// # Errors
    /// As [`Conditional::compare_and_swap`].
    pub fn put_if_absent(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        self.plain().put_if_absent(key, value)
    }

    /// Replaces a value and returns the new one; see [`Conditional::update`].
    ///
    /// # Errors
    /// As [`Conditional::compare_and_swap`].
    pub fn update(
        &self,
        key: impl AsRef<[u8]>,
        change: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<Option<Value>> {
        self.plain().update(key, change)
    }

    /// Replaces a value and returns the one before; see [`Conditional::fetch_update`].
    ///
    /// # Errors
    /// As [`Conditional::compare_and_swap`].
    pub fn fetch_update(
        &self,
        key: impl AsRef<[u8]>,
        change: impl FnMut(Option<&[u8]>) -> Option<Vec<u8>>,
    ) -> Result<Option<Value>> {
        self.plain().fetch_update(key, change)
    }

    /// Deletes a key, and returns the value that it had.
    ///
    /// # Errors
    /// As [`Conditional::compare_and_swap`].
    pub fn take(&self, key: impl AsRef<[u8]>) -> Result<Option<Value>> {
        self.plain().take(key)
    }

    /// Deletes the first entry of a range, and returns it; see [`Conditional::take_first`].
    ///
    /// # Errors
    /// As [`Conditional::compare_and_swap`].
    pub fn take_first(&self, range: impl AsKeyRange) -> Result<Option<(Vec<u8>, Value)>> {
        self.plain().take_first(range)
    }

    /// Merges an operand, and returns the value after it; see [`Conditional::merge_get`].
    ///
    /// # Errors
    /// As [`Conditional::merge_get`].
    pub fn merge_get(
        &self,
        key: impl AsRef<[u8]>,
        operand: impl AsRef<[u8]>,
    ) -> Result<Option<Value>> {
        self.plain().merge_get(key, operand)
    }

    /// Merges an operand if `predicate` accepts the value; see [`Conditional::merge_if`].
    ///
    /// # Errors
    /// As [`Conditional::merge_get`].
    pub fn merge_if(
        &self,
        key: impl AsRef<[u8]>,
        predicate: impl FnMut(Option<&[u8]>) -> bool,
        operand: impl AsRef<[u8]>,
    ) -> Result<bool> {
        self.plain().merge_if(key, predicate, operand)
    }
}

static PLAIN: WriteOptions =
    WriteOptions { sync: false, disable_wal: false, deadline: None, expires: None };
