//! The steps that the iterator that users see takes over many versions and over deleted keys.

use std::sync::atomic::Ordering;

use super::visible::{Account, at, everything, history, iter};
use super::*;
use crate::key::SeqNo;
use crate::testing::tree::read_events_in;

/// Only a walk from both ends needs two cursors.
#[test]
fn a_second_cursor_is_opened_when_both_ends_are_in_use() {
    let bench = Workbench::new();
    let events = history("a.PUT.1(1) b.PUT.2(2) c.PUT.3(3) d.PUT.4(4)");
    let account = Account::of(Stored::split(&bench, &[events]));
    let fresh = || {
        account.opens.store(0, Ordering::Relaxed);
        account.iter(&bench, 9, everything())
    };
    let opens = || account.opens.load(Ordering::Relaxed);
    assert_eq!((fresh().count(), opens()), (4, 1));
    assert_eq!((fresh().rev().count(), opens()), (4, 1));
    assert!(fresh().next_back().is_some());
    assert_eq!(opens(), 1);
    for front_first in [true, false] {
        let mut entries = fresh();
        let taken = if front_first {
            [entries.next(), entries.next_back(), entries.next(), entries.next_back()]
        } else {
            let [d, a] = [entries.next_back(), entries.next()];
            let [c, b] = [entries.next_back(), entries.next()];
            [a, d, b, c]
        };
        assert_eq!(taken.map(|entry| entry.unwrap().unwrap().0), [b"a", b"d", b"b", b"c"]);
        assert!(entries.next().is_none() && entries.next_back().is_none());
        assert_eq!(opens(), 2);
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
        let account = Account::of(Stored::split(&bench, &split));
        let mut entries = account.iter(&bench, 1001, everything());
        assert!(entries.seek("b").unwrap());
        assert_eq!(entries.key(), b"h");
        assert!(entries.advance().unwrap() && entries.seek_to_last().unwrap());
        assert!(entries.retreat().unwrap());
        assert_eq!(entries.key(), b"h");
        assert!(entries.retreat().unwrap() && entries.advance().unwrap());
        assert_eq!(entries.key(), b"h");
        assert!(entries.seek_for_prev("h").unwrap());
        drop(entries);
        let steps = account.steps();
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
        let stored = if in_memtable {
            puts.push(delete.clone());
            Stored::of(&bench, [Part::Memtable(memtable(&bench.comparator, &puts))])
        } else {
            let newer = memtable(&bench.comparator, std::slice::from_ref(&delete));
            let version = run(&bench, &puts, 1000);
            let run = Arc::clone(version.run(1).unwrap());
            Stored::of(&bench, [Part::Memtable(newer), Part::Run(run)])
        };
        let account = Account::of(stored);
        let mut entries = account.iter(&bench, keys + 1, everything());
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
        let jumps = account.steps();
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
    let run = Arc::clone(version.run(1).unwrap());
    let account = Account::of(Stored::of(&bench, [Part::Memtable(memtable), Part::Run(run)]));
    let entries = |seqno: SeqNo| account.iter(&bench, seqno, everything());
    let events = [old, new].concat();
    for seqno in [3 * keys, 2 * keys, 3 * keys, 3 * keys - 1, keys + keys / 2, keys, 3 * keys] {
        let there = |n: &u64| {
            let key = key(*n).into_bytes();
            read_events_in(&*bench.comparator, &events, &key, seqno) != "-"
        };
        let expected: Vec<Vec<u8>> = (0..keys).filter(there).map(|n| key(n).into_bytes()).collect();
        let forward: Vec<_> = entries(seqno).map(|entry| entry.unwrap().0).collect();
        assert_eq!(forward, expected, "forwards at {seqno}");
        let mut backward: Vec<_> = entries(seqno).rev().map(|entry| entry.unwrap().0).collect();
        backward.reverse();
        assert_eq!(backward, expected, "backwards at {seqno}");
    }
}

/// A walk notes that `a` to `k` are deleted. A newer file has the deletes. An older one has `k` and
/// a record that is newer than the walk. A walk that skips the first may not read the second.
#[test]
fn deletes_hide_what_lies_in_an_older_run_after_they_were_noted() {
    let bench = Workbench::new();
    let keys = || b'a'..=b'k';
    let name = |key: u8| char::from(key).to_string();
    let deletes = keys().map(|key| Event::delete(&name(key), u64::from(key)));
    let puts = keys().map(|key| Event::put(&name(key), u64::from(key - b'a' + 1), "1"));
    let puts = puts.chain([Event::put("z", 300, "1")]);
    let split = [Vec::new(), deletes.collect(), Vec::new(), puts.collect()];
    let account = Account::of(Stored::split(&bench, &split));
    let entries = |seqno| account.iter(&bench, seqno, everything());
    let front = |seqno| entries(seqno).map(|entry| entry.unwrap().0).collect::<Vec<_>>();
    let back = |seqno| entries(seqno).rev().map(|entry| entry.unwrap().0).collect::<Vec<_>>();
    for _ in 0..3 {
        assert!(front(200).is_empty() && back(200).is_empty());
        assert_eq!((front(300), back(300)), (vec![b"z".to_vec()], vec![b"z".to_vec()]));
    }
}
