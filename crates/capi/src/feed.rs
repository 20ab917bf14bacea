//! The change feed: reads what happened to a database, in commit order.
//!
//! Invariant: the changes of an update point into the update and into the names, which
//! `foldb_updates_t` keeps.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::ops::Bound;
use std::ptr;
use std::time::Duration;

use foldb::Db;
use foldb::feed::{Change, Position, Update, UpdateOp, Updates, UpdatesOptions};

use crate::batch::foldb_batch_t;
use crate::boundary::{arg, arg_mut, call, check_out, free, path, store};
use crate::bytes::foldb_bytes_t;
use crate::database::{foldb_snapshot_t, foldb_t};
use crate::error::{c_string, foldb_error_t};
use crate::expiry::{NEVER, millis_of};
use crate::options::{database_options, foldb_options_t};

/// A place in the history of a database. All zeros is the beginning. A program may store the bytes
/// and give them back. The bytes of positions of one history are ordered as the positions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct foldb_position_t {
    /// The position as bytes.
    pub bytes: [u8; 32],
}

impl From<Position> for foldb_position_t {
    fn from(position: Position) -> foldb_position_t {
        foldb_position_t { bytes: position.to_bytes() }
    }
}

/// What a change of the feed is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum foldb_change_kind_t {
    /// `key` was set to `value`.
    FOLDB_CHANGE_PUT = 0,
    /// `key` was deleted.
    FOLDB_CHANGE_DELETE = 1,
    /// The operand `value` was merged into `key` by `merge_operator`.
    FOLDB_CHANGE_MERGE = 2,
    /// The keys from `key` to `value` were deleted; `start` and `end` say which ends belong to it.
    FOLDB_CHANGE_DELETE_RANGE = 3,
    /// The keyspace was dropped. After a crash this may come again.
    FOLDB_CHANGE_KEYSPACE_DROPPED = 4,
    /// The keyspace was created, with `merge_operator` and `comparator`. After a crash this may
    /// come again.
    FOLDB_CHANGE_KEYSPACE_CREATED = 5,
    /// The changes with the numbers from `first` to `last` are in no log: unlogged writes or
    /// sorted loads. A program that needs them copies the database anew.
    FOLDB_CHANGE_UNLOGGED = 6,
}

use foldb_change_kind_t::*;

/// An end of a deleted range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum foldb_bound_t {
    /// There is no bound, and the key is empty.
    FOLDB_UNBOUNDED = 0,
    /// The key belongs to the range.
    FOLDB_INCLUDED = 1,
    /// The key does not belong to the range.
    FOLDB_EXCLUDED = 2,
}

use foldb_bound_t::*;

/// One change of an update. Fields that its kind does not name are NULL, empty or 0.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct foldb_change_t {
    /// What happened.
    pub kind: foldb_change_kind_t,
    /// How a deleted range starts.
    pub start: foldb_bound_t,
    /// How a deleted range ends.
    pub end: foldb_bound_t,
    /// The name of the keyspace.
    pub keyspace: *const c_char,
    /// The key, or the start of a range.
    pub key: foldb_bytes_t,
    /// The value, the operand, or the end of a range.
    pub value: foldb_bytes_t,
    /// The operator as `NAME` or `NAME:PARAM`; of a created keyspace without one, NULL.
    pub merge_operator: *const c_char,
    /// The name of the comparator of a created keyspace.
    pub comparator: *const c_char,
    /// The option `expiry` of a created keyspace, as `foldb_keyspace_options_set` takes it; NULL if
    /// its entries do not expire.
    pub expiry: *const c_char,
    /// When the value expires after the put or merge, in milliseconds since 1970; -1 if the write
    /// sets no time.
    pub expires_millis: i64,
    /// The first sequence number of unlogged changes.
    pub first: u64,
    /// The last sequence number of unlogged changes.
    pub last: u64,
}

