//! Transactions against a model: what a committed transaction read is true at its commit, and a
//! conflict has a cause.

use foldb::env::MemFs;
use foldb::{Db, ErrorKind, Isolation, KeyspaceOptions, Options, Transaction, TransactionOptions};
use foldb_model::{Change, Model, Moment, Operation, Operator, View};
use proptest::prelude::*;

#[cfg(debug_assertions)]
use crate::support::quiet;
use crate::support::{PATH, options};

#[derive(Clone, Copy, Debug)]
pub(super) enum Read {
    Key(u8),
    /// All keys from the first to before the second.
    Range(u8, u8),
    /// The same, backwards.
    Backwards(u8, u8),
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Alone(Change),
    Begin(usize, bool),
    Read(usize, Read),
    Write(usize, Change),
    Commit(usize),
    Flush,
    Compact,
}

const OPEN: usize = 3;

/// Writes over keys of one letter, up to this one.
pub(super) fn write(last: u8) -> impl Strategy<Value = Change> {
    let key = move || b'a'..=last;
    prop_oneof![
        4 => (key(), b'0'..=b'9').prop_map(|(key, value)| Change::Put(vec![key], vec![value])),
        2 => key().prop_map(|key| Change::Delete(vec![key])),
        4 => (key(), b'0'..=b'9').prop_map(|(key, operand)| {
            Change::Merge(Operator::Append(b','), vec![key], vec![operand])
        }),
        1 => (key(), key()).prop_map(|(a, b)| Change::delete_range(vec![a.min(b)]..vec![a.max(b)])),
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
        6 => write(b'f').prop_map(Step::Alone),
        4 => (slot(), any::<bool>()).prop_map(|(slot, serial)| Step::Begin(slot, serial)),
        8 => (slot(), read()).prop_map(|(slot, read)| Step::Read(slot, read)),
        6 => (slot(), write(b'f')).prop_map(|(slot, write)| Step::Write(slot, write)),
        5 => slot().prop_map(Step::Commit),
        1 => Just(Step::Flush),
        1 => Just(Step::Compact),
    ]
}

/// Returns whether two writes must not both commit under snapshot isolation, because of one of
/// these keys.
fn excludes(own: &Change, other: &Change, counts: impl Fn(&[u8]) -> bool) -> bool {
    (b'a'..=b'f').any(|key| own.excludes(other, &[key]) && counts(&[key]))
}

fn is_range(write: &Change) -> bool {
    matches!(write, Change::DeleteRange(_))
}

impl Read {
    /// Returns the first key that is read, and the one behind the last.
    fn bounds(self) -> (u8, u8) {
        match self {
            Read::Key(key) => (key, key + 1),
            Read::Range(start, end) | Read::Backwards(start, end) => (start, end),
        }
    }

    fn answer(self, view: View<'_>) -> Answer {
        let (start, end) = self.bounds();
        let entries = view.range(vec![start]..vec![end]);
        entries.map(|(key, cell)| (key[0], cell.value().clone())).collect()
    }

    fn run(self, transaction: &Transaction) -> Answer {
        if let Read::Key(key) = self {
            let value = transaction.get([key]).unwrap();
            return value.map(|value| (key, value.to_vec())).into_iter().collect();
        }
        let (start, end) = self.bounds();
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

    fn sees(self, write: &Change) -> bool {
        let (start, end) = self.bounds();
        // A range delete since then may count as a change of every range.
        let is_doubtful = is_range(write) && !matches!(self, Read::Key(_));
        is_doubtful || (start..end).any(|key| write.touches(&[key]))
    }
}

/// The entries that a read returned.
type Answer = Vec<(u8, Vec<u8>)>;

/// An open transaction and what the model knows of it.
struct Open {
    transaction: Transaction,
    serial: bool,
    /// The number of writes committed before what it reads, once it has read.
    snapshot: Option<usize>,
    writes: Vec<Change>,
    /// Each read with the number of own writes before it, and its answer.
    reads: Vec<(Read, usize, Answer)>,
}

struct Bench {
    db: Db,
    committed: Committed,
    open: [Option<Open>; OPEN],
}

/// Committed writes, oldest first. Each has its place, from 1 on, as number in the model.
pub(super) struct Committed {
    model: Model,
    pub writes: Vec<Change>,
}

impl Committed {
    pub(super) fn nothing() -> Committed {
        let mut model = Model::default();
        model.create(0, None);
        Committed { model, writes: Vec::new() }
    }

    pub(super) fn add(&mut self, change: Change) {
        self.writes.push(change.clone());
        let at = Committed::moment(self.writes.len());
        self.model.apply(&Operation { keyspace: 0, change }, at);
    }

    fn moment(writes: usize) -> Moment {
        Moment { number: writes as u64, second: 0 }
    }

    /// Returns what there is after this many writes.
    pub(super) fn after(&self, writes: usize) -> View<'_> {
        self.model.of(0, Committed::moment(writes))
    }

