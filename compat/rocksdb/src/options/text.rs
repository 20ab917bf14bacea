//! Options as a text: `write_buffer_size=64M;block_based_table_factory={block_size=8K}`.
//!
//! The names are those of RocksDB. A name that it does not know is refused, and so is one whose
//! value would change data or answers, where this library lacks it. A value that tunes RocksDB's
//! own mechanisms is checked, and left out.

use std::ffi::c_char;

use crate::boundary::{arg, arg_mut, call, text};
use crate::objects::cache::Cache;
use crate::options::names::{self, Kind};
use crate::options::text_objects::{compression_of, set_object};
use crate::options::{rocksdb_options_t, values::Number as _};
use crate::status::{Outcome, Status};

/// Splits a text into names and values. Braces keep the values of an object together.
///
/// # Errors
/// `Invalid argument` for a part without a name, and for braces that do not match.
pub(crate) fn pairs(text: &str) -> Outcome<Vec<(&str, &str)>> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (part, after) = rest.split_at(end_of_part(rest)?);
        rest = after.strip_prefix(';').unwrap_or(after).trim_start();
        if part.trim().is_empty() {
            continue;
        }
        let (name, value) = part
            .split_once('=')
            .ok_or_else(|| Status::invalid("Mismatched key value pair, '=' expected"))?;
        if name.trim().is_empty() {
            return Err(Status::invalid("Empty key found"));
        }
        found.push((name.trim(), value.trim()));
    }
    Ok(found)
}

/// Returns where the first part of a text ends: at a semicolon outside of braces.
fn end_of_part(text: &str) -> Outcome<usize> {
    let mismatched = || Status::invalid("Mismatched curly braces for nested options");
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => return Err(mismatched()),
            '}' => depth -= 1,
            ';' if depth == 0 => return Ok(at),
            _ => {}
        }
    }
    if depth > 0 { Err(mismatched()) } else { Ok(text.len()) }
}

/// Returns what is between the braces of a value, or the value if it has none.
pub(crate) fn unbraced(value: &str) -> &str {
    let inner = value.strip_prefix('{').and_then(|inner| inner.strip_suffix('}'));
    inner.unwrap_or(value)
}

/// Sets options from a text.
///
/// # Errors
/// `Invalid argument` for an unknown name and for a text that is no value. `Not implemented` for
/// what this library lacks.
pub(crate) fn set_from_text(options: &mut rocksdb_options_t, text: &str) -> Outcome<()> {
    pairs(text)?.into_iter().try_for_each(|(name, value)| set_one(options, name, value))
}

/// Sets an option. A part of an object is named `OBJECT.PART`.
///
/// # Errors
/// As [`set_from_text`].
pub(crate) fn set_one(options: &mut rocksdb_options_t, name: &str, value: &str) -> Outcome<()> {
    let name = names::in_c(name);
    let (object, parts) = match name.split_once('.') {
        Some((object, part)) => (object, vec![(part, value)]),
        None if has_parts(name) => (name, parts_of(value)?),
        None => (name, Vec::new()),
    };
    match object {
        "block_based_table_factory" | "table_factory" => {
            parts.into_iter().try_for_each(|(name, value)| set_of_table(options, name, value))
        }
        "compaction_options_universal" => parts.into_iter().try_for_each(|(name, value)| {
            plain(|number| options.universal.set_named(name, number), name, value, &[])
        }),
        "compaction_options_fifo" => parts.into_iter().try_for_each(|(name, value)| {
            plain(|number| options.fifo.set_named(name, number), name, value, FIFO_PARTS)
        }),
        "compression_opts" | "bottommost_compression_opts" => {
            let is_last = object == "bottommost_compression_opts";
            let own = if is_last { &mut options.bottommost } else { &mut options.compression };
            compression_of(own, unbraced(value), parts)
        }
        _ if set_object(options, name, value)? => Ok(()),
        _ => plain(|number| options.values.set_named(name, number), name, value, &[]),
    }
}

/// Parts of RocksDB's FIFO options that have no function in C.
const FIFO_PARTS: &[&str] = &["age_for_warm", "file_temperature_age_thresholds", "ttl"];

/// Returns whether the value of an option is an object.
fn has_parts(name: &str) -> bool {
    let objects = ["compaction_options_universal", "compaction_options_fifo"];
    name.ends_with("table_factory") || name.ends_with("compression_opts") || objects.contains(&name)
}

