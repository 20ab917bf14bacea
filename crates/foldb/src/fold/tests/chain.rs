//! Tests the routine that folds chains, on histories written as text.

use proptest::prelude::*;
use proptest::sample::select;

use crate::error::{ErrorKind, Result};
use crate::faults::{self, Fault};
use crate::fold::{Below, Chain, Resolver};
use crate::key::{Kind, NO_OPERATOR, RecordHeader};
use crate::testing::history::{self, Event};
use crate::testing::toys;

fn resolver() -> Resolver {
    Resolver::clone(&toys::registry().resolver())
}

/// Collects a chain of these records as a reader does: newest first, up to the base.
fn collected(events: &[Event]) -> Chain {
    let mut events = events.to_vec();
    events.sort_by_key(|event| std::cmp::Reverse(event.header.seqno));
    let mut chain = Chain::default();
    for event in events {
        if !chain.push(event.header, event.value()) {
            break;
        }
    }
    chain
}

/// Collects the same chain, oldest record first.
fn collected_backwards(events: &[Event]) -> Chain {
    let mut events = events.to_vec();
    events.sort_by_key(|event| event.header.seqno);
    let mut chain = Chain::default();
    for event in events {
        chain.push_newer(event.header, event.value());
    }
    chain
}

/// Returns the records that the chain folds to, oldest first. If it folds in place too, checks that
/// both ways agree.
fn fold_events(events: &[Event], below: Below) -> Vec<Event> {
    let folded = collected(events).fold(b"a", below, &resolver(), &mut Vec::new());
    let records = folded.records.iter();
    let records = records.map(|record| Event::new(b"a", record.header, &record.value)).collect();
    if let Some(record) = fold_in_place(events, below) {
        assert_eq!(history::print(&[record]), history::print(&records));
        assert_eq!(folded.failed, None);
    }
    records
}

fn fold_in_place(events: &[Event], below: Below) -> Option<Event> {
    let (chain, mut scratch) = (collected(events), Vec::new());
    let (seqno, value) = chain.fold_in_place(b"a", below, &resolver(), &mut scratch)?;
    let kind = if value.is_some() { Kind::Put } else { Kind::Delete };
    let header = RecordHeader { seqno, kind, operator: NO_OPERATOR };
    Some(Event::new(b"a", header, value.unwrap_or_default()))
}

fn fold(history: &str, below: Below) -> String {
    history::print(&fold_events(&history::parse(history), below))
}

fn read(mut chain: Chain) -> Result<Option<Vec<u8>>> {
    let value = chain.value(b"a", &resolver(), &mut Vec::new())?;
    Ok(value.map(|value| value.into_owned()))
}

/// Returns the result of a read: the value, `-` for nothing, `!` for a failed merge.
fn seen(chain: Chain) -> String {
    match read(chain) {
        Ok(Some(value)) => value.escape_ascii().to_string(),
        Ok(None) => "-".to_owned(),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::MergeFailed);
            "!".to_owned()
        }
    }
}

#[test]
fn a_stretch_over_a_known_base_folds_in_place() {
    let in_place = |history: &str, below| {
        fold_in_place(&history::parse(history), below).map(|record| history::print(&[record]))
    };
    let is = |text: &str| Some(text.to_owned());
    assert_eq!(in_place("a.MERGE.2(+1) a.MERGE.3(+2)", Below::Nothing), is("a.PUT.3(3)"));
    assert_eq!(in_place("a.PUT.1(10) a.MERGE.2(+1)", Below::Unknown), is("a.PUT.2(11)"));
    assert_eq!(in_place("a.DEL.1 a.MERGE.2(.)", Below::Unknown), is("a.DEL.2"));
    assert_eq!(in_place("a.MERGE.2(+1)", Below::Unknown), None);
    assert_eq!(in_place("a.MERGE.2(+1) a.MERGE.3(,x)", Below::Nothing), None);
    let fails = "a.PUT.1(x) a.MERGE.2(^0) a.MERGE.3(^7)";
    assert_eq!(in_place(fails, Below::Nothing), None);
}

