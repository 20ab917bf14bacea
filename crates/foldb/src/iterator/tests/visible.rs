//! Compares the iterator that users see with a sorted vector of the visible entries.

use std::ops::Bound;
use std::sync::Mutex;

use super::*;
use crate::counters::Totals;
use crate::error::ErrorKind;
use crate::key::SeqNo;
use crate::testing::tree::read_events_in;

/// Ignores the effort of iterators.
struct Nobody;

impl crate::iterator::Payee for Nobody {
    fn pay(&self, _: crate::iterator::Effort) {}
}

/// Records the effort of iterators.
#[derive(Default)]
struct Account(Mutex<crate::iterator::Effort>);

impl crate::iterator::Payee for Account {
    fn pay(&self, effort: crate::iterator::Effort) {
        let mut sum = self.0.lock().unwrap();
        (sum.seeks, sum.steps) = (sum.seeks + effort.seeks, sum.steps + effort.steps);
    }
}

fn iter(bench: &Workbench, split: &[Vec<Event>], seqno: SeqNo, bounds: Bounds) -> Iter {
    iter_for(bench, split, seqno, bounds, Arc::new(Nobody))
}

fn iter_for(
    bench: &Workbench,
    split: &[Vec<Event>],
    seqno: SeqNo,
    bounds: Bounds,
    reader: Arc<dyn crate::iterator::Payee>,
) -> Iter {
    let (sources, covers) = sources_with_covers(bench, split);
    Iter::new(VisibleParts {
        records: MergingCursor::new(sources, Arc::clone(&bench.comparator)),
        covers: Covers::new(covers, [seqno], &bench.comparator),
        seqno,
        bounds,
        comparator: Arc::clone(&bench.comparator),
        resolver: bench.registry.cached_resolver(),
        values: None,
        reader,
        totals: Arc::new(Totals::default()),
        report: None,
    })
}

fn everything() -> Bounds {
    Bounds { lower: Bound::Unbounded, upper: Bound::Unbounded }
}

/// Returns the entry under the cursor, `!` for a failed merge.
fn at(iter: &Iter) -> Option<(Vec<u8>, String)> {
    iter.valid().then(|| {
        let value = match iter.value() {
            Ok(value) => value.escape_ascii().to_string(),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::MergeFailed);
                "!".to_owned()
            }
        };
        (iter.key().to_vec(), value)
    })
}

fn history(text: &str) -> Vec<Event> {
    crate::testing::history::parse(text)
}

#[test]
fn a_failed_merge_is_an_entry_of_its_own() {
    let bench = Workbench::new();
    let events = history("a.PUT.1(1) b.MERGE.2(*) c.PUT.3(3)");
    let mut entries = iter(&bench, &[events], 9, everything());
    assert!(entries.seek("b").unwrap());
    assert_eq!(at(&entries), Some((b"b".to_vec(), "!".to_owned())));
    assert!(entries.advance().unwrap());
    assert_eq!(entries.key(), b"c");
    let events = history("a.PUT.1(1) b.MERGE.2(*) c.PUT.3(3)");
    let mut entries = iter(&bench, &[events], 9, everything());
    assert_eq!(entries.next().unwrap().unwrap().0, b"a");
    assert_eq!(entries.next().unwrap().unwrap_err().kind(), ErrorKind::MergeFailed);
    assert_eq!(entries.next().unwrap().unwrap().0, b"c");
    assert!(entries.next().is_none() && entries.next().is_none());
}

#[test]
fn the_rust_iterator_goes_on_from_where_it_stands() {
    let bench = Workbench::new();
    let events = history("a.PUT.1(1) b.PUT.2(2) c.PUT.3(3) d.PUT.4(4)");
    let keys = |entries: Vec<crate::Result<(Vec<u8>, crate::Value)>>| -> String {
        entries.into_iter().map(|entry| entry.unwrap().0[0] as char).collect()
    };
    let fresh = || iter(&bench, std::slice::from_ref(&events), 9, everything());
    assert_eq!(keys(fresh().collect()), "abcd");
    assert_eq!(keys(fresh().reversed().collect()), "dcba");

    let mut entries = fresh();
    assert!(entries.seek("bb").unwrap());
    assert_eq!(
        keys(entries.by_ref().take(1).collect()),
        "c",
        "the entry under the cursor comes first"
    );
    assert_eq!(keys(entries.reversed().collect()), "ba", "the forward walk returned c already");

    let mut entries = fresh();
    assert!(entries.seek_for_prev("bb").unwrap());
    assert_eq!(keys(entries.reversed().collect()), "ba");
}

