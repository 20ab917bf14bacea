//! Operators that break their laws, and orders that change between opens. The damage stays in their
//! keyspace, no call panics or hangs, and a put mends a key.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::time::Duration;

use foldb::custom::Comparator;
use foldb::env::{MemFs, SystemThreads};
use foldb::internals::Knobs;
use foldb::operators::laws::Check;
use foldb::operators::{Full, Growth, MergeOperator, Partial};
use foldb::{Db, Error, ErrorKind, Keyspace, KeyspaceOptions, Options};

use crate::support::quiet::catch;
use crate::support::{PATH, assert_error, number, options};

/// Number of keys of each keyspace.
const KEYS: u64 = 300;
/// Number of merges into each keyspace.
const MERGES: u64 = 6000;

/// The law that an operator breaks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Breach {
    /// Differences of differences: the grouping matters.
    NotAssociative,
    /// The fold of two operands depends on which is greater; the fold of three does not.
    OrderedByChance,
    /// Each call gives another answer.
    Dice,
    /// Each answer is of another kind, and some name operands that do not exist.
    AnyOutcome,
    /// Says that it shrinks, and writes more than its input.
    Swells,
    /// Folds words otherwise than operands.
    OtherWords,
    /// Refuses every third operand when asked, and again when folding.
    ForgetsWhatItTook,
}

impl Breach {
    const ALL: [Breach; 7] = [
        Breach::NotAssociative,
        Breach::OrderedByChance,
        Breach::Dice,
        Breach::AnyOutcome,
        Breach::Swells,
        Breach::OtherWords,
        Breach::ForgetsWhatItTook,
    ];
}

#[derive(Debug)]
struct Breaker {
    breach: Breach,
    calls: AtomicU64,
}

impl Breaker {
    fn new(breach: Breach) -> Arc<Breaker> {
        Arc::new(Breaker { breach, calls: AtomicU64::new(0) })
    }

    /// Returns a number that no other call gets.
    fn roll(&self) -> u64 {
        scattered(self.calls.fetch_add(1, Relaxed))
    }
}

fn scattered(n: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 16
}

/// Returns the first eight bytes as a number.
fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

impl MergeOperator for Breaker {
    fn name(&self) -> &str {
        "test.breaker"
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let base = base.map_or(0, word);
        let sum = || operands.iter().fold(base, |sum, it| sum.wrapping_add(word(it)));
        let value = match self.breach {
            Breach::NotAssociative => {
                operands.iter().fold(base, |value, it| value.wrapping_sub(word(it)))
            }
            Breach::Dice => self.roll(),
            Breach::AnyOutcome => match self.roll() % 7 {
                0 => return Full::Operand(0),
                1 => return Full::Operand(operands.len()),
                2 => return Full::Operand(usize::MAX),
                3 => return Full::Existing,
                4 => return Full::Delete,
                5 => return Full::Fail,
                _ => self.roll(),
            },
            Breach::ForgetsWhatItTook if self.roll().is_multiple_of(3) => return Full::Fail,
            _ => sum(),
        };
        out.extend_from_slice(&value.to_le_bytes());
        Full::Value
    }

    fn partial(&self, _: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        let words = operands.iter().map(|operand| word(operand));
        let value = match self.breach {
            Breach::NotAssociative => words.reduce(u64::wrapping_sub).unwrap_or_default(),
            Breach::OrderedByChance if operands.len() == 2 => words.max().unwrap_or_default(),
            Breach::Dice => self.roll(),
            Breach::AnyOutcome => match self.roll() % 5 {
                0 => return Partial::Keep,
                1 => return Partial::Delete,
                2 => return Partial::Value,
                3 => return Partial::Operand,
                _ => self.roll(),
            },
            Breach::ForgetsWhatItTook if self.roll().is_multiple_of(3) => return Partial::Keep,
            _ => words.fold(0, u64::wrapping_add),
        };
        out.extend_from_slice(&value.to_le_bytes());
        if self.breach == Breach::Swells {
            out.resize(operands.iter().map(|operand| operand.len() + 100).sum(), b's');
        }
        Partial::Operand
    }

    fn fold_word(&self, accumulator: [u8; 8], operand: [u8; 8]) -> Option<[u8; 8]> {
        match self.breach {
            Breach::OtherWords => Some((word(&accumulator) ^ word(&operand)).to_le_bytes()),
            Breach::Dice => (self.roll().is_multiple_of(2)).then(|| self.roll().to_le_bytes()),
            _ => None,
        }
    }

    fn growth(&self) -> Growth {
        Growth::Shrinks
    }

