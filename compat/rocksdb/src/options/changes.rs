//! Changing options while a database is open.
//!
//! What RocksDB changes in an open database tunes its tables, buffers and compactions. The engine
//! fixes these with the open, so a change is checked and has no effect. One that would change
//! answers, a prefix extractor, is refused.

use std::ffi::{c_char, c_int};

use crate::boundary::{arg, array, call, text};
use crate::database::family::rocksdb_column_family_handle_t;
use crate::database::{Database, Family, rocksdb_t};
use crate::options::names::{CHANGEABLE, FIXED};
use crate::options::rocksdb_options_t;
use crate::options::text::{set_one, unknown};
use crate::status::{Outcome, Status};

/// Checks a change of a family's options.
///
/// # Errors
/// `Invalid argument` for a name that RocksDB does not change, and for a text that is no value.
fn check_change(options: &rocksdb_options_t, name: &str, value: &str) -> Outcome<()> {
    let object = name.split('.').next().unwrap_or(name);
    if FIXED.contains(&object) {
        return Err(Status::invalid(format!("Option not changeable: {name}")));
    }
    if !CHANGEABLE.contains(&object) {
        return Err(unknown(name));
    }
    if object == "prefix_extractor" {
        return Err(Status::unsupported(
            "another prefix_extractor while the database is open: open it with the new one",
        ));
    }
    set_one(&mut options.clone(), name, value)
}

unsafe fn change(
    database: &Database,
    family: &Family,
    count: c_int,
    names: *const *const c_char,
    values: *const *const c_char,
) -> Outcome<()> {
    database.writable()?;
    let count = usize::try_from(count).unwrap_or(0);
    if count == 0 {
        return Err(Status::invalid("empty input"));
    }
    for (&name, &value) in array(names, count)?.iter().zip(array(values, count)?) {
        check_change(&family.options, text(name, "a name")?, text(value, "a value")?)?;
    }
    Ok(())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_set_options(
    db: *mut rocksdb_t,
    count: c_int,
    names: *const *const c_char,
    values: *const *const c_char,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let database = &arg(db, "db")?.database;
        change(database, &database.default, count, names, values)
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_set_options_cf(
    db: *mut rocksdb_t,
    family: *mut rocksdb_column_family_handle_t,
    count: c_int,
    names: *const *const c_char,
    values: *const *const c_char,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let (db, family) = (arg(db, "db")?, arg(family, "handle")?);
        change(&db.database, &family.family, count, names, values)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_checked_as_rocksdb_checks_them() {
        let changed = |name, value| match check_change(&rocksdb_options_t::default(), name, value) {
            Ok(()) => "changed".to_owned(),
            Err(status) => status.to_string(),
        };
        for (name, value, told) in [
            ("disable_auto_compactions", "true", "changed"),
            ("write_buffer_size", "64K", "changed"),
            ("paranoid_file_checks", "true", "changed"),
            ("block_based_table_factory", "{block_size=8192;}", "changed"),
            ("block_based_table_factory.block_size", "8192", "changed"),
            ("compression", "kZSTD", "changed"),
            ("compression_opts", "4:5:6:7", "changed"),
            ("compaction_options_fifo", "{max_table_files_size=5}", "changed"),
            ("num_levels", "4", "Invalid argument: Option not changeable: num_levels"),
            ("merge_operator", "put", "Invalid argument: Option not changeable: merge_operator"),
            ("max_open_files", "4", "Invalid argument: Could not find option: max_open_files"),
            ("none", "4", "Invalid argument: Could not find option: none"),
            (
                "disable_auto_compactions",
                "INVALID",
                "Invalid argument: Error parsing disable_auto_compactions:INVALID",
            ),
            (
                "prefix_extractor",
                "fixed:4",
                "Not implemented: another prefix_extractor while the database is open: open it \
                 with the new one",
            ),
        ] {
            assert_eq!(changed(name, value), told, "{name}={value}");
        }
    }
}