#[test]
fn after_a_failed_read_only_a_seek_leads_back() {
    use foldb_env::mem::{Fault, Operation};
    let bench = Workbench::new();
    let events: Vec<_> = (0..40).map(|i| Event::put(&format!("{i:03}"), i + 1, "x")).collect();
    let mut entries = iter(&bench, &[Vec::new(), events.clone()], 99, everything());
    assert!(entries.seek("010").unwrap());
    bench.mem.inject(Fault::on(Operation::Read).forever());
    let mut steps = 0;
    let error = loop {
        match entries.advance() {
            Ok(there) => assert!(there),
            Err(error) => break error,
        }
        steps += 1;
    };
    assert!(steps < 20);
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(!entries.valid());
    assert!(!entries.advance().unwrap() && !entries.retreat().unwrap());
    assert!(entries.next().is_none(), "an error comes once");
    assert!(entries.seek("030").is_err());
    assert!(!entries.valid());
    bench.mem.clear_faults();
    assert!(entries.seek("030").unwrap());
    assert_eq!(entries.count(), 10);

    // The same when the failure happens at a change of direction.
    let mut entries = iter(&bench, &[Vec::new(), events], 99, everything());
    assert!(entries.seek_for_prev("039").unwrap());
    bench.mem.inject(Fault::on(Operation::Read).forever());
    while entries.retreat().is_ok_and(|there| there) {}
    assert!(!entries.valid());
    assert!(entries.advance().is_ok_and(|there| !there));
    bench.mem.clear_faults();
}

/// An iterator writes each value over the one before, wherever both lie. A value that the caller
/// took along stays what it was.
#[test]
fn values_taken_along_keep_their_bytes_while_the_iterator_goes_on() {
    let bench = Workbench::new();
    let lengths = [0, 17, 3, 16, 100, 15, 4000, 8, 100, 5, 0, 3000, 1, 18, 20];
    let put = |n: usize, seqno: usize| {
        let value = char::from(b'a' + (n % 26) as u8).to_string().repeat(lengths[n % 15]);
        Event::put(&format!("{n:04}"), seqno as SeqNo, &value)
    };
    // Every third key lies in the memtable, half of these over one in the table.
    let old: Vec<Event> = (0..300).filter(|n| n % 6 != 0).map(|n| put(n, n + 1)).collect();
    let new: Vec<Event> = (0..300).step_by(3).map(|n| put(n, n + 1001)).collect();
    for split in [vec![new.clone(), old.clone()], vec![Vec::new(), [old, new].concat()]] {
        let mut entries = iter(&bench, &split, 2000, everything());
        let mut taken = Vec::new();
        while entries.advance().unwrap() {
            taken.push((entries.key().to_vec(), entries.value().unwrap().clone()));
        }
        assert_eq!(taken.len(), 300);
        for (n, (key, value)) in taken.iter().enumerate() {
            assert_eq!(*key, format!("{n:04}").into_bytes());
            assert_eq!(value.len(), lengths[n % 15]);
            assert!(value.iter().all(|&byte| byte == b'a' + (n % 26) as u8), "at {n}");
        }
    }
}

/// A key that was overwritten a thousand times, or whose versions snapshots keep in a table, lies
/// between two others. Walks over it once stepped on each version.
#[test]
fn a_key_of_many_versions_is_passed_in_a_few_steps() {
    let bench = Workbench::new();
    let hot = (2..=1000).map(|seqno| Event::put("h", seqno, "x"));
    let hot: Vec<Event> = hot.chain([Event::put("i", 1001, "1")]).collect();
    let other = vec![Event::put("a", 1, "1")];
    for split in [[hot.clone(), other.clone()], [other, hot]] {
        let account = Arc::new(Account::default());
        let mut entries = iter_for(&bench, &split, 1001, everything(), account.clone());
        assert!(entries.seek("b").unwrap());
        assert_eq!(entries.key(), b"h");
        assert!(entries.advance().unwrap() && entries.seek_to_last().unwrap());
        assert!(entries.retreat().unwrap());
        assert_eq!(entries.key(), b"h");
        assert!(entries.retreat().unwrap() && entries.advance().unwrap());
        assert_eq!(entries.key(), b"h");
        assert!(entries.seek_for_prev("h").unwrap());
        drop(entries);
        let steps = account.0.lock().unwrap().steps;
        assert!(steps < 150, "{steps} steps");
    }
}

