//! Keys as Python values: the order-preserving encodings of `foldb-typed`.
//!
//! The schema text of a keyspace names the types, so the shell and Rust programs read the keys too.

use std::borrow::Cow;
use std::sync::Arc;

use foldb::{Error, ErrorKind, Result};
use foldb_typed::schema::Schema;
use foldb_typed::{AsKey, Key};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyString, PyTuple};

use crate::buffers::{bytes_of, is_number, is_whole};
use crate::errors::raise;
use crate::times::Times;

/// How keys are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    /// The bytes of the program, as they are.
    Raw,
    /// One value.
    One(Part),
    /// A tuple of values.
    Many(Vec<Part>),
}

/// A type of keys, or of a field of a tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Str,
    Bytes,
    Int,
    Float,
    Bool,
    Datetime,
    Uuid,
}

/// The types with their names in Python and in a schema.
const PARTS: [(Part, &str, &str); 7] = [
    (Part::Str, "str", "str"),
    (Part::Bytes, "bytes", "bytes"),
    (Part::Int, "int", "i64"),
    (Part::Float, "float", "f64"),
    (Part::Bool, "bool", "bool"),
    (Part::Datetime, "datetime", "time"),
    (Part::Uuid, "uuid", "uuid"),
];

impl Part {
    pub(crate) fn names(self) -> (&'static str, &'static str) {
        let (_, name, schema) = PARTS[self as usize];
        (name, schema)
    }

    fn of_schema(text: &str) -> Option<Part> {
        PARTS.iter().find(|(_, _, schema)| *schema == text).map(|(part, ..)| *part)
    }
}

