//! Tables between this library and RocksDB itself, where release 7.8 of it is installed.
//!
//! RocksDB is loaded while the tests run, so its functions are not those of this library.

#![allow(clippy::undocumented_unsafe_blocks, reason = "each call keeps the rules of the header")]

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_void};
use std::path::{Path, PathBuf};
use std::ptr;

/// Where the functions of this library are.
mod own {
    pub(crate) use foldb_rocksdb::copies::ingest::*;
    pub(crate) use foldb_rocksdb::copies::sst_writer::*;
    pub(crate) use foldb_rocksdb::database::close::*;
    pub(crate) use foldb_rocksdb::database::open::*;
    pub(crate) use foldb_rocksdb::database::reads::*;
    pub(crate) use foldb_rocksdb::database::writes::*;
    pub(crate) use foldb_rocksdb::objects::cache::*;
    pub(crate) use foldb_rocksdb::objects::comparator::*;
    pub(crate) use foldb_rocksdb::objects::environment::*;
    pub(crate) use foldb_rocksdb::options::calls::*;
    pub(crate) use foldb_rocksdb::options::latest::*;
    pub(crate) use foldb_rocksdb::options::*;
}

/// An object of either library.
type Object = *mut c_void;
type Error = *mut *mut c_char;
type Compare =
    unsafe extern "C" fn(*mut c_void, *const c_char, usize, *const c_char, usize) -> c_int;
type Name = unsafe extern "C" fn(*mut c_void) -> *const c_char;

/// Makes a function of its address.
macro_rules! function {
    ($address:expr, ($($type:ty),*) $(-> $result:ty)?) => {
        std::mem::transmute::<*const c_void, unsafe extern "C" fn($($type),*) $(-> $result)?>(
            $address,
        )
    };
}

/// Declares the functions of a library.
macro_rules! library {
    ($($name:ident($($type:ty),*) $(-> $result:ty)?;)*) => {
        #[allow(non_snake_case)]
        struct Library {
            $($name: unsafe extern "C" fn($($type),*) $(-> $result)?,)*
        }

        impl Library {
            /// Returns this library.
            fn own() -> Library {
                // Objects are opaque here, and the other types are those of the header.
                unsafe { Library { $($name: function!(
                    own::$name as *const c_void, ($($type),*) $(-> $result)?
                ),)* } }
            }

            /// Returns RocksDB. `None` where it is not installed.
            fn of_rocksdb() -> Option<Library> {
                unsafe {
                    let flags = libc::RTLD_NOW | libc::RTLD_LOCAL;
                    let opened = libc::dlopen(c"librocksdb.so.7.8".as_ptr(), flags);
                    if opened.is_null() {
                        eprintln!("skipped: librocksdb.so.7.8 is not installed");
                        return None;
                    }
                    $(
                        let name = CString::new(stringify!($name)).unwrap();
                        let $name = libc::dlsym(opened, name.as_ptr());
                        assert!(!$name.is_null(), "{name:?}");
                    )*
                    Some(Library { $($name: function!(
                        $name.cast_const(), ($($type),*) $(-> $result)?
                    ),)* })
                }
            }
        }
    };
}

