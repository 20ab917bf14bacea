//! Checks correct histories, and similar histories with one wrong answer.

use std::ops::RangeInclusive;

use foldb_model::{Operation, Reset, Rule};

use super::*;

fn put(key: &str, value: &str) -> Operation {
    let change = Change::Put(key.as_bytes().to_vec(), value.as_bytes().to_vec());
    Operation { keyspace: 0, change }
}

fn write(ticks: [Tick; 2], numbers: RangeInclusive<u64>, operations: &[Operation]) -> Write {
    let [began, returned] = ticks;
    let outcome = Outcome::Done { synced: false };
    // Writes get their numbers when they return.
    let (rank, operations) = (returned, operations.to_vec());
    let (before, after) = (Vec::new(), Vec::new());
    let (second, is_logged) = (0, true);
    Write { began, returned, numbers, rank, operations, outcome, second, before, after, is_logged }
}

fn read(ticks: [Tick; 2], key: &str, value: &str) -> Read {
    let [began, returned] = ticks;
    let value = (!value.is_empty()).then(|| value.as_bytes().to_vec());
    let seen = Seen::Value { keyspace: 0, key: key.as_bytes().to_vec(), value };
    Read { began, returned, second: 0, at: None, is_ahead: false, seen }
}

fn walk(ticks: [Tick; 2], entries: &[(&str, &str)]) -> Read {
    let [began, returned] = ticks;
    let entries =
        entries.iter().map(|(key, value)| (key.as_bytes().to_vec(), value.as_bytes().to_vec()));
    let seen = Seen::Entries { keyspace: 0, range: None, entries: entries.collect() };
    Read { began, returned, second: 0, at: None, is_ahead: false, seen }
}

fn check(writes: &[Write], reads: &[Read]) -> Result<(), Wrong> {
    let (writes, reads) = (writes.to_vec(), reads.to_vec());
    Checker::new(vec![None]).check(History { writes, reads, ..History::default() })
}

#[test]
fn a_read_sees_what_had_returned_before_it_began() {
    let writes = [write([0, 1], 1..=1, &[put("a", "1")])];
    check(&writes, &[read([2, 3], "a", "1")]).unwrap();
    check(&writes, &[read([2, 3], "a", "")]).unwrap_err();
}

#[test]
fn a_read_during_a_write_may_see_it_or_not() {
    let writes = [write([0, 5], 1..=1, &[put("a", "1")])];
    check(&writes, &[read([2, 3], "a", "1")]).unwrap();
    check(&writes, &[read([2, 3], "a", "")]).unwrap();
    check(&writes, &[read([2, 3], "a", "2")]).unwrap_err();
}

#[test]
fn a_read_does_not_go_back() {
    let writes = [write([0, 9], 1..=1, &[put("a", "1")])];
    check(&writes, &[read([1, 2], "a", ""), read([3, 4], "a", "1")]).unwrap();
    check(&writes, &[read([1, 2], "a", "1"), read([3, 4], "a", "")]).unwrap_err();
    // Concurrent writes may come in either order.
    check(&writes, &[read([1, 3], "a", "1"), read([2, 4], "a", "")]).unwrap();
}

#[test]
fn a_read_does_not_see_the_future() {
    let writes = [write([5, 6], 1..=1, &[put("a", "1")])];
    check(&writes, &[read([1, 2], "a", "1")]).unwrap_err();
}

#[test]
fn reads_of_two_keys_agree_on_an_order() {
    let writes = [write([0, 9], 1..=1, &[put("a", "1")]), write([0, 9], 2..=2, &[put("b", "1")])];
    check(&writes, &[read([1, 2], "b", "1"), read([3, 4], "a", "1")]).unwrap();
    check(&writes, &[read([1, 2], "b", "1"), read([3, 4], "a", "")]).unwrap_err();
}

#[test]
fn a_batch_is_never_half_visible() {
    let writes = [write([0, 9], 1..=2, &[put("a", "1"), put("b", "1")])];
    check(&writes, &[walk([1, 2], &[("a", "1"), ("b", "1")])]).unwrap();
    check(&writes, &[walk([1, 2], &[])]).unwrap();
    check(&writes, &[walk([1, 2], &[("a", "1")])]).unwrap_err();
    let snapshot = |number| Read {
        is_ahead: false,
        at: None,
        began: 1,
        returned: 2,
        seen: Seen::Snapshot(number),
        second: 0,
    };
    check(&writes, &[snapshot(2)]).unwrap();
    check(&writes, &[snapshot(1)]).unwrap_err();
}

#[test]
fn a_walk_shows_one_moment() {
    let writes = [write([0, 9], 1..=1, &[put("a", "1")]), write([0, 9], 2..=2, &[put("b", "1")])];
    check(&writes, &[walk([1, 2], &[("a", "1")])]).unwrap();
    check(&writes, &[walk([1, 2], &[("b", "1")])]).unwrap_err();
}

