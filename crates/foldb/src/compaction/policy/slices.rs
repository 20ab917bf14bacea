//! Cutting a compaction into slices along the tables of the run that it goes into.
//!
//! ```text
//! newer runs   ----------   ------- -----          each cell knows the bytes that lie over it
//!                 ------------- ---
//! base run     |  t0  |  t1  |  t2  |  t3  |
//! cells        <--- 0 |   1  |   2  |  3 --->      the outer ones have no outer bound
//! slice               <------------->              neighbouring cells, about `slice_bytes`
//! ```
//!
//! A slice is cut at table bounds. It rewrites whole tables of the base and leaves no trimmed
//! reference there. In a base of very many tables, a cell has several of them.

use std::ops::Range;

use crate::compaction::policy::decision::Picker;
use crate::compaction::policy::estimate::bytes_below;
use crate::compaction::policy::shape::{CutRange, Key, RunShape, TableShape};
use crate::key::Comparator;

/// Most cells of a base. Each newer run is spread over all of them, so they bound the work of a
/// decision. A base of 75 000 tables has 19 of them in a cell. A slice is then a four-thousandth of
/// the base, which is still little temporary space.
pub(super) const MOST_CELLS: usize = 4096;

/// A table of the base run, or several neighbours, with the gap after it, and the data above.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    /// Where the cell begins; `None` for the first.
    lo: Option<Key>,
    /// Bytes of the base.
    pub below: u64,
    /// Bytes of the runs laid over the base, newer ones mostly.
    pub above: u64,
    /// Estimated bytes of the base that tombstones of newer runs delete.
    pub doomed: u64,
    /// Tombstones of newer runs.
    pub deletes: u64,
    /// Number of newer runs.
    pub depth: usize,
}

/// Neighbouring cells. It has no keys: a run of very many tables has as many slices, and one of
/// them becomes a job ([`Cells::range`]).
#[derive(Clone, Debug)]
pub(super) struct Slice {
    cells: Range<usize>,
    pub below: u64,
    pub above: u64,
    pub doomed: u64,
    pub deletes: u64,
    /// The largest depth of the slice's cells.
    pub depth: usize,
}

impl Slice {
    /// Returns the *ripeness*: the bytes of newer runs plus deleted bytes, for each byte to
    /// rewrite.
    pub(super) fn ripeness(&self) -> f64 {
        (self.above + self.doomed) as f64 / (self.below as f64).max(1.0)
    }
}

/// The cells of a base run under newer runs.
pub(super) struct Cells {
    pub cells: Vec<Cell>,
    /// Bytes of an entry of the base, on average.
    entry_bytes: f64,
}

