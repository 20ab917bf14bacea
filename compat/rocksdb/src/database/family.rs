//! Column families: handles, creating, dropping, and their numbers.
//!
//! A keyspace stores the number of its family as its schema: `rocksdb column family 3`. One that
//! another program made has none. Then the first open for writing gives it a number, and stores it.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use foldb::operators::Operator;
use foldb::{Keyspace, KeyspaceOptions, KeyspaceReader};

use foldb_rocksdb_format::names;

use crate::boundary::{arg, array, array_copy, call, copy, free, handle, quiet, store_len, text};
use crate::database::open::expiry;
use crate::database::{Database, Engine, Family, FamilyKeyspace, rocksdb_t};
use crate::keyspaces::{DEFAULT_FAMILY, DEFAULT_WITH_TTL, NUMBERS, is_hidden};
use crate::options::effect::{check, keyspace_options, operator_spec};
use crate::options::rocksdb_options_t;
use crate::status::{Outcome, Status};

/// RocksDB: `ColumnFamilyHandle`.
pub struct rocksdb_column_family_handle_t {
    pub(crate) family: Arc<Family>,
}

/// The key in [`NUMBERS`] of the greatest number of a family that was dropped. Numbers are four
/// bytes, little-endian.
const LAST_DROPPED: &str = "last dropped";

/// What the key in [`NUMBERS`] of a family's number begins with. The family's name follows.
const NUMBER_OF: &str = "number of ";

/// Returns the number that a schema stores.
pub(crate) fn stored_id(schema: Option<&str>) -> Option<u32> {
    names::number_in(schema?)
}

/// Returns the families among keyspaces, each with the number that is stored for it.
///
/// # Errors
/// Those of `open`, and of the engine.
pub(crate) fn stored_ids(
    keyspaces: &[String],
    open: impl Fn(&str) -> foldb::Result<KeyspaceReader>,
) -> Outcome<Vec<(&str, Option<u32>)>> {
    let has_numbers = keyspaces.iter().any(|name| name == NUMBERS);
    let given = has_numbers.then(|| open(NUMBERS)).transpose()?;
    let families = keyspaces.iter().map(String::as_str).filter(|name| !is_hidden(name));
    let id_of = |name: &str| match (stored_id(open(name)?.schema()), &given) {
        (None, Some(given)) => number_at(given, &format!("{NUMBER_OF}{name}")),
        (id, _) => Ok(id),
    };
    families.map(|name| Ok((name, id_of(name)?))).collect()
}

fn number_at(numbers: &KeyspaceReader, key: &str) -> Outcome<Option<u32>> {
    let found = numbers.get(key)?;
    let number = found.and_then(|value| value.as_ref().try_into().ok());
    Ok(number.map(u32::from_le_bytes))
}

/// Gives each family its number: the stored one, or one after all others and those that were
/// dropped.
pub(crate) fn numbers<'n>(
    families: impl IntoIterator<Item = (&'n str, Option<u32>)>,
    last_dropped: u32,
) -> BTreeMap<&'n str, u32> {
    let mut all = BTreeMap::from([(DEFAULT_FAMILY, 0)]);
    let mut without = Vec::new();
    for (name, id) in families {
        match id {
            _ if name == DEFAULT_FAMILY => {}
            Some(id) => drop(all.insert(name, id)),
            None => without.push(name),
        }
    }
    without.sort_unstable();
    for name in without {
        let next = all.values().max().map_or(0, |last| *last).max(last_dropped) + 1;
        all.insert(name, next);
    }
    all
}

/// Returns the greatest number of a family that was dropped; 0 if none was.
pub(crate) fn last_dropped(db: &foldb::Db) -> Outcome<u32> {
    if !db.keyspaces().iter().any(|name| name == NUMBERS) {
        return Ok(0);
    }
    Ok(number_at(&db.keyspace(NUMBERS)?.reader(), LAST_DROPPED)?.unwrap_or(0))
}

/// Stores numbers that an open gave to families, durably.
pub(crate) fn keep_numbers<'n>(
    db: &foldb::Db,
    given: impl IntoIterator<Item = (&'n str, u32)>,
) -> Outcome<()> {
    let given: Vec<_> = given.into_iter().collect();
    if given.is_empty() {
        return Ok(());
    }
    let numbers = db.keyspace_or_create(NUMBERS, KeyspaceOptions::default())?;
    let mut batch = foldb::WriteBatch::new();
    for (name, id) in given {
        batch.put_in(&numbers, format!("{NUMBER_OF}{name}"), id.to_le_bytes());
    }
    Ok(db.with(&DURABLE).write(&batch)?)
}

