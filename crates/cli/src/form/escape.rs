//! Bytes on one line of text.
//!
//! TAB, newline, carriage return and backslash become `\t \n \r \\`, and bytes that are not UTF-8
//! become `\xHH`. All other text stays. A line therefore splits at its one TAB, and [`undo`]
//! restores the bytes. Commas separate elements on one line. A comma inside an element is `\x2c`,
//! and an empty element is `\e`.

use std::borrow::Cow;
use std::io::{self, Write};

/// Longest piece of a key or text that a message quotes, in bytes.
const QUOTED_LEN: usize = 80;

/// Writes `bytes` escaped.
pub(crate) fn write(bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    for chunk in bytes.utf8_chunks() {
        write_escaped(chunk.valid(), special, out)?;
        write_hex(chunk.invalid(), out)?;
    }
    Ok(())
}

/// Writes `elements` escaped, with commas between them.
pub(crate) fn write_elements(
    elements: &[impl AsRef<[u8]>],
    out: &mut impl Write,
) -> io::Result<()> {
    for (index, element) in elements.iter().map(AsRef::as_ref).enumerate() {
        if index > 0 {
            out.write_all(b",")?;
        }
        if element.is_empty() {
            out.write_all(b"\\e")?;
        }
        for (index, part) in element.split(|&byte| byte == b',').enumerate() {
            if index > 0 {
                write_hex(b",", out)?;
            }
            write(part, out)?;
        }
    }
    Ok(())
}

/// Returns the bytes for which [`write`] wrote `text`. It also accepts unescaped bytes, except for
/// backslashes.
///
/// # Errors
/// A message for a backslash that begins no escape.
pub(crate) fn undo(text: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    let Some(first) = memchr::memchr(b'\\', text) else { return Ok(Cow::Borrowed(text)) };
    let mut bytes = text[..first].to_vec();
    let mut rest = &text[first..];
    while let [b'\\', behind @ ..] = rest {
        let (byte, behind) = match behind {
            [b't', behind @ ..] => (b'\t', behind),
            [b'n', behind @ ..] => (b'\n', behind),
            [b'r', behind @ ..] => (b'\r', behind),
            [b'\\', behind @ ..] => (b'\\', behind),
            [b'x', high, low, behind @ ..] => match (hex_digit(*high), hex_digit(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, behind),
                _ => return Err(no_escape(rest, 4)),
            },
            [b'x', ..] => return Err(no_escape(rest, 4)),
            _ => return Err(no_escape(rest, 2)),
        };
        bytes.push(byte);
        let plain = memchr::memchr(b'\\', behind).unwrap_or(behind.len());
        bytes.extend_from_slice(&behind[..plain]);
        rest = &behind[plain..];
    }
    Ok(Cow::Owned(bytes))
}

/// Returns the elements for which [`write_elements`] wrote `text`.
///
/// # Errors
/// As [`undo`], and for an empty element that is not `\e`.
pub(crate) fn undo_elements(text: &[u8]) -> Result<Vec<Cow<'_, [u8]>>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    text.split(|&byte| byte == b',').map(undo_element).collect()
}

fn undo_element(text: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    match text {
        b"" => Err("an element is empty, which is written \\e".to_owned()),
        b"\\e" => Ok(Cow::Borrowed(b"")),
        text => undo(text),
    }
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

fn no_escape(text: &[u8], len: usize) -> String {
    let text = String::from_utf8_lossy(&text[..len.min(text.len())]);
    format!("'{text}' is no escape (those are \\t \\n \\r \\\\ \\xHH)")
}

/// Returns a key or a text for a message: in quotes, with control characters escaped, and cut if it
/// is long.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let (shown, rest) = match bytes.len() {
        0..=QUOTED_LEN => (bytes, String::new()),
        len => (&bytes[..character_boundary(bytes)], format!("… ({len} bytes)")),
    };
    format!("'{}'{rest}", to_string(shown, |byte| special(byte) || byte.is_ascii_control()))
}

/// Returns a whole message on one line. Backslashes stay, because quoted text is already escaped.
pub(crate) fn one_line(message: &str) -> String {
    to_string(message.as_bytes(), |byte| byte.is_ascii_control())
}

