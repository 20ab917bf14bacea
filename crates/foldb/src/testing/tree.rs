//! Trees of in-memory tables, drawn as text.
//!
//! ```text
//! L0 r7: [a.MERGE.9(+1) c.PUT.8(x)]
//! L1 r4: [a.PUT.3(1) g.PUT.5(y)]@b..g [g.PUT.2(z)]@g..=g
//! L1 r3: [a.PUT.1(0)]
//! ```
//!
//! Runs come newest first; a bracket is a table. `@lo..hi` are the bounds of a trimmed reference;
//! `..=` includes the last key. Records outside the bounds are in the file but not in the drawing.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use foldb_env::{FileSystem, MemFs};

use crate::files::FileNames;
use crate::files::FilePool;
use crate::fold::{Chain, Definition, Registry};
use crate::key::{BytewiseComparator, Comparator, DEFAULT_KEYSPACE, Kind, RecordHeader, SeqNo};
use crate::range_tombstone::{Edge, RangeTombstone};
use crate::rewriting::folding::RecordSink;
use crate::rewriting::memory::WorkMemory;
use crate::rewriting::older_tables::OlderTables;
use crate::rewriting::output::TableOutput;
use crate::rewriting::range_deletes::PassedOn;
use crate::segment::SegmentFiles;
use crate::settings::Compression;
use crate::table::{BlockCache, CursorOptions, TableBuilderOptions, TableCursor};
use crate::testing::history::{self, Event};
use crate::testing::toys;
use crate::version::{FileFacts, Key, KeyRange, OpenTables, TableRef, TreeEdit, Upper, Version};

/// All that tables need.
pub(crate) struct Workbench {
    pub(crate) mem: MemFs,
    pub(crate) fs: Arc<dyn FileSystem>,
    pub(crate) names: FileNames,
    pub(crate) tables: Arc<OpenTables>,
    pub(crate) pool: Arc<FilePool>,
    pub(crate) comparator: Arc<dyn Comparator>,
    pub(crate) segment_files: Arc<SegmentFiles>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) memory: WorkMemory,
    next_file: Cell<u64>,
}

const LEVELS: usize = 4;
const DATABASE: u64 = 0xdb;

impl Workbench {
    pub(crate) fn new() -> Workbench {
        Workbench::ordered_by(Arc::new(BytewiseComparator))
    }

    pub(crate) fn ordered_by(comparator: Arc<dyn Comparator>) -> Workbench {
        let mem = MemFs::new();
        let fs: Arc<dyn FileSystem> = Arc::new(mem.clone());
        let directory = Path::new("db");
        fs.create_dir_all(directory).unwrap();
        let names = FileNames::new(directory);
        let cache = Arc::new(BlockCache::new(1 << 20));
        let pool = cache.store().file_pool(3);
        let open = (Arc::clone(&fs), names.clone(), Arc::clone(&comparator));
        Workbench {
            mem,
            pool: Arc::clone(&pool),
            tables: Arc::new(OpenTables::new(
                open.0,
                open.1,
                open.2,
                cache,
                Arc::clone(&pool),
                DATABASE,
            )),
            fs,
            names,
            comparator,
            segment_files: Arc::default(),
            registry: toys::registry(),
            memory: WorkMemory::new(Arc::default(), 1 << 20),
            next_file: Cell::new(1),
        }
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.next_file.replace(self.next_file.get() + 1)
    }

    /// Returns options whose sub-blocks hold one record each, so that few records are many blocks.
    pub(crate) fn table_options(&self) -> TableBuilderOptions {
        let resolver = self.registry.resolver();
        let unregistered = Definition {
            id: toys::UNREGISTERED,
            name: "unregistered".to_owned(),
            version: 0,
            parameters: Vec::new(),
        };
        TableBuilderOptions {
            path: "".into(),
            file_number: 0,
            database_id: DATABASE,
            keyspace: DEFAULT_KEYSPACE,
            comparator: Arc::clone(&self.comparator),
            block_size: 1,
            compression: Compression::None,
            filter_bits: 10,
            filter_policy: None,
            operators: resolver.definitions().cloned().chain([unregistered]).collect(),
            expiry: None,
        }
    }

