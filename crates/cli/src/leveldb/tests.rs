//! Databases made by hand: what a stream of entries shows, and what damage it finds.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use foldb_leveldb_format::edit::{Edit, TableInfo};
use foldb_leveldb_format::encoding::{DELETION, TAG_LEN, VALUE, put_prefixed, tag};
use foldb_leveldb_format::{BYTEWISE, records};

use super::Source;
use super::table_writer::{SEQUENCE, TableWriter};
use crate::foreign::Stream;
use crate::foreign::mutator::{corpus, mutate, time};

/// Writes a table. Its entries get the sequence number of all new entries.
fn table(directory: &Path, level: u32, number: u64, keys: &[&str]) -> TableInfo {
    let mut writer = TableWriter::create(directory, number).unwrap();
    for key in keys {
        writer.add(key.as_bytes(), format!("{key} of {number}").as_bytes()).unwrap();
    }
    TableInfo { level, ..writer.finish().unwrap() }
}

/// A batch of a log: keys with a plus are put, those with a minus are deleted.
fn batch(sequence: u64, writes: &[&str]) -> Vec<u8> {
    let mut batch = sequence.to_le_bytes().to_vec();
    batch.extend_from_slice(&(writes.len() as u32).to_le_bytes());
    for write in writes {
        let (key, is_put) = (&write.as_bytes()[1..], write.starts_with('+'));
        batch.push(if is_put { VALUE } else { DELETION });
        put_prefixed(&mut batch, key);
        if is_put {
            put_prefixed(&mut batch, b"logged");
        }
    }
    batch
}

fn log(directory: &Path, number: u64, batches: &[Vec<u8>]) {
    let mut file = Vec::new();
    batches.iter().for_each(|batch| records::append(&mut file, batch));
    fs::write(directory.join(format!("{number:06}.log")), file).unwrap();
}

/// Writes a manifest of two edits, and `CURRENT`.
fn manifest(directory: &Path, tables: &[TableInfo], log: u64, last_sequence: u64) {
    let first = Edit { comparator: Some(BYTEWISE.as_bytes().to_vec()), ..Edit::default() };
    let second = Edit {
        log: Some(log),
        previous_log: Some(0),
        next_file: Some(100),
        last_sequence: Some(last_sequence),
        added: tables.to_vec(),
        ..Edit::default()
    };
    write_edits(directory, &[first.encode(), second.encode()]);
    fs::write(directory.join("CURRENT"), format!("{MANIFEST}\n")).unwrap();
}

const MANIFEST: &str = "MANIFEST-000009";

fn write_edits(directory: &Path, edits: &[Vec<u8>]) {
    let mut file = Vec::new();
    edits.iter().for_each(|edit| records::append(&mut file, edit));
    fs::write(directory.join(MANIFEST), file).unwrap();
}

/// Returns the edits of a database.
fn edits(directory: &Path) -> Vec<Vec<u8>> {
    let bytes = fs::read(directory.join(MANIFEST)).unwrap();
    let mut records = records::Records::of(&bytes);
    let mut edits = Vec::new();
    while let Some(edit) = records.next().unwrap() {
        edits.push(edit.to_vec());
    }
    edits
}

/// Returns all entries as text.
fn entries(directory: &Path) -> Result<Vec<String>, String> {
    let read = || {
        let mut source = Source::open(directory)?;
        let mut all = Vec::new();
        while source.advance()? {
            let (key, value) = (source.key(), source.base().unwrap());
            all.push(format!("{}={}", key.escape_ascii(), value.escape_ascii()));
        }
        source.check_unchanged()?;
        Ok(all)
    };
    read().map_err(crate::exit::Exit::message)
}

/// A database with tables in three levels, and two logs.
fn database() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    let tables = [
        table(path, 1, 5, &["a", "b", "c"]),
        table(path, 1, 6, &["d", "e"]),
        table(path, 6, 7, &["aa", "dd", "z"]),
    ];
    manifest(path, &tables, 10, SEQUENCE);
    log(path, 8, &[batch(90, &["+old"])]);
    log(path, 10, &[batch(2, &["+b", "-d", "+n"]), batch(5, &["+a", "-a"])]);
    log(path, 11, &[batch(7, &["-n", "+z", "-y"])]);
    dir
}

