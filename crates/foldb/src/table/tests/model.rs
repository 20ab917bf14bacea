//! Compares the cursor with a vector, under random moves.

use proptest::prelude::*;

use super::*;
use crate::table::tests::round_trip::{records, shapes};

#[derive(Clone, Debug)]
enum Move {
    First,
    Last,
    Seek(Vec<u8>),
    SeekNear(prop::sample::Index, i8),
    SeekBefore(prop::sample::Index, i8),
    Next(u8),
    Prev(u8),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        1 => Just(Move::First),
        1 => Just(Move::Last),
        1 => prop::collection::vec(any::<u8>(), 0..6).prop_map(Move::Seek),
        3 => (any::<prop::sample::Index>(), -1..2i8).prop_map(|(i, d)| Move::SeekNear(i, d)),
        3 => (any::<prop::sample::Index>(), -1..2i8).prop_map(|(i, d)| Move::SeekBefore(i, d)),
        5 => (1..40u8).prop_map(Move::Next),
        5 => (1..40u8).prop_map(Move::Prev),
    ];
    prop::collection::vec(one, 1..40)
}

/// A key of the table, or one just before or after it.
fn near(records: &[Record], index: prop::sample::Index, delta: i8) -> Vec<u8> {
    if records.is_empty() {
        return b"k".to_vec();
    }
    let mut key = index.get(records).key.clone();
    match delta {
        -1 => drop(key.pop()),
        1 => key.push(0),
        _ => {}
    }
    key
}

fn first_at_or_after(records: &[Record], key: &[u8]) -> Option<usize> {
    let at = records.partition_point(|record| record.key.as_slice() < key);
    (at < records.len()).then_some(at)
}

fn last_before(records: &[Record], key: &[u8]) -> Option<usize> {
    records.partition_point(|record| record.key.as_slice() < key).checked_sub(1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn cursor_moves_like_a_vector(
        records in records(),
        shape in shapes(),
        moves in moves(),
        fill_cache: bool,
        readahead in prop_oneof![Just(0), Just(300), Just(READAHEAD)],
    ) {
        let table = open(build(&records, shape).0).unwrap();
        let mut cursor = TableCursor::new(table, CursorOptions { fill_cache, readahead, report: None });
        let mut model: Option<usize> = None;
        for step in moves {
            match step {
                Move::First => {
                    cursor.seek_to_first().unwrap();
                    model = (!records.is_empty()).then_some(0);
                }
                Move::Last => {
                    cursor.seek_to_last().unwrap();
                    model = records.len().checked_sub(1);
                }
                Move::Seek(key) => {
                    cursor.seek(&key).unwrap();
                    model = first_at_or_after(&records, &key);
                }
                Move::SeekNear(index, delta) => {
                    let key = near(&records, index, delta);
                    cursor.seek(&key).unwrap();
                    model = first_at_or_after(&records, &key);
                }
                Move::SeekBefore(index, delta) => {
                    let key = near(&records, index, delta);
                    cursor.seek_before(&key).unwrap();
                    model = last_before(&records, &key);
                }
                Move::Next(steps) => for _ in 0..steps {
                    cursor.next().unwrap();
                    model = model.map(|at| at + 1).filter(|&at| at < records.len());
                    prop_assert_eq!(record(&cursor), model.map(|at| records[at].clone()));
                }
                Move::Prev(steps) => for _ in 0..steps {
                    cursor.prev().unwrap();
                    model = model.and_then(|at| at.checked_sub(1));
                    prop_assert_eq!(record(&cursor), model.map(|at| records[at].clone()));
                }
            }
            prop_assert_eq!(record(&cursor), model.map(|at| records[at].clone()));
            if cursor.valid() {
                prop_assert_eq!(&*cursor.pinned_value(), cursor.value());
            }
        }
    }
}
