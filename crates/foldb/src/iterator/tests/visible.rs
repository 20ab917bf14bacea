//! The iterator that users see, over hand-made histories: folds, failures and values that are
//! taken along.

use std::ops::Bound;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::counters::Totals;
use crate::error::ErrorKind;
use crate::fold::CachedResolver;
use crate::key::SeqNo;
use crate::segment::ValueReader;
use crate::stats::ReadReport;

/// Opens the sources of iterators, and records their effort.
pub(super) struct Account {
    stored: Stored,
    effort: Mutex<Effort>,
    /// How often an iterator opened the sources.
    pub(super) opens: AtomicU64,
    dead: DeadStretches,
    totals: Totals,
}

impl Account {
    pub(super) fn of(stored: Stored) -> Arc<Account> {
        let (effort, opens) = (Mutex::default(), AtomicU64::new(0));
        Arc::new(Account {
            stored,
            effort,
            opens,
            dead: DeadStretches::default(),
            totals: Totals::default(),
        })
    }

    pub(super) fn steps(&self) -> u64 {
        self.effort.lock().unwrap().steps
    }

    pub(super) fn iter(
        self: &Arc<Account>,
        bench: &Workbench,
        seqno: SeqNo,
        bounds: Bounds,
    ) -> Iter {
        let viewpoint = Viewpoint {
            seqno,
            time: None,
            order: Order::of(&bench.comparator),
            origin: Arc::clone(self) as _,
            report: None,
        };
        Iter::from(Bounded::open(viewpoint, bounds))
    }
}

impl Origin for Account {
    fn open(&self, seqno: SeqNo, _: Option<&ReadReport>) -> Opened {
        self.opens.fetch_add(1, Ordering::Relaxed);
        let Stored { comparator, .. } = &self.stored;
        Opened {
            records: MergingCursor::new(self.stored.sources(), comparator),
            covers: Covers::new(self.stored.covers(), [seqno], comparator),
        }
    }

    fn values(&self) -> Option<ValueReader> {
        None
    }

    fn operators(&self) -> CachedResolver {
        self.stored.registry.cached_resolver()
    }

    fn totals(&self) -> &Totals {
        &self.totals
    }

    fn note_effort(&self, effort: Effort) {
        let mut sum = self.effort.lock().unwrap();
        (sum.seeks, sum.steps) = (sum.seeks + effort.seeks, sum.steps + effort.steps);
    }

    fn dead(&self) -> &DeadStretches {
        &self.dead
    }

    fn newest_file(&self) -> u64 {
        u64::MAX
    }

    fn installs(&self) -> u64 {
        0
    }
}

pub(super) fn iter(bench: &Workbench, split: &[Vec<Event>], seqno: SeqNo, bounds: Bounds) -> Iter {
    Account::of(Stored::split(bench, split)).iter(bench, seqno, bounds)
}

pub(super) fn everything() -> Bounds {
    Bounds { lower: Bound::Unbounded, upper: Bound::Unbounded }
}

/// Returns the entry under the cursor, `!` for a failed merge.
pub(super) fn at(iter: &Iter) -> Option<(Vec<u8>, String)> {
    iter.valid().then(|| {
        let value = match iter.value() {
            Ok(value) => value.escape_ascii().to_string(),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::MergeFailed);
                "!".to_owned()
            }
        };
        (iter.key().to_vec(), value)
    })
}

pub(super) fn history(text: &str) -> Vec<Event> {
    crate::testing::history::parse(text)
}

/// A later walk led the run past `k`, and found only the newer of its operands.
#[test]
fn a_key_whose_operands_fold_to_nothing_is_no_deleted_key() {
    let bench = Workbench::new();
    let deletes: Vec<_> = ('a'..='j').zip(23..).map(|(key, n)| format!("{key}.DEL.{n}")).collect();
    let sources = ["x.MERGE.99(+1)", &deletes.join(" "), "k.MERGE.22(#1)", "k.MERGE.1(#-1)"];
    let account = Account::of(Stored::split(&bench, &sources.map(history)));
    for walk in 1..=3 {
        let mut entries = account.iter(&bench, 40, everything());
        assert!(!entries.seek_to_first().unwrap(), "walk {walk} finds {:?}", at(&entries));
    }
}

