//! Tests of the cursors, each against a sorted vector.

mod merging;
mod run;
mod visible;

use std::sync::Arc;

use foldb_chains::ArenaPool;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::batch::Operation;
use crate::key::{BytewiseComparator, Comparator, DEFAULT_KEYSPACE, MAX_SEQNO};
use crate::memtable::{Memtable, MemtableWriter};
use crate::table::CursorOptions;
use crate::testing::history::Event;
use crate::testing::tree::Workbench;
use crate::version::{KeyRange, TreeEdit, Upper, Version};

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

fn order(descending: bool) -> Arc<dyn Comparator> {
    if descending { Arc::new(Descending) } else { Arc::new(BytewiseComparator) }
}

/// Keys of which many begin with the same eight bytes, or differ in zeroes at their end only.
fn key() -> impl Strategy<Value = Vec<u8>> {
    let keys: Vec<&[u8]> = vec![
        b"",
        b"\0",
        b"a",
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
    for event in events {
        let operation = Operation {
            kind: event.header.kind,
            keyspace: DEFAULT_KEYSPACE,
            operator: event.header.operator,
            key: &event.key,
            value: &event.value,
        };
        writer.apply(&operation, event.header.seqno);
    }
    writer.memtable
}

/// A run of tables of at most `table_len` keys.
fn run(bench: &Workbench, events: &[Event], table_len: usize) -> Version {
    let events = in_order(&*bench.comparator, events.to_vec());
    let mut edits = vec![TreeEdit::NewRun { level: 0, run: 1, before: None }];
    let keys: Vec<&[Event]> = events.chunk_by(|a, b| a.key == b.key).collect();
    for keys in keys.chunks(table_len) {
        let file = bench.build(&keys.concat());
        let (lo, hi) = (file.smallest.clone(), Upper::Included(file.largest.clone()));
        edits.push(TreeEdit::Insert { run: 1, file, lo, hi });
    }
    bench.apply(&Version::empty(1), &edits)
}

fn run_cursor(bench: &Workbench, version: &Version) -> Option<RunCursor> {
    let run = version.run(1)?;
    let options = CursorOptions { fill_cache: true, readahead: 0 };
    Some(RunCursor::new(run, &KeyRange::all(), &bench.tables, &bench.comparator, options))
}

/// Sources of records, every other one a memtable.
fn sources(bench: &Workbench, split: &[Vec<Event>]) -> Vec<Source> {
    let mut sources = Vec::new();
    for (index, events) in split.iter().enumerate() {
        if index % 2 == 0 {
            let memtable = memtable(&bench.comparator, events);
            sources.push(Source::Memtable(memtable.cursor(MAX_SEQNO)));
        } else {
            let version = run(bench, events, 2);
            sources.extend(run_cursor(bench, &version).map(Source::Run));
        }
    }
    sources
}
