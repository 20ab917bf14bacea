//! Tests of the loser tree.

use super::*;

fn at(cursor: &MergingCursor) -> Option<Event> {
    cursor.valid().then(|| {
        assert_eq!(&*cursor.pinned_value(), &*cursor.value());
        Event::new(cursor.key(), cursor.header(), &cursor.value())
    })
}

fn forward(cursor: &mut MergingCursor) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = at(cursor) {
        events.push(event);
        cursor.next().unwrap();
    }
    events
}

fn backward(cursor: &mut MergingCursor) -> Vec<Event> {
    let mut events = Vec::new();
    while let Some(event) = at(cursor) {
        events.push(event);
        cursor.prev().unwrap();
    }
    events.reverse();
    events
}

/// Events with distinct sequence numbers, and the source that each belongs to.
fn split() -> impl Strategy<Value = Vec<Vec<Event>>> {
    let events = proptest::collection::vec((key(), any::<prop::sample::Index>()), 0..40);
    (0..9usize, events).prop_map(|(count, events)| {
        let mut split = vec![Vec::new(); count];
        for (seqno, (key, source)) in (1..).zip(events) {
            if count > 0 {
                let mut event = Event::put("", seqno, &format!("value {seqno} of this key"));
                event.key = key;
                split[source.index(count)].push(event);
            }
        }
        split
    })
}

#[test]
fn no_sources_give_no_records() {
    let mut cursor = MergingCursor::new(Sources::new(), &bytewise());
    cursor.seek_to_first().unwrap();
    assert!(!cursor.valid());
    cursor.seek_before(b"x").unwrap();
    assert!(!cursor.valid());
}

/// Of two records with the same key and sequence number, the newer source's comes first, and last
/// on the way back.
#[test]
fn ties_go_to_the_newer_source() {
    let bench = Workbench::new();
    for count in 2..6 {
        let split: Vec<_> =
            (0..count).map(|i| vec![Event::put("k", 5, &format!("source {i}"))]).collect();
        let expected: Vec<_> = split.concat();
        let mut cursor = MergingCursor::new(sources(&bench, &split), &bytewise());
        cursor.seek_to_first().unwrap();
        assert_eq!(forward(&mut cursor), expected);
        cursor.seek_to_last().unwrap();
        assert_eq!(backward(&mut cursor), expected);
    }
}

#[test]
fn after_a_failed_move_it_stands_nowhere() {
    use foldb_env::mem::{Fault, Operation};
    let bench = Workbench::new();
    let events: Vec<_> = (0..40).map(|i| Event::put(&format!("{i:03}"), i + 1, "x")).collect();
    let split = vec![Vec::new(), events.clone(), vec![Event::put("000", 99, "y")]];
    bench.mem.inject(Fault::on(Operation::Read).nth(10).forever());
    let mut cursor = MergingCursor::new(sources(&bench, &split), &bytewise());
    let failed = (|| {
        cursor.seek_to_first()?;
        while cursor.valid() {
            cursor.next()?;
        }
        Ok::<(), crate::Error>(())
    })();
    assert_eq!(failed.unwrap_err().kind(), crate::ErrorKind::Io);
    assert!(!cursor.valid());
    assert!(cursor.seek(b"030").is_err());
    assert!(!cursor.valid());
    assert!(cursor.seek_to_last().is_err());
    assert!(!cursor.valid());
    bench.mem.clear_faults();
    cursor.seek_to_first().unwrap();
    assert_eq!(forward(&mut cursor).len(), 41);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn merging_is_sorting(
        split in split(),
        seeks in prop::collection::vec(key(), 4),
        comparator in orders(),
    ) {
        let bench = Workbench::ordered_by(Arc::clone(&comparator));
        let expected = in_order(&*comparator, split.concat());
        let mut cursor = MergingCursor::new(sources(&bench, &split), &comparator);
        cursor.seek_to_first().unwrap();
        prop_assert_eq!(&forward(&mut cursor), &expected);
        cursor.seek_to_last().unwrap();
        prop_assert_eq!(&backward(&mut cursor), &expected);
        for key in seeks {
            let cut = expected.partition_point(|event| comparator.compare(&event.key, &key).is_lt());
            cursor.seek(&key).unwrap();
            prop_assert_eq!(&forward(&mut cursor)[..], &expected[cut..]);
            cursor.seek_before(&key).unwrap();
            prop_assert_eq!(&backward(&mut cursor)[..], &expected[..cut]);
        }
    }
}