#[test]
fn folds_as_far_as_the_laws_allow() {
    use Below::{Nothing, Unknown};
    #[rustfmt::skip]
    let cases = [
        // A base, or nothing below: full.
        (Nothing, "a.PUT.1(10) a.MERGE.2(+1) a.MERGE.3(+2)", "a.PUT.3(13)", "13"),
        (Unknown, "a.PUT.1(10) a.MERGE.2(+1) a.MERGE.3(+2)", "a.PUT.3(13)", "13"),
        (Nothing, "a.DEL.1 a.MERGE.2(+1)", "a.PUT.2(1)", "1"),
        (Nothing, "a.MERGE.2(+1)", "a.PUT.2(1)", "1"),
        (Nothing, "a.DEL.1", "a.DEL.1", "-"),
        // Unknown records below: at least two operands fold partially.
        (Unknown, "a.MERGE.2(+1)", "a.MERGE.2(+1)", "1"),
        (Unknown, "a.MERGE.2(+1) a.MERGE.3(+2) a.MERGE.4(-5)", "a.MERGE.4(-2)", "-2"),
        (Unknown, "a.MERGE.2(~x) a.MERGE.3(~y)", "a.MERGE.2(~x) a.MERGE.3(~y)", "~x~y"),
        // Several operators in one chain fold oldest to newest, stretch by stretch.
        (Nothing, "a.PUT.1(10) a.MERGE.3(,x) a.MERGE.4(,y)", "a.PUT.4(10,x,y)", "10,x,y"),
        (Nothing, "a.PUT.1(1) a.MERGE.2(+1) a.MERGE.3(+1) a.MERGE.4(,x)", "a.PUT.4(3,x)", "3,x"),
        (Unknown, "a.MERGE.2(+1) a.MERGE.3(+1) a.MERGE.4(,x) a.MERGE.5(,y) a.MERGE.6(+1)",
                  "a.MERGE.3(+2) a.MERGE.5(,x,y) a.MERGE.6(+1)", "!"),
        // Outcomes other than a new value.
        (Nothing, "a.PUT.1(10) a.MERGE.2(.)", "a.PUT.2(10)", "10"),
        (Nothing, "a.DEL.1 a.MERGE.2(.)", "a.DEL.2", "-"),
        (Nothing, "a.MERGE.2(.)", "a.DEL.2", "-"),
        (Nothing, "a.PUT.1(2) a.MERGE.2(#-1) a.MERGE.3(#-1)", "a.DEL.3", "-"),
        (Nothing, "a.PUT.1(2) a.MERGE.2(#-2) a.MERGE.3(+7)", "a.PUT.3(7)", "7"),
        (Nothing, "a.PUT.1(2) a.MERGE.2(!)", "a.DEL.2", "-"),
        (Nothing, "a.MERGE.1(^9) a.MERGE.2(^0)", "a.PUT.2(^9)", "^9"),
        (Nothing, "a.PUT.1(x) a.MERGE.2(^0) a.MERGE.3(^7)",
                  "a.PUT.1(x) a.MERGE.2(^0) a.MERGE.3(^7)", "!"),
        // Partial outcomes that end the chain, whatever the base.
        (Unknown, "a.MERGE.2(=x) a.MERGE.3(=y)", "a.PUT.3(y)", "y"),
        (Unknown, "a.MERGE.2(=x) a.MERGE.3(!)", "a.DEL.3", "-"),
        (Unknown, "a.MERGE.1(+1) a.MERGE.2(=x) a.MERGE.3(=1) a.MERGE.4(+1)", "a.PUT.4(2)", "2"),
        (Unknown, "a.MERGE.1(~x) a.MERGE.2(=5) a.MERGE.3(!) a.MERGE.4(+1)", "a.PUT.4(1)", "1"),
        (Unknown, "a.MERGE.2(=x)", "a.MERGE.2(=x)", "x"),
    ];
    for (below, history, folded, value) in cases {
        assert_eq!(fold(history, below), folded, "{history} over {below:?}");
        assert_eq!(seen(collected(&history::parse(history))), value, "{history}");
    }
}

