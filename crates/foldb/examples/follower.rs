//! Keeps a second database in step with the first: `cargo run --example follower`.
//!
//! The follower stores the position of each update in the same batch as its changes. So after a
//! kill it continues exactly where it was, and applies no operand twice.

use std::cmp::Ordering;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use foldb::custom::{BytewiseComparator, Comparator};
use foldb::expiry::Expiry;
use foldb::feed::{Change, Position, Update, Updates};
use foldb::{Db, ErrorKind, Keyspace, KeyspaceOptions, Options, WriteBatch};

/// A database that follows another one.
pub(crate) struct Follower {
    copy: Db,
    /// Holds the position; no keyspace of the first database has its name.
    own: Keyspace,
    updates: Updates,
}

impl Follower {
    /// Continues where the copy stopped. An empty copy begins with the first write.
    pub(crate) fn open(first: &Db, copy: Db) -> foldb::Result<Follower> {
        let own = copy.keyspace_or_create("follower", KeyspaceOptions::default())?;
        let position = match own.get("position")? {
            Some(stored) => Position::from_bytes(&stored)?,
            None => Position::BEGINNING,
        };
        let updates = first.updates_since(&position)?;
        Ok(Follower { copy, own, updates })
    }

    /// Applies all updates that there are now. Returns their number.
    pub(crate) fn catch_up(&mut self) -> foldb::Result<u64> {
        let mut applied = 0;
        while let Some(update) = self.updates.next() {
            self.apply(&update?)?;
            applied += 1;
        }
        Ok(applied)
    }

    fn apply(&mut self, update: &Update) -> foldb::Result<()> {
        let mut batch = WriteBatch::new();
        match &update.change {
            Change::Batch(changes) => changes.add_to(&mut batch, &self.copy)?,
            Change::Keyspaces { dropped, created } => {
                for name in dropped {
                    match self.copy.drop_keyspace(name) {
                        // A kill came between the drop and the position.
                        Err(error) if error.kind() == ErrorKind::KeyspaceMissing => {}
                        outcome => outcome?,
                    }
                }
                for keyspace in created {
                    // Its entries expire in the copy too, and its keys have the same order.
                    let options = KeyspaceOptions {
                        merge_operator: keyspace.merge_operator.clone(),
                        expiry: keyspace.expiry,
                        comparator: Some(comparator_of(&keyspace.comparator)?),
                        ..KeyspaceOptions::default()
                    };
                    self.copy.keyspace_or_create(&keyspace.name, options)?;
                }
            }
            // Without these changes the copy would differ: it must be made anew.
            other => return Err(foldb::Error::new(ErrorKind::PositionLost, format!("{other:?}"))),
        }
        batch.put_in(&self.own, "position", update.position.to_bytes());
        self.copy.write(&batch)
    }
}

/// The orders of the program's own, which both databases register.
pub(crate) fn comparators() -> Vec<Arc<dyn Comparator>> {
    vec![Arc::new(Descending)]
}

/// Returns the order of this name.
fn comparator_of(name: &str) -> foldb::Result<Arc<dyn Comparator>> {
    let built_in: Arc<dyn Comparator> = Arc::new(BytewiseComparator);
    let mut known = comparators().into_iter().chain([built_in]);
    known.find(|known| known.name() == name).ok_or_else(|| {
        let message = format!("the copy has no comparator '{name}'");
        foldb::Error::new(ErrorKind::UnknownComparator, message)
    })
}

/// The order of the bytes, turned round.
#[derive(Debug)]
struct Descending;

impl Comparator for Descending {
    fn name(&self) -> &str {
        "follower.descending"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        b.cmp(a)
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

/// Opens the first database, which keeps its logs for the follower.
pub(crate) fn open_first(path: &Path) -> foldb::Result<Db> {
    Db::open(
        path,
        Options {
            create_if_missing: true,
            default: KeyspaceOptions::with_operator("uint64add"),
            comparators: comparators(),
            wal_retention_bytes: 64 << 20,
            ..Options::default()
        },
    )
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let first = open_first(&dir.path().join("first.db"))?;
    let tags = first.create_keyspace("tags", KeyspaceOptions::default())?;
    first.put("page", "text")?;
    first.merge("visits", 1u64.to_le_bytes())?;
    tags.put("page", "draft")?;
    first.sync()?; // the feed yields only what a power loss cannot take back

    let newest_first = first.create_keyspace(
        "newest first",
        KeyspaceOptions {
            comparator: Some(Arc::new(Descending)),
            expiry: Some(Expiry::after_last_write(Duration::from_secs(3600))),
            ..KeyspaceOptions::default()
        },
    )?;
    newest_first.put("2026-01", "snow")?;
    newest_first.put("2026-07", "sun")?;
    first.sync()?;

    let options =
        Options { create_if_missing: true, comparators: comparators(), ..Options::default() };
    let copy = Db::open(dir.path().join("copy.db"), options)?;
    let mut follower = Follower::open(&first, copy.clone())?;
    println!("{} updates", follower.catch_up()?);
    first.merge("visits", 41u64.to_le_bytes())?;
    first.sync()?;
    drop(follower); // a new one continues at the stored position
    assert_eq!(Follower::open(&first, copy.clone())?.catch_up()?, 1);

    assert_eq!(copy.get("page")?.as_deref(), Some(&b"text"[..]));
    assert_eq!(copy.get("visits")?.as_deref(), Some(&42u64.to_le_bytes()[..]));
    let newest_first = copy.keyspace("newest first")?;
    assert_eq!(newest_first.first()?.map(|(key, _)| key), Some(b"2026-07".to_vec()));
    assert!(newest_first.expires_at("2026-07")?.is_some());
    assert_eq!(copy.keyspace("tags")?.get("page")?.as_deref(), Some(&b"draft"[..]));
    Ok(())
}
