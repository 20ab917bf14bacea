//! Deletes that have come to rest in memtables: they are flushed, so that the space of what they
//! deleted returns.
//!
//! A delete frees nothing before it is in a table, where a compaction meets the records below it. A
//! program that deletes much and then writes nothing more would never fill the memtable that holds
//! the deletes. So a worker looks at the memtables once nothing was written for a while, and has
//! them flushed if their deletes hide enough bytes of tables. Deletes of a few keys wait, because
//! each flush costs a table and its syncs.
//!
//! Invariant: a database at rest stays asleep. The first delete after a look wakes the workers, and
//! they look again until nothing was written for a while. Then they sleep until the next delete.
//!
//! A write that finds the flag raised leaves it alone. So the flag is lowered under the writer
//! lock:
//!
//! ```text
//! write    a.DEL | is it raised? yes
//! worker                              lower it | look: a.DEL may not be visible yet
//! ```
//!
//! With the lock, a write comes before the look, which sees its deletes; or it comes after, and
//! finds the flag down.

use std::sync::Arc;

use crate::db::core::Core;
use crate::db::state::keyspace::KeyspaceState;
use crate::error::Result;
use crate::key::MAX_SEQNO;
use crate::memtable::Memtable;
use crate::version::TableRef;

/// Fewer hidden bytes than this are not worth a flush.
const LEAST: u64 = 1 << 20;
/// Hidden bytes are worth a flush if they are this part of a keyspace.
const LEAST_PART: u64 = 16;

