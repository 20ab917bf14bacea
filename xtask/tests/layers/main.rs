//! Checks that the sources follow the table of layers in ARCHITECTURE.md.
//!
//! A *room* is a top-level module of the engine, or a crate below the engine. An arrow goes from a
//! file to a file that it names in a path. Arrows between rooms point down in the table. In every
//! crate, at most [`MOST_IN_A_CIRCLE`] files reach each other in a circle.

mod floors;
mod locks;
mod removals;
mod sources;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sources::{Arrow, Crate};

/// Most files that may reach each other in a circle.
const MOST_IN_A_CIRCLE: usize = 6;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root").to_owned()
}

fn read(path: &str) -> Crate {
    Crate::read(&root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn engine() -> Crate {
    read("crates/foldb/src")
}

/// The room of a file: its topmost module.
fn room(file: &str) -> &str {
    let first = file.split('/').next().unwrap_or(file);
    first.strip_suffix(".rs").unwrap_or(first)
}

#[test]
fn arrows_between_rooms_point_down() {
    let engine = engine();
    let ranks = table::ranks(&root().join("ARCHITECTURE.md"));
    let mut wrong = BTreeSet::new();
    for Arrow { from, to } in &engine.arrows {
        let (from_room, to_room) = (room(from), room(to));
        // The table of contents names every room, and no room names it.
        if from_room == to_room || from_room == "lib" {
            continue;
        }
        if ranks.get(to_room) >= ranks.get(from_room) {
            wrong.insert(format!("{from} ({from_room}) names {to} ({to_room})"));
        }
    }
    let wrong: Vec<_> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "these arrows do not point down:\n{}", wrong.join("\n"));
}

#[test]
fn the_table_has_every_room_and_no_other() {
    let engine = engine();
    let rooms: BTreeSet<_> = engine.files.iter().map(|file| room(file)).collect();
    let ranks = table::ranks(&root().join("ARCHITECTURE.md"));
    let listed: BTreeSet<_> = ranks.keys().map(String::as_str).collect();
    let rooms: BTreeSet<_> = rooms.into_iter().filter(|&room| room != "lib").collect();
    assert_eq!(listed, rooms, "left: the table of ARCHITECTURE.md, right: crates/foldb/src");
}

/// Paths that only `crates/env` may name: only this crate calls the operating system, waits and
/// starts threads. (`crates/chains` maps its arena.)
const SYSTEM: [&str; 9] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::thread::sleep",
    "std::thread::spawn",
    "std::thread::Builder",
    "memmap2",
    "rustix",
    "libc",
];

#[test]
fn the_engine_calls_the_operating_system_only_through_the_environment() {
    let engine = engine();
    let is_system = |path: &str| {
        let is_below = |name: &str| path == name || path.starts_with(&format!("{name}::"));
        // `use std::thread;` lets a file leave out `std`.
        SYSTEM.iter().any(|name| is_below(name) || is_below(name.trim_start_matches("std::")))
    };
    let asked: Vec<_> = engine.foreign.iter().filter(|(_, path)| is_system(path)).collect();
    assert!(asked.is_empty(), "these files speak to the system themselves: {asked:#?}");
}

/// The files that a file reaches by arrows.
fn reached<'a>(source: &'a Crate, from: &'a str) -> BTreeSet<&'a str> {
    let (mut reached, mut to_follow) = (BTreeSet::new(), vec![from]);
    while let Some(file) = to_follow.pop() {
        for arrow in source.arrows.iter().filter(|arrow| arrow.from == file) {
            if reached.insert(arrow.to.as_str()) {
                to_follow.push(&arrow.to);
            }
        }
    }
    reached
}

/// The circles of more than `most` files: files that reach each other.
fn circles(source: &Crate, most: usize) -> Vec<Vec<&str>> {
    let files = source.files.iter().map(String::as_str);
    let reached: BTreeMap<_, _> = files.map(|file| (file, reached(source, file))).collect();
    let (mut circles, mut seen) = (Vec::new(), BTreeSet::new());
    for (file, others) in &reached {
        let is_back = |other: &&&str| reached[**other].contains(file);
        let circle: Vec<_> = others.iter().filter(is_back).copied().collect();
        if circle.len() > most && seen.insert(circle[0]) {
            circles.push(circle);
        }
    }
    circles
}