library! {
    rocksdb_options_create() -> Object;
    rocksdb_options_set_create_if_missing(Object, c_uchar);
    rocksdb_options_set_uint64add_merge_operator(Object);
    rocksdb_options_set_comparator(Object, Object);
    rocksdb_options_set_write_buffer_size(Object, usize);
    rocksdb_options_get_write_buffer_size(Object) -> usize;
    rocksdb_options_set_compaction_style(Object, c_int);
    rocksdb_options_get_compaction_style(Object) -> c_int;
    rocksdb_options_set_max_background_jobs(Object, c_int);
    rocksdb_options_get_max_background_jobs(Object) -> c_int;
    rocksdb_create_default_env() -> Object;
    rocksdb_cache_create_lru(usize) -> Object;
    rocksdb_load_latest_options(
        *const c_char,
        Object,
        bool,
        Object,
        *mut Object,
        *mut usize,
        *mut *mut *mut c_char,
        *mut *mut Object,
        Error
    );
    rocksdb_comparator_create(*mut c_void, Option<Name>, Compare, Name) -> Object;
    rocksdb_open(Object, *const c_char, Error) -> Object;
    rocksdb_close(Object);
    rocksdb_put(Object, Object, *const c_char, usize, *const c_char, usize, Error);
    rocksdb_get(Object, Object, *const c_char, usize, *mut usize, Error) -> *mut c_char;
    rocksdb_free(*mut c_void);
    rocksdb_readoptions_create() -> Object;
    rocksdb_writeoptions_create() -> Object;
    rocksdb_envoptions_create() -> Object;
    rocksdb_sstfilewriter_create(Object, Object) -> Object;
    rocksdb_sstfilewriter_open(Object, *const c_char, Error);
    rocksdb_sstfilewriter_put(Object, *const c_char, usize, *const c_char, usize, Error);
    rocksdb_sstfilewriter_merge(Object, *const c_char, usize, *const c_char, usize, Error);
    rocksdb_sstfilewriter_delete(Object, *const c_char, usize, Error);
    rocksdb_sstfilewriter_delete_range(Object, *const c_char, usize, *const c_char, usize, Error);
    rocksdb_sstfilewriter_finish(Object, Error);
    rocksdb_ingestexternalfileoptions_create() -> Object;
    rocksdb_ingest_external_file(Object, *const *const c_char, usize, Object, Error);
}

/// Calls a function that must not fail.
fn ok<T>(call: impl FnOnce(Error) -> T) -> T {
    let mut error = ptr::null_mut();
    let result = call(&mut error);
    let told = if error.is_null() { None } else { Some(unsafe { CStr::from_ptr(error) }) };
    assert_eq!(told, None);
    result
}

/// A key or value, as C has it.
fn c(text: &[u8]) -> (*const c_char, usize) {
    (text.as_ptr().cast(), text.len())
}

unsafe extern "C" fn compare_lengths(
    _: *mut c_void,
    a: *const c_char,
    a_len: usize,
    b: *const c_char,
    b_len: usize,
) -> c_int {
    let (a, b) = unsafe {
        (
            std::slice::from_raw_parts(a.cast::<u8>(), a_len),
            std::slice::from_raw_parts(b.cast::<u8>(), b_len),
        )
    };
    (a_len, a).cmp(&(b_len, b)) as c_int
}

unsafe extern "C" fn name_of_lengths(_: *mut c_void) -> *const c_char {
    c"tests.ByLength".as_ptr()
}

unsafe extern "C" fn no_destructor(_: *mut c_void) -> *const c_char {
    ptr::null()
}

/// Whether the keys have the order of their lengths.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Bytes,
    Lengths,
}

impl Library {
    fn options(&self, order: Order) -> Object {
        unsafe {
            let options = (self.rocksdb_options_create)();
            (self.rocksdb_options_set_create_if_missing)(options, 1);
            (self.rocksdb_options_set_uint64add_merge_operator)(options);
            if order == Order::Lengths {
                let (none, free) = (ptr::null_mut(), Some(no_destructor as Name));
                let own =
                    (self.rocksdb_comparator_create)(none, free, compare_lengths, name_of_lengths);
                (self.rocksdb_options_set_comparator)(options, own);
            }
            options
        }
    }

    /// Writes a table, whose records `fill` adds.
    fn table(&self, path: PathBuf, order: Order, fill: impl FnOnce(&Library, Object)) -> PathBuf {
        let name = CString::new(path.to_str().unwrap()).unwrap();
        unsafe {
            let env = (self.rocksdb_envoptions_create)();
            let writer = (self.rocksdb_sstfilewriter_create)(env, self.options(order));
            ok(|error| (self.rocksdb_sstfilewriter_open)(writer, name.as_ptr(), error));
            fill(self, writer);
            ok(|error| (self.rocksdb_sstfilewriter_finish)(writer, error));
        }
        path
    }

