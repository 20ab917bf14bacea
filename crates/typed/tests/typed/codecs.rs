//! Keys come back, and their bytes have the order of the values.

use std::cmp::Ordering;
use std::fmt::Debug;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use foldb_typed::schema::Schema;
use foldb_typed::{AsKey, Key, decode, encode};
use proptest::prelude::*;
use uuid::Uuid;

use crate::derived::{City, Level, Reading, Shape};

/// Checks that two keys come back whole, alone and before other bytes, and compare like their
/// bytes.
fn check<K: Key + Debug>(a: &K, b: &K, order: impl Fn(&K, &K) -> Ordering) {
    let bytes = [a, b].map(|key| encode::<K>(key));
    assert_eq!(bytes[0].cmp(&bytes[1]), order(a, b), "{a:?} and {b:?} are {bytes:02x?}");
    for (key, bytes) in [a, b].into_iter().zip(&bytes) {
        assert_eq!(order(&decode(bytes).unwrap(), key), Ordering::Equal, "{key:?}");
        let behind = [bytes, &[0xff, 0][..]].concat();
        let mut rest = &behind[..];
        assert_eq!(order(&K::decode_key(&mut rest).unwrap(), key), Ordering::Equal);
        assert_eq!(rest, [0xff, 0], "the key ends where it ended");
        assert!(decode::<K>(&behind).is_err(), "bytes behind a key are an error");
        for len in 0..bytes.len() {
            assert!(decode::<K>(&bytes[..len]).is_err(), "{key:?} cut at {len}");
        }
    }
    if order(a, b) != Ordering::Equal {
        let [a, b] = &bytes;
        assert!(!a.starts_with(b) && !b.starts_with(a), "{a:02x?} and {b:02x?}");
    }
}

macro_rules! codecs {
    ($($name:ident: $key:ty = $some:expr;)*) => {proptest! {$(
        #[test]
        fn $name(a in $some, b in $some) {
            check::<$key>(&a, &b, Ord::cmp);
        }
    )*}};
}

/// Bytes and texts of few letters, so that many of them share beginnings and have escapes.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![4 => 0..4u8, 1 => Just(0xff), 1 => any::<u8>()];
    proptest::collection::vec(byte, 0..6)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[\u{0}\u{1}\u{2}aé]{0,5}", any::<String>()]
}

fn option() -> impl Strategy<Value = Option<u8>> {
    any::<Option<u8>>()
}

fn duration() -> impl Strategy<Value = Duration> {
    let seconds = prop_oneof![0..3u64, any::<u64>()];
    (seconds, 0..1_000_000_000u32).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos))
}

fn time() -> impl Strategy<Value = SystemTime> {
    let near = (0..4u64, 0..3u32).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos));
    let far = (0..1_u64 << 40, 0..1_000_000_000u32).prop_map(|(s, n)| Duration::new(s, n));
    (any::<bool>(), prop_oneof![near, far]).prop_map(|(is_before, since)| match is_before {
        true => UNIX_EPOCH - since,
        false => UNIX_EPOCH + since,
    })
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::Point),
        text().prop_map(Shape::Named),
        (any::<i8>(), bytes()).prop_map(|(width, r#type)| Shape::Box { width, r#type }),
    ]
}

fn reading() -> impl Strategy<Value = Reading> {
    (text(), level(), any::<i16>()).prop_map(|(sensor, level, number)| Reading {
        sensor,
        level,
        number,
    })
}

fn level() -> impl Strategy<Value = Level> {
    prop_oneof![Just(Level::Low), Just(Level::Middle), Just(Level::High)]
}

codecs! {
    u8_keys: u8 = any::<u8>();
    u16_keys: u16 = any::<u16>();
    u32_keys: u32 = any::<u32>();
    u64_keys: u64 = any::<u64>();
    u128_keys: u128 = any::<u128>();
    i8_keys: i8 = any::<i8>();
    i16_keys: i16 = any::<i16>();
    i32_keys: i32 = any::<i32>();
    i64_keys: i64 = any::<i64>();
    i128_keys: i128 = any::<i128>();
    bool_keys: bool = any::<bool>();
    char_keys: char = any::<char>();
    text_keys: String = text();
    bytes_keys: Vec<u8> = bytes();
    array_keys: [u8; 3] = any::<[u8; 3]>();
    duration_keys: Duration = duration();
    time_keys: SystemTime = time();
    uuid_keys: Uuid = any::<[u8; 16]>().prop_map(Uuid::from_bytes);
    option_keys: Option<Option<u8>> = any::<Option<Option<u8>>>();
    tuple_of_one: (String,) = (text(),);
    tuple_keys: (Vec<u8>, u8, String) = (bytes(), any::<u8>(), text());
    nested_keys: (Option<String>, (Vec<u8>, i16), bool) =
        (proptest::option::of(text()), (bytes(), any::<i16>()), any::<bool>());
    long_tuple_keys: (u8, i8, bool, String, Vec<u8>, char, u16, Option<u8>) =
        (0..2u8, 0..2i8, any::<bool>(), text(), bytes(), any::<char>(), 0..9u16, option());
    struct_keys: Reading = reading();
    newtype_keys: City = text().prop_map(City);
    enum_keys: Shape = shape();
    plain_enum_keys: Level = level();
}

