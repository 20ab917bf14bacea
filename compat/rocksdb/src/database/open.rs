//! Opening a database: with its families, for reading, as a secondary, with a time to live.
//!
//! RocksDB wants every family of a database named when it is opened for writing. So does this
//! library, because a family's operator and order come from the program.

use std::ffi::{c_char, c_int, c_uchar};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use foldb::expiry::Expiry;
use foldb::{Db, ErrorKind, Options, ReadOnlyDb};
use parking_lot::{Mutex, RwLock};

use crate::boundary::{arg, array, call, handle, path, text};
use crate::copies::identity::identity_of;
use crate::database::close::refuse_foreign;
use crate::database::events::DatabaseEvents;
use crate::database::family::{
    check_name, create_keyspace, handle_of, keep_numbers, last_dropped, numbers,
    rocksdb_column_family_handle_t, stored_ids,
};
use crate::database::info_log::{InfoLog, LogSettings};
use crate::database::{Database, Engine, Family, FamilyKeyspace, Operators, rocksdb_t};
use crate::keyspaces::{DEFAULT_FAMILY, DEFAULT_WITH_TTL, is_hidden};
use crate::objects::merge_operator::NamedOperator;
use crate::objects::statistics::Counted;
use crate::options::effect::{check, comparator, keyspace_options, open_options, register_events};
use crate::options::files::file_system;
use crate::options::rocksdb_options_t;
use crate::status::{Code, Outcome, Status};

/// A family to open: its name, its options, and its time to live.
pub(crate) struct Wanted<'a> {
    pub(crate) name: &'a str,
    pub(crate) options: &'a rocksdb_options_t,
    /// `None`: the database is not opened with a time to live.
    pub(crate) ttl: Option<c_int>,
}

/// How a database is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Writable,
    ReadOnly,
    Secondary,
}

/// Returns the lifetime of entries; `None`: they never expire.
fn lifetime(ttl: c_int) -> Option<Duration> {
    u64::try_from(ttl).ok().filter(|&seconds| seconds > 0).map(Duration::from_secs)
}

/// What stands for "for ever" where a keyspace must have an expiry: a thousand years.
const FOR_EVER: Duration = Duration::from_secs(1000 * 365 * 86_400);

/// Returns the expiry of a family's keyspace in a database with a time to live.
pub(crate) fn expiry(ttl: Option<c_int>) -> Option<Expiry> {
    Some(Expiry::after_last_write(lifetime(ttl?).unwrap_or(FOR_EVER)))
}

impl Wanted<'_> {
    /// Returns the keyspace of the family.
    pub(crate) fn keyspace(&self) -> &str {
        let is_default = self.name == DEFAULT_FAMILY;
        if is_default && self.ttl.is_some() { DEFAULT_WITH_TTL } else { self.name }
    }
}

impl Database {
    /// Registers the operator of a family that is created while the database is open.
    ///
    /// # Errors
    /// `Not implemented` for a family with a long name.
    pub(crate) fn register(&self, name: &str, options: &rocksdb_options_t) -> Outcome<()> {
        let Some(operator) = &options.merge_operator else { return Ok(()) };
        let mut operators = self.operators.lock();
        if let Some(known) = operators.get(name) {
            return known.replace(operator);
        }
        let named = Arc::new(NamedOperator::of(name, operator)?);
        self.writable()?.add_operator(named.clone())?;
        operators.insert(name.to_owned(), named);
        Ok(())
    }
}

