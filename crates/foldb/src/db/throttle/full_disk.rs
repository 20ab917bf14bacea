//! A full disk: which writes still pass, and what they use.
//!
//! The database keeps a file of zeroes, the *reserve*. When the disk is full, a delete, the drop of
//! a keyspace, a flush or a compaction gives its blocks back to the disk. The reserve is then
//! *open*. Until there is space for it again, writes other than deletes fail with `NoSpace` at
//! once, so all of that space serves the writes that free some:
//!
//! ```text
//!  reserve │ puts                 │ deletes, drops
//!  whole   │ pass, or NoSpace     │ pass, or open the reserve and pass
//!  open    │ NoSpace              │ pass, or NoSpace when the reserve is used up
//!          └─ whole again when nothing waits for a flush and the disk has space for it
//! ```
//!
//! Deletes leave half of the reserve to flushes, without which their space never comes back, and to
//! the next open of the database, which begins a log and a manifest. While the reserve is open,
//! memtables are flushed early and with the deletes in them. Compactions wait for flushes, and then
//! run where they drop the most. A slice that takes more space than it gives back is dropped.
//!
//! Before that, while the reserve is whole, compactions leave waiting flushes the space for their
//! tables. Otherwise the flushes could meet a disk with less space than even the reserve has.
//!
//! Invariants: a write that passes while the reserve is open is a delete. No installed slice of the
//! policy's compactions leaves less space than it found while the reserve is open. The file changes
//! only while the database has the directory's lock. A file system that does not tell its free
//! space has no reserve.

use std::sync::Arc;
use std::time::Duration;

use crate::db::batch::writes::Writes;
use crate::db::core::Core;
use crate::db::state::patience::{Patience, busy};
use crate::db::state::reserve::LEAST;
use crate::db::state::writer::WriterState;
use crate::db::state::writer_lock::WriterGuard;
use crate::db::throttle::room::begin_log_after_close;
use crate::error::{Error, ErrorKind, Result};
use crate::events::Event;
use crate::files::{empty_reserve, make_reserve};
use crate::settings::WriteBuffers;

/// The part of the database's bytes that the reserve takes.
const PART: u64 = 8;
/// The bytes of logs at which the database is worth a reserve.
pub(crate) const FIRST_LOOK: u64 = PART * LEAST;
/// The part of an open reserve that deletes leave to flushes and to the next open of the database.
const PART_FOR_OPEN: u64 = 2;
/// The part of the free space that one table of background work may take, and the least that it may
/// take however full the disk is.
const PART_FOR_TABLE: u64 = 4;
/// The part while the reserve is open. A slice then gives back what it takes, or is dropped.
const PART_IN_RESERVE: u64 = 2;
const SMALLEST_TABLE: u64 = 64 << 10;
/// The part of the free space that a value segment may grow to, and what it may grow to however
/// full the disk is.
const PART_FOR_SEGMENT: u64 = 16;
const SMALLEST_SEGMENT: u64 = 256 << 10;
/// Sealed memtables that may wait beyond the usual number while the reserve is open. They hold few
/// deletes each.
const MORE_SEALED: usize = 16;

/// How long a delete waits for space while no step of background work succeeds. A step that failed
/// is tried again after a second.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long it waits for one step.
const WAIT: Duration = Duration::from_millis(50);

/// What a program can do about a refused write.
const ADVICE: &str = ": the disk is full; delete keys, ranges or keyspaces, which may use the \
                      database's reserve, or free some space";

/// How a delete has waited for space.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// How many steps of background work were done when the wait began, or when it last saw one
    /// done, and at what time.
    seen: Option<(u64, Duration)>,
    /// Whether the shortage had ended when the delete began to wait.
    saw_end: bool,
}

