//! Stored keys and values as columns of Arrow.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, FixedSizeBinaryBuilder, Float64Builder, Int64Builder,
    LargeBinaryBuilder, StringBuilder, TimestampMicrosecondBuilder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema, SchemaRef};
use foldb::{Error, Result};
use foldb_typed::Key;

use crate::buffers::Numbers;
use crate::keys::{Codec, Part};

/// A column that grows by a value each row.
enum Builder {
    Bytes(BinaryBuilder),
    /// Bytes that may be more than 2 GiB in one array.
    LargeBytes(LargeBinaryBuilder),
    Text(StringBuilder),
    Signed(Int64Builder),
    Unsigned(UInt64Builder),
    Float(Float64Builder),
    Bool(BooleanBuilder),
    Moment(TimestampMicrosecondBuilder),
    Uuid(FixedSizeBinaryBuilder),
}

impl Builder {
    fn of_part(part: Option<Part>) -> Builder {
        match part {
            None | Some(Part::Bytes) => Builder::Bytes(BinaryBuilder::new()),
            Some(Part::Str) => Builder::Text(StringBuilder::new()),
            Some(Part::Int) => Builder::Signed(Int64Builder::new()),
            Some(Part::Float) => Builder::Float(Float64Builder::new()),
            Some(Part::Bool) => Builder::Bool(BooleanBuilder::new()),
            Some(Part::Datetime) => {
                Builder::Moment(TimestampMicrosecondBuilder::new().with_timezone("UTC"))
            }
            Some(Part::Uuid) => Builder::Uuid(FixedSizeBinaryBuilder::new(16)),
        }
    }

    fn of_values(numbers: Numbers, is_large: bool) -> Builder {
        match numbers {
            Numbers::None if is_large => Builder::LargeBytes(LargeBinaryBuilder::new()),
            Numbers::None => Builder::Bytes(BinaryBuilder::new()),
            Numbers::Signed => Builder::Signed(Int64Builder::new()),
            Numbers::Unsigned => Builder::Unsigned(UInt64Builder::new()),
            Numbers::Float => Builder::Float(Float64Builder::new()),
        }
    }

    /// Appends a field of a key, and leaves what follows it.
    fn push_field(&mut self, key: &mut &[u8]) -> Result<()> {
        match self {
            Builder::Bytes(out) => out.append_value(Vec::<u8>::decode_key(key)?),
            Builder::Text(out) => out.append_value(String::decode_key(key)?),
            Builder::Signed(out) => out.append_value(i64::decode_key(key)?),
            Builder::Float(out) => out.append_value(f64::decode_key(key)?),
            Builder::Bool(out) => out.append_value(bool::decode_key(key)?),
            Builder::Moment(out) => {
                let (seconds, nanos) = (i64::decode_key(key)?, u32::decode_key(key)?);
                let micros = seconds.checked_mul(1_000_000);
                let micros = micros.and_then(|micros| micros.checked_add(i64::from(nanos / 1000)));
                out.append_value(micros.ok_or_else(|| {
                    Error::invalid_argument("a key's moment is too far away for microseconds")
                })?);
            }
            Builder::Uuid(out) => {
                let uuid = <[u8; 16]>::decode_key(key)?;
                out.append_value(uuid).expect("16 bytes fit into 16 bytes");
            }
            Builder::LargeBytes(_) | Builder::Unsigned(_) => {
                unreachable!("no key has fields of this type")
            }
        }
        Ok(())
    }

    fn push_value(&mut self, value: &[u8]) -> Result<()> {
        match self {
            Builder::Bytes(out) => out.append_value(value),
            Builder::LargeBytes(out) => out.append_value(value),
            Builder::Signed(out) => out.append_value(i64::from_le_bytes(number(value)?)),
            Builder::Unsigned(out) => out.append_value(u64::from_le_bytes(number(value)?)),
            Builder::Float(out) => out.append_value(f64::from_le_bytes(number(value)?)),
            Builder::Text(_) | Builder::Bool(_) | Builder::Moment(_) | Builder::Uuid(_) => {
                unreachable!("no value is of this type")
            }
        }
        Ok(())
    }

