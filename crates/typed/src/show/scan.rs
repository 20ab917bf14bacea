//! Keys from text, as they are shown. Spaces between the parts do not count.

use std::str::FromStr;

use foldb::{Error, Result};

use crate::borrowed::AsKey;
use crate::key::Key;
use crate::show::time;
use crate::show::types::{Fields, Plain, Type};

impl Type {
    /// Returns the bytes of a key from its text.
    ///
    /// # Errors
    /// `InvalidArgument`, with what was expected and what was found.
    pub(super) fn read(&self, text: &str) -> Result<Vec<u8>> {
        let (mut rest, mut out) = (text, Vec::new());
        self.read_next(&mut rest, &mut out)
            .and_then(|()| match rest.trim_start() {
                "" => Ok(()),
                _ => Err("the end".to_owned()),
            })
            .map_err(|expected| {
                let found = match rest.trim_start() {
                    "" => "the end of the text".to_owned(),
                    rest => format!("'{}'", rest.chars().take(40).collect::<String>()),
                };
                Error::invalid_argument(format!("key: expected {expected}, found {found}"))
            })?;
        Ok(out)
    }

    /// Reads a key and moves behind it. An error says what was expected there.
    fn read_next(&self, text: &mut &str, out: &mut Vec<u8>) -> Result<(), String> {
        match self {
            Type::Plain(plain) => plain.read_next(text, out),
            Type::Array(len) => {
                let bytes = hex(text).filter(|bytes| bytes.len() == *len);
                out.extend(bytes.ok_or_else(|| format!("0x and the digits of {len} bytes"))?);
                Ok(())
            }
            Type::Option(inner) => match word(text) {
                "none" => {
                    out.push(0);
                    Ok(())
                }
                "some" => {
                    out.push(1);
                    symbol(text, "(")?;
                    inner.read_next(text, out)?;
                    symbol(text, ")")
                }
                _ => Err("none or some(…)".to_owned()),
            },
            Type::Fields(fields) => fields.read_next(text, out),
            Type::Enum(variants) => {
                let named = word(text);
                let found = (0..=u8::MAX).zip(variants).find(|(_, (name, _))| name == named);
                let Some((number, (_, fields))) = found else {
                    let names: Vec<_> = variants.iter().map(|(name, _)| &name[..]).collect();
                    return Err(format!("one of {}", names.join(", ")));
                };
                out.push(number);
                if fields.is_empty() { Ok(()) } else { fields.read_next(text, out) }
            }
        }
    }
}

impl Fields {
    fn read_next(&self, text: &mut &str, out: &mut Vec<u8>) -> Result<(), String> {
        match self {
            Fields::Unnamed(fields) => {
                symbol(text, "(")?;
                for (index, field) in fields.iter().enumerate() {
                    if index > 0 {
                        symbol(text, ",")?;
                    }
                    field.read_next(text, out)?;
                }
                symbol(text, ")")
            }
            Fields::Named(fields) => {
                symbol(text, "{")?;
                for (index, (name, field)) in fields.iter().enumerate() {
                    if index > 0 {
                        symbol(text, ",")?;
                    }
                    symbol(text, name)?;
                    symbol(text, ":")?;
                    field.read_next(text, out)?;
                }
                symbol(text, "}")
            }
        }
    }
}

