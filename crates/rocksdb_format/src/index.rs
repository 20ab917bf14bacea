//! The index of a table: where its data blocks are.
//!
//! ```text
//! entry:  shared varint | own varint | length of the value varint | own key bytes | value
//! value:  handle | first key of the block, with its length in front, if the index has first keys
//! delta-encoded values:  without their length; if the key shares bytes, the handle is the
//!         difference of its length from that of the block before, as a signed varint: the block
//!         follows that block
//! ```
//!
//! A key is at or behind the last key of its block. It may lack its sequence number. The entries of
//! a partitioned index lead to blocks of the same form. A hash index is a binary one with blocks
//! beside it, which serve reads of single keys.

use foldb_leveldb_format::encoding::Fields;
use foldb_leveldb_format::table::{Handle, TRAILER};

use crate::block::Entries;
use crate::properties::Properties;
use crate::{Fault, Read};

/// How the entries of an index are encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// Values may be differences.
    pub is_delta_encoded: bool,
    /// Values have the first key of the block.
    pub has_first_keys: bool,
    /// The entries lead to blocks of the index.
    pub is_partitioned: bool,
}

const PARTITIONED: u32 = 2;
const WITH_FIRST_KEYS: u32 = 3;

impl Form {
    /// Returns the form of the index of a table.
    ///
    /// # Errors
    /// Fails for an unknown kind of index.
    pub fn of(properties: &Properties) -> Read<Form> {
        let kind = properties.index_kind.unwrap_or(0);
        if kind > WITH_FIRST_KEYS {
            return Err(Fault::unsupported(format!(
                "the table has an index of kind {kind}: expected 0 to {WITH_FIRST_KEYS}"
            )));
        }
        Ok(Form {
            is_delta_encoded: properties.index_values_are_delta_encoded,
            has_first_keys: kind == WITH_FIRST_KEYS,
            is_partitioned: kind == PARTITIONED,
        })
    }
}

/// Returns where the blocks of an index block are, in order.
///
/// # Errors
/// Fails for an entry that is none.
pub fn handles(contents: &[u8], form: Form) -> Read<Vec<Handle>> {
    let mut entries = Entries::of(contents)?;
    let mut handles: Vec<Handle> = Vec::new();
    while !entries.rest.is_empty() {
        let handle = next(&mut entries, form, handles.last());
        handles.push(handle.ok_or_else(|| Fault::damaged("an entry of the index is damaged"))?);
    }
    Ok(handles)
}

fn next(entries: &mut Entries<'_>, form: Form, before: Option<&Handle>) -> Option<Handle> {
    if !form.is_delta_encoded {
        let (_, len) = entries.next_key(Fields::varint32)?;
        return Handle::of(entries.rest.take(len as usize)?);
    }
    let (shared, ()) = entries.next_key(|_| Some(()))?;
    let handle = match (shared, before) {
        (0, _) => Handle::read(&mut entries.rest)?,
        (_, None) => return None,
        (_, Some(before)) => {
            let more = signed(entries.rest.varint()?);
            let offset = before.offset.checked_add(before.len)?.checked_add(TRAILER as u64)?;
            Handle { offset, len: before.len.checked_add_signed(more)? }
        }
    };
    if form.has_first_keys {
        entries.rest.prefixed()?;
    }
    Some(handle)
}

/// Returns the signed number of a varint: the lowest bit is the sign.
fn signed(varint: u64) -> i64 {
    (varint >> 1) as i64 ^ -((varint & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_of_the_block_before() {
        // Three entries, of which the second shares a byte, and one restart.
        let mut block = vec![0, 2, b'k', b'a', 10, 100];
        block.extend_from_slice(&[1, 1, b'b', 3]);
        block.extend_from_slice(&[0, 1, b'l', 50, 7]);
        block.extend_from_slice(&[0, 0, 0, 0, 1, 0, 0, 0]);
        let form = Form { is_delta_encoded: true, ..Form::default() };
        let handle = |offset, len| Handle { offset, len };
        let found = handles(&block, form).unwrap();
        assert_eq!(found, [handle(10, 100), handle(115, 98), handle(50, 7)]);
        assert_eq!([0, 1, 2, 3].map(signed), [0, -1, 1, -2]);
        assert!(handles(&block[4..], form).is_err());
    }
}
