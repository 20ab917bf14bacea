use std::borrow::Cow;

use foldb_typed::schema::Schema;

use super::*;
use crate::form::{Form, KeyFormat};

fn cells<'a>(texts: &[&'a str]) -> Vec<Cow<'a, [u8]>> {
    texts.iter().map(|text| Cow::Borrowed(text.as_bytes())).collect()
}

#[test]
fn lists_of_columns_keep_quoted_commas() {
    assert_eq!(split("--key", "a,\"b,c\"").unwrap(), ["a", "b,c"]);
    assert_eq!(split("--key", "a,").unwrap_err().code(), 2);
    assert_eq!(split("--key", "").unwrap_err().code(), 2);
    assert_eq!(split("--key", "a,a").unwrap_err().code(), 2);
}

#[test]
fn joined_columns_read_back() {
    let shape = KeyShape::of(3, None, KeyFormat::Utf8, "::").unwrap();
    let key = shape.key(&cells(&["a", "b:b", "c::d"])).unwrap();
    assert_eq!(key, b"a::b:b::c::d");
    assert_eq!(shape.cells(&key).unwrap(), [&b"a"[..], b"b:b", b"c::d"]);
    assert!(shape.key(&cells(&["a::", "b", "c"])).is_err());
    assert_eq!(KeyShape::of(2, None, KeyFormat::Utf8, "").unwrap_err().code(), 2);
    assert_eq!(KeyShape::of(2, None, KeyFormat::Hex, "/").unwrap_err().code(), 2);
}

/// `b:` and `c` would read back as `b` and `:c`.
#[test]
fn a_column_that_ends_with_half_a_separator_is_refused() {
    let shape = KeyShape::of(2, None, KeyFormat::Utf8, "::").unwrap();
    assert!(shape.key(&cells(&["b:", "c"])).unwrap_err().contains("does not tell its columns"));
}

#[test]
fn typed_columns_read_back() {
    let schema = Schema::parse("foldb-typed/1 keys=(str,i8,option(u8)) values=raw").unwrap();
    let shape = KeyShape::of(3, Some(&schema), KeyFormat::Utf8, "/").unwrap();
    let key = shape.key(&cells(&["a \"b\"", "-7", "some(3)"])).unwrap();
    assert_eq!(shape.cells(&key).unwrap(), [&b"a \"b\""[..], b"-7", b"some(3)"]);
    assert!(shape.key(&cells(&["a", "x", "none"])).unwrap_err().contains("type i8"));
    assert_eq!(KeyShape::of(2, Some(&schema), KeyFormat::Utf8, "/").unwrap_err().code(), 2);
    assert!(matches!(
        KeyShape::of(1, Some(&schema), KeyFormat::Hex, "/"),
        Ok(KeyShape::One(Form::Hex))
    ));
}
