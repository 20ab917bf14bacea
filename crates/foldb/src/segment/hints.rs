//! Hints: whose values a section holds, so that repair learns it without reading them.
//!
//! Drawn in [`super::format`]. There is one hint per record, in the order of the records, so a
//! record's position follows from the lengths before it and the section's moves.

use super::address::{CHECKSUM_LEN, head_len};
use super::extents::Extents;
use crate::encoding::{ByteReader, common_prefix, put_length_delimited, put_varint};
use crate::error::{Error, Result};
use crate::key::SeqNo;

/// Hints being written.
#[derive(Debug, Default)]
pub(crate) struct HintsBuilder {
    bytes: Vec<u8>,
    last_key: Vec<u8>,
}

impl HintsBuilder {
    pub(crate) fn add(&mut self, key: &[u8], seqno: SeqNo, value_len: u64) {
        let shared = common_prefix(&self.last_key, key);
        put_varint(&mut self.bytes, shared as u64);
        put_length_delimited(&mut self.bytes, &key[shared..]);
        put_varint(&mut self.bytes, seqno);
        put_varint(&mut self.bytes, value_len);
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(&key[shared..]);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.last_key.capacity()
    }
}

/// A value and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hint {
    pub(crate) key: Vec<u8>,
    pub(crate) seqno: SeqNo,
    pub(crate) value_len: u64,
    pub(crate) position: u64,
}

/// Visits the hints of a section whose records have these positions; all from 0 on if `None`.
///
/// # Errors
/// `Corruption` for bytes that are no hints; those of `visit`.
pub(crate) fn visit_hints(
    payload: &[u8],
    moves: Option<&Extents>,
    mut visit: impl FnMut(&Hint) -> Result<()>,
) -> Result<()> {
    let mut bytes = ByteReader::new(payload);
    let mut hint = Hint { key: Vec::new(), seqno: 0, value_len: 0, position: 0 };
    let mut stretches = moves.map(|moves| moves.iter().peekable());
    while !bytes.is_empty() {
        let shared = bytes.varint("hint: shared bytes")?;
        let suffix = bytes.length_delimited("hint: key")?;
        if shared > hint.key.len() as u64 {
            return Err(Error::corruption("a hint shares more than the key before it has"));
        }
        hint.key.truncate(shared as usize);
        hint.key.extend_from_slice(suffix);
        hint.seqno = bytes.varint("hint: seqno")?;
        hint.value_len = bytes.varint("hint: value length")?;
        if let Some(stretches) = &mut stretches {
            while stretches.next_if(|stretch| stretch.end <= hint.position).is_some() {}
            let stretch =
                stretches.peek().ok_or_else(|| Error::corruption("hints of no record"))?;
            hint.position = hint.position.max(stretch.start);
        }
        visit(&hint)?;
        let len = hint.value_len.saturating_add(head_len(hint.value_len.min(1 << 60)));
        hint.position = hint.position.saturating_add(len).saturating_add(CHECKSUM_LEN);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::extents::Extent;

    #[test]
    fn hints_come_back_with_their_positions() {
        let mut builder = HintsBuilder::default();
        let keys = ["apple", "apply", "b", "bee"];
        for (seqno, key) in keys.iter().enumerate() {
            builder.add(key.as_bytes(), seqno as u64, 91);
        }
        let mut found = Vec::new();
        visit_hints(builder.bytes(), None, |hint| {
            found.push((hint.key.clone(), hint.seqno, hint.position));
            Ok(())
        })
        .unwrap();
        let expected = keys.iter().enumerate();
        let expected: Vec<_> =
            expected.map(|(i, key)| (key.as_bytes().to_vec(), i as u64, i as u64 * 100)).collect();
        assert_eq!(found, expected);

        // The same records, two left out before the first and one before the last.
        let moves =
            Extents::of(vec![Extent { start: 200, end: 500 }, Extent { start: 600, end: 700 }]);
        let mut positions = Vec::new();
        visit_hints(builder.bytes(), Some(&moves), |hint| {
            positions.push(hint.position);
            Ok(())
        })
        .unwrap();
        assert_eq!(positions, [200, 300, 400, 600]);
        assert!(visit_hints(&builder.bytes()[1..], None, |_| Ok(())).is_err());
    }
}