impl Codec {
    /// Reads the argument `keys` of an open: a name, a tuple of names, or `None`.
    pub(crate) fn of_argument(given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Codec>> {
        let Some(given) = given.filter(|given| !given.is_none()) else { return Ok(None) };
        if let Ok(fields) = given.cast::<PyTuple>() {
            let parts: Vec<Part> =
                fields.iter().map(|name| part_named(&name)).collect::<PyResult<_>>()?;
            if !(1..=8).contains(&parts.len()) {
                return Err(PyValueError::new_err("keys: expected a tuple of 1 to 8 names"));
            }
            return Ok(Some(Codec::Many(parts)));
        }
        match part_named(given)? {
            Part::Bytes => Ok(Some(Codec::Raw)),
            part => Ok(Some(Codec::One(part))),
        }
    }

    /// Returns how the keys of a stored schema are written; `Raw` for a type that Python lacks.
    pub(crate) fn of_schema(schema: Option<&str>) -> Codec {
        let Some(Schema { keys, .. }) = schema.and_then(Schema::parse) else { return Codec::Raw };
        if let Some(part) = Part::of_schema(&keys) {
            return Codec::One(part);
        }
        let fields = keys.strip_prefix('(').and_then(|keys| keys.strip_suffix(')'));
        let parts = fields.and_then(|keys| keys.split(',').map(Part::of_schema).collect());
        parts.map_or(Codec::Raw, Codec::Many)
    }

    /// Returns the schema text of a keyspace with these keys and the values of an operator.
    pub(crate) fn schema(&self, operator: Option<&str>) -> Option<String> {
        let keys = match self {
            Codec::Raw => return None,
            Codec::One(part) => part.names().1.to_owned(),
            Codec::Many(parts) => {
                let names: Vec<_> = parts.iter().map(|part| part.names().1).collect();
                format!("({})", names.join(","))
            }
        };
        let values = match operator {
            Some("int64add") => "counter",
            Some("uint64add") => "sum(u64)",
            Some("float64add") => "sum(f64)",
            Some("json_merge_patch") => "json",
            Some("stats") => "stats",
            _ => "raw",
        };
        Some(Schema { keys, values: values.to_owned() }.to_string())
    }

    /// Finds how an opened keyspace writes keys, and checks what the program says about it.
    ///
    /// # Errors
    /// `InvalidArgument` if the keyspace was created with other keys.
    pub(crate) fn check(
        given: Option<Codec>,
        stored: Option<&str>,
        name: &str,
    ) -> Result<Arc<Codec>> {
        let found = Codec::of_schema(stored);
        match given {
            Some(given) if given != found => Err(Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "keys: keyspace '{name}' was created with keys={found}, and is opened with \
                     keys={given}"
                ),
            )),
            _ => Ok(Arc::new(found)),
        }
    }

    /// Returns the bytes of a key.
    #[inline]
    pub(crate) fn encode<'a>(
        &self,
        key: &'a Bound<'_, PyAny>,
        name: &str,
    ) -> PyResult<Cow<'a, [u8]>> {
        match self {
            Codec::Raw => raw(key, name),
            Codec::One(part) => {
                let mut out = Vec::new();
                part.encode(key, name, &mut out)?;
                Ok(Cow::Owned(out))
            }
            Codec::Many(parts) => {
                let fields = fields_of(key, parts, name)?;
                if fields.len() != parts.len() {
                    return Err(PyValueError::new_err(format!(
                        "{name}: expected a tuple of {} fields, not {}",
                        parts.len(),
                        fields.len()
                    )));
                }
                encode_fields(fields, parts, name)
            }
        }
    }

    /// Returns the bytes of a bound, which may have only the first fields of a tuple.
    pub(crate) fn encode_bound<'a>(
        &self,
        key: &'a Bound<'_, PyAny>,
        name: &str,
    ) -> PyResult<Cow<'a, [u8]>> {
        match self {
            Codec::Many(parts) => encode_fields(fields_of(key, parts, name)?, parts, name),
            other => other.encode(key, name),
        }
    }

    /// Returns the bytes that all keys with this prefix begin with.
    pub(crate) fn encode_prefix<'a>(
        &self,
        key: &'a Bound<'_, PyAny>,
        name: &str,
    ) -> PyResult<Cow<'a, [u8]>> {
        match self {
            Codec::One(Part::Str | Part::Bytes) => {
                let mut encoded = self.encode(key, name)?.into_owned();
                // Without its end, a text is a prefix of all longer ones.
                encoded.pop();
                Ok(Cow::Owned(encoded))
            }
            Codec::One(part) => Err(PyTypeError::new_err(format!(
                "{name}: keys of type {} have no prefix",
                part.names().0
            ))),
            other => other.encode_bound(key, name),
        }
    }

    /// Returns the Python value of a stored key.
    pub(crate) fn decode<'py>(
        &self,
        py: Python<'py>,
        mut key: &[u8],
    ) -> PyResult<Bound<'py, PyAny>> {
        let decoded = match self {
            Codec::Raw => return Ok(PyBytes::new(py, key).into_any()),
            Codec::One(part) => part.decode(py, &mut key)?,
            Codec::Many(parts) => {
                let fields: Vec<_> =
                    parts.iter().map(|part| part.decode(py, &mut key)).collect::<PyResult<_>>()?;
                PyTuple::new(py, fields)?.into_any()
            }
        };
        match key.len() {
            0 => Ok(decoded),
            left => Err(raise(Error::corruption(format!(
                "expected the end of the key, found {left} bytes"
            )))),
        }
    }
}

impl std::fmt::Display for Codec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Codec::Raw => f.write_str("\"bytes\""),
            Codec::One(part) => write!(f, "\"{}\"", part.names().0),
            Codec::Many(parts) => {
                f.write_str("(")?;
                for part in parts {
                    write!(f, "\"{}\", ", part.names().0)?;
                }
                f.write_str(")")
            }
        }
    }
}

fn part_named(given: &Bound<'_, PyAny>) -> PyResult<Part> {
    let name: Cow<'_, str> = given.extract().map_err(|_| PyTypeError::new_err(KNOWN))?;
    let part = PARTS.iter().find(|(_, known, _)| *known == name);
    part.map(|(part, ..)| *part).ok_or_else(|| PyValueError::new_err(KNOWN))
}

const KNOWN: &str = "keys: expected \"bytes\", \"str\", \"int\", \"float\", \"bool\", \
                     \"datetime\", \"uuid\", or a tuple of these";

#[inline]
fn raw<'a>(key: &'a Bound<'_, PyAny>, name: &str) -> PyResult<Cow<'a, [u8]>> {
    bytes_of(key, name).map_err(|error| {
        if key.is_instance_of::<PyString>() {
            return PyTypeError::new_err(format!(
                "{name}: expected bytes, not str: encode it, or create the database with \
                 keys=\"str\""
            ));
        }
        error
    })
}

