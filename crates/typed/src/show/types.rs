//! The types that a schema names, and keys of these types as text.

use foldb::{Error, Result};
use std::fmt::Write;

use crate::key::{Key, check_end, derived, take};
use crate::show::{time, unknown};

/// The most types inside one another.
const DEEPEST: usize = 64;

/// A type of keys.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Type {
    /// One that stands in the schema by its name alone.
    Plain(Plain),
    /// Bytes of a fixed number.
    Array(usize),
    Option(Box<Type>),
    Fields(Fields),
    Enum(Vec<(String, Fields)>),
}

/// The fields of a tuple, a struct or a variant.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fields {
    Unnamed(Vec<Type>),
    Named(Vec<(String, Type)>),
}

macro_rules! plain {
    ($($variant:ident $name:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub(super) enum Plain {
            $($variant,)*
        }

        impl Plain {
            fn named(name: &str) -> Option<Plain> {
                match name {
                    $($name => Some(Plain::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

plain! {
    U8 "u8"; U16 "u16"; U32 "u32"; U64 "u64"; U128 "u128";
    I8 "i8"; I16 "i16"; I32 "i32"; I64 "i64"; I128 "i128";
    F32 "f32"; F64 "f64"; Bool "bool"; Char "char"; Str "str"; Bytes "bytes";
    Uuid "uuid"; Time "time"; Duration "duration";
}

impl Type {
    /// Reads a type of a schema.
    ///
    /// # Errors
    /// `Unsupported` for a type that this version does not know.
    pub(super) fn parse(text: &str) -> Result<Type> {
        let mut parser = Parser { text, at: 0 };
        match parser.type_at(0) {
            Some(parsed) if parser.at == text.len() => Ok(parsed),
            _ => Err(unknown(text, parser.at)),
        }
    }

    /// Returns a key of this type as text.
    ///
    /// # Errors
    /// `Corruption` for bytes that are no such key.
    pub(super) fn show(&self, key: &[u8]) -> Result<String> {
        let (mut rest, mut out) = (key, String::new());
        self.show_next(&mut rest, &mut out)?;
        check_end(rest, "key")?;
        Ok(out)
    }

    pub(super) fn show_next(&self, bytes: &mut &[u8], out: &mut String) -> Result<()> {
        match self {
            Type::Plain(plain) => out.push_str(&plain.show_next(bytes)?),
            Type::Array(len) => {
                let taken = bytes.split_at_checked(*len).ok_or_else(|| {
                    Error::corruption(format!("key: expected {len} bytes, found {}", bytes.len()))
                })?;
                *bytes = taken.1;
                out.push_str(&hex(taken.0));
            }
            Type::Option(inner) => match take(bytes, "option")? {
                [0] => out.push_str("none"),
                [1] => {
                    out.push_str("some(");
                    inner.show_next(bytes, out)?;
                    out.push(')');
                }
                [other] => return Err(crate::key::unexpected("option", "00 or 01", other)),
            },
            Type::Fields(fields) => fields.show_next(bytes, out)?,
            Type::Enum(variants) => {
                let number = derived::take_variant(bytes, "enum")?;
                let (name, fields) = variants
                    .get(usize::from(number))
                    .ok_or_else(|| derived::unknown_variant("enum", number, variants.len()))?;
                out.push_str(name);
                if !fields.is_empty() {
                    fields.show_next(bytes, out)?;
                }
            }
        }
        Ok(())
    }
}

impl Plain {
    fn show_next(self, bytes: &mut &[u8]) -> Result<String> {
        fn next<K: Key>(bytes: &mut &[u8], show: impl Fn(K) -> String) -> Result<String> {
            K::decode_key(bytes).map(show)
        }
        match self {
            Plain::U8 => next(bytes, |n: u8| n.to_string()),
            Plain::U16 => next(bytes, |n: u16| n.to_string()),
            Plain::U32 => next(bytes, |n: u32| n.to_string()),
            Plain::U64 => next(bytes, |n: u64| n.to_string()),
            Plain::U128 => next(bytes, |n: u128| n.to_string()),
            Plain::I8 => next(bytes, |n: i8| n.to_string()),
            Plain::I16 => next(bytes, |n: i16| n.to_string()),
            Plain::I32 => next(bytes, |n: i32| n.to_string()),
            Plain::I64 => next(bytes, |n: i64| n.to_string()),
            Plain::I128 => next(bytes, |n: i128| n.to_string()),
            // The bits of what is not a number tell one from another.
            Plain::F32 => next(bytes, |n: f32| match n.is_nan() {
                true => format!("nan:{:08x}", n.to_bits()),
                false => format!("{n:?}"),
            }),
            Plain::F64 => next(bytes, |n: f64| match n.is_nan() {
                true => format!("nan:{:016x}", n.to_bits()),
                false => format!("{n:?}"),
            }),
            Plain::Bool => next(bytes, |flag: bool| flag.to_string()),
            Plain::Char => next(bytes, |c: char| format!("{c:?}")),
            Plain::Str => next(bytes, |text: String| format!("{text:?}")),
            Plain::Bytes => next(bytes, |plain: Vec<u8>| hex(&plain)),
            Plain::Uuid => take(bytes, "uuid").map(|id: [u8; 16]| hyphenated(&id)),
            Plain::Time => next(bytes, time::show),
            Plain::Duration => next(bytes, time::show_duration),
        }
    }
}

impl Fields {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Fields::Unnamed(fields) => fields.is_empty(),
            Fields::Named(fields) => fields.is_empty(),
        }
    }

    fn show_next(&self, bytes: &mut &[u8], out: &mut String) -> Result<()> {
        let comma = |index: usize, out: &mut String| {
            if index > 0 {
                out.push_str(", ");
            }
        };
        match self {
            Fields::Unnamed(fields) => {
                out.push('(');
                for (index, field) in fields.iter().enumerate() {
                    comma(index, out);
                    field.show_next(bytes, out)?;
                }
                out.push(')');
            }
            Fields::Named(fields) => {
                out.push('{');
                for (index, (name, field)) in fields.iter().enumerate() {
                    comma(index, out);
                    out.push_str(name);
                    out.push_str(": ");
                    field.show_next(bytes, out)?;
                }
                out.push('}');
            }
        }
        Ok(())
    }
}

/// Returns bytes as `0x` and two digits for each.
fn hex(bytes: &[u8]) -> String {
    let mut out = "0x".to_owned();
    for byte in bytes {
        let _infallible = write!(out, "{byte:02x}");
    }
    out
}

fn hyphenated(id: &[u8; 16]) -> String {
    let digits = &hex(id)[2..];
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
    parts.join("-")
}

/// Reads the types of a schema.
struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn take(&mut self, expected: char) -> bool {
        let is_next = self.text[self.at..].starts_with(expected);
        self.at += if is_next { expected.len_utf8() } else { 0 };
        is_next
    }

    /// Takes a name; an empty one if there is none.
    fn name(&mut self) -> &str {
        let rest = &self.text[self.at..];
        let is_other = |c: char| !c.is_alphanumeric() && c != '_';
        let name = &rest[..rest.find(is_other).unwrap_or(rest.len())];
        self.at += name.len();
        name
    }

    fn type_at(&mut self, depth: usize) -> Option<Type> {
        if depth == DEEPEST {
            return None;
        }
        if self.text[self.at..].starts_with(['(', '{']) {
            return self.fields(depth).map(Type::Fields);
        }
        let before = self.at;
        let name = self.name().to_owned();
        match &name[..] {
            "option" => {
                let inner = self.take('(').then(|| self.type_at(depth + 1))??;
                self.take(')').then(|| Type::Option(Box::new(inner)))
            }
            "enum" => self.variants(depth).map(Type::Enum),
            "bytes" if self.take('(') => {
                let len = self.name().parse().ok()?;
                self.take(')').then_some(Type::Array(len))
            }
            _ => {
                let plain = Plain::named(&name);
                if plain.is_none() {
                    self.at = before;
                }
                plain.map(Type::Plain)
            }
        }
    }

    /// Reads `(TYPE,…)` or `{name:TYPE,…}`.
    fn fields(&mut self, depth: usize) -> Option<Fields> {
        if self.take('{') {
            let mut fields = Vec::new();
            while !self.take('}') {
                let name = self.name().to_owned();
                let field = self.take(':').then(|| self.type_at(depth + 1))??;
                fields.push((name, field));
                if !self.take(',') {
                    return self.take('}').then_some(Fields::Named(fields));
                }
            }
            return Some(Fields::Named(fields));
        }
        let mut fields = Vec::new();
        self.take('(').then_some(())?;
        while !self.take(')') {
            fields.push(self.type_at(depth + 1)?);
            if !self.take(',') {
                return self.take(')').then_some(Fields::Unnamed(fields));
            }
        }
        Some(Fields::Unnamed(fields))
    }

    /// Reads `(VARIANT,…)`.
    fn variants(&mut self, depth: usize) -> Option<Vec<(String, Fields)>> {
        let mut variants = Vec::new();
        self.take('(').then_some(())?;
        while !self.take(')') {
            let name = self.name().to_owned();
            let fields = match self.text[self.at..].starts_with(['(', '{']) {
                true => self.fields(depth)?,
                false => Fields::Unnamed(Vec::new()),
            };
            variants.push((name, fields));
            if !self.take(',') {
                return self.take(')').then_some(variants);
            }
        }
        Some(variants)
    }
}
