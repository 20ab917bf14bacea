//! Tags photos, and finds photos by two tags: `cargo run -p foldb-typed --example tags`.

use std::path::Path;

use foldb_typed::foldb::Db;
use foldb_typed::{MergeTable, Result, Set};

/// One change: a photo gets a tag, or loses it.
pub(crate) type Change = (u64, String, bool);

/// Applies changes. Returns the tags of the photos `shown`, and how many photos have both tags of
/// each pair.
pub(crate) fn tags(
    path: &Path,
    changes: impl Iterator<Item = Change>,
    shown: &[u64],
    pairs: &[(String, String)],
) -> Result<Vec<String>> {
    let db = Db::create(path)?;
    let tags = MergeTable::<u64, Set<String>>::open(&db, "tags of photos")?;
    let photos = MergeTable::<String, Set<u64>>::open(&db, "photos of tags")?;
    for (photo, tag, added) in changes {
        db.transact(|transaction| {
            let (tags, photos) = (tags.within(transaction), photos.within(transaction));
            if added {
                tags.insert(photo, &tag)?;
                photos.insert(&tag, photo)
            } else {
                tags.remove(photo, &tag)?;
                photos.remove(&tag, photo)
            }
        })?;
    }
    db.sync()?;

    let mut report = Vec::new();
    for photo in shown {
        let tags: Vec<_> = tags.get(*photo)?.into_iter().flatten().collect();
        report.push(format!("photo {photo}: {}", tags.join(", ")));
    }
    for (one, other) in pairs {
        let (first, second) = (photos.get(one)?, photos.get(other)?);
        let both = first.unwrap_or_default().intersection(&second.unwrap_or_default()).count();
        report.push(format!("{one} and {other}: {both} photos"));
    }
    db.close()?;
    Ok(report)
}

pub(crate) fn main() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let changes = [(1, "sea", true), (1, "ann", true), (2, "sea", true), (2, "ann", true)];
    let changes = changes.into_iter().chain([(2, "ann", false)]);
    let changes = changes.map(|(photo, tag, added)| (photo, tag.to_owned(), added));
    let both = [("sea".to_owned(), "ann".to_owned())];
    let report = tags(&dir.path().join("db"), changes, &[1, 2], &both)?;
    report.iter().for_each(|line| println!("{line}"));
    assert_eq!(report, ["photo 1: ann, sea", "photo 2: sea", "sea and ann: 1 photos"]);
    Ok(())
}
