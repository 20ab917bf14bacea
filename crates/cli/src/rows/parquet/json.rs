//! A row of Parquet as a line of JSON, in the forms of an export to JSON lines.
//!
//! ```text
//! INT32, INT64      3, and beyond 2^53 "9007199254740993"
//! FLOAT, DOUBLE     0.5, and "NaN", "inf"
//! DECIMAL           12.50, and beyond 2^53 digits "90071992547409.93"
//! binary            "text", or {"base64":"…"} if it is not UTF-8
//! UUID              "0189d5a1-…"
//! DATE, TIME        "2024-01-31", "23:59:59.5"
//! TIMESTAMP         "2024-01-31T23:59:59.123", with Z if it is in UTC
//! JSON              as it is
//! LIST, MAP, group  [1,2], {"key":1}, {"field":1}
//! ```

use std::io::Write;

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, SecondsFormat};
use parquet::basic::{ConvertedType, LogicalType};
use parquet::data_type::{ByteArray, Decimal};
use parquet::record::{Field, Row};
use parquet::schema::types::Type;
use serde_json::Value;
use serde_json::value::RawValue;

use super::schema::{Clock, element, is_utc, key_value, nanoseconds};
use crate::form::{Shown, json};

/// Appends a row as an object. `of` is the group of its columns.
pub(super) fn row(line: &mut Vec<u8>, row: &Row, of: &Type) {
    line.push(b'{');
    for (at, ((name, value), of)) in row.get_column_iter().zip(of.get_fields()).enumerate() {
        separate(line, at);
        text(line, name);
        line.push(b':');
        field(line, value, of);
    }
    line.push(b'}');
}

fn field(line: &mut Vec<u8>, value: &Field, of: &Type) {
    match value {
        Field::Null => line.extend(b"null"),
        Field::Group(inner) => row(line, inner, of),
        Field::ListInternal(list) => {
            line.push(b'[');
            for (at, value) in list.elements().iter().enumerate() {
                separate(line, at);
                field(line, value, element(of));
            }
            line.push(b']');
        }
        Field::MapInternal(map) => {
            line.push(b'{');
            for (at, (key, value)) in map.entries().iter().enumerate() {
                let (of_key, of_value) = key_value(of).unwrap_or((of, of));
                separate(line, at);
                map_key(line, key, of_key);
                line.push(b':');
                field(line, value, of_value);
            }
            line.push(b'}');
        }
        Field::Str(json) if is_json(of) => embedded(line, json),
        Field::Str(value) => text(line, value),
        plain => json_of(line, &value_of(plain, of)),
    }
}

/// Returns a value that is no text and has no parts.
fn value_of(field: &Field, of: &Type) -> Plain {
    let json = match field {
        Field::Bool(value) => Value::Bool(*value),
        Field::Byte(n) => Value::from(*n),
        Field::Short(n) => Value::from(*n),
        Field::Int(n) => Value::from(*n),
        Field::UByte(n) => Value::from(*n),
        Field::UShort(n) => Value::from(*n),
        Field::UInt(n) => Value::from(*n),
        Field::Long(n) => match nanoseconds(of) {
            Some(Clock::Time) => time(*n),
            Some(Clock::Timestamp { is_utc }) => stamp(DateTime::from_timestamp_nanos(*n), is_utc),
            None => json::signed((*n).into()),
        },
        Field::ULong(n) => json::integer(*n),
        Field::Float16(n) => return fraction(f32::from(*n)),
        Field::Float(n) => return fraction(*n),
        Field::Double(n) => json::value(Shown::F64(*n)),
        Field::Decimal(n) => return decimal(n),
        Field::Bytes(bytes) => bytes_of(bytes, of),
        Field::Date(days) => match NaiveDate::from_epoch_days(*days) {
            Some(date) => Value::String(date.to_string()),
            None => Value::from(*days),
        },
        Field::TimeMillis(n) => time(i64::from(*n) * 1_000_000),
        Field::TimeMicros(n) => n.checked_mul(1_000).map_or(Value::from(*n), time),
        Field::TimestampMillis(n) => {
            DateTime::from_timestamp_millis(*n).map_or(Value::from(*n), |at| stamp(at, is_utc(of)))
        }
        Field::TimestampMicros(n) => {
            DateTime::from_timestamp_micros(*n).map_or(Value::from(*n), |at| stamp(at, is_utc(of)))
        }
        Field::Null
        | Field::Str(_)
        | Field::Group(_)
        | Field::ListInternal(_)
        | Field::MapInternal(_) => Value::Null,
    };
    Plain::Json(json)
}