/// Reads the change feed. One thread at a time may use it. It keeps its database open.
pub struct foldb_updates_t {
    updates: Updates,
    current: Option<Update>,
    /// The changes of `current`.
    changes: Vec<foldb_change_t>,
    /// The names that changes gave so far.
    names: BTreeMap<String, CString>,
}

/// Returns the updates after a position, oldest first, and stores them in `*updates`. A NULL
/// position is the beginning of the history. The database keeps its logs for this: set the option
/// `wal_retention_bytes` or `wal_retention_seconds` at every open.
///
/// Without `include_unsynced`, only updates appear that survive a power loss. Fails with
/// `FOLDB_POSITION_LOST` if the feed cannot continue at the position: copy the database anew. Free
/// the updates with `foldb_updates_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_updates_since(
    db: *const foldb_t,
    position: *const foldb_position_t,
    include_unsynced: bool,
    updates: *mut *mut foldb_updates_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(updates, "updates")?;
        // SAFETY: the caller keeps the rules of the header.
        let (db, position) = unsafe { (arg(db, "db")?, position.as_ref()) };
        let position = match position {
            Some(position) => Position::from_bytes(&position.bytes)?,
            None => Position::BEGINNING,
        };
        let begun = foldb_updates_t {
            updates: db.db.updates_since(&position, &UpdatesOptions { include_unsynced })?,
            current: None,
            changes: Vec::new(),
            names: BTreeMap::new(),
        };
        // SAFETY: checked above.
        unsafe { store(updates, Box::into_raw(Box::new(begun))) };
        Ok(())
    })
}

/// Moves to the next update and stores in `*found` whether there is one now. A later call may find
/// one. The bytes of the update before end here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_updates_next(
    updates: *mut foldb_updates_t,
    found: *mut bool,
) -> *mut foldb_error_t {
    call(|| {
        check_out(found, "found")?;
        // SAFETY: the caller keeps the rules of the header.
        let own = unsafe { arg_mut(updates, "updates")? };
        own.changes.clear();
        // If the call fails, there is no update that `foldb_batch_add_update` could add.
        own.current = None;
        own.current = own.updates.next().transpose()?;
        own.note_changes();
        // SAFETY: checked above.
        unsafe { store(found, own.current.is_some()) };
        Ok(())
    })
}

/// Waits until there is a next update, at most for this time, and stores in `*found` whether there
/// is one. The update of the last `foldb_updates_next` stays as it is.
///
/// The thread sleeps until a write of this process wakes it, and fails with `FOLDB_CLOSED` as soon
/// as another thread closes the database. If the database was opened read-only, another process
/// writes: then the call looks again every 1 to 20 milliseconds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_updates_wait(
    updates: *mut foldb_updates_t,
    timeout_micros: u64,
    found: *mut bool,
) -> *mut foldb_error_t {
    call(|| {
        check_out(found, "found")?;
        // SAFETY: the caller keeps the rules of the header.
        let own = unsafe { arg_mut(updates, "updates")? };
        let is_there = own.updates.wait(Duration::from_micros(timeout_micros))?;
        // SAFETY: checked above.
        unsafe { store(found, is_there) };
        Ok(())
    })
}

/// Stores the position directly after the update of the last `foldb_updates_next` in `*position`.
/// Store it together with the changes that the program applied. If that call found no update, this
/// is the position from which the feed goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_updates_position(
    updates: *const foldb_updates_t,
    position: *mut foldb_position_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(position, "position")?;
        // SAFETY: the caller keeps the rules of the header.
        let own = unsafe { arg(updates, "updates")? };
        let current = own.current.as_ref().map(|update| update.position);
        // SAFETY: checked above.
        unsafe { store(position, current.unwrap_or_else(|| own.updates.position()).into()) };
        Ok(())
    })
}

