//! Folds the usual chain of a memtable in place.
//!
//! Most chains are a value, or a few operands of one operator on a value or on nothing. Folding
//! such a chain copies and pins no operand: values are borrowed, and only the answer is pinned.
//! Invariant: the answer equals that of [`Chain::value`](crate::fold::Chain::value). This module
//! leaves unusual chains to that function: several operators, operands of an older version, or a
//! fold that fails.

use foldb_chains::{ValueBytes, Version};
use smallvec::SmallVec;

use crate::faults::{Fault, planted};
use crate::fold::{Operands, Outcome, Resolver, full, take_output};
use crate::key::Kind;
use crate::memtable;
use crate::value::Value;

/// Most operands of a usual chain. A memtable that folds by sixteens rarely has more.
pub(crate) const MOST_OPERANDS: usize = 16;

/// The result of a usual chain.
#[derive(Debug)]
pub(crate) enum Usual<'a> {
    /// One of the chain's values, unchanged.
    Lent(ValueBytes<'a>),
    /// A value that the fold made.
    Made(Value),
    /// The key is absent.
    Absent,
}

/// Folds these versions of `key`, which are newest first and not covered. Returns the result and
/// the number of operands, or `None` if they are not a usual chain.
#[inline]
pub(crate) fn fold_usual<'a>(
    key: &[u8],
    versions: impl Iterator<Item = Version<'a>>,
    operators: impl FnOnce() -> &'a Resolver,
    scratch: &mut Vec<u8>,
) -> Option<(Usual<'a>, usize)> {
    // Fill the list in place: it is large, and a scan needs one for each key.
    let mut operands = Newest::new();
    let Under { operator, base } = collect(versions, &mut operands)?;
    if operands.is_empty() {
        return Some((base.map_or(Usual::Absent, Usual::Lent), 0));
    }
    let operators = operators();
    if operators.has_upgrades() {
        return None;
    }
    let implementation = operators.implementation(operator)?;
    let mut oldest_first = Operands::new();
    oldest_first.extend(operands.iter().rev().map(|value| &**value));
    let answer = match full(implementation, key, base.as_deref(), &oldest_first, scratch) {
        Outcome::Value => Usual::Made(take_output(scratch)),
        Outcome::Operand(index) => Usual::Lent(*operands.iter().rev().nth(index)?),
        Outcome::Existing => base.map_or(Usual::Absent, Usual::Lent),
        Outcome::Delete => Usual::Absent,
        Outcome::Fail { .. } => return None,
    };
    Some((answer, operands.len()))
}

/// Operands, newest first.
type Newest<'a> = SmallVec<[ValueBytes<'a>; MOST_OPERANDS]>;

/// The part of a usual chain below its operands.
struct Under<'a> {
    /// The operator of the operands.
    operator: u32,
    /// The value below the operands; `None` for a delete or nothing.
    base: Option<ValueBytes<'a>>,
}

/// Collects the operands of a usual chain; `None` if it is not one.
#[inline]
fn collect<'a>(
    versions: impl Iterator<Item = Version<'a>>,
    operands: &mut Newest<'a>,
) -> Option<Under<'a>> {
    let mut under = Under { operator: 0, base: None };
    for version in versions {
        let header = memtable::version_header(&version);
        if header.kind.is_base() {
            under.base = (header.kind == Kind::Put).then_some(version.value);
            break;
        }
        if operands.is_empty() {
            under.operator = header.operator;
        }
        if header.operator != under.operator || operands.len() == MOST_OPERANDS {
            return None;
        }
        operands.push(version.value);
    }
    let faults = [Fault::StopChainEarly, Fault::WrongOperandOrder];
    (!faults.into_iter().any(planted)).then_some(under)
}
