//! The file of options: what an open stores is loaded, and opens the database again.

#![allow(clippy::undocumented_unsafe_blocks, reason = "each call keeps the rules of the header")]

mod support;

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::ptr;

use foldb_rocksdb::copies::backup::*;
use foldb_rocksdb::copies::checkpoint::*;
use foldb_rocksdb::database::close::{rocksdb_close, rocksdb_destroy_db};
use foldb_rocksdb::database::family::*;
use foldb_rocksdb::database::open::rocksdb_open_column_families;
use foldb_rocksdb::database::rocksdb_t;
use foldb_rocksdb::objects::environment::rocksdb_create_mem_env;
use foldb_rocksdb::options::latest::*;
use foldb_rocksdb::options::text::rocksdb_get_options_from_string;
use foldb_rocksdb::options::*;

use support::{c_path, compact, creating, error_of, flush, get, merge, opened, put};

/// The options that a load gave.
struct Loaded {
    database: *mut rocksdb_options_t,
    names: Vec<String>,
    raw_names: *mut *mut c_char,
    options: *mut *mut rocksdb_options_t,
}

impl Loaded {
    /// Returns the options of a family, as a text of some of them.
    fn family(&self, name: &str) -> *mut rocksdb_options_t {
        let at = self.names.iter().position(|own| own == name).unwrap();
        unsafe { *self.options.add(at) }
    }

    /// Opens a database with the options, and all families.
    fn open(&self, path: &Path) -> (*mut rocksdb_t, Vec<*mut rocksdb_column_family_handle_t>) {
        let (path, count) = (c_path(path), self.names.len());
        let mut handles = vec![ptr::null_mut(); count];
        let mut db = ptr::null_mut();
        let error = error_of(|error| unsafe {
            db = rocksdb_open_column_families(
                self.database,
                path.as_ptr(),
                c_int::try_from(count).unwrap(),
                self.raw_names.cast(),
                self.options.cast_const().cast(),
                handles.as_mut_ptr(),
                error,
            );
        });
        assert_eq!(error, None);
        (db, handles)
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let (names, options, len) = (self.raw_names, self.options, self.names.len());
        unsafe { rocksdb_load_latest_options_destroy(self.database, names, options, len) };
    }
}

