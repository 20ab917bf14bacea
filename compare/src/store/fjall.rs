//! fjall's two kinds of transactions: one writer at a time, and optimistic ones.

use std::path::Path;

use fjall::{
    Database, DatabaseBuilder, Keyspace, OptimisticTxDatabase, OptimisticTxKeyspace,
    OwnedWriteBatch, PersistMode, Readable as _, SingleWriterTxDatabase, SingleWriterTxKeyspace,
    Snapshot,
};

use super::{Key, MOST_IN_A_COMMIT, Reads, Setup, Store, WideKey, WideValue, one_more};
use crate::engine::fjall_keyspace_options;
use crate::failure::{Failure, Result};

const KEYSPACE: &str = "default";

/// fjall with transactions that run one at a time.
pub struct FjallSingleWriter {
    db: SingleWriterTxDatabase,
    keyspace: SingleWriterTxKeyspace,
    persist: PersistMode,
}

/// fjall with optimistic transactions.
pub struct FjallOptimistic {
    db: OptimisticTxDatabase,
    keyspace: OptimisticTxKeyspace,
    persist: PersistMode,
}

/// One snapshot.
pub struct FjallReads<'a> {
    snapshot: Snapshot,
    keyspace: &'a Keyspace,
}

impl Reads for FjallReads<'_> {
    #[inline]
    fn get<R>(&self, key: &WideKey, read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let value = self.snapshot.get(self.keyspace, key).map_err(Failure::during("fjall: get"))?;
        Ok(value.map(|value| read(&value)))
    }

    #[inline]
    fn range(&mut self, from: &WideKey, most: usize, mut visit: impl FnMut(&[u8])) -> Result<()> {
        for entry in self.snapshot.range::<&WideKey, _>(self.keyspace, from..).take(most) {
            visit(&entry.value().map_err(Failure::during("fjall: range"))?);
        }
        Ok(())
    }
}

impl Store for FjallSingleWriter {
    type Reads<'a> = FjallReads<'a>;

    fn open(setup: &Setup, directory: &Path) -> Result<FjallSingleWriter> {
        let builder: DatabaseBuilder<SingleWriterTxDatabase> =
            SingleWriterTxDatabase::builder(directory);
        let db = builder
            .cache_size(setup.nominal.cache as u64)
            .open()
            .map_err(Failure::during("fjall: open"))?;
        let keyspace = db
            .keyspace(KEYSPACE, || fjall_keyspace_options(&setup.nominal))
            .map_err(Failure::during("fjall: open"))?;
        Ok(FjallSingleWriter { db, keyspace, persist: persist(setup) })
    }

    fn settings(setup: &Setup) -> String {
        settings(setup, "single-writer")
    }

    #[inline]
    fn add(&self, key: &Key) -> Result<u64> {
        let mut transaction = self.db.write_tx().durability(Some(self.persist));
        let value = transaction.get(&self.keyspace, key).map_err(Failure::during("fjall: get"))?;
        transaction.insert(&self.keyspace, *key, one_more(value.as_deref()));
        transaction.commit().map_err(Failure::during("fjall: commit"))?;
        Ok(1)
    }

    fn merge(&self, key: &Key) -> Result<u64> {
        self.add(key)
    }

    fn load(&self, entries: impl Iterator<Item = (Key, u64)>) -> Result<()> {
        ingest(self.keyspace.inner(), entries.map(|(key, counter)| (key, counter.to_le_bytes())))?;
        self.db.persist(PersistMode::SyncAll).map_err(Failure::during("fjall: sync"))
    }

    fn append<'a>(
        &self,
        batch: usize,
        entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()> {
        append(self.db.inner(), self.keyspace.inner(), batch, entries)
    }

    fn commit<'a>(
        &self,
        synced: bool,
        entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()> {
        in_batches(self.db.inner(), synced, entries, |batch, (key, value)| {
            batch.insert(self.keyspace.inner(), key, value);
        })
    }

    fn load_wide<'a>(&self, entries: impl Iterator<Item = (WideKey, &'a WideValue)>) -> Result<()> {
        ingest(self.keyspace.inner(), entries)?;
        self.db.persist(PersistMode::SyncAll).map_err(Failure::during("fjall: sync"))
    }

    fn remove(&self, keys: impl Iterator<Item = WideKey>) -> Result<()> {
        in_batches(self.db.inner(), true, keys, |batch, key| {
            batch.remove(self.keyspace.inner(), key);
        })
    }

    fn count(&self) -> Result<u64> {
        count(self.keyspace.inner())
    }

    fn rest(&self) -> Result<()> {
        rest(self.keyspace.inner())
    }

    fn reads(&self) -> Result<FjallReads<'_>> {
        Ok(FjallReads { snapshot: self.db.read_tx(), keyspace: self.keyspace.inner() })
    }

    fn each(&self, visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        scan(self.keyspace.inner(), visit)
    }
}

impl Store for FjallOptimistic {
    type Reads<'a> = FjallReads<'a>;

    fn open(setup: &Setup, directory: &Path) -> Result<FjallOptimistic> {
        let builder: DatabaseBuilder<OptimisticTxDatabase> =
            OptimisticTxDatabase::builder(directory);
        let db = builder
            .cache_size(setup.nominal.cache as u64)
            .open()
            .map_err(Failure::during("fjall: open"))?;
        let keyspace = db
            .keyspace(KEYSPACE, || fjall_keyspace_options(&setup.nominal))
            .map_err(Failure::during("fjall: open"))?;
        Ok(FjallOptimistic { db, keyspace, persist: persist(setup) })
    }

