//! Values: how a program's values become bytes.

use std::borrow::Cow;

use foldb::{Error, Result, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A format of values of type `V`.
pub trait Format<V>: Encodes<V> {
    /// Returns the name of the format, which is stored with the table.
    fn schema() -> String;

    /// Reads a value.
    ///
    /// # Errors
    /// `Corruption` if the bytes are no such value.
    fn decode(bytes: Value) -> Result<V>;
}

/// The half of a [`Format`] that writes. It also takes what stands for a value, such as `str`.
pub trait Encodes<V: ?Sized> {
    /// Returns the bytes of a value.
    ///
    /// # Errors
    /// `InvalidArgument` for a value that the format cannot write.
    fn encode(value: &V) -> Result<Cow<'_, [u8]>>;
}

/// Values by serde, in the compact format [postcard](https://docs.rs/postcard). It writes no names:
/// a new field of a struct is a new format, and a new variant of an enum goes behind the others.
/// Values cannot use what needs a self-describing format: `#[serde(flatten)]`, untagged enums, or
/// `serde_json::Value`.
#[derive(Clone, Copy, Debug)]
pub enum Postcard {}

impl<V: Serialize + ?Sized> Encodes<V> for Postcard {
    fn encode(value: &V) -> Result<Cow<'_, [u8]>> {
        postcard::to_stdvec(value).map(Cow::Owned).map_err(|error| {
            Error::invalid_argument(format!("postcard cannot write this value: {error}"))
        })
    }
}

impl<V: Serialize + DeserializeOwned> Format<V> for Postcard {
    fn schema() -> String {
        "postcard".to_owned()
    }

    fn decode(bytes: Value) -> Result<V> {
        let wrong = |found: String| {
            let wanted = std::any::type_name::<V>();
            Error::corruption(format!("value: expected a {wanted} in postcard, found {found}"))
        };
        let (value, rest) = postcard::take_from_bytes(&bytes)
            .map_err(|error| wrong(format!("{} bytes of another kind: {error}", bytes.len())))?;
        match rest.len() {
            0 => Ok(value),
            left => Err(wrong(format!("{left} bytes behind it"))),
        }
    }
}

/// Bytes as they are: values of type `Vec<u8>`, `String`, or [`foldb::Value`], which reads without
/// a copy.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let db = foldb_typed::foldb::Db::create(dir.path().join("db"))?;
/// use foldb_typed::{Raw, Table};
///
/// let pages = Table::<String, Vec<u8>, Raw>::open(&db, "pages")?;
/// pages.put("index.html", b"<html>")?;
/// assert_eq!(pages.get("index.html")?.unwrap(), b"<html>");
/// # Ok::<(), foldb_typed::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Raw {}

impl<V: AsRef<[u8]> + ?Sized> Encodes<V> for Raw {
    fn encode(value: &V) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Borrowed(value.as_ref()))
    }
}

impl Format<Vec<u8>> for Raw {
    fn schema() -> String {
        "raw".to_owned()
    }

    fn decode(bytes: Value) -> Result<Vec<u8>> {
        Ok(bytes.into_owned())
    }
}

impl Format<Value> for Raw {
    fn schema() -> String {
        "raw".to_owned()
    }

    fn decode(bytes: Value) -> Result<Value> {
        Ok(bytes)
    }
}

impl Format<String> for Raw {
    fn schema() -> String {
        "raw".to_owned()
    }

    fn decode(bytes: Value) -> Result<String> {
        String::from_utf8(bytes.into_owned()).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Error::corruption(format!("value: expected UTF-8, found another byte at {at}"))
        })
    }
}

/// Something that stands for a value of type `V`: the value, a reference to it, `&str` for a
/// `String`, `&[u8]` for a `Vec<u8>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not stand for a value of type `{V}`",
    note = "give a `{V}` or a reference to one"
)]
pub trait AsValue<V> {
    /// What the format writes.
    type Form: ?Sized;

    /// Returns what the format writes.
    fn as_form(&self) -> &Self::Form;
}

impl<V> AsValue<V> for V {
    type Form = V;

    fn as_form(&self) -> &V {
        self
    }
}

impl<V> AsValue<V> for &V {
    type Form = V;

    fn as_form(&self) -> &V {
        self
    }
}

macro_rules! stand_in {
    ($($given:ty as $form:ty => $value:ty;)*) => {$(
        impl AsValue<$value> for $given {
            type Form = $form;

            fn as_form(&self) -> &$form {
                (*self).as_ref()
            }
        }
    )*};
}

stand_in! {
    &str as str => String;
    &[u8] as [u8] => Vec<u8>;
    &[u8] as [u8] => Value;
    &str as [u8] => Value;
}

impl<const N: usize> AsValue<Vec<u8>> for &[u8; N] {
    type Form = [u8];

    fn as_form(&self) -> &[u8] {
        *self
    }
}
