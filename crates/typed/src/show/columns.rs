//! Keys as columns of text, one for each field: what a table of text has.
//!
//! Texts and characters stand as they are, without quotes. Other types stand as
//! [`Schema::show_key`] shows them.

use foldb::{Error, Result};

use crate::borrowed::AsKey;
use crate::key::{Key, check_end};
use crate::schema::Schema;
use crate::show::types::{Fields, Plain, Type};

impl Schema {
    /// Returns the columns of a key: the fields of a tuple or struct, or the whole key.
    ///
    /// # Errors
    /// `Unsupported` for a type that this version does not know.
    ///
    /// # Example
    /// ```
    /// use foldb_typed::schema::Schema;
    ///
    /// let schema = Schema::parse("foldb-typed/1 keys=(str,u32) values=raw").unwrap();
    /// let columns = schema.key_columns()?;
    /// let key = columns.read(&["a b", "7"])?;
    /// assert_eq!(key, b"a b\0\0\0\0\x07");
    /// assert_eq!(columns.show(&key)?, ["a b", "7"]);
    /// # Ok::<(), foldb_typed::Error>(())
    /// ```
    pub fn key_columns(&self) -> Result<KeyColumns> {
        let columns = match Type::parse(&self.keys)? {
            Type::Fields(Fields::Unnamed(types)) => {
                types.into_iter().map(|of| Column { name: None, of }).collect()
            }
            Type::Fields(Fields::Named(fields)) => {
                let named = |(name, of)| Column { name: Some(name), of };
                fields.into_iter().map(named).collect()
            }
            of => vec![Column { name: None, of }],
        };
        Ok(KeyColumns { columns })
    }
}

/// The columns of a typed key. See [`Schema::key_columns`].
#[derive(Clone, Debug)]
pub struct KeyColumns {
    columns: Vec<Column>,
}

#[derive(Clone, Debug)]
struct Column {
    name: Option<String>,
    of: Type,
}

impl KeyColumns {
    /// Returns the number of columns.
    pub fn count(&self) -> usize {
        self.columns.len()
    }

    /// Returns the name of a column, if it is a field of a struct.
    pub fn name(&self, column: usize) -> Option<&str> {
        self.columns.get(column)?.name.as_deref()
    }

    /// Whether a column has whole numbers.
    pub fn is_integer(&self, column: usize) -> bool {
        use Plain::{I8, I16, I32, I64, I128, U8, U16, U32, U64, U128};
        matches!(
            self.columns.get(column).map(|column| &column.of),
            Some(Type::Plain(U8 | U16 | U32 | U64 | U128 | I8 | I16 | I32 | I64 | I128))
        )
    }

    /// Returns the bytes of a key from the text of each column.
    ///
    /// # Errors
    /// `InvalidArgument` for other texts, or another number of them.
    pub fn read(&self, texts: &[impl AsRef<str>]) -> Result<Vec<u8>> {
        if texts.len() != self.columns.len() {
            let (expected, found) = (self.columns.len(), texts.len());
            let message = format!("key: expected {expected} columns, found {found}");
            return Err(Error::invalid_argument(message));
        }
        let mut key = Vec::new();
        for (column, text) in self.columns.iter().zip(texts) {
            column.of.read_bare(text.as_ref(), &mut key)?;
        }
        Ok(key)
    }

    /// Returns the text of each column.
    ///
    /// # Errors
    /// `Corruption` for bytes that are no such key.
    pub fn show(&self, key: &[u8]) -> Result<Vec<String>> {
        let mut rest = key;
        let texts = self.columns.iter().map(|column| column.of.show_bare(&mut rest));
        let texts = texts.collect::<Result<Vec<_>>>()?;
        check_end(rest, "key")?;
        Ok(texts)
    }
}

impl Type {
    fn read_bare(&self, text: &str, key: &mut Vec<u8>) -> Result<()> {
        match self {
            Type::Plain(Plain::Str) => AsKey::<String>::encode_key(text, key),
            Type::Plain(Plain::Char) if text.chars().count() == 1 => {
                text.chars().for_each(|only| only.encode_key(key));
            }
            other => key.extend(other.read(text)?),
        }
        Ok(())
    }

    fn show_bare(&self, bytes: &mut &[u8]) -> Result<String> {
        match self {
            Type::Plain(Plain::Str) => String::decode_key(bytes),
            Type::Plain(Plain::Char) => char::decode_key(bytes).map(String::from),
            other => {
                let mut text = String::new();
                other.show_next(bytes, &mut text)?;
                Ok(text)
            }
        }
    }
}