#[test]
fn the_newest_write_of_each_key_shows() {
    let dir = database();
    let expected = ["aa=aa of 7", "b=logged", "c=c of 5", "dd=dd of 7", "e=e of 6", "z=logged"];
    assert_eq!(entries(dir.path()).unwrap(), expected);
}

#[test]
fn no_changed_bit_changes_the_entries_unnoticed() {
    let dir = database();
    let sound = entries(dir.path()).unwrap();
    let (mut errors, mut torn) = (0, 0);
    for entry in fs::read_dir(dir.path()).unwrap() {
        let file = entry.unwrap().path();
        let bytes = fs::read(&file).unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at * 5 % 8);
            fs::write(&file, &damaged).unwrap();
            match entries(dir.path()) {
                Err(_) => errors += 1,
                // The end of the newest log may be what a crash left.
                Ok(_) if file.ends_with("000011.log") => torn += 1,
                Ok(found) => {
                    assert!(found == sound, "{file:?} {at}")
                }
            }
        }
        for len in 0..bytes.len() {
            fs::write(&file, &bytes[..len]).unwrap();
            let found = entries(dir.path());
            let may_be_torn = file.ends_with("000011.log");
            assert!(may_be_torn || found.is_err() || found.unwrap() == sound, "{file:?} {len}");
        }
        fs::write(&file, &bytes).unwrap();
    }
    assert_eq!(entries(dir.path()).unwrap(), sound);
    assert!(errors > 400 && torn > 20, "{errors} {torn}");
}

#[test]
fn wrong_tables_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path();
    let (one, two) = (table(path, 1, 5, &["a", "c"]), table(path, 1, 6, &["b", "d"]));
    let complains = |tables: &[TableInfo], last_sequence, expected: &str| {
        manifest(path, tables, 0, last_sequence);
        let message = entries(path).unwrap_err();
        assert!(message.contains(expected), "{message}");
    };
    manifest(path, &[one.clone(), TableInfo { level: 2, ..two.clone() }], 0, 1);
    assert_eq!(entries(path).unwrap().len(), 4);
    complains(&[one.clone(), two.clone()], 1, "tables of one level of");
    complains(std::slice::from_ref(&one), 0, "a write has sequence number 1, but the last one");
    let internal = |key: &[u8]| [key, &tag(SEQUENCE, VALUE).to_le_bytes()].concat();
    let smaller = TableInfo { smallest: internal(b"Z"), ..one.clone() };
    complains(&[smaller], 1, "the first key is not the one that the manifest has");
    let larger = TableInfo { largest: internal(b"x"), ..one.clone() };
    complains(&[larger], 1, "the last key is not the one that the manifest has");
    complains(&[TableInfo { size: one.size + 1, ..one.clone() }], 1, "expected a table of");
    complains(&[TableInfo { size: one.size - 1, ..one.clone() }], 1, "the footer is damaged");
    complains(&[TableInfo { number: 77, ..one }], 1, "000077.ldb' is missing");
    assert_eq!(two.largest.len(), 1 + TAG_LEN);
}

/// The checksums of all records are right, so the reader gets to the changed edits and batches.
#[test]
fn databases_with_changed_edits_and_batches_are_read_or_refused() {
    let dir = database();
    let whole = edits(dir.path());
    let batches = [corpus("leveldb_batch"), vec![batch(7, &["+key", "-a"])]].concat();
    let (begun, time) = (Instant::now(), time(Duration::from_millis(300)));
    let mut rng = fastrand::Rng::new();
    while begun.elapsed() < time {
        let (edit, batch) = (mutate(&mut rng, &whole[1..]), mutate(&mut rng, &batches));
        write_edits(dir.path(), &[whole[0].clone(), edit.clone()]);
        log(dir.path(), 11, std::slice::from_ref(&batch));
        let outcome = std::panic::catch_unwind(|| entries(dir.path()).map(drop));
        assert!(outcome.is_ok(), "{edit:?} and {batch:?}");
    }
}
