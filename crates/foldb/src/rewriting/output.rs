//! Writes the records of a flush or compaction into tables.
//!
//! Work that fails is tried again, so its output is removed at once. A full disk or a damaged input
//! must not fill the directory with unfinished tables.
//!
//! Range tombstones are given all at once. Each goes to the tables whose range it lies in, in
//! pieces if it spans a cut between tables. The pieces end at the cuts, not at the tables' own
//! keys, so they leave no gap (H10):
//!
//! ```text
//! [a, z)@9 over e, h | m, p      cut before m:   e h [a, m)@9    m p [m, z)@9
//! ```

use std::collections::VecDeque;
use std::sync::Arc;

use foldb_env::FileSystem;

use crate::error::{Error, Result};
use crate::faults::{Fault, planted};
use crate::files::FileNames;
use crate::files::{Proof, remove};
use crate::key::{KeyList, Kind, RecordHeader, SeqNo};
use crate::memory::Charge;
use crate::range_tombstone::{Edge, RangeTombstone};
use crate::rewriting::folding::RecordSink;
use crate::rewriting::memory::WorkMemory;
use crate::rewriting::older_tables::OlderTables;
use crate::rewriting::range_deletes::PassedOn;
use crate::segment::{NewSegments, ValueWriter};
use crate::table::{LaterSyncs, Surroundings, TableBuilder, TableBuilderOptions, TableSummary};
use crate::version::{FileFacts, Key, Upper};

/// Makes table files for a flush or a slice. A table begins with its first record.
pub(crate) struct TableOutput<'a> {
    pub(crate) fs: &'a Arc<dyn FileSystem>,
    pub(crate) names: &'a FileNames,
    /// Returns the next file number.
    pub(crate) next_number: &'a dyn Fn() -> u64,
    /// All options but the file number.
    pub(crate) options: TableBuilderOptions,
    current: Option<Current>,
    /// Range tombstones after the last cut, in the order of their starts.
    tombstones: VecDeque<RangeTombstone>,
    /// The tables that the range tombstones may delete from.
    older: Option<OlderTables>,
    /// The newest snapshot without which one of the range tombstones would be dropped.
    tombstones_kept_apart: SeqNo,
    finished: Vec<FileFacts>,
    /// Files that only this output knows.
    created: Vec<u64>,
    /// Number of keys after which a table ends.
    max_keys: usize,
    /// How often a caller asked whether the table is full: once for each key.
    looks: usize,
    charge: Charge,
    /// Takes large values, if the keyspace separates any.
    values: Option<ValueWriter<'a>>,
    address: Vec<u8>,
    surroundings: Option<Surroundings>,
    flushed_through: Option<SeqNo>,
    /// Collects the syncs of tables when they are synced together with others.
    later: Option<&'a LaterSyncs>,
}

/// Keys between two updates of the memory charge.
const CHARGED_EVERY: usize = 256;

struct Current {
    builder: TableBuilder,
    number: u64,
    /// What the table's range tombstones delete: about how many records, and some of their keys.
    deleted: u64,
    samples: Vec<Key>,
    kept_apart: SeqNo,
}

/// Most samples of a file whose range tombstones delete more than it has records.
const SAMPLES: usize = 32;

