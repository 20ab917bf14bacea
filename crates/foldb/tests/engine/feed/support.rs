//! What the tests of the change feed share.

use std::ops::Bound;
use std::path::Path;

use foldb::env::{FileSystem, MemFs};
use foldb::feed::{Change, Position, Update, UpdateOp, Updates, UpdatesOptions};
use foldb::{Db, Options};

use crate::support::{PATH, options};

/// Options of a database that keeps all logs. The seed of each open must differ, as real random
/// numbers do.
pub(super) fn keeping(fs: &MemFs, seed: u64) -> Options {
    let mut options = Options { wal_retention_bytes: 1 << 40, ..options(fs) };
    options.env.seed = Some(seed);
    options
}

/// Opens a database that keeps all logs.
pub(super) fn open_keeping(fs: &MemFs, seed: u64) -> Db {
    Db::open(PATH, keeping(fs, seed)).unwrap()
}

/// Returns updates as text, one line each.
pub(super) fn told(updates: &mut Updates) -> Vec<String> {
    updates.map(|update| line(&update.unwrap())).collect()
}

/// Returns all updates since a position, as text.
pub(super) fn since(db: &Db, position: &Position) -> Vec<String> {
    told(&mut db.updates_since(position).unwrap())
}

/// Returns all updates since a position, unsynced ones too.
pub(super) fn unsynced_since(db: &Db, position: &Position) -> Updates {
    let options = UpdatesOptions { include_unsynced: true };
    db.with(&options).updates_since(position).unwrap()
}

/// Returns an update as text.
pub(super) fn line(update: &Update) -> String {
    match &update.change {
        Change::Batch(batch) => batch.iter().map(shown).collect::<Vec<_>>().join(" "),
        Change::Keyspaces { dropped, created } => {
            let created: Vec<_> = created.iter().map(|created| &created.name).collect();
            format!("dropped {dropped:?} created {created:?}")
        }
        Change::Unlogged { first, last } => format!("unlogged {first}..={last}"),
        other => panic!("{other:?}"),
    }
}

fn shown(operation: UpdateOp<'_>) -> String {
    let bytes = |bytes: &[u8]| match bytes.len() {
        0..=20 => bytes.escape_ascii().to_string(),
        len => format!("{len} bytes"),
    };
    match operation {
        UpdateOp::Put { keyspace, key, value, .. } => {
            format!("{keyspace}:{}={}", bytes(key), bytes(value))
        }
        UpdateOp::Delete { keyspace, key } => format!("{keyspace}:-{}", bytes(key)),
        UpdateOp::Merge { keyspace, key, operand, operator, .. } => {
            format!("{keyspace}:{}+{}({operator})", bytes(key), bytes(operand))
        }
        UpdateOp::DeleteRange { keyspace, start, end } => {
            let shown = |bound: Bound<&[u8]>| match bound {
                Bound::Unbounded => String::new(),
                Bound::Included(key) => format!("={}", bytes(key)),
                Bound::Excluded(key) => bytes(key),
            };
            format!("{keyspace}:-[{}..{}]", shown(start), shown(end))
        }
        other => panic!("{other:?}"),
    }
}

/// Returns the names of the files with this ending, in order.
pub(super) fn files(fs: &MemFs, ending: &str) -> Vec<String> {
    let mut names = fs.list(Path::new(PATH)).unwrap();
    names.retain(|name| name.ends_with(ending));
    names.sort();
    names
}
