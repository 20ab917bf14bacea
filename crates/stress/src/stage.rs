//! The database that a worker's threads work on, on the disk that its seed gives it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldb::custom::{BytewiseComparator, Comparator};
use foldb::env::{Env, Trouble, WatchedFs};
use foldb::expiry::Expiry;
use foldb::{
    Db, Error, ErrorKind, Keyspace, KeyspaceOptions, KeyspaceReader, Options, ReadOnlyDb, Snapshot,
    WriteBatch,
};
use foldb_model::Change;

use crate::check::{Wrong, told};
use crate::coverage::{Counted, Counts};
use crate::features::{BadDisk, Features, Operator, operators};
use crate::last_handle::LastHandle;
use crate::surroundings::{Around, LEASE_KEYSPACE, LONG_LIFE};
use crate::write::{Operation, TALLY_KEYSPACE, bulk_value};

/// The database that all threads work on.
pub(crate) struct Stage {
    pub features: Features,
    pub db: Db,
    /// The keyspaces of the features, in their order.
    pub keyspaces: Vec<Keyspace>,
    pub tally: Keyspace,
    /// Entries that live for an hour, if the clock jumps.
    pub leases: Option<Keyspace>,
    operators: Vec<(Operator, foldb::operators::Operator)>,
    /// The current trouble of the disk.
    pub trouble: Arc<Trouble>,
    pub around: Around,
}

/// The keyspaces that threads check: as they are now, at a snapshot, or in a read-only database.
pub(crate) struct Shown<'a> {
    pub features: &'a Features,
    /// The keyspaces of the features, in their order.
    pub keyspaces: Vec<KeyspaceReader>,
}

/// Opens that may fail before the disk is repaired.
const ATTEMPTS: usize = 4;
/// A forked child has run within this time. Children that outlive their parents live longer.
const LONGEST_START: Duration = Duration::from_millis(60);
/// Most files that failed opens may leave: some calls cannot be undone.
const LEFT_BEHIND: usize = 3;

impl Stage {
    /// Opens the database, and creates missing keyspaces. On a bad disk some opens fail. The disk
    /// works again when this returns.
    pub(crate) fn open(
        around: Around,
        features: Features,
        counts: &Arc<Counts>,
        last: &Arc<LastHandle>,
    ) -> Result<Stage, Wrong> {
        let path = &around.name;
        let trouble = Arc::new(Trouble::default());
        let mut options = features.options();
        options.env = around.env(options.env);
        options.listeners.push(Arc::clone(counts) as _);
        options.listeners.push(Arc::clone(last) as _);
        if features.disk != BadDisk::Nothing {
            let fs = WatchedFs::new(Arc::clone(&options.env.fs), Arc::clone(&trouble) as _);
            options.env = Env { fs: Arc::new(fs), ..options.env };
        }
        if let BadDisk::Failing(_) = features.disk {
            fail_to_open(path, &options, &trouble, features.seed, counts)?;
        }
        let db = open(path, &options, features.surroundings.forks);
        let db = db.map_err(told("the database does not open"))?;
        let operators = operators::ALL.iter().map(|own| Ok((*own, db.operator(&own.name())?)));
        let operators = operators.collect::<Result<_, _>>();
        let operators = operators.map_err(told("cannot define an operator"))?;
        let jumps = features.surroundings.clock_jumps;
        let expiry = jumps.then(|| Expiry::after_last_write(LONG_LIFE));
        let create = |name: &str, options| match db.keyspace(name) {
            Err(error) if error.kind() == ErrorKind::KeyspaceMissing => {
                db.create_keyspace(name, options)
            }
            outcome => outcome,
        };
        let keyspace = |name: &str, operator: &str, comparator| {
            let (merge_operator, comparator) = (Some(operator.to_owned()), Some(comparator));
            let options =
                KeyspaceOptions { merge_operator, comparator, expiry, ..Default::default() };
            create(name, options)
        };
        let mut keyspaces = vec![db.default_keyspace().clone()];
        for (at, &operator) in features.operators.iter().enumerate().skip(1) {
            let own = keyspace(&format!("keyspace-{at}"), &operator.name(), features.order());
            keyspaces.push(own.map_err(told("cannot open a keyspace"))?);
        }
        let tally = keyspace(TALLY_KEYSPACE, &Operator::Add.name(), Arc::new(BytewiseComparator));
        let tally = tally.map_err(told("cannot open the keyspace of tallies"))?;
        let comparator: Option<Arc<dyn Comparator>> = Some(Arc::new(BytewiseComparator));
        let options = KeyspaceOptions { expiry, comparator, ..KeyspaceOptions::default() };
        let leases = jumps.then(|| create(LEASE_KEYSPACE, options)).transpose();
        let leases = leases.map_err(told("cannot open the keyspace of leases"))?;
        Ok(Stage { features, db, keyspaces, tally, leases, operators, trouble, around })
    }