/// Returns the parts of an object. An object may be named only: `BlockBasedTable`.
fn parts_of(value: &str) -> Outcome<Vec<(&str, &str)>> {
    let inner = unbraced(value);
    if inner.contains('=') { pairs(inner) } else { Ok(Vec::new()) }
}

fn set_of_table(options: &mut rocksdb_options_t, name: &str, value: &str) -> Outcome<()> {
    let (name, table) = (names::in_c(name), &mut options.table);
    match name {
        "id" if value == "BlockBasedTable" => Ok(()),
        "id" => Err(Status::unsupported(format!("the table format {value}"))),
        "filter_policy" => {
            table.filter_bits = filter_bits(value)?;
            Ok(())
        }
        "block_cache" => {
            let bytes = usize::read(value).ok_or_else(|| no_value(name, value))?;
            table.cache = Some(Cache::new(bytes));
            Ok(())
        }
        _ => {
            let unstored = names::UNSTORED_OF_TABLES;
            plain(|number| table.values.set_named(name, number), name, value, unstored)
        }
    }
}

/// Returns the bits of a filter: of `bloomfilter:10:false` for example.
fn filter_bits(value: &str) -> Outcome<Option<f64>> {
    let value = unbraced(value).strip_prefix("id=").unwrap_or(unbraced(value));
    let mut parts = value.split([':', ';']);
    match parts.next() {
        Some("" | "nullptr") => Ok(None),
        Some("bloomfilter" | "ribbonfilter" | "rocksdb.BloomFilter" | "rocksdb.RibbonFilter") => {
            let bits = parts.next().map(|bits| bits.trim_start_matches("bits_per_key="));
            let bits = bits.and_then(f64::read);
            bits.map(Some).ok_or_else(|| no_value("filter_policy", value))
        }
        _ => Err(Status::unsupported(format!("the filter policy {value}"))),
    }
}

/// Sets a plain value with `set`.
fn plain(
    set: impl FnOnce(&str) -> Option<bool>,
    name: &str,
    value: &str,
    unstored: &[&str],
) -> Outcome<()> {
    let number = number_of(name, value)?;
    match set(&number) {
        Some(true) => Ok(()),
        Some(false) => Err(no_value(name, value)),
        None if unstored.contains(&name) => Ok(()),
        None => check_unstored(name, value),
    }
}

/// Returns the number of a value that RocksDB names.
///
/// # Errors
/// `Invalid argument` for another name.
fn number_of(name: &str, value: &str) -> Outcome<String> {
    let number = match names::named_values(name) {
        Some(values) => values.iter().position(|own| *own == value),
        None if names::has_codecs(name) => names::codec(value).map(usize::from),
        None => return Ok(value.to_owned()),
    };
    let number = number.ok_or_else(|| Status::invalid(format!("Error parsing:: {name}")))?;
    Ok(number.to_string())
}

/// Checks a value that is not stored.
fn check_unstored(name: &str, value: &str) -> Outcome<()> {
    let kind = names::UNSTORED.iter().find(|(_, names)| names.contains(&name));
    let is_value = match kind {
        None => return Err(unknown(name)),
        Some((Kind::Flag, _)) => matches!(value, "true" | "false" | "1" | "0"),
        Some((Kind::Whole, _)) => i64::read(value).is_some() || u64::read(value).is_some(),
        Some((Kind::Text, _)) => true,
    };
    if is_value { Ok(()) } else { Err(no_value(name, value)) }
}

/// Returns the error of a name that RocksDB does not have.
pub(crate) fn unknown(name: &str) -> Status {
    Status::invalid(format!("Could not find option: {name}"))
}

/// Returns whether a status is that of [`unknown`].
pub(crate) fn is_unknown(status: &Status) -> bool {
    status.message.starts_with("Could not find option: ")
}