    pub(super) fn now(&self) -> View<'_> {
        self.after(self.writes.len())
    }

    /// Returns this many of the writes, and then those of a transaction.
    fn with(&self, writes: usize, own: &[Change]) -> Committed {
        let model = self.model.fork(Committed::moment(writes));
        let mut all = Committed { model, writes: self.writes[..writes].to_vec() };
        own.iter().for_each(|change| all.add(change.clone()));
        all
    }
}

fn run_alone(db: &Db, write: &Change) {
    match write {
        Change::Put(key, value) => db.put(key, value),
        Change::Delete(key) => db.delete(key),
        Change::Merge(_, key, operand) => db.merge(key, operand),
        Change::DeleteRange(range) => db.delete_range(range.clone()),
    }
    .unwrap();
}

pub(super) fn run_in(transaction: &Transaction, write: &Change) {
    match write {
        Change::Put(key, value) => transaction.put(key, value),
        Change::Delete(key) => transaction.delete(key),
        Change::Merge(_, key, operand) => transaction.merge(key, operand),
        Change::DeleteRange(range) => transaction.delete_range(range.clone()),
    }
    .unwrap();
}

impl Bench {
    fn take(&mut self, step: Step) {
        match step {
            Step::Alone(write) => {
                run_alone(&self.db, &write);
                self.committed.add(write);
            }
            Step::Begin(slot, serial) => self.begin(slot, serial),
            Step::Read(slot, read) => self.read(slot, read),
            Step::Write(slot, write) => {
                if let Some(open) = &mut self.open[slot] {
                    run_in(&open.transaction, &write);
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
            snapshot: (!serial).then_some(self.committed.writes.len()),
            writes: Vec::new(),
            reads: Vec::new(),
        });
    }

    fn read(&mut self, slot: usize, read: Read) {
        let now = self.committed.writes.len();
        let Some(open) = &mut self.open[slot] else { return };
        let seen = self.committed.with(*open.snapshot.get_or_insert(now), &open.writes);
        let answer = read.run(&open.transaction);
        assert_eq!(answer, read.answer(seen.now()), "{read:?} over own {:?}", open.writes);
        open.reads.push((read, open.writes.len(), answer));
    }

    fn commit(&mut self, slot: usize) {
        let Some(open) = self.open[slot].take() else { return };
        let Open { transaction, serial, snapshot, writes, reads } = open;
        let committed = &self.committed;
        let now = committed.writes.len();
        let then = snapshot.unwrap_or(now);
        // A flush may drop the delete of an absent key, so the commit may not see it.
        let is_seen =
            |key: &[u8]| [then, now].iter().any(|at| committed.after(*at).get(key).is_some());
        let since = &committed.writes[then..];
        match transaction.commit() {
            Ok(()) if serial && !writes.is_empty() => {
                // A replay at the commit reads the same.
                for (read, own, answer) in reads {
                    let seen = committed.with(now, &writes[..own]);
                    assert_eq!(answer, read.answer(seen.now()), "{read:?} at the commit");
                }
            }
            Ok(()) if !serial => {
                let is_lost =
                    |own: &&Change| since.iter().any(|other| excludes(own, other, is_seen));
                let lost = writes.iter().find(is_lost);
                assert!(lost.is_none(), "{lost:?} overwrote one of {since:?}");
            }
            Ok(()) => {}
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
                let has_cause = match serial {
                    true => {
                        reads.iter().any(|(read, ..)| since.iter().any(|other| read.sees(other)))
                    }
                    false => writes.iter().any(|own| {
                        let counts = |other| excludes(own, other, |_| true) || is_range(other);
                        since.iter().any(|other| counts(other) || is_range(own))
                    }),
                };
                // A table with a newer record may hold an older range delete. The commit then
                // counts the delete as a change of every range.
                let reads_ranges = match serial {
                    true => reads.iter().any(|(read, ..)| !matches!(read, Read::Key(_))),
                    false => writes.iter().any(is_range),
                };
                let has_deleted = !since.is_empty() && committed.writes.iter().any(is_range);
                let has_cause = has_cause || reads_ranges && has_deleted;
                assert!(has_cause, "no cause: {reads:?} {writes:?} since {since:?}");
                return;
            }
        }
        writes.into_iter().for_each(|write| self.committed.add(write));
    }
}

pub(super) fn play(steps: Vec<Step>) {
    let appending = Options {
        default: KeyspaceOptions::with_operator("stringappend:,"),
        ..options(&MemFs::new())
    };
    let db = Db::open(PATH, appending).unwrap();
    let mut bench = Bench { db, committed: Committed::nothing(), open: Default::default() };
    steps.into_iter().for_each(|step| bench.take(step));
    let found: Vec<_> = bench.db.iter().unwrap().map(|entry| entry.unwrap()).collect();
    let found: Answer = found.into_iter().map(|(key, value)| (key[0], value.to_vec())).collect();
    assert_eq!(found, Read::Range(b'a', b'g').answer(bench.committed.now()));
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
