//! Opens a database for reading and writing.

use std::path::Path;
use std::sync::Arc;

use foldb_env::{FileSystem, UnmappedFs};

use crate::db::core::Core;
use crate::db::lifecycle::open::files::list_files;
use crate::db::lifecycle::open::opening::Opening;
use crate::db::lifecycle::open::place::{Place, held_by};
use crate::db::lifecycle::open::platform;
use crate::db::lifecycle::open::stored::Stored;
use crate::db::lifecycle::open::surroundings::runtime_of;
use crate::error::{Error, ErrorKind, Result};
use crate::files::{
    FileNames, FoundReserve, empty_reserve, find_reserve, is_there, refuse_foreign,
    refuse_unfinished_restore,
};
use crate::options::Options;
use crate::runtime::Runtime;
use crate::version::{CloseRecord, Manifest};

/// Opens a database without starting its workers.
pub(crate) fn open(path: &Path, options: Options) -> Result<Arc<Core>> {
    open_for(path, options, Purpose::Use).map_err(|error| match error.kind() {
        ErrorKind::NoSpace => error.advising(
            ": the disk is full, and an open begins a log and a manifest; free some space, or read \
             the database with open_read_only, which writes nothing",
        ),
        _ => error,
    })
}

/// Opens a database that a restore fills. If the open creates the database, it marks it as
/// unfinished.
pub(crate) fn open_to_restore(path: &Path, options: Options) -> Result<Arc<Core>> {
    open_for(path, options, Purpose::Restore)
}

/// Why a database is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Use,
    Restore,
}

fn open_for(path: &Path, options: Options, purpose: Purpose) -> Result<Arc<Core>> {
    platform::check()?;
    options.validate()?;
    let runtime = runtime_of(&options);
    runtime.check_process()?;
    let mut options = options.fitted(&runtime.ledger().shares);
    if !options.map_log {
        options.env.fs = Arc::new(UnmappedFs::new(options.env.fs));
    }
    let fs = Arc::clone(&options.env.fs);
    let names = FileNames::at(&*fs, path)?;
    refuse_foreign(&*fs, &names)?;
    // A restore opens its database twice, and goes on where an earlier one left no database.
    let goes_on = !options.error_if_exists || !is_there(&*fs, &names.current())?;
    if purpose == Purpose::Use || !goes_on {
        refuse_unfinished_restore(&*fs, &names)?;
    } else if !options.error_if_exists && !is_there(&*fs, &names.restoring())? {
        let message = "another database came to the directory of a restore";
        return Err(Error::new(ErrorKind::DatabaseExists, message).in_file(names.directory()));
    }
    if fs.exists(&names.current()) && !fs.exists(&names.lock()) {
        // A database that was ever open has a lock file. If these files belong to another program,
        // the open fails here and leaves no lock file in the directory.
        let recovered = Manifest::recover(&*fs, &names, None);
        if !fs.exists(&names.lock()) {
            recovered?;
        }
    }
    let raw = Arc::clone(&fs);
    let mut place = Place::take(&*raw, &names, &options)?;
    let fs = match &place.lock {
        Some(lock) => held_by(&**lock, &fs, names.directory()),
        None => fs,
    };
    options.env.fs = Arc::clone(&fs);
    let mut opening =
        OpenAt { options, names: &names, fs: &fs, runtime, purpose, given_back: None };
    let mut opened = opening.open(&mut place);
    if opened.as_ref().is_err_and(|error| error.kind() == ErrorKind::NoSpace)
        && let Some(bytes) = give_back(&*fs, &names)
    {
        opening.given_back = Some(bytes);
        opened = opening.open(&mut place);
    }
    if opened.is_err() {
        place.leave_as_found();
    }
    opened
}

/// Gives the reserve of a database back to the disk. Returns its bytes, if there was one.
fn give_back(fs: &dyn FileSystem, names: &FileNames) -> Option<u64> {
    let FoundReserve::Bytes(bytes) = find_reserve(fs, names) else { return None };
    empty_reserve(fs, names).ok()?;
    // Some file systems free the blocks only with their next journal commit.
    let _best_effort = fs.sync_dir(names.directory());
    Some(bytes)
}

/// An open of the database of a locked directory.
struct OpenAt<'a> {
    options: Options,
    names: &'a FileNames,
    fs: &'a Arc<dyn FileSystem>,
    runtime: Runtime,
    purpose: Purpose,
    given_back: Option<u64>,
}

impl OpenAt<'_> {
    fn open(&self, place: &mut Place<'_>) -> Result<Arc<Core>> {
        let (fs, names, options) = (self.fs, self.names, &self.options);
        let present = list_files(&**fs, names)?;
        let closed = CloseRecord::read_among(&present, &**fs, names)?;
        let stored = match Manifest::recover(&**fs, names, closed.as_ref())? {
            Some(_) if options.error_if_exists => {
                let error =
                    Error::new(ErrorKind::DatabaseExists, "the directory already holds a database");
                return Err(error.in_file(names.directory()));
            }
            Some(recovered) => {
                let mut stored = Stored::recover(recovered, options, names)?;
                stored.absorb_close(closed.as_ref());
                stored
            }
            None => Stored::create(options),
        };
        let opening = Opening {
            options: options.clone(),
            names: names.clone(),
            fs: Arc::clone(fs),
            lock: &mut place.lock,
            stored,
            present,
            closed,
            runtime: self.runtime.clone(),
            restores: self.purpose == Purpose::Restore,
            given_back: self.given_back,
        };
        opening.finish()
    }
}
