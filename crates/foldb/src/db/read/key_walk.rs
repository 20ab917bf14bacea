//! The one walk of a key through the places that may hold its records: the memtables, then one
//! table of each run, newest first.
//!
//! Invariant (H10): in each place the visitor learns first up to which sequence number range
//! deletes cover the key, and then sees the key's records, newest first. A table is asked for its
//! range tombstones before its filter, which does not know the keys that they cover. A visitor
//! compares a cover with records by their numbers, never by their places.

use std::borrow::BorrowMut;
use std::cell::Cell;
use std::fmt;
use std::ops::ControlFlow;

use crate::db::read::settings::ReadSettings;
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::view::View;
use crate::encoding::key_hash;
use crate::error::Result;
use crate::faults::{Fault, planted};
use crate::fold::Chain;
use crate::key::{MAX_SEQNO, RecordHeader, SeqNo};
use crate::memtable::Memtable;
use crate::table::{Approach, CursorOptions, SortedReads, TableReader};
use crate::value::Value;
use crate::version::{OpenTables, TableRef};

/// The place of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// In memory.
    Memtable {
        /// The position among the memtables, 0 for the newest. Only the newest may still take
        /// writes; the others wait for their flush.
        age: usize,
    },
    /// In a table.
    Table {
        /// The level; 0 is the youngest.
        level: usize,
        /// The number of its run, as `stats` and the log show it.
        run: u64,
        /// The number of its file.
        file: u64,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Memtable { age: 0 } => f.write_str("memtable"),
            Place::Memtable { age } => write!(f, "memtable -{age}"),
            Place::Table { level, run, file } => write!(f, "L{level} run {run} table {file:06}"),
        }
    }
}

/// A key to look for, as a reader at a sequence number sees it.
#[derive(Clone, Copy)]
pub(crate) struct Sought<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) hash: u64,
    pub(crate) seqno: SeqNo,
}

impl<'a> Sought<'a> {
    #[inline(always)]
    pub(crate) fn new(key: &'a [u8], seqno: SeqNo) -> Sought<'a> {
        Sought { key, hash: key_hash(key), seqno }
    }
}

/// What a walk shows a key's records to. A break ends the walk.
pub(crate) trait KeyVisitor {
    /// Comes to the next place. Its records have at most this sequence number. Returns whether to
    /// look into it.
    #[inline]
    fn enter(&mut self, _place: Place, _largest_seqno: SeqNo) -> bool {
        true
    }

    /// Learns that a range delete at this number includes the key.
    fn cover(&mut self, seqno: SeqNo) -> ControlFlow<()>;

    /// Learns whether the filter of the table admits the key. Without it, no record follows.
    #[inline]
    fn filtered(&mut self, _admits: bool) {}

    /// Sees a record. `value` copies or pins its value.
    fn record(&mut self, header: RecordHeader, value: impl FnOnce() -> Value) -> ControlFlow<()>;
}

impl KeyspaceState {
    /// Shows a visitor the records of a key in a view.
    ///
    /// # Errors
    /// `Corruption`, `Io`: a table cannot be read.
    #[inline(always)]
    pub(crate) fn walk_key(
        &self,
        view: &View,
        sought: &Sought<'_>,
        options: ReadSettings<'_>,
        visitor: &mut impl KeyVisitor,
    ) -> Result<()> {
        match walk_memtables(view, sought, visitor) {
            ControlFlow::Continue(()) => self.walk_runs(view, sought, options, visitor),
            ControlFlow::Break(()) => Ok(()),
        }
    }

