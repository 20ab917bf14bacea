//! Turns: how a transaction that keeps losing is let through in the end.
//!
//! A thread whose transaction lost several times takes a turn: until it ends, other threads wait
//! before they write. So nothing changes under the transaction, and its commit succeeds. Each turn
//! has a limit, because the transaction runs the program's code, which may wait for another writer.
//! A transaction that exceeds its limit may lose again, and its next turn is longer.
//!
//! ```text
//! a: read x .. commit: conflict  | take the turn, read x ............ commit | end
//! b: put x, put x, put x         | put x waits ..............................| put x
//! ```

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::db::core::Core;
use crate::db::state::patience::{Patience, busy};
use crate::db::state::transactions::Turn;
use crate::db::state::writer::WriterState;
use crate::db::state::writer_lock::WriterGuard;
use crate::error::Result;

/// Losses after which a transaction or conditional write gets a turn.
pub(crate) const LOSSES_BEFORE_TURN: u32 = 8;
/// The limit of the first turn. Each further turn of the same transaction is twice as long.
const FIRST_TURN: Duration = Duration::from_millis(20);
/// A closure that takes longer may lose for ever.
const LONGEST_TURN: Duration = Duration::from_secs(10);

/// Returns the limit of the turn that is due after some losses; `None` if none is due.
pub(crate) fn turn_after(losses: u32) -> Option<Duration> {
    let further = losses.checked_sub(LOSSES_BEFORE_TURN)?;
    Some(FIRST_TURN.saturating_mul(1 << further.min(16)).min(LONGEST_TURN))
}

/// A turn in progress. Dropping it ends the turn.
pub(crate) struct TurnGuard {
    core: Arc<Core>,
    /// The turn of the same thread in which this one began. It goes on afterwards.
    outer: Option<Turn>,
    patience: Patience,
}

impl Drop for TurnGuard {
    fn drop(&mut self) {
        // A turn that cannot be ended in time ends by its limit.
        let Ok(mut writer) = self.core.lock_writer_for(self.patience) else { return };
        if writer.turn.is_some_and(|turn| turn.thread == thread::current().id()) {
            writer.turn = self.outer;
        }
        drop(writer);
        self.core.transactions.turn_ended();
    }
}

impl Core {
    /// Waits for the turn of another thread to end, and begins one of at most `limit` for this
    /// thread. A turn inside another turn of this thread does not shorten it.
    ///
    /// # Errors
    /// `Busy` if patience ends first.
    pub(crate) fn take_turn(
        self: &Arc<Core>,
        limit: Duration,
        patience: Patience,
    ) -> Result<TurnGuard> {
        self.standing.check_process()?;
        let writer = self.lock_writer_for(patience)?;
        let mut writer = self.let_pass(writer, patience)?;
        let outer = writer.turn;
        debug_assert!(outer.is_none_or(|turn| turn.thread == thread::current().id()));
        let until = self.options.env.clock.now() + limit;
        let until = outer.map_or(until, |outer| outer.until.max(until));
        writer.turn = Some(Turn { thread: thread::current().id(), until });
        drop(writer);
        Ok(TurnGuard { core: Arc::clone(self), outer, patience })
    }

    /// Waits while another thread has a turn.
    ///
    /// # Errors
    /// `Busy` if patience ends first; `Reentrant` inside code of the caller that the engine calls
    /// under a lock.
    #[cold]
    pub(crate) fn let_pass<'a>(
        &'a self,
        mut writer: WriterGuard<'a, WriterState>,
        patience: Patience,
    ) -> Result<WriterGuard<'a, WriterState>> {
        let clock = &*self.options.env.clock;
        let own = thread::current().id();
        while let Some(turn) = writer.turn.filter(|turn| turn.thread != own) {
            let now = clock.now();
            if now >= turn.until {
                writer.turn = None;
                break;
            }
            let left = patience.left(clock).unwrap_or(Duration::MAX);
            if left.is_zero() {
                return Err(busy("a transaction that lost several times has its turn"));
            }
            let turns = self.transactions.lock_turns();
            drop(writer);
            // The thread with the turn may wait for a lock under which this call was made.
            self.check_not_inside()?;
            self.transactions.wait_for_turn(turns, left.min(turn.until - now));
            writer = self.lock_writer_for(patience)?;
            self.check_writable()?;
        }
        Ok(writer)
    }
}

#[cfg(test)]
mod tests {
    use foldb_env::{Env, MemFs};

    use super::*;
    use crate::{Db, ErrorKind, Options};

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn patience_bounds_the_wait_for_a_turn() {
        let env = Env { clock: Env::system().clock, ..Env::in_memory(MemFs::new()) };
        let options = Options { create_if_missing: true, env, ..Options::default() };
        let db = Db::open("db", options).unwrap();
        let core = db.core();
        let clock = &*core.options.env.clock;
        let turn = core.take_turn(LONG, Patience::ENDLESS).unwrap();
        let wait = || {
            let patience = Patience::from_now(Some(Duration::from_millis(20)), clock);
            core.take_turn(LONG, patience).map(drop)
        };
        let start = clock.now();
        let waited = thread::scope(|scope| scope.spawn(wait).join().unwrap());
        assert_eq!(waited.unwrap_err().kind(), ErrorKind::Busy);
        let waited = clock.now() - start;
        assert!((Duration::from_millis(20)..LONG / 10).contains(&waited), "{waited:?}");
        drop(turn);
        thread::scope(|scope| scope.spawn(wait).join().unwrap()).unwrap();
    }
}
