use std::collections::HashSet;
use std::path::Path;

use fjall::{KeyspaceCreateOptions, PersistMode, Readable as _, SingleWriterTxDatabase};

use crate::Outcome;

pub(crate) fn tags(
    path: &Path,
    changes: impl Iterator<Item = (u64, String, bool)>,
    shown: &[u64],
    pairs: &[(String, String)],
) -> Outcome {
    let db = SingleWriterTxDatabase::builder(path).open()?;
    let tags = db.keyspace("tags", KeyspaceCreateOptions::default)?;
    let photos = db.keyspace("photos", KeyspaceCreateOptions::default)?;
    let mut changes = changes.peekable();
    while changes.peek().is_some() {
        let mut batch = db.write_tx();
        for (photo, tag, added) in changes.by_ref().take(1000) {
            let photo = photo.to_be_bytes();
            let (forth, back) = ([&photo[..], tag.as_bytes()].concat(), of_tag(&tag, &photo));
            if added {
                batch.insert(&tags, forth, "");
                batch.insert(&photos, back, "");
            } else {
                batch.remove(&tags, forth);
                batch.remove(&photos, back);
            }
        }
        batch.commit()?;
    }
    db.persist(PersistMode::SyncAll)?;

    let read = db.read_tx();
    let mut report = Vec::new();
    for photo in shown {
        let mut own = Vec::new();
        for entry in read.prefix(&tags, photo.to_be_bytes()) {
            own.push(String::from_utf8_lossy(&entry.key()?[8..]).into_owned());
        }
        report.push(format!("photo {photo}: {}", own.join(", ")));
    }
    for (one, other) in pairs {
        let mut first = HashSet::new();
        for entry in read.prefix(&photos, of_tag(one, &[])) {
            first.insert(entry.key()?[one.len() + 1..].to_vec());
        }
        let mut both = 0;
        for entry in read.prefix(&photos, of_tag(other, &[])) {
            both += u64::from(first.contains(&entry.key()?[other.len() + 1..]));
        }
        report.push(format!("{one} and {other}: {both} photos"));
    }
    Ok(report)
}

/// Returns the key of a photo among those of a tag. No tag has a byte 0.
fn of_tag(tag: &str, photo: &[u8]) -> Vec<u8> {
    [tag.as_bytes(), &[0], photo].concat()
}