    fn add(&self, writer: Object, key: &str, value: u64) {
        let (key, value) = (c(key.as_bytes()), value.to_le_bytes());
        let value = c(&value);
        ok(|error| unsafe {
            (self.rocksdb_sstfilewriter_put)(writer, key.0, key.1, value.0, value.1, error);
        });
    }

    fn opened(&self, path: &Path, order: Order) -> Object {
        let name = CString::new(path.to_str().unwrap()).unwrap();
        ok(|error| unsafe { (self.rocksdb_open)(self.options(order), name.as_ptr(), error) })
    }

    fn put(&self, db: Object, key: &str, value: u64) {
        let (key, value) = (c(key.as_bytes()), value.to_le_bytes());
        let value = c(&value);
        ok(|error| unsafe {
            let options = (self.rocksdb_writeoptions_create)();
            (self.rocksdb_put)(db, options, key.0, key.1, value.0, value.1, error);
        });
    }

    fn ingest(&self, db: Object, path: &Path) {
        let name = CString::new(path.to_str().unwrap()).unwrap();
        let names = [name.as_ptr()];
        ok(|error| unsafe {
            let options = (self.rocksdb_ingestexternalfileoptions_create)();
            (self.rocksdb_ingest_external_file)(db, names.as_ptr(), 1, options, error);
        });
    }

    fn get(&self, db: Object, key: &str) -> Option<u64> {
        let (key, mut len) = (c(key.as_bytes()), 0);
        ok(|error| unsafe {
            let options = (self.rocksdb_readoptions_create)();
            let value = (self.rocksdb_get)(db, options, key.0, key.1, &mut len, error);
            if value.is_null() {
                return None;
            }
            let bytes = std::slice::from_raw_parts(value.cast::<u8>(), len).to_vec();
            (self.rocksdb_free)(value.cast());
            Some(u64::from_le_bytes(bytes.try_into().unwrap()))
        })
    }
}

/// Adds one record of each kind.
fn records(library: &Library, writer: Object) {
    let (a, b, d, f, five) = (c(b"a"), c(b"b"), c(b"d"), c(b"f"), 5_u64.to_le_bytes());
    let five = c(&five);
    unsafe {
        ok(|error| {
            (library.rocksdb_sstfilewriter_delete_range)(writer, d.0, d.1, f.0, f.1, error);
        });
        ok(|error| (library.rocksdb_sstfilewriter_delete)(writer, a.0, a.1, error));
        ok(|error| {
            (library.rocksdb_sstfilewriter_merge)(writer, b.0, b.1, five.0, five.1, error);
        });
    }
    library.add(writer, "c", 7);
    library.add(writer, "e", 8);
}

/// Ingests a table of `writing` with records of all kinds into a database of `reading`.
fn check_all_kinds(writing: &Library, reading: &Library) {
    let dir = tempfile::tempdir().unwrap();
    let table = writing.table(dir.path().join("t.sst"), Order::Bytes, records);
    let db = reading.opened(&dir.path().join("db"), Order::Bytes);
    ["a", "b", "c", "d", "e", "f"].iter().for_each(|key| reading.put(db, key, 1));
    reading.ingest(db, &table);
    let found = ["a", "b", "c", "d", "e", "f"].map(|key| reading.get(db, key));
    assert_eq!(found, [None, Some(6), Some(7), None, Some(8), Some(1)]);
    unsafe { (reading.rocksdb_close)(db) };
}

/// Ingests a table with blocks by the thousand, in an order of the program.
fn check_many(writing: &Library, reading: &Library) {
    let dir = tempfile::tempdir().unwrap();
    let keys: Vec<String> = (0..200_000).map(|n| format!("key{n}")).collect();
    let table = writing.table(dir.path().join("t.sst"), Order::Lengths, |library, writer| {
        keys.iter().zip(0..).for_each(|(key, n)| library.add(writer, key, n));
    });
    let db = reading.opened(&dir.path().join("db"), Order::Lengths);
    reading.ingest(db, &table);
    assert!(keys.iter().zip(0..).step_by(97).all(|(key, n)| reading.get(db, key) == Some(n)));
    assert_eq!(reading.get(db, "key"), None);
    unsafe { (reading.rocksdb_close)(db) };
}

