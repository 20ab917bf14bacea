//! Opening a database: take the lock, read the manifest, replay the logs, begin a new manifest and
//! log.
//!
//! An open never repairs: a missing or damaged file is an error that names it. It never appends to
//! a file that an earlier open created.
//!
//! After a clean close with little in the logs, the open changes no file: it goes on with the
//! manifest and the logs of that close ([`resume`]). Otherwise the logged writes become tables,
//! which the first edit of a new manifest adds to the trees. The same edit says that the old logs
//! are no longer needed (H5). So after a crash at any moment, the next open either replays the old
//! logs or finds their writes in tables.
//!
//! An open that fails removes its files, so that repeated attempts do not fill the disk.
//!
//! - [`platform`]: the platforms on which databases open;
//! - [`place`]: the directory and its lock;
//! - [`stored`]: the contents of the manifest;
//! - [`deferred`]: logged writes that wait for space, on a full disk;
//! - [`files`]: the files of the directory;
//! - [`kept_logs`]: which logs of earlier opens the change feed can read;
//! - [`begun`]: the files of an open, which are removed if it fails;
//! - [`assembly`]: puts the database together from its parts;
//! - [`opening`]: builds the database from the manifest and the logs;
//! - [`resume`]: goes on after a clean close, without a change of any file;
//! - [`take_over`]: makes tables of the logged writes;
//! - [`read_only`]: a database for reading, also while another process writes to it;
//! - [`repair`]: rebuilds a database from the files that are left;
//! - [`verify`]: a check of every file.

mod assembly;
mod begun;
mod deferred;
pub(crate) mod files;
pub(crate) mod kept_logs;
mod listing;
mod opening;
mod place;
mod platform;
mod read_only;
mod repair;
mod resume;
mod stored;
mod surroundings;
mod take_over;
mod verify;
mod writable;

pub(crate) use files::missing_log;
pub use listing::KeyspaceInfo;
pub(crate) use listing::list_keyspaces;
pub(crate) use place::{Locked, held_by, lock, lock_error};
pub(crate) use platform::check as check_platform;
pub(crate) use read_only::{Shown, open_read_only};
pub(crate) use repair::repair;
pub use repair::{CutLog, LogCut, LostRange, LostTable, RepairOptions, RepairReport, SkippedPart};
pub(crate) use surroundings::with_comparators;
pub(crate) use verify::verify;
pub use verify::{VerifiedFile, VerifyProgress, VerifyReport};
pub(crate) use writable::{open, open_to_restore};
