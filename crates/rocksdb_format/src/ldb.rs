//! The text that RocksDB's tool `ldb` prints with `--hex`.
//!
//! ```text
//! dump:  0x6B6579 ==> 0x76616C7565        last line: Keys in range: 1
//! scan:  0x6B6579 : 0x76616C7565
//! ```

use crate::{Fault, Read};

/// What a line holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A key and its value.
    Entry(Vec<u8>, Vec<u8>),
    /// The number of entries before this line.
    Count(u64),
    /// Nothing.
    Empty,
}

/// What stands between a key and its value.
const BETWEEN: [&str; 2] = [" ==> ", " : "];
const COUNT: &str = "Keys in range: ";

/// Reads a line, without its end.
///
/// # Errors
/// Fails for text that `ldb` does not print with `--hex`.
pub fn line(bytes: &[u8]) -> Read<Line> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end_matches('\r');
    if text.is_empty() {
        return Ok(Line::Empty);
    }
    if let Some(count) = text.strip_prefix(COUNT).and_then(|count| count.trim().parse().ok()) {
        return Ok(Line::Count(count));
    }
    let parts = BETWEEN.iter().find_map(|between| text.split_once(between));
    // An empty value leaves nothing behind the sign.
    let parts = parts.or_else(|| {
        BETWEEN.iter().find_map(|between| Some((text.strip_suffix(between.trim_end())?, "0x")))
    });
    let entry = parts.and_then(|(key, value)| Some((hex(key)?, hex(value)?)));
    entry.map(|(key, value)| Line::Entry(key, value)).ok_or_else(|| {
        let found: String = text.chars().take(40).collect();
        Fault::damaged(format!(
            "expected '0xKEY ==> 0xVALUE' or '0xKEY : 0xVALUE', found '{found}'"
        ))
    })
}

/// Returns the bytes of `0x6B65`.
fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pairs = digits.chunks(2);
    pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_dump_and_scan_are_read() {
        let entry = |key: &str, value: &str| Line::Entry(key.into(), value.into());
        assert_eq!(line(b"0x6B31 ==> 0x76"), Ok(entry("k1", "v")));
        assert_eq!(line(b"0x6b31 : 0x"), Ok(entry("k1", "")));
        assert_eq!(line(b"0x ==> 0x76\r"), Ok(entry("", "v")));
        assert_eq!(line(b"Keys in range: 12"), Ok(Line::Count(12)));
        assert_eq!(line(b""), Ok(Line::Empty));
        for bad in ["key ==> value", "0x6B3 ==> 0x76", "0x6B31", "0xZZ : 0x", "0x6B31 => 0x76"] {
            assert!(line(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
