//! The workers, as the other threads see them: they are woken, asked for work, and waited for.
//!
//! A waiter sees only the errors of the work it waits for. A failed compaction never fails a write
//! or a flush.

use std::time::Duration;

use crate::counters::Total;
use crate::db::core::Core;
use crate::db::state::background::Awaited;
use crate::db::state::patience::{Patience, busy};
use crate::error::{Error, ErrorKind, Result};
use crate::events::{Event, StallReason};

impl Core {
    /// Returns whether threads do the background work.
    pub(crate) fn has_workers(&self) -> bool {
        self.runtime.workers().are_running()
    }

    /// Tells the workers that there may be work.
    pub(crate) fn wake(&self) {
        self.background.check_again();
        self.runtime.workers().wake(self.member);
    }

    /// Asks a worker to sort memtables.
    #[cold]
    pub(crate) fn order_soon(&self) {
        if self.has_workers() && self.background.requests.order.raise_first() {
            self.runtime.workers().wake_one();
        }
    }

    /// Notes that a write deleted something. The caller holds the writer lock, under which the flag
    /// is lowered: if the flag is raised, the look that lowers it sees the delete.
    #[inline]
    pub(crate) fn note_delete(&self) {
        if !self.background.requests.see_deletes.is_raised() {
            self.note_first_delete();
        }
    }

    #[cold]
    pub(crate) fn note_first_delete(&self) {
        if self.settings.disable_auto_compactions {
            return;
        }
        self.background.requests.see_deletes.raise();
        self.background.rest.end();
        self.wake();
    }

    /// Counts and reports how long a write was stalled.
    pub(crate) fn note_stall(&self, reason: StallReason, duration: Duration) {
        self.totals.add(Total::StallMicros, duration.as_micros() as u64);
        self.events.tell(&Event::Stall { reason, duration });
    }

    /// Returns whether background work must end. If so, a long step ends early.
    pub(crate) fn stopping(&self) -> bool {
        self.standing.is_closed() || self.has_workers() && self.background.shutting_down()
    }

    /// Waits while sealed memtables are flushed even if they are few.
    ///
    /// # Errors
    /// As [`Core::wait_until`].
    pub(crate) fn wait_while_flushing(&self, awaited: impl Fn(&Core) -> Awaited) -> Result<()> {
        let _waiter = self.background.awaits_flush();
        self.wake();
        self.wait_until(awaited)
    }

    /// Waits until nothing is awaited any more. Without workers it runs the steps itself.
    ///
    /// # Errors
    /// The errors of the awaited work; `Closed` if the database is closed during the wait.
    pub(crate) fn wait_until(&self, awaited: impl Fn(&Core) -> Awaited) -> Result<()> {
        self.wait_until_within(Patience::ENDLESS, awaited)
    }

    /// Waits as [`Core::wait_until`] does, but no longer than patience lasts.
    ///
    /// # Errors
    /// `Busy` if patience ends first.
    pub(crate) fn wait_until_within(
        &self,
        patience: Patience,
        awaited: impl Fn(&Core) -> Awaited,
    ) -> Result<()> {
        let mut is_over = false;
        loop {
            let seen = self.background.steps();
            let work = awaited(self);
            if work == Awaited::Nothing {
                return Ok(());
            }
            let left = patience.left(&*self.options.env.clock);
            if is_over || left == Some(Duration::ZERO) {
                return Err(busy("flushes and compactions are behind"));
            }
            if !self.has_workers() {
                if !(self.step)(self)? {
                    let cannot = || {
                        let message = "the background work that this call waits for cannot run";
                        Error::new(ErrorKind::Io, message)
                    };
                    return match awaited(self) {
                        Awaited::Nothing => Ok(()),
                        Awaited::Gc => Err(self.keyspaces.gc_error().unwrap_or_else(cannot)),
                        _ => Err(cannot()),
                    };
                }
                continue;
            }
            if work == Awaited::Gc {
                if let Some(error) = self.keyspaces.gc_error() {
                    return Err(error);
                }
                // After a failed sync no worker collects garbage, and no worker reports the
                // failure.
                self.standing.check_sound()?;
            }
            is_over = !self.background.wait_for_step_after(seen, work, left)?;
        }
    }
}
