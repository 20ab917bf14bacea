//! A follower of the change feed, over all lives of a database. No stop takes back what it read.

use std::ops::Bound;

use foldb::feed::{self, Position, UpdateOp, Updates};
use foldb::{Db, ErrorKind};
use foldb_model::{Change, Operation, Operator};
use foldb_stress::own_code::without_check_byte;

use crate::features::Features;
use crate::history::{Entry, Fed};

/// A follower and what it read in this life.
pub struct Follower {
    position: Position,
    updates: Option<Updates>,
    fed: Vec<Fed>,
    /// Whether it read nothing yet, or last numbers that are in no log. A power cut may take such a
    /// position.
    is_loose: bool,
    /// Whether calls of the disk failed. An open that cannot read an archived log shortens the
    /// feed.
    is_lossy: bool,
}

impl Default for Follower {
    fn default() -> Follower {
        let position = Position::BEGINNING;
        let (is_loose, is_lossy) = (true, false);
        Follower { position, updates: None, fed: Vec::new(), is_loose, is_lossy }
    }
}

impl Follower {
    /// Reads to the end of the feed, with the reader of the last call or a new one.
    ///
    /// # Errors
    /// Errors of the feed.
    pub fn follow(&mut self, db: &Db, features: &Features, anew: bool) -> foldb::Result<()> {
        match self.read(db, features, anew) {
            Err(error)
                if (self.is_loose || self.is_lossy) && error.kind() == ErrorKind::PositionLost =>
            {
                let (_copied, position) = db.snapshot_and_position()?;
                // From here on, a power cut leaves the position.
                db.sync()?;
                self.position = position;
                self.is_loose = false;
                let numbers = 0..=position.sequence_number();
                self.fed.push(Fed { numbers, entry: Entry::Anew });
                Ok(())
            }
            outcome => outcome,
        }
    }

    fn read(&mut self, db: &Db, features: &Features, anew: bool) -> foldb::Result<()> {
        let mut updates = match self.updates.take().filter(|_| !anew) {
            Some(updates) => updates,
            None => db.updates_since(&self.position)?,
        };
        for update in updates.by_ref() {
            let update = update?;
            self.position = update.position;
            self.is_loose = matches!(update.change, feed::Change::Unlogged { .. });
            let (numbers, entry) = match &update.change {
                feed::Change::Batch(batch) => {
                    let first = batch.first_sequence_number();
                    let operations = batch.iter().map(|own| read(&own, features)).collect();
                    (first..=first + batch.len() as u64 - 1, Entry::Batch(operations))
                }
                feed::Change::Unlogged { first, last } => (*first..=*last, Entry::Unlogged),
                _ => continue,
            };
            self.fed.push(Fed { numbers, entry });
        }
        self.position = updates.position();
        self.updates = Some(updates);
        Ok(())
    }

    /// Notes that calls of the disk failed.
    pub fn note_failures(&mut self) {
        self.is_lossy = true;
    }

    /// Returns what it read since the last call, and closes its reader.
    pub fn take(&mut self) -> Vec<Fed> {
        self.updates = None;
        std::mem::take(&mut self.fed)
    }
}

/// Returns an operation of the feed as clients know it. Names that no client uses become those of
/// the first keyspace and operator, and the comparison fails.
fn read(found: &UpdateOp<'_>, features: &Features) -> Operation {
    let place = |name: &str| {
        let number = name.strip_prefix("keyspace-").map(str::parse);
        number.and_then(Result::ok).unwrap_or(0)
    };
    let bound = |bound: Bound<&[u8]>| {
        bound.map(|key| if features.own_order { without_check_byte(key) } else { key.to_vec() })
    };
    let (name, change) = match *found {
        UpdateOp::Put { keyspace, key, value, .. } => {
            (keyspace, Change::Put(key.to_vec(), value.to_vec()))
        }
        UpdateOp::Delete { keyspace, key } => (keyspace, Change::Delete(key.to_vec())),
        UpdateOp::Merge { keyspace, key, operand, operator, .. } => {
            let operator = Operator::of_name(operator).unwrap_or(Operator::Add);
            (keyspace, Change::Merge(operator, key.to_vec(), operand.to_vec()))
        }
        UpdateOp::DeleteRange { keyspace, start, end } => {
            (keyspace, Change::DeleteRange((bound(start), bound(end))))
        }
        _ => ("", Change::Delete(Vec::new())),
    };
    Operation { keyspace: place(name), change }
}
