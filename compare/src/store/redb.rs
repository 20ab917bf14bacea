//! redb: a copy-on-write B-tree, one write transaction at a time.
//!
//! Its unsynced commits (`Durability::None`) stay in the process until a synced commit, so a kill
//! of the process loses them.

use std::path::Path;

use redb::{
    Database, Durability, ReadableDatabase as _, ReadableTable as _, TableDefinition,
    WriteTransaction,
};

use super::{Key, Setup, Store};
use crate::failure::{Failure, Result};

/// Keys and values of fixed sizes, which redb stores without lengths.
const TABLE: TableDefinition<'_, Key, u64> = TableDefinition::new("counters");

/// redb.
pub struct Redb {
    db: Database,
    durability: Durability,
}

impl Store for Redb {
    fn open(setup: &Setup, directory: &Path) -> Result<Redb> {
        let db = Database::builder()
            .set_cache_size(setup.nominal.cache)
            .create(directory.join("data.redb"))
            .map_err(Failure::during("redb: open"))?;
        let durability = if setup.synced { Durability::Immediate } else { Durability::None };
        let store = Redb { db, durability };
        // Reads fail until the table exists.
        store.write(Durability::Immediate, |_| Ok(()))?;
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
        self.write(self.durability, |table| {
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
        self.write(Durability::Immediate, |table| {
            for (key, counter) in entries {
                table.insert(key, counter).map_err(Failure::during("redb: insert"))?;
            }
            Ok(())
        })
    }

    fn each(&self, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        let transaction = self.db.begin_read().map_err(Failure::during("redb: read"))?;
        let table = transaction.open_table(TABLE).map_err(Failure::during("redb: table"))?;
        for entry in table.iter().map_err(Failure::during("redb: scan"))? {
            let (key, counter) = entry.map_err(Failure::during("redb: scan"))?;
            visit(&key.value(), &counter.value().to_le_bytes());
        }
        Ok(())
    }
}

impl Redb {
    fn write(
        &self,
        durability: Durability,
        work: impl FnOnce(&mut redb::Table<'_, Key, u64>) -> Result<()>,
    ) -> Result<()> {
        let mut transaction: WriteTransaction =
            self.db.begin_write().map_err(Failure::during("redb: transaction"))?;
        transaction.set_durability(durability).map_err(Failure::during("redb: durability"))?;
        {
            let mut table =
                transaction.open_table(TABLE).map_err(Failure::during("redb: table"))?;
            work(&mut table)?;
        }
        transaction.commit().map_err(Failure::during("redb: commit"))
    }
}
