//! A client of the database: one thread that writes and reads, and records the answers.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use foldb::expiry::Expires;
use foldb::numbering::{self, Given};
use foldb::{Db, ErrorKind, Iter, Keyspace, ReadOptions, Snapshot, WriteBatch, WriteOptions};
use foldb_model::{Change, Operation, Operator};
use foldb_stress::{draws, operators};

use crate::checker::Wrong;
use crate::counts::{Counted, Counts};
use crate::day::Day;
use crate::disk::Disk;
use crate::features::Features;
use crate::follower::Follower;
use crate::history::{BRIEF, BRIEF_SECONDS, History, Outcome, Read, Seen, Tick, Ticks, Write};

/// State that all clients of one life share.
pub struct Stage<'a> {
    /// The features of the seed.
    pub features: &'a Features,
    /// The database.
    pub db: &'a Db,
    /// The keyspaces of the features, in their order.
    pub keyspaces: &'a [Keyspace],
    /// The disk below the database.
    pub disk: &'a Disk,
    /// The clock of the histories.
    pub ticks: &'a Ticks,
    /// Counts of events.
    pub counts: &'a Counts,
    /// The options that the database was opened with.
    pub options: foldb::Options,
    /// The time of day.
    pub day: &'a Day,
    /// The follower of the change feed.
    pub follower: &'a Mutex<Follower>,
}

/// A view of one moment, which a client reads later.
enum Held {
    /// A snapshot, and the second of its making.
    Snapshot(Snapshot, u64),
    /// An iterator: when and at which second it was made, its keyspace and its range.
    Iterator {
        second: u64,
        began: Tick,
        returned: Tick,
        keyspace: usize,
        range: Option<Range<Vec<u8>>>,
        iterator: Box<Iter>,
    },
}

/// One client thread.
pub struct Client<'a> {
    pub(crate) stage: &'a Stage<'a>,
    writes: bool,
    pub(crate) rng: fastrand::Rng,
    held: Vec<Held>,
    pub(crate) history: History,
    /// Counter that makes every value unique.
    next_value: u64,
}

/// The outcome of a call.
pub(crate) type Answer<T> = Result<T, foldb::Error>;

/// Whether a client continues after an error that the disk or a deadline explains.
enum After {
    GoOn,
    Stop,
}

