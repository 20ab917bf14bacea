//! A snapshot shows one moment while writes go on: `cargo run --example snapshot`.

use std::error::Error;

use foldb::{Db, KeyspaceOptions, Options, WriteBatch};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let options = Options {
        create_if_missing: true,
        default: KeyspaceOptions::with_operator("int64add"),
        ..Options::default()
    };
    let db = Db::open(dir.path().join("accounts.db"), options)?;
    db.merge("ada", 100i64.to_le_bytes())?;
    db.merge("bob", 100i64.to_le_bytes())?;

    let before = db.snapshot();
    let mut transfer = WriteBatch::new();
    transfer.merge("ada", (-30i64).to_le_bytes()).merge("bob", 30i64.to_le_bytes());
    db.write(&transfer)?; // both or neither

    for (moment, entries) in [("before", before.iter()?), ("now", db.iter()?)] {
        let mut sum = 0;
        for entry in entries {
            let (account, amount) = entry?;
            let amount = i64::from_le_bytes(amount.as_ref().try_into()?);
            println!("{moment}: {} has {amount}", String::from_utf8_lossy(&account));
            sum += amount;
        }
        assert_eq!(sum, 200, "no moment shows half of a transfer");
    }
    assert_eq!(before.get("ada")?.as_deref(), Some(&100i64.to_le_bytes()[..]));
    assert_eq!(db.get("ada")?.as_deref(), Some(&70i64.to_le_bytes()[..]));
    Ok(())
}
