//! Ctrl-C.
//!
//! Every write that returned is in the hands of the operating system, so a command may end
//! anywhere. One that has something to finish or to clean up holds a [`Watch`] and asks it as it
//! goes; the others, and those asked a second time, end on the spot.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use crate::exit::{Exit, Outcome};

static WATCHED: AtomicBool = AtomicBool::new(false);
static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Makes Ctrl-C exit with 130.
pub fn install() -> Outcome {
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

/// A promise to ask often. Ends with its scope.
#[derive(Debug)]
pub struct Watch(());

impl Watch {
    /// From now on Ctrl-C only raises the question.
    pub fn start() -> Watch {
        WATCHED.store(true, Ordering::SeqCst);
        Watch(())
    }

    /// What Ctrl-C sets to true, for who can be cancelled by that.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&INTERRUPTED)
    }

    /// Whether Ctrl-C was pressed.
    pub fn interrupted(&self) -> bool {
        INTERRUPTED.load(Ordering::Relaxed)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHED.store(false, Ordering::SeqCst);
    }
}
