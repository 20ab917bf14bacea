//! The tables of a database: of each family by level, and all in one list.
//!
//! The handles share the list that was made at the call, so they may be freed in any order.

use std::ffi::{CString, c_char, c_int};
use std::ptr;
use std::sync::Arc;

use foldb::explain::TableInfo;

use crate::boundary::{copy, free, handle, lend, quiet, store_len, text_copy};
use crate::database::family::rocksdb_column_family_handle_t;
use crate::database::{Database, Family, rocksdb_t};

/// The number of levels in RocksDB's default options. A family reports this many or more.
const LEVELS: usize = 7;

/// RocksDB: `ColumnFamilyMetaData`.
pub struct rocksdb_column_family_metadata_t(Arc<FamilyTables>);

/// RocksDB: `LevelMetaData`.
pub struct rocksdb_level_metadata_t {
    family: Arc<FamilyTables>,
    level: usize,
}

/// RocksDB: `SstFileMetaData`.
pub struct rocksdb_sst_file_metadata_t {
    family: Arc<FamilyTables>,
    /// The position in the list of tables.
    at: usize,
}

/// RocksDB: the `LiveFileMetaData`s of all tables.
pub struct rocksdb_livefiles_t(Vec<LiveFile>);

/// The tables of a family at one moment.
struct FamilyTables {
    name: String,
    directory: String,
    tables: Vec<TableInfo>,
}

struct LiveFile {
    family: CString,
    name: CString,
    table: TableInfo,
}

fn file_name(table: &TableInfo) -> String {
    format!("{:06}.tbl", table.number)
}

fn tables_of(family: &Family) -> Vec<TableInfo> {
    family.read(|reader| reader.tables()).unwrap_or_default()
}

impl FamilyTables {
    fn of(database: &Database, family: &Family) -> Arc<FamilyTables> {
        Arc::new(FamilyTables {
            name: family.name.clone(),
            directory: database.path.display().to_string(),
            tables: tables_of(family),
        })
    }

    fn at_level(&self, level: usize) -> impl Iterator<Item = (usize, &TableInfo)> {
        self.tables.iter().enumerate().filter(move |(_, table)| table.level == level)
    }

