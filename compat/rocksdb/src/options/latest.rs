//! The options that a database stores: those of its newest `OPTIONS` file.
//!
//! Objects of the program are set anew, as in RocksDB. A database without such a file came from a
//! backup or from another program. Then the options are those that its files depend on, and
//! otherwise the defaults: the codec, the filter, the order and the operator of each family, and
//! whether large values lie apart.

use std::ffi::c_char;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use foldb::operators::builtins;
use foldb::{
    CompactionPreset, Compression, Db, ErrorKind, KeyspaceOptions, KeyspaceReader, Options,
    ReadOnlyDb,
};
use foldb_rocksdb_format::options as parser;

use crate::boundary::{arg_mut, array_copy, call, free, handle, path, text_copy};
use crate::database::close::{in_order, refuse_foreign};
use crate::keyspaces::{DEFAULT_FAMILY, DEFAULT_WITH_TTL};
use crate::objects::cache::rocksdb_cache_t;
use crate::objects::comparator::ForeignComparator;
use crate::objects::environment::rocksdb_env_t;
use crate::objects::merge_operator::FamilyOperator;
use crate::options::text::{is_unknown, set_one};
use crate::options::{files, rocksdb_options_t};
use crate::status::{Code, Outcome, Status};

/// RocksDB: `kCompactionStyleUniversal`.
const UNIVERSAL: i32 = 1;
/// RocksDB: `kLZ4Compression`.
const LZ4: i32 = 4;

/// A family and its options.
type Found = (String, rocksdb_options_t);

/// The options of a database, and of its families.
struct Latest {
    database: rocksdb_options_t,
    families: Vec<Found>,
}

/// Returns the options that the text of a file has.
fn of_text(text: &str, base: &rocksdb_options_t, ignores_unknown: bool) -> Outcome<Latest> {
    let parsed = parser::Options::parse(text);
    let mut parsed = parsed.map_err(|fault| Status::new(Code::Corruption, fault.to_string()))?;
    let mut database = base.clone();
    for (name, value) in &parsed.database {
        set_stored(&mut database, name, value, ignores_unknown)?;
    }
    let mut families = Vec::new();
    for name in parsed.names {
        let mut own = base.clone();
        for (option, value) in parsed.families.remove(&name).unwrap_or_default() {
            set_stored(&mut own, &option, &value, ignores_unknown)?;
        }
        for (option, value) in parsed.tables.remove(&name).unwrap_or_default() {
            let option = format!("block_based_table_factory.{option}");
            set_stored(&mut own, &option, &value, ignores_unknown)?;
        }
        families.push((name, own));
    }
    Ok(Latest { database, families })
}

/// Sets an option of a file. One that stands for an object of the program is passed over.
fn set_stored(
    options: &mut rocksdb_options_t,
    name: &str,
    value: &str,
    ignores_unknown: bool,
) -> Outcome<()> {
    match set_one(options, name, value) {
        Err(status) if status.code == Code::NotSupported => Ok(()),
        Err(status) if ignores_unknown && is_unknown(&status) => Ok(()),
        set => set,
    }
}

/// Returns the latest options of a database.
fn latest(directory: &Path, base: &rocksdb_options_t, ignores_unknown: bool) -> Outcome<Latest> {
    let fs = files::file_system(base);
    refuse_foreign(&fs, directory)?;
    let text = files::newest(&*fs, directory);
    match text.map_err(|error| files::file_error(directory, &error))? {
        Some(text) => of_text(&text, base, ignores_unknown),
        None => Ok(Latest { database: base.clone(), families: of_engine(directory, base)? }),
    }
}

/// Opens a database to read what it stores. The reverse order of bytes is RocksDB's own, so the
/// default family may have it too.
fn open(directory: &Path, base: &rocksdb_options_t) -> Outcome<ReadOnlyDb> {
    let env = base.env.as_ref().map(|env| env.for_engine());
    let mut options = Options {
        env: env.unwrap_or_default(),
        comparators: vec![Arc::new(ForeignComparator::reverse())],
        allow_unresolved_operators: true,
        ..Options::default()
    };
    let opened = match Db::open_read_only(directory, options.clone()) {
        Err(error) if error.to_string().contains(ForeignComparator::REVERSE) => {
            options.default.comparator = Some(Arc::new(ForeignComparator::reverse()));
            Db::open_read_only(directory, options)
        }
        opened => opened,
    };
    opened.map_err(|error| match error.kind() {
        ErrorKind::DatabaseMissing => Status::not_found(format!(
            "No such file or directory: No options files found in the DB directory.: {}",
            directory.display()
        )),
        _ => error.into(),
    })
}

