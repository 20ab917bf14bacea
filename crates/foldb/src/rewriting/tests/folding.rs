//! Tests folding with scenarios written as text: stripes, walls and the bottom. No reader may see a
//! fold.

use proptest::prelude::*;
use proptest::sample::select;

use crate::error::Result;
use crate::faults::{self, Fault};
use crate::iterator::{CoverSource, Covers, MergingCursor, RunCursor, Source};
use crate::key::{BytewiseComparator, RecordHeader, SeqNo};
use crate::range_tombstone::Edge;
use crate::rewriting::filtering::{Filtered, Filtering};
use crate::rewriting::folding::{FoldCounts, Folder, RecordSink, stripe_ends};
use crate::rewriting::older_tables::OlderTables;
use crate::rewriting::range_deletes::passed_on;
use crate::table::CursorOptions;
use crate::testing::history::{self, Event};
use crate::testing::tree::{Workbench, read_events};
use crate::version::{KeyRange, TreeEdit, Version};

/// Keeps the records that it gets.
#[derive(Default)]
struct Kept(Vec<Event>);

impl RecordSink for Kept {
    fn add(&mut self, key: &[u8], header: RecordHeader, value: &[u8]) -> Result<()> {
        self.0.push(Event::new(key, header, value));
        Ok(())
    }
}

/// Makes a tree with a run of these records, if there are any.
fn tree_of(bench: &Workbench, events: &[Event]) -> Version {
    let mut edits = Vec::new();
    if !events.is_empty() {
        let file = bench.build(&history::sorted(events.to_vec()));
        let (lo, hi) = (file.smallest.clone(), file.end.clone());
        edits.push(TreeEdit::NewRun { level: 0, run: 1, before: None });
        edits.push(TreeEdit::Insert { run: 1, file, lo, hi });
    }
    bench.apply(&Version::empty(1), &edits)
}

/// Folds records over older ones.
fn fold(events: &[Event], snapshots: &[SeqNo], older: &[Event]) -> (Vec<Event>, FoldCounts) {
    let (folded, counts, _) = fold_through(None, events, snapshots, older);
    (folded, counts)
}

/// Folds records over older ones, and shows the values to a filter.
pub(super) fn fold_through(
    filtering: Option<Filtering>,
    events: &[Event],
    snapshots: &[SeqNo],
    older: &[Event],
) -> (Vec<Event>, FoldCounts, Filtered) {
    let bench = Workbench::new();
    let input = tree_of(&bench, events);
    let runs = input.runs().map(|(_, run)| {
        let (range, options) = (KeyRange::all(), CursorOptions::default());
        Source::Run(RunCursor::new(run, &range, &bench.tables, &bench.comparator, options))
    });
    let mut records = MergingCursor::new(runs.collect(), &bench.comparator);
    records.seek_to_first().unwrap();
    let below = tree_of(&bench, older);
    let older = OlderTables::below(&below, &[], &KeyRange::all(), &bench.comparator);
    let resolver = bench.registry.resolver();
    let all = KeyRange::all();
    let covers = input
        .runs()
        .filter_map(|(_, run)| CoverSource::of_run(run, &all, &bench.tables, &*bench.comparator));
    let covers = Covers::new(covers.collect(), stripe_ends(snapshots), &bench.comparator);
    let folder = Folder::new(&resolver, snapshots, older).covered_by(covers);
    let mut folder = folder.filtering(filtering);
    let mut kept = Kept::default();
    while records.valid() {
        folder.fold_key(&mut records, &mut kept).unwrap();
    }
    let counts = folder.counts;
    assert_eq!(counts.records_out, kept.0.len() as u64);
    if let Some(covers) = folder.covers() {
        let all = covers.between(&Edge::Lowest, &Edge::Highest).unwrap();
        let own = (Edge::Lowest, Edge::Highest);
        let passed = passed_on(all, snapshots, &folder.older, Some(&own), &*bench.comparator);
        kept.0.extend(passed.tombstones.iter().map(Event::of_tombstone));
    }
    (kept.0, counts, folder.finish_filtering())
}

/// Returns where a reader at a snapshot, or now, sees a change; `None` if nowhere.
fn noticed(
    events: &[Event],
    snapshots: &[SeqNo],
    older: &[Event],
    folded: &[Event],
) -> Option<String> {
    let (before, after) = ([events, older].concat(), [folded, older].concat());
    let readers = snapshots.iter().copied().chain([SeqNo::MAX]);
    for (event, reader) in before.iter().flat_map(|event| readers.clone().map(move |r| (event, r)))
    {
        let expected = read_events(&before, &event.key, reader);
        let found = read_events(&after, &event.key, reader);
        if found != expected {
            let key = event.key.escape_ascii();
            return Some(format!("at {reader} {key} is {found}, not {expected}"));
        }
    }
    None
}

struct Scenario {
    events: Vec<Event>,
    snapshots: Vec<SeqNo>,
    older: Vec<Event>,
    expected: String,
}

fn scenarios() -> Vec<Scenario> {
    let text = include_str!("../testdata/folding.txt");
    let cases = text.split("\n\n").filter(|case| case.contains("----"));
    let cases = cases.map(|case| {
        let (input, expected) = case.split_once("----").unwrap();
        let mut scenario = Scenario {
            events: Vec::new(),
            snapshots: Vec::new(),
            older: Vec::new(),
            expected: expected.trim().to_owned(),
        };
        for line in input.lines().filter(|line| !line.starts_with('#')) {
            let (what, rest) = line.split_once(' ').unwrap();
            match what {
                "fold" => scenario.events = history::parse(&rest.replace('|', "")),
                "snapshots" => {
                    scenario.snapshots =
                        rest.split(' ').map(|seqno| seqno.parse().unwrap()).collect();
                }
                "older" => scenario.older = history::parse(rest),
                _ => panic!("unknown line in a scenario: '{line}'"),
            }
        }
        scenario
    });
    // The first block explains the format.
    cases.skip(1).collect()
}