fn try_load(path: &Path, ignores_unknown: bool) -> Result<Loaded, String> {
    let path = c_path(path);
    let (mut database, mut raw_names, mut options) =
        (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let mut count = 7;
    let error = error_of(|error| unsafe {
        rocksdb_load_latest_options(
            path.as_ptr(),
            ptr::null_mut(),
            ignores_unknown,
            ptr::null_mut(),
            &mut database,
            &mut count,
            &mut raw_names,
            &mut options,
            error,
        );
    });
    let name = |at| unsafe { CStr::from_ptr(*raw_names.add(at)).to_str().unwrap().to_owned() };
    let names: Vec<String> = (0..count).map(name).collect();
    let loaded = Loaded { database, names, raw_names, options };
    error.map_or(Ok(loaded), Err)
}

fn load(path: &Path) -> Loaded {
    try_load(path, false).unwrap()
}

/// Returns options that a text sets.
fn options_of(text: &str) -> *mut rocksdb_options_t {
    let (options, text) = (creating(), CString::new(text).unwrap());
    let error = error_of(|error| unsafe {
        rocksdb_get_options_from_string(options, text.as_ptr(), options, error);
    });
    assert_eq!(error, None);
    options
}

fn with_family(db: *mut rocksdb_t, name: &str, options: *mut rocksdb_options_t) {
    let name = CString::new(name).unwrap();
    let error = error_of(|error| unsafe {
        let family = rocksdb_create_column_family(db, options, name.as_ptr(), error);
        rocksdb_column_family_handle_destroy(family);
    });
    assert_eq!(error, None);
}

/// Returns the names of the files of options.
fn files(path: &Path) -> Vec<String> {
    let names = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    names.filter(|name| name.starts_with("OPTIONS")).collect()
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    (dir, path)
}

#[test]
fn the_options_of_an_open_are_loaded_and_open_the_database_again() {
    let (_dir, path) = place();
    let db = opened(
        options_of(
            "write_buffer_size=1M;max_background_jobs=5;merge_operator=uint64add;\
             compression=kZSTD;compression_opts={level=3};prefix_extractor=rocksdb.FixedPrefix.2",
        ),
        &path,
    );
    let reverse = "comparator=rocksdb.ReverseBytewiseComparator;write_buffer_size=2M;\
                   compaction_style=kCompactionStyleUniversal;enable_blob_garbage_collection=true;\
                   compaction_options_universal={size_ratio=7};\
                   compression_per_level=kNoCompression:kLZ4Compression;\
                   merge_operator={id=StringAppendOperator;delimiter=#\\}";
    with_family(db, "z # \\ odd", options_of(reverse));
    with_family(db, "later", options_of("max_successive_merges=3"));
    assert_eq!(merge(db, "n", &5_u64.to_le_bytes()), None);
    unsafe { rocksdb_close(db) };

    let loaded = load(&path);
    assert_eq!(loaded.names, ["default", "z # \\ odd", "later"], "in the order of their numbers");
    unsafe {
        assert_eq!(rocksdb_options_get_max_background_jobs(loaded.database), 5);
        let default = loaded.family("default");
        assert_eq!(rocksdb_options_get_write_buffer_size(default), 1 << 20);
        assert_eq!(rocksdb_options_get_compression(default), 7);
        let odd = loaded.family("z # \\ odd");
        assert_eq!(rocksdb_options_get_write_buffer_size(odd), 2 << 20);
        assert_eq!(rocksdb_options_get_compaction_style(odd), 1);
        assert_eq!(rocksdb_options_get_enable_blob_gc(odd), 1);
        assert_eq!(rocksdb_options_get_max_successive_merges(loaded.family("later")), 3);
    }
    let before = std::fs::read(path.join(&files(&path)[0])).unwrap();
    let (db, handles) = loaded.open(&path);
    assert_eq!(merge(db, "n", &6_u64.to_le_bytes()), None);
    assert_eq!(get(db, "n").unwrap().as_deref(), Some(&11_u64.to_le_bytes()[..]));
    unsafe {
        handles.into_iter().for_each(|own| rocksdb_column_family_handle_destroy(own));
        rocksdb_close(db);
    }
    let after = std::fs::read(path.join(&files(&path)[0])).unwrap();
    assert_eq!(
        String::from_utf8(before).unwrap().replace("create_if_missing=true", "="),
        String::from_utf8(after).unwrap().replace("create_if_missing=true", "="),
        "what was loaded is stored as it was"
    );
}

#[test]
fn the_file_has_the_families_of_now_and_is_the_only_one() {
    let (_dir, path) = place();
    let (options, name) = (creating(), c"family");
    let db = opened(options, &path);
    assert_eq!(files(&path), ["OPTIONS-000001"]);
    let mut family = ptr::null_mut();
    let created = error_of(|error| unsafe {
        family = rocksdb_create_column_family(db, options, name.as_ptr(), error);
    });
    assert_eq!(created, None);
    assert_eq!((files(&path), load(&path).names.len()), (vec!["OPTIONS-000002".to_owned()], 2));
    let dropped = error_of(|error| unsafe { rocksdb_drop_column_family(db, family, error) });
    assert_eq!(dropped, None);
    assert_eq!((files(&path), load(&path).names.len()), (vec!["OPTIONS-000003".to_owned()], 1));
    unsafe {
        rocksdb_column_family_handle_destroy(family);
        rocksdb_close(db);
    }
    // Options that are the same need no other file.
    unsafe { rocksdb_close(opened(options, &path)) };
    assert_eq!(files(&path), ["OPTIONS-000003"]);
}

#[test]
fn the_engine_leaves_the_file_where_it_cleans() {
    let (_dir, path) = place();
    let options = creating();
    for _ in 0..3 {
        let db = opened(options, &path);
        assert_eq!(put(db, "k", b"v"), None);
        flush(db);
        compact(db);
        unsafe { rocksdb_close(db) };
    }
    assert_eq!(files(&path), ["OPTIONS-000001"]);
}

#[test]
fn a_destroyed_database_leaves_nothing() {
    let (_dir, path) = place();
    let options = creating();
    unsafe { rocksdb_close(opened(options, &path)) };
    std::fs::write(path.join("OPTIONS.tmp"), "a crash left it").unwrap();
    let name = c_path(&path);
    let destroyed = error_of(|error| unsafe { rocksdb_destroy_db(options, name.as_ptr(), error) });
    assert_eq!(destroyed, None);
    assert!(!path.exists());
    // A file of another program keeps the directory.
    unsafe { rocksdb_close(opened(options, &path)) };
    std::fs::write(path.join("notes"), "mine").unwrap();
    let destroyed = error_of(|error| unsafe { rocksdb_destroy_db(options, name.as_ptr(), error) });
    assert_eq!(destroyed, None);
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), 1);
}

#[test]
fn a_checkpoint_has_the_options_of_its_database() {
    let (dir, path) = place();
    let copy = dir.path().join("copy");
    let db = opened(options_of("write_buffer_size=1M;merge_operator=uint64add"), &path);
    with_family(db, "f", options_of("write_buffer_size=3M"));
    let name = c_path(&copy);
    let made = error_of(|error| unsafe {
        let checkpoint = rocksdb_checkpoint_object_create(db, error);
        rocksdb_checkpoint_create(checkpoint, name.as_ptr(), 0, error);
        rocksdb_checkpoint_object_destroy(checkpoint);
    });
    assert_eq!(made, None);
    unsafe { rocksdb_close(db) };
    let loaded = load(&copy);
    assert_eq!(loaded.names, ["default", "f"]);
    let sizes = ["default", "f"]
        .map(|name| unsafe { rocksdb_options_get_write_buffer_size(loaded.family(name)) });
    assert_eq!(sizes, [1 << 20, 3 << 20]);
    let (db, _) = loaded.open(&copy);
    unsafe { rocksdb_close(db) };
}

