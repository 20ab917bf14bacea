//! Keys and values as text, from the schema alone.

use std::time::{Duration, UNIX_EPOCH};

use foldb_typed::schema::Schema;
use foldb_typed::{AsKey, ErrorKind, Key, MergeTable, Set, encode};
use uuid::Uuid;

use crate::derived::{City, Level, Reading, Shape};
use crate::support::new;

fn of_keys(keys: &str) -> Schema {
    Schema { keys: keys.to_owned(), values: "postcard".to_owned() }
}

#[track_caller]
fn check<K: Key>(key: impl AsKey<K>, expected: &str) {
    let (bytes, schema) = (encode::<K>(key), of_keys(&K::schema()));
    assert_eq!(schema.show_key(&bytes).unwrap(), expected);
    assert_eq!(schema.parse_key(expected).unwrap(), bytes);
}

#[test]
fn keys_are_shown_and_read_back() {
    check::<u8>(7, "7");
    check::<i128>(i128::MIN, "-170141183460469231731687303715884105728");
    check::<f64>(-0.5, "-0.5");
    check::<f64>(f64::NEG_INFINITY, "-inf");
    check::<f64>(f64::from_bits(0x7ff8_0000_0000_0007), "nan:7ff8000000000007");
    check::<f32>(f32::from_bits(0xffc0_0001), "nan:ffc00001");
    check::<bool>(true, "true");
    check::<char>('\'', r"'\''");
    check::<String>("a \"b\"\n\u{0}é", r#""a \"b\"\n\0é""#);
    check::<Vec<u8>>(b"\0\xff", "0x00ff");
    check::<[u8; 2]>([1, 2], "0x0102");
    check::<Option<Option<u8>>>(Some(None::<u8>), "some(none)");
    check::<(String, i8)>(("berlin", -7), "(\"berlin\", -7)");
    check::<Duration>(Duration::from_millis(1500), "1.5s");
    let id = "67e55044-10b1-426f-9247-bb680e5fe0c8";
    check::<Uuid>(Uuid::parse_str(id).unwrap(), id);
    let reading = Reading { sensor: "roof".to_owned(), level: Level::Middle, number: -3 };
    check::<Reading>(reading, "{sensor: \"roof\", level: Mid, count: -3}");
    check::<City>(City("x".to_owned()), "(\"x\")");
    check::<Shape>(Shape::Point, "Point");
    check::<Shape>(Shape::Named("n".to_owned()), "Named(\"n\")");
    check::<Shape>(Shape::Box { width: 1, r#type: vec![2] }, "Box{width: 1, type: 0x02}");
}

#[test]
fn moments_are_shown_in_utc() {
    let at = |seconds: u64| UNIX_EPOCH + Duration::from_secs(seconds);
    check::<std::time::SystemTime>(UNIX_EPOCH, "1970-01-01T00:00:00Z");
    check::<std::time::SystemTime>(at(951_782_400), "2000-02-29T00:00:00Z");
    check::<std::time::SystemTime>(at(1_795_789_754), "2026-11-27T14:29:14Z");
    let before = UNIX_EPOCH - Duration::from_millis(500);
    check::<std::time::SystemTime>(before, "1969-12-31T23:59:59.5Z");
    for wrong in ["2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "now"] {
        assert!(of_keys("time").parse_key(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn text_of_another_type_is_refused_at_its_place() {
    let message = |keys: &str, text: &str| {
        let error = of_keys(keys).parse_key(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        error.to_string()
    };
    assert_eq!(
        message("u8", "256"),
        "key: expected a number of type u8, found the end of the text"
    );
    assert_eq!(message("(str,u8)", "(\"a\"; 7)"), "key: expected ',', found '; 7)'");
    assert_eq!(message("(str,u8)", "(\"a\", 7"), "key: expected ')', found the end of the text");
    assert_eq!(message("u8", "7 8"), "key: expected the end, found '8'");
    assert!(message("str", "berlin").starts_with("key: expected a text in \"\", found 'berlin'"));
    assert!(message("enum(Low,High)", "Mid").starts_with("key: expected one of Low, High, found"));
    assert!(message("bytes(2)", "0x01").starts_with("key: expected 0x and the digits of 2 bytes"));
    // Spaces do not count.
    assert!(of_keys("(str,u8)").parse_key(" ( \"a\" ,7 ) ").is_ok());
}

#[test]
fn unknown_types_are_unsupported() {
    for keys in
        ["u9", "option(u8", "(u8", "{a:u8", "enum(A(u8)", "u8 ", "acme.point", &"(".repeat(1000)]
    {
        let error = of_keys(keys).show_key(b"").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{keys}");
    }
}

#[test]
fn values_that_are_encoded_as_keys_are_shown() {
    let of_values = |values: &str| Schema { keys: "u8".to_owned(), values: values.to_owned() };
    let pair = encode::<(String, u8)>(("a", 7));
    for values in ["key((str,u8))", "max((str,u8))", "min((str,u8))"] {
        let shown = of_values(values).show_value(&pair).unwrap();
        assert_eq!(shown.as_deref(), Some("(\"a\", 7)"));
    }
    for values in
        ["postcard", "raw", "none", "counter", "sum(u64)", "last(3)", "sketch(u8)", "json"]
    {
        assert_eq!(of_values(values).show_value(&pair).unwrap(), None, "{values}");
    }
    let table = MergeTable::<u8, Set<i8>>::open(&new(), "sets").unwrap();
    table.insert(1, 5).unwrap();
    table.insert(1, -5).unwrap();
    let value = table.keyspace().get([1]).unwrap().unwrap();
    let shown = MergeTable::<u8, Set<i8>>::schema().show_value(&value).unwrap();
    assert_eq!(shown.as_deref(), Some("{-5, 5}"));
}

#[test]
fn keys_are_columns_of_text() {
    let columns = of_keys("(str,char,option(u8),{a:i8})").key_columns().unwrap();
    let texts = ["a \"b\"", "'", "some(7)", "{a: -1}"];
    let key = columns.read(&texts).unwrap();
    assert_eq!(key, encode::<(String, char, Option<u8>, i8)>(("a \"b\"", '\'', Some(7_u8), -1)));
    assert_eq!(columns.show(&key).unwrap(), texts);
    assert_eq!(columns.show(&key[1..]).unwrap()[0], " \"b\"");
    assert_eq!(columns.show(&key[..3]).unwrap_err().kind(), ErrorKind::Corruption);
    for wrong in [["a", "bc", "none", "{a: 1}"], ["a", "b", "", "{a: 1}"], ["a", "b", "none", "1"]]
    {
        let error = columns.read(&wrong).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{wrong:?}");
    }
    assert!(columns.read(&["a"]).unwrap_err().to_string().contains("expected 4 columns, found 1"));
    let columns = of_keys("{city:str,number:u16}").key_columns().unwrap();
    assert_eq!((columns.count(), columns.name(1), columns.name(2)), (2, Some("number"), None));
    assert!(columns.is_integer(1) && !columns.is_integer(0));
    let whole = of_keys("u32").key_columns().unwrap();
    assert_eq!((whole.count(), whole.name(0)), (1, None));
    assert_eq!(whole.read(&["258"]).unwrap(), 258_u32.to_be_bytes());
    assert_eq!(of_keys("other").key_columns().unwrap_err().kind(), ErrorKind::Unsupported);
}
