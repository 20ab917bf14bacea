//! Tests of the cursors. Each test compares a cursor with a sorted vector.

mod merging;
mod model;
mod run;
mod visible;
mod walks;

use std::ops::Bound;
use std::sync::Arc;

use foldb_chains::ArenaPool;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::fold::{Registry, Resolver};
use crate::key::{BytewiseComparator, Comparator, DEFAULT_KEYSPACE, MAX_SEQNO, Order};
use crate::memtable::{Folding, Memtable, MemtableWriter};
use crate::operation::{Operation, encode_range};
use crate::range_tombstone::{Edge, RangeTombstone};
use crate::table::CursorOptions;
use crate::testing::history::{self, Event};
use crate::testing::orders::CaseBlind;
use crate::testing::tree::Workbench;
use crate::version::{Key, KeyRange, OpenTables, Run, TreeEdit, Upper, Version};

/// Descending order of the bytes.
#[derive(Debug)]
struct Descending;

impl Comparator for Descending {
    fn name(&self) -> &'static str {
        "test.descending"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> std::cmp::Ordering {
        b.cmp(a)
    }

    fn bytewise_order(&self) -> bool {
        false
    }

    fn bytewise_equality(&self) -> bool {
        true
    }
}

/// The order of the bytes, the reverse order, and one in which different bytes are one key.
fn orders() -> impl Strategy<Value = Arc<dyn Comparator>> {
    let orders: Vec<Arc<dyn Comparator>> =
        vec![Arc::new(BytewiseComparator), Arc::new(Descending), Arc::new(CaseBlind)];
    select(orders)
}

fn bytewise() -> Arc<dyn Comparator> {
    Arc::new(BytewiseComparator)
}

/// Keys many of which begin with the same eight bytes, or differ only in zeroes at their end, or in
/// case.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let keys: Vec<&[u8]> = vec![
        b"",
        b"\0",
        b"a",
        b"A",
        b"A\0",
        b"aaaaAAAA",
        b"AAAAAAAAb",
        b"B",
        b"bA",
        b"a\0",
        b"a\0\0",
        b"aaaaaaaa",
        b"aaaaaaaa\0",
        b"aaaaaaaab",
        b"aaaaaaaabc",
        b"aaaaaaab",
        b"b",
        b"ba",
        b"\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\xff",
    ];
    select(keys).prop_map(<[u8]>::to_vec)
}

/// Records in the order of `comparator`, newest first within a key.
fn in_order(comparator: &dyn Comparator, mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by(|a, b| {
        comparator.compare(&a.key, &b.key).then(b.header.seqno.cmp(&a.header.seqno))
    });
    events
}

/// A memtable of these records.
fn memtable(comparator: &Arc<dyn Comparator>, events: &[Event]) -> Arc<Memtable> {
    let pool = ArenaPool::new(1 << 20);
    let mut writer = MemtableWriter::create(&pool, 1 << 20, comparator);
    let mut events: Vec<_> = events.iter().collect();
    events.sort_by_key(|event| event.header.seqno);
    let operators = Resolver::builtin_only();
    for event in events {
        let mut range = Vec::new();
        if let Some(tombstone) = event.tombstone() {
            let (start, end) = bounds_of(&tombstone);
            let bounds = (start.as_ref().map(|key| &**key), end.as_ref().map(|key| &**key));
            encode_range(bounds, &mut range);
        }
        let operation = Operation {
            kind: event.header.kind,
            keyspace: DEFAULT_KEYSPACE,
            operator: event.header.operator,
            key: &event.key,
            value: if event.is_range() { &range } else { &event.value },
            stamped: false,
        };
        let folding = Folding { floor: MAX_SEQNO, operators: &operators };
        writer.apply(&operation, event.header.seqno, folding);
    }
    writer.memtable
}

/// A tombstone's ends as a range's.
fn bounds_of(tombstone: &RangeTombstone) -> (Bound<Key>, Bound<Key>) {
    let bound = |edge: &Edge, included: bool| match edge.key() {
        None => Bound::Unbounded,
        Some(key) if included => Bound::Included(Arc::clone(key)),
        Some(key) => Bound::Excluded(Arc::clone(key)),
    };
    let starts_with = matches!(tombstone.start, Edge::Before(_));
    let ends_with = matches!(tombstone.end, Edge::Behind(_));
    (bound(&tombstone.start, starts_with), bound(&tombstone.end, ends_with))
}

/// A run of tables of at most `table_len` keys.
fn run(bench: &Workbench, events: &[Event], table_len: usize) -> Version {
    let events = in_order(&*bench.comparator, events.to_vec());
    let mut edits = vec![TreeEdit::NewRun { level: 0, run: 1, before: None }];
    for table in history::tables(&*bench.comparator, events, table_len) {
        let file = bench.build(&table);
        let (lo, hi) = (file.smallest.clone(), file.end.clone());
        edits.push(TreeEdit::Insert { run: 1, file, lo, hi });
    }
    bench.apply(&Version::empty(1), &edits)
}

fn run_cursor(bench: &Workbench, version: &Version) -> Option<RunCursor> {
    let run = version.run(1)?;
    let options = CursorOptions::default();
    Some(RunCursor::new(run, &KeyRange::all(), &bench.tables, &bench.comparator, options))
}

/// Sources of records, every other one a memtable.
fn sources(bench: &Workbench, split: &[Vec<Event>]) -> Sources {
    Stored::split(bench, split).sources()
}

/// Memtables and runs, newest first.
struct Stored {
    parts: Vec<Part>,
    tables: Arc<OpenTables>,
    comparator: Arc<dyn Comparator>,
    registry: Arc<Registry>,
}

enum Part {
    Memtable(Arc<Memtable>),
    Run(Arc<Run>),
}

impl Stored {
    fn of(bench: &Workbench, parts: impl IntoIterator<Item = Part>) -> Stored {
        let (tables, comparator) = (Arc::clone(&bench.tables), Arc::clone(&bench.comparator));
        let registry = Arc::clone(&bench.registry);
        Stored { parts: parts.into_iter().collect(), tables, comparator, registry }
    }

    /// Stores each part of the events, every other one in a memtable.
    fn split(bench: &Workbench, split: &[Vec<Event>]) -> Stored {
        let parts = split.iter().enumerate().filter_map(|(index, events)| {
            if index % 2 == 0 {
                return Some(Part::Memtable(memtable(&bench.comparator, events)));
            }
            run(bench, events, 2).run(1).cloned().map(Part::Run)
        });
        Stored::of(bench, parts)
    }

    fn sources(&self) -> Sources {
        let source = |part: &Part| match part {
            Part::Memtable(memtable) => Source::Memtable(Box::new(memtable.cursor(MAX_SEQNO))),
            Part::Run(run) => {
                let options = CursorOptions::default();
                let (tables, comparator) = (&self.tables, &self.comparator);
                Source::Run(RunCursor::new(run, &KeyRange::all(), tables, comparator, options))
            }
        };
        self.parts.iter().map(source).collect()
    }

    fn covers(&self) -> Vec<CoverSource> {
        let cover = |part: &Part| match part {
            Part::Memtable(memtable) => memtable.range_tombstones().map(CoverSource::Memtable),
            Part::Run(run) => {
                CoverSource::of_run(run, &KeyRange::all(), &self.tables, &*self.comparator)
            }
        };
        self.parts.iter().filter_map(cover).collect()
    }
}