/// However many versions there are, both directions find the newest that a reader sees.
#[test]
fn walks_over_many_versions_find_the_same_both_ways() {
    let bench = Workbench::new();
    let mut split = vec![Vec::new(), Vec::new(), Vec::new()];
    for seqno in 1..=200u64 {
        let event = match seqno % 50 {
            0 => Event::put("h", seqno, "1"),
            25 => Event::delete("h", seqno),
            _ => Event::merge("h", seqno, "+1"),
        };
        split[(seqno / 67).min(2) as usize].push(event);
    }
    split.reverse();
    split[2].extend([Event::put("a", 201, "1"), Event::put("z", 202, "1")]);
    let events = split.concat();
    for seqno in (1..=202).step_by(7) {
        let expected = read_events_in(&*bench.comparator, &events, b"h", seqno);
        let found = |entries: &Iter| {
            let (key, value) = at(entries)?;
            (key == b"h").then_some(value)
        };
        let mut entries = iter(&bench, &split, seqno, everything());
        entries.seek("h").unwrap();
        let forward = found(&entries);
        entries.seek_for_prev("hh").unwrap();
        assert_eq!(found(&entries), forward);
        assert_eq!(forward.unwrap_or("-".to_owned()), expected, "at {seqno}");
    }
}

/// Thousands of keys in a table, all but the ends deleted by one range delete. A walk once stepped
/// on each of them, and so did each later walk.
#[test]
fn a_range_that_was_deleted_is_jumped_over() {
    let bench = Workbench::new();
    let key = |n: u64| format!("{n:06}");
    let keys = 5000;
    let mut puts: Vec<Event> = (0..keys).map(|n| Event::put(&key(n), n + 1, "x")).collect();
    let delete = Event::delete_range(&key(1), &key(keys - 1), keys + 1);
    for in_memtable in [false, true] {
        let account = Arc::new(Account::default());
        let (sources, covers) = if in_memtable {
            puts.push(delete.clone());
            let memtable = memtable(&bench.comparator, &puts);
            let covers = memtable.range_tombstones().map(CoverSource::Memtable);
            (vec![Source::Memtable(memtable.cursor(keys + 1))], covers.into_iter().collect())
        } else {
            let version = run(&bench, &puts, 1000);
            let newer = memtable(&bench.comparator, std::slice::from_ref(&delete));
            let table = run_cursor(&bench, &version).map(Source::Run);
            let covers = newer.range_tombstones().map(CoverSource::Memtable);
            (table.into_iter().collect::<Vec<_>>(), covers.into_iter().collect::<Vec<_>>())
        };
        let mut entries = Iter::new(VisibleParts {
            records: MergingCursor::new(sources, Arc::clone(&bench.comparator)),
            covers: Covers::new(covers, [keys + 1], &bench.comparator),
            seqno: keys + 1,
            bounds: everything(),
            comparator: Arc::clone(&bench.comparator),
            resolver: bench.registry.cached_resolver(),
            values: None,
            reader: Arc::clone(&account) as _,
            totals: Arc::new(Totals::default()),
            report: None,
        });
        let first = Some((key(0).into_bytes(), "x".to_owned()));
        let last = Some((key(keys - 1).into_bytes(), "x".to_owned()));
        assert!(entries.seek_to_first().unwrap());
        assert_eq!(at(&entries), first);
        assert!(entries.advance().unwrap());
        assert_eq!(at(&entries), last);
        assert!(entries.retreat().unwrap());
        assert_eq!(at(&entries), first);
        assert!(!entries.retreat().unwrap());
        drop(entries);
        let jumps = account.0.lock().unwrap().steps;
        assert!((2..60).contains(&jumps), "{jumps} jumps");
    }
}