impl<'a> Client<'a> {
    /// Makes the client with this number in a life.
    pub fn new(stage: &'a Stage<'a>, life: u64, number: u8) -> Client<'a> {
        let rng = draws(stage.features.seed, "client", &[life, number.into()]);
        let writes = number < stage.features.writers;
        let next_value = life << 40 | u64::from(number) << 32;
        Client { stage, writes, rng, held: Vec::new(), history: History::default(), next_value }
    }

    /// Works until its operations are done, or the power fails.
    ///
    /// # Errors
    /// An error that has no cause.
    pub fn work(mut self) -> Result<History, Wrong> {
        for _ in 0..self.stage.features.operations {
            self.stage.counts.add(Counted::Operation);
            let moved = self.move_clock_now_and_then();
            if let Err(error) = moved
                && let After::Stop = self.excuse(&error)?
            {
                return Ok(self.history);
            }
            let day = self.stage.day;
            let standing = day.hold();
            if self.stage.features.expiry.is_some()
                && (self.stage.disk.is_dead() || day.is_unsure())
            {
                return Ok(self.history);
            }
            let outcome = self.operation();
            drop(standing);
            if let Err(error) = outcome
                && let After::Stop = self.excuse(&error)?
            {
                return Ok(self.history);
            }
        }
        let held = std::mem::take(&mut self.held);
        for one in held {
            if let Err(error) = self.look_at(one) {
                self.excuse(&error)?;
            }
        }
        Ok(self.history)
    }

    /// Decides whether the disk, or a deadline, explains an error.
    fn excuse(&self, error: &foldb::Error) -> Result<After, Wrong> {
        if self.stage.disk.is_dead() {
            return Ok(After::Stop);
        }
        let failed = self.stage.disk.happened().failures > 0;
        match error.kind() {
            ErrorKind::Busy if self.stage.features.deadlines => {
                self.stage.counts.add(Counted::Busy);
                Ok(After::GoOn)
            }
            ErrorKind::NoSpace | ErrorKind::Io if failed => Ok(After::GoOn),
            // The database takes no writes until it is opened again.
            ErrorKind::Poisoned if failed => Ok(After::Stop),
            _ => Err(format!("an error without a cause: {error}")),
        }
    }

    fn operation(&mut self) -> Answer<()> {
        let features = self.stage.features;
        if self.writes && self.rng.u8(..100) >= features.reads {
            return self.write();
        }
        match self.rng.u8(..100) {
            0..50 => self.get(None),
            50..60 => self.walk(),
            60..72 if features.snapshots => self.take_snapshot(),
            72..80 if features.iterators => self.take_iterator(),
            80..96 if !self.held.is_empty() => {
                let one = self.held.swap_remove(self.rng.usize(..self.held.len()));
                self.look_at(one)
            }
            96..98 if features.manual_work => self.work_by_hand(),
            98 => self.copy(),
            99 if features.feed => self.follow(),
            _ => self.get(None),
        }
    }

    /// Records a read and the ticks between which it ran. It shows the second now.
    pub(crate) fn saw(&mut self, began: Tick, seen: Seen) {
        let (returned, second) = (self.stage.ticks.next(), self.stage.day.second());
        self.history.reads.push(Read { began, returned, second, at: None, is_ahead: false, seen });
    }

    /// Records a read through a snapshot of a number and a second.
    fn saw_then(&mut self, began: Tick, (at, second): (u64, u64), seen: Seen) {
        let (returned, at) = (self.stage.ticks.next(), Some(at));
        self.history.reads.push(Read { began, returned, second, at, is_ahead: false, seen });
    }

    fn get(&mut self, snapshot: Option<(Snapshot, u64)>) -> Answer<()> {
        let keyspace = self.rng.usize(..self.stage.keyspaces.len());
        let key = self.key();
        let (snapshot, second) = snapshot.unzip();
        let at = snapshot.as_ref().map(Snapshot::sequence_number).zip(second);
        let options = ReadOptions { snapshot, ..ReadOptions::default() };
        let began = self.stage.ticks.next();
        let value = self.stage.keyspaces[keyspace].with(&options).get(&key)?;
        let value = value.map(|value| value.to_vec());
        let seen = Seen::Value { keyspace, key, value };
        match at {
            Some(at) => self.saw_then(began, at, seen),
            None => self.saw(began, seen),
        }
        Ok(())
    }

    fn walk(&mut self) -> Answer<()> {
        let one = self.iterator(None)?;
        self.look_at(one)
    }

    /// Makes an iterator over some keys, or all.
    fn iterator(&mut self, snapshot: Option<Snapshot>) -> Answer<Held> {
        let keyspace = self.rng.usize(..self.stage.keyspaces.len());
        let range = self.rng.bool().then(|| self.range());
        let options = ReadOptions { snapshot, ..ReadOptions::default() };
        let began = self.stage.ticks.next();
        let iterator = match range.clone() {
            Some(range) => {
                let range = self.stage.features.stored_range(&range);
                self.stage.keyspaces[keyspace].with(&options).range(range)?
            }
            None => self.stage.keyspaces[keyspace].with(&options).range(..)?,
        };
        let returned = self.stage.ticks.next();
        let (iterator, second) = (Box::new(iterator), self.stage.day.second());
        Ok(Held::Iterator { second, began, returned, keyspace, range, iterator })
    }

    fn take_snapshot(&mut self) -> Answer<()> {
        let began = self.stage.ticks.next();
        let snapshot = self.stage.db.snapshot();
        self.saw(began, Seen::Snapshot(snapshot.sequence_number()));
        self.held.push(Held::Snapshot(snapshot, self.stage.day.second()));
        Ok(())
    }

    fn take_iterator(&mut self) -> Answer<()> {
        let one = self.iterator(None)?;
        self.held.push(one);
        Ok(())
    }

    fn look_at(&mut self, held: Held) -> Answer<()> {
        match held {
            Held::Snapshot(snapshot, second) => {
                self.stage.counts.add(Counted::SnapshotRead);
                let at = (snapshot.sequence_number(), second);
                if self.rng.bool() {
                    return self.get(Some((snapshot, second)));
                }
                let Held::Iterator { began, keyspace, range, iterator, .. } =
                    self.iterator(Some(snapshot))?
                else {
                    return Ok(());
                };
                let entries = self.entries(*iterator)?;
                self.saw_then(began, at, Seen::Entries { keyspace, range, entries });
                Ok(())
            }
            Held::Iterator { second, began, returned, keyspace, range, iterator } => {
                self.stage.counts.add(Counted::Walk);
                let entries = self.entries(*iterator)?;
                let seen = Seen::Entries { keyspace, range, entries };
                self.history.reads.push(Read {
                    began,
                    returned,
                    second,
                    at: None,
                    is_ahead: false,
                    seen,
                });
                Ok(())
            }
        }
    }

    /// Returns the entries of an iterator, which it walks forwards or backwards.
    pub(crate) fn entries(&mut self, iterator: Iter) -> Answer<Vec<(Vec<u8>, Vec<u8>)>> {
        let taken = |entry: Answer<(Vec<u8>, foldb::Value)>| {
            entry.map(|(key, value)| (key, value.to_vec()))
        };
        if self.rng.bool() {
            return iterator.map(taken).collect();
        }
        let mut entries = iterator.rev().map(taken).collect::<Answer<Vec<_>>>()?;
        entries.reverse();
        Ok(entries)
    }

    fn work_by_hand(&mut self) -> Answer<()> {
        let db = self.stage.db;
        match self.rng.u8(..6) {
            0 => db.flush(),
            1 => db.compact(..),
            2 => db.collect_garbage().map(drop),
            3 => db.verify().map(drop),
            4 => db.wait_for_background(),
            _ => self.sync(),
        }
    }

    /// Makes all earlier writes durable: by a sync, or by an empty write.
    fn sync(&mut self) -> Answer<()> {
        let began = self.stage.ticks.next();
        if self.rng.bool() {
            self.stage.db.sync()?;
        } else {
            let options = WriteOptions { sync: true, ..WriteOptions::default() };
            self.stage.db.with(&options).write(&WriteBatch::new())?;
        }
        self.history.syncs.push(began);
        Ok(())
    }

    /// Reads the change feed to its end.
    fn follow(&mut self) -> Answer<()> {
        let mut follower = self.stage.follower.lock().unwrap_or_else(PoisonError::into_inner);
        self.stage.counts.add(Counted::Followed);
        if self.stage.disk.happened().failures > 0 {
            follower.note_failures();
        }
        follower.follow(self.stage.db, self.stage.features, self.rng.bool())
    }

    fn write(&mut self) -> Answer<()> {
        let features = self.stage.features;
        match self.rng.u8(..32) {
            0..6 if features.transactions => return self.transact(),
            6..12 if features.conditions => return self.write_on_condition(),
            12 if features.loads => return self.load(),
            _ => {}
        }
        let count =
            if features.batches && self.rng.u8(..4) == 0 { self.rng.usize(2..12) } else { 1 };
        let mut operations: Vec<_> = match features.drains && self.rng.u8(..5) == 0 {
            true => self.drain(),
            false => (0..count).map(|_| self.change()).collect(),
        };
        self.make_brief_now_and_then(&mut operations);
        let sync = self.rng.u8(..) < features.syncs;
        let gives_up = features.deadlines && self.rng.bool();
        let deadline = gives_up.then(|| Duration::from_micros(self.rng.u64(..2000)));
        let options = WriteOptions { sync, deadline, ..WriteOptions::default() };
        let began = self.begin_write();
        let answer = self.submit(&operations, &options);
        self.wrote(began, sync, &answer, operations);
        answer
    }

    /// Gives some puts a short life of their own.
    fn make_brief_now_and_then(&mut self, operations: &mut [Operation]) {
        let features = self.stage.features;
        for Operation { keyspace, change } in operations {
            // The values of counters have no byte to spare.
            let may_be =
                features.fades(*keyspace) && features.operators[*keyspace] != Operator::Add;
            if let Change::Put(_, value) = change
                && may_be
                && self.rng.u8(..3) == 0
            {
                value.push(BRIEF);
            }
        }
    }

    /// Returns when the entry of an operation expires, if its put says so.
    fn expires(&self, Operation { keyspace, change }: &Operation) -> Option<Expires> {
        let Change::Put(_, value) = change else { return None };
        let is_brief = self.stage.features.fades(*keyspace) && value.last() == Some(&BRIEF);
        is_brief.then_some(Expires::After(Duration::from_secs(BRIEF_SECONDS)))
    }

    /// Begins a write: returns when.
    pub(crate) fn begin_write(&self) -> Tick {
        numbering::forget();
        self.stage.ticks.next()
    }

    /// Records a write. Returns the record, unless the write got no number: it gave up at once, or
    /// deleted an empty range.
    pub(crate) fn wrote<T>(
        &mut self,
        began: Tick,
        synced: bool,
        answer: &Answer<T>,
        operations: Vec<Operation>,
    ) -> Option<&mut Write> {
        let (returned, second) = (self.stage.ticks.next(), self.stage.day.second());
        self.stage.counts.add(Counted::Write);
        self.count_kinds(&operations);
        let outcome = if answer.is_ok() { Outcome::Done { synced } } else { Outcome::Open };
        let Given { numbers, rank } = numbering::last_write()?;
        self.history.writes.push(Write {
            began,
            returned,
            numbers,
            rank,
            operations,
            outcome,
            second,
            before: Vec::new(),
            after: Vec::new(),
            is_logged: true,
        });
        self.history.writes.last_mut()
    }

    /// Counts what pairs of features are made of.
    fn count_kinds(&self, operations: &[Operation]) {
        let (features, counts) = (self.stage.features, self.stage.counts);
        for Operation { keyspace, change } in operations {
            if features.fades(*keyspace) {
                counts.add(Counted::ExpiringWrite);
            }
            if *keyspace > 0 {
                counts.add(Counted::OtherKeyspace);
            }
            match change {
                Change::DeleteRange(_) => counts.add(Counted::RangeDelete),
                Change::Merge(operator, ..) if *operator != features.operators[*keyspace] => {
                    counts.add(Counted::OtherOperator);
                }
                _ => {}
            }
        }
    }

    pub(crate) fn submit(&self, operations: &[Operation], options: &WriteOptions) -> Answer<()> {
        let keyspace = |operation: &Operation| &self.stage.keyspaces[operation.keyspace];
        let own = |operation: &Operation| self.stage.features.operators[operation.keyspace];
        if let [operation] = operations {
            match &operation.change {
                Change::Put(key, value) => {
                    let options = WriteOptions { expires: self.expires(operation), ..*options };
                    return keyspace(operation).with(&options).put(key, value);
                }
                Change::Delete(key) => return keyspace(operation).with(options).delete(key),
                Change::Merge(operator, key, operand) if *operator == own(operation) => {
                    return keyspace(operation).with(options).merge(key, operand);
                }
                Change::DeleteRange(range) => {
                    let range = self.stage.features.stored_range(range);
                    return keyspace(operation).with(options).delete_range(range);
                }
                Change::Merge(..) => {}
            }
        }
        let mut batch = WriteBatch::new();
        for operation in operations {
            let keyspace = keyspace(operation);
            batch.set_expires(self.expires(operation));
            match &operation.change {
                Change::Put(key, value) => batch.put_in(keyspace, key, value),
                Change::Delete(key) => batch.delete_in(keyspace, key),
                Change::Merge(operator, key, operand) => {
                    let operator = self.stage.db.operator(&operator.name())?;
                    batch.merge_with_in(&operator, keyspace, key, operand)
                }
                Change::DeleteRange(range) => {
                    batch.delete_range_in(keyspace, self.stage.features.stored_range(range))
                }
            };
        }
        self.stage.db.with(options).write(&batch)
    }

    pub(crate) fn change(&mut self) -> Operation {
        let features = self.stage.features;
        let keyspace = self.rng.usize(..features.operators.len());
        let own = features.operators[keyspace];
        let key = self.key();
        let kind = self.rng.u8(..100);
        let change = match self.rng.u8(..16) {
            _ if kind < features.merges => {
                let operator = if features.fades(keyspace) { own } else { self.operator(own) };
                let operand = self.operand(operator);
                Change::Merge(operator, key, operand)
            }
            0..10 => {
                let value = self.value(own, key.len());
                Change::Put(key, value)
            }
            15 if features.range_deletes => Change::delete_range(self.range()),
            _ => Change::Delete(key),
        };
        Operation { keyspace, change }
    }

    /// Returns deletes of neighbouring keys, often those at an end.
    fn drain(&mut self) -> Vec<Operation> {
        let Features { keys, ref operators, .. } = *self.stage.features;
        let keyspace = self.rng.usize(..operators.len());
        let (count, from) = (self.rng.u16(2..40), self.rng.u16(..keys));
        let from = [0, from, keys.saturating_sub(count)][self.rng.usize(..3)];
        let keys = from..keys.min(from + count);
        let delete = |number| Change::Delete(self.stage.features.key(number));
        keys.map(|number| Operation { keyspace, change: delete(number) }).collect()
    }

    /// Returns the operator to merge with, in a keyspace with this one.
    fn operator(&mut self, own: Operator) -> Operator {
        if own == Operator::Add {
            return own;
        }
        if self.stage.features.new_operators && self.rng.u8(..8) == 0 {
            return self.stage.features.new_operator(&mut self.rng);
        }
        let drawn = match self.stage.features.mixed_operators {
            true => self.rng.choice(operators::OF_BYTES),
            false => None,
        };
        drawn.unwrap_or(own)
    }

    pub(crate) fn key(&mut self) -> Vec<u8> {
        // Some keys are written far more often than others.
        let keys = self.stage.features.keys;
        let among = if self.rng.bool() { keys.min(3) } else { keys };
        self.stage.features.key(self.rng.u16(..among))
    }

    pub(crate) fn range(&mut self) -> Range<Vec<u8>> {
        let keys = self.stage.features.keys;
        let from = self.rng.u16(..keys);
        let to = from.saturating_add(self.rng.u16(1..=keys));
        from.to_be_bytes().to_vec()..to.to_be_bytes().to_vec()
    }

    pub(crate) fn next_value(&mut self) -> u64 {
        self.next_value += 1;
        self.next_value
    }

    pub(crate) fn value(&mut self, operator: Operator, key: usize) -> Vec<u8> {
        let mut value = self.next_value().to_le_bytes().to_vec();
        if operator != Operator::Add {
            let largest = self.stage.features.largest_value;
            let is_large = self.rng.u8(..) < self.stage.features.large_values;
            let len = match self.stage.features.frames {
                Some(frame) if self.rng.bool() => self.whole_frames(frame, key),
                _ if is_large => self.rng.usize(..=largest),
                _ => 0,
            };
            value.resize(value.len().max(len), b'v');
        }
        value
    }

    /// Returns the length of a value whose record fills some frames of the log exactly.
    fn whole_frames(&mut self, frame: usize, key: usize) -> usize {
        // The batch's header; kind, keyspace and the key's length; the value's length.
        let around = 17 + 3 + key;
        let len = (frame * self.rng.usize(1..=4)).saturating_sub(around + 1);
        if len < 128 { len } else { len - 1 }
    }

    pub(crate) fn operand(&mut self, operator: Operator) -> Vec<u8> {
        match operator {
            Operator::Add => u64::from(self.rng.u16(..)).to_le_bytes().to_vec(),
            _ => {
                let bytes = self.next_value().to_be_bytes()[2..].to_vec();
                operators::operand(operator, bytes, &mut self.rng)
            }
        }
    }
}
