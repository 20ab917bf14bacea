//! A record of a manifest: an edit of the list of files.
//!
//! An edit is a list of fields, each with a tag:
//!
//! ```text
//! 1  comparator           name              9  previous log number
//! 2  log number                            10  least log number to keep
//! 3  next file number                     200  family of this edit: number
//! 4  last sequence number                 201  the edit adds the family: name
//! 5  compaction pointer   level, key      202  the edit drops the family
//! 6  removed table        level, number   203  largest number of a family
//! 7  added table          level, number, size, smallest key, largest key
//! 100  as 7, then smallest and largest sequence number
//! 102  as 7 with the number of a path after the number, then as 100
//! 103  as 100, then fields of the table: tag, and bytes with their length; tag 1 ends them
//! 300  edits of the group that follow this one: the group takes effect as a whole
//! 400  added file of blobs: number, count, bytes, method, checksum, fields of the file
//! 401  garbage in a file of blobs: number, count, bytes, fields of the file
//! 8196, 8197  logs of releases 6.14 to 6.17, without a length
//! others with bit 13:     bytes with their length, which a reader may leave out
//! ```
//!
//! A field of a table with bit 6 must be known: 65 is the number of a path. So must a field of a
//! file of blobs, whose fields end with tag 0.

use foldb_leveldb_format::encoding::Fields;

use crate::kind::user_key;
use crate::{Fault, Read};

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Level of the tree.
    pub level: u32,
    /// Number of the file.
    pub number: u64,
    /// Bytes of the file.
    pub size: u64,
    /// Which of the directories of `db_paths` holds the file.
    pub path: u32,
    /// The first internal key.
    pub smallest: Vec<u8>,
    /// The last internal key.
    pub largest: Vec<u8>,
    /// The largest sequence number, if the edit has it.
    pub largest_sequence: Option<u64>,
}

/// An edit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// The family, 0 for the default one.
    pub family: u32,
    /// The name of the family that the edit adds.
    pub added_family: Option<Vec<u8>>,
    /// Whether the edit drops the family.
    pub drops_family: bool,
    /// Name of the comparator.
    pub comparator: Option<Vec<u8>>,
    /// Logs before this number are in tables of the family.
    pub log: Option<u64>,
    /// One older log that is not in tables yet; 0 for none.
    pub previous_log: Option<u64>,
    /// Logs before this number are not needed.
    pub least_log: Option<u64>,
    /// Last sequence number.
    pub last_sequence: Option<u64>,
    /// Whether there was a next file number.
    pub has_next_file: bool,
    /// Removed tables: level and number.
    pub removed: Vec<(u32, u64)>,
    /// Added tables.
    pub added: Vec<Table>,
    /// Added files of blobs.
    pub blobs: Vec<u64>,
    /// How many edits of the same group follow.
    pub more_of_group: Option<u32>,
}

/// A tag with this bit may be left out.
const MAY_BE_LEFT_OUT: u32 = 1 << 13;
/// A field of a file with this bit must be known.
const MUST_BE_KNOWN: u32 = 1 << 6;
const PATH: u32 = 65;
const LEAST_LOG: u32 = 3;

impl Edit {
    /// Reads an edit.
    ///
    /// # Errors
    /// Fails for a field that is cut, and names a tag that is unknown and needed.
    pub fn decode(record: &[u8]) -> Read<Edit> {
        let mut edit = Edit::default();
        let mut fields = Fields(record);
        while !fields.is_empty() {
            let tag = fields.varint32().ok_or_else(|| Fault::damaged("an edit has a bad tag"))?;
            let cut = || Fault::damaged(format!("an edit has a bad field of tag {tag}"));
            match tag {
                7 | 100 | 102 | 103 => {
                    let table = edit.table(tag, &mut fields)?;
                    edit.added.push(table);
                }
                400 | 401 => edit.blob(tag, &mut fields)?,
                1..=6 | 9 | 10 | 200..=203 | 300 => {
                    edit.field(tag, &mut fields).ok_or_else(cut)?;
                }
                8196 | 8197 => old_log(tag, &mut fields).ok_or_else(cut)?,
                tag if tag & MAY_BE_LEFT_OUT != 0 => drop(fields.prefixed().ok_or_else(cut)?),
                tag => {
                    return Err(Fault::unsupported(format!(
                        "an edit has a field of tag {tag}, which foldb does not know"
                    )));
                }
            }
        }
        Ok(edit)
    }

