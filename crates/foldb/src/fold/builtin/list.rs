//! `list` and `listlast:N`: elements in the order in which they were merged. Unlike `append`,
//! elements keep their boundaries, whatever bytes they hold.
//!
//! ```text
//! operand = partial result = value:   any number of   | length varint | element |
//! ```
//!
//! A value of one element is also an operand of one element, so a put of such a value equals a
//! merge onto nothing. `listlast` takes operands of at most N elements, and cuts a longer base to
//! its last N.

use std::sync::Arc;

use crate::encoding::{ByteReader, put_length_delimited};
use crate::error::Result;
use crate::fold::operator::{Full, Growth, MergeOperator, Partial, TextForm};
use crate::limits::is_too_long;

/// Makes the operand that appends these elements. It is also the value that holds them.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// # let options = foldb::Options { create_if_missing: true, ..Default::default() };
/// # let db = foldb::Db::open(dir.path(), options)?;
/// use foldb::operators::list;
///
/// let operator = db.operator("list")?;
/// db.put("queue", list::operand(["a"]))?;
/// db.merge_with(&operator, "queue", list::operand(["b", "c"]))?;
/// assert_eq!(list::elements(&db.get("queue")?.unwrap())?, [b"a", b"b", b"c"]);
/// # Ok::<(), foldb::Error>(())
/// ```
pub fn operand<E: AsRef<[u8]>>(elements: impl IntoIterator<Item = E>) -> Vec<u8> {
    let mut out = Vec::new();
    for element in elements {
        put_length_delimited(&mut out, element.as_ref());
    }
    out
}

/// Returns the elements of a value (or operand), oldest first.
///
/// # Errors
/// `Corruption`, with the offset, if the bytes are not a list.
///
/// # Example
/// ```
/// use foldb::operators::list;
///
/// assert_eq!(list::elements(&list::operand(["a", "b"]))?, [b"a", b"b"]);
/// assert!(foldb::operators::list::elements(b"\x05abc").is_err());
/// # Ok::<(), foldb::Error>(())
/// ```
pub fn elements(value: &[u8]) -> Result<Vec<&[u8]>> {
    let mut reader = ByteReader::new(value);
    let mut elements = Vec::new();
    while !reader.is_empty() {
        elements.push(reader.length_delimited("list element")?);
    }
    Ok(elements)
}

/// How many elements `listlast` keeps without a parameter.
const DEFAULT_LAST: u32 = 100;

#[derive(Debug)]
struct List;

pub(super) fn make_list(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    parameter.is_none().then(|| Arc::new(List) as Arc<dyn MergeOperator>)
}

const GRAMMAR: &str = "a list (elements, each after its length as a varint)";

impl List {
    /// Joins the pieces. Returns whether all of them are lists.
    fn join<'a>(pieces: impl Iterator<Item = &'a [u8]> + Clone, out: &mut Vec<u8>) -> bool {
        out.reserve(pieces.clone().map(<[u8]>::len).sum());
        for piece in pieces {
            if !is_list(piece) {
                return false;
            }
            out.extend_from_slice(piece);
        }
        true
    }
}

fn is_list(bytes: &[u8]) -> bool {
    let mut reader = ByteReader::new(bytes);
    while !reader.is_empty() {
        if reader.length_delimited("list element").is_err() {
            return false;
        }
    }
    true
}

impl MergeOperator for List {
    fn name(&self) -> &str {
        "list"
    }

    fn full(
        &self,
        _key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Full {
        if is_too_long(base, operands) {
            return Full::Fail;
        }
        let pieces = base.into_iter().chain(operands.iter().copied());
        if List::join(pieces, out) { Full::Value } else { Full::Fail }
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        let is_list = !is_too_long(None, operands) && List::join(operands.iter().copied(), out);
        if is_list { Partial::Operand } else { Partial::Keep }
    }

    fn check_operand(&self, operand: &[u8]) -> Result<(), String> {
        if is_list(operand) { Ok(()) } else { Err(GRAMMAR.to_owned()) }
    }

    fn text(&self) -> TextForm {
        TextForm::List
    }
}

#[derive(Debug)]
struct ListLast {
    keep: u32,
    /// `keep` in decimal.
    parameter: Vec<u8>,
}

pub(super) fn make_listlast(parameter: Option<&[u8]>) -> Option<Arc<dyn MergeOperator>> {
    let keep = match parameter {
        None => DEFAULT_LAST,
        Some(text) => std::str::from_utf8(text).ok()?.parse().ok().filter(|keep| *keep > 0)?,
    };
    let spelled = keep.to_string().into_bytes();
    let canonical = parameter.is_none_or(|given| given == spelled);
    canonical.then(|| Arc::new(ListLast { keep, parameter: spelled }) as Arc<dyn MergeOperator>)
}

impl ListLast {
    fn fits(&self, operand: &[u8]) -> bool {
        elements(operand).is_ok_and(|elements| elements.len() <= self.keep as usize)
    }

    fn last(&self, base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        let Ok(mut all) = elements(base.unwrap_or_default()) else { return false };
        for operand in operands {
            match elements(operand) {
                Ok(more) if more.len() <= self.keep as usize => all.extend(more),
                _ => return false,
            }
        }
        let skipped = all.len().saturating_sub(self.keep as usize);
        for element in &all[skipped..] {
            put_length_delimited(out, element);
        }
        true
    }
}

impl MergeOperator for ListLast {
    fn name(&self) -> &str {
        "listlast"
    }

    fn parameters(&self) -> &[u8] {
        &self.parameter
    }

    fn full(
        &self,
        _key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Full {
        if self.last(base, operands, out) { Full::Value } else { Full::Fail }
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        if self.last(None, operands, out) { Partial::Operand } else { Partial::Keep }
    }

    fn check_operand(&self, operand: &[u8]) -> Result<(), String> {
        if self.fits(operand) {
            Ok(())
        } else {
            Err(format!("{GRAMMAR} of at most {} elements", self.keep))
        }
    }

    fn text(&self) -> TextForm {
        TextForm::List
    }

    fn growth(&self) -> Growth {
        Growth::Shrinks
    }
}
