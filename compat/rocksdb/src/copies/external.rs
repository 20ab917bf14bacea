//! A table from outside of the database, checked before anything of it is written.
//!
//! The check reads the whole table, so an ingestion of a damaged one changes nothing.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use foldb::custom::Comparator;
use foldb::env::FileSystem;
use foldb_rocksdb_format::Fault;
use foldb_rocksdb_format::kind::{DELETION, MERGE, SINGLE_DELETION, VALUE, split};
use foldb_rocksdb_format::table::{RangeDeletion, Stop};

use crate::batch::rep::Kind;
use crate::copies::sst_file::{SstInput, SstTable, io_error, order_name, read_status};
use crate::database::Family;
use crate::status::{Code, Outcome, Status};

/// Stands for no column family in the properties of a table.
const NO_FAMILY: u64 = i32::MAX as u64;

/// The newest version of such tables.
const NEWEST: u32 = 2;

/// A table that may be ingested.
pub(crate) struct External {
    pub(crate) path: PathBuf,
    /// Tombstones of ranges. They do not cover records of this table.
    pub(crate) ranges: Vec<RangeDeletion>,
    first: Vec<u8>,
    last: Bound,
    /// Bytes of all keys and values.
    pub(crate) bytes: usize,
    pub(crate) has_merges: bool,
    pub(crate) has_deletions: bool,
}

/// Where the keys of a table end.
#[derive(Clone)]
struct Bound {
    key: Vec<u8>,
    /// Whether the key is one of them. The end of a deleted range is not.
    is_included: bool,
}

/// A record of a table.
pub(crate) struct Record<'t> {
    pub(crate) key: &'t [u8],
    pub(crate) kind: Kind,
    pub(crate) value: &'t [u8],
}

fn corruption(message: impl Into<String>) -> Status {
    Status::new(Code::Corruption, message)
}

impl External {
    /// Checks a table for a family.
    ///
    /// # Errors
    /// `Corruption` for a damaged table, and for one of a database. `Invalid argument` for one of
    /// another family or order, or without entries.
    pub(crate) fn check(
        fs: &dyn FileSystem,
        path: &Path,
        family: &Family,
        order: &dyn Comparator,
    ) -> Outcome<External> {
        let mut table = open(fs, path)?;
        check_properties(&table, path, family, order)?;
        let ranges = table.range_deletions().map_err(|stop| read_status(path, &stop))?;
        let mut own = External {
            path: path.to_owned(),
            ranges: Vec::new(),
            first: Vec::new(),
            last: Bound { key: Vec::new(), is_included: true },
            bytes: 0,
            has_merges: false,
            has_deletions: !ranges.is_empty(),
        };
        let is_empty = !own.take_records(&mut table, order)?;
        own.take_ranges(ranges, is_empty, order)?;
        Ok(own)
    }

    /// Reads the records. Returns whether there is one.
    fn take_records(&mut self, table: &mut SstTable, order: &dyn Comparator) -> Outcome<bool> {
        let mut has_records = false;
        while let Some(record) = next_record(table, &self.path)? {
            if has_records && order.compare(&self.last.key, record.key).is_ge() {
                let shown = self.path.display();
                return Err(corruption(format!("{shown}: the keys of the table do not ascend")));
            }
            if !has_records {
                self.first = record.key.to_vec();
            }
            has_records = true;
            self.last.key.clear();
            self.last.key.extend_from_slice(record.key);
            self.bytes += record.key.len() + record.value.len();
            self.has_merges |= record.kind == Kind::Merge;
            self.has_deletions |= record.kind == Kind::Delete;
        }
        Ok(has_records)
    }

    fn take_ranges(
        &mut self,
        ranges: Vec<RangeDeletion>,
        mut is_empty: bool,
        order: &dyn Comparator,
    ) -> Outcome<()> {
        for range in &ranges {
            if range.sequence != 0 {
                let told = "External file has a range deletion with non zero sequence number.";
                return Err(corruption(told));
            }
            if is_empty || order.compare(&range.start, &self.first).is_lt() {
                self.first.clone_from(&range.start);
            }
            if is_empty || order.compare(&range.end, &self.last.key).is_gt() {
                self.last = Bound { key: range.end.clone(), is_included: false };
            }
            self.bytes += range.start.len() + range.end.len();
            is_empty = false;
        }
        self.ranges = ranges;
        if is_empty { Err(Status::invalid("File contain no entries")) } else { Ok(()) }
    }

