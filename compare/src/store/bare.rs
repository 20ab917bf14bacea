//! No engine: what a record costs that is appended to a file and synced.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Key, Reads, Setup, Store, WideKey, WideValue, one_more};
use crate::failure::{Failure, Result};

/// Bytes of a record: a key and a counter.
const RECORD: usize = 24;

/// One file that all threads append to.
#[derive(Debug)]
pub struct Bare {
    file: File,
    end: AtomicU64,
    synced: bool,
}

impl Reads for () {
    fn get<R>(&self, _: &WideKey, _: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        Ok(None)
    }

    fn range(&mut self, _: &WideKey, _: usize, _: impl FnMut(&[u8])) -> Result<()> {
        Ok(())
    }
}

impl Store for Bare {
    type Reads<'a> = ();

    const READS: bool = false;

    fn open(setup: &Setup, directory: &Path) -> Result<Bare> {
        let path = directory.join("records");
        let file = File::create(&path).map_err(Failure::file("create", &path))?;
        Ok(Bare { file, end: AtomicU64::new(0), synced: setup.synced })
    }

    fn settings(setup: &Setup) -> String {
        format!("append of {RECORD} bytes, {}", setup.durability())
    }

    fn add(&self, key: &Key) -> Result<u64> {
        let mut record = [0; RECORD];
        record[..key.len()].copy_from_slice(key);
        record[key.len()..].copy_from_slice(&one_more(None));
        let at = self.end.fetch_add(RECORD as u64, Ordering::Relaxed);
        self.file.write_all_at(&record, at).map_err(Failure::during("bare: write"))?;
        if self.synced {
            self.file.sync_data().map_err(Failure::during("bare: sync"))?;
        }
        Ok(1)
    }

    fn merge(&self, key: &Key) -> Result<u64> {
        self.add(key)
    }

    fn load(&self, _: impl Iterator<Item = (Key, u64)>) -> Result<()> {
        Ok(())
    }

    fn append<'a>(
        &self,
        _: usize,
        _: impl Iterator<Item = (WideKey, &'a WideValue)>,
    ) -> Result<()> {
        Ok(())
    }

    fn commit<'a>(&self, _: bool, _: impl Iterator<Item = (WideKey, &'a WideValue)>) -> Result<()> {
        Ok(())
    }

    fn load_wide<'a>(&self, _: impl Iterator<Item = (WideKey, &'a WideValue)>) -> Result<()> {
        Ok(())
    }

    fn remove(&self, _: impl Iterator<Item = WideKey>) -> Result<()> {
        Ok(())
    }

    fn count(&self) -> Result<u64> {
        Ok(0)
    }

    fn rest(&self) -> Result<()> {
        Ok(())
    }

    fn reads(&self) -> Result<()> {
        Ok(())
    }

    fn each(&self, _: impl FnMut(&[u8], &[u8])) -> Result<()> {
        Ok(())
    }
}
