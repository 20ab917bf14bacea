//! A file of another format or version is refused and stays as it is.

use std::fs;
use std::path::Path;

use foldb::repair::RepairOptions;
use foldb::{Db, Error, ErrorKind, Options};

use super::fixtures::{CLOSED, FIXTURES, Fixture, SEGMENTS, contents, copy_of};
use crate::support::error_of;

/// Returns a checksum as every format version computes it.
fn checksum(seed: u64, bytes: &[u8]) -> [u8; 8] {
    xxhash_rust::xxh3::xxh3_64_with_seed(bytes, seed).to_le_bytes()
}

pub(super) fn seed(file: u64, offset: u64) -> u64 {
    file.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
        ^ offset.wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// Where a kind of file has its magic and version, and how to correct its checksum.
struct Kind {
    fixture: Fixture,
    /// The beginning or end of the changed file's name.
    name: &'static str,
    /// The magic before version 1.
    before: &'static [u8; 8],
    /// The offsets of magic and version.
    places: fn(&[u8]) -> (usize, usize),
    seal: fn(&mut [u8], u64),
    /// Whether an open reads the file before it changes anything.
    is_read_first: bool,
}

fn seal_frame(file: &mut [u8], number: u64) {
    let sum = checksum(seed(number, 0), &file[4..85]);
    file[..4].copy_from_slice(&sum[..4]);
}

fn seal_footer(file: &mut [u8], number: u64) {
    let footer = file.len() - 96;
    let sum = checksum(seed(number, footer as u64), &file[footer..footer + 80]);
    file[footer + 80..footer + 88].copy_from_slice(&sum);
}

fn seal_segment(file: &mut [u8], number: u64) {
    let sum = checksum(seed(number, 0), &file[..32]);
    file[32..40].copy_from_slice(&sum);
}

fn seal_closed(file: &mut [u8], _number: u64) {
    let end = file.len() - 8;
    let sum = checksum(0, &file[..end]);
    file[end..].copy_from_slice(&sum);
}

const KINDS: [Kind; 5] = [
    Kind {
        fixture: CLOSED,
        name: "CLOSED",
        before: b"foldbend",
        places: |_| (0, 8),
        seal: seal_closed,
        is_read_first: true,
    },
    Kind {
        fixture: CLOSED,
        name: "MANIFEST-",
        before: b"foldblog",
        places: |_| (33, 41),
        seal: seal_frame,
        is_read_first: true,
    },
    Kind {
        fixture: CLOSED,
        name: ".log",
        before: b"foldblog",
        places: |_| (33, 41),
        seal: seal_frame,
        is_read_first: true,
    },
    Kind {
        fixture: SEGMENTS,
        name: ".tbl",
        before: b"foldbtbl",
        places: |file| (file.len() - 8, file.len() - 24),
        seal: seal_footer,
        is_read_first: false,
    },
    Kind {
        fixture: SEGMENTS,
        name: ".seg",
        before: b"foldbseg",
        places: |_| (0, 8),
        seal: seal_segment,
        is_read_first: false,
    },
];

/// Asserts that an error names what was found in which file, what was expected, and what to do.
#[track_caller]
fn assert_says(error: &Error, file: &str, found: &str) {
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    let path = error.path().unwrap_or_else(|| panic!("the error names no file: {error}"));
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(name.contains(file), "{error} should name {file}");
    for part in [found, "expected", "version 1", "the foldb that wrote"] {
        assert!(error.to_string().contains(part), "{error} should say {part}");
    }
}

/// Makes every call that reads a database and may change it. Each names a file of another format,
/// and leaves all files unchanged.
#[track_caller]
fn assert_refused(path: &Path, file: &str, found: &str) {
    let before = contents(path);
    let refused = |error: &Error| {
        assert_says(error, file, found);
        assert_eq!(error.path().unwrap().parent(), Some(path), "{error}");
        assert!(contents(path) == before, "files changed: {error}");
    };
    let creating = Options { create_if_missing: true, ..Options::default() };
    refused(&error_of(Db::open(path, creating)));
    refused(&error_of(Db::open_read_only(path, Options::default())));
    refused(&error_of(Db::repair(path, Options::default())));
    for dry_run in [false, true] {
        let copy_to = (!dry_run).then(|| path.with_extension("copy"));
        let how = RepairOptions { copy_to: copy_to.clone(), dry_run, ..RepairOptions::default() };
        refused(&error_of(Db::repair(path, how)));
        let is_left = copy_to.is_some_and(|copy| copy.exists());
        assert!(!is_left, "a refused copy leaves nothing behind");
    }
    let report = foldb::repair::verify(path, Options::default()).unwrap();
    let fault = report.faults.iter().find(|fault| fault.kind() == ErrorKind::Unsupported);
    refused(fault.unwrap_or_else(|| panic!("{report:?}")));
}

/// `fixtures/before-1` is the only database in the formats before version 1.
#[test]
fn a_database_of_an_older_format_is_refused_and_not_touched() {
    let older = Path::new(FIXTURES).join("before-1");
    let copy = copy_of(&older);
    fs::write(copy.path().join("LOCK"), "").unwrap();
    // The error names the manifest or the log.
    assert_refused(copy.path(), "0000", "\"foldblog\"");

    // A repair makes no manifest from the remains, whichever files are missing.
    for gone in ["CURRENT", "MANIFEST-", ".tbl", ".log"] {
        for name in contents(copy.path()).into_keys().filter(|name| name.contains(gone)) {
            fs::remove_file(copy.path().join(name)).unwrap();
        }
        let before = contents(copy.path());
        let error = error_of(Db::repair(copy.path(), Options::default()));
        assert_says(&error, "0000", "\"foldb");
        assert!(contents(copy.path()) == before, "without {gone}");
    }

    // It can be destroyed: its manifest has a magic of foldb.
    let copy = copy_of(&older);
    Db::destroy(copy.path(), &Options::default()).unwrap();
    assert!(!copy.path().exists());
}

/// Returns the first file of a kind in a copy of its fixture, as another foldb may have written it.
fn changed(kind: &Kind, is_later: bool) -> (tempfile::TempDir, String) {
    let copy = kind.fixture.copy();
    fs::write(copy.path().join("LOCK"), "").unwrap();
    let name = kind.fixture.files().into_iter().find(|name| name.contains(kind.name)).unwrap();
    let path = copy.path().join(&name);
    let mut file = fs::read(&path).unwrap();
    let (magic, version) = (kind.places)(&file);
    match is_later {
        true => file[version..version + 4].copy_from_slice(&2u32.to_le_bytes()),
        false => file[magic..magic + 8].copy_from_slice(kind.before),
    }
    let number: String = name.chars().filter(char::is_ascii_digit).collect();
    (kind.seal)(&mut file, number.parse().unwrap_or(0));
    fs::write(path, file).unwrap();
    (copy, name)
}

#[test]
fn a_file_of_another_format_is_refused_and_not_touched() {
    for kind in &KINDS {
        for is_later in [false, true] {
            let (copy, name) = changed(kind, is_later);
            let found = match is_later {
                true => "format version 2",
                false => std::str::from_utf8(kind.before).unwrap(),
            };
            if kind.is_read_first {
                assert_refused(copy.path(), &name, found);
                continue;
            }
            let file = fs::read(copy.path().join(&name)).unwrap();
            assert_says(
                &error_of(Db::open_read_only(copy.path(), Options::default())),
                &name,
                found,
            );
            let report = foldb::repair::verify(copy.path(), Options::default()).unwrap();
            assert!(report.faults.iter().all(|fault| fault.kind() == ErrorKind::Unsupported));
            assert_says(&report.faults[0], &name, found);
            let opened = Db::open(copy.path(), Options::default());
            assert_says(&error_of(opened.and_then(|db| db.verify())), &name, found);
            if kind.name == ".tbl" {
                assert_says(&error_of(Db::repair(copy.path(), Options::default())), &name, found);
            }
            assert_eq!(fs::read(copy.path().join(&name)).unwrap(), file, "{name}");
        }
    }
}