    /// Compares by first keys.
    pub(crate) fn compare(&self, other: &External, order: &dyn Comparator) -> Ordering {
        order.compare(&self.first, &other.first)
    }

    /// Returns whether `next`, whose first key is not smaller, has keys among those of this table.
    pub(crate) fn overlaps(&self, next: &External, order: &dyn Comparator) -> bool {
        match order.compare(&next.first, &self.last.key) {
            Ordering::Less => true,
            Ordering::Equal => self.last.is_included,
            Ordering::Greater => false,
        }
    }

    /// Returns the bounds of the keys, for a scan.
    pub(crate) fn range(&self) -> (std::ops::Bound<&[u8]>, std::ops::Bound<&[u8]>) {
        let last = match self.last.is_included {
            true => std::ops::Bound::Included(&*self.last.key),
            false => std::ops::Bound::Excluded(&*self.last.key),
        };
        (std::ops::Bound::Included(&*self.first), last)
    }

    /// Calls `take` for each record, in the order of the keys.
    ///
    /// # Errors
    /// Those of reads and of `take`.
    pub(crate) fn each(
        &self,
        fs: &dyn FileSystem,
        mut take: impl FnMut(Record<'_>) -> Outcome<()>,
    ) -> Outcome<()> {
        let mut table = open(fs, &self.path)?;
        while let Some(record) = next_record(&mut table, &self.path)? {
            take(record)?;
        }
        Ok(())
    }
}

fn open(fs: &dyn FileSystem, path: &Path) -> Outcome<SstTable> {
    let input = SstInput::open(fs, path);
    let input = input.map_err(|error| io_error("while stat a file for size", path, &error))?;
    SstTable::open(input).map_err(|stop| read_status(path, &stop))
}

/// Checks what a table says of itself.
fn check_properties(
    table: &SstTable,
    path: &Path,
    family: &Family,
    order: &dyn Comparator,
) -> Outcome<()> {
    let properties = table.properties();
    match properties.external_version {
        None => return Err(corruption("External file version not found")),
        Some(version) if version == 0 || version > NEWEST => {
            let told = format!("External file version {version} is not supported");
            return Err(Status::invalid(told));
        }
        Some(_) => {}
    }
    if properties.family.is_some_and(|id| id != NO_FAMILY && id != u64::from(family.id)) {
        return Err(Status::invalid("External file column family id don't match"));
    }
    if let Some(found) =
        properties.comparator.as_ref().filter(|found| **found != *order_name(order))
    {
        return Err(Status::invalid(format!(
            "{}: the table has the order of keys {found}, and the column family {}",
            path.display(),
            order_name(order)
        )));
    }
    Ok(())
}

/// Returns the next record.
///
/// # Errors
/// `Not implemented` for records of a kind that tables of this library do not have.
fn next_record<'t>(table: &'t mut SstTable, path: &Path) -> Outcome<Option<Record<'t>>> {
    if !table.advance().map_err(|stop| read_status(path, &stop))? {
        return Ok(None);
    }
    let at = table.offset();
    let Some((key, sequence, kind)) = split(table.key()) else {
        let fault = Fault::damaged("a key is damaged");
        return Err(read_status(path, &Stop::At(at, fault)));
    };
    if sequence != 0 {
        return Err(corruption("External file has non zero sequence number"));
    }
    let kind = match kind {
        VALUE => Kind::Put,
        MERGE => Kind::Merge,
        DELETION | SINGLE_DELETION => Kind::Delete,
        other => {
            let fault = Fault::unsupported(format!("a record of kind {other:#x}"));
            return Err(read_status(path, &Stop::At(at, fault)));
        }
    };
    Ok(Some(Record { key, kind, value: table.value() }))
}
