//! Arguments parsed into bytes, and times as numbers.

use std::ffi::OsStr;
use std::time::SystemTime;

use crate::args::Common;
use crate::exit::{Exit, Outcome};
use crate::form::Form;
use crate::form::escape::quoted;

/// Parses a key from an argument.
pub(super) fn key(text: &OsStr, common: &Common) -> Outcome<Vec<u8>> {
    parsed("key", common.key_form(), text)
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
