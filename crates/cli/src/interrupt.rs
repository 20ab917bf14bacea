//! Ctrl-C.
//!
//! The operating system holds every write that returned, so most commands may end anywhere. A
//! command that must finish or clean up something holds a [`Watch`] and asks it regularly. All
//! other commands end immediately, and so does every command at the second Ctrl-C.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use crate::exit::{Exit, Outcome};

static WATCHED: AtomicBool = AtomicBool::new(false);
static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Makes Ctrl-C exit with 130.
pub(crate) fn install() -> Outcome {
    let handler = || {
        let again = INTERRUPTED.swap(true, Ordering::SeqCst);
        if again || !WATCHED.load(Ordering::SeqCst) {
            let exit = Exit::Interrupted("interrupted; everything committed is kept".to_owned());
            let _ = writeln!(io::stderr(), "{}", exit.line().unwrap_or_default());
            std::process::exit(exit.code().into());
        }
    };
    ctrlc::set_handler(handler)
        .map_err(|error| Exit::failed(format!("cannot catch Ctrl-C: {error}")))
}

/// While a `Watch` exists, Ctrl-C does not end the process. Its owner must check often whether to
/// stop.
#[derive(Debug)]
pub(crate) struct Watch(());

impl Watch {
    /// Begins the watch.
    pub(crate) fn start() -> Watch {
        WATCHED.store(true, Ordering::SeqCst);
        Watch(())
    }

    /// Returns the flag that Ctrl-C sets to true, for calls that take a flag to cancel them.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&INTERRUPTED)
    }

    /// Whether Ctrl-C was pressed.
    pub(crate) fn interrupted(&self) -> bool {
        INTERRUPTED.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHED.store(false, Ordering::SeqCst);
    }
}
