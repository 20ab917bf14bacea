use std::collections::HashSet;
use std::path::Path;

use redb::{Database, Durability, MultimapTableDefinition, ReadableDatabase as _};

use crate::Outcome;

const TAGS: MultimapTableDefinition<'_, u64, &str> = MultimapTableDefinition::new("tags");
const PHOTOS: MultimapTableDefinition<'_, &str, u64> = MultimapTableDefinition::new("photos");

pub(crate) fn tags(
    path: &Path,
    changes: impl Iterator<Item = (u64, String, bool)>,
    shown: &[u64],
    pairs: &[(String, String)],
) -> Outcome {
    let db = Database::create(path)?;
    let mut changes = changes.peekable();
    while changes.peek().is_some() {
        let mut batch = db.begin_write()?;
        batch.set_durability(Durability::None)?;
        {
            let mut tags = batch.open_multimap_table(TAGS)?;
            let mut photos = batch.open_multimap_table(PHOTOS)?;
            for (photo, tag, added) in changes.by_ref().take(1000) {
                if added {
                    tags.insert(photo, &*tag)?;
                    photos.insert(&*tag, photo)?;
                } else {
                    tags.remove(photo, &*tag)?;
                    photos.remove(&*tag, photo)?;
                }
            }
        }
        batch.commit()?;
    }
    db.begin_write()?.commit()?; // durable, with all commits before it

    let read = db.begin_read()?;
    let tags = read.open_multimap_table(TAGS)?;
    let photos = read.open_multimap_table(PHOTOS)?;
    let mut report = Vec::new();
    for photo in shown {
        let mut own = Vec::new();
        for tag in tags.get(*photo)? {
            own.push(tag?.value().to_owned());
        }
        report.push(format!("photo {photo}: {}", own.join(", ")));
    }
    for (one, other) in pairs {
        let mut first = HashSet::new();
        for photo in photos.get(&**one)? {
            first.insert(photo?.value());
        }
        let mut both = 0;
        for photo in photos.get(&**other)? {
            both += u64::from(first.contains(&photo?.value()));
        }
        report.push(format!("{one} and {other}: {both} photos"));
    }
    Ok(report)
}
