//! Tests what a compaction filter is shown, and what its verdicts leave, on toy histories.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use crate::faults::{self, Fault};
use crate::key::SeqNo;
use crate::limits::MAX_VALUE_BYTES;
use crate::rewriting::filter::{CompactionFilter, CompactionFilterFactory, FilterContext, Verdict};
use crate::rewriting::filtering::{Filtered, Filtering, KeyspaceFilters};
use crate::rewriting::tests::folding::{events, fold_through};
use crate::testing::history::{self, Event};
use crate::testing::tree::read_events;

/// Removes values that begin with `1`, and changes those with `2` to `new`. Panics at `boom`, and
/// makes `wide` too long.
#[derive(Clone, Debug, Default)]
struct ByDigit(Arc<Mutex<Vec<String>>>);

impl CompactionFilterFactory for ByDigit {
    fn filter(&self, context: &FilterContext<'_>) -> Option<Box<dyn CompactionFilter>> {
        assert!(!context.is_manual, "no filter for callers");
        Some(Box::new(self.clone()))
    }
}

impl CompactionFilter for ByDigit {
    fn filter(&mut self, level: u32, key: &[u8], value: &[u8]) -> Verdict {
        assert_eq!(level, 3);
        let shown = format!("{}={}", key.escape_ascii(), value.escape_ascii());
        self.0.lock().unwrap().push(shown);
        match value {
            b"boom" => panic!("no verdict"),
            b"wide" => Verdict::Change(vec![0; MAX_VALUE_BYTES + 1]),
            [b'1', ..] => Verdict::Remove,
            [b'2', ..] => Verdict::Change(b"new".to_vec()),
            _ => Verdict::Keep,
        }
    }
}

impl ByDigit {
    fn begin(&self, is_manual: bool) -> Option<Filtering> {
        let factory = Arc::new(self.clone());
        KeyspaceFilters { factory, keyspace: "k".into(), stamps: false }.begin(3, true, is_manual)
    }
}

/// Folds through the filter. Returns the records that are left, what was shown, and what it did.
fn filtered(
    events: &[Event],
    snapshots: &[SeqNo],
    older: &[Event],
) -> (Vec<Event>, Vec<String>, Filtered) {
    let filter = ByDigit::default();
    let (left, counts, did) = fold_through(filter.begin(false), events, snapshots, older);
    assert!(counts.records_out <= counts.records_in, "a filter adds no record");
    let shown = std::mem::take(&mut *filter.0.lock().unwrap());
    (left, shown, did)
}

#[test]
fn filtering_scenarios() {
    #[rustfmt::skip]
    let scenarios: &[(&str, &[SeqNo], &str, &str, &str)] = &[
        // records | snapshots | older tables | shown | left
        // Keep, remove, change: a change keeps the number of the write.
        ("a.PUT.5(30) b.PUT.6(10)", &[], "", "a=30 b=10", "a.PUT.0(30)"),
        ("c.PUT.7(20)", &[], "", "c=20", "c.PUT.0(new)"),
        ("c.PUT.7(20)", &[], "c.PUT.2(9)", "c=20", "c.PUT.7(new)"),
        // A removed value leaves a tombstone while an older table may have the key.
        ("a.PUT.5(10)", &[], "a.PUT.2(30)", "a=10", "a.DEL.5"),
        ("b.PUT.5(10)", &[], "a.PUT.2(30) c.PUT.3(30)", "b=10", "b.DEL.5"),
        // Older versions in the same compaction go too.
        ("a.PUT.5(10) a.PUT.2(30)", &[], "", "a=10", ""),
        // Operands are shown after they have folded, as one value.
        ("a.MERGE.7(+1) a.MERGE.6(+1) a.PUT.5(8)", &[], "", "a=10", ""),
        ("a.MERGE.7(+1) a.PUT.5(10)", &[], "a.PUT.2(3)", "a=11", "a.DEL.7"),
        ("a.MERGE.7(+1) a.MERGE.6(+9)", &[], "", "a=10", ""),
        // An operand that makes a value of any base makes a whole value.
        ("a.MERGE.7(=20) a.MERGE.6(=9)", &[], "a.PUT.2(3)", "a=20", "a.PUT.7(new)"),
        // Operands without a base are not shown.
        ("a.MERGE.7(+10)", &[], "a.PUT.2(3)", "", "a.MERGE.7(+10)"),
        ("a.MERGE.7(+9) a.MERGE.6(+1)", &[], "a.PUT.2(3)", "", "a.MERGE.7(+10)"),
        // Nor are chains with a wall: no reader gets a value of them.
        ("a.MERGE.6(?) a.PUT.5(10)", &[], "", "", "a.MERGE.6(?) a.PUT.0(10)"),
        // Nor deletes.
        ("a.DEL.5 b.MERGE.6(!)", &[], "a.PUT.2(3) b.PUT.2(3)", "", "a.DEL.5 b.MERGE.6(!)"),
        // What a snapshot can read is passed over, and so is all below it.
        ("a.PUT.5(10)", &[5], "", "", "a.PUT.0(10)"),
        ("a.PUT.5(10)", &[9], "", "", "a.PUT.0(10)"),
        ("a.PUT.5(10) a.PUT.2(11)", &[4], "", "a=10", "a.DEL.5 a.PUT.0(11)"),
        ("a.PUT.5(20) a.PUT.2(11)", &[4], "", "a=20", "a.PUT.5(new) a.PUT.0(11)"),
        ("a.PUT.5(10) a.PUT.2(11)", &[4, 7], "", "", "a.PUT.5(10) a.PUT.0(11)"),
        // A chain across a snapshot is no whole value.
        ("a.MERGE.5(+1) a.PUT.2(10)", &[4], "", "", "a.MERGE.5(+1) a.PUT.0(10)"),
        // A range tombstone covers what it covers.
        ("a..c.RDEL.6 a.PUT.5(10) b.PUT.7(10)", &[], "a.PUT.2(3)", "b=10", "b.DEL.7 a..=a.RDEL.6"),
        // A panic ends the filter. Its entry and later ones stay.
        ("a.PUT.3(10) b.PUT.4(boom)", &[], "", "a=10 b=boom", "b.PUT.0(boom)"),
        ("b.PUT.4(boom) c.PUT.5(10)", &[], "", "b=boom", "b.PUT.0(boom) c.PUT.0(10)"),
        // A value that is too long is not taken. The filter goes on.
        ("b.PUT.4(wide) c.PUT.5(10)", &[], "", "b=wide c=10", "b.PUT.0(wide)"),
    ];
    for (records, snapshots, older, shown, left) in scenarios {
        let (events, older) = (history::parse(records), history::parse(older));
        let events = history::sorted(events);
        let (found, seen, _) = filtered(&events, snapshots, &older);
        assert_eq!(seen.join(" "), *shown, "{records} | {snapshots:?}: shown");
        assert_eq!(history::print(&found), *left, "{records} | {snapshots:?}: left");
    }
}