#[test]
fn numbers_follow_time_and_are_given_once() {
    let (one, other) = (put("a", "1"), put("a", "2"));
    let mut later = write([5, 6], 1..=1, std::slice::from_ref(&one));
    later.rank = 0;
    check(&[later, write([0, 1], 2..=2, std::slice::from_ref(&other))], &[]).unwrap_err();
    let twice = [write([0, 1], 1..=1, &[one]), write([2, 3], 1..=1, &[other])];
    check(&twice, &[]).unwrap_err();
}

#[test]
fn a_failed_write_gives_its_number_away() {
    let mut failed = write([0, 1], 1..=1, &[put("a", "1")]);
    failed.outcome = Outcome::Open;
    let next = write([2, 3], 1..=1, &[put("a", "2")]);
    check(&[failed.clone(), next.clone()], &[read([4, 5], "a", "2")]).unwrap();
    check(&[failed, next], &[read([4, 5], "a", "1")]).unwrap_err();
}

/// Both writes fail. The second one fails while it waits for its sync, and is visible until then.
#[test]
fn of_two_failed_writes_with_one_number_the_later_may_show() {
    let failed = |ticks, value| {
        let mut write = write(ticks, 1..=1, &[put("a", value)]);
        write.outcome = Outcome::Open;
        write
    };
    let writes = [failed([0, 1], "1"), failed([2, 9], "2")];
    check(&writes, &[read([4, 5], "a", "2")]).unwrap();
    check(&writes, &[read([4, 5], "a", "1")]).unwrap_err();
}

#[test]
fn a_stop_loses_only_what_was_not_promised() {
    let synced = Outcome::Done { synced: true };
    let first = Write { outcome: synced, ..write([0, 1], 1..=1, &[put("a", "1")]) };
    let batch = write([2, 3], 2..=3, &[put("a", "2"), put("b", "2")]);
    let checker = || {
        let mut checker = Checker::new(vec![None]);
        let (writes, reads, syncs) = (vec![first.clone(), batch.clone()], vec![], vec![]);
        checker.check(History { writes, reads, syncs, ..History::default() }).unwrap();
        checker
    };
    let shows = |entries: &[(&str, &str)]| vec![walk([0, 0], entries).seen];
    let (none, one) = (shows(&[]), shows(&[("a", "1")]));
    let both = shows(&[("a", "2"), ("b", "2")]);
    checker().begin_life(0, false, &none, 0).unwrap_err();
    checker().begin_life(1, true, &one, 0).unwrap_err();
    checker().begin_life(2, false, &shows(&[("a", "2")]), 0).unwrap_err();
    checker().begin_life(1, false, &one, 0).unwrap();
    checker().begin_life(1, false, &both, 0).unwrap_err();
    checker().begin_life(3, true, &both, 0).unwrap();
}

#[test]
fn after_a_stop_either_of_two_failed_writes_with_one_number_may_show() {
    let failed = |value| {
        let mut write = write([0, 9], 1..=1, &[put("a", value)]);
        write.outcome = Outcome::Open;
        write
    };
    for (value, is_right) in [("1", true), ("2", true), ("3", false)] {
        let mut checker = Checker::new(vec![None]);
        let writes = vec![failed("1"), failed("2")];
        checker.check(History { writes, ..History::default() }).unwrap();
        let found = [walk([0, 0], &[("a", value)]).seen];
        assert_eq!(checker.begin_life(1, false, &found, 0).is_ok(), is_right, "{value}");
    }
}

/// A put that lives ten seconds, at second 0; a jump to second 50 and a reset to second 5.
#[test]
fn a_reset_leaves_what_had_expired_or_not_and_the_reads_after_it_agree() {
    let expiry = Expiry { rule: Rule::AfterLast, lifetime: 10, bucket: 1 };
    let entries = |entries: &[(&str, &str)]| match walk([0, 0], entries).seen {
        Seen::Entries { entries, .. } => entries,
        _ => unreachable!("a walk has entries"),
    };
    let history = |found: &[(&str, &str)], before, later: &str| {
        let writes = vec![
            write([0, 1], 1..=1, &[put("a", "1")]),
            Write { second: 5, ..write([4, 5], 2..=2, &[put("b", "2")]) },
        ];
        let reads = vec![
            Read { second: before, ..read([2, 3], "a", "") },
            Read { second: 5, ..read([6, 7], "a", later) },
        ];
        let (after, keyspace, entries) = (5, 0, entries(found));
        let resets = vec![Reset { number: 2, before, after, keyspace, entries }];
        let history = History { writes, reads, resets, ..History::default() };
        Checker::new(vec![Some(expiry)]).check(history)
    };
    let (both, one) = ([("a", "1"), ("b", "2")], [("b", "2")]);
    history(&both, 50, "1").unwrap();
    history(&one, 50, "").unwrap();
    history(&both, 50, "").unwrap_err();
    history(&one, 50, "1").unwrap_err();
    history(&[("a", "other"), ("b", "2")], 50, "1").unwrap_err();
    history(&[("a", "1"), ("b", "2"), ("c", "3")], 50, "1").unwrap_err();
    // Nothing drops an entry before its end, and no reset takes one away that had not expired.
    history(&[("a", "1")], 12, "1").unwrap_err();
}
