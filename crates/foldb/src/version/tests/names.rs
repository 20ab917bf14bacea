//! Tests of file names.

use std::path::Path;

use proptest::prelude::*;

use crate::files::{FileKind, FileNames};

#[test]
fn names_are_as_drawn() {
    let names = FileNames::new(Path::new("db"));
    assert_eq!(names.manifest(1), Path::new("db/MANIFEST-000001"));
    assert_eq!(names.log(2), Path::new("db/000002.log"));
    assert_eq!(names.table(3), Path::new("db/000003.tbl"));
    assert_eq!(names.current(), Path::new("db/CURRENT"));
    assert_eq!(names.lock(), Path::new("db/LOCK"));
    assert_eq!(names.table(12_345_678), Path::new("db/12345678.tbl"));
}

#[test]
fn other_names_are_not_ours() {
    for name in [
        "",
        "current",
        "CURRENT~",
        "000001",
        "000001.",
        ".log",
        "000001.sst",
        "000001.log.bak",
        "1.log",
        "00001.log",
        "0000001.log",
        "+00001.log",
        "-00001.tbl",
        "00000a.tbl",
        "MANIFEST-",
        "MANIFEST-1",
        "MANIFEST-0000001",
        "MANIFEST-000001.log",
        "MANIFEST",
        "99999999999999999999999.log",
        "x.tmp",
        "٠٠٠٠٠١.log",
    ] {
        assert_eq!(FileKind::parse(name), None, "{name}");
    }
    assert_eq!(FileKind::parse("CURRENT.tmp"), Some(FileKind::Temporary));
}

proptest! {
    #[test]
    fn a_name_says_what_it_was_made_for(number: u64, shift in 0..64u32) {
        let (number, names) = (number >> shift, FileNames::new(Path::new("")));
        let parse = |path: std::path::PathBuf| FileKind::parse(path.to_str().unwrap());
        prop_assert_eq!(parse(names.log(number)), Some(FileKind::Log(number)));
        prop_assert_eq!(parse(names.archive(number)), Some(FileKind::Archive(number)));
        prop_assert_eq!(parse(names.table(number)), Some(FileKind::Table(number)));
        prop_assert_eq!(parse(names.manifest(number)), Some(FileKind::Manifest(number)));
    }

    /// A parsed name is the name that the engine would write.
    #[test]
    fn only_canonical_names_are_parsed(name in "(MANIFEST-)?[0-9]{0,8}(\\.log|\\.arc|\\.tbl)?") {
        let names = FileNames::new(Path::new(""));
        let path = match FileKind::parse(&name) {
            Some(FileKind::Log(number)) => names.log(number),
            Some(FileKind::Archive(number)) => names.archive(number),
            Some(FileKind::Table(number)) => names.table(number),
            Some(FileKind::Manifest(number)) => names.manifest(number),
            _ => return Ok(()),
        };
        prop_assert_eq!(path.to_str().unwrap(), name);
    }
}