const DURABLE: foldb::WriteOptions =
    foldb::WriteOptions { sync: true, ..foldb::WriteOptions::DEFAULT };

/// Stores the number of a family that will be dropped, so that no later family gets it.
fn note_dropped(db: &foldb::Db, name: &str, id: u32) -> Outcome<()> {
    let last = last_dropped(db)?.max(id);
    let numbers = db.keyspace_or_create(NUMBERS, KeyspaceOptions::default())?;
    let mut batch = foldb::WriteBatch::new();
    batch.put_in(&numbers, LAST_DROPPED, last.to_le_bytes());
    batch.delete_in(&numbers, format!("{NUMBER_OF}{name}"));
    Ok(db.with(&DURABLE).write(&batch)?)
}

/// Refuses the name of a new family that this library uses itself.
///
/// # Errors
/// `Invalid argument`.
pub(crate) fn check_name(name: &str) -> Outcome<()> {
    match is_hidden(name) {
        true => Err(Status::invalid(format!("'{name}' is a name of this library's own"))),
        false => Ok(()),
    }
}

impl Family {
    /// Makes a family that can be written to.
    pub(crate) fn writable_of(
        keyspace: Keyspace,
        name: &str,
        id: u32,
        options: &rocksdb_options_t,
    ) -> Outcome<Arc<Family>> {
        let operator = operator_spec(name, options)?.map(|spec| keyspace.operator(&spec));
        let operator = operator.transpose()?;
        Ok(Family::with(FamilyKeyspace::Writable(keyspace), operator, name, id, options))
    }

    /// Makes a family that can be read.
    pub(crate) fn of(
        keyspace: FamilyKeyspace,
        name: &str,
        id: u32,
        options: &rocksdb_options_t,
    ) -> Arc<Family> {
        Family::with(keyspace, None, name, id, options)
    }

    fn with(
        keyspace: FamilyKeyspace,
        operator: Option<Operator>,
        name: &str,
        id: u32,
        options: &rocksdb_options_t,
    ) -> Arc<Family> {
        Arc::new(Family {
            name: name.to_owned(),
            id,
            keyspace,
            prefix_extractor: options.prefix_extractor.clone(),
            operator,
            options: options.clone(),
        })
    }
}

/// Creates the keyspace of a family.
///
/// # Errors
/// Those of options that are refused, and of the engine.
pub(crate) fn create_keyspace(
    db: &foldb::Db,
    name: &str,
    id: u32,
    options: &rocksdb_options_t,
    expiry: Option<foldb::expiry::Expiry>,
) -> Outcome<Keyspace> {
    let own = KeyspaceOptions {
        schema: Some(names::schema_of(id)),
        expiry,
        ..keyspace_options(name, options)?
    };
    // The order of a new keyspace is that of the default one, unless the program gave another.
    Ok(db.create_keyspace(name, own)?)
}

impl Database {
    /// Creates a family.
    ///
    /// # Errors
    /// `Invalid argument` if there is one of that name.
    pub(crate) fn create_family(
        &self,
        name: &str,
        options: &rocksdb_options_t,
        ttl: Option<c_int>,
    ) -> Outcome<Arc<Family>> {
        let db = self.writable()?;
        check(options)?;
        check_name(name)?;
        let mut families = self.families.write();
        if families.values().any(|family| family.name == name) {
            return Err(Status::invalid("Column family already exists"));
        }
        let id = self.next_family.load(Ordering::Relaxed);
        self.register(name, options)?;
        let expiry = match db.keyspaces().iter().any(|name| name == DEFAULT_WITH_TTL) {
            // A database with a time to live opens with one for each family.
            true => expiry(Some(ttl.unwrap_or(0))),
            false => ttl.filter(|&ttl| ttl > 0).and_then(|ttl| expiry(Some(ttl))),
        };
        let keyspace = create_keyspace(db, name, id, options, expiry)?;
        self.next_family.store(id + 1, Ordering::Relaxed);
        if let Some(filter) = &options.compaction_filter {
            keyspace.set_compaction_filter(Some(Arc::new(filter.clone())));
        }
        let family = Family::writable_of(keyspace, name, id, options)?;
        families.insert(id, family.clone());
        self.store_options(&families);
        Ok(family)
    }

    /// Drops a family.
    ///
    /// # Errors
    /// `Invalid argument` for the default family.
    fn drop_family(&self, family: &Family) -> Outcome<()> {
        let db = self.writable()?;
        if family.id == 0 {
            return Err(Status::invalid("Can't drop default column family"));
        }
        let mut families = self.families.write();
        if !families.contains_key(&family.id) {
            return Err(Status::invalid("Column family already dropped!"));
        }
        note_dropped(db, &family.name, family.id)?;
        db.drop_keyspace(&family.name)?;
        families.remove(&family.id);
        self.store_options(&families);
        Ok(())
    }
}

