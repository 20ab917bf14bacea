use std::path::Path;

use redb::{Database, ReadableTable as _, TableDefinition};

use crate::Failed;

const SETTINGS: TableDefinition<'_, &str, &str> = TableDefinition::new("settings");

pub(crate) fn small_store(path: &Path, read: &str, change: (&str, &str)) -> Result<String, Failed> {
    let db = Database::create(path)?;
    let step = db.begin_write()?;
    let found = {
        let mut settings = step.open_table(SETTINGS)?;
        let found = settings.get(read)?.map(|value| value.value().to_owned());
        settings.insert(change.0, change.1)?;
        found
    };
    step.commit()?;
    Ok(found.unwrap_or_default())
}
