//! The writes of LevelDB's logs.
//!
//! Each record of a log is a batch. Invariant: only the newest write of a key is kept.

use std::collections::BTreeMap;
use std::path::Path;

use foldb_leveldb_format::batch::Batch;
use foldb_leveldb_format::encoding::{SEQUENCES, tag};
use foldb_leveldb_format::records::Records;

use super::damaged;
use crate::exit::Outcome;
use crate::foreign::read_file;

/// The newest write of each key in the logs.
#[derive(Debug, Default)]
pub(super) struct Writes {
    /// Tag and value by key.
    pub(super) newest: BTreeMap<Vec<u8>, (u64, Vec<u8>)>,
    /// The largest sequence number.
    pub(super) last_sequence: u64,
    /// Bytes of the logs.
    pub(super) bytes: u64,
    /// Bytes after the last whole record of the newest log. They were never acknowledged, or lost
    /// by the system.
    pub(super) tail: u64,
}

impl Writes {
    /// Begins with the last sequence number that the manifest has.
    pub(super) fn after(last_sequence: u64) -> Writes {
        Writes { last_sequence, ..Writes::default() }
    }

    /// Adds the writes of a log. Logs are added in the order of their numbers.
    ///
    /// # Errors
    /// Fails for damage, for a tail in a log that is not the newest, and for a gap in the sequence
    /// numbers before the log: then the log before it was cut.
    pub(super) fn add(&mut self, path: &Path, is_newest: bool) -> Outcome {
        let bytes = read_file(path)?;
        let mut records = Records::of(&bytes);
        let fail = |at: usize, what: &str| damaged(path, at as u64, what);
        let before = self.last_sequence;
        let mut is_first = true;
        while let Some(record) =
            records.next().map_err(|damage| fail(damage.at, &damage.reason.to_string()))?
        {
            let first = Batch::new(record).map(|batch| batch.sequence);
            if is_first && first.is_some_and(|first| first > before + 1) {
                let what = format!("the writes after sequence number {before} are missing");
                return Err(fail(records.offset(), &what));
            }
            is_first = false;
            let added = self.batch(record);
            added.ok_or_else(|| fail(records.offset(), "a batch is not as LevelDB writes it"))?;
        }
        self.bytes += bytes.len() as u64;
        self.tail = records.tail();
        if self.tail > 0 && !is_newest {
            let what = "the log ends with an incomplete record, but a later log follows";
            return Err(fail(records.offset(), what));
        }
        Ok(())
    }

    /// Adds the writes of one record. `None` if it is no batch.
    pub(super) fn batch(&mut self, record: &[u8]) -> Option<()> {
        let batch = Batch::new(record)?;
        for (n, write) in (0..).zip(batch.clone()) {
            let write = write.ok()?;
            let sequence = batch.sequence.checked_add(n).filter(|&number| number < SEQUENCES)?;
            self.note(write.key, tag(sequence, write.kind), write.value);
            self.last_sequence = self.last_sequence.max(sequence);
        }
        Some(())
    }

    fn note(&mut self, key: &[u8], tag: u64, value: &[u8]) {
        match self.newest.get_mut(key) {
            Some(newest) if newest.0 > tag => {}
            Some(newest) => *newest = (tag, value.to_vec()),
            None => drop(self.newest.insert(key.to_vec(), (tag, value.to_vec()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use foldb_leveldb_format::encoding::{DELETION, VALUE};

    use super::*;

    fn batch(sequence: u64, count: u32, writes: &[u8]) -> Vec<u8> {
        [&sequence.to_le_bytes()[..], &count.to_le_bytes(), writes].concat()
    }

    #[test]
    fn the_newest_write_of_a_key_counts() {
        let mut writes = Writes::default();
        writes.batch(&batch(5, 3, b"\x01\x01a\x03one\x00\x01b\x01\x01c\x00")).unwrap();
        writes.batch(&batch(8, 1, b"\x00\x01a")).unwrap();
        writes.batch(&batch(7, 1, b"\x01\x01a\x03old")).unwrap();
        let expected = [(b"a", 8, DELETION), (b"b", 6, DELETION), (b"c", 7, VALUE)];
        let found: Vec<_> = writes.newest.iter().map(|(key, (tag, _))| (&key[..], *tag)).collect();
        assert_eq!(found, expected.map(|(key, sequence, kind)| (&key[..], tag(sequence, kind))));
        assert_eq!(writes.last_sequence, 8);
    }

    #[test]
    fn a_bad_batch_is_damage() {
        let good = batch(5, 1, b"\x01\x01a\x03one");
        assert!(Writes::default().batch(&good).is_some());
        for len in 0..good.len() {
            assert!(Writes::default().batch(&good[..len]).is_none(), "{len}");
        }
        let bad: [Vec<u8>; 4] = [
            batch(5, 2, b"\x01\x01a\x03one"),
            batch(5, 0, b"\x01\x01a\x03one"),
            batch(5, 1, b"\x02\x01a\x03one"),
            batch(1 << 56, 1, b"\x01\x01a\x03one"),
        ];
        for bytes in bad {
            assert!(Writes::default().batch(&bytes).is_none(), "{bytes:?}");
        }
    }
}