/// Makes a handle of a family.
pub(crate) fn handle_of(family: Arc<Family>) -> *mut rocksdb_column_family_handle_t {
    handle(rocksdb_column_family_handle_t { family })
}

unsafe fn create(
    db: *mut rocksdb_t,
    options: *const rocksdb_options_t,
    name: *const c_char,
    ttl: Option<c_int>,
) -> Outcome<*mut rocksdb_column_family_handle_t> {
    let (db, options) = (arg(db, "db")?, arg(options, "column_family_options")?);
    let name = text(name, "column_family_name")?;
    db.database.create_family(name, options, ttl).map(handle_of)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_create_column_family(
    db: *mut rocksdb_t,
    options: *const rocksdb_options_t,
    name: *const c_char,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_column_family_handle_t {
    call(errptr, || create(db, options, name, None)).unwrap_or(ptr::null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_create_column_family_with_ttl(
    db: *mut rocksdb_t,
    options: *const rocksdb_options_t,
    name: *const c_char,
    ttl: c_int,
    errptr: *mut *mut c_char,
) -> *mut rocksdb_column_family_handle_t {
    call(errptr, || create(db, options, name, Some(ttl))).unwrap_or(ptr::null_mut())
}

/// Creates families. Those before the first failure exist, and have handles in the array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_create_column_families(
    db: *mut rocksdb_t,
    options: *const rocksdb_options_t,
    count: c_int,
    names: *const *const c_char,
    created: *mut usize,
    errptr: *mut *mut c_char,
) -> *mut *mut rocksdb_column_family_handle_t {
    let mut handles = Vec::new();
    call(errptr, || -> Outcome<()> {
        for &name in array(names, usize::try_from(count).unwrap_or(0))? {
            handles.push(create(db, options, name, None)?);
        }
        Ok(())
    });
    store_len(created, handles.len());
    array_copy(&handles)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_create_column_families_destroy(
    list: *mut *mut rocksdb_column_family_handle_t,
) {
    libc::free(list.cast());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_drop_column_family(
    db: *mut rocksdb_t,
    family: *mut rocksdb_column_family_handle_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let (db, family) = (arg(db, "db")?, arg(family, "handle")?);
        db.database.drop_family(&family.family)
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_get_default_column_family_handle(
    db: *mut rocksdb_t,
) -> *mut rocksdb_column_family_handle_t {
    let database = &(*db).database;
    handle_of(database.default.clone())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_column_family_handle_destroy(
    family: *mut rocksdb_column_family_handle_t,
) {
    free(family);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_column_family_handle_get_id(
    family: *mut rocksdb_column_family_handle_t,
) -> u32 {
    let family = &(*family).family;
    family.id
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_column_family_handle_get_name(
    family: *mut rocksdb_column_family_handle_t,
    len: *mut usize,
) -> *mut c_char {
    let family = &(*family).family;
    let name = &family.name;
    store_len(len, name.len());
    copy(name.as_bytes())
}

/// Replaces what a secondary database shows by the newest state of its primary.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_try_catch_up_with_primary(
    db: *mut rocksdb_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let database = &arg(db, "db")?.database;
        let Engine::Secondary { shown, reopen } = &database.engine else {
            return Err(Status::unsupported("TryCatchUpWithPrimary: the database is no secondary"));
        };
        let newest = foldb::Db::open_read_only(&database.path, (**reopen).clone())?;
        for family in database.families.read().values() {
            if let FamilyKeyspace::Secondary(reader) = &family.keyspace {
                let (name, schema) = {
                    let shown = reader.read();
                    (shown.name().to_owned(), shown.schema().map(str::to_owned))
                };
                // The primary dropped it: the secondary goes on with what it had, even if there
                // is another one of this name.
                match newest.keyspace(&name) {
                    Ok(found) if found.schema() == schema.as_deref() => *reader.write() = found,
                    Ok(_) => {}
                    Err(error) if error.kind() == foldb::ErrorKind::KeyspaceMissing => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        let older = std::mem::replace(&mut *shown.write(), newest);
        quiet((), || drop(older));
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_without_a_number_come_after_those_with_one() {
        let found = numbers([("b", None), ("default", None), ("z", Some(4)), ("a", None)], 3);
        let expected = [("a", 5), ("b", 6), ("default", 0), ("z", 4)];
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
    }
}
