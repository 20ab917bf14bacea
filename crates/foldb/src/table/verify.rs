//! Verifies a table by itself, without other files: reads and checks every byte.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::encoding::key_hash;
use crate::error::{Error, Result};
use crate::faults::{Fault, planted};
use crate::key::{Kind, RecordHeader};
use crate::separated::{Address, ReferencesBuilder};
use crate::table::cursor::{CursorOptions, TableCursor};
use crate::table::fetch::Fetch;
use crate::table::footer::FOOTER_LEN;
use crate::table::frame::Handle;
use crate::table::reader::TableReader;

/// What a [`TableReader::verify`] checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableCheck {
    /// Records.
    pub entries: u64,
    /// Sub-blocks and directories.
    pub blocks: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Checks a record: key, header, value.
pub(crate) type Check<'a> = dyn FnMut(&[u8], RecordHeader, &[u8]) -> Result<()> + 'a;

impl TableReader {
    /// Reads the whole file, past the cache, and checks it. It checks that all checksums are
    /// correct, frames lie end to end, records ascend, and the filter admits each key. It also
    /// checks that range tombstones are in order. It compares the counts, key range and references
    /// that the file states with the records.
    ///
    /// # Errors
    /// The first fault found, as `Corruption` or `Unsupported`; `Io` if a read fails.
    pub fn verify(self: &Arc<Self>) -> Result<TableCheck> {
        self.verify_with(&mut |_, _, _| Ok(()))
    }

    /// Does what [`TableReader::verify`] does, and calls `check` for each record.
    ///
    /// # Errors
    /// Those of [`TableReader::verify`] and of `check`.
    pub(crate) fn verify_with(self: &Arc<Self>, check: &mut Check<'_>) -> Result<TableCheck> {
        let blocks = self.verify_frames()?;
        let entries = match planted(Fault::VerifySkipsBlocks) {
            true => 0,
            false => self.verify_records(check)?,
        };
        Ok(TableCheck { entries, blocks, bytes: self.file_len() })
    }

    fn verify_frames(&self) -> Result<u64> {
        let mut fetch = Fetch::new(CursorOptions::walk());
        let mut tiles = Tiles { table: self, end: 0, count: 0 };
        for i in 0..self.index().len() {
            let child = self.index().child(i);
            if child.is_directory {
                let directory = self.fetch_directory(child.handle, &mut fetch)?;
                for sub in 0..directory.len() {
                    tiles.follow(directory.child(sub).handle)?;
                }
            }
            tiles.follow(child.handle)?;
        }
        let blocks = tiles.count;
        let footer = self.check_metadata()?;
        let metadata =
            [footer.tombstones, footer.filter, Some(footer.properties), Some(footer.index)];
        let references = self.reference_frames()?;
        for handle in references.into_iter().chain(metadata.into_iter().flatten()) {
            tiles.follow(handle)?;
        }
        let footer_offset = self.file_len() - FOOTER_LEN as u64;
        tiles.follow(Handle { offset: footer_offset, len: FOOTER_LEN as u32 })?;
        Ok(blocks)
    }

    fn verify_records(self: &Arc<Self>, check: &mut Check<'_>) -> Result<u64> {
        let options = CursorOptions::walk();
        let mut cursor = TableCursor::new(self.clone(), options);
        let mut found = Found::default();
        cursor.seek_to_first()?;
        while cursor.valid() {
            found
                .record(self, &cursor)
                .and_then(|()| check(cursor.key(), cursor.header(), cursor.value()))
                .map_err(|e| cursor.locate(e))?;
            cursor.next()?;
        }
        found.compare(self).map_err(|e| self.locate(e, self.footer().properties))?;
        Ok(found.entries)
    }
}

/// Frames end to end from the start of the file.
struct Tiles<'a> {
    table: &'a TableReader,
    end: u64,
    count: u64,
}

impl Tiles<'_> {
    fn follow(&mut self, handle: Handle) -> Result<()> {
        if handle.offset != self.end {
            let error = Error::corruption(format!(
                "expected the next frame at offset {}, found it at {}",
                self.end, handle.offset
            ));
            return Err(self.table.locate(error, handle));
        }
        self.end = handle.end();
        self.count += 1;
        Ok(())
    }
}

/// Totals over the records.
#[derive(Default)]
struct Found {
    entries: u64,
    deletes: u64,
    merges: u64,
    key_bytes: u64,
    value_bytes: u64,
    first_key: Vec<u8>,
    last_key: Vec<u8>,
    last_seqno: u64,
    references: ReferencesBuilder,
}

impl Found {
    fn record(&mut self, table: &TableReader, cursor: &TableCursor) -> Result<()> {
        let (key, header) = (cursor.key(), cursor.header());
        if self.entries == 0 {
            self.first_key.extend_from_slice(key);
        } else {
            let ascends = match table.order().compare(&self.last_key, key) {
                Ordering::Less => true,
                Ordering::Equal => header.seqno < self.last_seqno,
                Ordering::Greater => false,
            };
            if !ascends {
                return Err(table.order().disorder(format!(
                    "records: expected key \"{}\" seqno {} to come before \"{}\" seqno {}",
                    key.escape_ascii(),
                    header.seqno,
                    self.last_key.escape_ascii(),
                    self.last_seqno
                )));
            }
        }
        if !table.may_contain(key_hash(key), key)? {
            return Err(table.wrong_filter(key));
        }
        self.entries += 1;
        self.deletes += u64::from(header.kind == Kind::Delete);
        self.merges += u64::from(header.kind == Kind::Merge);
        self.key_bytes += key.len() as u64;
        self.value_bytes += cursor.value().len() as u64;
        if header.kind == Kind::Separated {
            self.references.add(&Address::decode(cursor.value())?);
        }
        self.last_seqno = header.seqno;
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        Ok(())
    }

    fn compare(&mut self, table: &TableReader) -> Result<()> {
        let said = table.properties();
        if table.references()? != std::mem::take(&mut self.references).finish() {
            return Err(Error::corruption(
                "references: expected those of the records, found others",
            ));
        }
        let figures = [
            ("records", said.entries, self.entries),
            ("deletes", said.deletes, self.deletes),
            ("merges", said.merges, self.merges),
            ("key bytes", said.raw_key_bytes, self.key_bytes),
            ("value bytes", said.raw_value_bytes, self.value_bytes),
        ];
        for (what, expected, found) in figures {
            if expected != found {
                return Err(Error::corruption(format!(
                    "{what}: expected {expected} as the properties say, found {found}"
                )));
            }
        }
        if said.smallest != self.first_key || said.largest != self.last_key {
            return Err(Error::corruption(format!(
                "key range: expected \"{}\" to \"{}\", found \"{}\" to \"{}\"",
                said.smallest.escape_ascii(),
                said.largest.escape_ascii(),
                self.first_key.escape_ascii(),
                self.last_key.escape_ascii()
            )));
        }
        Ok(())
    }
}
