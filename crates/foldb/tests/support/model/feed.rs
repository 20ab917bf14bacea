//! The change feed of a program: followers read it, and must find the writes that were made.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, Range};

use foldb::feed::{self, BatchUpdate, Position, UpdateOp, Updates, UpdatesOptions};
use foldb::{Db, ErrorKind};
use foldb_model::{Change, Model, Operation, Operator, is_between};

use super::program::{Key, Place};

/// One entry that the feed must have.
enum Entry {
    Batch(Vec<Operation>),
    /// A sorted load, which is in no log.
    Load,
}

/// What the feed must yield, and followers that read it.
pub(super) struct Feed {
    /// By the number of the write in the model.
    entries: BTreeMap<u64, Entry>,
    /// Whether a crash came. Sequence numbers may then be skipped, and keyspaces appear again.
    crashed: bool,
    /// Reads what is durable.
    synced: Follower,
    /// Reads everything.
    unsynced: Follower,
    /// Number of batches that a follower read.
    pub(super) batches: u64,
}

#[derive(Clone, Copy)]
enum Which {
    Synced,
    Unsynced,
}

/// A reader of the feed, and where it is.
struct Follower {
    position: Position,
    /// Number of the last entry before the position; 0 for none.
    read: u64,
    /// The keyspaces that the feed named up to the position.
    keyspaces: BTreeSet<String>,
    updates: Option<Updates>,
    /// Whether the follower read nothing yet, or last numbers that are in no log. A power loss may
    /// take such a position, and the follower then copies the database anew.
    is_loose: bool,
}

impl Follower {
    fn at(position: Position, read: u64, keyspaces: BTreeSet<String>) -> Follower {
        Follower { position, read, keyspaces, updates: None, is_loose: true }
    }

    /// Returns the follower as a line: position, number and keyspaces.
    fn note(&self) -> String {
        let names: Vec<&str> = self.keyspaces.iter().map(String::as_str).collect();
        let position = self.position.to_bytes().map(|byte| format!("{byte:02x}")).concat();
        format!("{position} {} {}\n", self.read, names.join(","))
    }

    fn of_note(line: &str) -> Follower {
        let words: Vec<&str> = line.split(' ').collect();
        let [position, read, names] = words[..] else { panic!("a note has three words: {line}") };
        let hex = |at: usize| u8::from_str_radix(&position[at..at + 2], 16).expect("hex");
        let bytes: Vec<u8> = (0..position.len()).step_by(2).map(hex).collect();
        let position = Position::from_bytes(&bytes).expect("a position");
        let names = names.split(',').map(str::to_owned).collect();
        Follower::at(position, read.parse().expect("a number"), names)
    }
}

fn names(model: &Model) -> BTreeSet<String> {
    let there = Place::all().filter(|place| model.has(place.index()));
    there.map(|place| place.name().to_owned()).collect()
}

impl Feed {
    /// Begins a feed at the end of what the database has.
    pub(super) fn begin(db: &Db, is_new: bool, model: &Model) -> Feed {
        let now = || if is_new { Position::BEGINNING } else { db.position().expect("a position") };
        let follower = || Follower::at(now(), 0, names(model));
        let (synced, unsynced) = (follower(), follower());
        Feed { entries: BTreeMap::new(), crashed: false, synced, unsynced, batches: 0 }
    }

    /// Returns a line for each follower, with which it continues elsewhere.
    pub(super) fn notes(&self) -> String {
        [&self.synced, &self.unsynced].map(Follower::note).concat()
    }

    /// Continues where the followers of these notes stopped.
    pub(super) fn take_notes(&mut self, notes: &str) {
        let followers: Vec<Follower> = notes.lines().map(Follower::of_note).collect();
        let [synced, unsynced] = followers.try_into().ok().expect("two followers");
        (self.synced, self.unsynced) = (synced, unsynced);
    }

    /// Adds the entry of a write. Deletes of empty ranges alone are no entry.
    pub(super) fn add(&mut self, number: u64, writes: &[Operation]) {
        let writes: Vec<_> = writes.iter().filter(|write| !is_nothing(write)).cloned().collect();
        if !writes.is_empty() {
            self.entries.insert(number, Entry::Batch(writes));
        }
    }

    pub(super) fn add_load(&mut self, number: u64) {
        self.entries.insert(number, Entry::Load);
    }

    /// Returns the number of the last entry up to this one; 0 for none.
    fn last(&self, number: u64) -> u64 {
        self.entries.range(..=number).next_back().map_or(0, |(last, _)| *last)
    }

    fn next(&self, number: u64) -> Option<(&u64, &Entry)> {
        self.entries.range(number + 1..).next()
    }

    /// Closes the readers, which hold the database. Their positions stay.
    pub(super) fn close(&mut self) {
        for follower in [&mut self.synced, &mut self.unsynced] {
            follower.updates = None;
        }
    }

    /// Reads to the end. Checks that the feed was there up to the number `least`.
    pub(super) fn follow(
        &mut self,
        db: &Db,
        model: &Model,
        least: u64,
        (unsynced, anew): (bool, bool),
    ) {
        let which = if unsynced { Which::Unsynced } else { Which::Synced };
        if anew {
            self.follower(which).updates = None;
        }
        self.read(db, which).expect("the feed continues");
        let (least, crashed) = (self.last(least), self.crashed);
        let follower = self.follower(which);
        assert!(follower.read >= least, "the feed ends after {} of {least}", follower.read);
        if unsynced && !crashed {
            assert_eq!(follower.keyspaces, names(model), "keyspaces in the feed");
        }
    }

