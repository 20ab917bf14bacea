//! Options as a text: `write_buffer_size=64M;block_based_table_factory={block_size=8K}`.
//!
//! The names are those of RocksDB. A name without a value of this library is refused by name.

use std::ffi::c_char;

use crate::boundary::{arg, arg_mut, call, text};
use crate::options::rocksdb_options_t;
use crate::status::{Outcome, Status};

/// Splits a text into names and values. Braces keep the values of an object together.
///
/// # Errors
/// `Invalid argument` for a part without a name, and for braces that do not match.
fn pairs(text: &str) -> Outcome<Vec<(&str, &str)>> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (part, after) = rest.split_at(end_of_part(rest)?);
        rest = after.strip_prefix(';').unwrap_or(after).trim_start();
        if part.trim().is_empty() {
            continue;
        }
        let (name, value) = part.split_once('=').ok_or_else(|| {
            Status::invalid(format!("Mismatched key value pair, '=' expected: {part}"))
        })?;
        found.push((name.trim(), value.trim()));
    }
    Ok(found)
}

/// Returns where the first part of a text ends: at a semicolon outside of braces.
fn end_of_part(text: &str) -> Outcome<usize> {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => return Err(Status::invalid("Mismatched curly braces")),
            '}' => depth -= 1,
            ';' if depth == 0 => return Ok(at),
            _ => {}
        }
    }
    if depth > 0 { Err(Status::invalid("Mismatched curly braces")) } else { Ok(text.len()) }
}

/// The codecs, by RocksDB's names and numbers.
const CODECS: [(&str, &str); 8] = [
    ("kNoCompression", "0"),
    ("kSnappyCompression", "1"),
    ("kZlibCompression", "2"),
    ("kBZip2Compression", "3"),
    ("kLZ4Compression", "4"),
    ("kLZ4HCCompression", "5"),
    ("kZSTD", "7"),
    ("kDisableCompressionOption", "255"),
];

/// Sets options from a text.
///
/// # Errors
/// `Invalid argument` for an unknown name and for a text that is no value.
pub(crate) fn set_from_text(options: &mut rocksdb_options_t, text: &str) -> Outcome<()> {
    for (name, value) in pairs(text)? {
        let inner = value.strip_prefix('{').and_then(|value| value.strip_suffix('}'));
        if let ("block_based_table_factory", Some(inner)) = (name, inner) {
            for (name, value) in pairs(inner)? {
                taken(options.table.values.set_named(name, value), name, value)?;
            }
            continue;
        }
        let number = CODECS.iter().find(|(codec, _)| *codec == value).map_or(value, |own| own.1);
        taken(options.values.set_named(name, number), name, value)?;
    }
    Ok(())
}

fn taken(set: Option<bool>, name: &str, value: &str) -> Outcome<()> {
    match set {
        Some(true) => Ok(()),
        Some(false) => Err(Status::invalid(format!("Error parsing {name}: {value}"))),
        None => Err(Status::invalid(format!("Could not find option: {name}"))),
    }
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

    #[test]
    fn a_text_sets_options_and_those_of_tables() {
        let mut options = rocksdb_options_t::default();
        let text = "create_if_missing=true; write_buffer_size=16M;compression=kZSTD;\
                    block_based_table_factory={block_size=8K;format_version=5};";
        set_from_text(&mut options, text).unwrap();
        assert_eq!(options.values.create_if_missing, 1);
        assert_eq!(options.values.write_buffer_size, 16 << 20);
        assert_eq!(options.values.compression, 7);
        assert_eq!(options.table.values.block_size, 8192);
        assert_eq!(options.table.values.format_version, 5);
    }

    #[test]
    fn a_wrong_text_is_refused() {
        for (text, told) in [
            ("no_such_option=1", "Could not find option: no_such_option"),
            ("write_buffer_size=much", "Error parsing write_buffer_size"),
            ("write_buffer_size", "'=' expected"),
            ("block_based_table_factory={block_size=1", "curly braces"),
        ] {
            let refused = set_from_text(&mut rocksdb_options_t::default(), text).unwrap_err();
            assert!(refused.to_string().contains(told), "{refused}");
        }
    }
}
