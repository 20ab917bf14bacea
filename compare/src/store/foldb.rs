//! foldb: optimistic, serializable transactions in which merges do not conflict.

use std::path::Path;

use foldb::{Db, TransactionOptions, WriteOptions};

use super::{Key, Setup, Store, one_more};
use crate::engine::foldb_options;
use crate::failure::{Failure, Result};

/// foldb.
#[derive(Debug)]
pub struct Foldb {
    db: Db,
    transaction: TransactionOptions,
}

impl Store for Foldb {
    fn open(setup: &Setup, directory: &Path) -> Result<Foldb> {
        let options = foldb_options(&setup.nominal);
        let db = Db::open(directory, options).map_err(Failure::during("foldb: open"))?;
        let write = WriteOptions { sync: setup.synced, ..WriteOptions::default() };
        let transaction = TransactionOptions { write, ..TransactionOptions::default() };
        Ok(Foldb { db, transaction })
    }

    fn settings(setup: &Setup) -> String {
        format!(
            "{} compression=lz4 transactions=serializable commits={}",
            setup.nominal.describe(),
            setup.durability()
        )
    }

    #[inline]
    fn add(&self, key: &Key) -> Result<u64> {
        let mut attempts = 0;
        let added = self.db.with(&self.transaction).transact(|transaction| {
            attempts += 1;
            let counter = one_more(transaction.get(key)?.as_deref());
            transaction.put(key, counter)
        });
        added.map(|()| attempts).map_err(Failure::during("foldb: transaction"))
    }

    #[inline]
    fn merge(&self, key: &Key) -> Result<u64> {
        let mut attempts = 0;
        let merged = self.db.with(&self.transaction).transact(|transaction| {
            attempts += 1;
            transaction.merge(key, one_more(None))
        });
        merged.map(|()| attempts).map_err(Failure::during("foldb: transaction"))
    }

    fn load(&self, entries: impl Iterator<Item = (Key, u64)>) -> Result<()> {
        let mut load = self.db.sorted_load().map_err(Failure::during("foldb: load"))?;
        for (key, counter) in entries {
            load.put(key, counter.to_le_bytes()).map_err(Failure::during("foldb: load"))?;
        }
        load.finish().map(|_| ()).map_err(Failure::during("foldb: end of a load"))
    }

    fn each(&self, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        let mut iter = self.db.iter().map_err(Failure::during("foldb: scan"))?;
        let mut valid = iter.seek_to_first().map_err(Failure::during("foldb: scan"))?;
        while valid {
            visit(iter.key(), iter.value().map_err(Failure::during("foldb: scan"))?);
            valid = iter.advance().map_err(Failure::during("foldb: scan"))?;
        }
        Ok(())
    }
}