/// A queue: keys put at one end and deleted at the other. A table holds keys in between. The
/// walk shows every live key, and deletes hide the table's keys.
#[test]
fn runs_of_deleted_keys_hide_what_lies_in_tables() {
    let bench = Workbench::new();
    let key = |n: u64| format!("{n:06}");
    let keys = 600u64;
    let old: Vec<Event> = (0..keys).step_by(50).map(|n| Event::put(&key(n), n + 1, "o")).collect();
    let mut new: Vec<Event> = (0..keys).map(|n| Event::delete(&key(n), keys + n + 1)).collect();
    new.push(Event::put(&key(keys / 2 + 7), 3 * keys, "n"));
    let memtable = memtable(&bench.comparator, &new);
    let version = run(&bench, &old, 1000);
    let entries = |seqno: SeqNo| {
        let table = run_cursor(&bench, &version).map(Source::Run);
        let sources = [Source::Memtable(memtable.cursor(seqno))].into_iter().chain(table);
        Iter::new(VisibleParts {
            records: MergingCursor::new(sources.collect(), Arc::clone(&bench.comparator)),
            covers: None,
            seqno,
            bounds: everything(),
            comparator: Arc::clone(&bench.comparator),
            resolver: bench.registry.cached_resolver(),
            values: None,
            reader: Arc::new(Nobody),
            totals: Arc::new(Totals::default()),
            report: None,
        })
    };
    let events = [old, new].concat();
    for seqno in [3 * keys, 2 * keys, 3 * keys, 3 * keys - 1, keys + keys / 2, keys, 3 * keys] {
        let there = |n: &u64| {
            let key = key(*n).into_bytes();
            read_events_in(&*bench.comparator, &events, &key, seqno) != "-"
        };
        let expected: Vec<Vec<u8>> = (0..keys).filter(there).map(|n| key(n).into_bytes()).collect();
        let forward: Vec<_> = entries(seqno).map(|entry| entry.unwrap().0).collect();
        assert_eq!(forward, expected, "forwards at {seqno}");
        let mut backward: Vec<_> =
            entries(seqno).reversed().map(|entry| entry.unwrap().0).collect();
        backward.reverse();
        assert_eq!(backward, expected, "backwards at {seqno}");
    }
}

#[derive(Clone, Debug)]
enum Move {
    First,
    Last,
    Seek(Vec<u8>),
    SeekForPrev(Vec<u8>),
    Advance,
    Retreat,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        1 => Just(Move::First),
        1 => Just(Move::Last),
        2 => key().prop_map(Move::Seek),
        2 => key().prop_map(Move::SeekForPrev),
        4 => Just(Move::Advance),
        4 => Just(Move::Retreat),
    ];
    proptest::collection::vec(one, 1..40)
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        2 => Just(Bound::Unbounded),
        1 => key().prop_map(Bound::Included),
        1 => key().prop_map(Bound::Excluded),
    ]
}

fn split() -> impl Strategy<Value = Vec<Vec<Event>>> {
    let operands = vec!["+1", "-2", ",x", "=v", "!", "#1", "#-1", "*"];
    let event = prop_oneof![
        3 => select(operands).prop_map(|operand| Event::merge("", 0, operand)),
        4 => Just(Event::put("", 0, "1")),
        2 => Just(Event::delete("", 0)),
        1 => key().prop_map(|end| Event { value: end, ..Event::delete_range("", "", 0) }),
    ];
    let events = proptest::collection::vec((key(), event, any::<prop::sample::Index>()), 0..40);
    (1..5usize, events).prop_map(|(count, events)| {
        let mut split = vec![Vec::new(); count];
        for (seqno, (key, mut event, source)) in (1..).zip(events) {
            (event.key, event.header.seqno) = (key, seqno);
            split[source.index(count)].push(event);
        }
        split
    })
}

/// Returns a key in the spelling of its newest record that a reader at `seqno` sees.
fn newest_spelling(
    comparator: &dyn Comparator,
    events: &[Event],
    key: &[u8],
    seqno: SeqNo,
) -> Vec<u8> {
    let of_key = events.iter().filter(|event| !event.is_range() && event.header.seqno <= seqno);
    let of_key = of_key.filter(|event| comparator.compare(&event.key, key).is_eq());
    of_key.max_by_key(|event| event.header.seqno).expect("a visible key").key.clone()
}