    /// Writes a table of these records.
    pub(crate) fn build(&self, events: &[Event]) -> FileFacts {
        let next_number = || self.next_number();
        let options = self.table_options();
        let mut output =
            TableOutput::new(&self.fs, &self.names, &next_number, options, &self.memory);
        let mut tombstones: Vec<_> = events.iter().filter_map(Event::tombstone).collect();
        tombstones.sort_by(|a, b| a.start.compare(&*self.comparator, &b.start));
        let nothing = Version::empty(LEVELS);
        let range = KeyRange::all();
        output.set_tombstones(
            PassedOn { tombstones, kept_apart: 0 },
            &OlderTables::below(&nothing, &[], &range, &self.comparator),
        );
        for event in events.iter().filter(|event| !event.is_range()) {
            output.add(&event.key, event.header, &event.value).unwrap();
        }
        output.finish().unwrap().pop().unwrap()
    }

    /// Builds the tree that `text` draws.
    pub(crate) fn draw(&self, text: &str) -> Version {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut edits = Vec::new();
        // A new run is its level's newest, so the oldest comes first.
        for line in lines.collect::<Vec<_>>().into_iter().rev() {
            let (place, tables) = line.split_once(": ").expect("a line is like L0 r7: [...]");
            let (level, run) = place.split_once(' ').expect("a place is like L0 r7");
            let level = level.strip_prefix('L').unwrap().parse().unwrap();
            let run = run.strip_prefix('r').unwrap().parse().unwrap();
            edits.push(TreeEdit::NewRun { level, run, before: None });
            for table in tables.split('[').skip(1) {
                let (records, bounds) = table.split_once(']').unwrap();
                let file = self.build(&history::sorted(history::parse(records)));
                let (lo, hi) = match bounds.trim().strip_prefix('@') {
                    Some(bounds) => parse_bounds(bounds),
                    None => (file.smallest.clone(), file.end.clone()),
                };
                edits.push(TreeEdit::Insert { run, file, lo, hi });
            }
        }
        self.apply(&Version::empty(LEVELS), &edits)
    }

    pub(crate) fn apply(&self, version: &Version, edits: &[TreeEdit]) -> Version {
        version.apply(edits, &*self.comparator, &self.segment_files).unwrap()
    }

    /// Returns the range tombstones that a table reference shows, in the order of their starts.
    pub(crate) fn visible_tombstones(&self, table: &TableRef) -> Vec<RangeTombstone> {
        let reader = self.tables.get_owned(&table.file).unwrap();
        let (lo, hi) = (Edge::Before(table.lo.clone()), table.hi.edge());
        let comparator = &*self.comparator;
        let all = reader.range_tombstones().map_or_else(Vec::new, |set| set.to_vec());
        let mut all: Vec<_> =
            all.iter().filter_map(|tombstone| tombstone.clipped(comparator, &lo, &hi)).collect();
        all.sort_by(|a, b| a.start.compare(comparator, &b.start).then(b.seqno.cmp(&a.seqno)));
        all
    }

    /// Returns the records and range tombstones that a table reference shows.
    pub(crate) fn visible(&self, table: &TableRef) -> Vec<Event> {
        let reader = self.tables.get_owned(&table.file).unwrap();
        let mut cursor = TableCursor::new(reader, CursorOptions::default());
        let mut events = Vec::new();
        cursor.seek(&table.lo).unwrap();
        while cursor.valid() && table.hi.admits(&*self.comparator, cursor.key()) {
            events.push(Event::new(cursor.key(), cursor.header(), cursor.value()));
            cursor.next().unwrap();
        }
        events.extend(self.visible_tombstones(table).iter().map(Event::of_tombstone));
        events
    }

