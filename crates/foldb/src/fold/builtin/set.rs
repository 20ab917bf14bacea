//! `set`: blind writes add and remove members. The newest change of a member decides whether the
//! set has it.
//!
//! ```text
//! operand = partial result:   any number of   | '+' or '-' | length varint | member |
//! value: the same, with '+' only
//! ```
//!
//! Members are strictly ascending. A partial result keeps its removals, because the members below
//! are unknown: `+x -x` gives `-x`, not nothing. A key whose set becomes empty is deleted. If the
//! caller puts a value with a removal, the removal has no effect, and the next fold drops it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::encoding::{ByteReader, put_length_delimited};
use crate::error::{Error, Result};
use crate::fold::operator::{Full, MergeOperator, Partial, TextForm};

const ADD: u8 = b'+';
const REMOVE: u8 = b'-';

/// Makes the operand that adds a member. It is also the value that holds only this member.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// use foldb::operators::set;
///
/// let operator = db.operator("set")?;
/// db.put("tags", set::add("red"))?;
/// db.merge_with(&operator, "tags", set::add("blue"))?;
/// assert_eq!(set::members(&db.get("tags")?.unwrap())?, [&b"blue"[..], b"red"]);
/// db.merge_with(&operator, "tags", set::remove("red"))?;
/// db.merge_with(&operator, "tags", set::remove("blue"))?;
/// assert_eq!(db.get("tags")?, None);
/// # Ok::<(), foldb::Error>(())
/// ```
pub fn add(member: impl AsRef<[u8]>) -> Vec<u8> {
    encoded(ADD, member.as_ref())
}

/// Makes the operand that removes a member.
///
/// # Example
/// ```
/// assert!(foldb::operators::set::members(&foldb::operators::set::remove("red"))?.is_empty());
/// # Ok::<(), foldb::Error>(())
/// ```
pub fn remove(member: impl AsRef<[u8]>) -> Vec<u8> {
    encoded(REMOVE, member.as_ref())
}

/// Returns the members of a value, ascending in the order of their bytes.
///
/// # Errors
/// `Corruption` if the bytes are not a set.
///
/// # Example
/// ```
/// assert_eq!(foldb::operators::set::members(&foldb::operators::set::add("red"))?, [b"red"]);
/// assert!(foldb::operators::set::members(b"red").is_err());
/// # Ok::<(), foldb::Error>(())
/// ```
pub fn members(value: &[u8]) -> Result<Vec<&[u8]>> {
    let changes = changes(value)?;
    Ok(changes.into_iter().filter(|(sign, _)| *sign == ADD).map(|(_, member)| member).collect())
}

fn encoded(sign: u8, member: &[u8]) -> Vec<u8> {
    let mut out = vec![sign];
    put_length_delimited(&mut out, member);
    out
}

/// Returns the signs and members, ascending.
pub(crate) fn changes(bytes: &[u8]) -> Result<Vec<(u8, &[u8])>> {
    let mut reader = ByteReader::new(bytes);
    let mut changes: Vec<(u8, &[u8])> = Vec::new();
    while !reader.is_empty() {
        let at = reader.position();
        let sign = reader.u8("set sign")?;
        if sign != ADD && sign != REMOVE {
            return Err(Error::corruption(format!(
                "set sign at offset {at}: expected '+' or '-', found 0x{sign:02x}"
            )));
        }
        let member = reader.length_delimited("set member")?;
        if changes.last().is_some_and(|(_, last)| *last >= member) {
            return Err(Error::corruption(format!(
                "set member at offset {at}: expected one greater than the member before it"
            )));
        }
        changes.push((sign, member));
    }
    Ok(changes)
}

#[derive(Debug)]
struct Set;

pub(super) fn make_set(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    parameter.is_none().then(|| Arc::new(Set) as Arc<dyn MergeOperator>)
}

/// Returns the last sign of each member. `pieces` is oldest first. Returns `None` if a piece is
/// malformed.
fn latest<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Option<BTreeMap<&'a [u8], u8>> {
    let mut latest = BTreeMap::new();
    for piece in pieces {
        latest.extend(changes(piece).ok()?.into_iter().map(|(sign, member)| (member, sign)));
    }
    Some(latest)
}

impl MergeOperator for Set {
    fn name(&self) -> &str {
        "set"
    }

    fn full(
        &self,
        _key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Full {
        let Some(latest) = latest(base.into_iter().chain(operands.iter().copied())) else {
            return Full::Fail;
        };
        for (member, _) in latest.iter().filter(|(_, sign)| **sign == ADD) {
            out.push(ADD);
            put_length_delimited(out, member);
        }
        if out.is_empty() { Full::Delete } else { Full::Value }
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        let Some(latest) = latest(operands.iter().copied()) else { return Partial::Keep };
        for (member, sign) in &latest {
            out.push(*sign);
            put_length_delimited(out, member);
        }
        Partial::Operand
    }

    fn check_operand(&self, operand: &[u8]) -> Result<(), String> {
        match changes(operand) {
            Ok(_) => Ok(()),
            Err(_) => Err("a set operand ('+' or '-', length as a varint, member; members \
                           strictly ascending)"
                .to_owned()),
        }
    }

    fn text(&self) -> TextForm {
        TextForm::Set
    }
}
