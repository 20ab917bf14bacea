//! Compares the iterator that users see with a sorted vector of the visible entries.

use std::ops::Bound;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::counters::Totals;
use crate::error::ErrorKind;
use crate::key::SeqNo;
use crate::stats::ReadReport;
use crate::testing::tree::read_events_in;

/// Opens the sources of iterators, and records their effort.
struct Account {
    stored: Stored,
    effort: Mutex<Effort>,
    /// How often an iterator opened the sources.
    opens: AtomicU64,
    dead: DeadStretches,
}

impl Account {
    fn of(stored: Stored) -> Arc<Account> {
        let (effort, opens) = (Mutex::default(), AtomicU64::new(0));
        Arc::new(Account { stored, effort, opens, dead: DeadStretches::default() })
    }

    fn steps(&self) -> u64 {
        self.effort.lock().unwrap().steps
    }

    fn iter(self: &Arc<Account>, bench: &Workbench, seqno: SeqNo, bounds: Bounds) -> Iter {
        let viewpoint = Viewpoint {
            seqno,
            time: None,
            comparator: Arc::clone(&bench.comparator),
            resolver: bench.registry.cached_resolver(),
            origin: Arc::clone(self) as _,
            totals: Arc::new(Totals::default()),
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
            records: MergingCursor::new(self.stored.sources(), Arc::clone(comparator)),
            covers: Covers::new(self.stored.covers(), [seqno], comparator),
            values: None,
        }
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

fn iter(bench: &Workbench, split: &[Vec<Event>], seqno: SeqNo, bounds: Bounds) -> Iter {
    Account::of(Stored::split(bench, split)).iter(bench, seqno, bounds)
}

fn everything() -> Bounds {
    Bounds { lower: Bound::Unbounded, upper: Bound::Unbounded }
}

/// Returns the entry under the cursor, `!` for a failed merge.
fn at(iter: &Iter) -> Option<(Vec<u8>, String)> {
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

fn history(text: &str) -> Vec<Event> {
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

/// Only a walk from both ends needs two cursors.
#[test]
fn a_second_cursor_is_opened_when_both_ends_are_in_use() {
    let bench = Workbench::new();
    let events = history("a.PUT.1(1) b.PUT.2(2) c.PUT.3(3) d.PUT.4(4)");
    let account = Account::of(Stored::split(&bench, &[events]));
    let fresh = || {
        account.opens.store(0, Ordering::Relaxed);
        account.iter(&bench, 9, everything())
    };
    let opens = || account.opens.load(Ordering::Relaxed);
    assert_eq!((fresh().count(), opens()), (4, 1));
    assert_eq!((fresh().rev().count(), opens()), (4, 1));
    assert!(fresh().next_back().is_some());
    assert_eq!(opens(), 1);
    for front_first in [true, false] {
        let mut entries = fresh();
        let taken = if front_first {
            [entries.next(), entries.next_back(), entries.next(), entries.next_back()]
        } else {
            let [d, a] = [entries.next_back(), entries.next()];
            let [c, b] = [entries.next_back(), entries.next()];
            [a, d, b, c]
        };
        assert_eq!(taken.map(|entry| entry.unwrap().unwrap().0), [b"a", b"d", b"b", b"c"]);
        assert!(entries.next().is_none() && entries.next_back().is_none());
        assert_eq!(opens(), 2);
    }
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

/// A key that was overwritten a thousand times, or whose versions snapshots keep in a table, lies
/// between two others. Walks over it once stepped on each version.
#[test]
fn a_key_of_many_versions_is_passed_in_a_few_steps() {
    let bench = Workbench::new();
    let hot = (2..=1000).map(|seqno| Event::put("h", seqno, "x"));
    let hot: Vec<Event> = hot.chain([Event::put("i", 1001, "1")]).collect();
    let other = vec![Event::put("a", 1, "1")];
    for split in [[hot.clone(), other.clone()], [other, hot]] {
        let account = Account::of(Stored::split(&bench, &split));
        let mut entries = account.iter(&bench, 1001, everything());
        assert!(entries.seek("b").unwrap());
        assert_eq!(entries.key(), b"h");
        assert!(entries.advance().unwrap() && entries.seek_to_last().unwrap());
        assert!(entries.retreat().unwrap());
        assert_eq!(entries.key(), b"h");
        assert!(entries.retreat().unwrap() && entries.advance().unwrap());
        assert_eq!(entries.key(), b"h");
        assert!(entries.seek_for_prev("h").unwrap());
        drop(entries);
        let steps = account.steps();
        assert!(steps < 150, "{steps} steps");
    }
}

/// However many versions there are, both directions find the newest that a reader sees.
#[test]
fn walks_over_many_versions_find_the_same_both_ways() {
    let bench = Workbench::new();
    let mut split = vec![Vec::new(), Vec::new(), Vec::new()];
    for seqno in 1..=200u64 {
        let event = match seqno % 50 {
            0 => Event::put("h", seqno, "1"),
            25 => Event::delete("h", seqno),
            _ => Event::merge("h", seqno, "+1"),
        };
        split[(seqno / 67).min(2) as usize].push(event);
    }
    split.reverse();
    split[2].extend([Event::put("a", 201, "1"), Event::put("z", 202, "1")]);
    let events = split.concat();
    for seqno in (1..=202).step_by(7) {
        let expected = read_events_in(&*bench.comparator, &events, b"h", seqno);
        let found = |entries: &Iter| {
            let (key, value) = at(entries)?;
            (key == b"h").then_some(value)
        };
        let mut entries = iter(&bench, &split, seqno, everything());
        entries.seek("h").unwrap();
        let forward = found(&entries);
        entries.seek_for_prev("hh").unwrap();
        assert_eq!(found(&entries), forward);
        assert_eq!(forward.unwrap_or("-".to_owned()), expected, "at {seqno}");
    }
}

/// Thousands of keys in a table, all but the ends deleted by one range delete. A walk once stepped
/// on each of them, and so did each later walk.
#[test]
fn a_range_that_was_deleted_is_jumped_over() {
    let bench = Workbench::new();
    let key = |n: u64| format!("{n:06}");
    let keys = 5000;
    let mut puts: Vec<Event> = (0..keys).map(|n| Event::put(&key(n), n + 1, "x")).collect();
    let delete = Event::delete_range(&key(1), &key(keys - 1), keys + 1);
    for in_memtable in [false, true] {
        let stored = if in_memtable {
            puts.push(delete.clone());
            Stored::of(&bench, [Part::Memtable(memtable(&bench.comparator, &puts))])
        } else {
            let newer = memtable(&bench.comparator, std::slice::from_ref(&delete));
            let version = run(&bench, &puts, 1000);
            let run = Arc::clone(version.run(1).unwrap());
            Stored::of(&bench, [Part::Memtable(newer), Part::Run(run)])
        };
        let account = Account::of(stored);
        let mut entries = account.iter(&bench, keys + 1, everything());
        let first = Some((key(0).into_bytes(), "x".to_owned()));
        let last = Some((key(keys - 1).into_bytes(), "x".to_owned()));
        assert!(entries.seek_to_first().unwrap());
        assert_eq!(at(&entries), first);
        assert!(entries.advance().unwrap());
        assert_eq!(at(&entries), last);
        assert!(entries.retreat().unwrap());
        assert_eq!(at(&entries), first);
        assert!(!entries.retreat().unwrap());
        drop(entries);
        let jumps = account.steps();
        assert!((2..60).contains(&jumps), "{jumps} jumps");
    }
}

/// A queue: keys put at one end and deleted at the other. A table holds keys in between. The
/// walk shows every live key, and deletes hide the table's keys.
#[test]
fn runs_of_deleted_keys_hide_what_lies_in_tables() {
    let bench = Workbench::new();
    let key = |n: u64| format!("{n:06}");
    let keys = 600u64;
    let old: Vec<Event> = (0..keys).step_by(50).map(|n| Event::put(&key(n), n + 1, "o")).collect();
    let mut new: Vec<Event> = (0..keys).map(|n| Event::delete(&key(n), keys + n + 1)).collect();
    new.push(Event::put(&key(keys / 2 + 7), 3 * keys, "n"));
    let memtable = memtable(&bench.comparator, &new);
    let version = run(&bench, &old, 1000);
    let run = Arc::clone(version.run(1).unwrap());
    let account = Account::of(Stored::of(&bench, [Part::Memtable(memtable), Part::Run(run)]));
    let entries = |seqno: SeqNo| account.iter(&bench, seqno, everything());
    let events = [old, new].concat();
    for seqno in [3 * keys, 2 * keys, 3 * keys, 3 * keys - 1, keys + keys / 2, keys, 3 * keys] {
        let there = |n: &u64| {
            let key = key(*n).into_bytes();
            read_events_in(&*bench.comparator, &events, &key, seqno) != "-"
        };
        let expected: Vec<Vec<u8>> = (0..keys).filter(there).map(|n| key(n).into_bytes()).collect();
        let forward: Vec<_> = entries(seqno).map(|entry| entry.unwrap().0).collect();
        assert_eq!(forward, expected, "forwards at {seqno}");
        let mut backward: Vec<_> = entries(seqno).rev().map(|entry| entry.unwrap().0).collect();
        backward.reverse();
        assert_eq!(backward, expected, "backwards at {seqno}");
    }
}

/// A walk notes that `a` to `k` are deleted. A newer file has the deletes. An older one has `k` and
/// a record that is newer than the walk. A walk that skips the first may not read the second.
#[test]
fn deletes_hide_what_lies_in_an_older_run_after_they_were_noted() {
    let bench = Workbench::new();
    let keys = || b'a'..=b'k';
    let name = |key: u8| char::from(key).to_string();
    let deletes = keys().map(|key| Event::delete(&name(key), u64::from(key)));
    let puts = keys().map(|key| Event::put(&name(key), u64::from(key - b'a' + 1), "1"));
    let puts = puts.chain([Event::put("z", 300, "1")]);
    let split = [Vec::new(), deletes.collect(), Vec::new(), puts.collect()];
    let account = Account::of(Stored::split(&bench, &split));
    let entries = |seqno| account.iter(&bench, seqno, everything());
    let front = |seqno| entries(seqno).map(|entry| entry.unwrap().0).collect::<Vec<_>>();
    let back = |seqno| entries(seqno).rev().map(|entry| entry.unwrap().0).collect::<Vec<_>>();
    for _ in 0..3 {
        assert!(front(200).is_empty() && back(200).is_empty());
        assert_eq!((front(300), back(300)), (vec![b"z".to_vec()], vec![b"z".to_vec()]));
    }
}

#[derive(Clone, Debug)]
enum Move {
    First,
    Last,
    Seek(Vec<u8>),
    SeekForPrev(Vec<u8>),
    Advance,
    Retreat,
    Next,
    NextBack,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        1 => Just(Move::First),
        1 => Just(Move::Last),
        2 => key().prop_map(Move::Seek),
        2 => key().prop_map(Move::SeekForPrev),
        4 => Just(Move::Advance),
        4 => Just(Move::Retreat),
        4 => Just(Move::Next),
        4 => Just(Move::NextBack),
    ];
    proptest::collection::vec(one, 1..40)
}

fn bound() -> impl Strategy<Value = Bound<Vec<u8>>> {
    prop_oneof![
        2 => Just(Bound::Unbounded),
        1 => key().prop_map(Bound::Included),
        1 => key().prop_map(Bound::Excluded),
    ]
}

fn split() -> impl Strategy<Value = Vec<Vec<Event>>> {
    let operands = vec!["+1", "-2", ",x", "=v", "!", "#1", "#-1", "*"];
    let event = prop_oneof![
        3 => select(operands).prop_map(|operand| Event::merge("", 0, operand)),
        4 => Just(Event::put("", 0, "1")),
        2 => Just(Event::delete("", 0)),
        1 => key().prop_map(|end| Event { value: end, ..Event::delete_range("", "", 0) }),
    ];
    let events = proptest::collection::vec((key(), event, any::<prop::sample::Index>()), 0..40);
    (1..5usize, events).prop_map(|(count, events)| {
        let mut split = vec![Vec::new(); count];
        for (seqno, (key, mut event, source)) in (1..).zip(events) {
            (event.key, event.header.seqno) = (key, seqno);
            split[source.index(count)].push(event);
        }
        split
    })
}

/// Moves records to older sources, so that of one key no source has an older record than a source
/// below it, as in a tree.
fn as_in_a_tree(comparator: &dyn Comparator, split: Vec<Vec<Event>>) -> Vec<Vec<Event>> {
    let mut placed = vec![Vec::new(); split.len()];
    let drawn = split.into_iter().enumerate();
    let mut events: Vec<(Event, usize)> =
        drawn.flat_map(|(source, events)| events.into_iter().map(move |e| (e, source))).collect();
    events.sort_by_key(|(event, _)| event.header.seqno);
    let mut sources: Vec<(Vec<u8>, usize)> = Vec::new();
    for (event, drawn) in events {
        let same = |key: &[u8]| comparator.compare(key, &event.key).is_eq();
        let source = match sources.iter_mut().find(|(key, _)| same(key)) {
            _ if event.is_range() => drawn,
            None => {
                sources.push((event.key.clone(), drawn));
                drawn
            }
            Some((_, last)) => {
                *last = drawn.min(*last);
                *last
            }
        };
        placed[source].push(event);
    }
    placed
}

/// Returns a key in the spelling of its newest record that a reader at `seqno` sees.
fn newest_spelling(
    comparator: &dyn Comparator,
    events: &[Event],
    key: &[u8],
    seqno: SeqNo,
) -> Vec<u8> {
    let of_key = events.iter().filter(|event| !event.is_range() && event.header.seqno <= seqno);
    let of_key = of_key.filter(|event| comparator.compare(&event.key, key).is_eq());
    of_key.max_by_key(|event| event.header.seqno).expect("a visible key").key.clone()
}

/// Position of the model.
#[derive(Clone, Copy)]
enum Place {
    Fresh,
    At(usize),
    Nowhere,
}

/// An entry as text, `!` for a failed merge.
type Entry = (Vec<u8>, String);

/// Returns an entry that an iterator yielded. A failed merge has no key.
fn shown(entry: crate::Result<(Vec<u8>, crate::Value)>) -> Entry {
    match entry {
        Ok((key, value)) => (key, value.escape_ascii().to_string()),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::MergeFailed);
            (Vec::new(), "!".to_owned())
        }
    }
}

/// An iterator over a slice.
struct Model<'a> {
    /// The entries before the end.
    entries: &'a [Entry],
    place: Place,
    /// Whether `next` yielded the entry at the place.
    yielded: bool,
}

impl Model<'_> {
    /// Returns the first entry that the iterator has still to yield.
    fn rest(&self) -> usize {
        match self.place {
            Place::Fresh => 0,
            Place::At(index) => index + usize::from(self.yielded),
            Place::Nowhere => self.entries.len(),
        }
    }