impl<'a> TableOutput<'a> {
    pub(crate) fn new(
        fs: &'a Arc<dyn FileSystem>,
        names: &'a FileNames,
        next_number: &'a dyn Fn() -> u64,
        options: TableBuilderOptions,
        memory: &WorkMemory,
    ) -> TableOutput<'a> {
        let (finished, created) = (Vec::new(), Vec::new());
        let (max_keys, charge) = (memory.max_keys(), memory.charge(0));
        let tombstones = VecDeque::new();
        TableOutput {
            fs,
            names,
            next_number,
            options,
            current: None,
            tombstones,
            older: None,
            tombstones_kept_apart: 0,
            finished,
            created,
            max_keys,
            looks: 0,
            charge,
            values: None,
            address: Vec::new(),
            surroundings: None,
            flushed_through: None,
            later: None,
        }
    }

    /// Marks the tables as those of a flush through this write.
    pub(crate) fn of_flush(mut self, through: SeqNo) -> TableOutput<'a> {
        self.flushed_through = Some(through);
        self
    }

    /// Puts values that are large enough into segments.
    pub(crate) fn separating(mut self, values: ValueWriter<'a>) -> TableOutput<'a> {
        self.values = Some(values);
        self
    }

    /// Leaves the syncs of the tables for later.
    pub(crate) fn syncing_later(mut self, later: &'a LaterSyncs) -> TableOutput<'a> {
        self.later = Some(later);
        self
    }

    /// Ends the last segment. Call it before [`TableOutput::finish`]. The returned segments belong
    /// to the same edit as the tables; the caller holds them until the edit is installed.
    pub(crate) fn finish_values(&mut self) -> Result<NewSegments> {
        self.values.as_mut().map_or_else(|| Ok(NewSegments::default()), ValueWriter::finish)
    }

    /// Adds a record whose value goes to a segment. The segment keeps the write's sequence number
    /// too.
    #[cold]
    fn add_separated(
        &mut self,
        key: &[u8],
        header: RecordHeader,
        written: SeqNo,
        value: &[u8],
    ) -> Result<()> {
        let values = self.values.as_mut().expect("a value writer takes values");
        let address = values.add(key, written, value)?;
        let mut bytes = std::mem::take(&mut self.address);
        bytes.clear();
        address.encode(&mut bytes);
        let header = RecordHeader { kind: Kind::Separated, ..header };
        self.current()?.builder.add(key, header, &bytes)?;
        self.address = bytes;
        Ok(())
    }

    /// Sets what the last table says about the tree around it.
    pub(crate) fn set_surroundings(&mut self, surroundings: Surroundings) {
        self.surroundings = Some(surroundings);
    }

    /// Sets all range tombstones after the last cut, in the order of their starts, and the tables
    /// that they may delete from.
    pub(crate) fn set_tombstones(&mut self, passed_on: PassedOn, older: &OlderTables) {
        debug_assert!(self.tombstones.is_empty());
        if !passed_on.tombstones.is_empty() {
            self.older = Some(older.clone());
            self.tombstones = passed_on.tombstones.into();
            self.tombstones_kept_apart = passed_on.kept_apart;
        }
    }

    /// Returns whether the table being written should end: it has `target` bytes, or takes all the
    /// memory it may. `folding` is the memory, in bytes, of its records' folds.
    #[inline]
    pub(crate) fn is_full(&mut self, target: u64, folding: usize) -> bool {
        let Some(Current { builder, .. }) = &self.current else { return false };
        self.looks += 1;
        if self.looks.is_multiple_of(CHARGED_EVERY) {
            self.charge.set(builder.memory_bytes() + folding);
        }
        builder.file_bytes() >= target || builder.filter_keys() >= self.max_keys
    }

    /// Ends the table being written. It is then durable except for its name, or becomes so with the
    /// later syncs. Records added later lie at or above `key`.
    pub(crate) fn cut_before(&mut self, key: &[u8]) -> Result<()> {
        self.cut_at(&Edge::Before(key.into()))
    }

    /// Ends the last table.
    pub(crate) fn cut(&mut self) -> Result<()> {
        self.cut_at(&Edge::Highest)
    }

    fn cut_at(&mut self, cut: &Edge) -> Result<()> {
        self.take_tombstones(cut)?;
        if let Some(Current { mut builder, number, deleted, samples, kept_apart }) =
            self.current.take()
        {
            if *cut != Edge::Highest {
                self.flushed_through.inspect(|through| builder.set_flushed_with(*through));
            } else if let Some(mut surroundings) = self.surroundings.take() {
                // The other tables of this work have larger numbers than the tables of the tree.
                surroundings.live.extend(self.finished.iter().map(|file| file.number));
                surroundings.live.sort_unstable();
                builder.set_surroundings(surroundings);
            }
            self.charge.set(builder.memory_bytes_at_end());
            let summary = builder.finish(self.later);
            self.charge.set(0);
            let mut facts = facts(number, summary?);
            facts.range_deleted = deleted;
            facts.kept_apart = kept_apart;
            // The policy spreads what the table deletes over its samples.
            if deleted > facts.entries || facts.entries == 0 {
                facts.samples = self.thinned_out(samples);
            }
            assert!(
                facts.entries + facts.range_deletes > 0,
                "a table is begun for a record or a tombstone"
            );
            assert!(
                facts.deletes + facts.merges <= facts.entries
                    && facts.smallest_seqno <= facts.largest_seqno,
                "the counts of a table fit each other: {facts:?}"
            );
            let is_newest = self.finished.last().is_none_or(|last| last.number < facts.number);
            debug_assert!(is_newest, "later tables of this work have larger numbers");
            self.finished.push(facts);
        }
        Ok(())
    }

    /// Moves the tombstones before the cut into the table being written, and begins one if needed.
    fn take_tombstones(&mut self, cut: &Edge) -> Result<()> {
        let comparator = Arc::clone(&self.options.comparator);
        let comparator = &*comparator;
        let mut behind = Vec::new();
        while let Some(tombstone) = self.tombstones.front()
            && tombstone.start.compare(comparator, cut).is_lt()
        {
            let here = tombstone.clipped(comparator, &Edge::Lowest, cut);
            behind.extend(tombstone.clipped(comparator, cut, &Edge::Highest));
            self.tombstones.pop_front();
            let Some(here) = here else { continue };
            let deletes = self.older.as_ref().map(|older| older.deleted_by(&here));
            let (deleted, samples) = deletes.unwrap_or_default();
            let kept_apart = self.tombstones_kept_apart;
            let current = self.current()?;
            current.kept_apart = current.kept_apart.max(kept_apart);
            current.deleted += deleted;
            current.samples.extend(samples);
            current.builder.add_tombstone(here);
        }
        if planted(Fault::RangeDeleteCutShort) {
            return Ok(());
        }
        // All of them now begin at the cut. Newer tombstones go first.
        behind.sort_by_key(|tombstone| tombstone.seqno);
        behind.into_iter().for_each(|tombstone| self.tombstones.push_front(tombstone));
        Ok(())
    }

    /// Returns an evenly spaced selection of these keys, in order.
    fn thinned_out(&self, mut keys: Vec<Key>) -> KeyList {
        keys.sort_by(|a, b| self.options.comparator.compare(a, b));
        let step = keys.len().div_ceil(SAMPLES).max(1);
        keys.into_iter().step_by(step).collect()
    }

    /// Returns the table being written. Begins one if there is none.
    #[inline]
    fn current(&mut self) -> Result<&mut Current> {
        if self.current.is_none() {
            self.current = Some(self.begin()?);
        }
        Ok(self.current.as_mut().expect("a table was begun"))
    }

    /// Ends the last table and returns all of them.
    pub(crate) fn finish(mut self) -> Result<Vec<FileFacts>> {
        self.cut()?;
        assert!(
            self.tombstones.is_empty() || planted(Fault::RangeDeleteCutShort),
            "each tombstone that is passed on is in a table (H10)"
        );
        assert_eq!(
            self.created.len(),
            self.finished.len(),
            "each table that was begun is finished"
        );
        self.created.clear();
        if let Some(values) = self.values.take() {
            values.give_back();
        }
        Ok(std::mem::take(&mut self.finished))
    }

    fn begin(&mut self) -> Result<Current> {
        let number = (self.next_number)();
        let path = self.names.table(number);
        let file =
            self.fs.create(&path).map_err(|error| Error::io(&path, "create the table", &error))?;
        self.created.push(number);
        let options =
            TableBuilderOptions { file_number: number, path: path.clone(), ..self.options.clone() };
        let builder = TableBuilder::new(file, options);
        Ok(Current { builder, number, deleted: 0, samples: Vec::new(), kept_apart: 0 })
    }
}

impl Drop for TableOutput<'_> {
    fn drop(&mut self) {
        for number in self.created.drain(..) {
            // The next open removes a file that cannot be removed now.
            let _best_effort = remove(&**self.fs, &self.names.table(number), Proof::Written);
        }
    }
}

