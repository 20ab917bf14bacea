//! Tests of versions: carving, applying edits, describing a version, and the checks of its order.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use proptest::prelude::*;

use crate::ErrorKind;
use crate::files::FileKind;
use crate::key::BytewiseComparator;
use crate::segment::SegmentFiles;
use crate::testing::orders::Counting;
use crate::testing::tree::{Workbench, parse_bounds};
use crate::version::{
    FileFacts, Key, KeyRange, RunId, TreeEdit, Upper, Version, check_order, check_structure,
};

/// Makes a carve from a range like `b..d`, `..d` or `b..`.
fn carve(run: RunId, range: &str) -> TreeEdit {
    let (lo, hi) = parse_bounds(range);
    let open = |key: &Key| key.is_empty();
    let range =
        KeyRange { lo: Some(lo).filter(|lo| !open(lo)), hi: Some(hi).filter(|hi| !open(hi.key())) };
    TreeEdit::Carve { run, range }
}

/// H1: records outside a reference's bounds do not exist.
#[test]
fn h1_carving() {
    let table = "[a.PUT.1(1) c.PUT.2(2) e.PUT.3(3) g.PUT.4(4)]";
    #[rustfmt::skip]
    let cases: &[(&[&str], &str)] = &[
        (&["..c"],           "[c.PUT.2(2) e.PUT.3(3) g.PUT.4(4)]@c..=g"),
        (&["..b"],           "[c.PUT.2(2) e.PUT.3(3) g.PUT.4(4)]@b..=g"),
        (&["a..c"],          "[c.PUT.2(2) e.PUT.3(3) g.PUT.4(4)]@c..=g"),
        (&["e.."],           "[a.PUT.1(1) c.PUT.2(2)]@a..e"),
        (&["f.."],           "[a.PUT.1(1) c.PUT.2(2) e.PUT.3(3)]@a..f"),
        (&["c..e"],          "[a.PUT.1(1)]@a..c [e.PUT.3(3) g.PUT.4(4)]@e..=g"),
        (&["b..f"],          "[a.PUT.1(1)]@a..b [g.PUT.4(4)]@f..=g"),
        (&["g..h"],          "[a.PUT.1(1) c.PUT.2(2) e.PUT.3(3)]@a..g"),
        (&["a..=g"],         ""),
        (&[".."],            ""),
        (&["0..z"],          ""),
        (&["..a"],           table),
        (&["h.."],           table),
        (&["..b", "b..d"],   "[e.PUT.3(3) g.PUT.4(4)]@d..=g"),
        (&["..c", "..c"],    "[c.PUT.2(2) e.PUT.3(3) g.PUT.4(4)]@c..=g"),
        (&["c..d", "e..f"],  "[a.PUT.1(1)]@a..c []@d..e [g.PUT.4(4)]@f..=g"),
        (&["c..d", "b..e"],  "[a.PUT.1(1)]@a..b [e.PUT.3(3) g.PUT.4(4)]@e..=g"),
        (&["c..e", "..e"],   "[e.PUT.3(3) g.PUT.4(4)]@e..=g"),
        (&["..c", "e.."],    "[c.PUT.2(2)]@c..e"),
        (&["c..e", "..c", "e.."], ""),
    ];
    for (carves, left) in cases {
        let bench = Workbench::new();
        let mut version = bench.draw(&format!("L1 r5: {table}"));
        for range in *carves {
            version = match version.run(5) {
                Some(_) => bench.apply(&version, &[carve(5, range)]),
                None => version,
            };
            check_structure(&version, &BytewiseComparator);
        }
        let expected = if left.is_empty() { String::new() } else { format!("L1 r5: {left}\n") };
        assert_eq!(bench.show(&version), expected, "{carves:?}");
    }
}

#[test]
fn carving_spans_tables() {
    let bench = Workbench::new();
    let version = bench.draw(
        "L0 r9: [a.PUT.9(9) e.PUT.9(9)]
         L1 r5: [a.PUT.1(1) b.PUT.1(1)] [c.PUT.1(1)] [d.PUT.1(1) g.PUT.1(1)]",
    );
    let version = bench.apply(&version, &[carve(5, "b..e"), carve(9, "b..e")]);
    assert_eq!(
        bench.show(&version),
        "L0 r9: [a.PUT.9(9)]@a..b [e.PUT.9(9)]@e..=e\n\
         L1 r5: [a.PUT.1(1)]@a..b [g.PUT.1(1)]@e..=g\n"
    );
    assert_eq!(bench.read(&version, b"c", 99), "-");
    assert_eq!(bench.read(&version, b"g", 99), "1");
}