/// H8: a stretch that fails, or whose operator is unknown, is a wall. Records below the wall fold
/// onto their base, records above it only partially. Only records under a base are dropped.
#[test]
fn h8_walls() {
    use Below::{Nothing, Unknown};
    #[rustfmt::skip]
    let cases = [
        (Nothing, "a.PUT.1(1) a.MERGE.2(+2) a.MERGE.4(*) a.MERGE.5(+5) a.MERGE.6(+6)",
                  "a.PUT.2(3) a.MERGE.4(*) a.MERGE.6(+11)"),
        (Nothing, "a.PUT.1(1) a.MERGE.2(+2) a.MERGE.4(?) a.MERGE.5(+5) a.MERGE.6(+6)",
                  "a.PUT.2(3) a.MERGE.4(?) a.MERGE.6(+11)"),
        (Nothing, "a.PUT.1(1) a.MERGE.2(+2) a.MERGE.4(%) a.MERGE.5(%) a.MERGE.6(+6)",
                  "a.PUT.2(3) a.MERGE.4(%) a.MERGE.5(%) a.MERGE.6(+6)"),
        (Unknown, "a.MERGE.1(+1) a.MERGE.2(+2) a.MERGE.4(?) a.MERGE.5(+5) a.MERGE.6(+6)",
                  "a.MERGE.2(+3) a.MERGE.4(?) a.MERGE.6(+11)"),
        // Operands above a wall do not fold onto nothing.
        (Nothing, "a.MERGE.4(*) a.MERGE.5(+5) a.MERGE.6(+6)", "a.MERGE.4(*) a.MERGE.6(+11)"),
        (Nothing, "a.DEL.3 a.MERGE.4(*) a.MERGE.5(+5)", "a.DEL.3 a.MERGE.4(*) a.MERGE.5(+5)"),
        // A base that its operator refuses is kept, and so are the operands.
        (Nothing, "a.PUT.1(ten) a.MERGE.2(+1) a.MERGE.3(+2)",
                  "a.PUT.1(ten) a.MERGE.2(+1) a.MERGE.3(+2)"),
        // Two walls.
        (Nothing, "a.PUT.1(1) a.MERGE.2(*) a.MERGE.3(+1) a.MERGE.4(+1) a.MERGE.5(?)",
                  "a.PUT.1(1) a.MERGE.2(*) a.MERGE.4(+2) a.MERGE.5(?)"),
        // A base above a wall drops the wall. So does a base that a partial fold makes (below).
        (Nothing, "a.MERGE.2(*) a.PUT.3(7)", "a.PUT.3(7)"),
    ];
    for (below, history, folded) in cases {
        assert_eq!(fold(history, below), folded, "{history} over {below:?}");
        assert_eq!(fold(folded, below), folded, "folding again changes nothing");
    }
    assert_eq!(fold("a.PUT.1(1) a.MERGE.2(*) a.MERGE.3(=x) a.MERGE.4(=y)", Nothing), "a.PUT.4(y)");
    assert_eq!(seen(collected(&history::parse("a.MERGE.2(*) a.MERGE.3(=x) a.MERGE.4(=y)"))), "y");
    assert_eq!(seen(collected(&history::parse("a.MERGE.2(*) a.MERGE.3(+1)"))), "!");
}

#[test]
fn failed_reads_name_key_and_operator() {
    let mut chain = Chain::default();
    let bad = &history::parse("a.MERGE.1(*)")[0];
    chain.push(bad.header, bad.value());
    let error = chain.value(&[b'k'; 100], &resolver(), &mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MergeFailed);
    let text = error.to_string();
    assert!(text.starts_with("operator 'toy.42' rejects"), "{text}");
    assert!(text.contains(&format!("'{}…'", "k".repeat(64))), "a long key is cut: {text}");
    let unknown = read(collected(&history::parse("a.MERGE.1(?)"))).unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::MergeFailed);
    let text = unknown.to_string();
    assert!(text.starts_with("key 'a' holds operands of '#4000', which is not among"), "{text}");
}

