//! A tree of integers: tables hold keys and sequence numbers, each record has a unit size, and a
//! job is one step. It is small enough to load a few million keys under the real policy.

use std::ops::Range;
use std::sync::Arc;

use crate::compaction::policy::shape::Key;
use crate::compaction::policy::{
    CutRange, DeadShare, JobKind, OutputRun, Pick, RunShape, TableShape, TreeShape,
};
use crate::key::KeyList;

/// One record. `seqno` is even for a put and odd for a tombstone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub key: u32,
    pub seqno: u32,
}

impl Record {
    pub(super) fn put(key: u32, write: u32) -> Record {
        Record { key, seqno: write * 2 }
    }

    pub(super) fn delete(key: u32, write: u32) -> Record {
        Record { key, seqno: write * 2 + 1 }
    }

    fn is_delete(self) -> bool {
        self.seqno % 2 == 1
    }
}

/// A reference to a part of a file.
#[derive(Clone, Debug)]
struct Table {
    file: Arc<File>,
    part: Range<usize>,
    lo: u32,
    /// The end, excluded.
    hi: u32,
}

#[derive(Debug)]
struct File {
    records: Vec<Record>,
    samples: KeyList,
}

#[derive(Clone, Debug)]
pub(super) struct Run {
    id: u64,
    tables: Vec<Table>,
}

/// What one job did, in records.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    pub written: u64,
}

#[derive(Clone, Debug)]
pub(super) struct SimTree {
    pub levels: Vec<Vec<Run>>,
    /// Bytes of a record.
    unit: u64,
    /// Records of a table.
    table_records: usize,
    next_id: u64,
    pub dead_share: DeadShare,
}

/// Returns a key of the model as the policy sees it.
pub(super) fn key(number: u32) -> Key {
    Key::from(&number.to_be_bytes()[..])
}

fn number(key: &Key) -> u32 {
    u32::from_be_bytes(key[..].try_into().expect("keys of the model have 4 bytes"))
}

fn bounds(range: &CutRange) -> Range<u32> {
    let end = |key: &Option<Key>, open| key.as_ref().map_or(open, number);
    end(&range.lo, 0)..end(&range.hi, u32::MAX)
}

impl Table {
    fn records(&self) -> &[Record] {
        &self.file.records[self.part.clone()]
    }

    /// Returns the reference cut to `[lo, hi)`.
    fn cut(&self, to: Range<u32>) -> Option<Table> {
        let (lo, hi) = (self.lo.max(to.start), self.hi.min(to.end));
        if lo >= hi {
            return None;
        }
        let before = |key: u32| self.file.records.partition_point(|record| record.key < key);
        let part = before(lo).max(self.part.start)..before(hi).min(self.part.end);
        let part = part.start.min(part.end)..part.end;
        Some(Table { file: self.file.clone(), part, lo, hi })
    }

    fn shape(&self, unit: u64) -> TableShape {
        let records = self.records();
        let whole = records.last().is_some_and(|last| last.key + 1 == self.hi);
        TableShape {
            lo: key(self.lo),
            hi: key(if whole { self.hi - 1 } else { self.hi }),
            hi_included: whole,
            bytes: records.len() as u64 * unit,
            samples: self.file.samples.clone(),
            deletes: records.iter().filter(|record| record.is_delete()).count() as u64,
            entries: records.len() as u64,
            released: false,
        }
    }
}

impl SimTree {
    pub(super) fn new(levels: usize, unit: u64, table_bytes: u64) -> SimTree {
        SimTree {
            levels: vec![Vec::new(); levels],
            unit,
            table_records: (table_bytes / unit).max(1) as usize,
            next_id: 1,
            dead_share: DeadShare::new(1.0, 32 * table_bytes),
        }
    }

    pub(super) fn shape(&self) -> TreeShape {
        let run = |run: &Run| RunShape {
            id: run.id,
            busy: false,
            tables: run.tables.iter().map(|table| table.shape(self.unit)).collect(),
        };
        let levels = self.levels.iter().map(|runs| runs.iter().map(run).collect()).collect();
        TreeShape { levels, dead_share: self.dead_share.get(), damage: Vec::new() }
    }

    /// Records in the tree.
    pub(super) fn len(&self) -> u64 {
        let tables = self.levels.iter().flatten().flat_map(|run| &run.tables);
        tables.map(|table| table.part.len() as u64).sum()
    }

    /// Adds a run of these records, in any order, as the newest of its level.
    pub(super) fn add(&mut self, level: usize, records: Vec<Record>) -> u64 {
        let records = newest_of_each(records);
        let written = records.len() as u64;
        let tables = self.tables(records);
        let id = self.fresh_id();
        self.levels[level].insert(0, Run { id, tables });
        written
    }

    fn fresh_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Cuts records into files of even size.
    fn tables(&self, records: Vec<Record>) -> Vec<Table> {
        let count = records.len().div_ceil(self.table_records).max(1);
        let each = records.len().div_ceil(count).max(1);
        let table = |records: &[Record]| {
            let step = records.len().div_ceil(32);
            Table {
                part: 0..records.len(),
                lo: records[0].key,
                hi: records[records.len() - 1].key + 1,
                file: Arc::new(File {
                    samples: records.iter().skip(step).step_by(step).map(|r| key(r.key)).collect(),
                    records: records.to_vec(),
                }),
            }
        };
        records.chunks(each).map(table).collect()
    }