/// Returns the engine's options for a database with these families, and their operators.
pub(crate) fn engine_options(
    options: &rocksdb_options_t,
    families: &[Wanted<'_>],
) -> Outcome<(Options, Operators)> {
    let mut engine = open_options(options)?;
    let mut operators = Operators::new();
    for family in families {
        check(family.options)?;
        engine.comparators.push(comparator(family.options));
        if let Some(operator) = &family.options.merge_operator {
            let named = Arc::new(NamedOperator::of(family.name, operator)?);
            engine.operators.push(named.clone());
            operators.insert(family.name.to_owned(), named);
        }
        if let Some(filter) = &family.options.compaction_filter {
            let keyspace = family.keyspace().to_owned();
            engine.compaction_filters.push((keyspace, Arc::new(filter.clone())));
        }
        if family.keyspace() == DEFAULT_FAMILY {
            engine.default = keyspace_options(family.name, family.options)?;
        }
    }
    register_events(&mut engine, options);
    Ok((engine, operators))
}

/// Says an error of an open as RocksDB does.
pub(crate) fn open_error(error: foldb::Error, directory: &Path) -> Status {
    let shown = directory.display();
    match error.kind() {
        ErrorKind::DatabaseMissing => {
            Status::invalid(format!("{shown}/CURRENT: does not exist (create_if_missing is false)"))
        }
        ErrorKind::DatabaseExists => {
            Status::invalid(format!("{shown}: exists (error_if_exists is true)"))
        }
        ErrorKind::Locked => {
            Status::new(Code::IoError, format!("While lock file: {shown}/LOCK: {error}"))
        }
        _ => error.into(),
    }
}

/// Says an error of an open for reading as RocksDB does.
pub(crate) fn read_error(error: foldb::Error, directory: &Path) -> Status {
    if error.kind() != ErrorKind::DatabaseMissing {
        return open_error(error, directory);
    }
    let missing = "No such file or directory";
    let message = format!(
        "{missing}: While opening a file for sequentially reading: {}/CURRENT: {missing}",
        directory.display()
    );
    Status::new(Code::IoError, message)
}

/// Opens a database.
pub(crate) fn open(
    options: &rocksdb_options_t,
    directory: PathBuf,
    families: &[Wanted<'_>],
    mode: Mode,
) -> Outcome<Arc<Database>> {
    if !families.iter().any(|family| family.name == DEFAULT_FAMILY) {
        return Err(Status::invalid("Default column family not specified"));
    }
    let fs = file_system(options);
    refuse_foreign(&fs, &directory)?;
    let (mut own, operators) = engine_options(options, families)?;
    let events = DatabaseEvents::of(options);
    own.listeners.push(events.clone());
    let (engine, opened) = match mode {
        Mode::Writable => {
            let db = Db::open(&directory, own).map_err(|error| open_error(error, &directory))?;
            let opened = open_families(&db, options, families)?;
            (Engine::Writable(db), opened)
        }
        Mode::ReadOnly | Mode::Secondary => {
            // A handle for reading registers no operator as the default one.
            let mut own = own;
            own.default.merge_operator = None;
            let db = Db::open_read_only(&directory, own.clone());
            let db = db.map_err(|error| read_error(error, &directory))?;
            let opened = read_families(&db, families, mode)?;
            let engine = match mode {
                Mode::Secondary => {
                    Engine::Secondary { shown: RwLock::new(db), reopen: Box::new(own) }
                }
                _ => Engine::ReadOnly(db),
            };
            (engine, opened)
        }
    };
    let last_dropped = match &engine {
        Engine::Writable(db) => last_dropped(db)?,
        Engine::ReadOnly(_) | Engine::Secondary { .. } => 0,
    };
    let last = opened.iter().map(|family| family.id).max().unwrap_or(0).max(last_dropped);
    let default = opened.iter().find(|family| family.id == 0).cloned();
    let default = default.ok_or_else(|| Status::invalid("Default column family not specified"))?;
    let database = Arc::new(Database {
        identity: identity_of(&engine, &directory, options)?,
        engine,
        // The program may change its working directory.
        path: fs.absolute(&directory).unwrap_or(directory),
        options: options.clone(),
        default,
        families: RwLock::new(opened.into_iter().map(|family| (family.id, family)).collect()),
        next_family: (last + 1).into(),
        operators: Mutex::new(operators),
        compactions_disabled: false.into(),
        events,
    });
    database.count_write_buffers();
    if let Some(statistics) = &database.options.statistics {
        let counted: Arc<dyn Counted> = database.clone();
        statistics.attach(Arc::downgrade(&counted), database.stats());
    }
    let has_log = mode == Mode::Writable && options.logger.is_none();
    let log = has_log.then(|| InfoLog::begin(&database.path, LogSettings::of(options)));
    database.events.attach(&database, log.flatten());
    database.store_options(&database.families.read());
    Ok(database)
}

/// Returns the families of a database, opened for writing. Creates those that are missing.
fn open_families(
    db: &Db,
    options: &rocksdb_options_t,
    families: &[Wanted<'_>],
) -> Outcome<Vec<Arc<Family>>> {
    let existing = db.keyspaces();
    check_all_named(&existing, families)?;
    check_no_entries_without_ttl(db, families)?;
    let stored = stored_ids(&existing, |name| Ok(db.keyspace(name)?.reader()))?;
    let without: Vec<&str> =
        stored.iter().filter(|(_, id)| id.is_none()).map(|(name, _)| *name).collect();
    let last_dropped = last_dropped(db)?;
    let mut numbers = numbers(stored, last_dropped);
    let given = without.iter().filter(|name| **name != DEFAULT_FAMILY);
    keep_numbers(db, given.map(|name| (*name, numbers[name])))?;
    let mut opened = Vec::new();
    for family in families {
        let keyspace = family.keyspace();
        check_name(family.name)?;
        let is_new = !existing.iter().any(|name| name == keyspace);
        let is_default = family.name == DEFAULT_FAMILY;
        if is_new && !is_default && options.values.create_missing_column_families == 0 {
            return Err(Status::invalid(format!("Column family not found: {}", family.name)));
        }
        let next = numbers.values().max().map_or(0, |last| *last).max(last_dropped) + 1;
        let id = *numbers.entry(family.name).or_insert(next);
        let keyspace = if is_new {
            create_keyspace(db, keyspace, id, family.options, expiry(family.ttl))?
        } else {
            reopened(db, family)?
        };
        opened.push(Family::writable_of(keyspace, family.name, id, family.options)?);
    }
    Ok(opened)
}

/// Checks that a database which is opened with a time to live has no entries of an open without
/// one: they would be invisible.
///
/// # Errors
/// `Invalid argument`; those of the engine.
fn check_no_entries_without_ttl(db: &Db, families: &[Wanted<'_>]) -> Outcome<()> {
    let has_ttl = families.iter().any(|family| family.ttl.is_some());
    if has_ttl && db.iter()?.seek_to_first()? {
        return Err(Status::invalid(
            "the database has entries without a time to live: open it without one",
        ));
    }
    Ok(())
}

/// Returns the keyspace of a family that exists, with the operator and lifetime of this open.
fn reopened(db: &Db, family: &Wanted<'_>) -> Outcome<foldb::Keyspace> {
    let keyspace = db.keyspace(family.keyspace())?;
    let stored = keyspace.options().expiry;
    let for_ever = lifetime(family.ttl.unwrap_or(0)).is_none();
    if let Some(expiry) = expiry(family.ttl)
        && !(for_ever && stored.is_none())
    {
        let lifetime = lifetime(family.ttl.unwrap_or(0)).unwrap_or(FOR_EVER);
        if stored != Some(expiry) {
            keyspace.set_lifetime(lifetime)?;
        }
    }
    Ok(keyspace)
}

/// Checks that the program named all families.
///
/// # Errors
/// `Invalid argument`, naming those that it did not.
fn check_all_named(existing: &[String], families: &[Wanted<'_>]) -> Outcome<()> {
    let has_ttl = families.iter().any(|family| family.ttl.is_some());
    if !has_ttl && existing.iter().any(|name| name == DEFAULT_WITH_TTL) {
        return Err(Status::invalid(
            "the database was opened with a time to live before: open it with one again",
        ));
    }
    let is_named = |name: &str| families.iter().any(|family| family.name == name);
    let missing: Vec<&str> = existing
        .iter()
        .map(|name| &**name)
        .filter(|name| *name != DEFAULT_FAMILY && !is_hidden(name) && !is_named(name))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(format!("Column families not opened: {}", missing.join(", "))))
}

/// Returns the families of a database that is open for reading.
fn read_families(
    db: &ReadOnlyDb,
    families: &[Wanted<'_>],
    mode: Mode,
) -> Outcome<Vec<Arc<Family>>> {
    let existing = db.keyspaces();
    let stored = stored_ids(&existing, |name| db.keyspace(name))?;
    let numbers = numbers(stored, 0);
    let mut opened = Vec::new();
    for family in families {
        let keyspace = family.keyspace();
        let with_ttl = [DEFAULT_WITH_TTL, keyspace];
        let found = with_ttl.iter().skip(usize::from(family.name != DEFAULT_FAMILY));
        let mut found = found.filter(|name| existing.iter().any(|own| own == *name));
        let (Some(keyspace), Some(&id)) = (found.next(), numbers.get(family.name)) else {
            return Err(Status::invalid(format!("Column family not found: {}", family.name)));
        };
        let reader = db.keyspace(keyspace)?;
        let keyspace = match mode {
            Mode::Secondary => FamilyKeyspace::Secondary(RwLock::new(reader)),
            _ => FamilyKeyspace::ReadOnly(reader),
        };
        opened.push(Family::of(keyspace, family.name, id, family.options));
    }
    Ok(opened)
}

impl Database {
    /// Lets the shared limit of write buffers count those of this database.
    fn count_write_buffers(self: &Arc<Database>) {
        let Some(buffers) = &self.options.write_buffers else { return };
        let database = Arc::downgrade(self);
        buffers.add(Box::new(move || {
            let memory = database.upgrade()?.memory();
            Some(memory.active_memtables + memory.sealed_memtables)
        }));
    }
}

/// Makes the handle of a database.
pub(crate) fn database_handle(database: Arc<Database>) -> *mut rocksdb_t {
    handle(rocksdb_t { database })
}

unsafe fn open_one(
    options: *const rocksdb_options_t,
    name: *const c_char,
    mode: Mode,
    ttl: Option<c_int>,
) -> Outcome<*mut rocksdb_t> {
    let (options, directory) = (arg(options, "options")?, path(name, "name")?);
    let families = [Wanted { name: DEFAULT_FAMILY, options, ttl }];
    open(options, directory, &families, mode).map(database_handle)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_open(
    options: *const rocksdb_options_t,
    name: *const c_char,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_t {
    let open = || open_one(options, name, Mode::Writable, None);
    call(errptr, open).unwrap_or(ptr::null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_open_with_ttl(
    options: *const rocksdb_options_t,
    name: *const c_char,
    ttl: c_int,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_t {
    let open = || open_one(options, name, Mode::Writable, Some(ttl));
    call(errptr, open).unwrap_or(ptr::null_mut())
}

/// Reads the log too, so `error_if_wal_file_exists` protects from nothing here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_open_for_read_only(
    options: *const rocksdb_options_t,
    name: *const c_char,
    _error_if_wal_file_exists: c_uchar,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_t {
    let open = || open_one(options, name, Mode::ReadOnly, None);
    call(errptr, open).unwrap_or(ptr::null_mut())
}

/// A secondary writes nothing, so it needs no directory of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_open_as_secondary(
    options: *const rocksdb_options_t,
    name: *const c_char,
    _secondary_path: *const c_char,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_t {
    let open = || open_one(options, name, Mode::Secondary, None);
    call(errptr, open).unwrap_or(ptr::null_mut())
}

/// The families of a call that opens several, as C gives them.
#[derive(Clone, Copy)]
pub(crate) struct FamilyArrays {
    pub(crate) count: c_int,
    pub(crate) names: *const *const c_char,
    pub(crate) options: *const *const rocksdb_options_t,
    pub(crate) ttls: *const c_int,
    pub(crate) handles: *mut *mut rocksdb_column_family_handle_t,
}

impl FamilyArrays {
    /// Opens a database with these families, and stores their handles.
    pub(crate) unsafe fn open(
        self,
        options: *const rocksdb_options_t,
        name: *const c_char,
        mode: Mode,
    ) -> Outcome<Arc<Database>> {
        let (options, directory) = (arg(options, "options")?, path(name, "name")?);
        let count = usize::try_from(self.count).unwrap_or(0);
        let names = array(self.names, count)?;
        let own = array(self.options, count)?;
        let ttls = if self.ttls.is_null() { &[] } else { array(self.ttls, count)? };
        let mut families = Vec::with_capacity(count);
        for (index, (&name, &own)) in names.iter().zip(own).enumerate() {
            let name = text(name, "a column family name")?;
            let options = arg(own, "the options of a column family")?;
            families.push(Wanted { name, options, ttl: ttls.get(index).copied() });
        }
        let database = open(options, directory, &families, mode)?;
        for (index, wanted) in families.iter().enumerate() {
            let families = database.families.read();
            let family = families.values().find(|family| family.name == wanted.name);
            if let (Some(family), false) = (family, self.handles.is_null()) {
                *self.handles.add(index) = handle_of(family.clone());
            }
        }
        Ok(database)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_open_column_families(
    options: *const rocksdb_options_t,
    name: *const c_char,
    count: c_int,
    names: *const *const c_char,
    family_options: *const *const rocksdb_options_t,
    handles: *mut *mut rocksdb_column_family_handle_t,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_t {
    let arrays = FamilyArrays { count, names, options: family_options, ttls: ptr::null(), handles };
    let open = || arrays.open(options, name, Mode::Writable).map(database_handle);
    call(errptr, open).unwrap_or(ptr::null_mut())
}

/// Without user-defined timestamps there is no history to trim, so this is an open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_open_and_trim_history(
    options: *const rocksdb_options_t,
    name: *const c_char,
    count: c_int,
    names: *const *const c_char,
    family_options: *const *const rocksdb_options_t,
    handles: *mut *mut rocksdb_column_family_handle_t,
    _trim_timestamp: *mut c_char,
    _timestamp_len: usize,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_t {
    rocksdb_open_column_families(options, name, count, names, family_options, handles, errptr)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_open_column_families_with_ttl(
    options: *const rocksdb_options_t,
    name: *const c_char,
    count: c_int,
    names: *const *const c_char,
    family_options: *const *const rocksdb_options_t,
    handles: *mut *mut rocksdb_column_family_handle_t,
    ttls: *const c_int,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_t {
    let arrays = FamilyArrays { count, names, options: family_options, ttls, handles };
    let open = || arrays.open(options, name, Mode::Writable).map(database_handle);
    call(errptr, open).unwrap_or(ptr::null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_open_for_read_only_column_families(
    options: *const rocksdb_options_t,
    name: *const c_char,
    count: c_int,
    names: *const *const c_char,
    family_options: *const *const rocksdb_options_t,
    handles: *mut *mut rocksdb_column_family_handle_t,
    _error_if_wal_file_exists: c_uchar,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_t {
    let arrays = FamilyArrays { count, names, options: family_options, ttls: ptr::null(), handles };
    let open = || arrays.open(options, name, Mode::ReadOnly).map(database_handle);
    call(errptr, open).unwrap_or(ptr::null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_open_as_secondary_column_families(
    options: *const rocksdb_options_t,
    name: *const c_char,
    _secondary_path: *const c_char,
    count: c_int,
    names: *const *const c_char,
    family_options: *const *const rocksdb_options_t,
    handles: *mut *mut rocksdb_column_family_handle_t,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_t {
    let arrays = FamilyArrays { count, names, options: family_options, ttls: ptr::null(), handles };
    let open = || arrays.open(options, name, Mode::Secondary).map(database_handle);
    call(errptr, open).unwrap_or(ptr::null_mut())
}
