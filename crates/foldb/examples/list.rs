//! Keeps the last three visitors of a page, and the set of all: `cargo run --example list`.
//!
//! One database holds values of several operators, and each stored operand names its own.

use std::error::Error;

use foldb::operators::{list, set};
use foldb::{Db, Options};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let options = Options { create_if_missing: true, ..Options::default() };
    let db = Db::open(dir.path().join("visitors.db"), options)?;
    let last_three = db.operator("listlast:3")?;
    let members = db.operator("set")?;
    for visitor in ["ada", "bob", "ada", "eve", "dan"] {
        db.merge_with(&last_three, "recent", list::operand([visitor]))?;
        db.merge_with(&members, "all", set::add(visitor))?;
    }
    db.merge_with(&members, "all", set::remove("bob"))?;

    let recent = db.get("recent")?.ok_or("nobody came")?;
    let all = db.get("all")?.ok_or("nobody came")?;
    for (name, elements) in [("recent", list::elements(&recent)?), ("all", set::members(&all)?)] {
        let elements: Vec<_> = elements.into_iter().map(String::from_utf8_lossy).collect();
        println!("{name}: {}", elements.join(", "));
    }
    assert_eq!(list::elements(&recent)?, [b"ada", b"eve", b"dan"]);
    assert_eq!(set::members(&all)?, [b"ada", b"dan", b"eve"]);
    Ok(())
}