impl Cells {
    /// Lays the newer runs over the base. Neighbouring tables of a base of very many share a cell:
    /// see [`MOST_CELLS`].
    pub(super) fn new<'a>(
        picker: &Picker,
        base: &[TableShape],
        newer: impl IntoIterator<Item = &'a RunShape>,
    ) -> Cells {
        let together = base.len().div_ceil(picker.policy.most_cells);
        Cells::of_groups(picker, base, together.max(1), newer)
    }

    /// Lays the newer runs over the base, with a cell for each of its tables.
    pub(super) fn of_tables<'a>(
        picker: &Picker,
        base: &[TableShape],
        newer: impl IntoIterator<Item = &'a RunShape>,
    ) -> Cells {
        Cells::of_groups(picker, base, 1, newer)
    }

    fn of_groups<'a>(
        picker: &Picker,
        base: &[TableShape],
        together: usize,
        newer: impl IntoIterator<Item = &'a RunShape>,
    ) -> Cells {
        let mut cells: Vec<Cell> = base
            .chunks(together)
            .enumerate()
            .map(|(i, tables)| Cell {
                lo: (i > 0).then(|| tables[0].lo.clone()),
                below: tables.iter().map(|table| table.bytes).sum(),
                ..Cell::default()
            })
            .collect();
        if cells.is_empty() {
            cells.push(Cell::default());
        }
        let entries: u64 = base.iter().map(|table| table.entries).sum();
        let bytes: u64 = base.iter().map(|table| table.bytes).sum();
        let entry_bytes = bytes as f64 / (entries as f64).max(1.0);
        let mut grid = Cells { cells, entry_bytes };
        for run in newer {
            let mut counted = None;
            for table in &run.tables {
                grid.lay(picker, table, &mut counted);
            }
        }
        for cell in &mut grid.cells {
            cell.doomed = cell.doomed.min(cell.below);
        }
        grid
    }

    /// Spreads a table over the cells. `counted` is the last cell that its run was counted in.
    fn lay(&mut self, picker: &Picker, table: &TableShape, counted: &mut Option<usize>) {
        let covered = self.covered_by(picker, table);
        let mut begin = 0;
        for at in covered.clone() {
            let end = match self.cells.get(at + 1) {
                Some(next) if at + 1 < covered.end => bytes_below(
                    table,
                    next.lo.as_ref().expect("only the first has none"),
                    picker.cmp,
                ),
                _ => table.bytes,
            };
            let bytes = end.saturating_sub(begin);
            begin = begin.max(end);
            let cell = &mut self.cells[at];
            cell.above += bytes;
            cell.depth += usize::from(*counted != Some(at));
            *counted = Some(at);
            let share = bytes as f64 / (table.bytes as f64).max(1.0);
            let deletes = table.deletes as f64 * share;
            cell.deletes += deletes as u64;
            cell.doomed += (deletes * self.entry_bytes) as u64;
        }
    }

    /// Returns the slice that one table covers if nothing else lies over the base. Its deletes are
    /// not spread over the cells.
    pub(super) fn slice_under(&self, picker: &Picker, table: &TableShape) -> Slice {
        let cells = self.covered_by(picker, table);
        let below = self.cells[cells.clone()].iter().map(|cell| cell.below).sum();
        let doomed = (table.deletes as f64 * self.entry_bytes) as u64;
        Slice {
            cells,
            below,
            above: table.bytes,
            doomed: doomed.min(below),
            deletes: table.deletes,
            depth: 1,
        }
    }

    /// Returns the indexes of the cells that a table's bounds touch.
    fn covered_by(&self, picker: &Picker, table: &TableShape) -> Range<usize> {
        let begins_by = |cell: &Cell, key: &Key| {
            cell.lo.as_ref().is_none_or(|lo| picker.cmp.compare(lo, key).is_le())
        };
        let start = self.cells.partition_point(|cell| begins_by(cell, &table.lo)) - 1;
        let end = self.cells.partition_point(|cell| match &cell.lo {
            Some(lo) => !table.ends_before(lo, picker.cmp),
            None => true,
        });
        start..end.max(start + 1)
    }

    /// Returns the keys of a slice.
    pub(super) fn range(&self, slice: &Slice) -> CutRange {
        CutRange {
            lo: self.cells[slice.cells.start].lo.clone(),
            hi: self.cells.get(slice.cells.end).and_then(|cell| cell.lo.clone()),
        }
    }

    /// Returns the slice of the same cells as one of other runs over the same base.
    pub(super) fn same(&self, slice: &Slice) -> Slice {
        self.slice(slice.cells.clone())
    }

    /// Returns the slice that these cells form.
    pub(super) fn slice(&self, cells: Range<usize>) -> Slice {
        let of = &self.cells[cells.clone()];
        Slice {
            cells,
            below: of.iter().map(|cell| cell.below).sum(),
            above: of.iter().map(|cell| cell.above).sum(),
            doomed: of.iter().map(|cell| cell.doomed).sum(),
            deletes: of.iter().map(|cell| cell.deletes).sum(),
            depth: of.iter().map(|cell| cell.depth).max().unwrap_or(0),
        }
    }

    /// Returns every group of neighbouring cells of about this many bytes that has newer data above
    /// it.
    pub(super) fn slices(&self, bytes: u64) -> impl Iterator<Item = Slice> + '_ {
        let mut end = 0;
        let mut held = 0;
        let mut is_last = false;
        (0..self.cells.len()).filter_map(move |start| {
            if is_last {
                return None;
            }
            if start > 0 {
                held -= self.cells[start - 1].below + self.cells[start - 1].above;
            }
            while end < self.cells.len() && (held < bytes || end <= start) {
                held += self.cells[end].below + self.cells[end].above;
                end += 1;
            }
            is_last = end == self.cells.len();
            let slice = self.slice(start..end);
            (slice.above > 0).then_some(slice)
        })
    }

    /// Returns the first slice of about this many bytes, of cells in the range, with newer data
    /// over it.
    pub(super) fn first_in(
        &self,
        range: &CutRange,
        bytes: u64,
        cmp: &dyn Comparator,
    ) -> Option<Slice> {
        let inside = |at: usize| self.range(&self.slice(at..at + 1)).overlaps(range, cmp);
        let all = 0..self.cells.len();
        let start = all.clone().find(|&at| self.cells[at].depth > 0 && inside(at))?;
        let mut held = 0;
        let next = (start..all.end).find(|&at| {
            let full = held >= bytes && at > start;
            held += self.cells[at].below + self.cells[at].above;
            full || !inside(at)
        });
        Some(self.slice(start..next.unwrap_or(all.end)))
    }

    /// Returns the slice with the largest ripeness. Of equal slices the first wins, so that slices
    /// of an even load are compacted in key order.
    pub(super) fn ripest(&self, bytes: u64) -> Option<Slice> {
        self.best(bytes, |slice| slice.ripeness())
    }

    /// Returns the slice with the largest value.
    pub(super) fn best(&self, bytes: u64, value: impl Fn(&Slice) -> f64) -> Option<Slice> {
        let mut best: Option<(f64, Slice)> = None;
        for slice in self.slices(bytes) {
            let value = value(&slice);
            if best.as_ref().is_none_or(|(most, _)| value > *most) {
                best = Some((value, slice));
            }
        }
        best.map(|(_, slice)| slice)
    }

    /// Returns the number of newer runs over a byte of the tree, on average.
    pub(super) fn mean_depth(&self) -> f64 {
        let weight = |cell: &Cell| (cell.below + cell.above) as f64;
        let all: f64 = self.cells.iter().map(weight).sum();
        let deep: f64 = self.cells.iter().map(|cell| weight(cell) * cell.depth as f64).sum();
        deep / all.max(1.0)
    }

    /// Returns how many bytes compactions must read to take this many bytes down, if they take the
    /// ripest cells first.
    pub(super) fn cost_of_relief(&self, bytes: f64) -> u64 {
        let mut relieved = 0.0;
        self.cost_while(|cell| {
            let wanted = relieved < bytes;
            relieved += (cell.above + cell.doomed) as f64;
            wanted
        })
    }

    /// Returns the bytes to read until the mean depth is at most `mean` and no depth is over
    /// `most`.
    pub(super) fn cost_of_depth(&self, mean: f64, most: f64) -> u64 {
        let weight = |cell: &Cell| (cell.below + cell.above) as f64;
        let all: f64 = self.cells.iter().map(weight).sum();
        let mut excess = (self.mean_depth() - mean) * all;
        self.cost_while(|cell| {
            let wanted = excess > 0.0 || cell.depth as f64 > most;
            excess -= if wanted { weight(cell) * cell.depth as f64 } else { 0.0 };
            wanted
        })
    }

    /// Adds up the bytes of the cells that `wanted` accepts, asked in the order of falling
    /// ripeness.
    fn cost_while(&self, mut wanted: impl FnMut(&Cell) -> bool) -> u64 {
        let mut cells: Vec<&Cell> = self.cells.iter().filter(|cell| cell.above > 0).collect();
        let ripeness = |cell: &Cell| (cell.above + cell.doomed) as f64 / (cell.below.max(1)) as f64;
        cells.sort_by(|a, b| ripeness(b).total_cmp(&ripeness(a)));
        cells.iter().filter(|cell| wanted(cell)).map(|cell| cell.above + cell.below).sum()
    }
}
