use std::path::Path;

use super::*;
use crate::cursor::Cursor;

fn open(directory: &Path, forgets_offsets: bool) -> Store {
    let options = StoreOptions { operator: None, forgets_offsets, memory: 16 << 20 };
    Store::open(directory, &options).unwrap()
}

fn offset(store: &Store) -> Option<Vec<u8>> {
    store.opened().unwrap().offset(b"log-0").unwrap().map(Value::into_owned)
}

fn commit(store: &Store, offset: &[u8]) {
    let mut packed = Vec::new();
    append(&mut packed, b"log-0", Some(offset)).unwrap();
    store.opened().unwrap().commit(&packed, None).unwrap();
}

fn pages(store: &Store, is_reverse: bool, ranges: &[(&[u8], &[u8])]) -> Vec<Vec<u8>> {
    let mut packed = Vec::new();
    for (from, to) in ranges {
        append(&mut packed, b"", Some(from)).unwrap();
        append(&mut packed, b"", Some(to)).unwrap();
    }
    let mut cursor = Cursor::new(&store.opened().unwrap(), is_reverse, &packed).unwrap();
    let mut all = Vec::new();
    loop {
        let (page, may_follow) = cursor.page(0).unwrap();
        all.extend(page);
        if !may_follow {
            break;
        }
    }
    let mut reader = Reader::new(&all);
    let mut keys = Vec::new();
    while let Some((key, _)) = reader.entry().unwrap() {
        keys.push(key.to_vec());
    }
    keys
}

#[test]
fn a_closed_store_fails_and_its_directory_opens_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), false);
    store.opened().unwrap().put(b"key", Some(b"value")).unwrap();
    store.close().unwrap();
    store.close().unwrap();
    assert_eq!(store.opened().err().unwrap().kind(), ErrorKind::Closed);
    let again = open(directory.path(), false);
    assert_eq!(again.opened().unwrap().get(b"key").unwrap().unwrap(), b"value");
}

#[test]
fn a_directory_in_use_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let _store = open(directory.path(), false);
    let options = StoreOptions { operator: None, forgets_offsets: false, memory: 16 << 20 };
    let error = Store::open(directory.path(), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked);
}

#[test]
fn offsets_stay_unless_the_store_forgets_them() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), false);
    commit(&store, b"1");
    store.opened().unwrap().put(b"key", Some(b"value")).unwrap();
    assert_eq!(offset(&store), Some(b"1".to_vec()));
}

#[test]
fn the_first_write_after_an_open_or_a_commit_forgets_offsets() {
    let directory = tempfile::tempdir().unwrap();
    for write in 0..4 {
        let store = open(directory.path(), true);
        commit(&store, b"2");
        store.close().unwrap();
        let store = open(directory.path(), true);
        assert_eq!(offset(&store), Some(b"2".to_vec()));
        let opened = store.opened().unwrap();
        let mut packed = vec![Kind::Put as u8];
        append(&mut packed, b"a", Some(b"1")).unwrap();
        match write {
            0 => opened.put(b"key", Some(b"value")).unwrap(),
            1 => opened.write(&packed).unwrap(),
            2 => opened.delete_range(None, Some(b"b")).unwrap(),
            _ => drop(opened.delete(b"key").unwrap()),
        }
        assert_eq!(offset(&store), None, "write {write}");
        commit(&store, b"3");
        assert_eq!(offset(&store), Some(b"3".to_vec()));
        opened.put(b"key", Some(b"value")).unwrap();
        assert_eq!(offset(&store), None, "write {write} after a commit");
    }
}

#[test]
fn an_empty_commit_forgets_all_offsets_and_keeps_the_position() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), false);
    commit(&store, b"1");
    store.opened().unwrap().commit(&[], Some(b"there")).unwrap();
    assert_eq!(offset(&store), None);
    assert_eq!(store.opened().unwrap().position().unwrap().unwrap(), b"there");
}

#[test]
fn a_cursor_walks_ranges_in_both_directions() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), false);
    for n in 0..1000 {
        store.opened().unwrap().put(format!("{n:03}").as_bytes(), Some(b"v")).unwrap();
    }
    let all: Vec<Vec<u8>> = (0..1000).map(|n| format!("{n:03}").into_bytes()).collect();
    assert_eq!(pages(&store, false, &[(b"", b"z")]), all);
    let ranges: [(&[u8], &[u8]); 4] =
        [(b"010", b"012"), (b"0105", b"0106"), (b"300", b"20"), (b"998", b"z")];
    let forward = pages(&store, false, &ranges);
    assert_eq!(forward, [b"010", b"011", b"998", b"999"]);
    let backward: Vec<_> = forward.into_iter().rev().collect();
    assert_eq!(pages(&store, true, &ranges), backward);
    assert!(pages(&store, false, &[]).is_empty());
}

