//! RocksDB, with its own merge operators, set up as its `db_bench` does.

mod events;
mod options;

use std::marker::PhantomData;
use std::path::Path;

use foldb_report::results::BackgroundEvent;
use rocksdb::statistics::Ticker;
use rocksdb::{DB, DBRawIterator, Options, ReadOptions, WaitForCompactOptions, WriteOptions};

use self::events::Listener;
use super::{Engine, Nominal, Scan, State};
use crate::failure::{Failure, Result};

/// Which compaction RocksDB does.
pub trait Style: Send + Sync {
    /// Whether it is universal.
    const UNIVERSAL: bool;
    /// Its name.
    const NAME: &'static str;
}

/// One run a level: RocksDB's default.
#[derive(Clone, Copy, Debug)]
pub struct Leveled;

impl Style for Leveled {
    const UNIVERSAL: bool = false;
    const NAME: &'static str = "leveled";
}

/// RocksDB's universal compaction.
#[derive(Clone, Copy, Debug)]
pub struct Universal;

impl Style for Universal {
    const UNIVERSAL: bool = true;
    const NAME: &'static str = "universal";
}

/// RocksDB's options for a workload, with leveled compaction.
///
/// # Errors
/// RocksDB has no such merge operator.
pub fn leveled_options(nominal: &Nominal) -> Result<Options> {
    options::options(nominal, false)
}

/// RocksDB.
pub struct RocksDb<S> {
    db: DB,
    options: Options,
    write: WriteOptions,
    statistics: bool,
    listener: Listener,
    style: PhantomData<S>,
}

impl<S: Style> Engine for RocksDb<S> {
    fn open(nominal: &Nominal, directory: &Path) -> Result<RocksDb<S>> {
        let mut options = options::options(nominal, S::UNIVERSAL)?;
        let listener = Listener::attach(&mut options);
        let db = DB::open(&options, directory).map_err(Failure::during("rocksdb: open"))?;
        let mut write = WriteOptions::default();
        write.disable_wal(!nominal.wal);
        let statistics = nominal.statistics;
        Ok(RocksDb { db, options, write, statistics, listener, style: PhantomData })
    }

    fn settings(nominal: &Nominal) -> String {
        format!(
            "{} compression=lz4 compaction={} cache_type=hyper_clock_cache pipelined_write=1 \
             dynamic_level_bytes=0",
            nominal.describe(),
            S::NAME
        )
    }

    #[inline]
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.db.put_opt(key, value, &self.write).map_err(Failure::during("rocksdb: put"))
    }

    #[inline]
    fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        self.db.merge_opt(key, operand, &self.write).map_err(Failure::during("rocksdb: merge"))
    }

    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let value = self.db.get_pinned(key).map_err(Failure::during("rocksdb: get"))?;
        Ok(value.map(|value| read(&value)))
    }

    fn scan(&self, scan: Scan<'_>, mut visit: impl FnMut(&[u8], &[u8]) -> bool) -> Result<()> {
        let mut iter: DBRawIterator<'_> = self.db.raw_iterator_opt(ReadOptions::default());
        match scan {
            Scan::Forward => iter.seek_to_first(),
            Scan::Reverse => iter.seek_to_last(),
            Scan::From(key) => iter.seek(key),
        }
        let reverse = matches!(scan, Scan::Reverse);
        while let Some((key, value)) = iter.item() {
            if !visit(key, value) {
                break;
            }
            if reverse { iter.prev() } else { iter.next() }
        }
        iter.status().map_err(Failure::during("rocksdb: scan"))
    }

    fn rest(&self, flush: bool) -> Result<()> {
        if flush {
            self.db.flush().map_err(Failure::during("rocksdb: flush"))?;
        }
        let options = WaitForCompactOptions::default();
        self.db.wait_for_compact(&options).map_err(Failure::during("rocksdb: compactions"))
    }

    fn state(&self) -> State {
        let pending = self.property("rocksdb.estimate-pending-compaction-bytes");
        let memtables = self.property("rocksdb.cur-size-all-mem-tables");
        let tickers = [Ticker::FlushWriteBytes, Ticker::CompactWriteBytes, Ticker::WalFileBytes];
        let own = tickers.map(|ticker| self.options.get_ticker_count(ticker)).iter().sum();
        State {
            owed: pending.zip(memtables).map(|(pending, memtables)| pending + memtables),
            runs_per_read: self.runs_per_read(),
            own: self.statistics.then_some(own),
            mapped: 0,
        }
    }

    fn events(&self) -> Vec<BackgroundEvent> {
        self.listener.events()
    }

    fn close(self) -> Result<()> {
        self.db.cancel_all_background_work(true);
        Ok(())
    }
}

impl<S: Style> RocksDb<S> {
    fn property(&self, name: &str) -> Option<u64> {
        self.db.property_int_value(name).ok().flatten()
    }

    /// Each file of level 0, and each other level that has files.
    fn runs_per_read(&self) -> Option<u32> {
        let files = |level: u32| self.property(&format!("rocksdb.num-files-at-level{level}"));
        let lower = (1..).map_while(files).filter(|&files| files > 0).count();
        Some(u32::try_from(files(0)?).ok()? + lower as u32)
    }
}