/// A value without parts.
enum Plain {
    Json(Value),
    /// A number, digit by digit.
    Digits(String),
}

fn json_of(line: &mut Vec<u8>, value: &Plain) {
    // A write to memory does not fail.
    let _ = match value {
        Plain::Json(value) => write!(line, "{value}"),
        Plain::Digits(digits) => write!(line, "{digits}"),
    };
}

fn separate(line: &mut Vec<u8>, at: usize) {
    if at > 0 {
        line.push(b',');
    }
}

fn text(line: &mut Vec<u8>, text: &str) {
    // A write to memory does not fail.
    let _ = serde_json::to_writer(line, text);
}

/// Appends JSON that a column holds as text, on one line; as a text if it is no JSON.
fn embedded(line: &mut Vec<u8>, json: &str) {
    match serde_json::from_str::<&RawValue>(json) {
        // A line end in JSON is a space between two of its parts.
        Ok(raw) => line.extend(raw.get().bytes().map(|byte| match byte {
            b'\n' | b'\r' => b' ',
            byte => byte,
        })),
        Err(_) => text(line, json),
    }
}

/// Appends the key of a map, which JSON has as a text.
fn map_key(line: &mut Vec<u8>, key: &Field, of: &Type) {
    let mut plain = Vec::new();
    field(&mut plain, key, of);
    match plain.first() {
        Some(b'"') => line.extend(plain),
        _ => text(line, &String::from_utf8_lossy(&plain)),
    }
}

fn is_json(of: &Type) -> bool {
    of.get_basic_info().converted_type() == ConvertedType::JSON
}

fn bytes_of(bytes: &ByteArray, of: &Type) -> Value {
    let bytes = bytes.data();
    let is_uuid = of.get_basic_info().logical_type_ref() == Some(&LogicalType::Uuid);
    match <[u8; 16]>::try_from(bytes) {
        Ok(id) if is_uuid => {
            let hex = data_encoding::HEXLOWER.encode(&id);
            let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
            Value::String(parts.join("-"))
        }
        _ => json::value(Shown::Text(bytes)),
    }
}

/// Returns a small fraction with as few digits as give it back.
fn fraction(n: f32) -> Plain {
    match n.is_finite() {
        true => Plain::Digits(format!("{n:?}")),
        false => Plain::Json(json::value(Shown::F64(n.into()))),
    }
}

fn decimal(decimal: &Decimal) -> Plain {
    let bytes = decimal.data();
    let is_negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let mut whole = [if is_negative { 0xff } else { 0 }; 16];
    // A column of at most 38 digits may have longer bytes, which repeat the sign.
    let kept = &bytes[bytes.len().saturating_sub(16)..];
    whole[16 - kept.len()..].copy_from_slice(kept);
    let unscaled = i128::from_be_bytes(whole);
    let scale = usize::try_from(decimal.scale()).unwrap_or(0);
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, rest) = digits.split_at(digits.len() - scale);
    let point = if rest.is_empty() { "" } else { "." };
    let number = format!("{sign}{whole}{point}{rest}");
    match json::signed(unscaled) {
        Value::String(_) => Plain::Json(Value::String(number)),
        _ => Plain::Digits(number),
    }
}

/// Returns a time of nanoseconds since midnight.
fn time(nanoseconds: i64) -> Value {
    let seconds = u32::try_from(nanoseconds.div_euclid(1_000_000_000)).ok();
    let rest = nanoseconds.rem_euclid(1_000_000_000) as u32;
    let time =
        seconds.and_then(|seconds| NaiveTime::from_num_seconds_from_midnight_opt(seconds, rest));
    time.map_or(Value::from(nanoseconds), |time| {
        Value::String(time.format("%H:%M:%S%.f").to_string())
    })
}

fn stamp(at: DateTime<chrono::Utc>, is_utc: bool) -> Value {
    let text = match is_utc {
        true => at.to_rfc3339_opts(SecondsFormat::AutoSi, true),
        false => {
            let local: NaiveDateTime = at.naive_utc();
            local.format("%Y-%m-%dT%H:%M:%S%.f").to_string()
        }
    };
    Value::String(text)
}