proptest! {
    #[test]
    fn f32_keys(a in any::<u32>(), b in any::<u32>()) {
        check(&f32::from_bits(a), &f32::from_bits(b), f32::total_cmp);
    }

    #[test]
    fn f64_keys(a in any::<u64>(), b in any::<u64>()) {
        check(&f64::from_bits(a), &f64::from_bits(b), f64::total_cmp);
    }

    #[test]
    fn decoders_are_total(bytes in bytes(), more in proptest::collection::vec(any::<u8>(), 0..40)) {
        for bytes in [bytes, more] {
            decodes::<u64>(&bytes);
            decodes::<i128>(&bytes);
            decodes::<f64>(&bytes);
            decodes::<char>(&bytes);
            decodes::<String>(&bytes);
            decodes::<SystemTime>(&bytes);
            decodes::<Duration>(&bytes);
            decodes::<Option<(String, Vec<u8>)>>(&bytes);
            decodes::<(bool, Level, Shape)>(&bytes);
            decodes::<Reading>(&bytes);
        }
    }
}

/// Decodes any bytes. What decodes has the same bytes again, and the same text as its type tells.
fn decodes<K: Key>(bytes: &[u8]) {
    let schema = Schema { keys: K::schema(), values: "none".to_owned() };
    let shown = schema.show_key(bytes);
    match decode::<K>(bytes) {
        Ok(key) => {
            assert_eq!(encode::<K>(&key), bytes);
            assert_eq!(schema.parse_key(&shown.unwrap()).unwrap(), bytes);
        }
        Err(error) => {
            assert_eq!(error.kind(), foldb_typed::ErrorKind::Corruption, "{error}");
            assert!(shown.is_err());
        }
    }
}

#[test]
fn floats_at_the_ends_keep_their_bits() {
    let odd = [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, f64::MIN_POSITIVE];
    for float in odd {
        let back: f64 = decode(&encode::<f64>(float)).unwrap();
        assert_eq!(back.to_bits(), float.to_bits());
    }
}

#[test]
fn borrowed_keys_have_the_bytes_of_owned_ones() {
    fn same<K: Key>(key: K, others: &[&dyn AsKey<K>]) {
        let expected = encode::<K>(&key);
        for other in others {
            let mut bytes = Vec::new();
            other.encode_key(&mut bytes);
            assert_eq!(bytes, expected);
        }
    }
    same("a\0b".to_owned(), &[&"a\0b", &&"a\0b".to_owned()]);
    same(b"a\0b".to_vec(), &[b"a\0b", &&b"a\0b"[..], &"a\0b"]);
    same(("a".to_owned(), 7u8), &[&("a", 7u8), &("a".to_owned(), &7u8)]);
    same((Some("a".to_owned()), (b"b".to_vec(), 1u8)), &[&(Some("a"), (b"b", 1u8))]);
}

/// An end of 00 behind which 00 FF stood for an escaped 00 would mistake this pair.
#[test]
fn a_field_of_ff_behind_a_text_is_no_escape() {
    let pairs = [("a", 255u8), ("a\0", 0), ("a", 0), ("a\u{1}", 255)];
    let mut encoded = pairs.map(|pair| (encode::<(String, u8)>(pair), pair));
    encoded.sort();
    assert_eq!(encoded.map(|(_, pair)| pair), [("a", 0), ("a", 255), ("a\0", 0), ("a\u{1}", 255)]);
}

#[test]
fn errors_say_what_was_expected_and_found() {
    fn message<K: Key + Debug>(bytes: &[u8]) -> String {
        decode::<K>(bytes).unwrap_err().to_string()
    }
    let expected = "corruption: key of type u32: expected 4 bytes, found 3";
    assert_eq!(message::<u32>(&[0; 3]), expected);
    let expected = "corruption: expected the end of the key, found 2 bytes";
    assert_eq!(message::<u8>(&[0; 3]), expected);
    assert!(message::<bool>(&[2]).ends_with("expected 00 or 01, found 02"));
    assert!(message::<char>(&[0, 0, 0xd8, 0]).ends_with("expected a character, found 0xd800"));
    assert!(message::<String>(b"ab").ends_with("expected an end 00, found none"));
    assert!(message::<String>(b"\x01\x03\0").ends_with("01 or 02 after 01, found 03"));
    assert!(message::<String>(b"\x01\0").ends_with("01 or 02 after 01, found the end"));
    assert!(message::<String>(b"a\xff\0").ends_with("expected UTF-8, found another byte at 1"));
    let late = [&[0; 8][..], &1_000_000_000u32.to_be_bytes()].concat();
    assert!(message::<Duration>(&late).contains("expected nanoseconds below 1000000000"));
    assert!(
        message::<Level>(&[3])
            .ends_with("key of type Level: expected a variant below 03, found 03")
    );
}