    fn check_operand(&self, _: &[u8]) -> Result<(), String> {
        match self.breach {
            Breach::ForgetsWhatItTook if self.roll().is_multiple_of(3) => {
                Err("another mood".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// The law kit finds each of them before a database does.
#[test]
fn the_law_kit_names_the_law_that_is_broken() {
    for breach in Breach::ALL {
        let check = Check::new((1..9).map(number)).bases((1..4).map(number));
        let found = check.run(&*Breaker::new(breach)).map_err(|violation| violation.law);
        let expected: &[&str] = match breach {
            Breach::NotAssociative | Breach::OrderedByChance => &["partial", "grouping"],
            Breach::Dice | Breach::AnyOutcome | Breach::ForgetsWhatItTook => {
                &["stepwise", "batches", "partial", "grouping", "accepted"]
            }
            Breach::OtherWords => &["word"],
            // Its answers keep the laws; the length of operands is no law.
            Breach::Swells => &[],
        };
        let is_right = found.map_or_else(|law| expected.contains(&law), |()| expected.is_empty());
        assert!(is_right, "{breach:?}: {found:?}");
    }
}

fn key(n: u64) -> String {
    format!("{:05}", n.wrapping_mul(7919) % KEYS)
}

/// Returns whether a read of the bad operator's key failed. It may fail in one way only.
fn failed<T>(outcome: Result<T, Error>) -> bool {
    let kind = outcome.map(|_| ()).map_err(|error| error.kind());
    assert!(matches!(kind, Ok(()) | Err(ErrorKind::MergeFailed)), "{kind:?}");
    kind.is_err()
}

/// Reads everything in every way. Returns the number of failed reads.
fn read_all(bad: &Keyspace) -> u64 {
    let mut fails = 0;
    for n in (0..KEYS).step_by(7) {
        fails += u64::from(failed(bad.get(key(n))));
        bad.get_operands(key(n)).unwrap();
        bad.explain(key(n)).unwrap();
    }
    bad.multi_get((0..KEYS).map(key)).unwrap().into_iter().for_each(|read| _ = failed(read));
    let mut iter = bad.iter().unwrap();
    let mut last: Option<Vec<u8>> = None;
    while iter.advance().unwrap() {
        fails += u64::from(failed(iter.value().cloned()));
        assert!(last.is_none_or(|last| last[..] < *iter.key()), "keys ascend");
        last = Some(iter.key().to_vec());
    }
    let mut last: Option<Vec<u8>> = None;
    while iter.retreat().unwrap() {
        assert!(last.is_none_or(|last| last[..] > *iter.key()), "keys descend");
        last = Some(iter.key().to_vec());
    }
    fails
}

fn assert_counts(db: &Db, merges: u64) {
    for n in 0..KEYS {
        assert_eq!(db.get(key(n)).unwrap().unwrap(), number(merges / KEYS), "{}", key(n));
    }
    assert_eq!(db.iter().unwrap().count() as u64, KEYS);
}

/// Merges, reads, stops and repairs beside a keyspace of an operator that breaks its laws.
fn live_beside(breach: Breach, threads: bool) {
    let fs = MemFs::new();
    let own = || {
        let mut own = Options {
            write_buffer_size: 32 << 10,
            target_file_size: 16 << 10,
            level0_compaction_trigger: 2,
            default: KeyspaceOptions { value_separation_min: Some(150), ..options(&fs).default },
            knobs: Knobs { segment_size: 8 << 10, ..Knobs::default() },
            ..options(&fs)
        };
        own.operators.push(Breaker::new(breach));
        if threads {
            own.env.threads = Arc::new(SystemThreads);
        }
        own
    };
    let mut db = Db::open(PATH, own()).unwrap();
    let operator = Some("test.breaker".to_owned());
    let operator = KeyspaceOptions { merge_operator: operator, ..Default::default() };
    let mut bad = db.create_keyspace("bad", operator).unwrap();
    let (mut held, mut refused, mut fails) = (Vec::new(), 0, 0);
    for n in 0..MERGES {
        db.merge(key(n), number(1)).unwrap();
        match n % 11 {
            3 => bad.put(key(n), number(n)).unwrap(),
            7 => bad.delete(key(n)).unwrap(),
            _ => match bad.merge(key(n), number(n)) {
                Ok(()) => {}
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
                    refused += 1;
                }
            },
        }
        if n % 500 == 499 {
            held.push(db.snapshot());
            held.truncate(3);
            db.flush().unwrap();
            fails += read_all(&bad);
        }
        if n % 1500 == 1499 {
            bad.compact(..).unwrap();
            db.collect_garbage().unwrap();
            for snapshot in held.drain(..) {
                assert!(
                    snapshot.iter().unwrap().all(|entry| entry.is_ok()),
                    "the other keyspace reads without errors"
                );
            }
            drop((bad, db));
            db = Db::open(PATH, own()).unwrap();
            bad = db.keyspace("bad").unwrap();
        }
    }
    held.clear();
    assert_eq!(refused > 0, breach == Breach::ForgetsWhatItTook, "{breach:?}");
    let may_fail = matches!(breach, Breach::AnyOutcome | Breach::ForgetsWhatItTook);
    assert_eq!(fails > 0, may_fail, "{breach:?}");
    let before = db.stats().failed_merges;
    fails = read_all(&bad);
    assert!(fails == 0 || db.stats().failed_merges > before, "failed folds are counted");
    assert_counts(&db, MERGES);
    db.wait_for_background().unwrap();
    db.verify().unwrap();
    db.checkpoint("copy").unwrap();
    let copy = Db::open("copy", own()).unwrap();
    read_all(&copy.keyspace("bad").unwrap());
    assert_counts(&copy, MERGES);
    drop(copy);
    // A put ends the operator's influence on a key for good.
    (0..KEYS).for_each(|n| bad.put(key(n), number(n % KEYS)).unwrap());
    for _ in 0..2 {
        assert_eq!(bad.iter().unwrap().count() as u64, KEYS);
        (0..KEYS).for_each(|n| assert_eq!(bad.get(key(n)).unwrap().unwrap(), number(n)));
        bad.compact(..).unwrap();
    }
    assert!(
        (0..100).any(|_| bad.merge(key(1), number(5)).is_ok()),
        "the operator accepts some operand"
    );
    drop((bad, db));
    let report = Db::repair(PATH, own()).unwrap();
    assert!(report.lost_nothing(), "{report:?}");
    let db = Db::open(PATH, own()).unwrap();
    assert_counts(&db, MERGES);
    read_all(&db.keyspace("bad").unwrap());
    db.drop_keyspace("bad").unwrap();
    db.verify().unwrap();
}

#[test]
fn an_operator_that_breaks_its_laws_harms_its_own_keys_only() {
    for breach in Breach::ALL {
        for threads in [false, true] {
            let (say, ended) = channel();
            std::thread::spawn(move || say.send(catch(|| live_beside(breach, threads))));
            let outcome = ended.recv_timeout(Duration::from_secs(120)).expect("it ends");
            outcome.unwrap_or_else(|why| panic!("{breach:?} {threads}: {why}"));
        }
    }
}

/// Options with the same order as last time, or another one.
fn turning(fs: &MemFs, turned: Turned) -> Options {
    Options {
        comparators: vec![Arc::new(Turning(turned))],
        write_buffer_size: 16 << 10,
        target_file_size: 4 << 10,
        level0_compaction_trigger: 2,
        ..options(fs)
    }
}

/// Which part of the order is turned round.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Turned {
    Nothing,
    /// The last of many keys.
    Few,
    All,
}

/// Ascends or descends; its name does not tell.
#[derive(Debug)]
struct Turning(Turned);

impl Comparator for Turning {
    fn name(&self) -> &str {
        "test.turning"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        let descends = match self.0 {
            Turned::Nothing => false,
            Turned::Few => a >= &b"01950"[..] && b >= &b"01950"[..],
            Turned::All => true,
        };
        if descends { b.cmp(a) } else { a.cmp(b) }
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

/// Each open rebuilds the tree from its edits. In another order than last time, it once lost
/// tables. The open made that durable, and the next one found tables missing.
#[test]
fn an_order_that_turns_between_opens_is_refused_and_nothing_is_changed() {
    let fs = MemFs::new();
    let keys = 2000;
    let db = Db::open(PATH, turning(&fs, Turned::Nothing)).unwrap();
    let comparator: Arc<dyn Comparator> = Arc::new(Turning(Turned::Nothing));
    let order = KeyspaceOptions { comparator: Some(comparator), ..Default::default() };
    let other = db.create_keyspace("other", order).unwrap();
    for round in 0..3 {
        for n in 0..keys {
            other.merge(format!("{n:05}"), number(1)).unwrap();
            db.merge(format!("{n:05}"), number(1)).unwrap();
            while n % 400 == 0 && db.step_background().unwrap() {}
        }
        if round == 1 {
            other.compact(..).unwrap();
        }
    }
    drop((other, db));

    let files = || {
        let names = options(&fs).env.fs.list(PATH.as_ref()).unwrap();
        let read = |name: String| {
            let bytes = options(&fs).env.fs.read(&Path::new(PATH).join(&name)).unwrap();
            (name, bytes)
        };
        names.into_iter().map(read).collect::<Vec<_>>()
    };
    let before = files();
    for turned in [Turned::Few, Turned::All] {
        let own = || turning(&fs, turned);
        let outcomes = [
            Db::open(PATH, own()).map(drop),
            Db::open_read_only(PATH, own()).map(drop),
            Db::repair(PATH, own()).map(drop),
        ];
        for outcome in outcomes {
            let error = assert_error(outcome, ErrorKind::ComparatorFailed, None).to_string();
            for part in ["keyspace 'other'", "'test.turning'", "the comparator that wrote it"] {
                assert!(error.contains(part), "{turned:?}: {error}");
            }
        }
        assert!(before == files(), "{turned:?} changed the database");
    }

    let db = Db::open(PATH, turning(&fs, Turned::Nothing)).unwrap();
    for keyspace in [db.default_keyspace(), &db.keyspace("other").unwrap()] {
        assert_eq!(keyspace.iter().unwrap().count(), keys);
        keyspace.iter().unwrap().for_each(|entry| assert_eq!(entry.unwrap().1, number(3)));
    }
    db.verify().unwrap();
}