fn fields_of<'a, 'py>(
    key: &'a Bound<'py, PyAny>,
    parts: &[Part],
    name: &str,
) -> PyResult<&'a Bound<'py, PyTuple>> {
    let fields = key.cast::<PyTuple>().map_err(|_| wrong(key, name, "a tuple"))?;
    if fields.is_empty() || fields.len() > parts.len() {
        return Err(PyValueError::new_err(format!(
            "{name}: expected a tuple of 1 to {} fields, not {}",
            parts.len(),
            fields.len()
        )));
    }
    Ok(fields)
}

fn encode_fields<'a>(
    fields: &Bound<'_, PyTuple>,
    parts: &[Part],
    name: &str,
) -> PyResult<Cow<'a, [u8]>> {
    let mut out = Vec::new();
    for (field, part) in fields.iter().zip(parts) {
        part.encode(&field, name, &mut out)?;
    }
    Ok(Cow::Owned(out))
}

pub(crate) fn wrong(given: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyErr {
    let found = given.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    PyTypeError::new_err(format!("{name}: expected {expected}, not {found}"))
}

impl Part {
    fn encode(self, key: &Bound<'_, PyAny>, name: &str, out: &mut Vec<u8>) -> PyResult<()> {
        let refused = || wrong(key, name, self.names().0);
        match self {
            Part::Str => {
                let text = key.cast::<PyString>().map_err(|_| refused())?;
                AsKey::<String>::encode_key(&*text.to_cow()?, out);
            }
            Part::Bytes => AsKey::<Vec<u8>>::encode_key(&*bytes_of(key, name)?, out),
            Part::Int => {
                let number = Some(key).filter(|key| is_whole(key).unwrap_or(false));
                let number: i64 = number.ok_or_else(refused)?.extract().map_err(|_| {
                    PyOverflowError::new_err(format!("{name}: expected an int of 64 bits"))
                })?;
                number.encode_key(out);
            }
            Part::Float => {
                let number = Some(key).filter(|key| is_number(key).unwrap_or(false));
                let number: f64 = number.ok_or_else(refused)?.extract()?;
                number.encode_key(out);
            }
            Part::Bool => key.cast::<PyBool>().map_err(|_| refused())?.is_true().encode_key(out),
            Part::Datetime => {
                let (seconds, nanos) = Times::get(key.py())?.parts(key, name)?;
                seconds.encode_key(out);
                nanos.encode_key(out);
            }
            Part::Uuid => {
                let class = Times::get(key.py())?.uuid.bind(key.py());
                if !key.is_instance(class)? {
                    return Err(refused());
                }
                let bytes = key.getattr(intern!(key.py(), "bytes"))?;
                out.extend_from_slice(bytes.cast::<PyBytes>()?.as_bytes());
            }
        }
        Ok(())
    }

    fn decode<'py>(self, py: Python<'py>, key: &mut &[u8]) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self {
            Part::Str => PyString::new(py, &read::<String>(key)?).into_any(),
            Part::Bytes => PyBytes::new(py, &read::<Vec<u8>>(key)?).into_any(),
            Part::Int => read::<i64>(key)?.into_pyobject(py)?.into_any(),
            Part::Float => PyFloat::new(py, read::<f64>(key)?).into_any(),
            Part::Bool => PyBool::new(py, read::<bool>(key)?).to_owned().into_any(),
            Part::Datetime => {
                let (seconds, nanos) = (read::<i64>(key)?, read::<u32>(key)?);
                Times::get(py)?.moment(py, seconds, nanos)?
            }
            Part::Uuid => {
                let named = PyDict::new(py);
                named.set_item("bytes", PyBytes::new(py, &read::<[u8; 16]>(key)?))?;
                Times::get(py)?.uuid.bind(py).call((), Some(&named))?
            }
        })
    }
}

fn read<K: Key>(key: &mut &[u8]) -> PyResult<K> {
    K::decode_key(key).map_err(raise)
}

/// Returns a moment of the engine as a datetime in UTC.
pub(crate) fn datetime_of<'py>(
    py: Python<'py>,
    moment: std::time::SystemTime,
) -> PyResult<Bound<'py, PyAny>> {
    let mut encoded = Vec::new();
    moment.encode_key(&mut encoded);
    Part::Datetime.decode(py, &mut &encoded[..])
}