/// Returns where to cut a long text, never inside a character.
fn character_boundary(bytes: &[u8]) -> usize {
    let inside = |&at: &usize| bytes[at] & 0xc0 == 0x80;
    (QUOTED_LEN - 3..=QUOTED_LEN).rev().find(|at| !inside(at)).unwrap_or(QUOTED_LEN)
}

fn special(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | b'\\')
}

fn to_string(bytes: &[u8], escaped: impl Fn(u8) -> bool + Copy) -> String {
    let mut out = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        // Writing to a Vec cannot fail.
        let _ = write_escaped(chunk.valid(), escaped, &mut out);
        let _ = write_hex(chunk.invalid(), &mut out);
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Writes `text`, and escapes the ASCII bytes for which `escaped` is true.
fn write_escaped(text: &str, escaped: impl Fn(u8) -> bool, out: &mut impl Write) -> io::Result<()> {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|&byte| escaped(byte)) {
        out.write_all(&rest[..at])?;
        match rest[at] {
            b'\t' => out.write_all(b"\\t")?,
            b'\n' => out.write_all(b"\\n")?,
            b'\r' => out.write_all(b"\\r")?,
            b'\\' => out.write_all(b"\\\\")?,
            other => write_hex(&[other], out)?,
        }
        rest = &rest[at + 1..];
    }
    out.write_all(rest)
}

fn write_hex(bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    bytes.iter().try_for_each(|byte| write!(out, "\\x{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn escaped(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        write(bytes, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn plain_text_stands_for_itself() {
        assert_eq!(escaped("naïve ∑ 日本 '\"".as_bytes()), "naïve ∑ 日本 '\"");
        assert_eq!(escaped(b""), "");
    }

    #[test]
    fn the_four_escapes() {
        assert_eq!(escaped(b"\ta\nb\r\n\\n"), "\\ta\\nb\\r\\n\\\\n");
    }

    #[test]
    fn invalid_utf8_is_hex() {
        assert_eq!(escaped(b"\xff\x00a\xc3"), "\\xff\0a\\xc3");
        // The first two bytes of a three-byte character, then a letter.
        assert_eq!(escaped(b"\xe6\x97a"), "\\xe6\\x97a");
    }

    #[test]
    fn what_is_escaped_can_be_undone() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..5_000 {
            let alphabet = b"\\\\tnrxe0,\t\n\r\0a\xc3\xa9\xff";
            let mut bytes = |most| -> Vec<u8> {
                let any = |random: &mut fastrand::Rng| alphabet[random.usize(..alphabet.len())];
                (0..random.usize(..most)).map(|_| any(&mut random)).collect()
            };
            let text = bytes(12);
            assert_eq!(&*undo(escaped(&text).as_bytes()).unwrap(), text);
            let elements: Vec<Vec<u8>> = (0..bytes(4).len()).map(|_| bytes(4)).collect();
            let elements: Vec<&[u8]> = elements.iter().map(Vec::as_slice).collect();
            let mut out = Vec::new();
            write_elements(&elements, &mut out).unwrap();
            assert_eq!(undo_elements(&out).unwrap(), elements, "{}", out.escape_ascii());
        }
        assert_eq!(&*undo(b"\\xFf\xff\t").unwrap(), b"\xff\xff\t");
    }

    #[test]
    fn a_backslash_that_begins_no_escape_is_refused() {
        for (text, named) in [
            ("a\\", "'\\'"),
            ("\\q1", "'\\q'"),
            ("\\xf", "'\\xf'"),
            ("\\xfg", "'\\xfg'"),
            ("\\e", "'\\e'"),
        ] {
            let why = undo(text.as_bytes()).unwrap_err();
            assert_eq!(why, format!("{named} is no escape (those are \\t \\n \\r \\\\ \\xHH)"));
        }
        assert!(undo_elements(b"a,,b").unwrap_err().contains("written \\e"));
        assert!(undo_elements(b"a,\\q").is_err());
    }

    #[test]
    fn messages_quote_on_one_line_and_not_for_ever() {
        assert_eq!(quoted(b"a\x1b\n\\"), "'a\\x1b\\n\\\\'");
        assert_eq!(quoted(&[b'x'; 81]), format!("'{}'… (81 bytes)", "x".repeat(80)));
        let long = format!("{}é", "x".repeat(79));
        assert_eq!(quoted(long.as_bytes()), format!("'{}'… (81 bytes)", "x".repeat(79)));
        assert_eq!(one_line("a\\n\nb"), "a\\n\\nb");
    }
}