#[test]
fn estimates_count_only_bytes_inside_the_bounds() {
    let bench = Workbench::new();
    let events: Vec<_> = (0..200)
        .map(|i| crate::testing::history::Event::put(&format!("{i:04}"), i + 1, &"x".repeat(50)))
        .collect();
    let file = bench.build(&events);
    let len = file.len;
    let (lo, hi) = (file.smallest.clone(), file.end.clone());
    let insert = TreeEdit::Insert { run: 1, file, lo, hi };
    let new_run = TreeEdit::NewRun { level: 0, run: 1, before: None };
    let version = bench.apply(&Version::empty(1), &[new_run, insert]);
    let bytes = |version: &Version| version.run(1).unwrap().bytes(&BytewiseComparator);
    assert_eq!(bytes(&version), len);
    let quarter = bytes(&bench.apply(&version, &[carve(1, "0050..")]));
    assert!(quarter > len / 8 && quarter < len / 2, "{quarter} of {len}");
    let crumb = bytes(&bench.apply(&version, &[carve(1, "0001..")]));
    assert!(crumb > 0 && crumb < len / 8, "{crumb} of {len}");
}

/// A description recreates runs, their order, trimmed tables and shared files.
#[test]
fn describe_and_apply_round_trip() {
    let bench = Workbench::new();
    let version = bench.draw(
        "L0 r9: [a.PUT.9(9)] [b.PUT.9(9)]
         L0 r8: [a.PUT.8(8) z.PUT.8(8)]
         L1 r3: [a.PUT.1(1) c.PUT.2(2) e.PUT.3(3) g.PUT.4(4)]
         L3 r1: [a.DEL.1]",
    );
    let version = bench.apply(&version, &[carve(3, "c..e"), carve(8, "b..")]);
    let described = version.describe();
    let again = bench.apply(&Version::empty(4), &described);
    assert_eq!(bench.show(&again), bench.show(&version));
    assert_eq!(again.describe(), described);
    let halves = &again.run(3).unwrap().tables;
    assert!(Arc::ptr_eq(&halves[0].file, &halves[1].file), "one file in use, one FileMeta");
}

#[test]
fn files_are_marked_when_their_last_part_goes() {
    let bench = Workbench::new();
    let first = bench.draw("L1 r5: [a.PUT.1(1) c.PUT.2(2) e.PUT.3(3)]");
    let second = bench.apply(&first, &[carve(5, "c..d")]);
    first.mark_obsolete_files(&second);
    let third = bench.apply(&second, &[carve(5, "..c"), carve(5, "d..")]);
    second.mark_obsolete_files(&third);
    drop((second, third));
    assert!(bench.segment_files.trash().empty().is_empty(), "an older version still uses the file");
    drop(first);
    assert_eq!(bench.segment_files.trash().empty(), [FileKind::Table(1)]);
    assert!(bench.segment_files.trash().empty().is_empty());
}

/// A file may be shown by parts in several runs. Its part in one run goes first.
#[test]
fn a_file_that_another_run_shows_is_not_marked() {
    let bench = Workbench::new();
    let first =
        bench.draw("L0 r9: [b.PUT.9(9)]\n         L1 r5: [a.PUT.1(1) c.PUT.2(2)] [e.PUT.3(3)]");
    let moved = first.run(5).unwrap().tables[1].clone();
    let insert = TreeEdit::Insert {
        run: 9,
        file: moved.file.facts().clone(),
        lo: Arc::clone(&moved.lo),
        hi: moved.hi.clone(),
    };
    let second = bench.apply(&first, &[carve(5, "e..f"), insert]);
    assert!(Arc::ptr_eq(&second.run(9).unwrap().tables[1].file, &moved.file), "one object");
    first.mark_obsolete_files(&second);
    assert!(!moved.file.is_obsolete());
    let third = bench.apply(&second, &[carve(9, "e..f")]);
    second.mark_obsolete_files(&third);
    assert!(moved.file.is_obsolete());
    assert_eq!(third.tables().filter(|table| table.file.is_obsolete()).count(), 0);
}