impl Core {
    /// Seals the memtables and has them flushed, if nothing was written for a while and their
    /// deletes hide enough. Returns whether it did.
    pub(crate) fn seal_deletes_at_rest(&self) -> Result<bool> {
        let new = &self.background.requests.see_deletes;
        if !new.is_raised() {
            return Ok(false);
        }
        let is_quiet = self.is_quiet(&mut self.lock_tree());
        let Some(writer) = is_quiet.then(|| self.writer.try_lock()).flatten() else {
            // The flag waits for a later look. A look for jobs may have begun a rest since the
            // delete ended it.
            self.background.rest.end();
            return Ok(false);
        };
        // A later delete raises it again.
        new.lower();
        drop(writer);
        let is_worth = self.reserve.is_open()
            || self.keyspaces.all().iter().any(|keyspace| self.is_much_deleted(keyspace));
        if !is_worth {
            return Ok(false);
        }
        match self.writer.try_lock() {
            Some(mut writer) => {
                let sealed = self.seal_for_memory(&mut writer);
                // A full disk may refuse the next log. The worker tries again.
                sealed.inspect_err(|_| self.note_first_delete())?;
            }
            // Writes have begun again.
            None => {
                self.note_first_delete();
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether the deletes in a keyspace's memtables hide enough bytes of its tables.
    pub(crate) fn is_much_deleted(&self, keyspace: &Arc<KeyspaceState>) -> bool {
        let view = keyspace.view.load_full();
        let memtables: Vec<_> = view.memtables().collect();
        let deletes: u64 = memtables.iter().map(|memtable| memtable.deletes()).sum();
        let has_ranges = memtables.iter().any(|memtable| memtable.last_range_delete() > 0);
        if keyspace.has_failed() || keyspace.is_dropped() || (deletes == 0 && !has_ranges) {
            return false;
        }
        let (mut bytes, mut entries, mut hidden) = (0, 0, 0);
        let looked = keyspace.guarded("an estimate of deleted bytes", || {
            for table in view.version.tables() {
                let own = table.bytes(&*keyspace.comparator) + values_of(table);
                bytes += own;
                entries += table.file.entries;
                hidden += hidden_of(own, table, &memtables, keyspace);
            }
            Ok(())
        });
        let hidden = hidden + deletes.min(entries) * (bytes / entries.max(1));
        let most = self.settings.write_buffers.size as u64;
        looked.is_ok() && hidden >= LEAST.max((bytes / LEAST_PART).min(most))
    }
}

/// Returns the bytes of separated values that a table refers to.
fn values_of(table: &TableRef) -> u64 {
    table.file.references.iter().map(|(_, bytes)| bytes).sum()
}

/// Returns the bytes of a table that range tombstones of memtables hide, judged by the table's
/// samples.
fn hidden_of(
    bytes: u64,
    table: &TableRef,
    memtables: &[&Arc<Memtable>],
    keyspace: &KeyspaceState,
) -> u64 {
    let samples = || std::iter::once(&*table.lo).chain(table.file.samples.iter());
    let is_hidden = |key: &[u8]| {
        let mut sets = memtables.iter().filter_map(|memtable| memtable.range_tombstones());
        sets.any(|set| set.cover(&*keyspace.comparator, key, MAX_SEQNO) > 0)
    };
    let hidden = samples().filter(|key| is_hidden(key)).count() as u64;
    bytes / samples().count() as u64 * hidden
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use foldb_env::{Env, ManualClock, MemFs};

    use super::*;
    use crate::runtime::{Tenant, Work};
    use crate::{Db, Options};

    fn on_a_manual_clock() -> (Db, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::default());
        let env = Env { clock: Arc::clone(&clock) as _, ..Env::in_memory(MemFs::new()) };
        let db = Db::open("db", Options { create_if_missing: true, env, ..Options::default() });
        (db.unwrap(), clock)
    }

    /// A worker looked for jobs before a delete was published, and for deletes after it. It slept,
    /// and the raised flag kept later deletes from waking it.
    #[test]
    fn a_look_that_comes_too_early_for_a_delete_ends_the_rest() {
        let (db, _clock) = on_a_manual_clock();
        let core = db.core();
        let rest = &core.background.rest;
        db.delete("a").unwrap();
        rest.note_look(rest.news(), true);
        assert!(!core.seal_deletes_at_rest().unwrap());
        assert!(core.background.requests.see_deletes.is_raised(), "no look has seen the delete");
        assert!(core.works_when_idle(Work::Compaction), "no worker would look again");
    }

    /// A write that sees the flag raised does not raise it. Its delete must not come after the
    /// look, so the flag is not lowered during the write.
    #[test]
    fn no_look_at_deletes_comes_in_the_middle_of_a_write() {
        let (db, clock) = on_a_manual_clock();
        let core = db.core();
        let flag = &core.background.requests.see_deletes;
        db.delete("a").unwrap();
        assert!(!core.seal_deletes_at_rest().unwrap(), "the delete is new to the look");
        clock.advance(Duration::from_secs(2));
        core.background.rest.note_look(core.background.rest.news(), true);
        let writer = core.lock_writer().unwrap();
        assert!(!core.seal_deletes_at_rest().unwrap());
        assert!(flag.is_raised(), "the flag was lowered during a write");
        assert!(core.works_when_idle(Work::Compaction), "no worker would look again");
        drop(writer);
        assert!(!core.seal_deletes_at_rest().unwrap(), "the delete hides too little");
        assert!(!flag.is_raised(), "the delete was seen");
    }

    #[test]
    fn workers_sleep_again_once_they_have_looked_at_deletes_at_rest() {
        let (db, clock) = on_a_manual_clock();
        let core = db.core();
        let is_asleep = || !core.works_when_idle(Work::Compaction);
        let look = || {
            clock.advance(Duration::from_secs(1));
            while db.step_background().unwrap() {}
        };
        db.put("a", "1").unwrap();
        db.flush().unwrap();
        (0..3).for_each(|_| look());
        assert!(is_asleep());
        db.put("b", "2").unwrap();
        assert!(is_asleep(), "a put hides no bytes of tables worth a look");
        db.delete("a").unwrap();
        assert!(!is_asleep());
        look();
        assert!(!is_asleep(), "the last write is new to the look");
        look();
        assert!(is_asleep());
        assert_eq!(db.stats().flushes, 1, "the delete hides too little");
    }
}
