//! Random calls of a transaction's iterator: what the caller learnt is claimed.
//!
//! A caller learns of each entry that the iterator shows, and that no entry lies between two places
//! that it moved between. The model derives both from the answers alone.

use std::ops::{Bound, Range};
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use foldb_env::{Env, ManualClock, MemFs};

use crate::db::handle::database::Db;
use crate::db::handle::keyspace::Keyspace;
use crate::db::transaction::TransactionKeyspace;
use crate::error::Result;
use crate::faults::{Fault, plant};
use crate::iterator::Iter;
use crate::options::{KeyspaceOptions, Options, WriteOptions};
use crate::settings::{Expires, Expiry};

/// Keys of the tests: one byte each, below this number.
const KEYS: usize = 16;

struct Bench {
    clock: Arc<ManualClock>,
    db: Db,
    keyspace: Keyspace,
    rng: Rng,
}

impl Bench {
    fn new(seed: u64) -> Bench {
        let clock = Arc::new(ManualClock::default());
        let env = Env { clock: clock.clone(), ..Env::in_memory(MemFs::new()) };
        let options = Options { create_if_missing: true, env, ..Options::default() };
        let db = Db::open("db", options).unwrap();
        let options = KeyspaceOptions {
            merge_operator: Some("stringappend:,".to_owned()),
            expiry: Some(Expiry::per_write()),
            ..KeyspaceOptions::default()
        };
        let keyspace = db.create_keyspace("keys", options).unwrap();
        Bench { clock, db, keyspace, rng: Rng::with_seed(seed) }
    }

    fn key(&mut self) -> [u8; 1] {
        [self.rng.u8(..KEYS as u8)]
    }

    /// Changes the database: puts, short lives, merges, deletes, flushes.
    fn change(&mut self) {
        let (key, other) = (self.key(), self.key());
        let soon = Some(Expires::After(Duration::from_secs(2)));
        match self.rng.u8(..16) {
            0..=5 => self.keyspace.put(key, "put"),
            6..=7 => {
                let options = WriteOptions { expires: soon, ..WriteOptions::default() };
                self.keyspace.with(&options).put(key, "short")
            }
            8..=9 => self.keyspace.merge(key, "merge"),
            10..=12 => self.keyspace.delete(key),
            13 => self.keyspace.delete_range(key..other.max(key)),
            14 => self.db.flush(),
            _ => {
                self.clock.advance(Duration::from_secs(1));
                Ok(())
            }
        }
        .unwrap();
    }

    /// Makes an own write, and notes the keys whose older history it hides.
    fn write(&mut self, own: TransactionKeyspace<'_>, hidden: &mut [bool; KEYS]) {
        let (key, other) = (self.key(), self.key());
        let at = usize::from(key[0]);
        match self.rng.u8(..6) {
            0..=1 => own.put(key, "own").unwrap(),
            2 => own.delete(key).unwrap(),
            3 => {
                let other = other.max(key);
                own.delete_range(key..other).unwrap();
                return hidden[at..usize::from(other[0])].fill(true);
            }
            _ => return own.merge(key, "own").unwrap(),
        }
        hidden[at] = true;
    }

    /// Runs a transaction. Returns the keys that it learnt of and did not claim.
    fn run(&mut self) -> Vec<usize> {
        (0..self.rng.u8(..8)).for_each(|_| self.change());
        let (db, keyspace) = (self.db.clone(), self.keyspace.clone());
        let transaction = db.begin().unwrap();
        let own = transaction.keyspace(&keyspace);
        let mut hidden = [false; KEYS];
        if self.rng.bool() {
            (0..self.rng.u8(1..6)).for_each(|_| self.write(own, &mut hidden));
        }
        let (lower, upper) = (self.bound(), self.bound());
        let inside = first_inside(lower)..first_behind(upper);
        let iter = own.range((bound(&lower), bound(&upper)));
        let Ok(iter) = iter else { return Vec::new() };
        let mut walker = Walker::new(iter, inside);
        (0..self.rng.u8(1..8)).for_each(|_| walker.step(&mut self.rng).unwrap());
        let Walker { iter, learnt, .. } = walker;
        drop(iter);
        let claims = transaction.claims_so_far().expect("it read");
        let mut claims = claims.lock();
        let settled = claims.settle();
        let (_, ranges) = &settled.keyspaces[0];
        let comparator = &*keyspace.state().comparator;
        let is_missing =
            |&at: &usize| learnt[at] && !hidden[at] && !ranges.holds(comparator, &[at as u8]);
        (0..KEYS).filter(is_missing).collect()
    }

    fn bound(&mut self) -> Bound<[u8; 1]> {
        match self.rng.u8(..4) {
            0..=1 => Bound::Unbounded,
            2 => Bound::Included(self.key()),
            _ => Bound::Excluded(self.key()),
        }
    }
}

fn bound(bound: &Bound<[u8; 1]>) -> Bound<&[u8]> {
    bound.as_ref().map(|key| &key[..])
}

fn first_inside(lower: Bound<[u8; 1]>) -> usize {
    match lower {
        Bound::Unbounded => 0,
        Bound::Included([key]) => usize::from(key),
        Bound::Excluded([key]) => usize::from(key) + 1,
    }
}

fn first_behind(upper: Bound<[u8; 1]>) -> usize {
    match upper {
        Bound::Unbounded => KEYS,
        Bound::Included([key]) => usize::from(key) + 1,
        Bound::Excluded([key]) => usize::from(key),
    }
}