    /// Opens the database at `path` read-only: a copy of this database, or this database itself.
    /// Returns `None` if the process has few handles: such an open holds a handle of each table,
    /// and would leave none to the calls of other threads.
    pub(crate) fn look(&self, path: &Path) -> Result<Option<Shown<'_>>, Wrong> {
        if self.features.surroundings.few_handles {
            return Ok(None);
        }
        let db = ReadOnlyDb::open(path, self.features.options());
        let db = db.map_err(told("cannot open to read only"))?;
        let again = |own: &Keyspace| db.keyspace(own.name()).map_err(told("a keyspace is missing"));
        let keyspaces = self.keyspaces.iter().map(again).collect::<Result<_, _>>()?;
        Ok(Some(Shown { features: &self.features, keyspaces }))
    }

    /// Returns the keyspaces as they are now.
    pub(crate) fn now(&self) -> Shown<'_> {
        let now = |own: &Keyspace| own.reader();
        Shown { features: &self.features, keyspaces: self.keyspaces.iter().map(now).collect() }
    }

    /// Returns the keyspaces at a snapshot.
    pub(crate) fn at(&self, snapshot: &Snapshot) -> Shown<'_> {
        let then = |own: &Keyspace| snapshot.keyspace(own);
        Shown { features: &self.features, keyspaces: self.keyspaces.iter().map(then).collect() }
    }

    /// Makes the disk as bad as its seed says.
    pub(crate) fn begin_trouble(&self, seed: u64) {
        match self.features.disk {
            BadDisk::Failing(one_in) => self.trouble.fail_one_in(one_in, seed),
            BadDisk::Slow(micros) => {
                self.trouble.slow_down(Duration::from_micros(micros));
            }
            BadDisk::Unmappable => fail_mappings(),
            BadDisk::Nothing | BadDisk::Hanging(_) | BadDisk::FailingSyncs => {}
        }
    }

    /// Returns whether the disk, or a move of the directory, may have caused this error of a
    /// changing call.
    pub(crate) fn is_excused(&self, error: &Error) -> bool {
        if self.features.surroundings.moves && error.kind() == ErrorKind::DirectoryLost {
            return true;
        }
        let kinds = [ErrorKind::Io, ErrorKind::NoSpace, ErrorKind::Poisoned, ErrorKind::Busy];
        self.features.disk.fails() && kinds.contains(&error.kind())
    }

    /// Returns the database's operator.
    pub(crate) fn operator(&self, operator: Operator) -> &foldb::operators::Operator {
        let known = self.operators.iter().find(|(own, _)| *own == operator);
        &known.expect("the open defined all operators").1
    }

    pub(crate) fn batch(&self, operations: &[Operation]) -> WriteBatch {
        let mut batch = WriteBatch::new();
        let keyspace = |at: usize| &self.keyspaces[at];
        let stored = |key: &[u8]| self.features.stored_key(key);
        for operation in operations {
            match operation {
                Operation::Own(own) => {
                    let keyspace = keyspace(own.keyspace);
                    match &own.change {
                        Change::Put(key, value) => batch.put_in(keyspace, stored(key), value),
                        Change::Delete(key) => batch.delete_in(keyspace, stored(key)),
                        Change::Merge(operator, key, operand) => {
                            let operator = self.operator(*operator);
                            batch.merge_with_in(operator, keyspace, stored(key), operand)
                        }
                        Change::DeleteRange(range) => {
                            batch.delete_range_in(keyspace, self.features.stored_range(range))
                        }
                    };
                }
                Operation::Bulk { keyspace: at, key, count } => {
                    for n in 0..=*count {
                        batch.put_in(keyspace(*at), stored(key), bulk_value(n));
                    }
                }
                Operation::Tally { slot } => {
                    batch.merge_in(&self.tally, [*slot], 1u64.to_le_bytes());
                }
            }
        }
        batch
    }
}

/// Opens the database. If the life before had children, one of them may have its copy of the lock
/// until it runs for the first time.
fn open(path: &Path, options: &Options, may_have_children: bool) -> foldb::Result<Db> {
    let begun = Instant::now();
    loop {
        match Db::open(path, options.clone()) {
            Err(error)
                if error.kind() == ErrorKind::Locked
                    && may_have_children
                    && begun.elapsed() < LONGEST_START =>
            {
                std::thread::sleep(Duration::from_millis(1));
            }
            outcome => return outcome,
        }
    }
}

/// Opens the database several times on a disk that fails. Checks that failed opens leave at most
/// [`LEFT_BEHIND`] files.
fn fail_to_open(
    path: &Path,
    options: &Options,
    trouble: &Trouble,
    seed: u64,
    counts: &Counts,
) -> Result<(), Wrong> {
    let before = files(path);
    let mut failed = 0;
    for attempt in 0..ATTEMPTS {
        trouble.fail_one_in(6, seed.wrapping_add(attempt as u64));
        let outcome = Db::open(path, options.clone());
        trouble.end();
        match outcome {
            // It may have made files.
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Io => {
                failed += 1;
                counts.add(Counted::FailedOpen);
            }
            Err(error) => return Err(format!("an open on a bad disk fails as {error}")),
        }
    }
    let after = files(path);
    if after > before + LEFT_BEHIND {
        return Err(format!("{failed} failed opens made {after} files of {before}"));
    }
    Ok(())
}

/// Returns the number of files in the directory that every failed open could remove. Left out are:
///
/// - the copy of a log for the change feed: every open writes the same copies again;
/// - tables and segments: the manifest may hold the edit that names them, although it failed. The
///   next good open removes what no manifest names.
fn files(path: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(path) else { return 0 };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let counts = |path: &PathBuf| match path.extension().and_then(|ending| ending.to_str()) {
        Some("arc") => !path.with_extension("log").exists(),
        Some("tbl" | "seg") => false,
        _ => true,
    };
    paths.filter(counts).count()
}

/// Makes every mapping of a file fail from now on, in builds with debug assertions.
fn fail_mappings() {
    #[cfg(debug_assertions)]
    foldb::env::faults::fail_mappings(true);
}
