//! Where the records of a flush or compaction go: tables.
//!
//! Work that fails is tried again, so what it wrote is removed at once: a full disk or a damaged
//! input must not fill the directory with unfinished tables.

use std::sync::Arc;

use foldb_env::FileSystem;

use crate::compaction::folding::RecordSink;
use crate::compaction::memory::WorkMemory;
use crate::error::{Error, Result};
use crate::key::RecordHeader;
use crate::memory::Charge;
use crate::table::{TableBuilder, TableBuilderOptions, TableSummary};
use crate::version::{FileFacts, FileNames, Key};

/// Makes table files for a flush or a slice. A table is begun with its first record.
pub(crate) struct TableOutput<'a> {
    pub(crate) fs: &'a Arc<dyn FileSystem>,
    pub(crate) names: &'a FileNames,
    /// Draws the next file number.
    pub(crate) next_number: &'a dyn Fn() -> u64,
    /// Everything but the file number.
    pub(crate) options: TableBuilderOptions,
    current: Option<Current>,
    finished: Vec<FileFacts>,
    /// Files that nobody but this output knows of.
    created: Vec<u64>,
    /// Keys after which a table is ended.
    max_keys: usize,
    charge: Charge,
}

/// Keys between two looks at what a table being written takes.
const CHARGED_EVERY: usize = 256;

struct Current {
    builder: TableBuilder,
    number: u64,
}

impl<'a> TableOutput<'a> {
    pub(crate) fn new(
        fs: &'a Arc<dyn FileSystem>,
        names: &'a FileNames,
        next_number: &'a dyn Fn() -> u64,
        options: TableBuilderOptions,
        memory: &WorkMemory,
    ) -> TableOutput<'a> {
        let (finished, created) = (Vec::new(), Vec::new());
        let (max_keys, charge) = (memory.max_keys(), memory.charge(0));
        let current = None;
        TableOutput {
            fs,
            names,
            next_number,
            options,
            current,
            finished,
            created,
            max_keys,
            charge,
        }
    }

    /// Whether the table being written should be ended: it has `target` bytes, or takes all the
    /// memory it may. `folding` is what its records' folds take, in bytes.
    #[inline]
    pub(crate) fn is_full(&mut self, target: u64, folding: usize) -> bool {
        let Some(Current { builder, .. }) = &self.current else { return false };
        let keys = builder.filter_keys();
        if keys % CHARGED_EVERY == 0 {
            self.charge.set(builder.memory_bytes() + folding);
        }
        builder.file_bytes() >= target || keys >= self.max_keys
    }

    /// Ends the table being written; it is durable then, except for its name.
    pub(crate) fn cut(&mut self) -> Result<()> {
        if let Some(Current { builder, number }) = self.current.take() {
            self.charge.set(builder.memory_bytes_at_end());
            let summary = builder.finish();
            self.charge.set(0);
            let summary = summary?;
            self.finished.push(facts(number, summary));
        }
        Ok(())
    }

    /// The tables, all ended.
    pub(crate) fn finish(mut self) -> Result<Vec<FileFacts>> {
        self.cut()?;
        self.created.clear();
        Ok(std::mem::take(&mut self.finished))
    }

    fn begin(&mut self) -> Result<Current> {
        let number = (self.next_number)();
        let path = self.names.table(number);
        let file =
            self.fs.create(&path).map_err(|error| Error::io(&path, "create the table", &error))?;
        self.created.push(number);
        let options =
            TableBuilderOptions { file_number: number, path: path.clone(), ..self.options.clone() };
        Ok(Current { builder: TableBuilder::new(file, options), number })
    }
}

impl Drop for TableOutput<'_> {
    fn drop(&mut self) {
        for number in self.created.drain(..) {
            // What cannot be removed now is removed at the next open.
            let _best_effort = self.fs.remove(&self.names.table(number));
        }
    }
}

impl RecordSink for TableOutput<'_> {
    #[inline]
    fn add(&mut self, key: &[u8], header: RecordHeader, value: &[u8]) -> Result<()> {
        if self.current.is_none() {
            self.current = Some(self.begin()?);
        }
        let current = self.current.as_mut().expect("a table was begun");
        current.builder.add(key, header, value)
    }
}

fn facts(number: u64, summary: TableSummary) -> FileFacts {
    FileFacts {
        number,
        len: summary.file_len,
        entries: summary.entries,
        deletes: summary.deletes,
        merges: summary.merges,
        smallest: summary.smallest.into(),
        largest: summary.largest.into(),
        smallest_seqno: summary.smallest_seqno,
        largest_seqno: summary.largest_seqno,
        samples: summary.samples.into_iter().map(Key::from).collect(),
    }
}
