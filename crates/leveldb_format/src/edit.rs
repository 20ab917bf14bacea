//! A record of a manifest: an edit of the list of tables.
//!
//! An edit is a list of fields, each with a tag:
//!
//! ```text
//! 1  comparator           name
//! 2  log number           logs from this number on are not in tables yet
//! 3  next file number
//! 4  last sequence number
//! 5  compaction pointer   level, internal key
//! 6  removed table        level, number
//! 7  added table          level, number, size, smallest internal key, largest internal key
//! 9  previous log number  one older log that is not in tables yet; 0 for none
//! ```

use crate::LEVELS;
use crate::encoding::{Fields, put_prefixed, put_varint};

/// A table of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableInfo {
    /// Level of the tree.
    pub level: u32,
    /// Number of the file.
    pub number: u64,
    /// Bytes of the file.
    pub size: u64,
    /// The first internal key.
    pub smallest: Vec<u8>,
    /// The last internal key.
    pub largest: Vec<u8>,
}

/// An edit. A field that an edit has twice counts as it was set last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edit {
    /// Name of the comparator.
    pub comparator: Option<Vec<u8>>,
    /// Log number.
    pub log: Option<u64>,
    /// Previous log number.
    pub previous_log: Option<u64>,
    /// Next file number.
    pub next_file: Option<u64>,
    /// Last sequence number.
    pub last_sequence: Option<u64>,
    /// Compaction pointers: level and internal key.
    pub pointers: Vec<(u32, Vec<u8>)>,
    /// Removed tables: level and number.
    pub removed: Vec<(u32, u64)>,
    /// Added tables.
    pub added: Vec<TableInfo>,
}

/// Why a record is no edit: the tag of its first bad field. `None` if the tag itself is bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadField(pub Option<u32>);

impl Edit {
    /// Reads an edit.
    ///
    /// # Errors
    /// Fails for a field that is cut, that has a level or key which LevelDB does not write, or that
    /// has an unknown tag.
    pub fn decode(record: &[u8]) -> Result<Edit, BadField> {
        let mut edit = Edit::default();
        let mut fields = Fields(record);
        while !fields.is_empty() {
            let tag = fields.varint32().ok_or(BadField(None))?;
            edit.field(tag, &mut fields).ok_or(BadField(Some(tag)))?;
        }
        Ok(edit)
    }

    fn field(&mut self, tag: u32, fields: &mut Fields<'_>) -> Option<()> {
        match tag {
            1 => self.comparator = Some(fields.prefixed()?.to_vec()),
            2 => self.log = Some(fields.varint()?),
            3 => self.next_file = Some(fields.varint()?),
            4 => self.last_sequence = Some(fields.varint()?),
            5 => self.pointers.push((level(fields)?, key(fields)?)),
            6 => self.removed.push((level(fields)?, fields.varint()?)),
            7 => self.added.push(TableInfo {
                level: level(fields)?,
                number: fields.varint()?,
                size: fields.varint()?,
                smallest: key(fields)?,
                largest: key(fields)?,
            }),
            9 => self.previous_log = Some(fields.varint()?),
            _ => return None,
        }
        Some(())
    }

    /// Returns the record.
    pub fn encode(&self) -> Vec<u8> {
        let mut record = Vec::new();
        if let Some(name) = &self.comparator {
            record.push(1);
            put_prefixed(&mut record, name);
        }
        let numbers = [self.log, self.previous_log, self.next_file, self.last_sequence];
        for (tag, number) in [2, 9, 3, 4].into_iter().zip(numbers) {
            if let Some(number) = number {
                record.push(tag);
                put_varint(&mut record, number);
            }
        }
        for (level, key) in &self.pointers {
            record.push(5);
            put_varint(&mut record, u64::from(*level));
            put_prefixed(&mut record, key);
        }
        for (level, number) in &self.removed {
            record.push(6);
            put_varint(&mut record, u64::from(*level));
            put_varint(&mut record, *number);
        }
        for table in &self.added {
            record.push(7);
            put_varint(&mut record, u64::from(table.level));
            put_varint(&mut record, table.number);
            put_varint(&mut record, table.size);
            put_prefixed(&mut record, &table.smallest);
            put_prefixed(&mut record, &table.largest);
        }
        record
    }
}

fn level(fields: &mut Fields<'_>) -> Option<u32> {
    fields.varint32().filter(|&level| level < LEVELS)
}

/// Reads an internal key. LevelDB refuses an empty one.
fn key(fields: &mut Fields<'_>) -> Option<Vec<u8>> {
    fields.prefixed().filter(|key| !key.is_empty()).map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_read_as_written() {
        let (smallest, largest) = (b"a\x01\x02\0\0\0\0\0\0".to_vec(), b"b".to_vec());
        let edit = Edit {
            comparator: Some(b"name".to_vec()),
            log: Some(300),
            previous_log: Some(0),
            next_file: None,
            last_sequence: Some(u64::MAX),
            pointers: vec![(6, b"key".to_vec())],
            removed: vec![(0, 9), (0, 8)],
            added: vec![TableInfo { level: 2, number: 600, size: 9000, smallest, largest }],
        };
        assert_eq!(Edit::decode(&edit.encode()), Ok(edit));
        assert_eq!(Edit::decode(b""), Ok(Edit::default()));
    }

    #[test]
    fn a_bad_field_is_named_by_its_tag() {
        let bad: [(&[u8], _); 8] = [
            (&[0x80], None),
            (&[8], Some(8)),
            (&[200, 1], Some(200)),
            (&[1, 9, b'x'], Some(1)),
            (&[9, 0, 2], Some(2)),
            (&[5, 1, 0], Some(5)),
            (&[6, 7, 1], Some(6)),
            (&[7, 1, 1, 1, 9], Some(7)),
        ];
        for (bytes, tag) in bad {
            assert_eq!(Edit::decode(bytes), Err(BadField(tag)), "{bytes:?}");
        }
    }
}
