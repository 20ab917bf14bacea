//! Which transactions are open, and the turn of one that keeps losing.
//!
//! Writes are noted ([`crate::db::state::recent_writes`]) only while transactions are open.
//! `noting` may change only under the writer lock. A transaction counts itself as open first and
//! looks at `noting` second; the writer clears `noting` first and looks at the count second. So
//! either the transaction finds the notes off and turns them on, or the writer keeps them on:
//!
//! ```text
//! transaction:  open += 1     | noting?      is off: lock the writer, turn on
//! writer:       noting = off  | open?        is 1: noting = on again
//! ```

use crate::locks::rank::TURNS;
use crate::locks::{Condition, Lock, LockGuard};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::ThreadId;
use std::time::Duration;

/// The open transactions of a database.
#[derive(Debug, Default)]
pub(crate) struct OpenTransactions {
    open: AtomicU64,
    /// Transactions begun since the open of the database.
    begun: AtomicU64,
    /// `begun` at the last look. `Relaxed`: read and written under the writer lock only.
    at_last_look: AtomicU64,
    noting: AtomicBool,
    turns: Lock<(), TURNS>,
    /// Signalled when a turn ends.
    turn_ended: Condition,
}

/// The right of one thread to write while other writers wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) thread: ThreadId,
    /// The end of the turn at the latest, on the environment's clock.
    pub(crate) until: Duration,
}

impl OpenTransactions {
    /// Counts a transaction as open. Returns whether writes are noted already; if not, the caller
    /// takes the writer lock and turns the notes on.
    #[inline]
    pub(crate) fn begin(&self) -> bool {
        self.open.fetch_add(1, Ordering::SeqCst);
        // Relaxed: a count for the pace of looks. The two others decide, in one order for all.
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.noting.load(Ordering::SeqCst)
    }

    #[inline]
    pub(crate) fn end(&self) {
        let before = self.open.fetch_sub(1, Ordering::SeqCst);
        debug_assert!(before > 0, "a transaction ends once");
    }

    /// Notes that writes are noted from now on. The caller holds the writer lock.
    pub(crate) fn started_noting(&self) {
        self.noting.store(true, Ordering::SeqCst);
    }

    /// Returns whether the notes may end: no transaction is open, and none began since the last
    /// call. The caller holds the writer lock.
    #[cold]
    pub(crate) fn may_stop_noting(&self) -> bool {
        let begun = self.begun.load(Ordering::Relaxed);
        if self.at_last_look.swap(begun, Ordering::Relaxed) != begun {
            return false;
        }
        self.noting.store(false, Ordering::SeqCst);
        if self.open.load(Ordering::SeqCst) == 0 {
            return true;
        }
        self.noting.store(true, Ordering::SeqCst);
        false
    }

    /// Takes the lock with which [`OpenTransactions::wait_for_turn`] waits. The caller takes it
    /// before it releases the writer lock, so that it does not miss the end of the turn.
    pub(crate) fn lock_turns(&self) -> LockGuard<'_, (), TURNS> {
        self.turns.lock()
    }

    /// Waits until a turn may have ended, at most this long.
    pub(crate) fn wait_for_turn(&self, turns: LockGuard<'_, (), TURNS>, at_most: Duration) {
        drop(self.turn_ended.wait_for(turns, at_most));
    }

    /// Wakes all waiters. The caller has ended its turn under the writer lock.
    pub(crate) fn turn_ended(&self) {
        let _turns = self.lock_turns();
        self.turn_ended.notify_all();
    }
}
