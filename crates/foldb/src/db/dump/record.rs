//! What the blocks of a dump hold.
//!
//! ```text
//! string:   length varint | bytes
//! operator: as `fold::definition` draws it; the id is the operator's number in this dump
//! keyspace: name string | comparator string | default operator varint | filter policy string |
//!           settings varint | settings
//!   default operator: its number, or 0 for none
//!   filter policy:    empty for none
//!   setting:          name string | value string
//! entries:  keyspace varint | entries
//!   keyspace: 0 for the first keyspace block of the dump, 1 for the second, and so on
//! entry:    kind u8 | fields
//!   kind, bits 0 to 3:
//!     1 value:    key string | value string
//!     2 unfolded: key string | has a base u8 | [base string]
//!     3 operand:  operator varint | operand string
//!   kind, bits 4 to 7: fields between the kind and the key that a later version adds; 0
//! ```
//!
//! All operators come first, then all keyspaces, then the entries: keyspace by keyspace, in the
//! order of their keys. The operands of an unfolded key follow it, the oldest first. A block may
//! end between two of them. A setting has a name, so that a later version may add one.
//!
//! Invariant: a reader of this version refuses every kind, bit and setting that it does not know.

use crate::db::state::keyspace::KeyspaceState;
use crate::encoding::{ByteReader, put_length_delimited, put_varint};
use crate::error::{Error, ErrorKind, Result};
use crate::key::OperatorId;
use crate::options::KeyspaceOptions;
use crate::settings::KeyspaceSettings;

/// The kinds of entries. They are in dumps: never renumber.
const VALUE: u8 = 1;
const UNFOLDED: u8 = 2;
const OPERAND: u8 = 3;

/// The names of settings. They are in dumps: never rename.
const COMPRESSION: &str = "compression";
const BLOOM_BITS: &str = "bloom_bits";
const COMPACTION: &str = "compaction";
const EXPIRY: &str = "expiry";
const SCHEMA: &str = "schema";
const VALUE_SEPARATION_MIN: &str = "value_separation_min";

/// A keyspace as a dump describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) name: String,
    pub(super) comparator: String,
    pub(super) default_operator: Option<OperatorId>,
    pub(super) filter_policy: Option<String>,
    settings: Vec<(String, String)>,
}

impl Described {
    pub(super) fn of(keyspace: &KeyspaceState) -> Described {
        let edit = keyspace.describe();
        Described {
            name: String::from(&*keyspace.name),
            comparator: keyspace.comparator.name().to_owned(),
            default_operator: edit.default_operator,
            filter_policy: edit.filter_policy,
            settings: settings_of(&keyspace.settings_now(), edit.schema),
        }
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        put_length_delimited(out, self.name.as_bytes());
        put_length_delimited(out, self.comparator.as_bytes());
        put_varint(out, self.default_operator.map_or(0, u64::from));
        put_length_delimited(out, self.filter_policy.as_deref().unwrap_or_default().as_bytes());
        put_varint(out, self.settings.len() as u64);
        for (name, value) in &self.settings {
            put_length_delimited(out, name.as_bytes());
            put_length_delimited(out, value.as_bytes());
        }
    }

    /// # Errors
    /// `Corruption` if a field is malformed.
    pub(super) fn decode(payload: &[u8]) -> Result<Described> {
        let mut bytes = ByteReader::new(payload);
        let name = text(&mut bytes, "name of a keyspace")?;
        let comparator = text(&mut bytes, "comparator")?;
        let operator = bytes.varint32("default operator")?;
        let policy = text(&mut bytes, "filter policy")?;
        let mut settings = Vec::new();
        for _ in 0..bytes.varint("number of settings")? {
            settings.push((text(&mut bytes, "setting")?, text(&mut bytes, "value of a setting")?));
        }
        check_end(&bytes, "keyspace")?;
        Ok(Described {
            name,
            comparator,
            default_operator: (operator != 0).then_some(operator),
            filter_policy: (!policy.is_empty()).then_some(policy),
            settings,
        })
    }

