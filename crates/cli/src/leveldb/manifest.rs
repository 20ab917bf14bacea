//! Which tables and logs a LevelDB database consists of.
//!
//! `CURRENT` names the manifest. Its records are edits, and an edit is a list of fields, each with
//! a tag:
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

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::encoding::{Fields, SEQUENCES, put_prefixed, put_varint};
use super::framing::{self, Records};
use super::{BYTEWISE, LEVELS};
use crate::exit::{Exit, Outcome};
use crate::form::escape::quoted;
use crate::location::shown;

/// A table of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableInfo {
    pub(super) level: u32,
    pub(super) number: u64,
    pub(super) size: u64,
    /// The first and the last internal key.
    pub(super) smallest: Vec<u8>,
    pub(super) largest: Vec<u8>,
}

/// The state that the edits of a manifest lead to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    /// By level and number.
    pub(super) tables: BTreeMap<(u32, u64), TableInfo>,
    comparator: Option<String>,
    pub(super) log: u64,
    pub(super) previous_log: u64,
    pub(super) next_file: u64,
    pub(super) last_sequence: u64,
    /// Which of the fields 2, 3 and 4 were read, as bits.
    has: u32,
}

/// Every manifest has a log number, a next file number and a last sequence number.
const HAS_ALL: u32 = 1 << 2 | 1 << 3 | 1 << 4;

/// Returns the path of the manifest that `CURRENT` names.
pub(super) fn in_force(directory: &Path) -> Outcome<PathBuf> {
    let current = directory.join("CURRENT");
    let content = std::fs::read(&current)
        .map_err(|error| Exit::failed(format!("cannot read {}: {error}", shown(&current))))?;
    let name = content.strip_suffix(b"\n").and_then(|name| std::str::from_utf8(name).ok());
    match name.filter(|name| is_manifest(name)) {
        Some(name) if directory.join(name).is_file() => Ok(directory.join(name)),
        Some(name) => {
            let message = format!("the manifest {name}, which it names, is missing");
            Err(framing::damaged(&current, 0, &message))
        }
        None => {
            let found = quoted(&content[..content.len().min(40)]);
            let message = format!("expected the name of a manifest, found {found}");
            Err(framing::damaged(&current, 0, &message))
        }
    }
}