    /// Does the part of [`KeyspaceState::walk_key`] below the memtables. Out of line, it costs a
    /// key that a memtable holds nothing.
    #[inline(never)]
    pub(super) fn walk_runs(
        &self,
        view: &View,
        sought: &Sought<'_>,
        options: ReadSettings<'_>,
        visitor: &mut impl KeyVisitor,
    ) -> Result<()> {
        let mut runs = view.version.runs().peekable();
        while let Some((level, run)) = runs.next() {
            let Some(table) = run.table_of(&*self.comparator, sought.key) else { continue };
            let place = Place::Table { level, run: run.id, file: table.file.number };
            if !visitor.enter(place, table.file.largest_seqno) {
                continue;
            }
            let open = self.tables.lend(&table.file)?;
            let reads = |approach| SortedReads::new(&open, point_read(options)).after(approach);
            let guess = if runs.peek().is_none() { Guess::FromLast } else { Guess::Absent };
            if look_into_table(&self.tables, (table, guess), &open, reads, sought, visitor)?
                .is_break()
            {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Does the part of [`KeyspaceState::walk_key`] that reads memtables.
#[inline(always)]
pub(super) fn walk_memtables(
    view: &View,
    sought: &Sought<'_>,
    visitor: &mut impl KeyVisitor,
) -> ControlFlow<()> {
    for (age, memtable) in view.memtables().enumerate() {
        if visitor.enter(Place::Memtable { age }, MAX_SEQNO) {
            look_into_memtable(memtable, sought, visitor)?;
        }
    }
    ControlFlow::Continue(())
}

/// Shows the records of a key in one memtable.
#[inline(always)]
pub(crate) fn look_into_memtable(
    memtable: &Memtable,
    sought: &Sought<'_>,
    visitor: &mut impl KeyVisitor,
) -> ControlFlow<()> {
    debug_assert_eq!(sought.hash, key_hash(sought.key), "a filter knows the key by its hash");
    let cover = memtable.cover(sought.key, sought.seqno);
    if cover > 0 {
        visitor.cover(cover)?;
    }
    memtable.get(sought.hash, sought.key, sought.seqno, |header, version| {
        debug_assert!(header.seqno <= sought.seqno, "a read sees no write after its moment");
        visitor.record(header, || memtable.value_of(version))
    })
}

/// Whether a key is probably in a table, before its filter says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guess {
    Absent,
    /// As the last key that this thread guessed about.
    FromLast,
}

thread_local! {
    /// Whether the last key that this thread guessed about was admitted by the filter.
    static LAST_ADMITTED: Cell<bool> = const { Cell::new(true) };
}

impl Guess {
    #[inline]
    fn is_present(self) -> bool {
        self == Guess::FromLast && LAST_ADMITTED.get()
    }

    #[inline]
    fn learn(self, admits: bool) {
        if self == Guess::FromLast {
            LAST_ADMITTED.set(admits);
        }
    }
}

/// Shows the records of a key in one table, which is open. `reads` searches it. If the key is
/// probably there, the search begins before the filter answers, so that the cache misses of both
/// overlap.
#[inline(always)]
pub(crate) fn look_into_table<'t, R: BorrowMut<SortedReads<'t>>>(
    tables: &OpenTables,
    (table, guess): (&TableRef, Guess),
    open: &TableReader,
    reads: impl FnOnce(Option<Approach>) -> R,
    sought: &Sought<'_>,
    visitor: &mut impl KeyVisitor,
) -> Result<ControlFlow<()>> {
    if table.has_range_tombstones() {
        let cover = cover_of(open, sought);
        if cover > 0 && visitor.cover(cover).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    let approach = guess.is_present().then(|| open.approach(sought.key, sought.hash));
    let admits = tables.may_contain(open, sought.hash, sought.key)?;
    guess.learn(admits);
    visitor.filtered(admits);
    let mut flow = ControlFlow::Continue(());
    if admits {
        reads(approach).borrow_mut().get(sought.key, sought.seqno, |header, value| {
            debug_assert!(header.seqno <= sought.seqno, "a read sees no write after its moment");
            flow = visitor.record(header, || value.to_value());
            flow
        })?;
    }
    Ok(flow)
}

/// Returns up to which sequence number a table covers a key.
fn cover_of(table: &TableReader, sought: &Sought<'_>) -> SeqNo {
    if planted(Fault::RangeDeleteBehindFilter)
        && table.may_contain(sought.hash, sought.key).is_ok_and(|admits| !admits)
    {
        return 0;
    }
    let cover = table.cover(sought.key, sought.seqno);
    if cover > 0 && planted(Fault::RangeDeleteByLevel) { MAX_SEQNO } else { cover }
}

/// Returns how a read with these options gets its blocks.
#[inline]
pub(crate) fn point_read(options: ReadSettings<'_>) -> CursorOptions {
    let ReadSettings { fill_cache, report, .. } = options;
    CursorOptions { fill_cache, readahead: 0, report: report.cloned() }
}

/// A chain collects the records of its key, down to the base.
impl KeyVisitor for Chain {
    #[inline(always)]
    fn enter(&mut self, _: Place, largest_seqno: SeqNo) -> bool {
        !self.is_covered_above(largest_seqno)
    }

    #[inline(always)]
    fn cover(&mut self, seqno: SeqNo) -> ControlFlow<()> {
        Chain::cover(self, seqno);
        ControlFlow::Continue(())
    }

    #[inline(always)]
    fn record(&mut self, header: RecordHeader, value: impl FnOnce() -> Value) -> ControlFlow<()> {
        match self.push(header, value()) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }
}

/// A chain that collects records of tables, and counts the tables.
pub(super) struct Counted<'a> {
    pub(super) chain: &'a mut Chain,
    /// Tables that were searched.
    pub(super) searched: u64,
    /// Tables whose filter spared the search.
    pub(super) spared: u64,
}

impl<'a> Counted<'a> {
    #[inline]
    pub(super) fn new(chain: &'a mut Chain) -> Counted<'a> {
        Counted { chain, searched: 0, spared: 0 }
    }
}

impl KeyVisitor for Counted<'_> {
    #[inline]
    fn enter(&mut self, place: Place, largest_seqno: SeqNo) -> bool {
        self.chain.enter(place, largest_seqno)
    }

    #[inline]
    fn cover(&mut self, seqno: SeqNo) -> ControlFlow<()> {
        KeyVisitor::cover(self.chain, seqno)
    }

    #[inline]
    fn filtered(&mut self, admits: bool) {
        match admits {
            true => self.searched += 1,
            false => self.spared += 1,
        }
    }

    #[inline]
    fn record(&mut self, header: RecordHeader, value: impl FnOnce() -> Value) -> ControlFlow<()> {
        self.chain.record(header, value)
    }
}

#[cfg(test)]
mod tests;