#[test]
fn a_restored_database_has_what_its_files_depend_on() {
    let (dir, path) = place();
    let options =
        options_of("merge_operator={id=StringAppendOperator;delimiter=-};write_buffer_size=1M");
    let db = opened(options, &path);
    let reverse = options_of(
        "comparator=rocksdb.ReverseBytewiseComparator;enable_blob_files=true;min_blob_size=1000;\
         compression=kNoCompression",
    );
    with_family(db, "reverse", reverse);
    let (backups, target) = (c_path(&dir.path().join("backups")), dir.path().join("restored"));
    // The directory has a database with other families, whose options must not stay.
    let other = opened(options, &target);
    with_family(other, "other", options);
    let to = c_path(&target);
    let error = error_of(|error| unsafe {
        rocksdb_close(other);
        let engine = rocksdb_backup_engine_open(options, backups.as_ptr(), error);
        rocksdb_backup_engine_create_new_backup(engine, db, error);
        let restore = rocksdb_restore_options_create();
        rocksdb_backup_engine_restore_db_from_latest_backup(
            engine,
            to.as_ptr(),
            to.as_ptr(),
            restore,
            error,
        );
        rocksdb_restore_options_destroy(restore);
        rocksdb_backup_engine_close(engine);
        rocksdb_close(db);
    });
    assert_eq!(error, None);
    let loaded = load(&target);
    assert_eq!(loaded.names, ["default", "reverse"]);
    unsafe {
        let reverse = loaded.family("reverse");
        assert_eq!(rocksdb_options_get_compression(reverse), 0);
        assert_eq!(rocksdb_options_get_min_blob_size(reverse), 1000);
    }
    let (db, _) = loaded.open(&target);
    assert_eq!((merge(db, "k", b"a"), merge(db, "k", b"b")), (None, None));
    assert_eq!(get(db, "k").unwrap().as_deref(), Some(&b"a-b"[..]));
    unsafe { rocksdb_close(db) };
    assert_eq!(files(&target).len(), 1, "the open stored all options");
}

#[test]
fn options_in_memory_lie_in_the_files_of_their_environment() {
    let (_dir, path) = place();
    let options = creating();
    let env = rocksdb_create_mem_env();
    unsafe { rocksdb_options_set_env(options, env) };
    unsafe { rocksdb_close(opened(options, &path)) };
    assert!(!path.exists());
    let (name, mut count) = (c_path(&path), 0);
    let (mut database, mut names, mut all) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let error = error_of(|error| unsafe {
        let none = ptr::null_mut();
        rocksdb_load_latest_options(
            name.as_ptr(),
            env,
            false,
            none,
            &mut database,
            &mut count,
            &mut names,
            &mut all,
            error,
        );
        rocksdb_load_latest_options_destroy(database, names, all, count);
    });
    assert_eq!((error, count), (None, 1));
}

#[test]
fn what_cannot_be_loaded_is_refused() {
    let (_dir, path) = place();
    let told = |ignores_unknown| try_load(&path, ignores_unknown).err().unwrap_or_default();
    assert_eq!(
        told(false),
        format!(
            "NotFound: No such file or directory: No options files found in the DB directory.: {}",
            path.display()
        )
    );
    unsafe { rocksdb_close(opened(creating(), &path)) };
    let file = path.join("OPTIONS-000001");
    let text = std::fs::read_to_string(&file).unwrap();
    let with = |line: &str| {
        let text = text.replace("[DBOptions]\n", &format!("[DBOptions]\n{line}\n"));
        std::fs::write(&file, text).unwrap();
    };
    with("  option_of_the_future=1");
    assert_eq!(told(false), "Invalid argument: Could not find option: option_of_the_future");
    assert_eq!(told(true), "");
    with("  write_buffer_size=much");
    assert_eq!(told(true), "Invalid argument: Error parsing write_buffer_size:much");
    with("  neither title nor option");
    assert!(told(true).starts_with("Corruption: line "));
    let (_dir, foreign) = place();
    std::fs::create_dir(&foreign).unwrap();
    let text = "# This is a RocksDB option file.\n[Version]\n";
    std::fs::write(foreign.join("OPTIONS-000001"), text).unwrap();
    assert!(try_load(&foreign, true).err().unwrap().contains("foldb import"));
}