#[test]
fn folding_scenarios() {
    let scenarios = scenarios();
    assert!(scenarios.len() > 30);
    for Scenario { events, snapshots, older, expected } in scenarios {
        let what = format!("{} | snapshots {snapshots:?}", history::print(&events));
        let (folded, counts) = fold(&events, &snapshots, &older);
        assert_eq!(history::print(&folded), expected, "{what}");
        assert_eq!(noticed(&events, &snapshots, &older, &folded), None, "{what}");
        assert_eq!(counts.records_in, records(&events), "{what}");
    }
}

/// The scenarios detect planted faults: deliberate bugs that tests switch on to prove that they
/// detect them.
#[test]
fn planted_faults_are_noticed() {
    for fault in [Fault::FoldAcrossSnapshot, Fault::DropTombstoneEarly] {
        let found = scenarios().iter().any(|Scenario { events, snapshots, older, .. }| {
            faults::plant(Some(fault));
            let (folded, _) = fold(events, snapshots, older);
            faults::plant(None);
            noticed(events, snapshots, older, &folded).is_some()
        });
        assert!(found, "{fault:?} goes unnoticed");
    }
}

#[test]
fn failed_stretches_are_counted() {
    let events = history::parse("a.MERGE.9(*) a.PUT.1(1) b.MERGE.8(?) c.MERGE.7(+1)");
    assert_eq!(fold(&events, &[], &[]).1.failed, 2);
}

/// Asked in ascending order, older tables answer exactly to the key.
#[test]
fn older_tables_are_those_below_the_oldest_input() {
    let bench = Workbench::new();
    let version = bench.draw(
        "L0 r9: [a.PUT.9(9) z.PUT.9(9)]
         L1 r5: [a.PUT.5(5) c.PUT.5(5)]
         L1 r4: [c.PUT.4(4) d.PUT.4(4)] [g.PUT.4(4) h.PUT.4(4)]@g..h
         L2 r3: [f.PUT.3(3) g.PUT.2(2)]",
    );
    let below = |inputs: &[u64], keys: &str| -> String {
        let mut older = OlderTables::below(&version, inputs, &KeyRange::all(), &bench.comparator);
        keys.chars().filter(|&key| older.may_hold(&[key as u8])).collect()
    };
    assert_eq!(below(&[], "abcdefghz"), "abcdefghz", "a flush is newer than every table");
    assert_eq!(below(&[9], "abcdefghz"), "abcdfg");
    assert_eq!(below(&[9, 5], "abcdefghz"), "cdfg");
    assert_eq!(below(&[5, 9], "abcdefghz"), "cdfg");
    assert_eq!(below(&[4], "abcdefghz"), "fg");
    assert_eq!(below(&[9, 3], "abcdefghz"), "");
    let range = KeyRange { lo: Some(b"e".as_slice().into()), hi: None };
    let mut older = OlderTables::below(&version, &[9], &range, &bench.comparator);
    assert!(older.may_hold(b"g") && !older.may_hold(b"h"));
}

/// Counts the records that are no range tombstones.
fn records(events: &[Event]) -> u64 {
    events.iter().filter(|event| !event.is_range()).count() as u64
}

pub(super) fn events(keys: &'static [&'static str]) -> impl Strategy<Value = Vec<Event>> {
    let operands =
        vec!["+1", "+1", "-1", "#1", "#-1", ",x", ",y", "~x", "=1", "=x", "!", ".", "*", "?"];
    let event = prop_oneof![
        6 => select(operands).prop_map(|operand| Event::merge("", 0, operand)),
        3 => select(vec!["1", "x"]).prop_map(|value| Event::put("", 0, value)),
        1 => Just(Event::delete("", 0)),
        1 => select(keys).prop_map(|end| Event::delete_range("", end, 0)),
    ];
    proptest::collection::vec((select(keys), event), 0..25).prop_map(|events| {
        (1..)
            .zip(events)
            .map(|(seqno, (key, mut event))| {
                (event.key, event.header.seqno) = (key.as_bytes().to_vec(), seqno);
                event.in_order(&BytewiseComparator)
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn no_reader_notices_a_fold(
        events in events(&["a", "b", "c"]),
        mut snapshots in proptest::collection::vec(0..30u64, 0..4),
        older in 0..25usize,
        cut_older: bool,
    ) {
        snapshots.sort_unstable();
        snapshots.dedup();
        let (older, events) = events.split_at(older.min(events.len()));
        // Folds a second time without the older records: then it is the bottom.
        let older = if cut_older { &[] } else { older };
        let (folded, counts) = fold(events, &snapshots, older);
        prop_assert_eq!(noticed(events, &snapshots, older, &folded), None);
        prop_assert!(records(&folded) <= records(events));
        prop_assert_eq!(counts.records_in, records(events));
        let points: Vec<_> = folded.iter().filter(|event| !event.is_range()).collect();
        let in_order = points.is_sorted_by(|a, b| {
            a.key < b.key || (a.key == b.key && a.header.seqno > b.header.seqno)
        });
        prop_assert!(in_order, "{}", history::print(&folded));
        // Folding a folded result changes nothing. The exception is a range tombstone that just
        // went: the next fold may then find that a base is the oldest record anywhere.
        if records(events) == events.len() as u64 {
            let again = fold(&folded, &snapshots, older).0;
            prop_assert_eq!(history::print(&again), history::print(&folded));
        }
    }
}