/// What newer and older records make of a removed value, once all of them meet.
#[test]
fn what_a_filter_removed_never_comes_back() {
    for (newer, expected) in [("", "-"), ("a.MERGE.7(+1)", "1"), ("a.PUT.7(5)", "5")] {
        let (newer, older) = (history::parse(newer), history::parse("a.PUT.2(3)"));
        let (left, ..) = filtered(&history::parse("a.PUT.5(10)"), &[], &older);
        let all = [newer, left, older].concat();
        assert_eq!(read_events(&all, b"a", SeqNo::MAX), expected);
        let (left, ..) = fold_through(None, &history::sorted(all), &[], &[]);
        assert_eq!(read_events(&left, b"a", SeqNo::MAX), expected);
    }
}

#[test]
fn the_first_failure_of_a_filter_is_kept() {
    let failure = |records: &str| {
        let (.., did) = filtered(&history::parse(records), &[], &[]);
        did.failure.map(|error| error.to_string()).unwrap_or_default()
    };
    assert_eq!(failure("a.PUT.1(10)"), "");
    let panicked = failure("a.PUT.1(boom)");
    assert!(panicked.contains("filter of keyspace 'k' panicked: no verdict"), "{panicked}");
    let wide = failure("a.PUT.1(wide) b.PUT.2(boom)");
    assert!(wide.contains("more than MAX_VALUE_BYTES"), "{wide}");
    let not_made = ByDigit::default().begin(true).expect("a filter that failed").finish();
    let message = not_made.failure.expect("the factory panicked").to_string();
    assert!(message.contains("was not made: no filter for callers"), "{message}");
}

/// Compares what readers see before and after with what the filter was shown. Returns the first
/// difference.
fn difference(events: &[Event], snapshots: &[SeqNo], older: &[Event]) -> Option<String> {
    let (left, shown, _) = filtered(events, snapshots, older);
    let shown: BTreeMap<&str, &str> =
        shown.iter().map(|shown| shown.split_once('=').expect("a key and a value")).collect();
    let (before, after) = ([events, older].concat(), [&left, older].concat());
    for event in &before {
        let key = event.key.escape_ascii().to_string();
        for &snapshot in snapshots {
            let [then, now] = [&before, &after].map(|all| read_events(all, &event.key, snapshot));
            if then != now {
                return Some(format!("snapshot {snapshot} reads {key} as {now}, not {then}"));
            }
        }
        let [then, now] = [&before, &after].map(|all| read_events(all, &event.key, SeqNo::MAX));
        let expected = match shown.get(&*key) {
            Some(value) if *value != then => {
                return Some(format!("{value} is shown for {key}, which is {then}"));
            }
            Some(value) if value.starts_with('1') => "-".to_owned(),
            Some(value) if value.starts_with('2') => "new".to_owned(),
            Some(_) | None => then,
        };
        if now != expected {
            return Some(format!("{key} is {now}, not {expected}"));
        }
    }
    None
}

#[test]
fn a_filter_that_reaches_below_a_snapshot_is_noticed() {
    let (events, snapshots) = (history::parse("a.PUT.5(10)"), [7]);
    assert_eq!(difference(&events, &snapshots, &[]), None);
    faults::plant(Some(Fault::FilterBelowSnapshot));
    let found = difference(&events, &snapshots, &[]);
    faults::plant(None);
    assert!(found.is_some(), "the fault goes unnoticed");
}

proptest! {
    /// A filter is shown what a reader finds now. Its verdicts change nothing else.
    #[test]
    fn verdicts_change_only_what_was_shown_and_no_snapshot(
        events in events(&["a", "b", "c"]),
        mut snapshots in proptest::collection::vec(0..30u64, 0..3),
        older in 0..25usize,
    ) {
        snapshots.sort_unstable();
        snapshots.dedup();
        let (older, events) = events.split_at(older.min(events.len()));
        prop_assert_eq!(difference(&history::sorted(events.to_vec()), &snapshots, older), None);
    }
}