impl Core {
    /// Lets a write pass that comes while the reserve is open, if it deletes or there is space by
    /// now.
    ///
    /// # Errors
    /// `NoSpace`; `Busy` if patience ends first; as [`Core::check_writable`].
    #[cold]
    pub(crate) fn admit_on_full_disk<'a>(
        &'a self,
        writer: WriterGuard<'a, WriterState>,
        writes: Writes<'_>,
        patience: Patience,
    ) -> Result<WriterGuard<'a, WriterState>> {
        if writes.only_delete() {
            return self.admit_deletes(writer, writes, patience);
        }
        // The look changes files, so other writers need not wait for it.
        drop(writer);
        if self.reserve.may_look(self.options.env.clock.now()) {
            self.end_shortage();
        }
        let writer = self.lock_writer_for(patience)?;
        self.check_writable()?;
        self.check_space(writes)?;
        Ok(writer)
    }

    /// Lets deletes pass once the log has space for them. They wait for the work that frees some.
    ///
    /// # Errors
    /// `NoSpace` if no work frees enough; `Busy` if patience ends first.
    fn admit_deletes<'a>(
        &'a self,
        mut writer: WriterGuard<'a, WriterState>,
        writes: Writes<'_>,
        patience: Patience,
    ) -> Result<WriterGuard<'a, WriterState>> {
        let mut waited = Waiting::default();
        while let Err(error) = self.ask_log(&mut writer, writes) {
            drop(writer);
            self.wait_for_space(error, &mut waited, patience)?;
            writer = self.lock_writer_for(patience)?;
            self.check_writable()?;
        }
        Ok(writer)
    }

    /// Reserves space for the writes in the log, if the reserve is open.
    ///
    /// # Errors
    /// `NoSpace`.
    pub(crate) fn ask_log(&self, writer: &mut WriterState, writes: Writes<'_>) -> Result<()> {
        if !self.reserve.is_open() {
            return Ok(());
        }
        if self.reserve.is_lent() {
            // A delete that takes the space of the flush now would block all later ones.
            let reason = "the disk is full, and a flush uses what the reserve has left";
            return Err(Error::new(ErrorKind::NoSpace, reason));
        }
        if writer.log.is_closed() {
            begin_log_after_close(self, writer)?;
        }
        writer.log.ask_for(writes.most_log_bytes())
    }

    /// Waits a moment for background work that may free space. The caller holds no lock.
    ///
    /// # Errors
    /// The error that is the reason of the wait, if no such work goes on; `Busy` if patience ends
    /// first.
    pub(crate) fn wait_for_space(
        &self,
        error: Error,
        waited: &mut Waiting,
        patience: Patience,
    ) -> Result<()> {
        if error.kind() != ErrorKind::NoSpace {
            return Err(error);
        }
        if !self.reserve.is_open() {
            // A worker may have ended the shortage since the error. So the write tries again, once.
            return if std::mem::replace(&mut waited.saw_end, true) { Err(error) } else { Ok(()) };
        }
        if self.must_not_wait() {
            return Err(error);
        }
        let (done, now) = (self.background.done(), self.options.env.clock.now());
        let (seen, since) = waited.seen.get_or_insert((done, now));
        if *seen != done {
            (*seen, *since) = (done, now);
        }
        if self.reserve.is_used_up_at(done) || now.saturating_sub(*since) >= PATIENCE {
            self.reserve.note_used_up(done);
            return Err(error);
        }
        let left = patience.left(&*self.options.env.clock).unwrap_or(WAIT);
        if left.is_zero() {
            return Err(busy("the disk is full, and no space for the delete came free in time"));
        }
        if self.has_workers() {
            self.background.wait_for_step(WAIT.min(left));
        } else if !(self.step)(self)? {
            return Err(error);
        }
        Ok(())
    }

    /// # Errors
    /// `NoSpace` if the reserve is open and the writes do not only delete.
    pub(crate) fn check_space(&self, writes: Writes<'_>) -> Result<()> {
        match self.reserve.is_open() && !writes.only_delete() {
            true => Err(Error::new(ErrorKind::NoSpace, format!("nothing was written{ADVICE}"))),
            false => Ok(()),
        }
    }

    /// Decides about writes that met an error. Returns `Ok` if they should try again, because they
    /// delete and the disk has the space of the reserve now.
    ///
    /// # Errors
    /// The error otherwise, with advice if the disk is full.
    #[cold]
    pub(crate) fn retry_deletes(
        &self,
        error: Error,
        writer: &mut WriterState,
        writes: Writes<'_>,
    ) -> Result<()> {
        match error.kind() {
            ErrorKind::NoSpace if writes.only_delete() => self.open_reserve(error, writer),
            ErrorKind::NoSpace if self.reserve.bytes() > 0 && !self.reserve.is_open() => {
                Err(error.advising(ADVICE))
            }
            _ => Err(error),
        }
    }

    /// Opens the reserve after an error that says that the disk is full. Holding the writer lock,
    /// so no other write is between its check and its log record.
    ///
    /// # Errors
    /// The error, if it is another one, or if there is no reserve to open.
    pub(crate) fn open_reserve(&self, error: Error, writer: &mut WriterState) -> Result<()> {
        if error.kind() != ErrorKind::NoSpace || !self.give_reserve_back() {
            return Err(error);
        }
        if writer.log.is_closed() {
            // The end of the shortage is seen through the log that takes the writes.
            let _the_first_delete_tries_again = begin_log_after_close(self, writer);
        }
        self.events.tell(&Event::DiskFull { reserve: self.reserve.bytes() });
        Ok(())
    }

    /// Gives the reserve back to the disk, except for the part for the next open. Returns whether
    /// there was one.
    fn give_reserve_back(&self) -> bool {
        let owned = self.ownership.hold();
        let bytes = self.reserve.bytes();
        if owned.is_none() || bytes == 0 || self.reserve.is_open() || self.standing.is_poisoned() {
            return false;
        }
        let fs = &*self.options.env.fs;
        if empty_reserve(fs, &self.names).is_err() {
            return false;
        }
        self.reserve.set_open(true);
        // Some file systems free the blocks only with their next journal commit.
        let _best_effort = fs.sync_dir(self.names.directory());
        keep_rest(self);
        drop(owned);
        self.background.forget_full_disk();
        self.runtime.workers().retry(self.member);
        true
    }

    /// Flushes in the space that an open reserve keeps for the next open. Deletes wait meanwhile.
    pub(crate) fn with_rest_of_reserve<T>(&self, flush: impl FnOnce() -> T) -> T {
        let fs = &*self.options.env.fs;
        let mut lent = None;
        let is_lent = self.reserve.is_open() && {
            let owned = self.ownership.hold();
            lent = owned.is_some().then(|| self.reserve.lend());
            owned.is_some() && empty_reserve(fs, &self.names).is_ok()
        };
        let flushed = flush();
        let owned = self.ownership.hold();
        if is_lent && owned.is_some() && self.reserve.is_open() {
            keep_rest(self);
        }
        drop(lent);
        flushed
    }

    /// Keeps a part of the reserve that an open on a full disk gave back, for the next one.
    pub(crate) fn keep_part_of_reserve(&self) {
        keep_rest(self);
        let wanted = self.settings.space_reserve.min(self.stored_bytes() / PART);
        self.reserve.set_bytes(wanted.max(self.reserve.bytes()));
        self.events.tell(&Event::DiskFull { reserve: self.reserve.bytes() });
    }

    /// Opens the reserve for a step of background work that failed because the disk is full.
    /// Returns `Ok(true)` if the step should be tried again. A step that needs more space than the
    /// reserve has does not open it: smaller writes still pass then.
    ///
    /// # Errors
    /// The error of the step.
    pub(crate) fn retry_step(&self, error: Error) -> Result<bool> {
        // After a clean close, no log tells the free space before the first write.
        let is_full = || self.free_space().is_none_or(|free| free < self.reserve.bytes());
        if error.kind() != ErrorKind::NoSpace || self.reserve.is_open() || !is_full() {
            return Err(error);
        }
        let mut writer = self.lock_writer()?;
        if !is_full() {
            // A drop freed space while it held the lock.
            return Ok(true);
        }
        self.open_reserve(error, &mut writer).map(|()| true)
    }

    /// Makes the reserve whole again if the disk has space for it and some more, and nothing waits
    /// for a flush. Other writes then pass again.
    pub(crate) fn end_shortage(&self) {
        if !self.reserve.is_open() || self.sealed.len() > 0 {
            return;
        }
        let bytes = self.reserve.bytes();
        let Some(free) = self.free_space() else { return };
        if free + bytes / PART_FOR_OPEN < bytes + bytes / 4 {
            return;
        }
        let owned = self.ownership.hold();
        if owned.is_none() || !self.reserve.is_open() {
            return;
        }
        let fs = &*self.options.env.fs;
        if make_reserve(fs, &self.names, bytes).is_err() {
            let _best_effort = make_reserve(fs, &self.names, bytes / PART_FOR_OPEN);
            return;
        }
        self.reserve.set_open(false);
        drop(owned);
        self.lock_tree().choose_again();
        // The looks so far found only jobs that give space back. So a worker looks again.
        self.background.rest.note_news();
        self.wake();
        self.events.tell(&Event::DiskHasSpace);
    }

    /// Returns whether compactions leave the space of the open reserve, or the last space before
    /// it, to flushes. A flush frees its logs, and brings deletes to the tables.
    pub(crate) fn spares_room_for_flushes(&self) -> bool {
        let is_short = || self.reserve.is_open() || room_for_compactions(self) < SMALLEST_TABLE;
        self.sealed.len() > 0 && is_short()
    }

    /// Returns whether the log takes as much of the open reserve as it may before it is replaced.
    pub(crate) fn log_fills_reserve(&self, writer: &WriterState) -> bool {
        self.reserve.is_open() && writer.log.len() >= self.reserve.bytes() / PART
    }

    /// Asks for a look at the reserve after logs have grown much.
    pub(crate) fn note_log_for_reserve(&self, writer: &WriterState) {
        let logs = writer.log.len() + self.background.sealed_log_bytes();
        if self.settings.space_reserve > 0 && self.reserve.note_logs(logs) {
            self.wake();
        }
    }

    /// Makes the reserve as large as the database needs it, if that was asked for and the disk has
    /// space.
    pub(crate) fn fit_reserve(&self) {
        if self.settings.space_reserve == 0 || !self.reserve.take_due() {
            return;
        }
        let Some(wanted) = wanted_reserve(self) else { return };
        let held = self.reserve.bytes();
        let Some(free) = self.free_space() else { return self.reserve.look_soon() };
        let bytes = wanted.min((free + held).saturating_sub(LEAST));
        let owned = self.ownership.hold();
        if owned.is_none() || !self.reserve.is_outgrown_by(bytes) || self.reserve.is_open() {
            return;
        }
        let fs = &*self.options.env.fs;
        // Other threads may take the space meanwhile, also that of the present file.
        let made = match make_reserve(fs, &self.names, bytes) {
            Ok(()) => bytes,
            Err(_) if held == 0 => make_part_of(self, bytes / 2, LEAST),
            Err(_) => make_part_of(self, held, LEAST),
        };
        self.reserve.set_bytes(made);
    }

    /// Returns about how many bytes the files of the database have.
    fn stored_bytes(&self) -> u64 {
        let tables: u64 = self
            .keyspaces
            .all()
            .iter()
            .flat_map(|own| {
                let version = Arc::clone(&own.view.load().version);
                version.tables().map(|table| table.file.len).collect::<Vec<_>>()
            })
            .sum();
        let paths = self.logs.numbers().into_iter().map(|log| self.names.log(log));
        let logs: u64 = paths.filter_map(|log| self.options.env.fs.len(&log).ok()).sum();
        tables + self.keyspaces.segment_stats().bytes + logs
    }

    /// Returns the free bytes of the disk; `None` if it does not tell.
    pub(crate) fn free_space(&self) -> Option<u64> {
        self.logs.active()?.free_space()
    }

    /// Returns how many sealed memtables may wait for their flush, and 1 more.
    pub(crate) fn most_buffers(&self) -> usize {
        let more = if self.reserve.is_open() { MORE_SEALED } else { 0 };
        self.settings.write_buffers.most + more
    }
}

