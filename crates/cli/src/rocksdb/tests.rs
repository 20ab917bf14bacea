//! Changed databases: what they hold is read or refused, and nothing panics.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use foldb_leveldb_format::records::{self, Records};

use super::{Choices, Database};
use crate::foreign::Stream;
use crate::foreign::mutator::{mutate, time};

/// Copies a golden database.
fn database(name: &str) -> tempfile::TempDir {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/rocksdb").join(name);
    let dir = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(golden).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, dir.path().join(path.file_name().unwrap())).unwrap();
    }
    dir
}

/// Reads all entries, and returns how many there are.
fn read(directory: &Path, skip_damaged: bool) -> Result<u64, String> {
    let choices = Choices { skip_damaged, ..Choices::default() };
    let read = || {
        let mut database = Database::open(directory, &choices)?;
        let mut count = 0;
        for family in database.families() {
            let mut entries = database.entries(&family)?;
            while entries.advance()? {
                count += 1;
            }
        }
        Ok(count)
    };
    read().map_err(|exit: crate::exit::Exit| exit.message())
}

fn file(directory: &Path, begin: &str, end: &str) -> PathBuf {
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let mut found: Vec<PathBuf> =
        paths.filter(|path| name(path).starts_with(begin) && name(path).ends_with(end)).collect();
    found.sort();
    found.pop().unwrap()
}

fn all_records(bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut records, mut all) = (Records::of(bytes), Vec::new());
    while let Ok(Some(record)) = records.next() {
        all.push(record.to_vec());
    }
    all
}

/// The checksums of all records are right, so the reader gets to the changed edits and batches.
#[test]
fn databases_with_changed_edits_and_batches_are_read_or_refused() {
    let dir = database("release_11_8_values_apart");
    assert!(read(dir.path(), false).unwrap() > 20);
    let path = file(dir.path(), "MANIFEST", "");
    let edits = all_records(&fs::read(&path).unwrap());
    let other = database("release_11_8_footer_6");
    let batches = all_records(&fs::read(file(other.path(), "", ".log")).unwrap());
    let log = file(dir.path(), "", ".log");
    let (begun, time) = (Instant::now(), time(Duration::from_millis(500)));
    let mut rng = fastrand::Rng::new();
    while begun.elapsed() < time {
        let mut changed = edits.clone();
        let at = rng.usize(..changed.len());
        changed[at] = mutate(&mut rng, &edits);
        let mut manifest = Vec::new();
        changed.iter().for_each(|edit| records::append(&mut manifest, edit));
        fs::write(&path, manifest).unwrap();
        let mut logged = Vec::new();
        records::append(&mut logged, &mutate(&mut rng, &batches));
        fs::write(&log, logged).unwrap();
        let outcome = std::panic::catch_unwind(|| drop(read(dir.path(), rng.clone().bool())));
        assert!(outcome.is_ok(), "{changed:?}");
    }
}

/// The table has no checksums, so the reader gets to the changed bytes.
#[test]
fn tables_with_changed_bytes_are_read_or_refused() {
    let dir = database("release_7_8_no_checksums");
    assert!(read(dir.path(), false).unwrap() > 20);
    let path = file(dir.path(), "", ".sst");
    let bytes = fs::read(&path).unwrap();
    let (begun, time) = (Instant::now(), time(Duration::from_millis(500)));
    let (mut rng, mut errors) = (fastrand::Rng::new(), 0);
    while begun.elapsed() < time {
        let mut changed = bytes.clone();
        for _ in 0..rng.usize(1..4) {
            let at = rng.usize(..changed.len());
            changed[at] = rng.u8(..);
        }
        fs::write(&path, &changed).unwrap();
        let skip_damaged = rng.bool();
        let outcome = std::panic::catch_unwind(|| read(dir.path(), skip_damaged));
        errors += u32::from(outcome.expect("no bytes make the reader panic").is_err());
    }
    assert!(errors > 0);
}
