//! What a table refers to in value segments.
//!
//! ```text
//! frame in a table:  segments varint | per segment, ascending: segment varint, stretches
//! ```
//!
//! Which values are alive is the union of these over the tables of a version: found without looking
//! up a key, and never a matter of counting that could drift. A trimmed table counts in full until
//! its file goes.

use std::collections::BTreeMap;

use super::address::{Address, SegmentId};
use super::extents::{Extents, ExtentsBuilder};
use crate::encoding::{ByteReader, put_varint};
use crate::error::{Error, Result};

/// The values that a table refers to, by segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct References(BTreeMap<SegmentId, Extents>);

impl References {
    pub(crate) fn of(&self, segment: SegmentId) -> Option<&Extents> {
        self.0.get(&segment)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (SegmentId, &Extents)> {
        self.0.iter().map(|(&segment, extents)| (segment, extents))
    }

    /// Bytes of the records referred to, by segment.
    pub(crate) fn totals(&self) -> Vec<(SegmentId, u64)> {
        self.0.iter().map(|(&segment, extents)| (segment, extents.bytes())).collect()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.values().map(|extents| 64 + extents.memory_bytes()).sum()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.0.len() as u64);
        for (&segment, extents) in &self.0 {
            put_varint(&mut out, segment);
            extents.encode(&mut out);
        }
        out
    }

    /// # Errors
    /// `Corruption` for bytes that are none.
    pub(crate) fn decode(bytes: &[u8]) -> Result<References> {
        let mut bytes = ByteReader::new(bytes);
        let mut all = BTreeMap::new();
        for _ in 0..bytes.varint("number of segments")? {
            let segment = bytes.varint("segment")?;
            let extents = Extents::decode(&mut bytes)?;
            if all.last_key_value().is_some_and(|(&last, _)| last >= segment) {
                return Err(Error::corruption("references: expected ascending segments"));
            }
            all.insert(segment, extents);
        }
        if !bytes.is_empty() {
            let left = bytes.remaining();
            return Err(Error::corruption(format!("references: found {left} bytes too many")));
        }
        Ok(References(all))
    }
}

/// The references of a table being written.
#[derive(Debug, Default)]
pub(crate) struct ReferencesBuilder(BTreeMap<SegmentId, ExtentsBuilder>);

impl ReferencesBuilder {
    /// Notes a record whose value lies at an address.
    pub(crate) fn add(&mut self, address: &Address) {
        self.0.entry(address.segment).or_default().add(address.position, address.end());
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.0.values().map(|extents| 64 + extents.memory_bytes()).sum()
    }

    pub(crate) fn finish(self) -> References {
        let finished = self.0.into_iter().map(|(segment, extents)| (segment, extents.finish()));
        References(finished.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_come_back() {
        let mut builder = ReferencesBuilder::default();
        let at = |segment, position| Address { segment, position, len: 100, key_part: 0 };
        let len = at(1, 0).record_len();
        for address in [at(9, 0), at(3, 10), at(9, len), at(9, 3 * len)] {
            builder.add(&address);
        }
        let references = builder.finish();
        assert_eq!(references.totals(), [(3, len), (9, 3 * len)]);
        assert_eq!(references.of(9).unwrap().len(), 2, "neighbours are one stretch");
        let bytes = references.encode();
        assert_eq!(References::decode(&bytes).unwrap(), references);
        for cut in 0..bytes.len() {
            assert!(References::decode(&bytes[..cut]).is_err());
        }
    }
}
