//! Types of keys that are derived.

use foldb_typed::foldb::ErrorKind;
use foldb_typed::{Key, Table, decode, encode};

use crate::support::new;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Key)]
pub(crate) struct Reading {
    pub(crate) sensor: String,
    pub(crate) level: Level,
    #[key(name = "count")]
    pub(crate) number: i16,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Key)]
pub(crate) struct City(pub(crate) String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Key)]
pub(crate) enum Level {
    Low,
    #[key(name = "Mid")]
    Middle,
    High,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Key)]
pub(crate) enum Shape {
    Point,
    Named(String),
    Box { width: i8, r#type: Vec<u8> },
}

#[derive(Clone, Debug, PartialEq, Key)]
struct Unit;

#[test]
fn the_schema_has_the_names_that_are_stored() {
    assert_eq!(Reading::schema(), "{sensor:str,level:enum(Low,Mid,High),count:i16}");
    assert_eq!(City::schema(), "(str)");
    assert_eq!(Shape::schema(), "enum(Point,Named(str),Box{width:i8,type:bytes})");
    assert_eq!(<(Option<City>, [u8; 4])>::schema(), "(option((str)),bytes(4))");
    assert_eq!(Unit::schema(), "()");
    assert_eq!(decode::<Unit>(&encode::<Unit>(Unit)).unwrap(), Unit);
}

#[test]
fn the_first_fields_of_a_struct_are_a_prefix_and_a_range() {
    let table = Table::<Reading, u8>::open(&new(), "readings").unwrap();
    let reading =
        |sensor: &str, level, number| Reading { sensor: sensor.to_owned(), level, number };
    for (index, key) in [
        reading("a", Level::High, 3),
        reading("b", Level::Low, -2),
        reading("b", Level::Low, 5),
        reading("b", Level::High, 0),
        reading("ba", Level::Low, 0),
    ]
    .iter()
    .enumerate()
    {
        table.put(key, index as u8).unwrap();
    }
    let values = |entries: foldb_typed::Entries<Reading, u8>| {
        entries.map(|entry| entry.unwrap().1).collect::<Vec<_>>()
    };
    assert_eq!(values(table.prefix(("b",)).unwrap()), [1, 2, 3]);
    assert_eq!(values(table.prefix(("b", Level::Low)).unwrap()), [1, 2]);
    assert_eq!(values(table.range(("b", Level::Middle..)).unwrap()), [3]);
    assert_eq!(values(table.range(("b", Level::Low, 0..)).unwrap()), [2]);
    assert_eq!(values(table.range(("a".to_owned(), ..)).unwrap()), [0]);
    assert_eq!(values(table.range(reading("b", Level::Low, 5)..).unwrap()), [2, 3, 4]);
}

#[test]
fn another_order_of_variants_is_refused() {
    mod now {
        use foldb_typed::Key;

        #[derive(Debug, Key)]
        pub(super) enum Level {
            High,
            Mid,
            Low,
        }
    }
    let db = new();
    Table::<Level, u8>::open(&db, "levels").unwrap();
    let error = Table::<now::Level, u8>::open(&db, "levels").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("enum(Low,Mid,High)"), "{error}");
    assert!(error.to_string().contains("enum(High,Mid,Low)"), "{error}");
    let _all = [now::Level::High, now::Level::Mid, now::Level::Low];
}