/// Returns how many bytes of memtables an open on a full disk takes from the logs. That is twice
/// what one process may have sealed there, because kills may follow each other.
pub(crate) fn replayed_bytes_on_full_disk(buffers: &WriteBuffers) -> usize {
    buffers.size.saturating_mul(buffers.most.saturating_add(MORE_SEALED)).saturating_mul(2)
}

/// Keeps the part of an open reserve that deletes leave, or as much of it as the disk has. The
/// caller holds the directory.
fn keep_rest(core: &Core) {
    make_part_of(core, core.reserve.bytes() / PART_FOR_OPEN, SMALLEST_TABLE);
}

/// Makes the file of the reserve this long, or half as long as often as the disk has no space for
/// it. Returns the bytes; 0 if that would be fewer than `least`. The caller holds the directory.
fn make_part_of(core: &Core, bytes: u64, least: u64) -> u64 {
    let fs = &*core.options.env.fs;
    let mut part = bytes;
    while part >= least {
        if make_reserve(fs, &core.names, part).is_ok() {
            return part;
        }
        part /= 2;
    }
    0
}

/// Returns how many bytes of the disk compactions may take: those that no waiting flush needs. A
/// flush writes about as many bytes as its logs have.
fn room_for_compactions(core: &Core) -> u64 {
    let free = core.free_space().unwrap_or(u64::MAX);
    free.saturating_sub(core.background.sealed_log_bytes())
}