/// Stores the changes of the update in `*changes` and their number in `*count`. They were applied
/// together, in this order. The changes and their keys and values live until the next move, the
/// names until the updates are freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_updates_changes(
    updates: *const foldb_updates_t,
    changes: *mut *const foldb_change_t,
    count: *mut usize,
) -> *mut foldb_error_t {
    call(|| {
        check_out(changes, "changes")?;
        check_out(count, "count")?;
        // SAFETY: the caller keeps the rules of the header.
        let own = unsafe { arg(updates, "updates")? };
        // SAFETY: checked above.
        unsafe {
            store(changes, own.changes.as_ptr());
            store(count, own.changes.len());
        }
        Ok(())
    })
}

/// Adds the writes of the update to a batch, for keyspaces and operators of the same names in the
/// batch's database. Adds nothing if the update is no batch of writes. Fails with
/// `FOLDB_KEYSPACE_MISSING` if that database lacks one of the keyspaces. The batch is then as
/// before: make the keyspace, and call again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_batch_add_update(
    batch: *mut foldb_batch_t,
    updates: *const foldb_updates_t,
) -> *mut foldb_error_t {
    call(|| {
        // SAFETY: the caller keeps the rules of the header.
        let (own, updates) = unsafe { (arg_mut(batch, "batch")?, arg(updates, "updates")?) };
        match &updates.current {
            Some(Update { change: Change::Batch(changes), .. }) => {
                changes.add_to(&mut own.batch, own.db.db.to_change()?)
            }
            _ => Ok(()),
        }
    })
}

/// Frees updates. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_updates_free(updates: *mut foldb_updates_t) {
    // SAFETY: the caller keeps the rules of the header.
    unsafe { free(updates) };
}

/// Stores in `*found` whether the database keeps logs for the feed. A program that did not choose
/// the options of a database asks before it opens it: an open without `wal_retention_bytes` and
/// `wal_retention_seconds` ends the feed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_has_feed(
    directory: *const c_char,
    options: *const foldb_options_t,
    found: *mut bool,
) -> *mut foldb_error_t {
    call(|| {
        check_out(found, "found")?;
        // SAFETY: the caller keeps the rules of the header.
        let (directory, options) = unsafe { (path(directory)?, database_options(options)?) };
        let has_feed = Db::has_feed(directory, &options)?;
        // SAFETY: checked above.
        unsafe { store(found, has_feed) };
        Ok(())
    })
}

/// Stores the position directly after the last write in `*position`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_position(
    db: *const foldb_t,
    position: *mut foldb_position_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(position, "position")?;
        // SAFETY: the caller keeps the rules of the header.
        let found = unsafe { arg(db, "db")? }.db.to_change()?.position()?;
        // SAFETY: checked above.
        unsafe { store(position, found.into()) };
        Ok(())
    })
}

/// Stores the oldest position at which the feed can begin in `*position`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_oldest_position(
    db: *const foldb_t,
    position: *mut foldb_position_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(position, "position")?;
        // SAFETY: the caller keeps the rules of the header.
        let found = unsafe { arg(db, "db")? }.db.oldest_position()?;
        // SAFETY: checked above.
        unsafe { store(position, found.into()) };
        Ok(())
    })
}

/// Takes a snapshot, and the position of the same moment. A program copies the snapshot and then
/// follows from the position: it gets each write exactly once. Free the snapshot with
/// `foldb_snapshot_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foldb_snapshot_and_position(
    db: *const foldb_t,
    snapshot: *mut *mut foldb_snapshot_t,
    position: *mut foldb_position_t,
) -> *mut foldb_error_t {
    call(|| {
        check_out(snapshot, "snapshot")?;
        check_out(position, "position")?;
        // SAFETY: the caller keeps the rules of the header.
        let (own, found) = unsafe { arg(db, "db")? }.db.to_change()?.snapshot_and_position()?;
        let own = Box::into_raw(Box::new(foldb_snapshot_t(own)));
        // SAFETY: checked above.
        unsafe {
            store(snapshot, own);
            store(position, found.into());
        }
        Ok(())
    })
}

