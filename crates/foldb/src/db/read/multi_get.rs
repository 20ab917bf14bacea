//! Reading many keys at once.
//!
//! The keys are read in order, one source at a time. Each run is walked once in key order, and each
//! key asks the filter of its table. A key reuses the block directory and the sub-block that the
//! previous key loaded, if it lies there too. A key leaves the walk at its base, as in a single
//! read.

use std::ops::ControlFlow;

use crate::counters::is_sampled;
use crate::db::core::Core;
use crate::db::read::key_walk::{
    Counted, Guess, Sought, look_into_memtable, look_into_table, point_read,
};
use crate::db::read::settings::ReadSettings;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::view::View;
use crate::error::{Error, Result};
use crate::fold::{Chain, ReadTime};
use crate::key::SeqNo;
use crate::stats::Call;
use crate::table::{SortedReads, TableReader};
use crate::value::Value;
use crate::version::{OpenTables, Run, TableRef};

/// The result of reading one key of several.
type Answer = Result<Option<Value>>;

/// The state of one key during the walk.
struct KeyRead<'a> {
    sought: Sought<'a>,
    chain: Chain,
    state: State,
}

enum State {
    /// Older records may belong to the chain.
    Open,
    /// The chain has its base.
    Complete,
    Failed(Error),
}

impl<'a> KeyRead<'a> {
    fn new(key: &'a [u8], seqno: SeqNo) -> KeyRead<'a> {
        let sought = Sought::new(key, seqno);
        KeyRead { sought, chain: Chain::default(), state: State::Open }
    }

    fn is_open(&self) -> bool {
        matches!(self.state, State::Open)
    }
}

fn multi_get_untimed<K: AsRef<[u8]>>(
    core: &Core,
    keyspace: &KeyspaceState,
    keys: &[K],
    options: ReadSettings<'_>,
) -> Result<Vec<Answer>> {
    core.check_open()?;
    keys.iter().try_for_each(|key| keyspace.check_key(key.as_ref()))?;
    let (view, time, seqno) = core.begin_read(keyspace, options, Core::pin)?;
    let mut reads: Vec<KeyRead<'_>> =
        keys.iter().map(|key| KeyRead::new(key.as_ref(), seqno)).collect();
    let mut in_order: Vec<&mut KeyRead<'_>> = reads.iter_mut().collect();
    in_order.sort_by(|a, b| keyspace.comparator.compare(a.sought.key, b.sought.key));
    core.collect_sorted(keyspace, &view, options, &mut in_order);
    Ok(core.answers(keyspace, (&view, time), reads, options))
}

impl Core {
    /// Reads several keys.
    ///
    /// # Errors
    /// As [`Core::begin_read`]; `InvalidArgument` for a key that the comparator cannot compare.
    pub(crate) fn multi_get<K: AsRef<[u8]>>(
        &self,
        keyspace: &KeyspaceState,
        keys: &[K],
        options: ReadSettings<'_>,
    ) -> Result<Vec<Answer>> {
        if !is_sampled() {
            return multi_get_untimed(self, keyspace, keys, options);
        }
        let get = || multi_get_untimed(self, keyspace, keys, options);
        self.totals.calls.measure(Call::MultiGet, get).0
    }

    /// Collects the chains of the keys, which are sorted.
    fn collect_sorted(
        &self,
        keyspace: &KeyspaceState,
        view: &View,
        options: ReadSettings<'_>,
        reads: &mut Vec<&mut KeyRead<'_>>,
    ) {
        for memtable in view.memtables().filter(|memtable| !memtable.is_empty()) {
            for read in reads.iter_mut() {
                if look_into_memtable(memtable, &read.sought, &mut read.chain).is_break() {
                    read.state = State::Complete;
                }
            }
            reads.retain(|read| read.is_open());
        }
        for (_, run) in view.version.runs() {
            if reads.is_empty() {
                return;
            }
            self.collect_from_run(keyspace, run, options, reads);
            reads.retain(|read| read.is_open());
        }
    }

    /// Walks once through the tables of a run.
    fn collect_from_run(
        &self,
        keyspace: &KeyspaceState,
        run: &Run,
        options: ReadSettings<'_>,
        mut reads: &mut [&mut KeyRead<'_>],
    ) {
        let comparator = &*keyspace.comparator;
        while let Some(first) = reads.first() {
            let Some(table) = run.tables.get(run.find(comparator, first.sought.key)) else {
                return;
            };
            let count = reads.partition_point(|read| table.hi.admits(comparator, read.sought.key));
            let (here, behind) = std::mem::take(&mut reads).split_at_mut(count);
            reads = behind;
            let is_below = |key: &[u8]| comparator.compare(key, &table.lo).is_lt();
            let below = here.partition_point(|read| is_below(read.sought.key));
            let here = &mut here[below..];
            if here.is_empty() {
                continue;
            }
            match keyspace.tables.get_owned(&table.file) {
                Ok(open) => self.collect_from_table(&keyspace.tables, table, &open, options, here),
                Err(error) => {
                    here.iter_mut().for_each(|read| read.state = State::Failed(error.clone()));
                }
            }
        }
    }

    fn collect_from_table(
        &self,
        tables: &OpenTables,
        table: &TableRef,
        open: &TableReader,
        options: ReadSettings<'_>,
        reads: &mut [&mut KeyRead<'_>],
    ) {
        let mut sorted = SortedReads::new(open, point_read(options));
        let mut spared = 0;
        for KeyRead { sought, chain, state } in reads.iter_mut().map(|read| &mut **read) {
            if chain.is_covered_above(table.file.largest_seqno) {
                continue;
            }
            let mut counted = Counted::new(chain);
            let table = (table, Guess::Absent);
            match look_into_table(tables, table, open, |_| &mut sorted, sought, &mut counted) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => *state = State::Complete,
                Err(error) => *state = State::Failed(error),
            }
            spared += counted.spared;
        }
        self.totals.add_filter_negatives(spared);
        if let Some(report) = options.report {
            report.ruled_out_tables(spared);
        }
    }

    /// Folds the chains, and returns their values.
    fn answers(
        &self,
        keyspace: &KeyspaceState,
        (view, time): (&View, Option<ReadTime>),
        reads: Vec<KeyRead<'_>>,
        options: ReadSettings<'_>,
    ) -> Vec<Answer> {
        let resolver = self.registry.resolver();
        let mut scratch = Vec::new();
        let answers = reads.into_iter().map(|mut read| {
            if let State::Failed(error) = read.state {
                return Err(error);
            }
            if let Some(report) = options.report {
                report.saw_operands(read.chain.operands());
            }
            keyspace.resolve(&view.version, read.sought.key, &mut read.chain)?;
            if let Some(time) = &time {
                time.drop_expired(&mut read.chain)?;
            }
            let value = read.chain.value(read.sought.key, &resolver, &mut scratch);
            if let Err(error) = &value {
                self.note_failed_read(keyspace, error);
            }
            match (value?, &time) {
                (Some(stored), Some(time)) => time.show(stored),
                (value, _) => Ok(value),
            }
        });
        answers.collect()
    }
}
