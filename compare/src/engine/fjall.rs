//! fjall: leveled compaction, a journal that cannot be turned off, no merge.

use std::path::Path;
use std::thread;
use std::time::Duration;

use fjall::config::{
    BlockSizePolicy, BloomConstructionPolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry,
};
use fjall::{CompressionType, Database, Keyspace, KeyspaceCreateOptions};
use foldb_report::results::BackgroundEvent;

use super::{Engine, Nominal, Operator, Scan, State};
use crate::failure::{Failure, Result};

/// Pause between two checks whether background work is done.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Checks in a row that must find no background work.
const CALM_LOOKS: usize = 20;

/// fjall.
pub struct Fjall {
    db: Database,
    keyspace: Keyspace,
    operator: Option<Operator>,
}

impl Engine for Fjall {
    fn open(nominal: &Nominal, directory: &Path) -> Result<Fjall> {
        let mut builder = Database::builder(directory).cache_size(nominal.cache as u64);
        if let Some(files) = nominal.open_files {
            builder = builder.max_cached_files(Some(files));
        }
        let db = builder.open().map_err(Failure::during("fjall: open"))?;
        let keyspace = db
            .keyspace("default", || keyspace_options(nominal))
            .map_err(Failure::during("fjall: open"))?;
        Ok(Fjall { db, keyspace, operator: nominal.operator })
    }

    fn settings(nominal: &Nominal) -> String {
        format!(
            "write_buffer={} cache={} block={} bloom_bits={} compression=lz4 compaction=leveled \
             journal=unsynced merge=get+put",
            nominal.write_buffer, nominal.cache, nominal.block, nominal.bloom_bits
        )
    }

    #[inline]
    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.keyspace.insert(key, value).map_err(Failure::during("fjall: insert"))
    }

    #[inline]
    fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        let Some(operator) = self.operator else { return self.put(key, operand) };
        let value = self.keyspace.get(key).map_err(Failure::during("fjall: get"))?;
        self.put(key, &operator.apply(value.as_deref(), operand))
    }

    #[inline]
    fn get<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        let value = self.keyspace.get(key).map_err(Failure::during("fjall: get"))?;
        Ok(value.map(|value| read(&value)))
    }

    fn scan(&self, scan: Scan<'_>, mut visit: impl FnMut(&[u8], &[u8]) -> bool) -> Result<()> {
        let mut iter = match scan {
            Scan::Forward | Scan::Reverse => self.keyspace.iter(),
            Scan::From(key) => self.keyspace.range(key..),
        };
        let reverse = matches!(scan, Scan::Reverse);
        while let Some(entry) = if reverse { iter.next_back() } else { iter.next() } {
            let (key, value) = entry.into_inner().map_err(Failure::during("fjall: scan"))?;
            if !visit(&key, &value) {
                break;
            }
        }
        Ok(())
    }

    fn rest(&self, flush: bool) -> Result<()> {
        if flush {
            self.keyspace.rotate_memtable_and_wait().map_err(Failure::during("fjall: flush"))?;
        }
        // fjall has no call that waits for compactions. They count as done if several checks in a
        // row see no compaction running or ended.
        let (mut calm, mut completed) = (0, self.db.compactions_completed());
        while calm < CALM_LOOKS {
            thread::sleep(LOOK_EVERY);
            let now = self.db.compactions_completed();
            let busy = self.db.active_compactions() > 0 || self.db.outstanding_flushes() > 0;
            calm = if busy || now != completed { 0 } else { calm + 1 };
            completed = now;
        }
        Ok(())
    }

    fn state(&self) -> State {
        // fjall reports neither the pending bytes of compactions nor the runs below level 0.
        State { owed: None, runs_per_read: None, own: None, mapped: 0 }
    }

    fn events(&self) -> Vec<BackgroundEvent> {
        Vec::new()
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}

/// fjall's options of a keyspace for a workload.
pub fn keyspace_options(nominal: &Nominal) -> KeyspaceCreateOptions {
    let filters = match nominal.bloom_bits {
        0 => FilterPolicy::disabled(),
        bits => FilterPolicy::all(FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(
            bits as f32,
        ))),
    };
    KeyspaceCreateOptions::default()
        .max_memtable_size(nominal.write_buffer as u64)
        .data_block_size_policy(BlockSizePolicy::all(nominal.block as u32))
        .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
        .filter_policy(filters)
}
