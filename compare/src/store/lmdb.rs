//! LMDB: a copy-on-write B-tree in a memory map, one write transaction at a time.

use std::path::Path;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, PutFlags};

use super::{Key, Setup, Store, one_more};
use crate::failure::{Failure, Result};

/// Bytes of the map, and so the largest size of the database.
const MAP: usize = 16 << 30;

/// LMDB.
pub struct Lmdb {
    env: Env,
    entries: Database<Bytes, Bytes>,
}

impl Store for Lmdb {
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
        let mut transaction = self.env.write_txn().map_err(Failure::during("lmdb: transaction"))?;
        for (key, counter) in entries {
            let value = counter.to_le_bytes();
            self.entries
                .put_with_flags(&mut transaction, PutFlags::APPEND, &key, &value)
                .map_err(Failure::during("lmdb: append"))?;
        }
        transaction.commit().map_err(Failure::during("lmdb: commit"))?;
        self.env.force_sync().map_err(Failure::during("lmdb: sync"))
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