#[test]
fn a_cursor_sees_the_store_as_of_its_making() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), false);
    let opened = store.opened().unwrap();
    opened.put(b"a", Some(b"1")).unwrap();
    let mut packed = Vec::new();
    append(&mut packed, b"", None).unwrap();
    append(&mut packed, b"", None).unwrap();
    let mut cursor = Cursor::new(&opened, false, &packed).unwrap();
    opened.put(b"b", Some(b"2")).unwrap();
    opened.put(b"a", None).unwrap();
    let (page, may_follow) = cursor.page(0).unwrap();
    assert!(!may_follow);
    assert_eq!(Reader::new(&page).entry().unwrap(), Some((&b"a"[..], Some(&b"1"[..]))));
}

#[test]
fn get_all_answers_in_the_order_of_the_keys() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), false);
    let opened = store.opened().unwrap();
    opened.put(b"a", Some(b"1")).unwrap();
    opened.put(b"c", Some(b"")).unwrap();
    let mut packed = Vec::new();
    for key in [b"c", b"b", b"a"] {
        append(&mut packed, key, None).unwrap();
    }
    let values = opened.get_all(&packed).unwrap();
    let mut reader = Reader::new(&values);
    for expected in [Some(&b""[..]), None, Some(&b"1"[..])] {
        assert_eq!(reader.entry().unwrap().unwrap().1, expected);
    }
}

#[test]
fn an_unknown_operator_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let operator = Some("median".to_owned());
    let options = StoreOptions { operator, forgets_offsets: false, memory: 16 << 20 };
    let error = Store::open(directory.path(), &options).unwrap_err();
    assert!(error.to_string().contains("'median'"), "{error}");
}

#[test]
fn statistics_count_from_the_open_and_leave_offsets_out() {
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let store = open(directory.path(), true);
        let opened = store.opened().unwrap();
        for n in 0..5u8 {
            opened.put(&[n], Some(b"value")).unwrap();
            commit(&store, b"1");
        }
        opened.put(b"key", None).unwrap();
        assert!(opened.get(b"key").unwrap().is_none());
        let [gets, puts, deletes, merges, ..] = opened.statistics();
        assert_eq!((gets, puts, deletes, merges), (1, 5, 1, 0));
        drop(opened);
        store.close().unwrap();
    }
}

#[test]
fn a_store_keeps_to_the_operator_that_it_was_created_with() {
    let directory = tempfile::tempdir().unwrap();
    let open = |operator: Option<&str>| {
        let operator = operator.map(str::to_owned);
        let options = StoreOptions { operator, forgets_offsets: true, memory: 16 << 20 };
        Store::open(directory.path(), &options)
    };
    let operand = [[0, 0, 0, 0, 0, 0, 0, 9u8], [0, 0, 0, 0, 0, 0, 0, 2]].concat();
    let store = open(Some("sum")).unwrap();
    commit(&store, b"1");
    store.opened().unwrap().merge(b"key", &operand).unwrap();
    assert_eq!(offset(&store), None, "a merge is a write");
    store.opened().unwrap().merge(b"key", &operand).unwrap();
    store.close().unwrap();
    let error = open(Some("max")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let message = error.to_string();
    assert!(message.contains("'sum'") && message.contains("'max'"), "{message}");
    // Without an operator, stored operands fold as before.
    let store = open(None).unwrap();
    let value = store.opened().unwrap().get(b"key").unwrap().unwrap();
    assert_eq!(value.as_slice()[8..], [0, 0, 0, 0, 0, 0, 0, 4]);
}

#[test]
fn a_page_that_java_did_not_take_comes_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), false);
    let opened = store.opened().unwrap();
    for n in 0..=255u8 {
        opened.put(&[n], Some(b"value")).unwrap();
    }
    let mut packed = Vec::new();
    append(&mut packed, b"", None).unwrap();
    append(&mut packed, b"", None).unwrap();
    let mut cursor = Cursor::new(&opened, false, &packed).unwrap();
    for _ in 0..2 {
        let (page, may_follow) = cursor.page(8).unwrap();
        cursor.keep(page.clone(), may_follow);
        assert_eq!(cursor.page(8).unwrap(), (page, may_follow));
    }
}
