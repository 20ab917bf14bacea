//! The reads of a program, of the database and of its copies.

use std::time::UNIX_EPOCH;

use foldb::operators::Base;
use foldb::{Db, Options, ReadOptions};
use foldb_model::{Change, Model, Moment, Operation, Operator, is_between};

use super::compare::{assert_get, check_keyspace, entries};
use super::held::HeldIterator;
use super::open::options;
use super::program::{Key, Place, Range, Settings};
use super::run::{MAX_HELD, Player, pick};
use crate::support::{AnyDb, PATH};

/// Path of checkpoints.
const COPY: &str = "copy";

/// Tests whether a key lies in a range.
type KeyTest = Box<dyn Fn(&[u8]) -> bool>;

impl Player {
    /// Checks that a read-only open beside the writer shows the writer's state.
    pub(super) fn look(&self) {
        let before = self.fs.counts().mutations();
        let options = options(&self.fs, self.settings, &self.clock, self.opens);
        let shown = Db::open_read_only(PATH, options);
        let shown = shown.expect("a read-only open");
        self.check_elsewhere(&shown);
        assert_eq!(self.fs.counts().mutations(), before, "a look changes nothing");
    }

    pub(super) fn checkpoint(&self, settings: Settings) {
        self.db.checkpoint(COPY).expect("a checkpoint");
        let options = options(&self.fs, settings, &self.clock, 1000 + self.opens);
        let options = Options { create_if_missing: false, ..options };
        let copy = Db::open(COPY, options.clone()).expect("the checkpoint opens");
        self.check_elsewhere(&copy);
        // Changes to the copy must not reach the database.
        for key in Key::all().step_by(3) {
            copy.put(key, "of the copy").expect("a write to the copy");
        }
        copy.compact(..).expect("a compaction of the copy");
        self.check_all();
        drop(copy);
        Db::destroy(COPY, &options).expect("the checkpoint can be destroyed");
        self.check_all();
    }

    /// Checks that another database holds the same.
    pub(super) fn check_elsewhere(&self, db: &impl AnyDb) {
        let at = Moment { second: self.second.max(self.clock.second()), ..self.now() };
        for place in Place::all() {
            let keyspace = db.reader(place.name()).ok();
            assert_eq!(keyspace.is_some(), self.model.has(place.index()), "{place:?}");
            if let Some(keyspace) = keyspace {
                check_keyspace(&keyspace, self.model.of(place.index(), at));
            }
        }
    }

    pub(super) fn multi_get(&mut self, place: Place, keys: &[Key], snapshot: Option<u8>) {
        let Some(keyspace) = &self.keyspaces[place.index()] else { return };
        let held = snapshot.and_then(|index| pick(&mut self.snapshots, index));
        let (snapshot, at) = match held {
            Some((snapshot, at)) => (Some(snapshot.clone()), *at),
            None => (None, self.now()),
        };
        let view = self.model.of(place.index(), at);
        let options = ReadOptions { snapshot, ..ReadOptions::default() };
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| key.bytes()).collect();
        let read = keyspace.with(&options).multi_get(&keys).expect("a multi-get");
        assert_eq!(read.len(), keys.len());
        keys.iter().zip(read).for_each(|(key, read)| assert_get(key, read, view));
    }

    /// Checks that base and operands, folded by the model, give the key's value.
    pub(super) fn get_operands(&self, place: Place, key: &[u8]) {
        let Some(keyspace) = self.at(place) else { return };
        let read = keyspace.get_operands(key).expect("operands");
        let (mut folded, at) = (Model::default(), self.now());
        folded.create(0, None);
        let mut apply = |change| folded.apply(&Operation { keyspace: 0, change }, at);
        if let Base::Put(value) = read.base() {
            apply(Change::Put(key.to_vec(), value.to_vec()));
        }
        for operand in read.oldest_first() {
            let operator = Operator::of_name(operand.operator()).expect("a known operator");
            apply(Change::Merge(operator, key.to_vec(), operand.value().to_vec()));
        }
        let expected = self.view(place).get(key);
        assert_eq!(folded.of(0, at).get(key), expected, "operands of '{}'", key.escape_ascii());
    }

    pub(super) fn open_iterator(&mut self, place: Place, range: &Range, snapshot: Option<u8>) {
        let Some(keyspace) = self.keyspaces[place.index()].clone() else { return };
        if self.iterators.len() == MAX_HELD {
            self.iterators.remove(0);
        }
        let held = snapshot.and_then(|index| pick(&mut self.snapshots, index));
        let (snapshot, at) = match held {
            Some((snapshot, at)) => (Some(snapshot.clone()), *at),
            None => (None, self.now()),
        };
        let options = ReadOptions { snapshot, ..ReadOptions::default() };
        let (iter, inside): (_, KeyTest) = match range {
            Range::Prefix(key, len) if options.snapshot.is_none() => {
                let key = key.bytes();
                let prefix = key[..key.len().min(*len)].to_vec();
                (keyspace.prefix(&prefix), Box::new(move |key| key.starts_with(&prefix)))
            }
            Range::All | Range::Prefix(..) => {
                (keyspace.with(&options).range(..), Box::new(|_| true))
            }
            Range::Between(lower, upper) => {
                let bounds = (lower.map(Key::bytes), upper.map(Key::bytes));
                let iter = keyspace.with(&options).range(bounds.clone());
                (iter, Box::new(move |key| is_between(key, &bounds)))
            }
        };
        let mut entries = entries(self.model.of(place.index(), at));
        entries.retain(|(key, _)| inside(key));
        let iter = iter.expect("an iterator");
        self.iterators.push(HeldIterator::new(iter, entries));
    }

    pub(super) fn check_all(&self) {
        for place in Place::all() {
            if let Some(keyspace) = self.at(place) {
                check_keyspace(&keyspace.reader(), self.view(place));
            }
        }
        let Some(fading) = self.at(Place::FADING) else { return };
        for (key, _) in self.view(Place::FADING).entries() {
            let end = fading.expires_at(key).expect("an end");
            let end = end.map(|end| end.duration_since(UNIX_EPOCH).expect("after 1970").as_secs());
            let expected = self.view(Place::FADING).end_of(key);
            assert_eq!(end, expected, "the end of '{}'", key.escape_ascii());
        }
    }
}