/// Bytes that a failed or panicked operator left in the buffer reach no value.
#[test]
fn each_fold_starts_with_a_clean_scratch_buffer() {
    let mut scratch = b"rest of something else".to_vec();
    let history = history::parse("a.PUT.1(x) a.MERGE.2(+1) a.MERGE.3(,a) a.MERGE.4(,b)");
    let folded = collected(&history).fold(b"a", Below::Nothing, &resolver(), &mut scratch);
    let newest = &folded.records[folded.records.len() - 1];
    assert_eq!(&*newest.value, b",a,b");
    assert_eq!(folded.failed.map(|failure| failure.operator), Some(toys::operator_of("+1")));
}

#[test]
fn a_chain_is_reusable() {
    let mut chain = collected_backwards(&history::parse("a.MERGE.1(,x) a.MERGE.2(,y)"));
    assert!(!chain.is_empty());
    chain.clear();
    assert!(chain.is_empty());
    for event in history::parse("a.MERGE.4(,b) a.MERGE.3(,a) a.PUT.1(1)") {
        chain.push(event.header, event.value());
    }
    let value = chain.value(b"a", &resolver(), &mut Vec::new()).unwrap().unwrap();
    assert_eq!(value, b"1,a,b");
    assert!(chain.is_empty(), "a fold empties the chain");
}

#[test]
fn large_values_fold_uncopied() {
    let large = "x".repeat(100);
    let base = Event::put("a", 1, &large);
    let same = Event::merge("a", 2, ".");
    let mut chain = Chain::default();
    chain.push(same.header, same.value());
    let pinned = base.value();
    let address = pinned.as_slice().as_ptr();
    chain.push(base.header, pinned);
    let value = chain.value(b"a", &resolver(), &mut Vec::new()).unwrap().unwrap();
    assert_eq!(value.as_slice().as_ptr(), address);
}

/// These tests detect the planted faults (deliberate bugs) of the chain routine.
#[test]
fn planted_faults_show() {
    let history = history::parse("a.PUT.1(1) a.MERGE.2(,x) a.MERGE.3(,y)");
    assert_eq!(seen(collected(&history)), "1,x,y");
    faults::plant(Some(Fault::WrongOperandOrder));
    let wrong_order = seen(collected(&history));
    faults::plant(Some(Fault::StopChainEarly));
    let stopped = seen(collected(&history));
    faults::plant(None);
    assert_eq!(wrong_order, "1,y,x");
    assert_eq!(stopped, ",x,y");
}

/// Makes records of all toy operators except the one that answers an operand's index.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let operand = select(vec![
        "+1", "-1", "+x", "#1", "#-1", ",x", ",y", "~x", "=1", "=x", "!", ".", "*", "?",
    ]);
    let merge = operand.prop_map(|operand| Event::merge("a", 0, operand));
    let put = select(vec!["1", "x", ""]).prop_map(|value| Event::put("a", 0, value));
    let event = prop_oneof![8 => merge, 1 => put, 1 => Just(Event::delete("a", 0))];
    proptest::collection::vec(event, 1..10).prop_map(|mut events| {
        for (index, event) in events.iter_mut().enumerate() {
            event.header.seqno = 1 + 2 * index as u64;
        }
        events
    })
}

proptest! {
    /// A chain collected newest first reads the same as one collected oldest first.
    #[test]
    fn both_directions_see_the_same(events in events()) {
        prop_assert_eq!(seen(collected(&events)), seen(collected_backwards(&events)));
        prop_assert_eq!(collected(&events).is_empty(), collected_backwards(&events).is_empty());
    }

    /// A chain cut anywhere, with each piece folded first, reads the same. Flushes and compactions
    /// rely on this.
    #[test]
    fn folding_in_pieces_changes_no_answer(
        events in events(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..3),
        bottom: bool,
    ) {
        let expected = seen(collected(&events));
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(events.len() + 1)).collect();
        cuts.extend([0, events.len()]);
        cuts.sort_unstable();
        let mut pieces = Vec::new();
        for cut in cuts.windows(2) {
            let below =
                if bottom && cut[0] == 0 { Below::Nothing } else { Below::Unknown };
            let piece = fold_events(&events[cut[0]..cut[1]], below);
            let seqnos: Vec<_> = piece.iter().map(|event| event.header.seqno).collect();
            prop_assert!(seqnos.is_sorted_by(|a, b| a < b), "{:?}", seqnos);
            pieces.extend(piece);
        }
        prop_assert_eq!(seen(collected(&pieces)), expected, "{}", history::print(&pieces));
    }

    /// A second fold changes nothing.
    #[test]
    fn folding_is_idempotent(events in events(), bottom: bool) {
        let below = if bottom { Below::Nothing } else { Below::Unknown };
        let once = fold_events(&events, below);
        prop_assert_eq!(history::print(&fold_events(&once, below)), history::print(&once));
    }
}