/// Returns the bytes after which a table of a flush ends: fewer on a disk that is almost full.
pub(crate) fn flushed_file_size(core: &Core) -> u64 {
    file_size_within(core, core.free_space().unwrap_or(u64::MAX))
}

/// Returns the bytes after which a table of a compaction ends. The inputs of a compaction go after
/// its output has come.
pub(crate) fn compacted_file_size(core: &Core) -> u64 {
    file_size_within(core, room_for_compactions(core))
}

/// Returns the bytes after which a value segment takes no more values: fewer on a disk with little
/// space, where a collection must write the live values of a segment before the segment goes.
pub(crate) fn segment_size(core: &Core) -> u64 {
    let usual = core.settings.knobs.segment_size;
    let free = core.free_space().unwrap_or(u64::MAX);
    usual.min((free / PART_FOR_SEGMENT).max(SMALLEST_SEGMENT))
}

fn file_size_within(core: &Core, room: u64) -> u64 {
    let usual = core.settings.tree.target_file_size;
    let part = if core.reserve.is_open() { PART_IN_RESERVE } else { PART_FOR_TABLE };
    usual.min((room / part).max(SMALLEST_TABLE))
}

/// Returns how many bytes a slice of a compaction may write, if the disk is full.
pub(crate) fn room_of_shortage(core: &Core) -> Option<u64> {
    core.reserve.is_open().then(|| compacted_file_size(core))
}

/// Returns how large a reserve the database needs, if it has a smaller one.
pub(crate) fn wanted_reserve(core: &Core) -> Option<u64> {
    let (most, reserve) = (core.settings.space_reserve, &core.reserve);
    let may_grow = reserve.is_outgrown_by(most) && !reserve.is_open();
    if !may_grow || core.standing.is_read_only() || core.standing.is_poisoned() {
        return None;
    }
    let wanted = most.min(core.stored_bytes() / PART);
    Some(wanted).filter(|wanted| reserve.is_outgrown_by(*wanted))
}