/// Position of the model.
#[derive(Clone, Copy)]
enum Place {
    Fresh,
    At(usize),
    Nowhere,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn iterators_against_a_vector(
        split in split(),
        seqno in 0..45u64,
        lower in bound(),
        upper in bound(),
        moves in moves(),
        comparator in orders(),
    ) {
        let compare = |a: &[u8], b: &[u8]| comparator.compare(a, b);
        let bench = Workbench::ordered_by(Arc::clone(&comparator));
        let split: Vec<Vec<Event>> = split
            .into_iter()
            .map(|events| events.into_iter().map(|e| e.in_order(&*comparator)).collect())
            .collect();
        let events = split.concat();
        let mut keys: Vec<_> = events.iter().map(|event| event.key.clone()).collect();
        keys.sort_by(|a, b| compare(a, b));
        keys.dedup_by(|a, b| compare(a, b).is_eq());
        let inside = |key: &[u8]| {
            let above = match &lower {
                Bound::Unbounded => true,
                Bound::Included(lower) => compare(key, lower).is_ge(),
                Bound::Excluded(lower) => compare(key, lower).is_gt(),
            };
            above && match &upper {
                Bound::Unbounded => true,
                Bound::Included(upper) => compare(key, upper).is_le(),
                Bound::Excluded(upper) => compare(key, upper).is_lt(),
            }
        };
        let entries: Vec<_> = keys
            .into_iter()
            .filter(|key| inside(key))
            .map(|key| (read_events_in(&*comparator, &events, &key, seqno), key))
            .filter(|(value, _)| value != "-")
            .map(|(value, key)| (newest_spelling(&*comparator, &events, &key, seqno), value))
            .collect();

        let bounds = Bounds { lower: lower.clone(), upper: upper.clone() };
        let mut iter = iter(&bench, &split, seqno, bounds);
        let mut place = Place::Fresh;
        for step in moves {
            let first_at_or_above =
                |key: &[u8]| entries.partition_point(|entry| compare(&entry.0, key).is_lt());
            let to = match (&step, place) {
                (Move::First, _) | (Move::Advance, Place::Fresh) => Some(0),
                (Move::Last, _) | (Move::Retreat, Place::Fresh) => entries.len().checked_sub(1),
                (Move::Seek(key), _) => Some(first_at_or_above(key)),
                (Move::SeekForPrev(key), _) => entries
                    .partition_point(|entry| compare(&entry.0, key).is_le())
                    .checked_sub(1),
                (Move::Advance, Place::At(index)) => Some(index + 1),
                (Move::Retreat, Place::At(index)) => index.checked_sub(1),
                (Move::Advance | Move::Retreat, Place::Nowhere) => None,
            };
            let there = match &step {
                Move::First => iter.seek_to_first(),
                Move::Last => iter.seek_to_last(),
                Move::Seek(key) => iter.seek(key),
                Move::SeekForPrev(key) => iter.seek_for_prev(key),
                Move::Advance => iter.advance(),
                Move::Retreat => iter.retreat(),
            };
            let expected = to.and_then(|index| entries.get(index));
            place = match (expected, to) {
                (Some(_), Some(index)) => Place::At(index),
                _ => Place::Nowhere,
            };
            prop_assert_eq!(there.unwrap(), expected.is_some(), "{:?}", step);
            prop_assert_eq!(at(&iter), expected.cloned(), "{:?}", step);
        }
    }
}

/// An iterator looks up operators when it folds a chain, not when the iterator is made.
#[test]
fn an_operator_registered_after_the_iterator_was_made_folds_in_it() {
    let bench = Workbench::new();
    let list = bench.registry.parse("stringappend:;").unwrap();
    let definition = bench.registry.next_definition(&*list);
    let records = |bench: &Workbench| {
        let (mut a, mut b) = (history("a.MERGE.1(?x)"), history("b.MERGE.2(?y) b.MERGE.3(?z)"));
        for event in a.iter_mut().chain(&mut b) {
            event.header.operator = definition.id;
        }
        a.append(&mut b);
        iter(bench, &[a], 9, everything())
    };
    let mut entries = records(&bench);
    assert!(entries.seek_to_first().unwrap());
    assert_eq!(
        at(&entries),
        Some((b"a".to_vec(), "!".to_owned())),
        "no such operator is registered yet"
    );
    bench.registry.adopt(&definition).unwrap();
    assert!(entries.advance().unwrap());
    assert_eq!(at(&entries), Some((b"b".to_vec(), "?y;?z".to_owned())));
    assert!(entries.retreat().unwrap());
    assert_eq!(at(&entries), Some((b"a".to_vec(), "?x".to_owned())));
}

/// A value taken from an iterator keeps its bytes while the iterator moves on and pins values in
/// place.
#[test]
fn h14_a_value_taken_from_an_iterator_outlives_its_moves() {
    let bench = Workbench::new();
    let long = |byte: char| byte.to_string().repeat(40);
    let text = format!("a.PUT.1({}) b.PUT.2({}) c.PUT.3(3)", long('x'), long('y'));
    let mut entries = iter(&bench, &[history(&text)], 9, everything());
    assert!(entries.seek_to_first().unwrap());
    let first = entries.value().unwrap().clone();
    assert!(entries.advance().unwrap());
    let second = entries.value().unwrap().clone();
    assert!(entries.advance().unwrap());
    assert_eq!(entries.value().unwrap(), b"3");
    drop(entries);
    assert_eq!((&first[..], &second[..]), (long('x').as_bytes(), long('y').as_bytes()));
}
