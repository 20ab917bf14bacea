//! Damage: an error that names the file and the offset, or, with `--skip-damaged`, a loss.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use foldb_rocksdb_format::Fault;

use crate::exit::{Exit, Outcome};
use crate::location::shown;

/// What an import gives up, if `--skip-damaged` allows it.
#[derive(Clone, Debug)]
pub(super) struct Losses {
    is_allowed: bool,
    told: Rc<RefCell<Vec<String>>>,
}

impl Losses {
    pub(super) fn new(is_allowed: bool) -> Losses {
        Losses { is_allowed, told: Rc::default() }
    }

    /// Keeps what is wrong at an offset of a file.
    ///
    /// # Errors
    /// Fails if nothing may be given up, and for what is whole but cannot be read.
    pub(super) fn note(&self, path: &Path, offset: u64, fault: Fault) -> Outcome {
        match fault {
            Fault::Unsupported(what) => {
                Err(Exit::failed(format!("{what} ({}, offset {offset})", shown(path))))
            }
            Fault::Damaged(what) if self.is_allowed => {
                self.told.borrow_mut().push(format!("{what} ({}, offset {offset})", shown(path)));
                Ok(())
            }
            Fault::Damaged(what) => Err(damaged(path, offset, &what)),
        }
    }

    /// Returns losses that keep apart what is found again later.
    pub(super) fn apart(&self) -> Losses {
        Losses::new(self.is_allowed)
    }

    /// Returns what was given up.
    pub(super) fn told(&self) -> Vec<String> {
        self.told.borrow().clone()
    }
}

/// Returns the error of damage at an offset of a file.
fn damaged(path: &Path, offset: u64, what: &str) -> Exit {
    Exit::failed(format!(
        "corruption: {what} ({}, offset {offset}): nothing was imported; restore the file from a \
         copy, or import what is left with --skip-damaged",
        shown(path)
    ))
}

/// Returns the error of a file that nothing can do without.
pub(super) fn unreadable(path: &Path, offset: u64, fault: &Fault) -> Exit {
    Exit::failed(format!(
        "{}{fault} ({}, offset {offset}): nothing was imported",
        if matches!(fault, Fault::Damaged(_)) { "corruption: " } else { "" },
        shown(path)
    ))
}