    fn settings(setup: &Setup) -> String {
        settings(setup, "optimistic")
    }

    #[inline]
    fn add(&self, key: &Key) -> Result<u64> {
        let mut attempts = 1;
        loop {
            let transaction = self.db.write_tx().map_err(Failure::during("fjall: transaction"))?;
            let mut transaction = transaction.durability(Some(self.persist));
            let value =
                transaction.get(&self.keyspace, key).map_err(Failure::during("fjall: get"))?;
            transaction.insert(&self.keyspace, *key, one_more(value.as_deref()));
            if transaction.commit().map_err(Failure::during("fjall: commit"))?.is_ok() {
                return Ok(attempts);
            }
            attempts += 1;
        }
    }

    fn merge(&self, key: &Key) -> Result<u64> {
        self.add(key)
    }

    fn load(&self, entries: impl Iterator<Item = (Key, u64)>) -> Result<()> {
        ingest(self.keyspace.inner(), entries.map(|(key, counter)| (key, counter.to_le_bytes())))?;
        self.db.persist(PersistMode::SyncAll).map_err(Failure::during("fjall: sync"))
    }

    fn append<'a>(
        &self,
        batch: usize,
        entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()> {
        append(self.db.inner(), self.keyspace.inner(), batch, entries)
    }

    fn commit<'a>(
        &self,
        synced: bool,
        entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()> {
        in_batches(self.db.inner(), synced, entries, |batch, (key, value)| {
            batch.insert(self.keyspace.inner(), key, value);
        })
    }

    fn load_wide<'a>(&self, entries: impl Iterator<Item = (WideKey, &'a WideValue)>) -> Result<()> {
        ingest(self.keyspace.inner(), entries)?;
        self.db.persist(PersistMode::SyncAll).map_err(Failure::during("fjall: sync"))
    }

    fn remove(&self, keys: impl Iterator<Item = WideKey>) -> Result<()> {
        in_batches(self.db.inner(), true, keys, |batch, key| {
            batch.remove(self.keyspace.inner(), key);
        })
    }

    fn count(&self) -> Result<u64> {
        count(self.keyspace.inner())
    }

    fn rest(&self) -> Result<()> {
        rest(self.keyspace.inner())
    }

    fn reads(&self) -> Result<FjallReads<'_>> {
        Ok(FjallReads { snapshot: self.db.read_tx(), keyspace: self.keyspace.inner() })
    }

    fn each(&self, visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        scan(self.keyspace.inner(), visit)
    }
}

fn persist(setup: &Setup) -> PersistMode {
    if setup.synced { PersistMode::SyncData } else { PersistMode::Buffer }
}

fn settings(setup: &Setup, transactions: &str) -> String {
    let nominal = &setup.nominal;
    format!(
        "write_buffer={} cache={} block={} bloom_bits={} compression=lz4 compaction=leveled \
         merge=get+put transactions={transactions} commits={}",
        nominal.write_buffer,
        nominal.cache,
        nominal.block,
        nominal.bloom_bits,
        setup.durability()
    )
}

fn ingest(
    keyspace: &Keyspace,
    entries: impl Iterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
) -> Result<()> {
    let mut ingestion = keyspace.start_ingestion().map_err(Failure::during("fjall: ingestion"))?;
    for (key, value) in entries {
        ingestion
            .write(key.as_ref(), value.as_ref())
            .map_err(Failure::during("fjall: ingestion"))?;
    }
    ingestion.finish().map_err(Failure::during("fjall: end of an ingestion"))
}

fn append<'a>(
    db: &Database,
    keyspace: &Keyspace,
    batch: usize,
    mut entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
) -> Result<()> {
    if batch == 1 {
        return entries
            .try_for_each(|(key, value)| keyspace.insert(key, value))
            .map_err(Failure::during("fjall: insert"));
    }
    loop {
        let mut writes = db.batch().durability(Some(PersistMode::Buffer));
        for (key, value) in entries.by_ref().take(batch) {
            writes.insert(keyspace, key, value);
        }
        if writes.is_empty() {
            return Ok(());
        }
        writes.commit().map_err(Failure::during("fjall: batch"))?;
    }
}

/// Adds each item to a batch by `add`, and commits the batches. The last one is synced if asked.
fn in_batches<T>(
    db: &Database,
    synced: bool,
    items: impl Iterator<Item = T>,
    add: impl Fn(&mut OwnedWriteBatch, T),
) -> Result<()> {
    let mut items = items.peekable();
    while items.peek().is_some() {
        let mut batch = db.batch();
        items.by_ref().take(MOST_IN_A_COMMIT).for_each(|item| add(&mut batch, item));
        let is_last = items.peek().is_none();
        let mode = if synced && is_last { PersistMode::SyncData } else { PersistMode::Buffer };
        batch.durability(Some(mode)).commit().map_err(Failure::during("fjall: batch"))?;
    }
    Ok(())
}

fn count(keyspace: &Keyspace) -> Result<u64> {
    let entries = keyspace.len().map_err(Failure::during("fjall: count"))?;
    Ok(entries as u64)
}

/// fjall compacts all tables in this call.
fn rest(keyspace: &Keyspace) -> Result<()> {
    keyspace.rotate_memtable_and_wait().map_err(Failure::during("fjall: flush"))?;
    keyspace.major_compact().map_err(Failure::during("fjall: compaction"))
}

fn scan(keyspace: &Keyspace, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
    for entry in keyspace.iter() {
        let (key, value) = entry.into_inner().map_err(Failure::during("fjall: scan"))?;
        visit(&key, &value);
    }
    Ok(())
}
