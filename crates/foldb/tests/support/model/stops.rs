//! How a program ends the life of its database, and what the next one must find.

use foldb::env::MemFs;
use foldb::{Keyspace, WriteOptions};
use foldb_model::{Cell, Change, Moment, Operation};

use super::compare::{Entries, entries, scan};
use super::feed::Feed;
use super::open::{keyspaces, open};
use super::program::{Place, Settings};
use super::run::Player;

/// How a database stopped that was not closed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The process ended: every write survives.
    Kill,
    /// The power failed: a prefix of the writes survives.
    Crash,
}

impl Player {
    pub(super) fn drop_handles(&mut self) {
        self.snapshots.clear();
        self.iterators.clear();
        self.feed.iter_mut().for_each(Feed::close);
    }

    /// Stops without a close, and opens what `survive` leaves of the files.
    pub(super) fn restart(&mut self, survive: impl FnOnce(&MemFs) -> MemFs, stop: Stop) {
        let fs = survive(&self.fs);
        self.drop_handles();
        self.reopen(fs, None);
        if stop == Stop::Crash {
            self.find_prefix();
        }
        self.begin_feed();
        self.tick();
        self.now_durable();
        self.check_all();
    }

    pub(super) fn reopen(&mut self, fs: MemFs, settings: Option<Settings>) {
        self.settings = settings.unwrap_or(self.settings);
        // No handle may keep the old database open.
        self.keyspaces = Default::default();
        self.db = open(&fs, self.settings, &self.clock, self.opens);
        self.opens += 1;
        self.keyspaces = keyspaces(&self.db);
        if !self.settings.feed {
            self.end_feed();
        }
        for place in Place::all() {
            assert_eq!(self.at(place).is_some(), self.model.has(place.index()), "{place:?}");
        }
        self.fs = fs;
    }

    fn end_feed(&mut self) {
        self.followed_before = self.followed();
        self.feed = None;
    }

    /// Begins a feed after the writes that are there.
    pub(super) fn begin_feed(&mut self) {
        if self.settings.feed && self.feed.is_none() {
            // A power loss may take back the position of a log that was never synced.
            self.db.sync().expect("sync");
            self.feed = Some(Feed::begin(&self.db, false, &self.model));
        }
    }

    /// Sets the model back to the prefix of the writes that the crash left. If there is a feed, it
    /// says which.
    fn find_prefix(&mut self) {
        let survivors = self.feed.as_mut().and_then(|feed| feed.survivors(&self.db, self.durable));
        if survivors.is_none() {
            self.end_feed();
        }
        let survivors = survivors.unwrap_or(0..u64::MAX);
        let scan_of = |keyspace: &Keyspace| scan(keyspace.iter().expect("an iterator"));
        let found: Vec<_> =
            self.keyspaces.iter().map(|keyspace| keyspace.as_ref().map(scan_of)).collect();
        // Reads see the second now.
        self.second = self.second.max(self.clock.second());
        let seen = |number| -> Vec<Option<Entries>> {
            let at = Moment { number, second: self.second };
            let view = |place: Place| entries(self.model.of(place.index(), at));
            Place::all().map(|place| self.at(place).map(|_| view(place))).collect()
        };
        let mut possible = (self.durable..=self.number).filter(|last| survivors.contains(last));
        let Some(survivor) = possible.rfind(|number| seen(*number) == found) else {
            let all: Vec<_> = (self.durable..=self.number).map(seen).collect();
            panic!(
                "after the crash the database holds no prefix of the writes\n    prefixes: {all:?}\n\
                 in the feed: {survivors:?}\n       found: {found:?}"
            )
        };
        self.model.truncate(survivor, &[]);
        self.number = survivor;
        // Prefixes that look the same may differ in what a failed merge hides.
        let sync = WriteOptions { sync: true, ..WriteOptions::default() };
        for place in Place::all().filter(|&place| self.at(place).is_some()).collect::<Vec<_>>() {
            let failed = self.view(place).entries().filter(|(_, cell)| **cell == Cell::Failed);
            let failed: Vec<Vec<u8>> = failed.map(|(key, _)| key.clone()).collect();
            for key in failed {
                let keyspace = self.at(place).expect("the keyspace exists");
                keyspace.with(&sync).delete(&key).unwrap();
                let delete = Operation { keyspace: place.index(), change: Change::Delete(key) };
                self.committed(vec![delete], true);
            }
        }
    }
}
