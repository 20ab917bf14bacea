//! Opening: take the lock, read the manifest, replay the logs, begin anew.
//!
//! Opening never repairs: what is missing or damaged is an error that names it. It never appends to
//! a file that an earlier open created, either: what the logs hold goes into tables, which become
//! part of the trees by the first edit of a new manifest; that edit also says that the old logs are
//! not needed (H5), so that a crash at any moment replays them once or not at all.
//!
//! An open that fails leaves nothing behind: a full disk must not fill with attempts.
//!
//! [`place`] is the directory and its lock, [`stored`] what the manifest says, [`files`] what the
//! directory holds, [`opening`] makes a database of them; [`read_only`] makes one that is only
//! looked at, also while another process writes to it; [`repair`] makes one of what is left,
//! [`verify`] checks all there is.

mod files;
mod opening;
mod place;
mod read_only;
mod repair;
mod stored;
mod surroundings;
mod verify;
mod writable;

pub(crate) use files::missing_log;
pub(crate) use place::{lock, lock_error};
pub(crate) use read_only::open_read_only;
pub(crate) use repair::repair;
pub use repair::{CutLog, LogCut, LostRange, LostTable, RepairOptions, RepairReport};
pub(crate) use surroundings::with_comparators;
pub(crate) use verify::verify;
pub use verify::{VerifiedFile, VerifyProgress, VerifyReport};
pub(crate) use writable::open;
