//! Making room: what a write waits for before it begins, and for how long.
//!
//! A write needs space in memtables and a log below its limit. If compaction is behind, the write
//! also pauses ([`crate::db::state::pace`]). It waits without the writer lock, so a stalled
//! writer delays no other call. Writes that fit continue, deadlines hold, and flushes, syncs and
//! new keyspaces do not wait until a stall ends. A write that holds the lock and has room waits for
//! nothing more. So a write that fails with `Busy` has changed nothing.
//!
//! Invariant: if a write waits for work, a worker does that work. A full memtable is sealed before
//! any pause, and every reason to stop writers is a reason to flush or to compact. Builds with
//! debug assertions check this (`assert_workers_are_at_it`).

use std::sync::Arc;
use std::time::Duration;

use crate::counters::Total;
use crate::db::batch::writes::Writes;
use crate::db::core::Core;
use crate::db::state::background::Awaited;
use crate::db::state::buffers::{Needs, SealedGroup, Slowed};
use crate::db::state::keyspace::{KeyspaceState, dropped};
use crate::db::state::patience::{Patience, busy};
use crate::db::state::writer::WriterState;
use crate::db::state::writer_lock::WriterGuard;
use crate::db::throttle::admit::{Gates, Memory, Pause, Seal, Verdict, admit};
use crate::db::throttle::full_disk::Waiting;
use crate::error::{Error, ErrorKind, Result};
use crate::events::StallReason;
use crate::faults::{Fault, planted};
use crate::files::{Proof, remove};
use crate::memtable::Memtable;
use crate::runtime::{Balance, Work};
use crate::version::CloseRecord;
use crate::wal::LogWriter;

/// How long a write past its deadline still waits for the writer lock. A deadline limits the wait
/// for flushes and compactions. A thread holds the lock for one write, and for longer only on a
/// slow disk.
const LOCK_HOLD: Duration = Duration::from_millis(100);

/// How long a write has waited so far.
#[derive(Default)]
struct Waited {
    memory: Memory,
    /// Time that the write has paused at the pace of flushes and compactions.
    paused: Duration,
    /// How a delete has waited for space on a full disk.
    for_space: Waiting,
}

/// Bytes written between two checks of the memory budget.
const LOOK_BYTES: u64 = 64 << 10;
/// The same if several databases share a runtime. The other databases do not know of these bytes
/// before the check.
const SHARED_LOOK_BYTES: u64 = 4 << 10;
/// Pause at each check while the memtables of all databases exceed their share of memory.
const MEMORY_PAUSE: Duration = Duration::from_millis(10);

/// How long a write waits in builds with debug assertions before it checks that a worker is active.
const LOOK_AT_WORKERS: Duration = Duration::from_secs(1);

/// Returns the work that ends a stall.
fn work_for(reason: StallReason) -> Work {
    match reason {
        StallReason::CompactionDebt => Work::Compaction,
        StallReason::Memtables | StallReason::Memory => Work::Flush,
    }
}

/// The outcome of making room for a write.
enum Room {
    Made,
    /// Writes may continue at this moment.
    Paused(Duration, StallReason),
    /// The write buffer must be sealed, but may not be sealed yet. Holds the keyspaces that have
    /// memtables.
    Full(Vec<Arc<KeyspaceState>>),
}