#[test]
fn a_failed_merge_is_an_entry_of_its_own() {
    let bench = Workbench::new();
    let events = history("a.PUT.1(1) b.MERGE.2(*) c.PUT.3(3)");
    let mut entries = iter(&bench, &[events], 9, everything());
    assert!(entries.seek("b").unwrap());
    assert_eq!(at(&entries), Some((b"b".to_vec(), "!".to_owned())));
    assert!(entries.advance().unwrap());
    assert_eq!(entries.key(), b"c");
    let events = history("a.PUT.1(1) b.MERGE.2(*) c.PUT.3(3)");
    let mut entries = iter(&bench, &[events], 9, everything());
    assert_eq!(entries.next().unwrap().unwrap().0, b"a");
    assert_eq!(entries.next().unwrap().unwrap_err().kind(), ErrorKind::MergeFailed);
    assert_eq!(entries.next().unwrap().unwrap().0, b"c");
    assert!(entries.next().is_none() && entries.next().is_none());
}

#[test]
fn the_rust_iterator_goes_on_from_where_it_stands() {
    let bench = Workbench::new();
    let events = history("a.PUT.1(1) b.PUT.2(2) c.PUT.3(3) d.PUT.4(4)");
    let keys = |entries: Vec<crate::Result<(Vec<u8>, crate::Value)>>| -> String {
        entries.into_iter().map(|entry| entry.unwrap().0[0] as char).collect()
    };
    let fresh = || iter(&bench, std::slice::from_ref(&events), 9, everything());
    assert_eq!(keys(fresh().collect()), "abcd");
    assert_eq!(keys(fresh().rev().collect()), "dcba");

    let mut entries = fresh();
    assert!(entries.seek("bb").unwrap());
    assert_eq!(
        keys(entries.by_ref().take(1).collect()),
        "c",
        "the entry under the cursor comes first"
    );
    assert_eq!(keys(entries.by_ref().rev().collect()), "d", "the forward walk returned c already");
    assert!(entries.next().is_none());
    assert!(!entries.seek("d").unwrap(), "d was yielded from the back");
    assert!(entries.seek("a").unwrap());
    assert_eq!(keys(entries.rev().collect()), "cba", "a seek makes entries come again");
}

