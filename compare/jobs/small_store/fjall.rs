use std::path::Path;

use fjall::{Database, KeyspaceCreateOptions, PersistMode};

use crate::Failed;

pub(crate) fn small_store(path: &Path, read: &str, change: (&str, &str)) -> Result<String, Failed> {
    let db = Database::builder(path).open()?;
    let settings = db.keyspace("settings", KeyspaceCreateOptions::default)?;
    let found = settings.get(read)?.map(|value| String::from_utf8_lossy(&value).into_owned());
    settings.insert(change.0, change.1)?;
    db.persist(PersistMode::SyncAll)?;
    Ok(found.unwrap_or_default())
}
