//! Sets the damaged parts of tables aside, so that the rest of the tree is still compacted.
//!
//! A compaction that fails with `Corruption` ends. The worker then reads the table that the error
//! names, and notes which of its keys it cannot read ([`crate::db::state::damage`]). The policy
//! goes round these keys from then on.
//!
//! Invariant: setting aside changes no file and no version. Reads of the damaged keys fail as
//! before, and no older value shows through.

use std::path::PathBuf;
use std::sync::Arc;

use crate::compaction::policy::CutRange;
use crate::db::core::Core;
use crate::db::state::damage::{DamagedPart, key_range};
use crate::db::state::keyspace::KeyspaceState;
use crate::db::state::tree::Claim;
use crate::error::{Error, ErrorKind, Result};
use crate::events::Event;
use crate::key::Comparator;
use crate::table::{Gap, salvage};
use crate::version::{Key, TableRef, Upper, Version};

impl Core {
    /// Looks for the damage that ended a job, and sets it aside. Returns whether it is damage that
    /// was not known when the job was chosen, so that the policy has other jobs now. Another part
    /// of the job may have met it first.
    pub(crate) fn set_damage_aside(&self, claim: &Claim, error: &Error) -> bool {
        let Claim { keyspace, job, damage, .. } = claim;
        if error.kind() != ErrorKind::Corruption {
            return false;
        }
        let version = {
            let tree = self.lock_tree();
            let Some(own) = tree.keyspaces.get(&keyspace.id) else { return false };
            Arc::clone(&own.version)
        };
        let found = keyspace.guarded("a search for damage", || {
            let comparator = &*keyspace.comparator;
            let named = |table: &TableRef| error.path() == Some(&*self.path_of(table));
            for table in job.tables(&version, comparator).into_iter().filter(named) {
                self.set_table_aside(keyspace, &table, &version, error)?;
                let is_new = |part: &&DamagedPart| !damage.iter().any(|old| old.is_same(part));
                let is_in_job = |part: &DamagedPart| {
                    let range = key_range(&part.range);
                    match (&range.lo, &range.hi) {
                        (Some(lo), Some(hi)) => job.range.overlaps(comparator, lo, hi),
                        _ => true,
                    }
                };
                let noted = keyspace.damage.list();
                let mut of_table = noted.iter().filter(|part| part.is_of(&table));
                if of_table.any(|part| is_new(&part) && is_in_job(part)) {
                    return Ok(true);
                }
            }
            Ok(false)
        });
        if matches!(found, Ok(true)) {
            self.plan_round_damage(keyspace);
        }
        found.unwrap_or(false)
    }

    /// Sets the damaged parts of a table aside. Returns those that were not known, and tells
    /// listeners of them.
    pub(super) fn set_table_aside(
        &self,
        keyspace: &KeyspaceState,
        table: &TableRef,
        version: &Version,
        error: &Error,
    ) -> Result<Vec<DamagedPart>> {
        let new = keyspace.damage.add(self.damage_of(keyspace, table, version, error)?);
        if !new.is_empty() {
            self.tell_damage(keyspace, table, &new, error);
        }
        Ok(new)
    }

    /// Has the policy look at a tree again, after new damage was set aside.
    pub(super) fn plan_round_damage(&self, keyspace: &KeyspaceState) {
        if let Some(own) = self.lock_tree().keyspaces.get_mut(&keyspace.id) {
            own.settled = false;
            self.background.rest.note_news();
            self.set_pace(own);
        }
    }

    fn tell_damage(
        &self,
        keyspace: &KeyspaceState,
        table: &TableRef,
        parts: &[DamagedPart],
        error: &Error,
    ) {
        for part in parts {
            self.events.tell(&Event::TableDamaged {
                keyspace: Arc::clone(&keyspace.name),
                file: self.path_of(table),
                first_key: part.range.lo.as_deref().map(<[u8]>::to_vec),
                end_key: part.range.hi.as_deref().map(<[u8]>::to_vec),
                error: error.clone(),
            });
        }
    }

    fn path_of(&self, table: &TableRef) -> PathBuf {
        self.names.table(table.file.number)
    }

    /// Returns the parts of a table that cannot be read.
    fn damage_of(
        &self,
        keyspace: &KeyspaceState,
        table: &TableRef,
        version: &Version,
        error: &Error,
    ) -> Result<Vec<DamagedPart>> {
        let comparator = &*keyspace.comparator;
        let number = table.file.number;
        let all = || {
            let hi = end_of(&table.hi, version, comparator);
            let range = CutRange { lo: Some(Arc::clone(&table.lo)), hi };
            Ok(vec![DamagedPart { file: number, range, error: error.clone() }])
        };
        match keyspace.tables.get_owned(&table.file) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Corruption => return all(),
            Err(error) => return Err(error),
        }
        let path = self.path_of(table);
        let file = self.options.env.fs.open(&path);
        let file = file.map_err(|error| Error::io(&path, "open the table", &error))?;
        let order = Arc::clone(&keyspace.comparator);
        let found = salvage(file, &path, number, order, &mut |_, _, _| Ok(()))?;
        if found.lost_tombstones && table.has_range_tombstones() {
            return all();
        }
        let parts = found.gaps.into_iter().map(|gap| DamagedPart {
            file: number,
            range: range_of(gap, table, version, comparator),
            error: error.clone(),
        });
        Ok(parts.filter(|part| part.meets(table, comparator)).collect())
    }
}

/// Returns the keys of a gap. Both of its ends can be read, and belong to it. So a compaction that
/// ends before the range, or begins after it, reads no damaged block.
fn range_of(gap: Gap, table: &TableRef, version: &Version, cmp: &dyn Comparator) -> CutRange {
    let lo = gap.after.map_or_else(|| Arc::clone(&table.file.smallest), Key::from);
    let hi = match gap.before {
        Some(before) => key_after(&before, version, cmp),
        None => end_of(&table.file.end, version, cmp),
    };
    CutRange { lo: Some(lo), hi }
}

fn end_of(end: &Upper, version: &Version, comparator: &dyn Comparator) -> Option<Key> {
    match end {
        Upper::Excluded(key) => Some(Arc::clone(key)),
        Upper::Included(key) => key_after(key, version, comparator),
    }
}

/// Returns the first key after this one in byte order. A comparator of the caller sees only keys
/// that were written, so there it is the next key that the tree knows.
fn key_after(key: &[u8], version: &Version, comparator: &dyn Comparator) -> Option<Key> {
    if comparator.bytewise_order() {
        return Some([key, &[0]].concat().into());
    }
    let known = version.tables().flat_map(|table| {
        let ends: [&[u8]; 2] = [&table.lo, table.hi.key()];
        ends.into_iter().chain(table.file.samples.iter())
    });
    let behind = known.filter(|known| comparator.compare(known, key).is_gt());
    behind.min_by(|a, b| comparator.compare(a, b)).map(Key::from)
}