    fn levels(&self) -> usize {
        self.tables.iter().map(|table| table.level + 1).max().unwrap_or(0).max(LEVELS)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_get_column_family_metadata(
    db: *mut rocksdb_t,
) -> *mut rocksdb_column_family_metadata_t {
    let database = &(*db).database;
    quiet(ptr::null_mut(), || {
        handle(rocksdb_column_family_metadata_t(FamilyTables::of(database, &database.default)))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_get_column_family_metadata_cf(
    db: *mut rocksdb_t,
    family: *mut rocksdb_column_family_handle_t,
) -> *mut rocksdb_column_family_metadata_t {
    let (database, family) = (&(*db).database, &(*family).family);
    quiet(ptr::null_mut(), || {
        handle(rocksdb_column_family_metadata_t(FamilyTables::of(database, family)))
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_column_family_metadata_destroy(
    metadata: *mut rocksdb_column_family_metadata_t,
) {
    free(metadata);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_column_family_metadata_get_size(
    metadata: *mut rocksdb_column_family_metadata_t,
) -> u64 {
    (&(*metadata).0).tables.iter().map(|table| table.bytes).sum()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_column_family_metadata_get_file_count(
    metadata: *mut rocksdb_column_family_metadata_t,
) -> usize {
    (&(*metadata).0).tables.len()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_column_family_metadata_get_name(
    metadata: *mut rocksdb_column_family_metadata_t,
) -> *mut c_char {
    text_copy(&(&(*metadata).0).name)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_column_family_metadata_get_level_count(
    metadata: *mut rocksdb_column_family_metadata_t,
) -> usize {
    (&(*metadata).0).levels()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_column_family_metadata_get_level_metadata(
    metadata: *mut rocksdb_column_family_metadata_t,
    level: usize,
) -> *mut rocksdb_level_metadata_t {
    let family = &(*metadata).0;
    if level >= family.levels() {
        return ptr::null_mut();
    }
    handle(rocksdb_level_metadata_t { family: family.clone(), level })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_level_metadata_destroy(level: *mut rocksdb_level_metadata_t) {
    free(level);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_level_metadata_get_level(
    level: *mut rocksdb_level_metadata_t,
) -> c_int {
    c_int::try_from((*level).level).unwrap_or(c_int::MAX)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_level_metadata_get_size(
    level: *mut rocksdb_level_metadata_t,
) -> u64 {
    let own = &*level;
    own.family.at_level(own.level).map(|(_, table)| table.bytes).sum()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_level_metadata_get_file_count(
    level: *mut rocksdb_level_metadata_t,
) -> usize {
    let own = &*level;
    own.family.at_level(own.level).count()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_level_metadata_get_sst_file_metadata(
    level: *mut rocksdb_level_metadata_t,
    index: usize,
) -> *mut rocksdb_sst_file_metadata_t {
    let own = &*level;
    match own.family.at_level(own.level).nth(index) {
        Some((at, _)) => handle(rocksdb_sst_file_metadata_t { family: own.family.clone(), at }),
        None => ptr::null_mut(),
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sst_file_metadata_destroy(file: *mut rocksdb_sst_file_metadata_t) {
    free(file);
}

unsafe fn table_of<'a>(file: *mut rocksdb_sst_file_metadata_t) -> &'a TableInfo {
    let own = &*file;
    &own.family.tables[own.at]
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sst_file_metadata_get_relative_filename(
    file: *mut rocksdb_sst_file_metadata_t,
) -> *mut c_char {
    text_copy(&file_name(table_of(file)))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sst_file_metadata_get_directory(
    file: *mut rocksdb_sst_file_metadata_t,
) -> *mut c_char {
    text_copy(&(&(*file).family).directory)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sst_file_metadata_get_size(
    file: *mut rocksdb_sst_file_metadata_t,
) -> u64 {
    table_of(file).bytes
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sst_file_metadata_get_smallestkey(
    file: *mut rocksdb_sst_file_metadata_t,
    len: *mut usize,
) -> *mut c_char {
    let table = table_of(file);
    store_len(len, table.smallest.len());
    copy(&table.smallest)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sst_file_metadata_get_largestkey(
    file: *mut rocksdb_sst_file_metadata_t,
    len: *mut usize,
) -> *mut c_char {
    let table = table_of(file);
    store_len(len, table.largest.len());
    copy(&table.largest)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_livefiles(db: *mut rocksdb_t) -> *const rocksdb_livefiles_t {
    let database = &(*db).database;
    quiet(ptr::null(), || {
        let mut files = Vec::new();
        for family in database.families.read().values() {
            for table in tables_of(family) {
                let name = CString::new(format!("/{}", file_name(&table))).unwrap_or_default();
                let family = CString::new(family.name.as_str()).unwrap_or_default();
                files.push(LiveFile { family, name, table });
            }
        }
        handle(rocksdb_livefiles_t(files)).cast_const()
    })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_livefiles_destroy(files: *const rocksdb_livefiles_t) {
    free(files.cast_mut());
}

unsafe fn live<'a>(files: *const rocksdb_livefiles_t, index: c_int) -> Option<&'a LiveFile> {
    let files: &'a rocksdb_livefiles_t = &*files;
    files.0.get(usize::try_from(index).ok()?)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_livefiles_count(files: *const rocksdb_livefiles_t) -> c_int {
    c_int::try_from((&(*files).0).len()).unwrap_or(c_int::MAX)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_livefiles_column_family_name(
    files: *const rocksdb_livefiles_t,
    index: c_int,
) -> *const c_char {
    live(files, index).map_or(ptr::null(), |file| file.family.as_ptr())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_livefiles_name(
    files: *const rocksdb_livefiles_t,
    index: c_int,
) -> *const c_char {
    live(files, index).map_or(ptr::null(), |file| file.name.as_ptr())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_livefiles_level(
    files: *const rocksdb_livefiles_t,
    index: c_int,
) -> c_int {
    live(files, index).map_or(0, |file| c_int::try_from(file.table.level).unwrap_or(c_int::MAX))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_livefiles_size(
    files: *const rocksdb_livefiles_t,
    index: c_int,
) -> usize {
    live(files, index).map_or(0, |file| usize::try_from(file.table.bytes).unwrap_or(usize::MAX))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_livefiles_smallestkey(
    files: *const rocksdb_livefiles_t,
    index: c_int,
    len: *mut usize,
) -> *const c_char {
    live(files, index).map_or(ptr::null(), |file| lend(&file.table.smallest, len))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_livefiles_largestkey(
    files: *const rocksdb_livefiles_t,
    index: c_int,
    len: *mut usize,
) -> *const c_char {
    live(files, index).map_or(ptr::null(), |file| lend(&file.table.largest, len))
}

/// Counts all records of the table: puts, merges and deletes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_livefiles_entries(
    files: *const rocksdb_livefiles_t,
    index: c_int,
) -> u64 {
    live(files, index).map_or(0, |file| file.table.records)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_livefiles_deletions(
    files: *const rocksdb_livefiles_t,
    index: c_int,
) -> u64 {
    live(files, index).map_or(0, |file| file.table.deletes)
}
