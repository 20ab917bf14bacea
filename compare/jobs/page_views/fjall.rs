use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;

use fjall::{KeyspaceCreateOptions, PersistMode, Readable as _, SingleWriterTxDatabase};

use crate::Outcome;

pub(crate) fn page_views(path: &Path, views: impl Iterator<Item = (String, u32, u64)>) -> Outcome {
    let db = SingleWriterTxDatabase::builder(path).open()?;
    let counts = db.keyspace("views", KeyspaceCreateOptions::default)?;
    let visitors = db.keyspace("visitors", KeyspaceCreateOptions::default)?;
    let mut views = views.peekable();
    while views.peek().is_some() {
        let mut batch = db.write_tx();
        for (page, hour, visitor) in views.by_ref().take(10_000) {
            let key = [prefix(&page), hour.to_be_bytes().to_vec()].concat();
            let count = batch.get(&counts, &key)?.map_or(Ok(0), |count| number(&count))?;
            batch.insert(&counts, key, (count + 1).to_be_bytes());
            let key = [prefix(&page), visitor.to_be_bytes().to_vec()].concat();
            batch.insert(&visitors, key, "");
        }
        batch.commit()?;
    }
    db.persist(PersistMode::SyncAll)?;

    let read = db.read_tx();
    let mut pages = HashMap::<String, u64>::new();
    for entry in read.iter(&counts) {
        let (key, count) = entry.into_inner()?;
        let page = String::from_utf8(key[..key.len() - 5].to_vec())?;
        *pages.entry(page).or_default() += number(&count)?;
    }
    let mut pages: Vec<_> = pages.into_iter().collect();
    pages.sort_by_key(|(page, count)| (Reverse(*count), page.clone()));
    let mut report = Vec::new();
    for (page, count) in pages.iter().take(10) {
        let visitors = read.prefix(&visitors, prefix(page)).count();
        report.push(format!("{page}: {count} views"));
        report.push(format!("{page}: visitors ~{visitors}"));
    }
    for entry in read.prefix(&counts, prefix(&pages[0].0)) {
        let (key, count) = entry.into_inner()?;
        let hour = u32::from_be_bytes(key[key.len() - 4..].try_into()?);
        report.push(format!("hour {hour}: {} views", number(&count)?));
    }
    Ok(report)
}

/// Returns what the keys of a page begin with. No page has a byte 0.
fn prefix(page: &str) -> Vec<u8> {
    [page.as_bytes(), &[0]].concat()
}

fn number(bytes: &[u8]) -> Result<u64, std::array::TryFromSliceError> {
    Ok(u64::from_be_bytes(bytes.try_into()?))
}
