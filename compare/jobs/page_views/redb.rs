use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;

use redb::{Database, Durability, ReadableDatabase as _, ReadableTable as _, TableDefinition};

use crate::Outcome;

const VIEWS: TableDefinition<'_, (&str, u32), u64> = TableDefinition::new("views");
const VISITORS: TableDefinition<'_, (&str, u64), ()> = TableDefinition::new("visitors");

pub(crate) fn page_views(path: &Path, views: impl Iterator<Item = (String, u32, u64)>) -> Outcome {
    let db = Database::create(path)?;
    let mut views = views.peekable();
    while views.peek().is_some() {
        let mut batch = db.begin_write()?;
        batch.set_durability(Durability::None)?;
        {
            let mut counts = batch.open_table(VIEWS)?;
            let mut visitors = batch.open_table(VISITORS)?;
            for (page, hour, visitor) in views.by_ref().take(10_000) {
                let count = counts.get((&*page, hour))?.map_or(0, |count| count.value());
                counts.insert((&*page, hour), count + 1)?;
                visitors.insert((&*page, visitor), ())?;
            }
        }
        batch.commit()?;
    }
    db.begin_write()?.commit()?; // durable, with all commits before it

    let read = db.begin_read()?;
    let counts = read.open_table(VIEWS)?;
    let visitors = read.open_table(VISITORS)?;
    let mut pages = HashMap::<String, u64>::new();
    for entry in counts.iter()? {
        let (key, count) = entry?;
        *pages.entry(key.value().0.to_owned()).or_default() += count.value();
    }
    let mut pages: Vec<_> = pages.into_iter().collect();
    pages.sort_by_key(|(page, count)| (Reverse(*count), page.clone()));
    let mut report = Vec::new();
    for (page, count) in pages.iter().take(10) {
        let visitors = visitors.range((&**page, 0)..=(&**page, u64::MAX))?.count();
        report.push(format!("{page}: {count} views"));
        report.push(format!("{page}: visitors ~{visitors}"));
    }
    let first = &*pages[0].0;
    for entry in counts.range((first, 0)..=(first, u32::MAX))? {
        let (key, count) = entry?;
        report.push(format!("hour {}: {} views", key.value().1, count.value()));
    }
    Ok(report)
}