/// An edit of one table among many compares no others.
#[test]
fn an_edit_compares_few_of_very_many_tables() {
    let bench = Workbench::new();
    let tables: Vec<_> = (0..500).map(|n| format!("[k{n:04}.PUT.1(1)]")).collect();
    let version = bench.draw(&format!("L1 r5: {}", tables.join(" ")));
    let counting = Counting::default();
    let range = KeyRange {
        lo: Some(Key::from(&b"k0250"[..])),
        hi: Some(Upper::Excluded(Key::from(&b"k0251"[..]))),
    };
    let run = version.run(5).unwrap();
    assert_eq!(run.overlapping(&counting, &range).count(), 1);
    assert_eq!(run.overlapping_range(&counting, &range), 250..251);
    let facts = run.tables[250].file.facts().clone();
    let found = version.file(&facts, &counting).unwrap();
    assert!(Arc::ptr_eq(&found, &run.tables[250].file));
    let compared = counting.0.load(Relaxed);
    assert!(compared <= 3 * 20, "{compared} comparisons of 500 tables");
}

fn facts(number: u64, smallest: &str, largest: &str) -> FileFacts {
    FileFacts {
        number,
        smallest: smallest.as_bytes().into(),
        end: Upper::Included(largest.as_bytes().into()),
        ..FileFacts::default()
    }
}

fn insert(run: RunId, number: u64, bounds: &str) -> TreeEdit {
    let (lo, hi) = parse_bounds(bounds);
    TreeEdit::Insert { run, file: facts(number, "a", "z"), lo, hi }
}

fn apply(edits: &[TreeEdit]) -> crate::Result<Version> {
    Version::empty(2).apply(edits, &BytewiseComparator, &Arc::new(SegmentFiles::default()))
}

#[test]
fn edits_that_cannot_be_are_damage() {
    let new = |run, before| TreeEdit::NewRun { level: 0, run, before };
    for (edits, message) in [
        (vec![new(1, None), new(1, None)], "run 1 is created twice"),
        (vec![TreeEdit::NewRun { level: 2, run: 1, before: None }], "there is no level 2"),
        (vec![new(1, Some(7))], "there is no run 7"),
        (vec![insert(3, 1, "a..=z")], "there is no run 3 in the tree"),
        (vec![carve(3, "..")], "there is no run 3 in the tree"),
        (
            vec![new(1, None), insert(1, 1, "a..=z"), carve(1, "a..=c")],
            "the last key carved out of run 1 lies inside a table",
        ),
    ] {
        let error = apply(&edits).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        assert_eq!(error.to_string(), format!("corruption: {message}"));
    }
}

#[test]
fn a_run_left_empty_is_gone_after_its_edit() {
    let new = TreeEdit::NewRun { level: 1, run: 1, before: None };
    // Within one edit, a run may be emptied and filled again.
    let refilled = [new.clone(), insert(1, 1, "a..=c"), carve(1, ".."), insert(1, 2, "a..=c")];
    assert_eq!(apply(&refilled).unwrap().run(1).unwrap().tables.len(), 1);
    // The next edit creates the run again, as for a job whose first slice wrote no record.
    let edits = [vec![new.clone()], vec![new.clone(), insert(1, 1, "a..=c")]];
    let version = Version::empty(2)
        .apply_all(edits.iter().map(Vec::as_slice), &BytewiseComparator, &Arc::default())
        .unwrap();
    assert_eq!(version.position(1), Some((1, 0)));
    assert!(apply(&[new]).unwrap().run(1).is_none());
}

#[test]
fn new_runs_stand_where_told() {
    let new = |run, before| TreeEdit::NewRun { level: 0, run, before };
    let edits = [
        new(1, None),
        new(2, None),
        new(3, Some(1)),
        insert(1, 1, "a..=c"),
        insert(2, 2, "a..=c"),
        insert(3, 3, "a..=c"),
    ];
    let version = apply(&edits).unwrap();
    let order: Vec<_> = version.runs().map(|(_, run)| run.id).collect();
    assert_eq!(order, [2, 3, 1], "newest first");
}

#[test]
#[should_panic(expected = "overlap in run 1")]
fn the_structure_check_sees_overlap() {
    let new = TreeEdit::NewRun { level: 0, run: 1, before: None };
    let version = apply(&[new, insert(1, 1, "a..=c"), insert(1, 2, "c..=e")]).unwrap();
    check_structure(&version, &BytewiseComparator);
}