#[test]
fn rocksdb_ingests_our_tables() {
    let Some(rocksdb) = Library::of_rocksdb() else { return };
    check_all_kinds(&Library::own(), &rocksdb);
    check_many(&Library::own(), &rocksdb);
}

#[test]
fn we_ingest_tables_of_rocksdb() {
    let Some(rocksdb) = Library::of_rocksdb() else { return };
    check_all_kinds(&rocksdb, &Library::own());
    check_many(&rocksdb, &Library::own());
}

#[test]
fn we_ingest_our_own_tables() {
    check_all_kinds(&Library::own(), &Library::own());
    check_many(&Library::own(), &Library::own());
}

#[test]
fn rocksdb_loads_our_file_of_options() {
    let Some(rocksdb) = Library::of_rocksdb() else { return };
    let (own, dir) = (Library::own(), tempfile::tempdir().unwrap());
    let name = CString::new(dir.path().to_str().unwrap()).unwrap();
    let (mut database, mut count) = (ptr::null_mut(), 0);
    let (mut names, mut families) = (ptr::null_mut(), ptr::null_mut());
    unsafe {
        let options = own.options(Order::Bytes);
        (own.rocksdb_options_set_write_buffer_size)(options, 5 << 20);
        (own.rocksdb_options_set_compaction_style)(options, 1);
        (own.rocksdb_options_set_max_background_jobs)(options, 7);
        (own.rocksdb_close)(ok(|error| (own.rocksdb_open)(options, name.as_ptr(), error)));
        let (env, cache) =
            ((rocksdb.rocksdb_create_default_env)(), (rocksdb.rocksdb_cache_create_lru)(1 << 20));
        // Release 7.8 does not know all names of 10.4.
        ok(|error| {
            (rocksdb.rocksdb_load_latest_options)(
                name.as_ptr(),
                env,
                true,
                cache,
                &mut database,
                &mut count,
                &mut names,
                &mut families,
                error,
            );
        });
        assert_eq!((count, CStr::from_ptr(*names)), (1, c"default"));
        assert_eq!((rocksdb.rocksdb_options_get_max_background_jobs)(database), 7);
        assert_eq!((rocksdb.rocksdb_options_get_write_buffer_size)(*families), 5 << 20);
        assert_eq!((rocksdb.rocksdb_options_get_compaction_style)(*families), 1);
    }
}

/// A table inside of a database has no version of its own, and is refused.
#[test]
fn tables_of_a_database_are_refused() {
    let Some(rocksdb) = Library::of_rocksdb() else { return };
    let dir = tempfile::tempdir().unwrap();
    let theirs = dir.path().join("theirs");
    let db = rocksdb.opened(&theirs, Order::Bytes);
    rocksdb.put(db, "k", 1);
    unsafe { (rocksdb.rocksdb_close)(db) };
    // The second open flushes the log.
    unsafe { (rocksdb.rocksdb_close)(rocksdb.opened(&theirs, Order::Bytes)) };
    let paths = std::fs::read_dir(&theirs).unwrap().map(|entry| entry.unwrap().path());
    let table = paths.into_iter().find(|path| path.extension().is_some_and(|end| end == "sst"));
    let name = CString::new(table.unwrap().to_str().unwrap()).unwrap();

    let own = Library::own();
    let db = own.opened(&dir.path().join("db"), Order::Bytes);
    let mut error = ptr::null_mut();
    unsafe {
        let options = (own.rocksdb_ingestexternalfileoptions_create)();
        (own.rocksdb_ingest_external_file)(db, [name.as_ptr()].as_ptr(), 1, options, &mut error);
        let told = CStr::from_ptr(error).to_str().unwrap();
        assert_eq!(told, "Corruption: External file version not found");
        (own.rocksdb_close)(db);
    }
}