    /// Returns the options that the settings stand for. They have no operator, comparator or
    /// filter policy.
    ///
    /// # Errors
    /// `Unsupported` for a setting or a value that this version does not know.
    pub(super) fn options(&self) -> Result<KeyspaceOptions> {
        let known = [COMPRESSION, COMPACTION, BLOOM_BITS, VALUE_SEPARATION_MIN, EXPIRY, SCHEMA];
        let settings = self.settings.iter().map(|(name, value)| (name, value));
        let unknown = self.settings.iter().find(|(name, _)| !known.contains(&&name[..]));
        let named = match unknown {
            Some((name, _)) => Err(Error::invalid_argument(name.escape_debug().to_string())),
            None => KeyspaceOptions::named(settings),
        };
        let options = named.map_err(|error| {
            Error::new(
                ErrorKind::Unsupported,
                format!(
                    "keyspace '{}' has a setting that this foldb does not know: {error}; restore \
                     with the foldb that wrote the dump",
                    self.name.escape_debug()
                ),
            )
        })?;
        let value_separation_min = options.value_separation_min.or(Some(usize::MAX));
        Ok(KeyspaceOptions { value_separation_min, ..options })
    }
}

fn settings_of(settings: &KeyspaceSettings, schema: Option<String>) -> Vec<(String, String)> {
    let mut named = vec![
        (COMPRESSION.to_owned(), settings.compression.name().to_owned()),
        (BLOOM_BITS.to_owned(), settings.bloom_bits.to_string()),
        (COMPACTION.to_owned(), settings.compaction.name().to_owned()),
    ];
    if let Some(least) = settings.value_separation_min.filter(|least| *least < usize::MAX) {
        named.push((VALUE_SEPARATION_MIN.to_owned(), least.to_string()));
    }
    if let Some(expiry) = settings.expiry {
        named.push((EXPIRY.to_owned(), expiry.to_string()));
    }
    named.extend(schema.map(|schema| (SCHEMA.to_owned(), schema)));
    named
}

/// One entry of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry<'a> {
    /// A key with its value.
    Value { key: &'a [u8], value: &'a [u8] },
    /// A key that does not fold. Its operands follow.
    Unfolded { key: &'a [u8], base: Option<&'a [u8]> },
    /// An operand of the last unfolded key.
    Operand { operator: OperatorId, operand: &'a [u8] },
}

impl<'a> Entry<'a> {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Entry::Value { key, value } => {
                out.push(VALUE);
                put_length_delimited(out, key);
                put_length_delimited(out, value);
            }
            Entry::Unfolded { key, base } => {
                out.push(UNFOLDED);
                put_length_delimited(out, key);
                out.push(u8::from(base.is_some()));
                if let Some(base) = base {
                    put_length_delimited(out, base);
                }
            }
            Entry::Operand { operator, operand } => {
                out.push(OPERAND);
                put_varint(out, u64::from(operator));
                put_length_delimited(out, operand);
            }
        }
    }

    /// Reads the next entry of a block.
    ///
    /// # Errors
    /// `Corruption` if a field is malformed; `Unsupported` for a kind of a later version.
    pub(super) fn decode(bytes: &mut ByteReader<'a>) -> Result<Entry<'a>> {
        match bytes.u8("kind of an entry")? {
            VALUE => Ok(Entry::Value {
                key: bytes.length_delimited("key")?,
                value: bytes.length_delimited("value")?,
            }),
            UNFOLDED => {
                let key = bytes.length_delimited("key")?;
                let base = match bytes.u8("base")? {
                    0 => None,
                    1 => Some(bytes.length_delimited("base")?),
                    other => {
                        let message = format!("expected 0 or 1 before a base, found {other}");
                        return Err(Error::corruption(message));
                    }
                };
                Ok(Entry::Unfolded { key, base })
            }
            OPERAND => Ok(Entry::Operand {
                operator: bytes.varint32("operator")?,
                operand: bytes.length_delimited("operand")?,
            }),
            kind => Err(Error::new(
                ErrorKind::Unsupported,
                format!(
                    "an entry of kind {kind:#04x}, which this foldb does not know: restore with the \
                     foldb that wrote the dump"
                ),
            )),
        }
    }
}

fn text(bytes: &mut ByteReader<'_>, what: &str) -> Result<String> {
    let text = bytes.length_delimited(what)?;
    match std::str::from_utf8(text) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(Error::corruption(format!("the {what} is not UTF-8"))),
    }
}

/// Checks that a payload has no bytes after its last field.
pub(super) fn check_end(bytes: &ByteReader<'_>, what: &str) -> Result<()> {
    match bytes.remaining() {
        0 => Ok(()),
        left => Err(Error::corruption(format!("the block of a {what} has {left} bytes too many"))),
    }
}
