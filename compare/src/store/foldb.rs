//! foldb: optimistic, serializable transactions in which merges do not conflict.

use std::path::Path;

use foldb::{Db, Iter, TransactionOptions, WriteBatch, WriteOptions};

use super::{Key, MOST_IN_A_COMMIT, Reads, Setup, Store, WideKey, WideValue, one_more};
use crate::engine::foldb_options;
use crate::failure::{Failure, Result};

/// foldb.
#[derive(Debug)]
pub struct Foldb {
    db: Db,
    transaction: TransactionOptions,
}

/// The database, and an iterator that serves all ranges.
pub struct FoldbReads<'a> {
    db: &'a Db,
    iter: Iter,
}

impl Reads for FoldbReads<'_> {
    #[inline]
    fn get<R>(&self, key: &WideKey, read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let value = self.db.get(key).map_err(Failure::during("foldb: get"))?;
        Ok(value.map(|value| read(&value)))
    }

    #[inline]
    fn range(&mut self, from: &WideKey, most: usize, mut visit: impl FnMut(&[u8])) -> Result<()> {
        let mut valid = self.iter.seek(from).map_err(Failure::during("foldb: seek"))?;
        for place in 1..=most {
            if !valid {
                break;
            }
            visit(self.iter.value().map_err(Failure::during("foldb: range"))?);
            valid = place < most && self.iter.advance().map_err(Failure::during("foldb: range"))?;
        }
        Ok(())
    }
}

impl Store for Foldb {
    type Reads<'a> = FoldbReads<'a>;

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
        self.load_in_order(entries.map(|(key, counter)| (key, counter.to_le_bytes())))
    }

    fn append<'a>(
        &self,
        batch: usize,
        mut entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()> {
        if batch == 1 {
            return entries
                .try_for_each(|(key, value)| self.db.put(key, value))
                .map_err(Failure::during("foldb: put"));
        }
        let mut writes = WriteBatch::new();
        loop {
            writes.clear();
            for (key, value) in entries.by_ref().take(batch) {
                writes.put(key, value);
            }
            if writes.is_empty() {
                return Ok(());
            }
            self.db.write(&writes).map_err(Failure::during("foldb: batch"))?;
        }
    }

    fn commit<'a>(
        &self,
        synced: bool,
        entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()> {
        self.in_batches(synced, entries, |batch, (key, value)| {
            batch.put(key, value);
        })
    }

    fn load_wide<'a>(&self, entries: impl Iterator<Item = (WideKey, &'a WideValue)>) -> Result<()> {
        self.load_in_order(entries)
    }

    fn remove(&self, keys: impl Iterator<Item = WideKey>) -> Result<()> {
        self.in_batches(true, keys, |batch, key| {
            batch.delete(key);
        })
    }

    fn count(&self) -> Result<u64> {
        let mut iter = self.db.iter().map_err(Failure::during("foldb: count"))?;
        let mut entries = 0;
        let mut valid = iter.seek_to_first().map_err(Failure::during("foldb: count"))?;
        while valid {
            entries += 1;
            valid = iter.advance().map_err(Failure::during("foldb: count"))?;
        }
        Ok(entries)
    }

    fn rest(&self) -> Result<()> {
        self.db.flush().map_err(Failure::during("foldb: flush"))?;
        self.db.compact(..).map_err(Failure::during("foldb: compaction"))?;
        self.db.wait_for_background().map_err(Failure::during("foldb: background work"))
    }

    fn reads(&self) -> Result<FoldbReads<'_>> {
        let iter = self.db.iter().map_err(Failure::during("foldb: iterator"))?;
        Ok(FoldbReads { db: &self.db, iter })
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

impl Foldb {
    fn load_in_order(
        &self,
        entries: impl Iterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
    ) -> Result<()> {
        let mut load = self.db.sorted_load().map_err(Failure::during("foldb: load"))?;
        for (key, value) in entries {
            load.put(key, value).map_err(Failure::during("foldb: load"))?;
        }
        load.finish().map(|_| ()).map_err(Failure::during("foldb: end of a load"))
    }

    /// Adds each item to a batch by `add`, and writes the batches. The last one is synced if asked.
    fn in_batches<T>(
        &self,
        synced: bool,
        items: impl Iterator<Item = T>,
        add: impl Fn(&mut WriteBatch, T),
    ) -> Result<()> {
        let mut items = items.peekable();
        let mut batch = WriteBatch::new();
        while items.peek().is_some() {
            batch.clear();
            items.by_ref().take(MOST_IN_A_COMMIT).for_each(|item| add(&mut batch, item));
            let sync = synced && items.peek().is_none();
            let options = WriteOptions { sync, ..WriteOptions::default() };
            self.db.with(&options).write(&batch).map_err(Failure::during("foldb: batch"))?;
        }
        Ok(())
    }
}