/// An error ends the walk from the back. A seek leads back, and keeps the end where it was.
#[test]
fn after_a_failed_read_from_the_back_a_seek_leads_back() {
    use foldb_env::mem::{Fault, Operation};
    let bench = Workbench::new();
    let events: Vec<_> = (0..40).map(|i| Event::put(&format!("{i:03}"), i + 1, "x")).collect();
    for front_too in [false, true] {
        let mut entries = iter(&bench, &[Vec::new(), events.clone()], 99, everything());
        if front_too {
            assert_eq!(entries.next().unwrap().unwrap().0, b"000");
        }
        assert_eq!(entries.next_back().unwrap().unwrap().0, b"039");
        bench.mem.inject(Fault::on(Operation::Read).forever());
        let mut taken = 1;
        let error = loop {
            match entries.next_back().unwrap() {
                Ok(_) => taken += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(taken < 20);
        assert!(entries.next_back().is_none(), "an error comes once");
        bench.mem.clear_faults();
        assert!(!entries.seek(format!("{:03}", 40 - taken)).unwrap(), "taken from the back");
        assert!(entries.seek("010").unwrap());
        let rest: Vec<_> = entries.rev().map(|entry| entry.unwrap().0).collect();
        let expected = (10..40 - taken).rev().map(|n| format!("{n:03}").into_bytes());
        assert!(rest.into_iter().eq(expected));
    }
}

#[test]
fn after_a_failed_read_only_a_seek_leads_back() {
    use foldb_env::mem::{Fault, Operation};
    let bench = Workbench::new();
    let events: Vec<_> = (0..40).map(|i| Event::put(&format!("{i:03}"), i + 1, "x")).collect();
    let mut entries = iter(&bench, &[Vec::new(), events.clone()], 99, everything());
    assert!(entries.seek("010").unwrap());
    bench.mem.inject(Fault::on(Operation::Read).forever());
    let mut steps = 0;
    let error = loop {
        match entries.advance() {
            Ok(there) => assert!(there),
            Err(error) => break error,
        }
        steps += 1;
    };
    assert!(steps < 20);
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(!entries.valid());
    assert!(!entries.advance().unwrap() && !entries.retreat().unwrap());
    assert!(entries.next().is_none(), "an error comes once");
    assert!(entries.seek("030").is_err());
    assert!(!entries.valid());
    bench.mem.clear_faults();
    assert!(entries.seek("030").unwrap());
    assert_eq!(entries.count(), 10);

    // The same when the failure happens at a change of direction.
    let mut entries = iter(&bench, &[Vec::new(), events], 99, everything());
    assert!(entries.seek_for_prev("039").unwrap());
    bench.mem.inject(Fault::on(Operation::Read).forever());
    while entries.retreat().is_ok_and(|there| there) {}
    assert!(!entries.valid());
    assert!(entries.advance().is_ok_and(|there| !there));
    bench.mem.clear_faults();
}

/// An iterator writes each value over the one before, wherever both lie. A value that the caller
/// took along stays what it was.
#[test]
fn values_taken_along_keep_their_bytes_while_the_iterator_goes_on() {
    let bench = Workbench::new();
    let lengths = [0, 17, 3, 16, 100, 15, 4000, 8, 100, 5, 0, 3000, 1, 18, 20];
    let put = |n: usize, seqno: usize| {
        let value = char::from(b'a' + (n % 26) as u8).to_string().repeat(lengths[n % 15]);
        Event::put(&format!("{n:04}"), seqno as SeqNo, &value)
    };
    // Every third key lies in the memtable, half of these over one in the table.
    let old: Vec<Event> = (0..300).filter(|n| n % 6 != 0).map(|n| put(n, n + 1)).collect();
    let new: Vec<Event> = (0..300).step_by(3).map(|n| put(n, n + 1001)).collect();
    for split in [vec![new.clone(), old.clone()], vec![Vec::new(), [old, new].concat()]] {
        let mut entries = iter(&bench, &split, 2000, everything());
        let mut taken = Vec::new();
        while entries.advance().unwrap() {
            taken.push((entries.key().to_vec(), entries.value().unwrap().clone()));
        }
        assert_eq!(taken.len(), 300);
        for (n, (key, value)) in taken.iter().enumerate() {
            assert_eq!(*key, format!("{n:04}").into_bytes());
            assert_eq!(value.len(), lengths[n % 15]);
            assert!(value.iter().all(|&byte| byte == b'a' + (n % 26) as u8), "at {n}");
        }
    }
}

/// An iterator looks up operators when it folds a chain, not when the iterator is made.
#[test]
fn an_operator_registered_after_the_iterator_was_made_folds_in_it() {
    let bench = Workbench::new();
    let list = bench.registry.parse("stringappend:;").unwrap();
    let definition = bench.registry.next_definition(&*list);
    let records = |bench: &Workbench| {
        let (mut a, mut b) = (history("a.MERGE.1(?x)"), history("b.MERGE.2(?y) b.MERGE.3(?z)"));
        for event in a.iter_mut().chain(&mut b) {
            event.header.operator = definition.id;
        }
        a.append(&mut b);
        iter(bench, &[a], 9, everything())
    };
    let mut entries = records(&bench);
    assert!(entries.seek_to_first().unwrap());
    assert_eq!(
        at(&entries),
        Some((b"a".to_vec(), "!".to_owned())),
        "no such operator is registered yet"
    );
    bench.registry.adopt(&definition).unwrap();
    assert!(entries.advance().unwrap());
    assert_eq!(at(&entries), Some((b"b".to_vec(), "?y;?z".to_owned())));
    assert!(entries.retreat().unwrap());
    assert_eq!(at(&entries), Some((b"a".to_vec(), "?x".to_owned())));
}

/// A value taken from an iterator keeps its bytes while the iterator moves on and pins values in
/// place.
#[test]
fn h14_a_value_taken_from_an_iterator_outlives_its_moves() {
    let bench = Workbench::new();
    let long = |byte: char| byte.to_string().repeat(40);
    let text = format!("a.PUT.1({}) b.PUT.2({}) c.PUT.3(3)", long('x'), long('y'));
    let mut entries = iter(&bench, &[history(&text)], 9, everything());
    assert!(entries.seek_to_first().unwrap());
    let first = entries.value().unwrap().clone();
    assert!(entries.advance().unwrap());
    let second = entries.value().unwrap().clone();
    assert!(entries.advance().unwrap());
    assert_eq!(entries.value().unwrap(), b"3");
    drop(entries);
    assert_eq!((&first[..], &second[..]), (long('x').as_bytes(), long('y').as_bytes()));
}