    /// Does a job in one step.
    pub(super) fn apply(&mut self, pick: &Pick) -> Work {
        let range = bounds(&pick.range);
        let place = self.place_of(pick);
        let above = self.take_inputs(pick, &range);
        let work = match pick.kind {
            JobKind::Move => {
                self.put(pick, place, above);
                Work::default()
            }
            JobKind::Merge => self.merge(pick, place, above, &range),
        };
        for runs in &mut self.levels {
            runs.retain(|run| !run.tables.is_empty());
        }
        work
    }

    /// Returns the index, in the output level, of the run that the output joins or stands before.
    fn place_of(&self, pick: &Pick) -> usize {
        let index_of = |id| self.levels[pick.output_level].iter().position(|run| run.id == id);
        match pick.output {
            OutputRun::New => 0,
            OutputRun::Existing(id) => index_of(id).expect("a pick names existing runs"),
            OutputRun::InPlace => {
                index_of(pick.inputs[0].runs[0]).expect("a pick names existing runs")
            }
        }
    }

    /// Takes what the inputs hold in the range. The rest stays, as trimmed references.
    fn take_inputs(&mut self, pick: &Pick, range: &Range<u32>) -> Vec<Table> {
        let mut taken = Vec::new();
        for input in &pick.inputs {
            for id in &input.runs {
                let run = self.levels[input.level].iter_mut().find(|run| run.id == *id);
                taken.extend(take_range(
                    &mut run.expect("a pick names existing runs").tables,
                    range,
                ));
            }
        }
        taken
    }

    fn merge(&mut self, pick: &Pick, place: usize, above: Vec<Table>, range: &Range<u32>) -> Work {
        let records = |tables: &[Table]| tables.iter().map(|t| t.part.len() as u64).sum::<u64>();
        let base = match pick.output {
            OutputRun::Existing(_) => {
                take_range(&mut self.levels[pick.output_level][place].tables, range)
            }
            _ => Vec::new(),
        };
        let read: Vec<Record> =
            above.iter().chain(&base).flat_map(|table| table.records()).copied().collect();
        let mut merged = newest_of_each(read);
        if self.is_bottommost(pick, place, range) {
            merged.retain(|record| !record.is_delete());
        }
        let written = merged.len() as u64;
        if !base.is_empty() {
            let unit = self.unit;
            self.dead_share.observe(records(&above) * unit, records(&base) * unit, written * unit);
        }
        let output = self.tables(merged);
        self.put(pick, place, output);
        Work { written }
    }

    /// Returns whether nothing in the range is older than the output.
    fn is_bottommost(&self, pick: &Pick, place: usize, range: &Range<u32>) -> bool {
        let same_level = match pick.output {
            OutputRun::New => &self.levels[pick.output_level][..],
            OutputRun::Existing(_) | OutputRun::InPlace => {
                &self.levels[pick.output_level][place + 1..]
            }
        };
        let deeper = self.levels[pick.output_level + 1..].iter().flatten();
        let mut older = same_level.iter().chain(deeper).flat_map(|run| &run.tables);
        !older.any(|table| table.cut(range.clone()).is_some())
    }

    fn put(&mut self, pick: &Pick, place: usize, mut tables: Vec<Table>) {
        let id = self.fresh_id();
        let runs = &mut self.levels[pick.output_level];
        match pick.output {
            OutputRun::Existing(_) => tables.append(&mut runs[place].tables),
            OutputRun::New | OutputRun::InPlace => runs.insert(place, Run { id, tables: vec![] }),
        }
        tables.sort_by_key(|table| table.lo);
        runs[place].tables = tables;
    }

    /// Asserts the order invariant: newest first for each key, and no two tables of a run overlap.
    pub(super) fn assert_ordered(&self) {
        let mut oldest_seen = std::collections::HashMap::new();
        for run in self.levels.iter().flatten() {
            assert!(run.tables.windows(2).all(|pair| pair[0].hi <= pair[1].lo), "run {}", run.id);
            for record in run.tables.iter().flat_map(Table::records) {
                let newer = oldest_seen.insert(record.key, record.seqno);
                assert!(
                    newer.is_none_or(|newer| newer > record.seqno),
                    "{record:?} lies below {newer:?} in run {}",
                    run.id
                );
            }
        }
    }

    /// Returns the runs over a key, on average over the keys below `keys`.
    pub(super) fn mean_depth(&self, keys: u32) -> f64 {
        let tables = self.levels.iter().flatten().flat_map(|run| &run.tables);
        tables.map(|table| f64::from(table.hi - table.lo)).sum::<f64>() / f64::from(keys)
    }

    /// What a reader sees.
    pub(super) fn contents(&self) -> std::collections::BTreeMap<u32, u32> {
        let mut newest = std::collections::BTreeMap::new();
        for run in self.levels.iter().flatten() {
            for record in run.tables.iter().flat_map(Table::records) {
                newest.entry(record.key).or_insert(*record);
            }
        }
        newest.retain(|_, record| !record.is_delete());
        newest.into_iter().map(|(key, record)| (key, record.seqno)).collect()
    }
}

fn take_range(tables: &mut Vec<Table>, range: &Range<u32>) -> Vec<Table> {
    let taken = tables.iter().filter_map(|table| table.cut(range.clone())).collect();
    let rest = |table: &Table| {
        [table.cut(0..range.start), table.cut(range.end..u32::MAX)].into_iter().flatten()
    };
    *tables = tables.iter().flat_map(|table| rest(table).collect::<Vec<_>>()).collect();
    taken
}

fn newest_of_each(mut records: Vec<Record>) -> Vec<Record> {
    records.sort_unstable_by_key(|record| (record.key, std::cmp::Reverse(record.seqno)));
    records.dedup_by_key(|record| record.key);
    records
}
