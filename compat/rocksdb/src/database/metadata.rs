//! The table files of families: their levels, names, sizes and keys.
//!
//! Invariant: a list is of one moment. The objects that a program gets of it share the list, so it
//! may free them in any order.

use std::ffi::{CString, c_char, c_int};
use std::ptr;
use std::sync::Arc;

use foldb::explain::TableInfo;

use crate::boundary::{arg, copy, free, handle, lend, quiet, store_len, text_copy};
use crate::database::family::rocksdb_column_family_handle_t;
use crate::database::{Database, Family, rocksdb_t};
use crate::status::Outcome;

/// Returns the name of a table's file, as the engine writes it.
pub(crate) fn file_name(table: &TableInfo) -> String {
    format!("{:06}.tbl", table.number)
}

/// The files of a family.
struct FamilyFiles {
    name: String,
    directory: String,
    levels: Vec<LevelFiles>,
}

/// The files of a level.
struct LevelFiles {
    bytes: u64,
    tables: Vec<TableInfo>,
}

/// RocksDB: `ColumnFamilyMetaData`.
pub struct rocksdb_column_family_metadata_t(Arc<FamilyFiles>);

/// RocksDB: `LevelMetaData`.
pub struct rocksdb_level_metadata_t {
    family: Arc<FamilyFiles>,
    level: usize,
}

/// RocksDB: `SstFileMetaData`.
pub struct rocksdb_sst_file_metadata_t {
    family: Arc<FamilyFiles>,
    level: usize,
    index: usize,
}

/// A live file, as [`rocksdb_livefiles`] tells it.
struct LiveFile {
    family: CString,
    name: CString,
    table: TableInfo,
}

/// RocksDB: a list of `LiveFileMetaData`.
pub struct rocksdb_livefiles_t(Vec<LiveFile>);

impl rocksdb_level_metadata_t {
    fn files(&self) -> &LevelFiles {
        &self.family.levels[self.level]
    }
}

impl rocksdb_sst_file_metadata_t {
    fn table(&self) -> &TableInfo {
        &self.family.levels[self.level].tables[self.index]
    }
}

impl Database {
    fn files_of(&self, family: &Family) -> Outcome<FamilyFiles> {
        let figures = self.figures(family)?;
        let tables_of = |level| {
            let tables = figures.tables.iter().filter(|table| table.level == level);
            tables.cloned().collect::<Vec<_>>()
        };
        let levels = (0..figures.level_count()).map(tables_of);
        let levels = levels.map(|tables| LevelFiles {
            bytes: tables.iter().map(|table| table.bytes).sum(),
            tables,
        });
        Ok(FamilyFiles {
            name: family.name.clone(),
            directory: self.path.display().to_string(),
            levels: levels.collect(),
        })
    }

    /// Returns the tables of all families, in the order of these.
    fn live_files(&self) -> Outcome<Vec<LiveFile>> {
        let c_text = |text: String| CString::new(text).unwrap_or_default();
        let mut files = Vec::new();
        for family in self.families.read().values() {
            for table in family.read(|reader| reader.tables())? {
                let name = c_text(format!("/{}", file_name(&table)));
                files.push(LiveFile { family: c_text(family.name.clone()), name, table });
            }
        }
        Ok(files)
    }
}