impl Core {
    /// Takes the writer lock with room for the writes. It is part of each caller, which saves 23
    /// instructions a write.
    ///
    /// # Errors
    /// `Busy` if patience ends first.
    #[inline(always)]
    pub(crate) fn writer_with_room(
        &self,
        writes: Writes<'_>,
        patience: Patience,
    ) -> Result<WriterGuard<'_, WriterState>> {
        self.standing.check_process()?;
        let mut writer = self.lock_writer_for(patience)?;
        self.standing.check_takes_writes()?;
        if writer.turn.is_some() {
            writer = self.let_pass(writer, patience)?;
        }
        // Behind the turn, in which the disk may have become full.
        if self.reserve.is_open() {
            writer = self.admit_on_full_disk(writer, writes, patience)?;
        }
        if let Some((keyspace, bytes)) = writes.need()
            && writer.buffers.is_ready(keyspace, bytes)
            && !self.log_is_due(&writer)
            && writer.since_look < self.look_every()
        {
            if let Writes::Batch(_) = writes {
                writer.buffers.reserve(keyspace, bytes);
            }
            return Ok(writer);
        }
        self.wait_for_room(writer, writes, patience)
    }

    #[inline(always)]
    pub(crate) fn lock_writer_for(
        &self,
        patience: Patience,
    ) -> Result<WriterGuard<'_, WriterState>> {
        match patience.until {
            None => self.lock_writer(),
            Some(_) => self.lock_writer_in_time(patience),
        }
    }

    #[cold]
    fn lock_writer_in_time(&self, patience: Patience) -> Result<WriterGuard<'_, WriterState>> {
        if let Some(writer) = self.writer.lock_unless_pressed() {
            return Ok(writer);
        }
        self.check_not_inside()?;
        let left = patience.left(&*self.options.env.clock).unwrap_or(Duration::MAX);
        let locked = self.writer.try_lock_for(left, LOCK_HOLD);
        locked.ok_or_else(|| busy("another call holds the writer lock for too long"))
    }

    #[cold]
    fn wait_for_room<'a>(
        &'a self,
        mut writer: WriterGuard<'a, WriterState>,
        writes: Writes<'_>,
        patience: Patience,
    ) -> Result<WriterGuard<'a, WriterState>> {
        let mut waited = Waited::default();
        loop {
            let room = match self.make_room(&mut writer, writes, &mut waited) {
                Ok(Room::Made) => return Ok(writer),
                Ok(room) => Ok(room),
                Err(error) => match self.retry_deletes(error, &mut writer, writes) {
                    Ok(()) => continue,
                    Err(error) => Err(error),
                },
            };
            drop(writer);
            match room {
                Ok(Room::Made) => {}
                Ok(Room::Paused(until, StallReason::Memory)) => {
                    self.wait_for_memory(until, patience)?
                }
                Ok(Room::Paused(until, reason)) => {
                    waited.paused += self.sit_out_pause(until, reason, patience)?;
                }
                Ok(Room::Full(keyspaces)) => {
                    if let Err(error) = self.wait_for_buffer(&keyspaces, patience) {
                        let mut writer = self.lock_writer_for(patience)?;
                        self.retry_deletes(error, &mut writer, writes)?;
                    }
                }
                Err(error) if writes.only_delete() => {
                    self.wait_for_space(error, &mut waited.for_space, patience)?
                }
                Err(error) => return Err(error),
            }
            writer = self.lock_writer_for(patience)?;
            self.check_writable()?;
            if writer.turn.is_some() {
                writer = self.let_pass(writer, patience)?;
            }
        }
    }

    /// Seals and begins memtables as the writes need, unless they must wait. It checks the memory
    /// budget only once: readers may keep pinned memory for ever, so a write does not wait until
    /// all of it is released.
    fn make_room(
        &self,
        writer: &mut WriterState,
        writes: Writes<'_>,
        waited: &mut Waited,
    ) -> Result<Room> {
        self.check_space(writes)?;
        self.note_log_for_reserve(writer);
        let needs = writes.needs();
        let missing = needs.iter().find(|(keyspace, _)| !writer.buffers.contains(*keyspace));
        if let Some(&(keyspace, _)) = missing {
            return Err(dropped(match writes {
                Writes::One(keyspace, _) => &keyspace.name,
                Writes::Batch(batch) => batch.keyspace_name(keyspace),
            }));
        }
        if let Writes::Batch(_) = writes {
            // The comparators may have failed since the batch was filled.
            needs.iter().try_for_each(|&(id, _)| writer.buffers.check_comparator(id))?;
        }
        let was_full = !writer.buffers.admits(&needs) && !writer.buffers.is_empty();
        loop {
            let gates = self.look_at_gates(writer, writes, &needs, waited);
            match admit(&gates, self.options.env.clock.now()) {
                Verdict::Go => break,
                Verdict::Seal => self.seal(writer)?,
                Verdict::CheckMemory => waited.memory = self.check_memory(writer, was_full)?,
                Verdict::Wait { why, until: Some(until) } => return Ok(Room::Paused(until, why)),
                Verdict::Wait { .. } => return Ok(Room::Full(writer.buffers.written())),
                Verdict::Refuse => self.check_space(writes)?,
            }
        }
        // The log may have begun after the admission, which asked the log before it.
        self.ask_log(writer, writes)?;
        self.begin_memtables(writer, &needs);
        Ok(Room::Made)
    }

    /// Begins the memtables that the writes need, and reserves their bytes.
    fn begin_memtables(&self, writer: &mut WriterState, needs: &Needs) {
        if writer.filling_since.is_none() {
            writer.filling_since = Some(self.options.env.clock.now());
            writer.buffers.limit(self.fillable());
        }
        let runtime = &self.runtime;
        let track = |memtable: &Arc<Memtable>| runtime.track(self.member, memtable);
        writer.buffers.begin(needs, &runtime.ledger().arenas, track);
        debug_assert!(writer.buffers.admits(needs), "the write has the room that was made");
        needs.iter().for_each(|&(keyspace, bytes)| writer.buffers.reserve(keyspace, bytes));
        if self.background.scans.any() && writer.buffers.want_order(needs) {
            self.order_soon();
        }
    }

    /// Returns what the gates show to a write. A pause is looked for only if no seal comes first.
    fn look_at_gates(
        &self,
        writer: &mut WriterState,
        writes: Writes<'_>,
        needs: &Needs,
        waited: &Waited,
    ) -> Gates {
        let mut gates = Gates {
            lacks_space: self.reserve.is_open() && !writes.only_delete(),
            seal: Seal::NotDue,
            stopped: None,
            pause: None,
            paused: waited.paused,
            memory: waited.memory,
        };
        if planted(Fault::PauseBeforeSeal) {
            gates.pause = self.pause_due(writer, needs);
            if gates.pause.is_some() {
                return gates;
            }
        }
        gates.seal = self.seal_due(writer, needs);
        if gates.seal != Seal::NotDue {
            gates.stopped = self.lack_of_room(&writer.buffers.written());
        }
        let has_room = gates.seal == Seal::Early && gates.stopped.is_some();
        if gates.seal == Seal::NotDue || has_room {
            gates.pause = self.pause_due(writer, needs);
        }
        gates
    }

    /// Returns whether memtables are full or should not grow.
    fn seal_due(&self, writer: &mut WriterState, needs: &Needs) -> Seal {
        writer.buffers.limit(self.fillable());
        let is_full = !writer.buffers.admits(needs) && !writer.buffers.is_empty();
        // A long log is replaced even if all its writes went to keyspaces that were dropped since.
        let is_used = writer.log_used || !writer.buffers.is_empty();
        // While the reserve is open, its space holds the log of few deletes at a time.
        let is_due = self.log_is_due(writer) || self.log_fills_reserve(writer);
        if is_full || is_used && is_due {
            Seal::Due
        } else if self.should_seal_early(writer) {
            Seal::Early
        } else {
            Seal::NotDue
        }
    }

    /// Returns the pause that is due while flushes or compactions are behind.
    fn pause_due(&self, writer: &mut WriterState, needs: &Needs) -> Option<Pause> {
        let mut flush_pace = self.flush_pace(&writer.buffers);
        if planted(Fault::PauseBeforeSeal) {
            flush_pace = flush_pace.max(Duration::from_millis(50));
        }
        let clock = &*self.options.env.clock;
        let Slowed { until, most } = writer.buffers.pause(needs, flush_pace, clock)?;
        let is_flush = !flush_pace.is_zero();
        let why = if is_flush { StallReason::Memtables } else { StallReason::CompactionDebt };
        Some(Pause { until, most, why })
    }

    /// Returns why memtables may not be sealed now; `None` if they may. Either the number of sealed
    /// memtables is at its limit, or level 0 of one of the keyspaces is at its stop trigger.
    pub(crate) fn lack_of_room(&self, keyspaces: &[Arc<KeyspaceState>]) -> Option<StallReason> {
        if self.sealed.len() + 1 >= self.most_buffers() {
            return Some(StallReason::Memtables);
        }
        let stop = self.settings.tree.level0_stop_trigger;
        let is_deep = |own: &Arc<KeyspaceState>| {
            !own.has_failed() && own.level0_runs(&own.view.load().version) >= stop
        };
        // On a full disk compactions wait for flushes.
        let waits = !self.settings.disable_auto_compactions && !self.reserve.is_open();
        let stops = waits && keyspaces.iter().any(is_deep);
        stops.then_some(StallReason::CompactionDebt)
    }

    /// Waits until the memtables of these keyspaces may be sealed.
    ///
    /// # Errors
    /// `Busy` if patience ends first; `Reentrant` inside a callback.
    pub(crate) fn wait_for_buffer(
        &self,
        keyspaces: &[Arc<KeyspaceState>],
        patience: Patience,
    ) -> Result<()> {
        let Some(reason) = self.lack_of_room(keyspaces) else { return Ok(()) };
        if self.must_not_wait() {
            return Err(Error::reentrant());
        }
        let clock = &self.options.env.clock;
        let start = clock.now();
        let wait = |patience| {
            self.wait_until_within(patience, |core| match core.lack_of_room(keyspaces) {
                None => Awaited::Nothing,
                Some(reason) => Awaited::Work(work_for(reason)),
            })
        };
        let outcome = loop {
            if !cfg!(debug_assertions) {
                break wait(patience);
            }
            let soon = clock.now() + LOOK_AT_WORKERS;
            match wait(patience.up_to(soon)) {
                Err(error) if error.kind() == ErrorKind::Busy && patience.covers(soon) => {
                    #[cfg(debug_assertions)]
                    self.assert_workers_are_at_it(keyspaces);
                }
                outcome => break outcome,
            }
        };
        let waited = clock.now() - start;
        if !waited.is_zero() {
            self.note_stall(reason, waited);
        }
        outcome
    }

    /// Panics if the keyspaces' memtables may not be sealed and no worker works on the reason. The
    /// state does not change during the check: memtables are sealed under the writer lock, and only
    /// workers and callers with their own jobs change trees.
    #[cfg(debug_assertions)]
    fn assert_workers_are_at_it(&self, keyspaces: &[Arc<KeyspaceState>]) {
        let Some(_writer) = self.writer.try_lock() else { return };
        let waits_in_vain = self.background.without_callers(|| {
            let reason = self.lack_of_room(keyspaces)?;
            let are_idle = self.runtime.workers().are_idle(self.member, work_for(reason));
            are_idle.then_some(reason)
        });
        if let Some(Some(reason)) = waits_in_vain {
            panic!("a write waits for {reason:?}, but no worker works on it");
        }
    }

    /// Waits until a pause ends, patience ends or a worker finishes a step. Returns the time
    /// waited.
    ///
    /// # Errors
    /// `Busy` if patience ends first.
    fn sit_out_pause(
        &self,
        until: Duration,
        reason: StallReason,
        patience: Patience,
    ) -> Result<Duration> {
        let clock = &self.options.env.clock;
        let start = clock.now();
        let end = patience.until.map_or(until, |end| end.min(until));
        if let Some(left) = end.checked_sub(start).filter(|left| !left.is_zero())
            && !self.background.wait_for_step(left)
        {
            // The environment's clock may run slower than the clock of the wait.
            clock.sleep(end.saturating_sub(clock.now()));
        }
        let now = clock.now();
        if now > start {
            self.note_stall(reason, now - start);
        }
        if now < until && patience.left(&**clock) == Some(Duration::ZERO) {
            return Err(busy("writes are slowed until flushes and compactions have caught up"));
        }
        Ok(now - start)
    }

    /// Waits until the memtables of all databases may grow a little.
    ///
    /// # Errors
    /// `Busy` if patience ends first.
    fn wait_for_memory(&self, until: Duration, patience: Patience) -> Result<()> {
        if !patience.covers(until) {
            return Err(busy("memtables of all databases take more memory than they may"));
        }
        let clock = &self.options.env.clock;
        let start = clock.now();
        clock.sleep(until.saturating_sub(start));
        self.note_stall(StallReason::Memory, clock.now() - start);
        Ok(())
    }

    /// Returns whether the next write begins a new log.
    fn log_is_due(&self, writer: &WriterState) -> bool {
        let limit = self.settings.wal_limit;
        let active = writer.log.len();
        let is_long = active > limit / 4 && active + self.background.sealed_log_bytes() > limit;
        is_long || writer.log.has_retracted()
    }

    /// Seals all memtables that are not empty, together, and begins a new log.
    pub(crate) fn seal(&self, writer: &mut WriterState) -> Result<()> {
        // A concurrent close may have come first: then the directory may belong to another open.
        self.check_open()?;
        let mut log = None;
        if writer.log_used {
            // A later reader of the log would treat the frame of a failed write as its last frame.
            writer.log.clear_attempt()?;
            let (next, defined) = self.next_log(writer)?;
            writer.defined = defined;
            let sealed = std::mem::replace(&mut writer.log, next);
            assert!(sealed.number() < writer.log.number(), "the next writes go to a later log");
            let values = Arc::new(std::mem::take(&mut writer.separable));
            log = Some(sealed.seal(values));
            writer.log_used = false;
        }
        let log_bytes = log.as_ref().map_or(0, |log| log.len);
        self.background.scans.note_seal();
        let through = self.published();
        let bytes = writer.buffers.used();
        let memtables = writer.buffers.seal(through);
        writer.filling_since = None;
        let unlogged = std::mem::take(&mut writer.unlogged);
        let next_log = writer.log.number();
        let group = SealedGroup { through, bytes, log_bytes, next_log, unlogged, log, memtables };
        // Noted first: a worker may flush the group as soon as it is there.
        self.background.memtables_sealed(log_bytes);
        self.sealed.push(group);
        self.wake();
        Ok(())
    }

    /// Returns the bytes written between two checks of the memory budget.
    #[inline]
    fn look_every(&self) -> u64 {
        if self.options.runtime.is_some() { SHARED_LOOK_BYTES } else { LOOK_BYTES }
    }

    /// Does what the memory ledger asks for: seals if this database holds the most memtable bytes,
    /// or else asks the database that does to seal.
    fn check_memory(&self, writer: &mut WriterState, is_full: bool) -> Result<Memory> {
        let bytes = std::mem::take(&mut writer.since_look);
        // A full write buffer makes the check due at once.
        if !self.runtime.ledger().wrote(bytes) && !is_full {
            return Ok(Memory::Fits);
        }
        let Balance { seal, is_over } = self.runtime.balance();
        match seal {
            Some(member) if member == self.member => self.seal_for_memory(writer)?,
            Some(member) => self.runtime.workers().request_seal(member),
            None => {}
        }
        Ok(match is_over && self.has_workers() {
            true => Memory::Over(self.options.env.clock.now() + MEMORY_PAUSE),
            false => Memory::Fits,
        })
    }

    /// Seals the memtables being filled and starts their flush, unless the writer would have to
    /// wait.
    pub(crate) fn seal_for_memory(&self, writer: &mut WriterState) -> Result<()> {
        let may_seal = self.sealed.len() + 1 < self.most_buffers();
        if may_seal && !writer.buffers.is_empty() {
            self.seal(writer)?;
        }
        self.background.requests.flush.raise();
        self.wake();
        Ok(())
    }

    /// Creates the log after the writer's. The log begins with the operator definitions that its
    /// records may need. Also returns their number.
    fn next_log(&self, writer: &WriterState) -> Result<(LogWriter, usize)> {
        let WriterState { log: last, owed, .. } = writer;
        let number = self.new_file_number();
        let path = self.names.log(number);
        let fs = &self.options.env.fs;
        let mut log = LogWriter::create(fs, &path, number, self.database, Some(last))?;
        let mut defined = 0;
        let begun = self.begin_lineage(&mut log, self.end_of(last), owed.as_ref());
        let begun = begun.and_then(|link| {
            self.define_operators(&mut log, &mut defined)?;
            if last.is_closed() {
                // Last, so that a full disk leaves the proof of the close.
                CloseRecord::invalidate(&**fs, &self.names)?;
                self.last_close.end();
            }
            Ok(link)
        });
        let link = match begun {
            Ok(link) => link,
            Err(error) => {
                drop(log);
                // Repeated attempts must not fill the disk. If the file cannot be removed, it stays
                // as a log without writes.
                let _best_effort = remove(&**fs, &path, Proof::Written);
                return Err(error);
            }
        };
        self.logs.push(&log);
        self.note_link(link);
        self.totals.add_exclusive(Total::BytesLog, log.len());
        Ok((log, defined))
    }
}

/// Begins the log after one that a clean close left. The caller holds the writer lock.
#[cold]
pub(crate) fn begin_log_after_close(core: &Core, writer: &mut WriterState) -> Result<()> {
    debug_assert!(writer.log.is_closed(), "a log of this open takes records");
    core.check_open()?;
    let (next, defined) = core.next_log(writer)?;
    writer.defined = defined;
    std::mem::replace(&mut writer.log, next).seal(Arc::default());
    writer.log_used = false;
    Ok(())
}
