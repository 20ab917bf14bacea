//! Operators over values and operands with stamps.
//!
//! In a keyspace with expiry, a merge names an operator that wraps the one of the caller. The
//! wrapper finds the operands that still belong to the value, lets the wrapped operator fold their
//! bytes, and stamps the result. So every fold of the engine works on such keyspaces unchanged, and
//! nothing else pays for them.
//!
//! Invariant: the laws of [`MergeOperator`] hold for stamped bytes, times included. Where the
//! expiry of a partial result would depend on the base, the operands do not compose:
//!
//! ```text
//! a.MERGE@12(keep) a.MERGE@9(keep)    a base that expires at 10 would keep only the first
//! ```

use std::sync::Arc;

use smallvec::SmallVec;

use crate::faults::{Fault, planted};
use crate::fold::operator::{Full, Growth, MergeOperator, Partial, TextForm};
use crate::fold::stamp::{Moment, NEVER, Rule, Stamp};

/// What the name of a wrapper has before the name of its operator. No other name has a space.
pub(crate) const PREFIX: &str = "expiring ";

/// An operator over stamped bytes.
#[derive(Debug)]
pub(crate) struct Expiring {
    name: String,
    inner: Arc<dyn MergeOperator>,
}

/// Operands without their stamps, oldest first.
type Payloads<'a> = SmallVec<[&'a [u8]; 16]>;

/// The part of a chain that is alive after its last operand.
pub(crate) struct Alive {
    /// The index of its first operand.
    pub(crate) first: usize,
    /// Whether the base belongs to it.
    pub(crate) has_base: bool,
    /// When all of it expires; [`NEVER`] for an empty chain.
    pub(crate) expires: Moment,
}

impl Expiring {
    pub(crate) fn new(inner: Arc<dyn MergeOperator>) -> Expiring {
        Expiring { name: format!("{PREFIX}{}", inner.name()), inner }
    }

    /// Folds what is alive. `stamp` is that of the result.
    fn full_alive(
        &self,
        key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        stamp: Stamp,
        out: &mut Vec<u8>,
    ) -> Full {
        let unchanged: Option<&[u8]> = match self.inner.full(key, base, operands, out) {
            Full::Value => None,
            Full::Operand(index) => match operands.get(index) {
                Some(operand) => Some(operand),
                None => return Full::Fail,
            },
            Full::Existing => match base {
                Some(base) => Some(base),
                None => return Full::Delete,
            },
            Full::Delete => return Full::Delete,
            Full::Fail => return Full::Fail,
        };
        if let Some(unchanged) = unchanged {
            // The operator may have written something before it decided.
            if !planted(Fault::KeepScraps) {
                out.clear();
            }
            out.extend_from_slice(unchanged);
        }
        out.extend_from_slice(&stamp.encode());
        Full::Value
    }
}

/// Splits operands into bytes and stamps; `None` if one has no stamp.
fn split<'a>(operands: &[&'a [u8]]) -> Option<(Payloads<'a>, SmallVec<[Stamp; 16]>)> {
    let mut payloads = Payloads::with_capacity(operands.len());
    let mut stamps = SmallVec::with_capacity(operands.len());
    for operand in operands {
        let (payload, stamp) = Stamp::split(operand)?;
        payloads.push(payload);
        stamps.push(stamp);
    }
    Some((payloads, stamps))
}

impl Alive {
    /// Returns the stamp of a folded value. The moment of a base does not matter, so it is 0:
    /// stepwise folds give the same bytes.
    fn stamp_of_value(&self) -> Stamp {
        Stamp { written: 0, expires: self.expires, rule: Rule::Renew }
    }
}