#[derive(Clone, Copy)]
enum Place {
    Fresh,
    On {
        key: usize,
        yielded: bool,
    },
    /// Only `next_back` moved the iterator.
    FromBack,
    Exhausted,
}

/// An iterator, and what its caller learnt from it.
struct Walker {
    iter: Iter,
    place: Place,
    /// The keys of the range, up to the end that `next_back` left.
    inside: Range<usize>,
    learnt: [bool; KEYS],
}

impl Walker {
    fn new(iter: Iter, inside: Range<usize>) -> Walker {
        Walker { iter, place: Place::Fresh, inside, learnt: [false; KEYS] }
    }

    fn learn(&mut self, from: usize, to: usize) {
        if from < to {
            self.learnt[from..to].fill(true);
        }
    }

    /// Takes in a move forwards from a place.
    fn came_forward(&mut self, from: usize, moved: bool) {
        let from = from.max(self.inside.start);
        if moved {
            let key = usize::from(self.iter.key()[0]);
            self.learn(from, key + 1);
            self.place = Place::On { key, yielded: false };
        } else {
            self.learn(from, self.inside.end);
            self.place = Place::Exhausted;
        }
    }

    /// Takes in a move backwards from before a place.
    fn came_backward(&mut self, behind: usize, moved: bool) {
        let behind = behind.min(self.inside.end);
        if moved {
            let key = usize::from(self.iter.key()[0]);
            self.learn(key, behind);
            self.place = Place::On { key, yielded: false };
        } else {
            self.learn(self.inside.start, behind);
            self.place = Place::Exhausted;
        }
    }

    fn step(&mut self, rng: &mut Rng) -> Result<()> {
        let key = rng.usize(..KEYS);
        match rng.u8(..16) {
            0..=1 => {
                let moved = self.iter.seek([key as u8])?;
                self.came_forward(key, moved);
            }
            2..=4 => {
                let moved = self.iter.seek_for_prev([key as u8])?;
                self.came_backward(key + 1, moved);
            }
            5 => {
                let moved = self.iter.seek_to_first()?;
                self.came_forward(0, moved);
            }
            6 => {
                let moved = self.iter.seek_to_last()?;
                self.came_backward(KEYS, moved);
            }
            7..=9 => self.advance()?,
            10..=12 => self.retreat()?,
            13..=14 => self.next()?,
            _ => self.next_back()?,
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<()> {
        let moved = self.iter.advance()?;
        match self.place {
            Place::Fresh | Place::FromBack => self.came_forward(0, moved),
            Place::On { key, .. } => self.came_forward(key, moved),
            Place::Exhausted => assert!(!moved),
        }
        Ok(())
    }

    fn retreat(&mut self) -> Result<()> {
        let moved = self.iter.retreat()?;
        match self.place {
            Place::Fresh | Place::FromBack => self.came_backward(KEYS, moved),
            Place::On { key, .. } => self.came_backward(key + 1, moved),
            Place::Exhausted => assert!(!moved),
        }
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        let found = self.iter.next().transpose()?;
        match (self.place, &found) {
            (Place::On { key, yielded: false }, Some((found, _))) => {
                assert_eq!(usize::from(found[0]), key);
                self.learn(key, key + 1);
            }
            (Place::Fresh | Place::FromBack, _) => self.came_forward(0, found.is_some()),
            (Place::On { key, .. }, _) => self.came_forward(key, found.is_some()),
            (Place::Exhausted, _) => assert!(found.is_none()),
        }
        if let Place::On { yielded, .. } = &mut self.place {
            *yielded = true;
        }
        Ok(())
    }

    fn next_back(&mut self) -> Result<()> {
        let found = self.iter.next_back().transpose()?;
        let from = match self.place {
            Place::Fresh | Place::FromBack => self.inside.start,
            Place::On { key, .. } => key,
            Place::Exhausted => {
                assert!(found.is_none());
                return Ok(());
            }
        };
        let Some((found, _)) = found else {
            self.learn(from, self.inside.end);
            if !matches!(self.place, Place::On { .. }) {
                self.place = Place::Exhausted;
            }
            return Ok(());
        };
        let found = usize::from(found[0]);
        self.learn(found, self.inside.end);
        self.inside.end = found;
        self.place = match self.place {
            Place::On { key, .. } if key == found => Place::Exhausted,
            Place::On { .. } => self.place,
            _ => Place::FromBack,
        };
        Ok(())
    }
}

/// Returns how many of the transactions missed a claim.
fn missing(seed: u64, transactions: usize) -> usize {
    let mut bench = Bench::new(seed);
    let missed = (0..transactions).filter(|number| {
        let missing = bench.run();
        if !missing.is_empty() {
            println!("seed {seed}, transaction {number}: learnt of {missing:?} without a claim");
        }
        !missing.is_empty()
    });
    missed.count()
}

#[test]
fn an_iterator_claims_all_that_its_caller_learns() {
    let missed: usize = (0..10).map(|seed| missing(seed, 600)).sum();
    assert_eq!(missed, 0);
}

#[test]
fn a_claim_that_an_exact_hit_leaves_out_is_noticed() {
    plant(Some(Fault::ForgetExactHit));
    let missed: usize = (0..4).map(|seed| missing(seed, 300)).sum();
    plant(None);
    assert!(missed > 0);
}
