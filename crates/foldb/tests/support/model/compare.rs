//! Compares the database's answers with the model's.

use std::ops::Bound;

use foldb::{ErrorKind, Iter, Keyspace, KeyspaceReader, ReadOptions, Reader, Snapshot, Value};
use foldb_model::{Cell, Keys, View, is_between};

use super::program::{self, Key, Place};

/// The result of a scan.
pub(crate) type Entries = Vec<(Vec<u8>, Cell)>;

/// Returns what a full scan sees.
pub(crate) fn entries(view: View<'_>) -> Entries {
    view.entries().map(|(key, cell)| (key.clone(), cell.clone())).collect()
}

/// Compares all entries: by gets, forwards and backwards.
pub(crate) fn check_keyspace(keyspace: &KeyspaceReader, view: View<'_>) {
    check_reads(keyspace, view);
    for n in (0..program::KEYS).step_by(5) {
        let key = Key(n).bytes();
        check_count(keyspace, view, (Bound::Unbounded, Bound::Excluded(key.clone())));
        check_count(keyspace, view, (Bound::Excluded(key), Bound::Unbounded));
    }
    check_count(keyspace, view, (Bound::Unbounded, Bound::Unbounded));
}

/// Compares what every reader can read.
pub(crate) fn check_reads(reader: &impl Reader, view: View<'_>) {
    let expected = entries(view);
    for key in Key::all() {
        assert_get(&key, reader.get(&key), view);
        let there = reader.contains_key(&key);
        match expected.iter().find(|(own, _)| *own == key) {
            Some((_, Cell::Failed)) => assert!(there.is_err()),
            found => assert_eq!(there.expect("a read"), found.is_some()),
        }
    }
    let answers = reader.multi_get(Key::all()).expect("several reads");
    for (key, answer) in Key::all().zip(answers) {
        assert_get(&key, answer, view);
    }
    assert_entries("forwards", scan(reader.iter().expect("an iterator")), &expected);
    let backwards = scan_backwards(reader.iter().expect("an iterator"));
    assert_entries("backwards", backwards, &expected);
    assert_from_both_ends(reader.iter().expect("an iterator"), &expected);
    assert_end("first", reader.first(), expected.first());
    assert_end("last", reader.last(), expected.last());
    assert_eq!(reader.is_empty().expect("a read"), expected.is_empty());
}

/// Takes two entries from the front, one from the back, and so on until they meet.
fn assert_from_both_ends(mut iter: Iter, expected: &[(Vec<u8>, Cell)]) {
    let mut left = expected.iter();
    for turn in 0..=expected.len() {
        let (entry, expected) = match turn % 3 {
            2 => (iter.next_back(), left.next_back()),
            _ => (iter.next(), left.next()),
        };
        let entry = entry.transpose();
        let key = entry.as_ref().ok().and_then(|found| Some(found.as_ref()?.0.clone()));
        assert_eq!(
            seen(entry.map(|found| found.map(|(_, value)| value))).as_ref(),
            expected.map(|(_, value)| value),
            "from both ends"
        );
        if let Some(key) = key {
            assert_eq!(Some(&key), expected.map(|(key, _)| key), "from both ends");
        }
    }
    assert!(iter.next().is_none() && iter.next_back().is_none());
}

fn assert_end(
    which: &str,
    read: foldb::Result<Option<(Vec<u8>, Value)>>,
    expected: Option<&(Vec<u8>, Cell)>,
) {
    let (key, value) = match read {
        Ok(None) => return assert_eq!(None, expected, "the {which} entry"),
        Ok(Some((key, value))) => (Some(key), Ok(Some(value))),
        Err(error) => (None, Err(error)),
    };
    assert_eq!(seen(value).as_ref(), expected.map(|(_, value)| value), "the {which} entry");
    if let Some(key) = key {
        assert_eq!(Some(&key), expected.map(|(key, _)| key), "the {which} entry");
    }
}

/// Checks that the true count lies within the bound of the approximate one.
pub(crate) fn check_count(keyspace: &KeyspaceReader, view: View<'_>, range: Keys) {
    let keys = view.entries().filter(|(key, _)| is_between(key, &range)).count() as u64;
    let count = keyspace.approximate_count(range.clone()).expect("a count");
    assert!(
        count.at_least <= keys && keys <= count.at_most,
        "{keys} keys, but {count:?} of {range:?}"
    );
    assert!(count.at_least <= count.estimate && count.estimate <= count.at_most, "{count:?}");
}

/// Returns what a read saw.
///
/// # Panics
/// When the read failed for another reason than its merge.
pub(crate) fn seen(read: foldb::Result<Option<Value>>) -> Option<Cell> {
    match read {
        Ok(value) => value.map(|value| Cell::Value(value.to_vec())),
        Err(error) if error.kind() == ErrorKind::MergeFailed => Some(Cell::Failed),
        Err(error) => panic!("a read failed: {error}"),
    }
}

/// Returns all entries, by moving and reading: an entry whose merge failed has a key too.
pub(crate) fn scan(iter: Iter) -> Entries {
    collect(iter, Iter::advance)
}

pub(crate) fn scan_backwards(iter: Iter) -> Entries {
    let mut entries = collect(iter, Iter::retreat);
    entries.reverse();
    entries
}

pub(crate) fn collect(mut iter: Iter, step: fn(&mut Iter) -> foldb::Result<bool>) -> Entries {
    let mut entries = Vec::new();
    while step(&mut iter).expect("a move") {
        let value = iter.value().map(|value| Some(value.clone()));
        entries.push((iter.key().to_vec(), seen(value).expect("an entry has a value")));
    }
    entries
}

pub(crate) fn assert_get(key: &[u8], read: foldb::Result<Option<Value>>, view: View<'_>) {
    let expected = view.get(key).cloned();
    assert_eq!(seen(read), expected, "get of key '{}'", key.escape_ascii());
}

pub(crate) fn check_snapshot(keyspace: &Keyspace, snapshot: &Snapshot, view: View<'_>) {
    let then = ReadOptions { snapshot: Some(snapshot.clone()), ..ReadOptions::default() };
    for key in Key::all() {
        assert_get(&key, keyspace.with(&then).get(&key), view);
        if keyspace.name() == Place::DEFAULT.name() {
            assert_get(&key, snapshot.get(&key), view);
        }
    }
    let found = scan(keyspace.with(&then).range(..).expect("an iterator"));
    assert_entries("through a snapshot", found, &entries(view));
    check_reads(&snapshot.keyspace(keyspace), view);
}

pub(crate) fn assert_entries(how: &str, found: Entries, expected: &[(Vec<u8>, Cell)]) {
    assert_eq!(found, expected, "a scan {how}");
}