unsafe fn metadata(database: &Database, family: &Family) -> *mut rocksdb_column_family_metadata_t {
    let files = quiet(None, || database.files_of(family).ok());
    let files = files.map(|files| handle(rocksdb_column_family_metadata_t(Arc::new(files))));
    files.unwrap_or(ptr::null_mut())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_get_column_family_metadata(
    db: *mut rocksdb_t,
) -> *mut rocksdb_column_family_metadata_t {
    let Ok(db) = arg(db, "db") else { return ptr::null_mut() };
    metadata(&db.database, &db.database.default)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_get_column_family_metadata_cf(
    db: *mut rocksdb_t,
    family: *mut rocksdb_column_family_handle_t,
) -> *mut rocksdb_column_family_metadata_t {
    match (arg(db, "db"), arg(family, "column_family")) {
        (Ok(db), Ok(own)) => metadata(&db.database, &own.family),
        _ => ptr::null_mut(),
    }
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
    (&(*metadata).0).levels.iter().map(|level| level.bytes).sum()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_column_family_metadata_get_file_count(
    metadata: *mut rocksdb_column_family_metadata_t,
) -> usize {
    (&(*metadata).0).levels.iter().map(|level| level.tables.len()).sum()
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
    (&(*metadata).0).levels.len()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_column_family_metadata_get_level_metadata(
    metadata: *mut rocksdb_column_family_metadata_t,
    level: usize,
) -> *mut rocksdb_level_metadata_t {
    let family = (&(*metadata).0).clone();
    if level >= family.levels.len() {
        return ptr::null_mut();
    }
    handle(rocksdb_level_metadata_t { family, level })
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
    (*level).files().bytes
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_level_metadata_get_file_count(
    level: *mut rocksdb_level_metadata_t,
) -> usize {
    (*level).files().tables.len()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_level_metadata_get_sst_file_metadata(
    level: *mut rocksdb_level_metadata_t,
    index: usize,
) -> *mut rocksdb_sst_file_metadata_t {
    let own = &*level;
    if index >= own.files().tables.len() {
        return ptr::null_mut();
    }
    handle(rocksdb_sst_file_metadata_t { family: own.family.clone(), level: own.level, index })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sst_file_metadata_destroy(file: *mut rocksdb_sst_file_metadata_t) {
    free(file);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sst_file_metadata_get_relative_filename(
    file: *mut rocksdb_sst_file_metadata_t,
) -> *mut c_char {
    text_copy(&file_name((*file).table()))
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
    (*file).table().bytes
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sst_file_metadata_get_smallestkey(
    file: *mut rocksdb_sst_file_metadata_t,
    len: *mut usize,
) -> *mut c_char {
    let key = &(*file).table().smallest;
    store_len(len, key.len());
    copy(key)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_sst_file_metadata_get_largestkey(
    file: *mut rocksdb_sst_file_metadata_t,
    len: *mut usize,
) -> *mut c_char {
    let key = &(*file).table().largest;
    store_len(len, key.len());
    copy(key)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_livefiles(db: *mut rocksdb_t) -> *const rocksdb_livefiles_t {
    let Ok(db) = arg(db, "db") else { return ptr::null() };
    let files = quiet(Vec::new(), || db.database.live_files().unwrap_or_default());
    handle(rocksdb_livefiles_t(files))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_livefiles_destroy(files: *const rocksdb_livefiles_t) {
    free(files.cast_mut());
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_livefiles_count(files: *const rocksdb_livefiles_t) -> c_int {
    let files = &(*files).0;
    c_int::try_from(files.len()).unwrap_or(c_int::MAX)
}

/// Returns a file of a list. `None` for an index without one.
unsafe fn live_file<'a>(files: *const rocksdb_livefiles_t, index: c_int) -> Option<&'a LiveFile> {
    let files: &'a rocksdb_livefiles_t = files.as_ref()?;
    files.0.get(usize::try_from(index).ok()?)
}

/// Declares functions that tell something of one live file.
macro_rules! of_live_file {
    ($($name:ident -> $result:ty: $file:ident => $told:expr, $otherwise:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            files: *const rocksdb_livefiles_t,
            index: c_int,
        ) -> $result {
            live_file(files, index).map_or($otherwise, |$file| $told)
        }
    )*};
}

of_live_file! {
    rocksdb_livefiles_column_family_name -> *const c_char:
        file => file.family.as_ptr(), ptr::null();
    rocksdb_livefiles_name -> *const c_char: file => file.name.as_ptr(), ptr::null();
    rocksdb_livefiles_level -> c_int:
        file => c_int::try_from(file.table.level).unwrap_or(c_int::MAX), 0;
    rocksdb_livefiles_size -> usize:
        file => usize::try_from(file.table.bytes).unwrap_or(usize::MAX), 0;
    rocksdb_livefiles_entries -> u64: file => file.table.records, 0;
    rocksdb_livefiles_deletions -> u64: file => file.table.deletes, 0;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_livefiles_smallestkey(
    files: *const rocksdb_livefiles_t,
    index: c_int,
    len: *mut usize,
) -> *const c_char {
    live_file(files, index).map_or(ptr::null(), |file| lend(&file.table.smallest, len))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_livefiles_largestkey(
    files: *const rocksdb_livefiles_t,
    index: c_int,
    len: *mut usize,
) -> *const c_char {
    live_file(files, index).map_or(ptr::null(), |file| lend(&file.table.largest, len))
}
