//! The state that the edits of a manifest lead to: which tables and logs a database consists of.

use std::collections::BTreeMap;

use crate::edit::{BadField, Edit, TableInfo};
use crate::encoding::SEQUENCES;

/// A manifest, as far as it was read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// By level and number.
    pub tables: BTreeMap<(u32, u64), TableInfo>,
    /// Name of the comparator, if an edit had it.
    pub comparator: Option<Vec<u8>>,
    /// Logs from this number on are not in tables yet.
    pub log: u64,
    /// One older log that is not in tables yet; 0 for none.
    pub previous_log: u64,
    /// The last sequence number.
    pub last_sequence: u64,
    has_log: bool,
    has_next_file: bool,
    has_last_sequence: bool,
}

impl Manifest {
    /// Applies a record. Removals count before additions.
    ///
    /// # Errors
    /// Fails, with what is wrong, for a record that is no edit. The manifest stays as it was.
    pub fn apply(&mut self, record: &[u8]) -> Result<(), String> {
        let edit = Edit::decode(record).map_err(told)?;
        if edit.last_sequence.is_some_and(|last| last >= SEQUENCES) {
            return Err(told(BadField(Some(4))));
        }
        for table in &edit.removed {
            self.tables.remove(table);
        }
        for table in edit.added {
            self.tables.insert((table.level, table.number), table);
        }
        self.has_log |= edit.log.is_some();
        self.has_next_file |= edit.next_file.is_some();
        self.has_last_sequence |= edit.last_sequence.is_some();
        self.comparator = edit.comparator.or(self.comparator.take());
        self.log = edit.log.unwrap_or(self.log);
        self.previous_log = edit.previous_log.unwrap_or(self.previous_log);
        self.last_sequence = edit.last_sequence.unwrap_or(self.last_sequence);
        Ok(())
    }

    /// Returns whether the edits had a log number, a next file number and a last sequence number,
    /// as those of every whole manifest do.
    pub fn is_complete(&self) -> bool {
        self.has_log && self.has_next_file && self.has_last_sequence
    }

    /// Returns whether the writes of a log may be missing in the tables.
    pub fn needs_log(&self, number: u64) -> bool {
        number >= self.log || (number == self.previous_log && number != 0)
    }
}

fn told(bad: BadField) -> String {
    match bad.0 {
        None => "an edit has a bad tag".to_owned(),
        Some(tag @ (1..=7 | 9)) => format!("an edit has a bad field of tag {tag}"),
        Some(tag) => format!("an edit has a field of tag {tag}, which LevelDB does not write"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(tables: &[(u32, u64)], last_sequence: u64) -> Vec<u8> {
        let (smallest, largest) =
            (b"a\x01\x02\0\0\0\0\0\0".to_vec(), b"b\x01\x02\0\0\0\0\0\0".to_vec());
        let table = |&(level, number): &(u32, u64)| TableInfo {
            level,
            number,
            size: 1000 * number,
            smallest: smallest.clone(),
            largest: largest.clone(),
        };
        let added = tables.iter().map(table).collect();
        Edit { last_sequence: Some(last_sequence), added, ..Edit::default() }.encode()
    }

    fn tables(manifest: &Manifest) -> Vec<(u32, u64)> {
        manifest.tables.keys().copied().collect()
    }

    #[test]
    fn later_edits_count() {
        let mut manifest = Manifest::default();
        manifest.apply(&edit(&[(2, 5), (2, 600), (6, 7)], 77)).unwrap();
        assert_eq!(tables(&manifest), [(2, 5), (2, 600), (6, 7)]);
        assert_eq!((manifest.log, manifest.last_sequence, manifest.is_complete()), (0, 77, false));
        manifest.apply(&[2, 9, 9, 4]).unwrap();
        assert!(!manifest.is_complete());
        manifest.apply(&[3, 9, 1, 1, b'x', 4, 78]).unwrap();
        assert!(manifest.is_complete());
        assert_eq!(manifest.comparator.as_deref(), Some(&b"x"[..]));
        assert_eq!((manifest.log, manifest.last_sequence), (9, 78));
        assert_eq!(
            [0, 4, 5, 8, 9, 10].map(|log| manifest.needs_log(log)),
            [false, true, false, false, true, true]
        );
    }

    #[test]
    fn a_move_within_one_edit_keeps_the_table() {
        let mut manifest = Manifest::default();
        manifest.apply(&edit(&[(1, 5)], 1)).unwrap();
        // The table goes from level 1 to level 2, and a table of the same place is replaced.
        let moved = edit(&[(2, 5)], 1);
        manifest.apply(&[&moved[..], &[6, 1, 5]].concat()).unwrap();
        assert_eq!(tables(&manifest), [(2, 5)]);
        manifest.apply(&[&moved[..], &[6, 2, 5]].concat()).unwrap();
        assert_eq!(tables(&manifest), [(2, 5)]);
    }

    #[test]
    fn a_bad_edit_is_an_error() {
        let bad: [&[u8]; 6] = [&[8], &[200, 1], &[1, 9, b'x'], &[2], &[6, 7, 1], &[7, 1, 1, 1, 9]];
        for bytes in bad {
            assert!(Manifest::default().apply(bytes).is_err(), "{bytes:?}");
        }
        // A last sequence number that no tag can hold.
        for (last, is_bad) in [(SEQUENCES - 1, false), (SEQUENCES, true), (u64::MAX, true)] {
            assert_eq!(Manifest::default().apply(&edit(&[], last)).is_err(), is_bad, "{last}");
        }
    }
}
