use std::path::Path;

use rusqlite::Connection;

use crate::Outcome;

pub(crate) fn tags(
    path: &Path,
    changes: impl Iterator<Item = (u64, String, bool)>,
    shown: &[u64],
    pairs: &[(String, String)],
) -> Outcome {
    let mut db = Connection::open(path)?;
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;
         CREATE TABLE tags (photo INTEGER, tag TEXT, PRIMARY KEY (photo, tag)) WITHOUT ROWID;
         CREATE INDEX photos_of_tags ON tags (tag, photo);",
    )?;
    let mut changes = changes.peekable();
    while changes.peek().is_some() {
        let batch = db.transaction()?;
        for (photo, tag, added) in changes.by_ref().take(1000) {
            let change = match added {
                true => "INSERT OR IGNORE INTO tags VALUES (?1, ?2)",
                false => "DELETE FROM tags WHERE photo = ?1 AND tag = ?2",
            };
            batch.prepare_cached(change)?.execute((photo, tag))?;
        }
        batch.commit()?;
    }

    let mut report = Vec::new();
    let mut tags = db.prepare("SELECT tag FROM tags WHERE photo = ?1 ORDER BY tag")?;
    for photo in shown {
        let tags = tags.query_map([photo], |row| row.get(0))?;
        let tags = tags.collect::<Result<Vec<String>, _>>()?;
        report.push(format!("photo {photo}: {}", tags.join(", ")));
    }
    let mut both = db.prepare(
        "SELECT count(*) FROM tags AS one JOIN tags AS other ON one.photo = other.photo
         WHERE one.tag = ?1 AND other.tag = ?2",
    )?;
    for (one, other) in pairs {
        let both: u64 = both.query_row((one, other), |row| row.get(0))?;
        report.push(format!("{one} and {other}: {both} photos"));
    }
    Ok(report)
}
