//! RocksDB: optimistic transactions, and tables written outside that it ingests.

use std::path::{Path, PathBuf};

use rocksdb::{
    DBRawIteratorWithThreadMode, Error, ErrorKind, IngestExternalFileOptions,
    OptimisticTransactionDB, OptimisticTransactionOptions, Options, SstFileWriter, Transaction,
    WaitForCompactOptions, WriteBatchWithTransaction, WriteOptions,
};

use super::{Key, MOST_IN_A_COMMIT, Reads, Setup, Store, WideKey, WideValue, one_more};
use crate::engine::rocksdb_options;
use crate::failure::{Failure, Result};

/// Bytes of a table that is ingested: RocksDB's own target.
const TABLE: u64 = 64 << 20;
/// Entries between two looks at the size of the table.
const LOOK_EVERY: u64 = 1 << 16;

/// RocksDB.
pub struct RocksDb {
    db: OptimisticTransactionDB,
    options: Options,
    write: WriteOptions,
    directory: PathBuf,
}

/// The database, and an iterator that serves all ranges.
pub struct RocksDbReads<'a> {
    db: &'a OptimisticTransactionDB,
    iter: DBRawIteratorWithThreadMode<'a, OptimisticTransactionDB>,
}

impl Reads for RocksDbReads<'_> {
    #[inline]
    fn get<R>(&self, key: &WideKey, read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let value = self.db.get_pinned(key).map_err(Failure::during("rocksdb: get"))?;
        Ok(value.map(|value| read(&value)))
    }

    #[inline]
    fn range(&mut self, from: &WideKey, most: usize, mut visit: impl FnMut(&[u8])) -> Result<()> {
        self.iter.seek(from);
        for place in 1..=most {
            let Some(value) = self.iter.value() else { break };
            visit(value);
            if place < most {
                self.iter.next();
            }
        }
        self.iter.status().map_err(Failure::during("rocksdb: range"))
    }
}

impl Store for RocksDb {
    type Reads<'a> = RocksDbReads<'a>;

    fn open(setup: &Setup, directory: &Path) -> Result<RocksDb> {
        let mut options = rocksdb_options(&setup.nominal)?;
        // The library's default, which is faster here than the default of db_bench.
        options.set_enable_pipelined_write(false);
        let db = OptimisticTransactionDB::open(&options, directory)
            .map_err(Failure::during("rocksdb: open"))?;
        let mut write = WriteOptions::default();
        write.set_sync(setup.synced);
        Ok(RocksDb { db, options, write, directory: directory.to_owned() })
    }

    fn settings(setup: &Setup) -> String {
        format!(
            "{} compression=lz4 cache_type=hyper_clock_cache pipelined_write=0 \
             transactions=optimistic get=for_update commits={}",
            setup.nominal.describe(),
            setup.durability()
        )
    }

    #[inline]
    fn add(&self, key: &Key) -> Result<u64> {
        self.until_committed(|transaction| {
            let value = transaction.get_pinned_for_update(key, true)?;
            transaction.put(key, one_more(value.as_deref()))
        })
    }

    #[inline]
    fn merge(&self, key: &Key) -> Result<u64> {
        self.until_committed(|transaction| transaction.merge(key, one_more(None)))
    }

    fn load(&self, entries: impl Iterator<Item = (Key, u64)>) -> Result<()> {
        self.ingest(entries.map(|(key, counter)| (key, counter.to_le_bytes())))
    }

    fn append<'a>(
        &self,
        batch: usize,
        mut entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()> {
        if batch == 1 {
            return entries
                .try_for_each(|(key, value)| self.db.put_opt(key, value, &self.write))
                .map_err(Failure::during("rocksdb: put"));
        }
        loop {
            let mut writes = WriteBatchWithTransaction::<true>::default();
            for (key, value) in entries.by_ref().take(batch) {
                writes.put(key, value);
            }
            if writes.is_empty() {
                return Ok(());
            }
            self.db.write_opt(writes, &self.write).map_err(Failure::during("rocksdb: batch"))?;
        }
    }

    fn commit<'a>(
        &self,
        synced: bool,
        entries: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()> {
        self.in_batches(synced, entries, |batch, (key, value)| batch.put(key, value))
    }