    fn field(&mut self, tag: u32, fields: &mut Fields<'_>) -> Option<()> {
        match tag {
            1 => self.comparator = Some(fields.prefixed()?.to_vec()),
            2 => self.log = Some(fields.varint()?),
            3 => {
                fields.varint()?;
                self.has_next_file = true;
            }
            4 => self.last_sequence = Some(fields.varint()?),
            5 => {
                fields.varint32()?;
                fields.prefixed()?;
            }
            6 => self.removed.push((fields.varint32()?, fields.varint()?)),
            9 => self.previous_log = Some(fields.varint()?),
            10 => self.least_log = Some(fields.varint()?),
            200 => self.family = fields.varint32()?,
            201 => self.added_family = Some(fields.prefixed()?.to_vec()),
            202 => self.drops_family = true,
            203 => drop(fields.varint32()?),
            _ => self.more_of_group = Some(fields.varint32()?),
        }
        Some(())
    }

    fn table(&mut self, tag: u32, fields: &mut Fields<'_>) -> Read<Table> {
        let read = |fields: &mut Fields<'_>| {
            let level = fields.varint32()?;
            let number = fields.varint()?;
            let path = if tag == 102 { fields.varint32()? } else { 0 };
            let size = fields.varint()?;
            let smallest = key(fields)?;
            let largest = key(fields)?;
            let largest_sequence = if tag == 7 {
                None
            } else {
                fields.varint()?;
                Some(fields.varint()?)
            };
            Some(Table { level, number, size, path, smallest, largest, largest_sequence })
        };
        let cut = || Fault::damaged(format!("an edit has a bad field of tag {tag}"));
        let mut table = read(fields).ok_or_else(cut)?;
        if tag == 103 {
            self.fields_of(&mut table, fields)?;
        }
        Ok(table)
    }

    /// Reads the fields of a table, up to their end.
    fn fields_of(&mut self, table: &mut Table, fields: &mut Fields<'_>) -> Read<()> {
        let cut = || Fault::damaged("an edit has a bad field of a table");
        loop {
            let tag = fields.varint32().ok_or_else(cut)?;
            if tag == 1 {
                return Ok(());
            }
            let value = fields.prefixed().ok_or_else(cut)?;
            match tag {
                PATH => table.path = u32::from(*value.first().ok_or_else(cut)?),
                LEAST_LOG => self.least_log = Some(Fields(value).u64().ok_or_else(cut)?),
                tag => check_known("table", tag)?,
            }
        }
    }

    fn blob(&mut self, tag: u32, fields: &mut Fields<'_>) -> Read<()> {
        let read = |fields: &mut Fields<'_>| {
            let number = fields.varint()?;
            let (_count, _bytes) = (fields.varint()?, fields.varint()?);
            if tag == 400 {
                let (_method, _checksum) = (fields.prefixed()?, fields.prefixed()?);
            }
            Some(number)
        };
        let cut = || Fault::damaged(format!("an edit has a bad field of tag {tag}"));
        let number = read(fields).ok_or_else(cut)?;
        loop {
            match fields.varint32().ok_or_else(cut)? {
                0 => break,
                own => {
                    fields.prefixed().ok_or_else(cut)?;
                    check_known("file of blobs", own)?;
                }
            }
        }
        if tag == 400 {
            self.blobs.push(number);
        }
        Ok(())
    }
}

fn check_known(of: &str, tag: u32) -> Read<()> {
    match tag & MUST_BE_KNOWN {
        0 => Ok(()),
        _ => Err(Fault::unsupported(format!(
            "an edit has a field of tag {tag} of a {of}, which foldb does not know"
        ))),
    }
}

/// Skips the field of a log that was added, with its size, or removed.
fn old_log(tag: u32, fields: &mut Fields<'_>) -> Option<()> {
    fields.varint()?;
    let is_removed = tag == 8197;
    while !is_removed && fields.varint32()? != 1 {
        // The size of the log.
        fields.varint()?;
    }
    Some(())
}

fn key(fields: &mut Fields<'_>) -> Option<Vec<u8>> {
    let key = fields.prefixed()?;
    user_key(key)?;
    Some(key.to_vec())
}
