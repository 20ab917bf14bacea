//! The stored progress of a source, and the check that the source is still the same.
//!
//! Each batch also writes the [`Progress`] of its source, in the same atomic write: the number of
//! lines in the database, and a digest of them. A restart reads the source from its beginning and
//! skips that many lines. It continues only if their digest is the same.
//!
//! ```text
//! progress:  lines u64 | XXH3-64 of the lines, each followed by a newline, u64
//! ```

use std::path::Path;

use foldb::{Db, Keyspace, KeyspaceOptions, WriteBatch};
use xxhash_rust::xxh3::Xxh3Default;

use crate::exit::{Exit, Outcome};

/// The keyspace that holds the progress of sources.
const KEYSPACE: &str = "foldb.count.resume";

/// The part of a source that is in the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Lines from its beginning, empty ones included.
    pub lines: u64,
    digest: u64,
}

impl Progress {
    /// Returns the stored form.
    pub(crate) fn encode(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.lines.to_le_bytes());
        bytes[8..].copy_from_slice(&self.digest.to_le_bytes());
        bytes
    }

    /// Decodes the output of [`Progress::encode`].
    pub(crate) fn decode(bytes: &[u8]) -> Option<Progress> {
        let (lines, digest) = bytes.split_at_checked(8)?;
        Some(Progress {
            lines: u64::from_le_bytes(lines.try_into().ok()?),
            digest: u64::from_le_bytes(digest.try_into().ok()?),
        })
    }
}

/// The progress of all sources into one keyspace.
///
/// ```text
/// key:  name of the keyspace | 0 | absolute path of the file, or - for standard input
/// ```
pub(crate) struct Progresses {
    store: Keyspace,
    into: String,
}

impl Progresses {
    /// Opens the progress of sources into the keyspace `into`.
    pub(crate) fn open(db: &Db, into: &str) -> Outcome<Progresses> {
        let store = match find(db)? {
            Some(store) => store,
            None => db.create_keyspace(KEYSPACE, KeyspaceOptions::default())?,
        };
        Ok(Progresses { store, into: into.to_owned() })
    }

    /// Returns how much of `file` (`None`: standard input) is in the keyspace `into`.
    pub(crate) fn read(db: &Db, into: &str, file: Option<&Path>) -> Outcome<Progress> {
        let Some(store) = find(db)? else { return Ok(Progress::default()) };
        match store.get(key(into, file))? {
            None => Ok(Progress::default()),
            Some(stored) => Progress::decode(&stored).ok_or_else(|| {
                Exit::failed(format!("keyspace '{KEYSPACE}' holds no valid progress of a count"))
            }),
        }
    }

    /// Adds the progress of `file` to a batch.
    pub(crate) fn add(&self, batch: &mut WriteBatch, file: Option<&Path>, progress: Progress) {
        batch.put_in(&self.store, key(&self.into, file), progress.encode());
    }

    /// Deletes all progress into the keyspace `into`.
    pub(crate) fn forget(db: &Db, into: &str) -> Outcome {
        let Some(store) = find(db)? else { return Ok(()) };
        let mut entries = store.prefix([into.as_bytes(), b"\0"].concat())?;
        let mut batch = WriteBatch::new();
        let mut valid = entries.seek_to_first()?;
        while valid {
            batch.delete_in(&store, entries.key());
            valid = entries.advance()?;
        }
        Ok(db.write(&batch)?)
    }
}

fn find(db: &Db) -> Outcome<Option<Keyspace>> {
    let is_there = db.keyspaces().iter().any(|name| name == KEYSPACE);
    Ok(if is_there { Some(db.keyspace(KEYSPACE)?) } else { None })
}

fn key(into: &str, file: Option<&Path>) -> Vec<u8> {
    // A file that is gone by now keeps its name from the command line.
    let path = file.map(|file| std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned()));
    let source = path.as_ref().map_or(&b"-"[..], |path| path.as_os_str().as_encoded_bytes());
    [into.as_bytes(), b"\0", source].concat()
}

/// A walk through a source that may already be in the database in part.
pub(super) struct Resume {
    before: Progress,
    lines: u64,
    digest: Xxh3Default,
}

impl Resume {
    /// Begins a walk through a source of which `before` is in the database.
    pub(super) fn after(before: Progress) -> Resume {
        Resume { before, lines: 0, digest: Xxh3Default::new() }
    }

    /// Whether the next line is already in the database.
    pub(super) fn skips(&self) -> bool {
        self.lines < self.before.lines
    }

    /// Passes a line.
    ///
    /// # Errors
    /// A message at the last skipped line, if the skipped lines differ from the counted ones.
    pub(super) fn pass(&mut self, line: &[u8]) -> Result<(), String> {
        self.digest.update(line);
        self.digest.update(b"\n");
        self.lines += 1;
        if self.lines == self.before.lines && self.digest.digest() != self.before.digest {
            return Err(format!(
                "the first {} lines differ from those counted before, so the rest cannot be added \
                 to them",
                self.lines
            ));
        }
        Ok(())
    }

    /// Ends the walk at the end of the source.
    ///
    /// # Errors
    /// A message if the source has fewer lines than were counted before.
    pub(super) fn end(&self) -> Result<(), String> {
        if self.skips() {
            let (lines, before) = (self.lines, self.before.lines);
            return Err(format!(
                "it has fewer lines ({lines}) than were counted before ({before}), so it is another \
                 input"
            ));
        }
        Ok(())
    }

    /// Returns the passed lines as progress.
    pub(super) fn progress(&self) -> Progress {
        Progress { lines: self.lines, digest: self.digest.digest() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(lines: &[&str]) -> Progress {
        let mut resume = Resume::after(Progress::default());
        for line in lines {
            assert!(!resume.skips());
            resume.pass(line.as_bytes()).unwrap();
        }
        resume.end().unwrap();
        resume.progress()
    }

    #[test]
    fn progress_is_read_back() {
        let progress = passed(&["a", "", "b"]);
        assert_eq!(progress.lines, 3);
        assert_eq!(Progress::decode(&progress.encode()), Some(progress));
        assert_eq!(Progress::decode(b"short"), None);
        assert_eq!(Progress::decode(&[0; 17]), None);
    }

    #[test]
    fn the_lines_of_before_are_skipped_and_the_digest_goes_on() {
        let mut resume = Resume::after(passed(&["a", "b"]));
        let mut skipped = Vec::new();
        for line in ["a", "b", "c"] {
            skipped.push(resume.skips());
            resume.pass(line.as_bytes()).unwrap();
        }
        assert_eq!(skipped, [true, true, false]);
        assert_eq!(resume.progress(), passed(&["a", "b", "c"]));
    }

    #[test]
    fn another_input_is_noticed() {
        for other in [["a", "x"], ["ab", ""], ["", "a"]] {
            let mut resume = Resume::after(passed(&["a", "b"]));
            let outcome: Result<(), String> =
                other.iter().try_for_each(|line| resume.pass(line.as_bytes()));
            assert!(outcome.unwrap_err().starts_with("the first 2 lines"), "{other:?}");
        }
        let mut resume = Resume::after(passed(&["a", "b"]));
        resume.pass(b"a").unwrap();
        assert!(resume.end().unwrap_err().starts_with("it has fewer lines (1) than"));
    }
}
