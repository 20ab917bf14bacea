//! Keys and values as text, from the stored schema alone: what the shell shows.
//!
//! ```text
//! 7  -7  0.5  true  'x'        numbers, flags, characters
//! "berlin"                     a text, escaped as in Rust
//! 0x00ff                       bytes
//! 2026-11-27T14:29:14.5Z       a moment          1.5s   a duration
//! none  some(7)                an option
//! ("berlin", 7)  {city: "berlin", number: 7}     a tuple, a struct
//! Low  Mid(7)  High{a: 7}      variants
//! ```

mod columns;
mod scan;
mod time;
mod types;

use foldb::{Error, Result};

use crate::schema::Schema;
use crate::show::types::Type;

pub use self::columns::KeyColumns;

impl Schema {
    /// Returns an encoded key as text.
    ///
    /// # Errors
    /// `Corruption` for bytes that are no such key. `Unsupported` for a type that this version does
    /// not know.
    pub fn show_key(&self, key: &[u8]) -> Result<String> {
        Type::parse(&self.keys)?.show(key)
    }

    /// Returns the bytes of a key from its text, as [`Schema::show_key`] shows it.
    ///
    /// # Errors
    /// `InvalidArgument` for another text. `Unsupported` for a type that this version does not
    /// know.
    ///
    /// # Example
    /// ```
    /// use foldb_typed::schema::Schema;
    ///
    /// let schema = Schema::parse("foldb-typed/1 keys=(str,u32) values=postcard").unwrap();
    /// assert_eq!(schema.parse_key("(\"a\", 7)")?, b"a\0\0\0\0\x07");
    /// # Ok::<(), foldb_typed::Error>(())
    /// ```
    pub fn parse_key(&self, text: &str) -> Result<Vec<u8>> {
        Type::parse(&self.keys)?.read(text)
    }

    /// Returns a value as text, if it is encoded as a key or a set of keys. Others are shown by
    /// their operator, or are not described by the schema.
    ///
    /// # Errors
    /// As [`Schema::show_key`].
    pub fn show_value(&self, value: &[u8]) -> Result<Option<String>> {
        let Some((kind, rest)) = self.values.split_once('(') else { return Ok(None) };
        let inner = rest.strip_suffix(')').unwrap_or(rest);
        match kind {
            "key" | "max" | "min" => Type::parse(inner)?.show(value).map(Some),
            "set" => {
                let members = foldb::operators::set::members(value)?;
                let inner = Type::parse(inner)?;
                let shown = members.into_iter().map(|member| inner.show(member));
                let shown = shown.collect::<Result<Vec<_>>>()?;
                Ok(Some(format!("{{{}}}", shown.join(", "))))
            }
            _ => Ok(None),
        }
    }
}

fn unknown(text: &str, at: usize) -> Error {
    let message = format!(
        "the type '{}' at byte {at} is not known: use the program that wrote it",
        text.escape_debug()
    );
    Error::new(foldb::ErrorKind::Unsupported, message)
}
