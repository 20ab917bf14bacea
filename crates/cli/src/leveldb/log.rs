//! The writes of LevelDB's logs.
//!
//! Each record of a log is a batch:
//!
//! ```text
//! sequence u64 | count u32 | count × ( 1 | key | value )  or  ( 0 | key )
//! ```
//!
//! Keys and values have their length in front. The n-th write of a batch has sequence number
//! `sequence + n`. Invariant: only the newest write of a key is kept.

use std::collections::BTreeMap;
use std::path::Path;

use super::encoding::{DELETION, Fields, SEQUENCES, VALUE, tag};
use super::framing::{self, Records};
use crate::exit::Outcome;

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
        let mut records = Records::read(path)?;
        let before = self.last_sequence;
        let mut is_first = true;
        while let Some(record) = records.next()? {
            if is_first && sequence_of(record).is_some_and(|first| first > before + 1) {
                let what = format!("the writes after sequence number {before} are missing");
                return Err(records.damaged(&what));
            }
            is_first = false;
            let added = self.batch(record);
            added.ok_or_else(|| records.damaged("a batch is not as LevelDB writes it"))?;
        }
        self.bytes += records.len();
        self.tail = records.tail();
        if self.tail > 0 && !is_newest {
            let what = "the log ends with an incomplete record, but a later log follows";
            return Err(framing::damaged(path, records.offset(), what));
        }
        Ok(())
    }

    /// Adds the writes of one record. `None` if it is no batch.
    pub(super) fn batch(&mut self, record: &[u8]) -> Option<()> {
        let mut fields = Fields(record);
        let first = sequence_of(fields.take(8)?)?;
        let count = u32::from_le_bytes(fields.take(4)?.try_into().ok()?);
        for n in 0..u64::from(count) {
            let kind = fields.u8()?;
            let key = fields.prefixed()?;
            let value = match kind {
                VALUE => fields.prefixed()?,
                DELETION => &[],
                _ => return None,
            };
            let sequence = first.checked_add(n).filter(|&sequence| sequence < SEQUENCES)?;
            self.note(key, tag(sequence, kind), value);
            self.last_sequence = self.last_sequence.max(sequence);
        }
        fields.is_empty().then_some(())
    }

    fn note(&mut self, key: &[u8], tag: u64, value: &[u8]) {
        match self.newest.get_mut(key) {
            Some(newest) if newest.0 > tag => {}
            Some(newest) => *newest = (tag, value.to_vec()),
            None => drop(self.newest.insert(key.to_vec(), (tag, value.to_vec()))),
        }
    }
}

/// Returns the sequence number of the first write of a batch.
fn sequence_of(batch: &[u8]) -> Option<u64> {
    batch.first_chunk::<8>().map(|sequence| u64::from_le_bytes(*sequence))
}

#[cfg(test)]
mod tests {
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