impl RecordSink for TableOutput<'_> {
    #[inline]
    fn add(&mut self, key: &[u8], header: RecordHeader, value: &[u8]) -> Result<()> {
        self.add_written_at(key, header, value, header.seqno)
    }

    #[inline]
    fn add_written_at(
        &mut self,
        key: &[u8],
        header: RecordHeader,
        value: &[u8],
        written: SeqNo,
    ) -> Result<()> {
        if header.kind == Kind::Put
            && self.values.as_ref().is_some_and(|values| values.takes(value.len()))
        {
            return self.add_separated(key, header, written, value);
        }
        self.current()?.builder.add(key, header, value)
    }

    fn keep_apart(&mut self, snapshot: SeqNo) {
        if let Some(current) = &mut self.current {
            current.kept_apart = current.kept_apart.max(snapshot);
        }
    }
}

/// Returns what the manifest stores about a written table.
pub(crate) fn facts(number: u64, summary: TableSummary) -> FileFacts {
    FileFacts {
        number,
        len: summary.file_len,
        entries: summary.entries,
        deletes: summary.deletes,
        merges: summary.merges,
        range_deletes: summary.range_deletes,
        range_deleted: 0,
        kept_apart: 0,
        loaded: None,
        smallest: summary.smallest.into(),
        end: if summary.largest_excluded {
            Upper::Excluded(summary.largest.into())
        } else {
            Upper::Included(summary.largest.into())
        },
        smallest_seqno: summary.smallest_seqno,
        largest_seqno: summary.largest_seqno,
        samples: summary.samples.into_iter().collect(),
        references: summary.references.into(),
        expiry: summary.expiry,
    }
}
