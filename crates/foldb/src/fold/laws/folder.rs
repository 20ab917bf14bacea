//! What a database answers for a key whose history it folds in one grouping.

use std::borrow::Cow;

use crate::fold::laws::grouping::{Grouping, Piece};
use crate::fold::operator::{Full, MergeOperator, Partial};
use crate::user_code::guarded;

/// The result for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Value(Vec<u8>),
    Absent,
    Failed,
}

/// A partial fold wrote an operand that the operator refuses.
pub(super) struct Refused {
    pub(super) written: Vec<u8>,
    pub(super) expected: String,
}

/// What a piece has become.
enum Made<'a> {
    /// Operands that still need the base.
    Operands(Vec<Cow<'a, [u8]>>),
    /// A result whatever the base.
    Whole(Outcome),
}

impl Outcome {
    pub(super) fn of(base: Option<&[u8]>) -> Outcome {
        base.map_or(Outcome::Absent, |base| Outcome::Value(base.to_vec()))
    }
}

/// An operator that folds operands of one key.
#[derive(Clone, Copy)]
pub(super) struct Folder<'a> {
    pub(super) operator: &'a dyn MergeOperator,
    pub(super) key: &'a [u8],
}

impl Folder<'_> {
    /// Folds operands onto what lies below. As in a database, an operator that panics fails.
    pub(super) fn full(self, below: &Outcome, operands: &[impl AsRef<[u8]>]) -> Outcome {
        let base = match below {
            _ if operands.is_empty() => return below.clone(),
            Outcome::Value(base) => Some(&base[..]),
            Outcome::Absent => None,
            Outcome::Failed => return Outcome::Failed,
        };
        let slices: Vec<&[u8]> = operands.iter().map(AsRef::as_ref).collect();
        let mut out = Vec::new();
        match guarded(|| self.operator.full(self.key, base, &slices, &mut out)) {
            Ok(Full::Value) => Outcome::Value(out),
            Ok(Full::Operand(index)) => {
                slices.get(index).map_or(Outcome::Failed, |one| Outcome::Value(one.to_vec()))
            }
            Ok(Full::Existing) => below.clone(),
            Ok(Full::Delete) => Outcome::Absent,
            Ok(Full::Fail) | Err(_) => Outcome::Failed,
        }
    }

    /// Folds operands without a base. As in a database, the operands stay if the operator panics.
    pub(super) fn partial(self, operands: &[impl AsRef<[u8]>]) -> (Partial, Vec<u8>) {
        let slices: Vec<&[u8]> = operands.iter().map(AsRef::as_ref).collect();
        let mut out = Vec::new();
        let answer = guarded(|| self.operator.partial(self.key, &slices, &mut out));
        (answer.unwrap_or(Partial::Keep), out)
    }

    /// Returns what a database answers if it folds operands in this grouping.
    ///
    /// # Errors
    /// A partial fold wrote an operand that the operator refuses.
    pub(super) fn answer(
        self,
        base: &Outcome,
        operands: &[Vec<u8>],
        grouping: &Grouping,
    ) -> Result<Outcome, Refused> {
        let mut below = base.clone();
        for batch in &grouping.batches {
            below = match self.made(operands, batch)? {
                Made::Operands(these) => self.full(&below, &these),
                Made::Whole(outcome) => outcome,
            };
        }
        Ok(below)
    }

    /// Folds the partial folds of these pieces.
    fn made<'a>(self, operands: &'a [Vec<u8>], pieces: &[Piece]) -> Result<Made<'a>, Refused> {
        let mut done = Made::Operands(Vec::new());
        for piece in pieces {
            let next = match piece {
                Piece::Operand(index) => Made::Operands(vec![Cow::Borrowed(&operands[*index][..])]),
                Piece::Partial(inner) => match self.made(operands, inner)? {
                    Made::Operands(these) if these.len() > 1 => self.folded(these)?,
                    made => made,
                },
            };
            done = match (done, next) {
                (_, Made::Whole(outcome)) => Made::Whole(outcome),
                (Made::Whole(below), Made::Operands(these)) => {
                    Made::Whole(self.full(&below, &these))
                }
                (Made::Operands(mut older), Made::Operands(these)) => {
                    older.extend(these);
                    Made::Operands(older)
                }
            };
        }
        Ok(done)
    }

    fn folded<'a>(self, operands: Vec<Cow<'a, [u8]>>) -> Result<Made<'a>, Refused> {
        let (answer, out) = self.partial(&operands);
        Ok(match answer {
            Partial::Keep => Made::Operands(operands),
            Partial::Value => Made::Whole(Outcome::Value(out)),
            Partial::Delete => Made::Whole(Outcome::Absent),
            Partial::Operand => match self.operator.check_operand(&out) {
                Ok(()) => Made::Operands(vec![Cow::Owned(out)]),
                Err(expected) => return Err(Refused { written: out, expected }),
            },
        })
    }
}