/// Returns the part of a chain that is alive after its last operand. The operands are oldest first.
pub(crate) fn alive(base: Option<Stamp>, operands: &[Stamp]) -> Alive {
    let mut alive = Alive { first: 0, has_base: base.is_some(), expires: NEVER };
    let mut expires = base.map(|base| base.expires);
    for (index, operand) in operands.iter().enumerate() {
        let goes_on = expires.filter(|expires| *expires > operand.written);
        if goes_on.is_none() && !(planted(Fault::MergeOntoExpired) && expires.is_some()) {
            (alive.first, alive.has_base) = (index, false);
        }
        expires = Some(match (goes_on, operand.rule) {
            (Some(expires), Rule::Keep) => expires,
            (_, Rule::Renew) | (None, Rule::Keep) => operand.expires,
        });
    }
    alive.expires = expires.unwrap_or(NEVER);
    debug_assert!(
        alive.first < operands.len().max(1),
        "the newest operand is alive at its own moment"
    );
    alive
}

/// Returns how many of these operands, from the first on, compose without a base.
pub(crate) fn composable(operands: &[&[u8]]) -> usize {
    let mut stamps = operands.iter().map(|operand| Stamp::split(operand).map(|(_, stamp)| stamp));
    let Some(Some(first)) = stamps.next() else { return 1 };
    let mut renewed = first.rule == Rule::Renew;
    let mut count = 1;
    for stamp in stamps {
        match stamp {
            Some(stamp) if renewed || stamp.written == first.written => {
                renewed |= stamp.rule == Rule::Renew;
            }
            _ => break,
        }
        count += 1;
    }
    count
}

impl MergeOperator for Expiring {
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> u32 {
        self.inner.version()
    }

    fn reads_version(&self, other: u32) -> bool {
        self.inner.reads_version(other)
    }

    fn upgrade(&self, other: u32, operand: &[u8], out: &mut Vec<u8>) -> bool {
        let Some((payload, stamp)) = Stamp::split(operand) else { return false };
        let upgraded = self.inner.upgrade(other, payload, out);
        out.extend_from_slice(&stamp.encode());
        upgraded
    }

    fn parameters(&self) -> &[u8] {
        self.inner.parameters()
    }

    fn full(&self, key: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let split_base = match base.map(Stamp::split) {
            None => None,
            Some(Some(base)) => Some(base),
            Some(None) => return Full::Fail,
        };
        let Some((payloads, stamps)) = split(operands) else { return Full::Fail };
        let alive = alive(split_base.map(|(_, stamp)| stamp), &stamps);
        let base = split_base.filter(|_| alive.has_base).map(|(payload, _)| payload);
        self.full_alive(key, base, &payloads[alive.first..], alive.stamp_of_value(), out)
    }

    fn partial(&self, key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        if composable(operands) < operands.len() {
            return Partial::Keep;
        }
        let Some((payloads, stamps)) = split(operands) else { return Partial::Keep };
        // Either the first operand renews, or all before the first that renews came at its moment.
        // So the base decides about all of them alike, or about none.
        let renewed = stamps.iter().any(|stamp| stamp.rule == Rule::Renew);
        let alive = alive(None, &stamps);
        let rule = if renewed { Rule::Renew } else { Rule::Keep };
        if alive.first > 0 {
            let stamp = alive.stamp_of_value();
            return match self.full_alive(key, None, &payloads[alive.first..], stamp, out) {
                Full::Value => Partial::Value,
                Full::Delete => Partial::Delete,
                Full::Operand(_) | Full::Existing | Full::Fail => Partial::Keep,
            };
        }
        let stamp = Stamp { written: stamps[0].written, expires: alive.expires, rule };
        let folded = self.inner.partial(key, &payloads, out);
        match folded {
            Partial::Operand => out.extend_from_slice(&stamp.encode()),
            Partial::Value if renewed => {
                out.extend_from_slice(&alive.stamp_of_value().encode());
            }
            // The base decides when such a value expires.
            Partial::Value => return Partial::Keep,
            Partial::Delete | Partial::Keep => {}
        }
        folded
    }

    fn growth(&self) -> Growth {
        self.inner.growth()
    }

    fn check_operand(&self, operand: &[u8]) -> Result<(), String> {
        self.inner.check_operand(operand)
    }

    fn text(&self) -> TextForm {
        self.inner.text()
    }
}