impl Plain {
    fn read_next(self, text: &mut &str, out: &mut Vec<u8>) -> Result<(), String> {
        match self {
            Plain::U8 => number::<u8>(text, out)?,
            Plain::U16 => number::<u16>(text, out)?,
            Plain::U32 => number::<u32>(text, out)?,
            Plain::U64 => number::<u64>(text, out)?,
            Plain::U128 => number::<u128>(text, out)?,
            Plain::I8 => number::<i8>(text, out)?,
            Plain::I16 => number::<i16>(text, out)?,
            Plain::I32 => number::<i32>(text, out)?,
            Plain::I64 => number::<i64>(text, out)?,
            Plain::I128 => number::<i128>(text, out)?,
            Plain::F32 => match nan(text).and_then(|bits| u32::try_from(bits).ok()) {
                Some(bits) => f32::from_bits(bits).encode_key(out),
                None => number::<f32>(text, out)?,
            },
            Plain::F64 => match nan(text) {
                Some(bits) => f64::from_bits(bits).encode_key(out),
                None => number::<f64>(text, out)?,
            },
            Plain::Bool => number::<bool>(text, out)?,
            Plain::Char => {
                let unquoted = quoted(text, '\'')?;
                let mut chars = unquoted.chars();
                match (chars.next(), chars.next()) {
                    (Some(only), None) => only.encode_key(out),
                    _ => return Err("one character in ''".to_owned()),
                }
            }
            Plain::Str => AsKey::<String>::encode_key(&quoted(text, '"')?, out),
            Plain::Bytes => {
                let bytes = hex(text).ok_or("0x and two digits for each byte")?;
                AsKey::<Vec<u8>>::encode_key(&bytes, out);
            }
            Plain::Uuid => {
                let digits = word(text).replace('-', "");
                let bytes = digits_of(&digits).filter(|bytes| bytes.len() == 16);
                out.extend(bytes.ok_or("a UUID of 32 digits")?);
            }
            Plain::Time => {
                let time = time::read(word(text));
                time.ok_or("a moment such as 2026-11-27T14:29:14Z")?.encode_key(out);
            }
            Plain::Duration => {
                let time = time::read_duration(word(text));
                time.ok_or("a duration such as 1.5s")?.encode_key(out);
            }
        }
        Ok(())
    }
}

/// Reads a number, or a flag.
fn number<K: Key + FromStr>(text: &mut &str, out: &mut Vec<u8>) -> Result<(), String> {
    let number = word(text).parse::<K>();
    let number = number.map_err(|_| format!("a number of type {}", K::schema()))?;
    number.encode_key(out);
    Ok(())
}

/// Takes what stands before the next space, comma, bracket or colon behind a name.
fn word<'a>(text: &mut &'a str) -> &'a str {
    let rest = text.trim_start();
    let end = rest.find([' ', ',', '(', ')', '{', '}']).unwrap_or(rest.len());
    let (word, rest) = rest.split_at(end);
    *text = rest;
    word
}

/// Takes the bits of what is not a number.
fn nan(text: &mut &str) -> Option<u64> {
    let mut rest = *text;
    let bits = word(&mut rest).strip_prefix("nan:")?;
    let bits = u64::from_str_radix(bits, 16).ok()?;
    *text = rest;
    Some(bits)
}

fn symbol(text: &mut &str, expected: &str) -> Result<(), String> {
    match text.trim_start().strip_prefix(expected) {
        Some(rest) => {
            *text = rest;
            Ok(())
        }
        None => Err(format!("'{expected}'")),
    }
}

/// Takes a text in quotes, with the escapes of Rust.
fn quoted(text: &mut &str, quote: char) -> Result<String, String> {
    let wrong = || format!("a text in {quote}{quote}");
    let inner = text.trim_start().strip_prefix(quote).ok_or_else(wrong)?;
    let (mut plain, mut chars) = (String::new(), inner.char_indices());
    while let Some((at, c)) = chars.next() {
        if c == quote {
            *text = &inner[at + c.len_utf8()..];
            return Ok(plain);
        }
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match chars.next().ok_or_else(wrong)?.1 {
            'n' => plain.push('\n'),
            'r' => plain.push('\r'),
            't' => plain.push('\t'),
            '0' => plain.push('\0'),
            same @ ('\\' | '\'' | '"') => plain.push(same),
            'u' => {
                let number: String =
                    chars.by_ref().map(|(_, c)| c).take_while(|c| *c != '}').collect();
                let number =
                    number.strip_prefix('{').and_then(|it| u32::from_str_radix(it, 16).ok());
                plain.push(number.and_then(char::from_u32).ok_or("digits in \\u{…}")?);
            }
            _ => return Err("an escape of Rust behind \\".to_owned()),
        }
    }
    Err(wrong())
}

fn hex(text: &mut &str) -> Option<Vec<u8>> {
    digits_of(word(text).strip_prefix("0x")?)
}

fn digits_of(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2).map(|pair| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok().filter(|_| !pair.starts_with('+'))
    });
    pairs.collect()
}
