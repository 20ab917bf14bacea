//! Counts page views by blind writes: `cargo run --example counter`.

use std::error::Error;

use foldb::{Db, KeyspaceOptions, Options};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let options = Options {
        create_if_missing: true,
        default: KeyspaceOptions::with_operator("uint64add"),
        ..Options::default()
    };
    let db = Db::open(dir.path().join("views.db"), options)?;
    for page in ["/", "/about", "/", "/", "/about"] {
        db.merge(page, 1u64.to_le_bytes())?; // nothing is read
    }
    for entry in db.iter()? {
        let (page, views) = entry?;
        let views = u64::from_le_bytes(views.as_ref().try_into()?);
        println!("{views} {}", String::from_utf8_lossy(&page));
    }
    assert_eq!(db.get("/")?.as_deref(), Some(&3u64.to_le_bytes()[..]));
    Ok(())
}