/// Returns the families of a database, the default one first, with what the engine knows of them.
fn of_engine(directory: &Path, base: &rocksdb_options_t) -> Outcome<Vec<Found>> {
    let db = open(directory, base)?;
    let has_ttl = db.keyspaces().iter().any(|name| name == DEFAULT_WITH_TTL);
    let families = in_order(&db)?.into_iter().map(|name| {
        let is_default = name == DEFAULT_FAMILY && has_ttl;
        let keyspace = db.keyspace(if is_default { DEFAULT_WITH_TTL } else { &name })?;
        let options = options_of(&keyspace, base);
        Ok((name, options))
    });
    families.collect()
}

/// Returns the options with which a family opens as it is stored. The engine stores no settings of
/// its own default keyspace.
fn options_of(keyspace: &KeyspaceReader, base: &rocksdb_options_t) -> rocksdb_options_t {
    let mut own = base.clone();
    if keyspace.name() != DEFAULT_FAMILY {
        set_settings(&mut own, keyspace);
    }
    if keyspace.comparator().name() == ForeignComparator::REVERSE {
        own.comparator = Some(Arc::new(ForeignComparator::reverse()));
    }
    own.merge_operator = operator_of(keyspace);
    own
}

/// Sets what the engine stores of a keyspace.
fn set_settings(own: &mut rocksdb_options_t, keyspace: &KeyspaceReader) {
    let KeyspaceOptions { compression, bloom_bits, compaction, value_separation_min, .. } =
        keyspace.options();
    if let Some(Compression::None) = compression {
        own.values.compression = 0;
    } else {
        own.values.compression = LZ4;
    }
    own.table.filter_bits = bloom_bits.filter(|&bits| bits > 0).map(f64::from);
    if compaction == Some(CompactionPreset::Tiered) {
        own.values.compaction_style = UNIVERSAL;
    }
    if let Some(least) = value_separation_min.filter(|&least| least < usize::MAX) {
        own.values.enable_blob_files = 1;
        own.values.min_blob_size = least as u64;
    }
}

/// Returns the operator of a family, unless it is one of the program.
fn operator_of(keyspace: &KeyspaceReader) -> Option<FamilyOperator> {
    let spec = keyspace.options().merge_operator?;
    let name = spec.split(':').next().unwrap_or(&spec);
    let is_builtin = builtins().iter().any(|builtin| builtin.name == name);
    is_builtin.then(|| FamilyOperator::Builtin(spec.into()))
}

/// Where the results go.
struct Results {
    db_options: *mut *mut rocksdb_options_t,
    count: *mut usize,
    names: *mut *mut *mut c_char,
    options: *mut *mut *mut rocksdb_options_t,
}

impl Results {
    /// Stores that there are none.
    unsafe fn clear(&self) -> Outcome<()> {
        *arg_mut(self.count, "num_column_families")? = 0;
        *arg_mut(self.names, "column_family_names")? = ptr::null_mut();
        *arg_mut(self.options, "column_family_options")? = ptr::null_mut();
        *arg_mut(self.db_options, "db_options")? = ptr::null_mut();
        Ok(())
    }

    /// Stores the options.
    unsafe fn store(&self, latest: Latest) -> Outcome<()> {
        let Latest { database, families } = latest;
        let handles = families.into_iter().map(|(name, own)| (text_copy(&name), handle(own)));
        let (names, options): (Vec<_>, Vec<_>) = handles.unzip();
        *arg_mut(self.count, "num_column_families")? = names.len();
        *arg_mut(self.names, "column_family_names")? = array_copy(&names);
        *arg_mut(self.options, "column_family_options")? = array_copy(&options);
        *arg_mut(self.db_options, "db_options")? = handle(database);
        Ok(())
    }
}

/// Gives the tables of all families the program's cache.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_load_latest_options(
    directory: *const c_char,
    env: *mut rocksdb_env_t,
    ignore_unknown_options: bool,
    cache: *mut rocksdb_cache_t,
    db_options: *mut *mut rocksdb_options_t,
    count: *mut usize,
    names: *mut *mut *mut c_char,
    options: *mut *mut *mut rocksdb_options_t,
    errptr: *mut *mut c_char,
) {
    let results = Results { db_options, count, names, options };
    let env = env.as_ref().map(|own| own.0.clone());
    let mut base = rocksdb_options_t { env, ..rocksdb_options_t::default() };
    base.table.cache = cache.as_ref().map(|own| own.0.clone());
    call(errptr, || {
        results.clear()?;
        let directory = path(directory, "db_path")?;
        results.store(latest(&directory, &base, ignore_unknown_options)?)
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_load_latest_options_destroy(
    db_options: *mut rocksdb_options_t,
    names: *mut *mut c_char,
    options: *mut *mut rocksdb_options_t,
    len: usize,
) {
    free(db_options);
    for index in 0..len {
        if !names.is_null() {
            libc::free((*names.add(index)).cast());
        }
        if !options.is_null() {
            free(*options.add(index));
        }
    }
    libc::free(names.cast());
    libc::free(options.cast());
}