    fn load_wide<'a>(&self, entries: impl Iterator<Item = (WideKey, &'a WideValue)>) -> Result<()> {
        self.ingest(entries)
    }

    fn remove(&self, keys: impl Iterator<Item = WideKey>) -> Result<()> {
        self.in_batches(true, keys, |batch, key| batch.delete(key))
    }

    fn count(&self) -> Result<u64> {
        let mut iter = self.db.raw_iterator();
        let mut entries = 0;
        iter.seek_to_first();
        while iter.valid() {
            entries += 1;
            iter.next();
        }
        iter.status().map(|()| entries).map_err(Failure::during("rocksdb: count"))
    }

    fn rest(&self) -> Result<()> {
        self.db.flush().map_err(Failure::during("rocksdb: flush"))?;
        self.db.compact_range(None::<&[u8]>, None::<&[u8]>);
        let options = WaitForCompactOptions::default();
        self.db.wait_for_compact(&options).map_err(Failure::during("rocksdb: compactions"))
    }

    fn reads(&self) -> Result<RocksDbReads<'_>> {
        Ok(RocksDbReads { db: &self.db, iter: self.db.raw_iterator() })
    }

    fn each(&self, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
        let mut iter = self.db.raw_iterator();
        iter.seek_to_first();
        while let Some((key, value)) = iter.item() {
            visit(key, value);
            iter.next();
        }
        iter.status().map_err(Failure::during("rocksdb: scan"))
    }
}

impl RocksDb {
    fn ingest(
        &self,
        entries: impl Iterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
    ) -> Result<()> {
        let mut entries = entries.peekable();
        let mut tables = Vec::new();
        while entries.peek().is_some() {
            let table = self.directory.join(format!("load-{}.sst", tables.len()));
            write_table(&self.options, &table, &mut entries)
                .map_err(Failure::during("rocksdb: table"))?;
            tables.push(table);
        }
        let mut ingest = IngestExternalFileOptions::default();
        ingest.set_move_files(true);
        self.db
            .ingest_external_file_opts(&ingest, tables)
            .map_err(Failure::during("rocksdb: ingestion"))
    }

    /// Adds each item to a batch by `add`, and writes the batches. The last one is synced if asked.
    fn in_batches<T>(
        &self,
        synced: bool,
        items: impl Iterator<Item = T>,
        add: impl Fn(&mut WriteBatchWithTransaction<true>, T),
    ) -> Result<()> {
        let mut items = items.peekable();
        while items.peek().is_some() {
            let mut batch = WriteBatchWithTransaction::default();
            items.by_ref().take(MOST_IN_A_COMMIT).for_each(|item| add(&mut batch, item));
            let mut options = WriteOptions::default();
            options.set_sync(synced && items.peek().is_none());
            self.db.write_opt(batch, &options).map_err(Failure::during("rocksdb: batch"))?;
        }
        Ok(())
    }

    #[inline]
    fn until_committed(
        &self,
        work: impl Fn(&Transaction<'_, OptimisticTransactionDB>) -> std::result::Result<(), Error>,
    ) -> Result<u64> {
        let options = OptimisticTransactionOptions::default();
        let mut attempts = 1;
        loop {
            let transaction = self.db.transaction_opt(&self.write, &options);
            match work(&transaction).and_then(|()| transaction.commit()) {
                Err(error) if matches!(error.kind(), ErrorKind::Busy | ErrorKind::TryAgain) => {
                    attempts += 1;
                }
                Err(error) => return Err(Failure::new(format!("rocksdb: transaction: {error}"))),
                Ok(()) => return Ok(attempts),
            }
        }
    }
}

/// Writes one table.
fn write_table(
    options: &Options,
    path: &Path,
    entries: &mut impl Iterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
) -> std::result::Result<(), Error> {
    let mut writer = SstFileWriter::create(options);
    writer.open(path)?;
    let mut written = 0_u64;
    for (key, value) in entries {
        writer.put(key, value)?;
        written += 1;
        if written.is_multiple_of(LOOK_EVERY) && writer.file_size() >= TABLE {
            break;
        }
    }
    writer.finish()
}
