//! Keys and values as JSON: one object a line.
//!
//! Text that is not UTF-8 is `{"base64":"…"}`. Integers beyond 2^53 are strings, because many
//! readers of JSON know no integers, only 64-bit fractions; so are fractions that are not finite.

use data_encoding::{BASE64, HEXLOWER};
use serde::Serialize;
use serde_json::{Value, json};

use crate::form::Shown;

/// Largest integer up to which every integer is also a 64-bit fraction.
const MAX_EXACT: u64 = 1 << 53;

/// One entry: one line.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// The key.
    pub key: Value,
    /// The value.
    pub value: Value,
}

/// An unsigned integer.
pub fn integer(n: u64) -> Value {
    if n <= MAX_EXACT { json!(n) } else { Value::String(n.to_string()) }
}

/// Bytes in their form.
pub fn value(shown: Shown<'_>) -> Value {
    match shown {
        Shown::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => json!(text),
            Err(_) => json!({ "base64": BASE64.encode(bytes) }),
        },
        Shown::List(_) | Shown::Set(_) => {
            shown.elements().into_iter().map(|element| value(Shown::Text(element))).collect()
        }
        Shown::Hex(bytes) => json!(HEXLOWER.encode(bytes)),
        Shown::Base64(bytes) => json!(BASE64.encode(bytes)),
        Shown::U64(n) => integer(n),
        Shown::I64(n) if n.unsigned_abs() > MAX_EXACT => json!(n.to_string()),
        Shown::I64(n) => json!(n),
        Shown::F64(n) if n.is_finite() => json!(n),
        Shown::F64(n) => json!(format!("{n:?}")),
    }
}