fn is_manifest(name: &str) -> bool {
    let digits = name.strip_prefix("MANIFEST-").unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

impl Manifest {
    /// Reads the manifest in force.
    ///
    /// # Errors
    /// Fails for damage, and for an order of keys that is not [`BYTEWISE`].
    pub(super) fn read(directory: &Path) -> Outcome<Manifest> {
        let path = in_force(directory)?;
        let mut records = Records::read(&path)?;
        let mut manifest = Manifest::default();
        while let Some(record) = records.next()? {
            let applied = manifest.apply(record);
            applied.map_err(|what| records.damaged(&what))?;
        }
        // As LevelDB, which takes a cut manifest, but not one whose end is damaged.
        if let Some(what) = records.bad_tail() {
            return Err(records.damaged(what));
        }
        if manifest.has != HAS_ALL {
            return Err(records.damaged("the manifest is incomplete"));
        }
        match manifest.comparator.as_deref() {
            Some(BYTEWISE) | None => Ok(manifest),
            Some(other) => Err(Exit::failed(format!(
                "the database orders its keys by the comparator {}, which foldb does not have: an \
                 import takes only {}: export the entries with the program that has the comparator",
                quoted(other.as_bytes()),
                quoted(BYTEWISE.as_bytes()),
            ))),
        }
    }

    /// Applies an edit.
    ///
    /// # Errors
    /// What is wrong with the edit.
    pub(super) fn apply(&mut self, record: &[u8]) -> Result<(), String> {
        let mut fields = Fields(record);
        let mut added = Vec::new();
        while !fields.is_empty() {
            let tag = fields.varint32().ok_or("an edit has a bad tag")?;
            let known = self.field(tag, &mut fields, &mut added);
            self.has |= 1u32.checked_shl(tag).unwrap_or_default() & HAS_ALL;
            known.ok_or_else(|| match tag {
                1..=7 | 9 => format!("an edit has a bad field of tag {tag}"),
                _ => format!("an edit has a field of tag {tag}, which LevelDB does not write"),
            })?;
        }
        for table in added {
            self.tables.insert((table.level, table.number), table);
        }
        Ok(())
    }

    /// Reads one field. `None` if it is bad. Removals count before additions.
    fn field(
        &mut self,
        tag: u32,
        fields: &mut Fields<'_>,
        added: &mut Vec<TableInfo>,
    ) -> Option<()> {
        match tag {
            1 => {
                let name = String::from_utf8_lossy(fields.prefixed()?).into_owned();
                self.comparator = Some(name);
            }
            2 => self.log = fields.varint()?,
            3 => self.next_file = fields.varint()?,
            4 => self.last_sequence = fields.varint().filter(|&last| last < SEQUENCES)?,
            5 => {
                level(fields)?;
                fields.prefixed()?;
            }
            6 => {
                let table = (level(fields)?, fields.varint()?);
                self.tables.remove(&table);
            }
            7 => added.push(TableInfo {
                level: level(fields)?,
                number: fields.varint()?,
                size: fields.varint()?,
                smallest: fields.prefixed()?.to_vec(),
                largest: fields.prefixed()?.to_vec(),
            }),
            9 => self.previous_log = fields.varint()?,
            _ => return None,
        }
        Some(())
    }

    /// Returns whether the writes of a log may be missing in the tables.
    pub(super) fn needs_log(&self, number: u64) -> bool {
        number >= self.log || (number == self.previous_log && number != 0)
    }
}

fn level(fields: &mut Fields<'_>) -> Option<u32> {
    fields.varint32().filter(|&level| level < LEVELS)
}

/// Returns an edit that describes a whole database without logs.
pub(super) fn edit(tables: &[TableInfo], next_file: u64, last_sequence: u64) -> Vec<u8> {
    let mut edit = Vec::new();
    edit.push(1);
    put_prefixed(&mut edit, BYTEWISE.as_bytes());
    for (tag, value) in [(2, 0), (9, 0), (3, next_file), (4, last_sequence)] {
        edit.push(tag);
        put_varint(&mut edit, value);
    }
    for table in tables {
        edit.push(7);
        put_varint(&mut edit, u64::from(table.level));
        put_varint(&mut edit, table.number);
        put_varint(&mut edit, table.size);
        put_prefixed(&mut edit, &table.smallest);
        put_prefixed(&mut edit, &table.largest);
    }
    edit
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(level: u32, number: u64) -> TableInfo {
        let (smallest, largest) =
            (b"a\x01\x02\0\0\0\0\0\0".to_vec(), b"b\x01\x02\0\0\0\0\0\0".to_vec());
        TableInfo { level, number, size: 1000 * number, smallest, largest }
    }

    #[test]
    fn an_edit_is_read_as_written() {
        let tables = [table(2, 5), table(2, 600), table(6, 7)];
        let mut manifest = Manifest::default();
        manifest.apply(&edit(&tables, 601, 77)).unwrap();
        assert_eq!(manifest.tables.values().cloned().collect::<Vec<_>>(), tables);
        assert_eq!(manifest.comparator.as_deref(), Some(BYTEWISE));
        assert_eq!((manifest.log, manifest.next_file, manifest.last_sequence), (0, 601, 77));
        manifest.apply(&[2, 9, 9, 4]).unwrap();
        assert_eq!(
            [0, 4, 5, 8, 9, 10].map(|log| manifest.needs_log(log)),
            [false, true, false, false, true, true]
        );
    }

    #[test]
    fn a_move_within_one_edit_keeps_the_table() {
        let mut manifest = Manifest::default();
        manifest.apply(&edit(&[table(1, 5)], 6, 1)).unwrap();
        // The table goes from level 1 to level 2, and a table of the same place is replaced.
        let moved = edit(&[table(2, 5)], 6, 1);
        manifest.apply(&[&moved[..], &[6, 1, 5]].concat()).unwrap();
        assert_eq!(manifest.tables.keys().collect::<Vec<_>>(), [&(2, 5)]);
        manifest.apply(&[&moved[..], &[6, 2, 5]].concat()).unwrap();
        assert_eq!(manifest.tables.keys().collect::<Vec<_>>(), [&(2, 5)]);
    }

    #[test]
    fn a_bad_edit_is_an_error() {
        let bad: [&[u8]; 6] = [&[8], &[200, 1], &[1, 9, b'x'], &[2], &[6, 7, 1], &[7, 1, 1, 1, 9]];
        for bytes in bad {
            assert!(Manifest::default().apply(bytes).is_err(), "{bytes:?}");
        }
        // A last sequence number that no tag can hold.
        for (last, is_bad) in [(SEQUENCES - 1, false), (SEQUENCES, true), (u64::MAX, true)] {
            assert_eq!(Manifest::default().apply(&edit(&[], 1, last)).is_err(), is_bad, "{last}");
        }
    }
}