    /// Returns every record of the tree, in no order.
    pub(crate) fn contents(&self, version: &Version) -> Vec<Event> {
        version.tables().flat_map(|table| self.visible(table)).collect()
    }

    /// Draws the tree.
    pub(crate) fn show(&self, version: &Version) -> String {
        let lines = version.runs().map(|(level, run)| {
            let tables = run.tables.iter().map(|table| {
                let records = history::print(&self.visible(table));
                format!("[{records}]{}", show_bounds(table))
            });
            format!("L{level} r{}: {}\n", run.id, tables.collect::<Vec<_>>().join(" "))
        });
        lines.collect()
    }

    /// Returns what a reader at `seqno` finds: the value, `-` for nothing, `!` for a failed merge.
    pub(crate) fn read(&self, version: &Version, key: &[u8], seqno: SeqNo) -> String {
        let mut chain = Chain::default();
        for (_, run) in version.runs() {
            let Some(table) = run.table_of(&*self.comparator, key) else { continue };
            let mut open = true;
            let table = self.tables.get_owned(&table.file).unwrap();
            chain.cover(table.cover(key, seqno));
            table
                .get(key, seqno, CursorOptions::default(), |header, value| {
                    open = chain.push(header, value.to_value());
                    if open { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })
                .unwrap();
            if !open {
                break;
            }
        }
        seen(&mut chain, key, &self.registry)
    }
}

/// Returns what a reader finds that sees these records of one key up to `seqno`. It is the model of
/// [`Workbench::read`] and knows no tree.
pub(crate) fn read_events(events: &[Event], key: &[u8], seqno: SeqNo) -> String {
    read_events_in(&BytewiseComparator, events, key, seqno)
}

/// Returns [`read_events`] in another order of keys, which says what one key is and what a range
/// delete deletes.
pub(crate) fn read_events_in(
    comparator: &dyn Comparator,
    events: &[Event],
    key: &[u8],
    seqno: SeqNo,
) -> String {
    // A range delete is by definition a delete of every key in it.
    let of_key = |event: &Event| match event.tombstone() {
        None => comparator.compare(&event.key, key).is_eq().then(|| event.clone()),
        Some(tombstone) => tombstone
            .contains(comparator, key)
            .then(|| Event::new(key, RecordHeader { kind: Kind::Delete, ..event.header }, b"")),
    };
    let visible = events.iter().filter(|event| event.header.seqno <= seqno);
    let mut visible: Vec<Event> = visible.filter_map(of_key).collect();
    visible.sort_by_key(|event| event.header.seqno);
    let mut chain = Chain::default();
    visible.iter().for_each(|event| chain.push_newer(event.header, event.value()));
    seen(&mut chain, key, &toys::registry())
}

fn seen(chain: &mut Chain, key: &[u8], registry: &Registry) -> String {
    match chain.value(key, &registry.resolver(), &mut Vec::new()) {
        Ok(Some(value)) => value.escape_ascii().to_string(),
        Ok(None) => "-".to_owned(),
        Err(_) => "!".to_owned(),
    }
}

fn key(text: &str) -> Key {
    Key::from(text.as_bytes())
}

/// Reads bounds like `a..m` or `a..=k`.
pub(crate) fn parse_bounds(text: &str) -> (Key, Upper) {
    let (lo, hi) = text.split_once("..").expect("bounds are like a..m or a..=k");
    let hi = match hi.strip_prefix('=') {
        Some(last) => Upper::Included(key(last)),
        None => Upper::Excluded(key(hi)),
    };
    (key(lo), hi)
}

fn show_bounds(table: &TableRef) -> String {
    if table.is_whole() {
        return String::new();
    }
    let hi = match &table.hi {
        Upper::Included(hi) => format!("={}", hi.escape_ascii()),
        Upper::Excluded(hi) => hi.escape_ascii().to_string(),
    };
    format!("@{}..{hi}", table.lo.escape_ascii())
}
