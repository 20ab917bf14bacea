//! LMDB: a copy-on-write B-tree in a memory map, one write transaction at a time.

use std::ops::Bound;
use std::path::Path;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, FlagSetMode, PutFlags, RoTxn, WithTls};

use super::{Key, Reads, Setup, Store, WideKey, WideValue, one_more};
use crate::failure::{Failure, Result};

/// Bytes of the map, and so the largest size of the database.
const MAP: usize = 16 << 30;

/// LMDB.
pub struct Lmdb {
    env: Env,
    entries: Database<Bytes, Bytes>,
}

/// One read transaction.
pub struct LmdbReads<'a> {
    transaction: RoTxn<'a, WithTls>,
    entries: Database<Bytes, Bytes>,
}

impl Reads for LmdbReads<'_> {
    #[inline]
    fn get<R>(&self, key: &WideKey, read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let value = self.entries.get(&self.transaction, key);
        Ok(value.map_err(Failure::during("lmdb: get"))?.map(read))
    }

    #[inline]
    fn range(&mut self, from: &WideKey, most: usize, mut visit: impl FnMut(&[u8])) -> Result<()> {
        let range = (Bound::Included(&from[..]), Bound::Unbounded);
        let entries = self.entries.range(&self.transaction, &range);
        for entry in entries.map_err(Failure::during("lmdb: range"))?.take(most) {
            let (_, value) = entry.map_err(Failure::during("lmdb: range"))?;
            visit(value);
        }
        Ok(())
    }
}

impl Store for Lmdb {
    type Reads<'a> = LmdbReads<'a>;

    fn open(setup: &Setup, directory: &Path) -> Result<Lmdb> {
        let mut options = EnvOpenOptions::new();
        options.map_size(MAP);
        if !setup.synced {
            // SAFETY: the flag weakens durability only. A crash of the system may damage the
            // database, and nothing reads it after one.
            unsafe { options.flags(EnvFlags::NO_SYNC) };
        }
        // SAFETY: the directory belongs to this run. Nothing else opens or changes its files.
        let env = unsafe { options.open(directory) }.map_err(Failure::during("lmdb: open"))?;
        let mut transaction = env.write_txn().map_err(Failure::during("lmdb: transaction"))?;
        let entries = env
            .create_database(&mut transaction, None)
            .map_err(Failure::during("lmdb: database"))?;
        transaction.commit().map_err(Failure::during("lmdb: commit"))?;
        Ok(Lmdb { env, entries })
    }

    fn settings(setup: &Setup) -> String {
        let flags = if setup.synced { "none" } else { "nosync" };
        format!(
            "map={MAP} block=4096 compression=none merge=get+put transactions=single-writer \
             flags={flags}"
        )
    }

    #[inline]
    fn add(&self, key: &Key) -> Result<u64> {
        let mut transaction = self.env.write_txn().map_err(Failure::during("lmdb: transaction"))?;
        let counter = self.entries.get(&transaction, key).map_err(Failure::during("lmdb: get"))?;
        let counter = one_more(counter);
        self.entries.put(&mut transaction, key, &counter).map_err(Failure::during("lmdb: put"))?;
        transaction.commit().map_err(Failure::during("lmdb: commit"))?;
        Ok(1)
    }

    fn merge(&self, key: &Key) -> Result<u64> {
        self.add(key)
    }

    fn load(&self, entries: impl Iterator<Item = (Key, u64)>) -> Result<()> {
        self.put_in_order(entries.map(|(key, counter)| (key, counter.to_le_bytes())))?;
        self.env.force_sync().map_err(Failure::during("lmdb: sync"))
    }

    fn append<'a>(
        &self,
        _: usize,
        entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()> {
        self.put_in_order(entries)
    }

    fn commit<'a>(
        &self,
        synced: bool,
        entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()> {
        self.sync_commits(synced)?;
        let mut transaction = self.env.write_txn().map_err(Failure::during("lmdb: transaction"))?;
        for (key, value) in entries {
            self.entries
                .put(&mut transaction, &key, value)
                .map_err(Failure::during("lmdb: put"))?;
        }
        transaction.commit().map_err(Failure::during("lmdb: commit"))
    }

    fn load_wide<'a>(&self, entries: impl Iterator<Item = (WideKey, &'a WideValue)>) -> Result<()> {
        self.sync_commits(true)?;
        self.put_in_order(entries)
    }

    fn remove(&self, keys: impl Iterator<Item = WideKey>) -> Result<()> {
        self.sync_commits(true)?;
        let mut transaction = self.env.write_txn().map_err(Failure::during("lmdb: transaction"))?;
        for key in keys {
            self.entries.delete(&mut transaction, &key).map_err(Failure::during("lmdb: delete"))?;
        }
        transaction.commit().map_err(Failure::during("lmdb: commit"))
    }

    fn count(&self) -> Result<u64> {
        let transaction = self.env.read_txn().map_err(Failure::during("lmdb: read"))?;
        self.entries.len(&transaction).map_err(Failure::during("lmdb: count"))
    }

    fn rest(&self) -> Result<()> {
        self.env.force_sync().map_err(Failure::during("lmdb: sync"))
    }

    fn reads(&self) -> Result<LmdbReads<'_>> {
        let transaction = self.env.read_txn().map_err(Failure::during("lmdb: read"))?;
        Ok(LmdbReads { transaction, entries: self.entries })
    }

    fn each(&self, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        let transaction = self.env.read_txn().map_err(Failure::during("lmdb: read"))?;
        for entry in self.entries.iter(&transaction).map_err(Failure::during("lmdb: scan"))? {
            let (key, value) = entry.map_err(Failure::during("lmdb: scan"))?;
            visit(key, value);
        }
        Ok(())
    }
}

impl Lmdb {
    /// Sets whether the commits that follow are synced.
    fn sync_commits(&self, synced: bool) -> Result<()> {
        let mode = if synced { FlagSetMode::Disable } else { FlagSetMode::Enable };
        // SAFETY: the flag weakens durability only, as in `open`.
        unsafe { self.env.set_flags(EnvFlags::NO_SYNC, mode) }
            .map_err(Failure::during("lmdb: flags"))
    }

    /// Appends entries in one transaction.
    fn put_in_order(
        &self,
        entries: impl Iterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
    ) -> Result<()> {
        let mut transaction = self.env.write_txn().map_err(Failure::during("lmdb: transaction"))?;
        for (key, value) in entries {
            self.entries
                .put_with_flags(&mut transaction, PutFlags::APPEND, key.as_ref(), value.as_ref())
                .map_err(Failure::during("lmdb: append"))?;
        }
        transaction.commit().map_err(Failure::during("lmdb: commit"))
    }
}