    /// Returns numbers of which one is that of the last write that survived a crash: the feed
    /// continues after what it had yielded. `None` if the crash took the position, and the feed
    /// must begin again.
    pub(super) fn survivors(&mut self, db: &Db, durable: u64) -> Option<Range<u64>> {
        self.crashed = true;
        match self.read(db, Which::Synced) {
            Err(error) if self.synced.is_loose && error.kind() == ErrorKind::PositionLost => {
                return None;
            }
            outcome => outcome.expect("the feed continues after a crash"),
        }
        let (read, durable) = (self.synced.read, self.last(durable));
        assert!(read >= durable, "the feed ends at {read}, and {durable} is durable");
        let lost = self.next(read).map_or(u64::MAX, |(lost, _)| *lost);
        self.entries.split_off(&lost);
        // Of the unsynced follower, a crash may take the position.
        match self.read(db, Which::Unsynced) {
            Ok(()) => assert_eq!(self.unsynced.read, read, "it read what is lost"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::PositionLost, "{error}");
                let Follower { position, keyspaces, .. } = &self.synced;
                self.unsynced = Follower::at(*position, read, keyspaces.clone());
            }
        }
        Some(read..lost)
    }

    fn follower(&mut self, which: Which) -> &mut Follower {
        match which {
            Which::Synced => &mut self.synced,
            Which::Unsynced => &mut self.unsynced,
        }
    }

    fn read(&mut self, db: &Db, which: Which) -> foldb::Result<()> {
        let options = UpdatesOptions { include_unsynced: matches!(which, Which::Unsynced) };
        let follower = self.follower(which);
        let mut updates = match follower.updates.take() {
            Some(updates) => updates,
            None => db.with(&options).updates_since(&follower.position)?,
        };
        for update in updates.by_ref() {
            let change = update?.change;
            self.follower(which).is_loose = matches!(change, feed::Change::Unlogged { .. });
            match change {
                feed::Change::Batch(batch) => self.check(which, &batch),
                feed::Change::Unlogged { first, last } => self.pass_loads(which, last + 1 - first),
                feed::Change::Keyspaces { dropped, created } => {
                    let keyspaces = &mut self.follower(which).keyspaces;
                    keyspaces.retain(|name| !dropped.contains(name));
                    for own in created {
                        let place = Place::all().find(|place| place.name() == own.name);
                        let place = place.expect("a keyspace of the program");
                        let operator =
                            place.operator().map(|operator| operator.name().into_owned());
                        assert_eq!(own.merge_operator, operator, "{place:?}");
                        assert_eq!(own.expiry.is_some(), place == Place::FADING);
                        keyspaces.insert(own.name);
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        let follower = self.follower(which);
        follower.position = updates.position();
        follower.updates = Some(updates);
        Ok(())
    }

    /// Compares a batch of the feed with the next write.
    fn check(&mut self, which: Which, batch: &BatchUpdate) {
        let found: Vec<_> = batch.iter().filter(|own| !is_empty(own)).collect();
        if found.is_empty() {
            return;
        }
        self.batches += 1;
        let read = self.follower(which).read;
        match self.next(read) {
            Some((&at, Entry::Batch(writes))) => {
                let is_same = writes.len() == found.len()
                    && writes.iter().zip(&found).all(|(own, found)| is_of(own, found));
                assert!(is_same, "entry {at} of the feed: expected {writes:?}, found {found:?}");
                self.follower(which).read = at;
            }
            Some((at, Entry::Load)) => panic!("the feed skips the load at {at} before {found:?}"),
            None => panic!("the feed has {found:?}, which was not written or is lost"),
        }
    }

    /// Passes loads, each of which has one sequence number.
    fn pass_loads(&mut self, which: Which, numbers: u64) {
        for number in 0..numbers {
            let read = self.follower(which).read;
            match self.next(read) {
                Some((&at, Entry::Load)) => self.follower(which).read = at,
                _ if self.crashed => return,
                _ => {
                    panic!(
                        "{} numbers after entry {read} of the feed are of no load",
                        numbers - number
                    )
                }
            }
        }
    }
}

/// Returns whether a range is empty because its ends meet.
fn meets<T: PartialEq>(start: &Bound<T>, end: &Bound<T>) -> bool {
    match (start, end) {
        (Bound::Included(_), Bound::Included(_)) => false,
        (
            Bound::Included(start) | Bound::Excluded(start),
            Bound::Included(end) | Bound::Excluded(end),
        ) => start == end,
        _ => false,
    }
}

fn is_nothing(write: &Operation) -> bool {
    matches!(&write.change, Change::DeleteRange((start, end)) if meets(start, end))
}

fn is_empty(found: &UpdateOp<'_>) -> bool {
    matches!(found, UpdateOp::DeleteRange { start, end, .. } if meets(start, end))
}

/// Returns whether the feed tells of this write.
fn is_of(write: &Operation, found: &UpdateOp<'_>) -> bool {
    let (name, is_same) = match (&write.change, found) {
        (Change::Put(own, to), UpdateOp::Put { keyspace, key, value, .. }) => {
            (*keyspace, own == key && to == value)
        }
        (Change::Delete(own), UpdateOp::Delete { keyspace, key }) => (*keyspace, own == key),
        (
            Change::Merge(with, own, by),
            UpdateOp::Merge { keyspace, key, operand, operator, .. },
        ) => {
            let is_same = Operator::of_name(operator) == Some(*with);
            (*keyspace, own == key && by == operand && is_same)
        }
        (Change::DeleteRange(own), UpdateOp::DeleteRange { keyspace, start, end }) => {
            let found = (start.map(<[u8]>::to_vec), end.map(<[u8]>::to_vec));
            let covers_same = |key: Vec<u8>| is_between(&key, own) == is_between(&key, &found);
            (*keyspace, Key::all().all(covers_same))
        }
        _ => return false,
    };
    is_same && Place::at(write.keyspace).name() == name
}
