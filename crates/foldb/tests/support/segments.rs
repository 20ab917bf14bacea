//! Databases with separated values, and their expected contents.

use foldb::env::{FileSystem, MemFs};
use foldb::internals::Knobs;
use foldb::{Db, KeyspaceOptions, Options, Reader};

use super::PATH;

/// Options that separate values from 100 bytes on, with small files.
pub(crate) fn separating(fs: &MemFs) -> Options {
    Options {
        default: KeyspaceOptions { value_separation_min: Some(100), ..super::options(fs).default },
        knobs: Knobs { segment_size: 16 << 10, ..Knobs::default() },
        ..super::options(fs)
    }
}

pub(crate) fn open(fs: &MemFs) -> Db {
    Db::open(PATH, separating(fs)).unwrap()
}

pub(crate) fn key(n: usize) -> String {
    format!("key{n:04}")
}

/// Returns a value of 200 bytes that names its key and generation.
pub(crate) fn value(n: usize, generation: usize) -> Vec<u8> {
    let mut value = format!("{n}.{generation}.").into_bytes();
    value.resize(200, b'a' + (n + generation) as u8 % 26);
    value
}

pub(crate) fn put_all(db: &Db, keys: impl Iterator<Item = usize>, generation: usize) {
    keys.for_each(|n| db.put(key(n), value(n, generation)).unwrap());
}

/// Checks every way of reading keys `0..count`; `generation` gives the expected contents of each.
pub(crate) fn check_all(
    db: &impl Reader,
    count: usize,
    generation: impl Fn(usize) -> Option<usize>,
) {
    let expected: Vec<_> =
        (0..count).filter_map(|n| Some((key(n).into_bytes(), value(n, generation(n)?)))).collect();
    let owned = |entry: foldb::Result<(Vec<u8>, foldb::Value)>| {
        entry.map(|(key, value)| (key, value.into_owned())).unwrap()
    };
    assert_same(&db.iter().unwrap().map(owned).collect::<Vec<_>>(), &expected);
    let mut backwards: Vec<_> = db.iter().unwrap().rev().map(owned).collect();
    backwards.reverse();
    assert_same(&backwards, &expected);
    let many = db.multi_get((0..count).map(key)).unwrap();
    for (n, found) in many.into_iter().enumerate() {
        let expected = generation(n).map(|generation| value(n, generation));
        for found in [found.unwrap(), db.get(key(n)).unwrap()] {
            let found = found.map(foldb::Value::into_owned);
            let (shown, wanted) = (found.as_deref().map(brief), expected.as_deref().map(brief));
            assert!(found == expected, "{n}: found {shown:?}, expected {wanted:?}");
        }
    }
}

type Entry = (Vec<u8>, Vec<u8>);

/// Asserts that entries are as expected, and says where they begin to differ.
fn assert_same(found: &[Entry], expected: &[Entry]) {
    if let Some(at) =
        (0..found.len().max(expected.len())).find(|&n| found.get(n) != expected.get(n))
    {
        let show = |entries: &[Entry]| {
            entries.get(at).map(|(key, value)| format!("{} {}", key.escape_ascii(), brief(value)))
        };
        panic!("entry {at}: found {:?}, expected {:?}", show(found), show(expected));
    }
}

/// Returns the first bytes of a value.
fn brief(value: &[u8]) -> String {
    value[..value.len().min(12)].escape_ascii().to_string()
}

pub(crate) fn segment_files(fs: &MemFs) -> Vec<String> {
    let mut names = fs.list(std::path::Path::new(PATH)).unwrap();
    names.retain(|name| name.ends_with(".seg"));
    names.sort();
    names
}
