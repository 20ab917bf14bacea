//! The state that the edits of a manifest lead to: column families, their tables, their logs.

use std::collections::{BTreeMap, BTreeSet};

use crate::edit::{Edit, Table};
use crate::kind::SEQUENCES;
use crate::{Fault, Read};

/// The number of the default family.
pub const DEFAULT: u32 = 0;

/// A column family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Family {
    /// Its name.
    pub name: Vec<u8>,
    /// The name of its comparator, if an edit had it.
    pub comparator: Option<Vec<u8>>,
    /// Logs before this number are in its tables.
    pub log: u64,
    /// By level and number.
    pub tables: BTreeMap<(u32, u64), Table>,
    /// The numbers of its files of blobs.
    pub blobs: BTreeSet<u64>,
}

/// A manifest, as far as it was read.
#[derive(Debug, PartialEq, Eq)]
pub struct Manifest {
    /// By number.
    pub families: BTreeMap<u32, Family>,
    /// The last sequence number.
    pub last_sequence: u64,
    /// Logs before this number are not needed.
    pub least_log: u64,
    /// One older log that is not in tables yet; 0 for none.
    pub previous_log: u64,
    /// The edits of a group that is not complete.
    group: Vec<Edit>,
    has_next_file: bool,
    has_last_sequence: bool,
}

impl Default for Manifest {
    fn default() -> Manifest {
        let default = Family { name: b"default".to_vec(), ..Family::default() };
        Manifest {
            families: BTreeMap::from([(DEFAULT, default)]),
            last_sequence: 0,
            least_log: 0,
            previous_log: 0,
            group: Vec::new(),
            has_next_file: false,
            has_last_sequence: false,
        }
    }
}

impl Manifest {
    /// Applies a record. The edits of a group take effect with the last of them.
    ///
    /// # Errors
    /// Fails for a record that is no edit, and for an edit of a family that does not exist.
    pub fn apply(&mut self, record: &[u8]) -> Read<()> {
        let edit = Edit::decode(record)?;
        match edit.more_of_group {
            None if self.group.is_empty() => self.take(edit),
            None => Err(Fault::damaged("an edit of a group is missing")),
            Some(more) => {
                self.group.push(edit);
                if more > 0 {
                    return Ok(());
                }
                std::mem::take(&mut self.group).into_iter().try_for_each(|edit| self.take(edit))
            }
        }
    }

    fn take(&mut self, edit: Edit) -> Read<()> {
        if edit.last_sequence.is_some_and(|last| last >= SEQUENCES) {
            return Err(Fault::damaged("an edit has a last sequence number of more than 56 bits"));
        }
        self.has_next_file |= edit.has_next_file;
        self.has_last_sequence |= edit.last_sequence.is_some();
        self.last_sequence = edit.last_sequence.unwrap_or(0).max(self.last_sequence);
        self.least_log = edit.least_log.unwrap_or(0).max(self.least_log);
        self.previous_log = edit.previous_log.unwrap_or(self.previous_log);
        if let Some(name) = edit.added_family {
            let family = Family { name, ..Family::default() };
            if self.families.insert(edit.family, family).is_some() {
                let number = edit.family;
                return Err(Fault::damaged(format!("column family {number} is added twice")));
            }
        }
        if edit.drops_family {
            self.families.remove(&edit.family);
            return Ok(());
        }
        let Some(family) = self.families.get_mut(&edit.family) else {
            let number = edit.family;
            return Err(Fault::damaged(format!("there is no column family {number} to edit")));
        };
        family.comparator = edit.comparator.or(family.comparator.take());
        family.log = edit.log.unwrap_or(0).max(family.log);
        for table in &edit.removed {
            family.tables.remove(table);
        }
        for table in edit.added {
            family.tables.insert((table.level, table.number), table);
        }
        family.blobs.extend(edit.blobs);
        Ok(())
    }

    /// Returns whether the edits had a next file number and a last sequence number, as those of
    /// every whole manifest do.
    pub fn is_complete(&self) -> bool {
        self.has_next_file && self.has_last_sequence
    }

    /// Returns whether a log may have writes that are in no table.
    pub fn needs_log(&self, number: u64) -> bool {
        let first = self.families.values().map(|family| family.log).min().unwrap_or(0);
        // A prepared transaction of an earlier log may be committed by a later one.
        let first = if self.least_log > 0 { first.min(self.least_log) } else { first };
        number >= first || (number == self.previous_log && number != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_edits_count_and_families_are_apart() {
        let mut manifest = Manifest::default();
        manifest.apply(&[3, 9, 4, 77, 1, 1, b'x']).unwrap();
        manifest.apply(&[200, 1, 2, 201, 1, 1, b'f']).unwrap();
        let mut added = vec![200, 1, 2, 2, 8, 103, 6, 5, 50];
        added.extend_from_slice(b"\x09a\x01\x02\0\0\0\0\0\0\x09b\x01\x02\0\0\0\0\0\0\x02\x03");
        // A field that may be left out, and the path.
        added.extend_from_slice(&[12, 1, 0, 65, 1, 2, 1]);
        manifest.apply(&added).unwrap();
        let family = &manifest.families[&2];
        assert_eq!((family.name.as_slice(), family.log), (&b"f"[..], 8));
        let table = &family.tables[&(6, 5)];
        assert_eq!((table.size, table.path, table.largest_sequence), (50, 2, Some(3)));
        assert!(manifest.is_complete() && manifest.needs_log(1));
        manifest.apply(&[200, 1, 2, 6, 6, 5]).unwrap();
        assert!(manifest.families[&2].tables.is_empty());
        manifest.apply(&[200, 1, 2, 202, 1]).unwrap();
        assert_eq!(manifest.families.len(), 1);
        assert!(manifest.apply(&[200, 1, 2, 2, 9]).is_err());
    }

    #[test]
    fn a_group_takes_effect_as_a_whole() {
        let mut manifest = Manifest::default();
        manifest.apply(&[2, 7, 172, 2, 1]).unwrap();
        assert_eq!(manifest.families[&0].log, 0);
        manifest.apply(&[9, 3, 172, 2, 0]).unwrap();
        assert_eq!((manifest.families[&0].log, manifest.previous_log), (7, 3));
    }

    #[test]
    fn unknown_tags_are_left_out_or_named() {
        let mut manifest = Manifest::default();
        manifest.apply(&[0x81, 0x40, 2, b'i', b'd', 2, 5]).unwrap();
        assert_eq!(manifest.families[&0].log, 5);
        let unknown = manifest.apply(&[0x81, 0x08, 1]).unwrap_err();
        assert!(matches!(&unknown, Fault::Unsupported(what) if what.contains("tag 1025")));
        let of_table =
            [&[103, 6, 5, 50][..], b"\x09a\x01\x02\0\0\0\0\0\0\x09b\x01\x02\0\0\0\0\0\0"];
        let of_table = [&of_table.concat()[..], &[2, 3, 66, 1, 0, 1]].concat();
        let unknown = manifest.apply(&of_table).unwrap_err();
        assert!(matches!(&unknown, Fault::Unsupported(what) if what.contains("tag 66")));
    }
}
