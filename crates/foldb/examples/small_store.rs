//! The settings of a small tool, which opens its store at each start:
//! `cargo run --example small_store`.

use std::path::Path;

use foldb::{Db, Options, Result, WriteOptions};

/// One run of the tool: reads a setting, changes another one durably, and ends.
pub(crate) fn small_store(path: &Path, read: &str, change: (&str, &str)) -> Result<String> {
    let db = Db::open(path, Options { create_if_missing: true, ..Options::small() })?;
    let found = db.get(read)?.map(|value| String::from_utf8_lossy(&value).into_owned());
    let durable = WriteOptions { sync: true, ..WriteOptions::default() };
    db.with(&durable).put(change.0, change.1)?;
    db.close()?;
    Ok(found.unwrap_or_default())
}

pub(crate) fn main() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("db");
    assert_eq!(small_store(&path, "colour", ("colour", "green"))?, "");
    assert_eq!(small_store(&path, "colour", ("size", "7"))?, "green");
    assert_eq!(small_store(&path, "size", ("colour", "red"))?, "7");
    Ok(())
}