/// Returns the error of a text that is no value.
pub(crate) fn no_value(name: &str, value: &str) -> Status {
    Status::invalid(format!("Error parsing {name}:{value}"))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn rocksdb_get_options_from_string(
    base: *const rocksdb_options_t,
    options: *const c_char,
    new_options: *mut rocksdb_options_t,
    errptr: *mut *mut c_char,
) {
    call(errptr, || {
        let mut own = arg(base, "base_options")?.clone();
        set_from_text(&mut own, text(options, "opts_str")?)?;
        *arg_mut(new_options, "new_options")? = own;
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::merge_operator::FamilyOperator;

    fn read(text: &str) -> rocksdb_options_t {
        let mut options = rocksdb_options_t::default();
        set_from_text(&mut options, text).unwrap();
        options
    }

    #[test]
    fn a_text_sets_options_and_those_of_tables() {
        let options = read(
            "create_if_missing=true; write_buffer_size=16M;compression=kZSTD;\
             block_based_table_factory={block_size=8K;format_version=5;checksum=kxxHash64;\
             filter_policy=bloomfilter:9.5:false;block_cache=1M;verify_compression=true};",
        );
        assert_eq!(options.values.create_if_missing, 1);
        assert_eq!(options.values.write_buffer_size, 16 << 20);
        assert_eq!(options.values.compression, 7);
        assert_eq!(options.table.values.block_size, 8192);
        assert_eq!(options.table.values.format_version, 5);
        assert_eq!(options.table.values.checksum, 3);
        assert_eq!(options.table.filter_bits, Some(9.5));
        assert_eq!(options.table.cache.unwrap().capacity(), 1 << 20);
    }

    #[test]
    fn a_text_sets_named_values_and_objects() {
        let options = read(
            "compaction_style=kCompactionStyleUniversal;wal_recovery_mode=kAbsoluteConsistency;\
             enable_blob_garbage_collection=true;compaction_options_universal={size_ratio=5};\
             compression_opts=4:5:6:7;bottommost_compression_opts={level=3};\
             compression_per_level=kNoCompression:kLZ4Compression;paranoid_file_checks=1",
        );
        assert_eq!(options.values.compaction_style, 1);
        assert_eq!(options.values.wal_recovery_mode, 1);
        assert_eq!(options.values.enable_blob_gc, 1);
        assert_eq!(options.universal.size_ratio, 5);
        assert_eq!((options.compression.window_bits, options.compression.level), (4, 5));
        assert_eq!(options.bottommost.level, 3);
        assert_eq!(options.compression_per_level, [0, 4]);
    }

    #[test]
    fn operators_are_known_by_their_names_in_rocksdb() {
        for (text, expected) in [
            ("merge_operator=uint64add", "uint64add:rocksdb_lenient"),
            ("merge_operator={id=StringAppendOperator;delimiter=--}", "stringappend:--"),
            ("merge_operator=stringappend", "stringappend:,"),
            ("merge_operator=PutOperator", "put"),
            ("merge_operator=bytesxor", "bytesxor"),
        ] {
            let Some(FamilyOperator::Builtin(spec)) = read(text).merge_operator else {
                panic!("{text}");
            };
            assert_eq!(&*spec, expected);
        }
        assert!(read("merge_operator=nullptr").merge_operator.is_none());
    }

    #[test]
    fn a_wrong_text_is_refused() {
        for (text, told) in [
            ("no_such_option=1", "Invalid argument: Could not find option: no_such_option"),
            ("write_buffer_size=much", "Invalid argument: Error parsing write_buffer_size:much"),
            ("allow_2pc=maybe", "Invalid argument: Error parsing allow_2pc:maybe"),
            ("compression=kBest", "Invalid argument: Error parsing:: compression"),
            ("compaction_style=1", "Invalid argument: Error parsing:: compaction_style"),
            ("=1", "Invalid argument: Empty key found"),
            ("write_buffer_size", "Invalid argument: Mismatched key value pair, '=' expected"),
            (
                "block_based_table_factory={block_size=1",
                "Invalid argument: Mismatched curly braces for nested options",
            ),
            (
                "block_based_table_factory={block=1}",
                "Invalid argument: Could not find option: block",
            ),
            ("merge_operator=mine", "Not implemented: the merge operator mine"),
            ("comparator=mine", "Not implemented: the comparator mine"),
            ("table_factory={id=PlainTable}", "Not implemented: the table format PlainTable"),
            ("disallow_memtable_writes=true", "Not implemented: disallow_memtable_writes"),
        ] {
            let refused = set_from_text(&mut rocksdb_options_t::default(), text).unwrap_err();
            assert_eq!(refused.to_string(), told);
        }
    }
}
