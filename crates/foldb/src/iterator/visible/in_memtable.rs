//! The entries of a single memtable.
//!
//! Where a memtable is the only source, nothing is merged, the memtable says where keys change, and
//! a chain borrows its values. Invariant: the entries equal those of the general way.

use foldb_chains::Way;

use crate::error::Result;
use crate::iterator::origin::Viewpoint;
use crate::iterator::visible::{Visible, set_key};
use crate::memtable;
use crate::memtable::{Usual, fold_usual};
use crate::value::Value;

impl Visible {
    #[inline]
    pub(in crate::iterator) fn is_in_memtable(&mut self) -> bool {
        self.records.only_memtable().is_some()
    }

    /// Does [`Visible::come_to_key`] in the memtable.
    #[inline]
    pub(in crate::iterator) fn come_to_key_of_memtable(&mut self) -> bool {
        let Some(cursor) = self.records.only_memtable().filter(|cursor| cursor.valid()) else {
            return false;
        };
        set_key(&mut self.key, cursor.newest_key(self.viewpoint.seqno));
        true
    }

    /// Does [`Visible::fold_key`] in the memtable.
    #[inline]
    pub(in crate::iterator) fn fold_key_of_memtable(&mut self, way: Way) -> Result<bool> {
        let found = match self.fold_lent() {
            Some(found) => found,
            None => {
                self.begin_chain()?;
                if let Some(cursor) = self.records.only_memtable() {
                    memtable::collect_under(cursor, self.viewpoint.seqno, &mut self.chain);
                }
                self.fold()
            }
        };
        if let Some(cursor) = self.records.only_memtable() {
            match way {
                Way::Forward => cursor.next_key(),
                Way::Backward => cursor.prev_key(),
            }
        }
        Ok(found)
    }

    /// Does [`Visible::fold`] of the usual chain under the memtable's cursor. Returns `None` if the
    /// chain is not a usual one.
    #[inline]
    fn fold_lent(&mut self) -> Option<bool> {
        let Visible { viewpoint, records, covers, operators, key, value, scratch, .. } = self;
        let Viewpoint { seqno, time, origin, report, .. } = viewpoint;
        let cursor = records.only_memtable()?;
        if covers.is_some() || time.is_some() {
            return None;
        }
        let versions = memtable::versions(cursor, *seqno);
        let (answer, operands) = fold_usual(
            key,
            versions,
            || &**operators.get_or_insert_with(|| origin.operators()).load(),
            scratch,
        )?;
        if let Some(report) = report {
            report.saw_operands(operands);
        }
        let found = match answer {
            Usual::Absent => false,
            Usual::Made(made) => {
                *value = Ok(made);
                true
            }
            Usual::Lent(lent) => {
                match value {
                    Ok(value) => value.set_lent(cursor.chains(), lent),
                    Err(_) => {
                        let mut kept = Value::default();
                        kept.set_lent(cursor.chains(), lent);
                        *value = Ok(kept);
                    }
                }
                true
            }
        };
        cursor.looked_at(operands + 1);
        Some(found)
    }
}
