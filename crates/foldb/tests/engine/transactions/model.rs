//! Transactions against a model: what a committed transaction read is true at its commit, and a
//! conflict has a cause.

use std::collections::BTreeMap;

use foldb::env::MemFs;
use foldb::{Db, ErrorKind, Isolation, KeyspaceOptions, Options, Transaction, TransactionOptions};
use proptest::prelude::*;

#[cfg(debug_assertions)]
use crate::support::quiet;
use crate::support::{PATH, options};

type Entries = BTreeMap<u8, Vec<u8>>;

/// A write, over keys of one letter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Write {
    Put(u8, u8),
    Delete(u8),
    Merge(u8, u8),
    DeleteRange(u8, u8),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Read {
    Key(u8),
    /// All keys from the first to before the second.
    Range(u8, u8),
    /// The same, backwards.
    Backwards(u8, u8),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Alone(Write),
    Begin(usize, bool),
    Read(usize, Read),
    Write(usize, Write),
    Commit(usize),
    Flush,
    Compact,
}

const OPEN: usize = 3;

fn write() -> impl Strategy<Value = Write> {
    let key = || b'a'..=b'f';
    prop_oneof![
        4 => (key(), b'0'..=b'9').prop_map(|(key, value)| Write::Put(key, value)),
        2 => key().prop_map(Write::Delete),
        4 => (key(), b'0'..=b'9').prop_map(|(key, operand)| Write::Merge(key, operand)),
        1 => (key(), key()).prop_map(|(a, b)| Write::DeleteRange(a.min(b), a.max(b))),
    ]
}

fn read() -> impl Strategy<Value = Read> {
    let key = || b'a'..=b'f';
    prop_oneof![
        4 => key().prop_map(Read::Key),
        1 => (key(), key()).prop_map(|(a, b)| Read::Range(a.min(b), a.max(b))),
        1 => (key(), key()).prop_map(|(a, b)| Read::Backwards(a.min(b), a.max(b))),
    ]
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let slot = || 0..OPEN;
    prop_oneof![
        6 => write().prop_map(Step::Alone),
        4 => (slot(), any::<bool>()).prop_map(|(slot, serial)| Step::Begin(slot, serial)),
        8 => (slot(), read()).prop_map(|(slot, read)| Step::Read(slot, read)),
        6 => (slot(), write()).prop_map(|(slot, write)| Step::Write(slot, write)),
        5 => slot().prop_map(Step::Commit),
        1 => Just(Step::Flush),
        1 => Just(Step::Compact),
    ]
}

impl Write {
    fn apply(self, model: &mut Entries) {
        match self {
            Write::Put(key, value) => drop(model.insert(key, vec![value])),
            Write::Delete(key) => drop(model.remove(&key)),
            Write::Merge(key, operand) => {
                let value = model.entry(key).or_default();
                if !value.is_empty() {
                    value.push(b',');
                }
                value.push(operand);
            }
            Write::DeleteRange(start, end) => model.retain(|key, _| *key < start || *key >= end),
        }
    }

    fn touches(self, key: u8) -> bool {
        match self {
            Write::Put(own, _) | Write::Delete(own) | Write::Merge(own, _) => own == key,
            Write::DeleteRange(start, end) => (start..end).contains(&key),
        }
    }

    /// Returns whether two writes of one key must not both commit under snapshot isolation.
    fn excludes(self, other: Write) -> bool {
        self.excludes_at(other, |_| true)
    }

    /// Returns whether two writes exclude each other at one of these keys.
    fn excludes_at(self, other: Write, counts: impl Fn(u8) -> bool) -> bool {
        let are_merges = matches!((self, other), (Write::Merge(..), Write::Merge(..)));
        let is_shared = |key| self.touches(key) && other.touches(key) && counts(key);
        !are_merges && (b'a'..=b'f').any(is_shared)
    }
}

impl Read {
    fn answer(self, model: &Entries) -> Answer {
        let (start, end) = match self {
            Read::Key(key) => (key, key + 1),
            Read::Range(start, end) | Read::Backwards(start, end) => (start, end),
        };
        model.range(start..end).map(|(key, value)| (*key, value.clone())).collect()
    }

