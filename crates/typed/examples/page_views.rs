//! Counts page views by page and hour, and estimates the visitors of each page:
//! `cargo run -p foldb-typed --example page_views`.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;

use foldb_typed::foldb::Db;
use foldb_typed::{Counter, MergeTable, Result, Sketch};

/// Stores views, each with its page, hour and visitor. Returns a report of the ten most viewed
/// pages, and of the hours of the first of them.
pub(crate) fn page_views(
    path: &Path,
    views: impl Iterator<Item = (String, u32, u64)>,
) -> Result<Vec<String>> {
    let db = Db::create(path)?;
    let counts = MergeTable::<(String, u32), Counter>::open(&db, "views")?;
    let visitors = MergeTable::<String, Sketch<u64>>::open(&db, "visitors")?;
    for (page, hour, visitor) in views {
        counts.add((&page, hour), 1)?;
        visitors.count(&page, visitor)?;
    }
    db.sync()?;

    let mut pages = HashMap::<String, i64>::new();
    for entry in counts.iter()? {
        let ((page, _), count) = entry?;
        *pages.entry(page).or_default() += count;
    }
    let mut pages: Vec<_> = pages.into_iter().collect();
    pages.sort_by_key(|(page, count)| (Reverse(*count), page.clone()));
    let mut report = Vec::new();
    for (page, count) in pages.iter().take(10) {
        report.push(format!("{page}: {count} views"));
        report.push(format!("{page}: visitors ~{}", visitors.get(page)?.unwrap_or(0)));
    }
    for entry in counts.prefix((&pages[0].0,))? {
        let ((_, hour), count) = entry?;
        report.push(format!("hour {hour}: {count} views"));
    }
    db.close()?;
    Ok(report)
}

pub(crate) fn main() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let views = [("home", 9, 1), ("home", 9, 2), ("help", 9, 1), ("home", 10, 1)];
    let views = views.into_iter().map(|(page, hour, visitor)| (page.to_owned(), hour, visitor));
    let report = page_views(&dir.path().join("db"), views)?;
    report.iter().for_each(|line| println!("{line}"));
    assert_eq!(report[..2], ["home: 3 views", "home: visitors ~2"]);
    assert_eq!(report[4..], ["hour 9: 2 views", "hour 10: 1 views"]);
    Ok(())
}