/// A change without contents.
const EMPTY: foldb_change_t = foldb_change_t {
    kind: FOLDB_CHANGE_UNLOGGED,
    start: FOLDB_UNBOUNDED,
    end: FOLDB_UNBOUNDED,
    keyspace: ptr::null(),
    key: foldb_bytes_t { data: ptr::null(), len: 0 },
    value: foldb_bytes_t { data: ptr::null(), len: 0 },
    merge_operator: ptr::null(),
    comparator: ptr::null(),
    expiry: ptr::null(),
    expires_millis: NEVER,
    first: 0,
    last: 0,
};

impl foldb_updates_t {
    /// Makes the changes of the current update.
    fn note_changes(&mut self) {
        let Some(update) = &self.current else { return };
        let (names, changes) = (&mut self.names, &mut self.changes);
        match &update.change {
            Change::Batch(batch) => {
                changes.extend(batch.iter().filter_map(|write| change_of(write, names)));
            }
            Change::Keyspaces { dropped, created } => {
                changes.extend(dropped.iter().map(|own| foldb_change_t {
                    kind: FOLDB_CHANGE_KEYSPACE_DROPPED,
                    keyspace: name(names, own),
                    ..EMPTY
                }));
                changes.extend(created.iter().map(|own| foldb_change_t {
                    kind: FOLDB_CHANGE_KEYSPACE_CREATED,
                    keyspace: name(names, &own.name),
                    merge_operator: match &own.merge_operator {
                        Some(operator) => name(names, operator),
                        None => ptr::null(),
                    },
                    comparator: name(names, &own.comparator),
                    expiry: match &own.expiry {
                        Some(expiry) => name(names, &expiry.to_string()),
                        None => ptr::null(),
                    },
                    ..EMPTY
                }));
            }
            &Change::Unlogged { first, last } => {
                changes.push(foldb_change_t { first, last, ..EMPTY });
            }
            _ => {}
        }
    }
}

/// Returns a name for C. It lives as long as `names`.
fn name(names: &mut BTreeMap<String, CString>, text: &str) -> *const c_char {
    if let Some(known) = names.get(text) {
        return known.as_ptr();
    }
    // The bytes of a `CString` stay in place when the map moves it.
    names.entry(text.to_owned()).or_insert_with(|| c_string(text)).as_ptr()
}

/// Returns a change of a key.
fn of_key(
    kind: foldb_change_kind_t,
    names: &mut BTreeMap<String, CString>,
    keyspace: &str,
    key: &[u8],
) -> foldb_change_t {
    foldb_change_t { kind, keyspace: name(names, keyspace), key: key.into(), ..EMPTY }
}

/// Returns a write for C; `None` for a kind of write that is newer than the header.
fn change_of(write: UpdateOp<'_>, names: &mut BTreeMap<String, CString>) -> Option<foldb_change_t> {
    Some(match write {
        UpdateOp::Put { keyspace, key, value, expires } => foldb_change_t {
            value: value.into(),
            expires_millis: millis_of(expires),
            ..of_key(FOLDB_CHANGE_PUT, names, keyspace, key)
        },
        UpdateOp::Delete { keyspace, key } => of_key(FOLDB_CHANGE_DELETE, names, keyspace, key),
        UpdateOp::Merge { keyspace, key, operand, operator, expires } => foldb_change_t {
            value: operand.into(),
            merge_operator: name(names, operator),
            expires_millis: millis_of(expires),
            ..of_key(FOLDB_CHANGE_MERGE, names, keyspace, key)
        },
        UpdateOp::DeleteRange { keyspace, start, end } => {
            let ((start, from), (end, to)) = (bound(start), bound(end));
            foldb_change_t {
                start,
                end,
                value: to.into(),
                ..of_key(FOLDB_CHANGE_DELETE_RANGE, names, keyspace, from)
            }
        }
        _ => return None,
    })
}

fn bound(bound: Bound<&[u8]>) -> (foldb_bound_t, &[u8]) {
    match bound {
        Bound::Unbounded => (FOLDB_UNBOUNDED, b""),
        Bound::Included(key) => (FOLDB_INCLUDED, key),
        Bound::Excluded(key) => (FOLDB_EXCLUDED, key),
    }
}