#[test]
#[should_panic(expected = "ends before it begins")]
fn the_structure_check_sees_an_upside_down_reference() {
    let new = TreeEdit::NewRun { level: 0, run: 1, before: None };
    check_structure(&apply(&[new, insert(1, 1, "c..=a")]).unwrap(), &BytewiseComparator);
}

#[test]
fn the_structure_check_lets_neighbours_pass() {
    let new = TreeEdit::NewRun { level: 0, run: 1, before: None };
    let edits = [new, insert(1, 1, "c..=e"), insert(1, 2, "a..c"), insert(1, 3, "f..z")];
    let version = apply(&edits).unwrap();
    check_structure(&version, &BytewiseComparator);
    let numbers: Vec<_> = version.tables().map(|table| table.file.number).collect();
    assert_eq!(numbers, [2, 1, 3], "tables stand in key order");
}

fn checked(drawing: &str) {
    let bench = Workbench::new();
    let version = bench.draw(drawing);
    check_order(&version, &bench.tables, &BytewiseComparator).unwrap();
}

#[test]
fn h4_the_order_check_lets_order_pass() {
    checked("L0 r9: [a.MERGE.9(+1) a.MERGE.7(+1)]\nL0 r8: [a.DEL.5]\nL1 r3: [a.PUT.4(1)]");
    // Records outside a trimmed reference's bounds do not count.
    checked("L0 r9: [a.PUT.1(1) c.PUT.9(9)]@b..=c\nL1 r3: [a.PUT.5(5) c.PUT.4(4)]");
}

#[test]
#[should_panic(expected = "key a has seqno 7 below seqno 5")]
fn h4_the_order_check_sees_a_newer_record_below() {
    checked("L0 r9: [a.MERGE.9(+1) a.MERGE.5(+1)]\nL1 r3: [a.PUT.7(1)]");
}

#[test]
#[should_panic(expected = "key a has seqno 6 below seqno 5")]
fn h4_the_order_check_counts_tombstones() {
    checked("L1 r9: [a.DEL.5]\nL1 r3: [a.DEL.6]");
}

proptest! {
    /// Compares repeated carves of random ranges with a set of keys.
    #[test]
    fn carves_against_a_set(ranges in proptest::collection::vec((0..12u8, 0..12u8), 1..6), open in 0..4u8) {
        let letter = |index: u8| Key::from([b'a' + index].as_slice());
        let bench = Workbench::new();
        let table = |from: u8, to: u8| {
            let events = (from..to).map(|i| format!("{}.PUT.1(1)", (b'a' + i) as char));
            format!("[{}]", events.collect::<Vec<_>>().join(" "))
        };
        let drawing = format!("L1 r5: {} {} {}", table(0, 4), table(4, 5), table(6, 12));
        let mut version = bench.draw(&drawing);
        let mut keys: BTreeSet<u8> = (0..12).filter(|&i| i != 5).collect();
        for (index, (a, b)) in ranges.into_iter().enumerate() {
            let (lo, hi) = (a.min(b), a.max(b));
            // `open` makes one of the ranges open at an end.
            let lo = (open != 1 || index > 0).then_some(lo);
            let hi = (open != 2 || index > 0).then_some(hi);
            if lo.is_some() && lo == hi {
                continue;
            }
            let range = KeyRange {
                lo: lo.map(letter),
                hi: hi.map(|hi| Upper::Excluded(letter(hi))),
            };
            if version.run(5).is_none() {
                break;
            }
            version = bench.apply(&version, &[TreeEdit::Carve { run: 5, range }]);
            keys.retain(|&i| lo.is_some_and(|lo| i < lo) || hi.is_some_and(|hi| i >= hi));
            check_structure(&version, &BytewiseComparator);
            let mut left: Vec<_> =
                bench.contents(&version).iter().map(|event| event.key[0] - b'a').collect();
            left.sort_unstable();
            prop_assert_eq!(&left, &keys.iter().copied().collect::<Vec<_>>());
            for i in 0..12 {
                let expected = if keys.contains(&i) { "1" } else { "-" };
                prop_assert_eq!(bench.read(&version, &letter(i), 9), expected);
            }
            let described = bench.apply(&Version::empty(4), &version.describe());
            prop_assert_eq!(bench.show(&described), bench.show(&version));
        }
    }
}
