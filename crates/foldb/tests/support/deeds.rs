//! Watches that run an action before calls to the file system.

use std::cell::Cell;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use foldb::env::Watch;
use foldb::env::mem::Operation;

/// The action. It gets the number of the call.
type Deed = Box<dyn FnMut(u64) + Send>;

thread_local! {
    /// Whether this thread runs the action, whose own changes trigger nothing.
    static DOING: Cell<bool> = const { Cell::new(false) };
}

/// Runs an action before each change, with the number of the change, from 0.
#[derive(Default)]
pub(crate) struct BeforeChanges(Mutex<Option<(u64, Deed)>>);

impl BeforeChanges {
    /// Starts the action.
    pub(crate) fn start(&self, deed: impl FnMut(u64) + Send + 'static) {
        *self.0.lock().unwrap() = Some((0, Box::new(deed)));
    }

    /// Stops the action. Returns how many changes there were.
    pub(crate) fn stop(&self) -> u64 {
        self.0.lock().unwrap().take().map_or(0, |(changes, _)| changes)
    }
}

impl Watch for BeforeChanges {
    fn before(&self, operation: Operation, _: &Path) -> io::Result<()> {
        if !operation.is_mutation() || DOING.replace(true) {
            return Ok(());
        }
        if let Some((number, deed)) = &mut *self.0.lock().unwrap() {
            deed(*number);
            *number += 1;
        }
        DOING.set(false);
        Ok(())
    }
}

/// Runs an action before each call of a reader, with the number of the call, from 1.
pub(crate) struct BeforeLooks(Mutex<(u64, Deed)>);

impl BeforeLooks {
    pub(crate) fn new(deed: impl FnMut(u64) + Send + 'static) -> Arc<BeforeLooks> {
        Arc::new(BeforeLooks(Mutex::new((0, Box::new(deed)))))
    }

    /// Returns the number of calls so far.
    pub(crate) fn looks(&self) -> u64 {
        self.0.lock().unwrap().0
    }
}

impl Watch for BeforeLooks {
    fn before(&self, operation: Operation, path: &Path) -> io::Result<()> {
        assert!(!operation.is_mutation(), "a reader changes {}: {operation:?}", path.display());
        self.before_look(path);
        Ok(())
    }

    fn before_look(&self, _: &Path) {
        let (looks, deed) = &mut *self.0.lock().unwrap();
        *looks += 1;
        deed(*looks);
    }
}