    fn run(self, transaction: &Transaction) -> Answer {
        let (start, end) = match self {
            Read::Key(key) => {
                let value = transaction.get([key]).unwrap();
                return value.map(|value| (key, value.to_vec())).into_iter().collect();
            }
            Read::Range(start, end) | Read::Backwards(start, end) => (start, end),
        };
        let mut iter = transaction.range([start]..[end]).unwrap();
        let backwards = matches!(self, Read::Backwards(..));
        let mut entries = Vec::new();
        let mut found = if backwards { iter.seek_to_last() } else { iter.seek_to_first() }.unwrap();
        while found {
            entries.push((iter.key()[0], iter.value().unwrap().to_vec()));
            found = if backwards { iter.retreat() } else { iter.advance() }.unwrap();
        }
        entries.sort();
        entries
    }

    fn sees(self, write: Write) -> bool {
        match self {
            Read::Key(key) => write.touches(key),
            // A range delete since then may count as a change of every range.
            Read::Range(start, end) | Read::Backwards(start, end) => {
                matches!(write, Write::DeleteRange(..))
                    || (start..end).any(|key| write.touches(key))
            }
        }
    }
}

/// The entries that a read returned.
type Answer = Vec<(u8, Vec<u8>)>;

/// An open transaction and what the model knows of it.
struct Open {
    transaction: Transaction,
    serial: bool,
    /// What it reads, once it has read; with the number of writes committed before.
    snapshot: Option<(Entries, usize)>,
    writes: Vec<Write>,
    /// Each read with the number of own writes before it, and its answer.
    reads: Vec<(Read, usize, Answer)>,
}

struct Bench {
    db: Db,
    now: Entries,
    /// All committed writes, oldest first.
    history: Vec<Write>,
    open: [Option<Open>; OPEN],
}

fn run_alone(db: &Db, write: Write) {
    match write {
        Write::Put(key, value) => db.put([key], [value]),
        Write::Delete(key) => db.delete([key]),
        Write::Merge(key, operand) => db.merge([key], [operand]),
        Write::DeleteRange(start, end) => db.delete_range([start]..[end]),
    }
    .unwrap();
}

fn run_in(transaction: &Transaction, write: Write) {
    match write {
        Write::Put(key, value) => transaction.put([key], [value]),
        Write::Delete(key) => transaction.delete([key]),
        Write::Merge(key, operand) => transaction.merge([key], [operand]),
        Write::DeleteRange(start, end) => transaction.delete_range([start]..[end]),
    }
    .unwrap();
}

impl Bench {
    fn take(&mut self, step: Step) {
        match step {
            Step::Alone(write) => {
                run_alone(&self.db, write);
                write.apply(&mut self.now);
                self.history.push(write);
            }
            Step::Begin(slot, serial) => self.begin(slot, serial),
            Step::Read(slot, read) => self.read(slot, read),
            Step::Write(slot, write) => {
                if let Some(open) = &mut self.open[slot] {
                    run_in(&open.transaction, write);
                    open.writes.push(write);
                }
            }
            Step::Commit(slot) => self.commit(slot),
            Step::Flush => self.db.flush().unwrap(),
            Step::Compact => self.db.compact(..).unwrap(),
        }
    }

    fn begin(&mut self, slot: usize, serial: bool) {
        let isolation = if serial { Isolation::Serializable } else { Isolation::Snapshot };
        let options = TransactionOptions { isolation, ..Default::default() };
        self.open[slot] = Some(Open {
            transaction: self.db.with(&options).begin().unwrap(),
            serial,
            snapshot: (!serial).then(|| (self.now.clone(), self.history.len())),
            writes: Vec::new(),
            reads: Vec::new(),
        });
    }

    fn read(&mut self, slot: usize, read: Read) {
        let (now, moment) = (&self.now, self.history.len());
        let Some(open) = &mut self.open[slot] else { return };
        let (snapshot, _) = open.snapshot.get_or_insert_with(|| (now.clone(), moment));
        let mut seen = snapshot.clone();
        open.writes.iter().for_each(|write| write.apply(&mut seen));
        let answer = read.run(&open.transaction);
        assert_eq!(answer, read.answer(&seen), "{read:?} over own {:?}", open.writes);
        open.reads.push((read, open.writes.len(), answer));
    }

