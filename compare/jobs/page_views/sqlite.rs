use std::path::Path;

use rusqlite::Connection;

use crate::Outcome;

pub(crate) fn page_views(path: &Path, views: impl Iterator<Item = (String, u32, u64)>) -> Outcome {
    let mut db = Connection::open(path)?;
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;
         CREATE TABLE views (page TEXT, hour INTEGER, count INTEGER, PRIMARY KEY (page, hour))
             WITHOUT ROWID;
         CREATE TABLE visitors (page TEXT, visitor INTEGER, PRIMARY KEY (page, visitor))
             WITHOUT ROWID;",
    )?;
    let mut views = views.peekable();
    while views.peek().is_some() {
        let batch = db.transaction()?;
        let mut count = batch.prepare_cached(
            "INSERT INTO views VALUES (?1, ?2, 1) ON CONFLICT DO UPDATE SET count = count + 1",
        )?;
        let mut visit = batch.prepare_cached("INSERT OR IGNORE INTO visitors VALUES (?1, ?2)")?;
        for (page, hour, visitor) in views.by_ref().take(10_000) {
            count.execute((&page, hour))?;
            visit.execute((&page, visitor))?;
        }
        drop((count, visit));
        batch.commit()?;
    }

    let mut report = Vec::new();
    let mut top = db.prepare(
        "SELECT page, sum(count) FROM views GROUP BY page ORDER BY 2 DESC, page LIMIT 10",
    )?;
    let pages = top.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let pages = pages.collect::<Result<Vec<(String, i64)>, _>>()?;
    let mut visitors = db.prepare("SELECT count(*) FROM visitors WHERE page = ?1")?;
    for (page, count) in &pages {
        let visitors: u64 = visitors.query_row([page], |row| row.get(0))?;
        report.push(format!("{page}: {count} views"));
        report.push(format!("{page}: visitors ~{visitors}"));
    }
    let mut hours = db.prepare("SELECT hour, count FROM views WHERE page = ?1 ORDER BY hour")?;
    let mut hours = hours.query([&pages[0].0])?;
    while let Some(row) = hours.next()? {
        let (hour, count): (u32, u64) = (row.get(0)?, row.get(1)?);
        report.push(format!("hour {hour}: {count} views"));
    }
    Ok(report)
}