/// A cover ends a chain exactly like a delete with its sequence number, whenever the chain learns
/// of it.
#[test]
fn h10_a_cover_is_a_delete() {
    let events = history::parse("a.MERGE.9(,c) a.MERGE.7(,b) a.MERGE.5(,a) a.PUT.3(x)");
    for cover in 0..12u64 {
        let mut as_delete = events.clone();
        as_delete.retain(|event| event.header.seqno != cover);
        if cover > 0 {
            as_delete.push(Event::delete("a", cover));
        }
        // The chain learns of the cover before the records, after some, or after all; then also
        // backwards.
        let expected = seen(collected(&as_delete));
        for late in 0..=events.len() {
            let mut chain = Chain::default();
            for (at, event) in events.iter().enumerate() {
                if at == late {
                    chain.cover(cover);
                }
                if event.header.seqno != cover && !chain.push(event.header, event.value()) {
                    break;
                }
            }
            chain.cover(cover);
            assert_eq!(seen(chain), expected, "covered to {cover} after {late} records");
        }
        let mut backwards = Chain::default();
        backwards.cover(cover);
        for event in events.iter().rev().filter(|event| event.header.seqno != cover) {
            backwards.push_newer(event.header, event.value());
        }
        assert_eq!(seen(backwards), expected, "backwards, covered to {cover}");
    }
}

/// A fold drops covered records and adds no delete for them.
#[test]
fn h10_what_is_covered_is_not_folded() {
    let folded = |cover: u64| {
        let mut chain = Chain::default();
        chain.cover(cover);
        for event in history::parse("a.MERGE.9(,c) a.MERGE.7(,b) a.PUT.3(x)") {
            if !chain.push(event.header, event.value()) {
                break;
            }
        }
        let folded = chain.fold(b"a", Below::Unknown, &resolver(), &mut Vec::new());
        let records = folded.records.iter();
        let events: Vec<_> =
            records.map(|record| Event::new(b"a", record.header, &record.value)).collect();
        history::print(&events)
    };
    assert_eq!(folded(2), "a.PUT.9(x,b,c)");
    assert_eq!(folded(4), "a.PUT.9(,b,c)", "onto nothing");
    assert_eq!(folded(8), "a.PUT.9(,c)");
    assert_eq!(folded(10), "");
}

/// The short cut for one operand over nothing agrees with the full routine. The cases include
/// operators that fail, delete or are unknown.
#[test]
fn one_operand_reads_as_it_folds() {
    let mut outcomes = std::collections::BTreeSet::new();
    for operand in ["+1", "-1", "#1", ",x", "~x", "=1", "!", ".", "*", "?"] {
        let history = history::parse(&format!("a.MERGE.5({operand})"));
        let folded = collected(&history).fold(b"a", Below::Nothing, &resolver(), &mut Vec::new());
        let expected = match folded.records.last() {
            _ if folded.failed.is_some() => "!".to_owned(),
            Some(record) if record.header.kind == crate::key::Kind::Put => {
                record.value.escape_ascii().to_string()
            }
            _ => "-".to_owned(),
        };
        assert_eq!(seen(collected(&history)), expected, "{operand}");
        outcomes.insert(expected);
    }
    assert!(outcomes.contains("!") && outcomes.contains("-") && outcomes.len() > 4, "{outcomes:?}");
}