    fn push_null(&mut self) {
        match self {
            Builder::Bytes(out) => out.append_null(),
            Builder::LargeBytes(out) => out.append_null(),
            Builder::Signed(out) => out.append_null(),
            Builder::Unsigned(out) => out.append_null(),
            Builder::Float(out) => out.append_null(),
            Builder::Text(_) | Builder::Bool(_) | Builder::Moment(_) | Builder::Uuid(_) => {
                unreachable!("no value is of this type")
            }
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Bytes(out) => Arc::new(out.finish()),
            Builder::LargeBytes(out) => Arc::new(out.finish()),
            Builder::Text(out) => Arc::new(out.finish()),
            Builder::Signed(out) => Arc::new(out.finish()),
            Builder::Unsigned(out) => Arc::new(out.finish()),
            Builder::Float(out) => Arc::new(out.finish()),
            Builder::Bool(out) => Arc::new(out.finish()),
            Builder::Moment(out) => Arc::new(out.finish()),
            Builder::Uuid(out) => Arc::new(out.finish()),
        }
    }
}

fn number(value: &[u8]) -> Result<[u8; 8]> {
    <[u8; 8]>::try_from(value).map_err(|_| {
        Error::corruption(format!("a number has 8 bytes, and this value {}", value.len()))
    })
}

/// The values of many keys, with nulls for absent ones.
pub(super) struct Values(Builder);

impl Values {
    pub(super) fn new(numbers: Numbers) -> Values {
        Values(Builder::of_values(numbers, true))
    }

    pub(super) fn push(&mut self, value: Option<&[u8]>) -> Result<()> {
        match value {
            Some(value) => self.0.push_value(value),
            None => {
                self.0.push_null();
                Ok(())
            }
        }
    }

    pub(super) fn finish(mut self) -> ArrayRef {
        self.0.finish()
    }
}

/// Entries as the columns of their keys and values.
pub(super) struct Entries {
    keys: Vec<Builder>,
    is_raw: bool,
    values: Builder,
    schema: SchemaRef,
    rows: usize,
    bytes: usize,
}

impl Entries {
    /// Names the columns, or gives them `key` (or `key0`, `key1` …) and `last`.
    ///
    /// # Errors
    /// `InvalidArgument` for another number of names.
    pub(super) fn new(
        codec: &Codec,
        numbers: Numbers,
        names: Option<Vec<String>>,
        last: &str,
    ) -> Result<Entries> {
        let parts: Vec<Option<Part>> = match codec {
            Codec::Raw => vec![None],
            Codec::One(part) => vec![Some(*part)],
            Codec::Many(parts) => parts.iter().map(|part| Some(*part)).collect(),
        };
        let names = names.unwrap_or_else(|| default_names(parts.len(), last));
        if names.len() != parts.len() + 1 {
            return Err(Error::invalid_argument(format!(
                "names: expected {} names, not {}",
                parts.len() + 1,
                names.len()
            )));
        }
        let mut keys: Vec<Builder> = parts.into_iter().map(Builder::of_part).collect();
        let mut values = Builder::of_values(numbers, false);
        let arrays = keys.iter_mut().map(Builder::finish).collect::<Vec<_>>();
        let types = arrays.into_iter().chain([values.finish()]).map(|own| own.data_type().clone());
        let fields = names.into_iter().zip(types).map(|(name, kind)| Field::new(name, kind, false));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Entries { keys, is_raw: *codec == Codec::Raw, values, schema, rows: 0, bytes: 0 })
    }

    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub(super) fn push(&mut self, mut key: &[u8], value: &[u8]) -> Result<()> {
        self.rows += 1;
        self.bytes += key.len() + value.len();
        match &mut self.keys[..] {
            [Builder::Bytes(out)] if self.is_raw => out.append_value(key),
            fields => {
                fields.iter_mut().try_for_each(|field| field.push_field(&mut key))?;
                if !key.is_empty() {
                    return Err(Error::corruption(format!(
                        "expected the end of the key, found {} bytes",
                        key.len()
                    )));
                }
            }
        }
        self.values.push_value(value)
    }

    pub(super) fn len(&self) -> usize {
        self.rows
    }

    pub(super) fn byte_len(&self) -> usize {
        self.bytes
    }

    /// Returns the entries since the last call.
    pub(super) fn finish(&mut self) -> RecordBatch {
        let columns = self.keys.iter_mut().chain([&mut self.values]).map(Builder::finish).collect();
        (self.rows, self.bytes) = (0, 0);
        RecordBatch::try_new(self.schema(), columns).expect("columns of the schema, equally long")
    }
}

fn default_names(fields: usize, last: &str) -> Vec<String> {
    let mut names: Vec<String> = match fields {
        1 => vec!["key".to_owned()],
        _ => (0..fields).map(|number| format!("key{number}")).collect(),
    };
    names.push(last.to_owned());
    names
}
