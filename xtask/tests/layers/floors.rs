//! Checks that the sources of `db` follow the list of floors in `db/mod.rs`.
//!
//! An arrow goes from a file to a file that it names in a path, or whose method it calls. Arrows
//! between the folders of `db` go down the list.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::Arrow;
use super::{engine, root};

/// How high each folder lies: a line of dashes in the list begins the floor below.
fn floors() -> BTreeMap<String, usize> {
    let file = root().join("crates/foldb/src/db/mod.rs");
    let text = std::fs::read_to_string(file).expect("db/mod.rs can be read");
    let list = text.split("```text\n").nth(1).expect("db/mod.rs has a list of floors");
    let list = list.split("//! ```").next().unwrap_or_default();
    let (mut floors, mut below_top) = (BTreeMap::new(), 0);
    for line in list.lines().filter_map(|line| line.strip_prefix("//!")) {
        match line.strip_prefix("   ").and_then(|line| line.split_whitespace().next()) {
            Some(dashes) if dashes.starts_with('-') => below_top += 1,
            Some(folder) if !line.starts_with("    ") => {
                floors.insert(folder.to_owned(), below_top);
            }
            _ => {}
        }
    }
    floors
}

/// The folder of a file below `db`; `None` for a file elsewhere and for the list itself.
fn folder(file: &str) -> Option<&str> {
    let below = file.strip_prefix("db/").filter(|below| *below != "mod.rs")?;
    let first = below.split('/').next().unwrap_or(below);
    Some(first.strip_suffix(".rs").unwrap_or(first))
}

#[test]
fn arrows_between_the_floors_of_db_go_down() {
    let (engine, floors) = (engine(), floors());
    let (mut between, mut up) = (BTreeSet::new(), BTreeMap::<_, BTreeSet<String>>::new());
    for Arrow { from, to } in engine.arrows.iter().chain(&engine.calls) {
        let (Some(above), Some(below)) = (folder(from), folder(to)) else { continue };
        if above == below {
            continue;
        }
        between.insert((above, below));
        if floors[below] <= floors[above] {
            up.entry((above, below)).or_default().insert(format!("{from} names {to}"));
        }
    }
    println!("{} arrows between {} folders", between.len(), floors.len());
    assert!(up.is_empty(), "these arrows do not go down:\n{up:#?}");
}

#[test]
fn the_list_of_floors_has_every_folder_and_no_other() {
    let engine = engine();
    let folders: BTreeSet<_> = engine.files.iter().filter_map(|file| folder(file)).collect();
    let floors = floors();
    let listed: BTreeSet<_> = floors.keys().map(String::as_str).collect();
    assert_eq!(listed, folders, "left: the list of db/mod.rs, right: the folders");
}

/// Most methods of `Core`, which knows the whole database. A method that needs one part of it is a
/// method of that part. The number only falls.
const MOST_METHODS_OF_CORE: usize = 305;

#[test]
fn core_gets_no_more_methods() {
    let methods = engine().methods["Core"];
    assert!(methods <= MOST_METHODS_OF_CORE, "{methods} methods: give new ones to a part of Core");
}
