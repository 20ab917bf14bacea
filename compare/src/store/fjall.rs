//! fjall's two kinds of transactions: one writer at a time, and optimistic ones.

use std::path::Path;

use fjall::{
    Database, DatabaseBuilder, Keyspace, OptimisticTxDatabase, OptimisticTxKeyspace, PersistMode,
    Readable as _, SingleWriterTxDatabase, SingleWriterTxKeyspace, Snapshot,
};

use super::{Key, Reads, Setup, Store, WideKey, WideValue, one_more};
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
        ingest(self.keyspace.inner(), entries)?;
        self.db.persist(PersistMode::SyncAll).map_err(Failure::during("fjall: sync"))
    }

    fn append<'a>(
        &self,
        batch: usize,
        entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()> {
        append(self.db.inner(), self.keyspace.inner(), batch, entries)
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
        ingest(self.keyspace.inner(), entries)?;
        self.db.persist(PersistMode::SyncAll).map_err(Failure::during("fjall: sync"))
    }

    fn append<'a>(
        &self,
        batch: usize,
        entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()> {
        append(self.db.inner(), self.keyspace.inner(), batch, entries)
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

fn ingest(keyspace: &Keyspace, entries: impl Iterator<Item = (Key, u64)>) -> Result<()> {
    let mut ingestion = keyspace.start_ingestion().map_err(Failure::during("fjall: ingestion"))?;
    for (key, counter) in entries {
        ingestion.write(key, counter.to_le_bytes()).map_err(Failure::during("fjall: ingestion"))?;
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
