//! A gate before syncs that a test opens and closes.

use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};

use foldb::env::Watch;
use foldb::env::mem::Operation;

/// Syncs of files with one extension pass the gate while it is open, and wait while it is closed.
#[derive(Debug)]
pub(crate) struct Gate {
    extension: &'static str,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    closed: bool,
    waiting: usize,
}

impl Gate {
    /// Makes an open gate.
    pub(crate) fn before_syncs_of(extension: &'static str) -> Arc<Gate> {
        Arc::new(Gate { extension, state: Mutex::default(), changed: Condvar::new() })
    }

    /// Stops every thread that comes from now on.
    pub(crate) fn close(&self) {
        self.state.lock().unwrap().closed = true;
    }

    /// Lets the waiting threads through, and all later ones.
    pub(crate) fn open(&self) {
        self.state.lock().unwrap().closed = false;
        self.changed.notify_all();
    }

    /// Opens the gate when the returned guard is dropped: a failing test must not hang.
    pub(crate) fn open_at_end(self: &Arc<Gate>) -> OpenAtEnd {
        OpenAtEnd(Arc::clone(self))
    }

    /// Waits until a thread stands before the gate.
    pub(crate) fn wait_for_a_thread(&self) {
        let state = self.state.lock().unwrap();
        drop(self.changed.wait_while(state, |state| state.waiting == 0).unwrap());
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.waiting += 1;
        self.changed.notify_all();
        state = self.changed.wait_while(state, |state| state.closed).unwrap();
        state.waiting -= 1;
    }
}

impl Watch for Gate {
    fn before(&self, operation: Operation, path: &Path) -> io::Result<()> {
        if operation == Operation::Sync && path.extension().is_some_and(|own| own == self.extension)
        {
            self.pass();
        }
        Ok(())
    }
}

/// Opens the gate when dropped: see [`Gate::open_at_end`].
#[derive(Debug)]
pub(crate) struct OpenAtEnd(Arc<Gate>);

impl Drop for OpenAtEnd {
    fn drop(&mut self) {
        self.0.open();
    }
}