    fn commit(&mut self, slot: usize) {
        let Some(open) = self.open[slot].take() else { return };
        let Open { transaction, serial, snapshot, writes, reads } = open;
        let (then, moment) = snapshot.unwrap_or_else(|| (self.now.clone(), self.history.len()));
        // A flush may drop the delete of an absent key, so the commit may not see it.
        let is_seen = |key| then.contains_key(&key) || self.now.contains_key(&key);
        let since = &self.history[moment..];
        match transaction.commit() {
            Ok(()) if serial && !writes.is_empty() => {
                // A replay at the commit reads the same.
                for (read, own, answer) in reads {
                    let mut seen = self.now.clone();
                    writes[..own].iter().for_each(|write| write.apply(&mut seen));
                    assert_eq!(answer, read.answer(&seen), "{read:?} at the commit");
                }
            }
            Ok(()) if !serial => {
                let is_lost =
                    |own: &&Write| since.iter().any(|other| own.excludes_at(*other, is_seen));
                let lost = writes.iter().find(is_lost);
                assert!(lost.is_none(), "{lost:?} overwrote one of {since:?}");
            }
            Ok(()) => {}
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
                let has_cause = match serial {
                    true => reads.iter().any(|(read, ..)| since.iter().any(|w| read.sees(*w))),
                    false => writes.iter().any(|own| {
                        let is_range = |write: &Write| matches!(write, Write::DeleteRange(..));
                        since.iter().any(|w| own.excludes(*w) || is_range(w) || is_range(own))
                    }),
                };
                // A table with a newer record may hold an older range delete. The commit then
                // counts the delete as a change of every range.
                let is_range = |write: &Write| matches!(write, Write::DeleteRange(..));
                let reads_ranges = match serial {
                    true => reads.iter().any(|(read, ..)| !matches!(read, Read::Key(_))),
                    false => writes.iter().any(is_range),
                };
                let has_deleted = !since.is_empty() && self.history.iter().any(is_range);
                let has_cause = has_cause || reads_ranges && has_deleted;
                assert!(has_cause, "no cause: {reads:?} {writes:?} since {since:?}");
                return;
            }
        }
        writes.iter().for_each(|write| write.apply(&mut self.now));
        self.history.extend(writes);
    }
}

pub(super) fn play(steps: Vec<Step>) {
    let appending = Options {
        default: KeyspaceOptions::with_operator("stringappend:,"),
        ..options(&MemFs::new())
    };
    let db = Db::open(PATH, appending).unwrap();
    let mut bench =
        Bench { db, now: Entries::new(), history: Vec::new(), open: Default::default() };
    steps.into_iter().for_each(|step| bench.take(step));
    let found: Vec<_> = bench.db.iter().unwrap().map(|entry| entry.unwrap()).collect();
    let found: Entries = found.into_iter().map(|(key, value)| (key[0], value.to_vec())).collect();
    assert_eq!(found, bench.now);
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn committed_reads_are_true_at_the_commit(steps in prop::collection::vec(step(), 1..80)) {
        play(steps);
    }
}

/// Returns whether the model notices a planted fault within this number of histories.
#[cfg(debug_assertions)]
pub(super) fn is_noticed(fault: foldb::faults::Fault, histories: u32) -> bool {
    use foldb::faults::plant;
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

    let config = Config { failure_persistence: None, ..Config::default() };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, random);
    let history = prop::collection::vec(step(), 1..80);
    (0..histories).any(|_| {
        let steps = history.new_tree(&mut runner).unwrap().current();
        plant(Some(fault));
        let outcome = quiet::catch(|| play(steps));
        plant(None);
        outcome.is_err()
    })
}

#[cfg(debug_assertions)]
#[test]
fn planted_faults_of_transactions_are_noticed() {
    use foldb::faults::Fault;

    for fault in [Fault::ForgetKeysRead, Fault::ForgetRangesRead, Fault::MergeTakenForRead] {
        assert!(is_noticed(fault, 400), "no history notices {fault:?}");
    }
}
