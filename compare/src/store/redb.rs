//! redb: a copy-on-write B-tree, one write transaction at a time.
//!
//! Its unsynced commits (`Durability::None`) stay in the process until a synced commit, so a kill
//! of the process loses them.

use std::path::Path;

use redb::{
    Database, Durability, ReadOnlyTable, ReadableDatabase as _, ReadableTable as _,
    ReadableTableMetadata as _, TableDefinition, WriteTransaction,
};

use super::{Key, Reads, Setup, Store, WideKey, WideValue};
use crate::failure::{Failure, Result};

/// Keys and values of fixed sizes, which redb stores without lengths.
const TABLE: TableDefinition<'_, Key, u64> = TableDefinition::new("counters");
const WIDE: WideTable<'_> = TableDefinition::new("wide");

type WideTable<'a> = TableDefinition<'a, &'static WideKey, &'static WideValue>;

/// redb.
pub struct Redb {
    db: Database,
    durability: Durability,
}

/// The table of wide entries in one read transaction.
pub struct RedbReads(ReadOnlyTable<&'static WideKey, &'static WideValue>);

impl Reads for RedbReads {
    #[inline]
    fn get<R>(&self, key: &WideKey, read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let guard = self.0.get(key).map_err(Failure::during("redb: get"))?;
        Ok(guard.map(|guard| read(guard.value())))
    }

    #[inline]
    fn range(&mut self, from: &WideKey, most: usize, mut visit: impl FnMut(&[u8])) -> Result<()> {
        let entries = self.0.range::<&WideKey>(from..).map_err(Failure::during("redb: range"))?;
        for entry in entries.take(most) {
            visit(entry.map_err(Failure::during("redb: range"))?.1.value());
        }
        Ok(())
    }
}

impl Store for Redb {
    type Reads<'a> = RedbReads;

    fn open(setup: &Setup, directory: &Path) -> Result<Redb> {
        let db = Database::builder()
            .set_cache_size(setup.nominal.cache)
            .create(directory.join("data.redb"))
            .map_err(Failure::during("redb: open"))?;
        let durability = if setup.synced { Durability::Immediate } else { Durability::None };
        let store = Redb { db, durability };
        // Reads fail until the table exists.
        store.write(TABLE, Durability::Immediate, |_| Ok(()))?;
        store.write(WIDE, Durability::Immediate, |_| Ok(()))?;
        Ok(store)
    }

    fn settings(setup: &Setup) -> String {
        let durability = if setup.synced { "immediate" } else { "none" };
        format!(
            "cache={} block=4096 compression=none merge=get+put transactions=single-writer \
             durability={durability}",
            setup.nominal.cache
        )
    }

    #[inline]
    fn add(&self, key: &Key) -> Result<u64> {
        self.write(TABLE, self.durability, |table| {
            let counter = table.get(key).map_err(Failure::during("redb: get"))?;
            let counter = counter.map_or(0, |guard| guard.value());
            table.insert(key, counter + 1).map_err(Failure::during("redb: insert"))?;
            Ok(())
        })?;
        Ok(1)
    }

    fn merge(&self, key: &Key) -> Result<u64> {
        self.add(key)
    }

    fn load(&self, entries: impl Iterator<Item = (Key, u64)>) -> Result<()> {
        self.write(TABLE, Durability::Immediate, |table| {
            for (key, counter) in entries {
                table.insert(key, counter).map_err(Failure::during("redb: insert"))?;
            }
            Ok(())
        })
    }

    fn append<'a>(
        &self,
        _: usize,
        entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()> {
        self.write(WIDE, self.durability, |table| {
            for (key, value) in entries {
                table.insert(&key, value).map_err(Failure::during("redb: insert"))?;
            }
            Ok(())
        })
    }

    fn commit<'a>(
        &self,
        synced: bool,
        entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()> {
        let durability = if synced { Durability::Immediate } else { Durability::None };
        self.write(WIDE, durability, |table| {
            for (key, value) in entries {
                table.insert(&key, value).map_err(Failure::during("redb: insert"))?;
            }
            Ok(())
        })
    }

    fn load_wide<'a>(&self, entries: impl Iterator<Item = (WideKey, &'a WideValue)>) -> Result<()> {
        self.commit(true, entries)
    }

    fn remove(&self, keys: impl Iterator<Item = WideKey>) -> Result<()> {
        self.write(WIDE, Durability::Immediate, |table| {
            for key in keys {
                table.remove(&key).map_err(Failure::during("redb: remove"))?;
            }
            Ok(())
        })
    }

    fn count(&self) -> Result<u64> {
        self.reads()?.0.len().map_err(Failure::during("redb: count"))
    }

    /// Writes what earlier commits kept in memory.
    fn rest(&self) -> Result<()> {
        self.write(WIDE, Durability::Immediate, |_| Ok(()))
    }

    fn reads(&self) -> Result<RedbReads> {
        let transaction = self.db.begin_read().map_err(Failure::during("redb: read"))?;
        transaction.open_table(WIDE).map(RedbReads).map_err(Failure::during("redb: table"))
    }

    fn each(&self, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        let transaction = self.db.begin_read().map_err(Failure::during("redb: read"))?;
        let table = transaction.open_table(TABLE).map_err(Failure::during("redb: table"))?;
        for entry in table.iter().map_err(Failure::during("redb: scan"))? {
            let (key, counter) = entry.map_err(Failure::during("redb: scan"))?;
            visit(&key.value(), &counter.value().to_le_bytes());
        }
        let wide = transaction.open_table(WIDE).map_err(Failure::during("redb: table"))?;
        for entry in wide.iter().map_err(Failure::during("redb: scan"))? {
            let (key, value) = entry.map_err(Failure::during("redb: scan"))?;
            visit(key.value(), value.value());
        }
        Ok(())
    }
}

impl Redb {
    fn write<K: redb::Key + 'static, V: redb::Value + 'static>(
        &self,
        table: TableDefinition<'_, K, V>,
        durability: Durability,
        work: impl FnOnce(&mut redb::Table<'_, K, V>) -> Result<()>,
    ) -> Result<()> {
        let mut transaction: WriteTransaction =
            self.db.begin_write().map_err(Failure::during("redb: transaction"))?;
        transaction.set_durability(durability).map_err(Failure::during("redb: durability"))?;
        {
            let mut table =
                transaction.open_table(table).map_err(Failure::during("redb: table"))?;
            work(&mut table)?;
        }
        transaction.commit().map_err(Failure::during("redb: commit"))
    }
}
