//! Bytes on one line of text.
//!
//! TAB, newline, carriage return and backslash are written `\t \n \r \\`, bytes that are not
//! UTF-8 `\xHH`; everything else stands for itself. So a line splits at its one TAB, and nothing is
//! lost.

use std::io::{self, Write};

/// Longest piece of a key or text that a message quotes, in bytes.
const QUOTED_LEN: usize = 80;

/// Writes `bytes` escaped.
pub fn write(bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
    for chunk in bytes.utf8_chunks() {
        write_escaped(chunk.valid(), special, out)?;
        write_hex(chunk.invalid(), out)?;
    }
    Ok(())
}

/// A key or a text in a message: in quotes, escaped with control characters too, and cut where it
/// is long.
pub fn quoted(bytes: &[u8]) -> String {
    let (shown, rest) = match bytes.len() {
        0..=QUOTED_LEN => (bytes, String::new()),
        len => (&bytes[..character_boundary(bytes)], format!("… ({len} bytes)")),
    };
    format!("'{}'{rest}", to_string(shown, |byte| special(byte) || byte.is_ascii_control()))
}

/// A whole message on one line. Backslashes stay as they are: what it quotes is escaped already.
pub fn one_line(message: &str) -> String {
    to_string(message.as_bytes(), |byte| byte.is_ascii_control())
}

/// Where to cut a long text: not inside a character.
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

/// Writes `text` with the ASCII bytes for which `escaped` holds escaped.
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
    fn messages_quote_on_one_line_and_not_for_ever() {
        assert_eq!(quoted(b"a\x1b\n\\"), "'a\\x1b\\n\\\\'");
        assert_eq!(quoted(&[b'x'; 81]), format!("'{}'… (81 bytes)", "x".repeat(80)));
        let long = format!("{}é", "x".repeat(79));
        assert_eq!(quoted(long.as_bytes()), format!("'{}'… (81 bytes)", "x".repeat(79)));
        assert_eq!(one_line("a\\n\nb"), "a\\n\\nb");
    }
}