    fn at(&self) -> Option<Entry> {
        match self.place {
            Place::At(index) => Some(self.entries[index].clone()),
            _ => None,
        }
    }

    fn next(&mut self) -> Option<Entry> {
        let index = self.rest();
        let entry = self.entries.get(index);
        self.place = entry.map_or(Place::Nowhere, |_| Place::At(index));
        self.yielded = true;
        entry.map(without_key_of_a_failure)
    }

    fn next_back(&mut self) -> Option<Entry> {
        let rest = self.rest();
        let (last, before) = self.entries.split_last().filter(|_| rest < self.entries.len())?;
        self.entries = before;
        if let Place::At(index) = self.place
            && index == before.len()
        {
            self.place = Place::Nowhere;
        }
        Some(without_key_of_a_failure(last))
    }
}

fn without_key_of_a_failure((key, value): &Entry) -> Entry {
    let key = if value == "!" { Vec::new() } else { key.clone() };
    (key, value.clone())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn iterators_against_a_vector(
        split in split(),
        seqno in 0..45u64,
        lower in bound(),
        upper in bound(),
        moves in moves(),
        comparator in orders(),
    ) {
        let compare = |a: &[u8], b: &[u8]| comparator.compare(a, b);
        let bench = Workbench::ordered_by(Arc::clone(&comparator));
        let split: Vec<Vec<Event>> = split
            .into_iter()
            .map(|events| events.into_iter().map(|e| e.in_order(&*comparator)).collect())
            .collect();
        let split = as_in_a_tree(&*comparator, split);
        let events = split.concat();
        let mut keys: Vec<_> = events.iter().map(|event| event.key.clone()).collect();
        keys.sort_by(|a, b| compare(a, b));
        keys.dedup_by(|a, b| compare(a, b).is_eq());
        let inside = |key: &[u8]| {
            let above = match &lower {
                Bound::Unbounded => true,
                Bound::Included(lower) => compare(key, lower).is_ge(),
                Bound::Excluded(lower) => compare(key, lower).is_gt(),
            };
            above && match &upper {
                Bound::Unbounded => true,
                Bound::Included(upper) => compare(key, upper).is_le(),
                Bound::Excluded(upper) => compare(key, upper).is_lt(),
            }
        };
        let entries: Vec<_> = keys
            .into_iter()
            .filter(|key| inside(key))
            .map(|key| (read_events_in(&*comparator, &events, &key, seqno), key))
            .filter(|(value, _)| value != "-")
            .map(|(value, key)| (newest_spelling(&*comparator, &events, &key, seqno), value))
            .collect();

        let bounds = Bounds { lower: lower.clone(), upper: upper.clone() };
        let mut iter = iter(&bench, &split, seqno, bounds);
        let mut model = Model { entries: &entries[..], place: Place::Fresh, yielded: false };
        for step in moves {
            if let Move::Next | Move::NextBack = step {
                let (found, expected) = match step {
                    Move::Next => (iter.next(), model.next()),
                    _ => (iter.next_back(), model.next_back()),
                };
                prop_assert_eq!(found.map(shown), expected, "{:?}", step);
                prop_assert_eq!(at(&iter), model.at(), "{:?}", step);
                continue;
            }
            let (entries, place) = (model.entries, model.place);
            let first_at_or_above =
                |key: &[u8]| entries.partition_point(|entry| compare(&entry.0, key).is_lt());
            let to = match (&step, place) {
                (Move::First, _) | (Move::Advance, Place::Fresh) => Some(0),
                (Move::Last, _) | (Move::Retreat, Place::Fresh) => entries.len().checked_sub(1),
                (Move::Seek(key), _) => Some(first_at_or_above(key)),
                (Move::SeekForPrev(key), _) => entries
                    .partition_point(|entry| compare(&entry.0, key).is_le())
                    .checked_sub(1),
                (Move::Advance, Place::At(index)) => Some(index + 1),
                (Move::Retreat, Place::At(index)) => index.checked_sub(1),
                (Move::Advance | Move::Retreat, Place::Nowhere) => None,
                (Move::Next | Move::NextBack, _) => unreachable!("done above"),
            };
            let there = match &step {
                Move::First => iter.seek_to_first(),
                Move::Last => iter.seek_to_last(),
                Move::Seek(key) => iter.seek(key),
                Move::SeekForPrev(key) => iter.seek_for_prev(key),
                Move::Advance => iter.advance(),
                Move::Retreat => iter.retreat(),
                Move::Next | Move::NextBack => unreachable!("done above"),
            };
            let expected = to.and_then(|index| entries.get(index));
            model.yielded = false;
            model.place = match (expected, to) {
                (Some(_), Some(index)) => Place::At(index),
                _ => Place::Nowhere,
            };
            prop_assert_eq!(there.unwrap(), expected.is_some(), "{:?}", step);
            prop_assert_eq!(at(&iter), expected.cloned(), "{:?}", step);
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
