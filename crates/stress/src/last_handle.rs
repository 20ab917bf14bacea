//! Drops the last handle of a database in the worst place: in an event listener. The listener runs
//! on a worker thread, and the close waits for that worker.

use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use foldb::events::{Event, EventListener};
use foldb::{Db, ErrorKind, WriteOptions};

use crate::check::{Wrong, told};
use crate::stage::Stage;

/// A database whose last handle was dropped closes within this time.
const LONGEST_CLOSE: Duration = Duration::from_secs(30);
/// First byte of keys that only fill memtables.
const FILLER: u8 = u8::MAX - 1;

/// An event listener that blocks a flush in its event until [`close`] hands over the last handle.
/// Then the listener drops the handle.
#[derive(Debug, Default)]
pub(crate) struct LastHandle {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Unused,
    /// The next flush will wait in its event.
    Armed,
    /// A flush waits in its event for the last handle.
    Waiting,
    Given(Db),
}

impl LastHandle {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_waiting(&self) -> bool {
        matches!(*self.lock(), State::Waiting)
    }

    fn set(&self, state: State) {
        *self.lock() = state;
        self.changed.notify_all();
    }
}

impl EventListener for LastHandle {
    fn on_event(&self, event: &Event) {
        let mut state = self.lock();
        if !matches!((event, &*state), (Event::Flush { .. }, State::Armed)) {
            return;
        }
        *state = State::Waiting;
        let waits = |state: &mut State| matches!(state, State::Waiting);
        let waited = self.changed.wait_timeout_while(state, LONGEST_CLOSE, waits);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let given = std::mem::take(&mut *state);
        drop(state);
        if let State::Given(last) = given {
            drop(last);
        }
    }
}

/// Hands a listener the last handle of a database, and waits until the database is closed.
pub(crate) fn close(stage: Stage, path: &Path, slot: &LastHandle) -> Result<(), Wrong> {
    slot.set(State::Armed);
    let options = WriteOptions { deadline: Some(Duration::from_millis(50)), ..Default::default() };
    let begun = Instant::now();
    for n in 0u32.. {
        if slot.is_waiting() {
            break;
        }
        let key = [&[FILLER][..], &n.to_be_bytes()].concat();
        match stage.tally.with(&options).put(key, [0; 4096]) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Busy => {}
            Err(error) if stage.is_excused(&error) => return Ok(()),
            Err(error) => return Err(told("a write failed")(error)),
        }
        if begun.elapsed() > LONGEST_CLOSE {
            return Err(format!("{n} writes of 4 KiB led to no flush"));
        }
    }
    let options = stage.features.options();
    let last = stage.db.clone();
    drop(stage);
    slot.set(State::Given(last));
    let begun = Instant::now();
    loop {
        match Db::open(path, options.clone()) {
            Ok(db) => return db.close().map_err(told("the database does not close")),
            Err(error) if error.kind() == ErrorKind::Locked => {}
            Err(error) => return Err(told("the database does not open again")(error)),
        }
        if begun.elapsed() > LONGEST_CLOSE {
            return Err(
                "the last handle was dropped in a listener, but the lock is still held".to_owned()
            );
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
