//! Tests of a run of trimmed tables (H1).

use super::*;

fn at(cursor: &RunCursor) -> Option<Event> {
    cursor.valid().then(|| {
        assert_eq!(&*cursor.pinned_value(), cursor.value());
        Event::new(cursor.key(), cursor.header(), cursor.value())
    })
}

/// Compares everything the cursor does with the visible records, in order.
fn check(
    cursor: &mut RunCursor,
    comparator: &dyn Comparator,
    expected: &[Event],
    keys: &[Vec<u8>],
) {
    let walk = |cursor: &mut RunCursor, step: fn(&mut RunCursor) -> crate::Result<()>| {
        let mut events = Vec::new();
        while let Some(event) = at(cursor) {
            events.push(event);
            step(cursor).unwrap();
        }
        events
    };
    cursor.seek_to_first().unwrap();
    assert_eq!(walk(cursor, RunCursor::next), expected);
    cursor.seek_to_last().unwrap();
    let mut back = walk(cursor, RunCursor::prev);
    back.reverse();
    assert_eq!(back, expected);
    for key in keys {
        let cut = expected.partition_point(|event| comparator.compare(&event.key, key).is_lt());
        cursor.seek(key).unwrap();
        assert_eq!(at(cursor).as_ref(), expected.get(cut), "seek {key:?}");
        assert_eq!(walk(cursor, RunCursor::next), expected[cut..]);
        cursor.seek_before(key).unwrap();
        let mut back = walk(cursor, RunCursor::prev);
        back.reverse();
        assert_eq!(back, expected[..cut], "seek before {key:?}");
    }
}

#[test]
fn trimmed_records_are_not_shown() {
    let bench = Workbench::new();
    let version = bench.draw(
        "L0 r1: [a.PUT.1(1) b.PUT.2(2) c.PUT.3(3)]@b..c [d.PUT.4(4) e.PUT.5(5)]@dd..e \
                [f.PUT.9(6) f.PUT.8(6) g.PUT.7(7)]@f..=g [h.PUT.1(1) i.PUT.1(2)]@i..=i",
    );
    let expected = [
        Event::put("b", 2, "2"),
        Event::put("f", 9, "6"),
        Event::put("f", 8, "6"),
        Event::put("g", 7, "7"),
        Event::put("i", 1, "2"),
    ];
    let keys = ["", "a", "b", "bb", "c", "d", "dd", "e", "f", "ff", "g", "h", "i", "j"];
    let keys: Vec<_> = keys.iter().map(|key| key.as_bytes().to_vec()).collect();
    let mut cursor = run_cursor(&bench, &version).unwrap();
    check(&mut cursor, &BytewiseComparator, &expected, &keys);
}

#[test]
fn a_run_without_a_visible_record_is_empty() {
    let bench = Workbench::new();
    let version = bench.draw("L0 r1: [a.PUT.1(1) c.PUT.3(3)]@b..c [d.PUT.4(4) f.PUT.5(5)]@e..f");
    let mut cursor = run_cursor(&bench, &version).unwrap();
    check(&mut cursor, &BytewiseComparator, &[], &[b"".to_vec(), b"b".to_vec(), b"z".to_vec()]);
}

#[test]
fn only_tables_of_the_range_are_opened() {
    let bench = Workbench::new();
    let version = bench.draw("L0 r1: [a.PUT.1(1)] [b.PUT.1(1)] [c.PUT.1(1)] [d.PUT.1(1)]");
    let range = KeyRange {
        lo: Some(b"b".as_slice().into()),
        hi: Some(Upper::Excluded(b"d".as_slice().into())),
    };
    let options = CursorOptions::default();
    let run = version.run(1).unwrap();
    let mut cursor = RunCursor::new(run, &range, &bench.tables, &bench.comparator, options);
    cursor.seek_to_first().unwrap();
    assert_eq!(cursor.key(), b"b");
    cursor.seek_to_last().unwrap();
    assert_eq!(cursor.key(), b"c");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn runs_against_a_vector(
        records in prop::collection::vec(key(), 1..30),
        table_len in 1..4usize,
        carves in prop::collection::vec((key(), key()), 0..3),
        seeks in prop::collection::vec(key(), 3),
        comparator in orders(),
    ) {
        let bench = Workbench::ordered_by(Arc::clone(&comparator));
        let events: Vec<_> = (1..)
            .zip(records)
            .map(|(seqno, key)| Event { key, ..Event::put("", seqno, "x") })
            .collect();
        let mut version = run(&bench, &events, table_len);
        let mut expected = in_order(&*comparator, events);
        for (a, b) in carves {
            let (lo, hi) = if comparator.compare(&a, &b).is_lt() { (a, b) } else { (b, a) };
            if comparator.compare(&lo, &hi).is_eq() || version.run(1).is_none() {
                continue;
            }
            expected.retain(|event| {
                comparator.compare(&event.key, &lo).is_lt()
                    || comparator.compare(&event.key, &hi).is_ge()
            });
            let range = KeyRange { lo: Some(lo.into()), hi: Some(Upper::Excluded(hi.into())) };
            version = bench.apply(&version, &[TreeEdit::Carve { run: 1, range }]);
        }
        if let Some(mut cursor) = run_cursor(&bench, &version) {
            check(&mut cursor, &*comparator, &expected, &seeks);
        } else {
            prop_assert!(expected.is_empty());
        }
    }
}
