//! Arguments parsed into bytes, and times as numbers.

use std::ffi::OsStr;
use std::time::SystemTime;

use foldb_typed::schema::Schema;

use crate::args::Common;
use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;
use crate::form::{Form, KeyFormat};

/// Parses a key from an argument.
pub(super) fn key(text: &OsStr, common: &Common) -> Outcome<Vec<u8>> {
    parsed("key", common.key_form(), text)
}

/// Parses a key from an argument, by the types in a schema if there is one.
pub(super) fn key_of(text: &OsStr, common: &Common, types: Option<&Schema>) -> Outcome<Vec<u8>> {
    let Some(types) = types else { return key(text, common) };
    Ok(types.parse_key(&text.to_string_lossy())?)
}

/// Returns the types of a keyspace, if keys are to be typed.
///
/// # Errors
/// Fails for a keyspace without the schema of a typed table.
pub(super) fn types(name: &str, schema: Option<&str>, common: &Common) -> Outcome<Option<Schema>> {
    if common.key_format != KeyFormat::Typed {
        return Ok(None);
    }
    let found = schema.and_then(Schema::parse);
    let found = found.ok_or_else(|| {
        let (name, has) = (quoted(name.as_bytes()), schema.unwrap_or("none"));
        Exit::failed(format!(
            "the keys of keyspace {name} have no types that this program knows: its schema is \
             {has} (--key-format utf8 shows the bytes)"
        ))
    });
    found.map(Some)
}

/// Parses bytes from an argument.
pub(super) fn parsed(what: &str, form: Form, text: &OsStr) -> Outcome<Vec<u8>> {
    bytes_of(what, form, text.as_encoded_bytes())
}

/// Parses bytes from a text.
pub(super) fn bytes_of(what: &str, form: Form, text: &[u8]) -> Outcome<Vec<u8>> {
    form.parse(text).ok_or_else(|| {
        let (text, name, expected) = (quoted(text), form.name(), form.expected());
        Exit::failed(format!("{what} {text} is not {name}: expected {expected}"))
    })
}

/// Returns a moment in whole seconds since 1970.
pub(super) fn unix_seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