/// The packages that stand on those in `crates/`.
const STANDS_ON_CRATES: [&str; 4] =
    ["compat/leveldb", "compat/rocksdb", "merge_bench", "streams/jni"];

/// Returns the packages in a directory of the tree.
fn packages_in(directory: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(directory)).expect("the directory can be read");
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

/// Returns the words at the beginnings of the lines of a package's manifest, and its name.
fn manifest(package: &Path) -> (String, BTreeSet<String>) {
    let path = root().join(package).join("Cargo.toml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let name = text.lines().find_map(|line| line.strip_prefix("name = "));
    let first = |line: &str| Some(line.split([' ', '.', '=']).next()?.to_owned());
    let words = text.lines().filter_map(first).collect();
    (name.expect("a name").trim_matches('"').to_owned(), words)
}

#[test]
fn packages_in_crates_stand_on_nothing_outside() {
    let root_manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("read");
    let members = root_manifest.lines().find(|line| line.starts_with("members"));
    let expected = STANDS_ON_CRATES.map(|package| format!("\"{package}\"")).join(", ");
    let expected = format!("members = [\"crates/*\", \"xtask\", {expected}]");
    assert_eq!(members, Some(&expected[..]), "the constant has the other members");
    for package in packages_in("crates") {
        let (name, words) = manifest(&package);
        for above in STANDS_ON_CRATES {
            let (above, its_words) = manifest(Path::new(above));
            assert!(!words.contains(&above), "{name} depends on {above}");
            assert!(its_words.contains("foldb"), "{above}: the reader found no dependency");
        }
    }
}

#[test]
fn circles_of_files_are_small() {
    let mut found = String::new();
    for package in packages_in("crates").into_iter().chain(STANDS_ON_CRATES.map(Into::into)) {
        let sources = root().join(package).join("src");
        let source = Crate::read(&sources).unwrap_or_else(|error| panic!("{sources:?}: {error}"));
        for circle in circles(&source, MOST_IN_A_CIRCLE) {
            found += &format!("{}: {}\n", sources.display(), circle.join(" "));
        }
    }
    assert!(found.is_empty(), "these files reach each other:\n{found}");
}

/// The reader of sources sees arrows of every kind, and resolves a re-export to the file that
/// defines the name.
#[test]
fn the_reader_sees_every_kind_of_path() {
    let made = tempfile::tempdir().expect("a directory");
    let files = BTreeMap::from([
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a/mod.rs", "mod inner; pub use inner::Inner; #[cfg(test)] mod tests;"),
        ("a/inner.rs", "pub struct Inner;"),
        ("a/tests.rs", "use crate::c::C;"),
        ("b.rs", "use crate::a::{Inner as Renamed}; fn f(x: super::c::C) { x.only_here() }"),
        (
            "c.rs",
            "pub struct C; impl C { fn only_here(&self) {} } \
             fn g() { println!(\"{}\", crate::b::name()); std::thread::sleep(LONG) }",
        ),
    ]);
    for (file, text) in &files {
        let path = made.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        std::fs::write(path, text).expect("written");
    }
    let source = Crate::read(made.path()).expect("read");
    let arrows: Vec<_> = source.arrows.iter().map(|a| format!("{} {}", a.from, a.to)).collect();
    let expected = ["a/mod.rs a/inner.rs", "b.rs a/inner.rs", "b.rs c.rs", "c.rs b.rs"];
    assert_eq!(arrows, expected);
    let calls: Vec<_> = source.calls.iter().map(|a| format!("{} {}", a.from, a.to)).collect();
    assert_eq!(calls, ["b.rs c.rs"]);
    assert_eq!(circles(&source, 1), [["b.rs", "c.rs"]]);
    assert!(source.foreign.contains(&("c.rs".to_owned(), "std::thread::sleep".to_owned())));
}
