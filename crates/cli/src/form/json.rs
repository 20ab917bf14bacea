//! Keys and values as JSON, one object on each line.
//!
//! Bytes that are not UTF-8 become `{"base64":"…"}`. Integers beyond 2^53 become strings, because
//! many JSON readers store every number as a 64-bit fraction. Fractions that are not finite also
//! become strings.

use data_encoding::{BASE64, HEXLOWER};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::form::escape::quoted;
use crate::form::{Form, Shown, summary};

/// Up to here, every integer is also a 64-bit fraction.
const MAX_EXACT: u64 = 1 << 53;

/// One entry, on one line.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// The key.
    pub key: Value,
    /// The value.
    pub value: Value,
}

/// Returns an unsigned integer as JSON.
pub(crate) fn integer(n: u64) -> Value {
    if n <= MAX_EXACT { json!(n) } else { Value::String(n.to_string()) }
}

/// Returns bytes as JSON in their form.
pub(crate) fn value(shown: Shown<'_>) -> Value {
    match shown {
        Shown::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => json!(text),
            Err(_) => json!({ "base64": BASE64.encode(bytes) }),
        },
        Shown::List(_) | Shown::Set(_) => {
            shown.elements().iter().map(|element| value(Shown::Text(element))).collect()
        }
        Shown::Top(bytes) => summary::items_to_json(bytes),
        Shown::Stats(_) | Shown::Histogram(_) => {
            let fields = summary::fields(shown).into_iter();
            Value::Object(fields.map(|(name, value)| (name.to_owned(), value)).collect())
        }
        Shown::Hex(bytes) => json!(HEXLOWER.encode(bytes)),
        Shown::Base64(bytes) => json!(BASE64.encode(bytes)),
        Shown::U64(n) => integer(n),
        Shown::I64(n) => signed(n.into()),
        Shown::F64(n) if n.is_finite() => json!(n),
        Shown::F64(n) => json!(format!("{n:?}")),
    }
}

/// Returns a signed integer as JSON.
pub(crate) fn signed(n: i128) -> Value {
    match i64::try_from(n) {
        Ok(n) if n.unsigned_abs() <= MAX_EXACT => json!(n),
        _ => Value::String(n.to_string()),
    }
}

/// Returns bytes as JSON from which [`restored`] gives them back exactly. It uses their form if
/// that loses nothing, then text, then `{"base64":"…"}`. A string is always text, never a number.
pub(crate) fn exact(form: Form, bytes: &[u8]) -> Value {
    let in_form = form.show(bytes).ok().map(value).filter(|json| {
        matches!(json, Value::Number(_) | Value::Array(_))
            && restored(form, json).is_ok_and(|restored| restored == bytes)
    });
    in_form.unwrap_or_else(|| value(Shown::Text(bytes)))
}

/// Returns the bytes for which [`exact`] wrote `json`.
///
/// # Errors
/// A message if [`exact`] cannot have written `json`.
pub(crate) fn restored(form: Form, json: &Value) -> Result<Vec<u8>, String> {
    match json {
        Value::Number(_) | Value::Array(_) => parse(form, json),
        _ => parse(Form::Utf8, json),
    }
}

/// Parses a line that is an [`Entry`].
///
/// # Errors
/// A message for any other line.
pub(crate) fn entry(line: &[u8]) -> Result<Entry, String> {
    serde_json::from_slice(line).map_err(|error| {
        let (why, column) = (error.to_string(), error.column());
        let why = why.split(" at line ").next().unwrap_or_default();
        format!("expected {{\"key\":…,\"value\":…}}, but column {column} is wrong: {why}")
    })
}

/// Returns the bytes for which [`value`] wrote `json`.
///
/// # Errors
/// A message if [`value`] cannot have written `json`.
pub(crate) fn parse(form: Form, json: &Value) -> Result<Vec<u8>, String> {
    let parsed = match (form, json) {
        (Form::Utf8, json) => text(json),
        (Form::List | Form::Set, Value::Array(elements)) => {
            let elements = elements.iter().map(text).collect::<Option<Vec<_>>>();
            elements.map(|elements| form.joined(elements.iter().map(Vec::as_slice)))
        }
        (Form::Top, Value::Array(items)) => summary::items_of_json(items),
        (Form::U64, Value::Number(n)) => n.as_u64().map(|n| n.to_le_bytes().into()),
        (Form::I64, Value::Number(n)) => n.as_i64().map(|n| n.to_le_bytes().into()),
        (Form::F64, Value::Number(n)) => n.as_f64().map(|n| n.to_le_bytes().into()),
        (Form::List | Form::Set | Form::Top, _) => None,
        (form, _) if form.shows_summary() => None,
        (form, Value::String(text)) => form.parse(text.as_bytes()),
        _ => None,
    };
    parsed.ok_or_else(|| {
        let expected = match form {
            Form::Utf8 => "text or {\"base64\":…}".to_owned(),
            Form::List | Form::Set => "an array of elements".to_owned(),
            Form::Top => "an array of items and scores".to_owned(),
            form => form.expected(),
        };
        let json = quoted(json.to_string().as_bytes());
        format!("{json} is not {}: expected {expected}", form.name())
    })
}

/// Parses a string as text, and `{"base64":"…"}` as any bytes.
pub(crate) fn text(json: &Value) -> Option<Vec<u8>> {
    match json {
        Value::String(text) => Some(text.as_bytes().to_vec()),
        Value::Object(object) if object.len() == 1 => {
            BASE64.decode(object.get("base64")?.as_str()?.as_bytes()).ok()
        }
        _ => None,
    }
}
