//! Groupings: the ways in which a database may fold one history.
//!
//! A history is a base and operands, oldest first. The memtable, flushes and compactions fold
//! neighbours without the base. Compactions and reads fold what is left onto the base, in one batch
//! or several:
//!
//! ```text
//! full('a', 'b', 'c')                           one read of a chain that nothing has folded
//! full('a') then full('b', 'c')                 a compaction reached the base before b came
//! full(partial('a', partial('b', 'c')))         the memtable folded b and c, a flush the rest
//! ```

use std::fmt::{self, Write};

use fastrand::Rng;

use crate::fold::laws::draw::between;

/// How many records of a key the memtable folds at once.
const SIXTEEN: usize = 16;

/// A piece of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// The operand of this index.
    Operand(usize),
    /// Pieces that fold without the base.
    Partial(Vec<Piece>),
}

/// Batches of pieces. Each batch folds onto the result of the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grouping {
    pub(super) batches: Vec<Vec<Piece>>,
}

impl Grouping {
    /// All operands in one batch.
    pub(super) fn at_once(count: usize) -> Grouping {
        Grouping { batches: vec![operands(0, count)] }
    }

    /// Each operand in a batch of its own.
    pub(super) fn one_by_one(count: usize) -> Grouping {
        Grouping { batches: (0..count).map(|index| vec![Piece::Operand(index)]).collect() }
    }

    /// Draws a grouping of this many operands.
    pub(super) fn drawn(count: usize, rng: &mut Rng) -> Grouping {
        let cut = between(rng, 0, count);
        let one = |piece: Piece| Grouping { batches: vec![vec![piece]] };
        match rng.u8(..7) {
            0 => Grouping { batches: vec![operands(0, cut), operands(cut, count)] },
            1 => {
                let newer = Piece::Partial(operands(cut, count));
                let older = operands(0, cut).into_iter();
                Grouping { batches: vec![older.chain([newer]).collect()] }
            }
            2 => {
                let mut pieces = operands(0, count).into_iter();
                let oldest = pieces.next().unwrap_or(Piece::Partial(Vec::new()));
                one(pieces.fold(oldest, |older, newer| Piece::Partial(vec![older, newer])))
            }
            3 => {
                let mut pieces = operands(0, count).into_iter().rev();
                let newest = pieces.next().unwrap_or(Piece::Partial(Vec::new()));
                one(pieces.fold(newest, |newer, older| Piece::Partial(vec![older, newer])))
            }
            4 => one(Piece::Partial(operands(0, count))),
            _ => Grouping::of_a_tree(count, rng),
        }
        .tidied()
    }

    /// Draws what a tree does: sixteens in the memtable, then flushes, then compactions.
    fn of_a_tree(count: usize, rng: &mut Rng) -> Grouping {
        let mut flushes = Vec::new();
        let mut start = 0;
        while start < count {
            let end = start + between(rng, 1, count - start);
            let sixteens = (start..end).step_by(SIXTEEN).map(|first| {
                let last = (first + SIXTEEN).min(end);
                // A sixteen folds only when it is full.
                let whole = last - first == SIXTEEN;
                if whole {
                    vec![Piece::Partial(operands(first, last))]
                } else {
                    operands(first, last)
                }
            });
            flushes.push(Piece::Partial(sixteens.flatten().collect()));
            start = end;
        }
        let mut batches = Vec::new();
        let mut batch = Vec::new();
        for flush in flushes {
            match (batch.pop(), rng.u8(..3)) {
                (Some(older), 0) => batch.push(Piece::Partial(vec![older, flush])),
                (older, 1) => {
                    batch.extend(older);
                    batches.push(std::mem::replace(&mut batch, vec![flush]));
                }
                (older, _) => batch.extend(older.into_iter().chain([flush])),
            }
        }
        batches.push(batch);
        Grouping { batches }
    }

    /// Returns the grouping without the operands from `first` to before `last`. The indices of
    /// newer operands fall.
    pub(super) fn without(&self, first: usize, last: usize) -> Grouping {
        let kept = |pieces: &[Piece]| pieces_without(pieces, first, last);
        Grouping { batches: self.batches.iter().map(|batch| kept(batch)).collect() }.tidied()
    }

    /// Returns groupings that are plainer by one step: two batches are one, or the pieces of a
    /// partial fold stand alone.
    pub(super) fn plainer(&self) -> Vec<Grouping> {
        let mut all: Vec<Grouping> = (1..self.batches.len())
            .map(|index| {
                let mut batches = self.batches.clone();
                let newer = batches.remove(index);
                batches[index - 1].extend(newer);
                Grouping { batches }
            })
            .collect();
        let folds: usize = self.batches.iter().flatten().map(Piece::folds).sum();
        all.extend((0..folds).map(|nth| {
            let mut left = nth;
            let batches = self.batches.iter().map(|batch| dissolved(batch, &mut left)).collect();
            Grouping { batches }.tidied()
        }));
        all
    }

    /// Returns the law that says what this grouping answers.
    pub(super) fn law(&self) -> &'static str {
        match self.batches.iter().flatten().map(Piece::depth).max().unwrap_or(0) {
            0 if self.batches.iter().all(|batch| batch.len() == 1) => "stepwise",
            0 => "batches",
            1 => "partial",
            _ => "grouping",
        }
    }

    /// Removes batches and partial folds of nothing, and partial folds of one piece.
    fn tidied(self) -> Grouping {
        let batches = self.batches.into_iter().map(tidied);
        Grouping { batches: batches.filter(|batch| !batch.is_empty()).collect() }
    }

    /// Writes the grouping as calls of `full` and `partial`.
    pub(super) fn write(&self, shown: &[String], out: &mut String) -> fmt::Result {
        for (index, batch) in self.batches.iter().enumerate() {
            let then = if index > 0 { " then " } else { "" };
            write!(out, "{then}full(")?;
            write_pieces(batch, shown, out)?;
            out.push(')');
        }
        Ok(())
    }
}

impl Piece {
    /// Returns how many partial folds it has.
    fn folds(&self) -> usize {
        match self {
            Piece::Operand(_) => 0,
            Piece::Partial(pieces) => 1 + pieces.iter().map(Piece::folds).sum::<usize>(),
        }
    }

    fn depth(&self) -> usize {
        match self {
            Piece::Operand(_) => 0,
            Piece::Partial(pieces) => 1 + pieces.iter().map(Piece::depth).max().unwrap_or(0),
        }
    }
}

fn operands(first: usize, last: usize) -> Vec<Piece> {
    (first..last).map(Piece::Operand).collect()
}

fn tidied(pieces: Vec<Piece>) -> Vec<Piece> {
    let piece = |piece| match piece {
        Piece::Operand(_) => Some(piece),
        Piece::Partial(pieces) => {
            let mut pieces = tidied(pieces);
            if pieces.len() < 2 { pieces.pop() } else { Some(Piece::Partial(pieces)) }
        }
    };
    pieces.into_iter().filter_map(piece).collect()
}

fn pieces_without(pieces: &[Piece], first: usize, last: usize) -> Vec<Piece> {
    let piece = |piece: &Piece| match piece {
        Piece::Operand(index) if (first..last).contains(index) => None,
        Piece::Operand(index) if *index >= last => Some(Piece::Operand(index - (last - first))),
        Piece::Operand(index) => Some(Piece::Operand(*index)),
        Piece::Partial(pieces) => Some(Piece::Partial(pieces_without(pieces, first, last))),
    };
    pieces.iter().filter_map(piece).collect()
}

/// Returns the pieces with those of one partial fold, the `left`th from here, in its place.
fn dissolved(pieces: &[Piece], left: &mut usize) -> Vec<Piece> {
    let mut out = Vec::new();
    for piece in pieces {
        let Piece::Partial(inner) = piece else {
            out.push(piece.clone());
            continue;
        };
        let here = *left == 0;
        *left = left.wrapping_sub(1);
        if here {
            out.extend(inner.iter().cloned());
        } else {
            out.push(Piece::Partial(dissolved(inner, left)));
        }
    }
    out
}

/// Writes pieces with commas between them. Equal operands in a row are one with their number.
fn write_pieces(pieces: &[Piece], shown: &[String], out: &mut String) -> fmt::Result {
    let mut rest = pieces;
    while let Some((piece, after)) = rest.split_first() {
        if rest.len() < pieces.len() {
            out.push_str(", ");
        }
        match piece {
            Piece::Operand(index) => {
                let is_same = |other: &&Piece| match other {
                    Piece::Operand(other) => shown[*other] == shown[*index],
                    Piece::Partial(_) => false,
                };
                let count = rest.iter().take_while(is_same).count();
                write_times(&shown[*index], count, out)?;
                rest = &rest[count..];
            }
            Piece::Partial(inner) => {
                out.push_str("partial(");
                write_pieces(inner, shown, out)?;
                out.push(')');
                rest = after;
            }
        }
    }
    Ok(())
}

fn write_times(shown: &str, count: usize, out: &mut String) -> fmt::Result {
    out.push_str(shown);
    if count > 1 { write!(out, " {count} times") } else { Ok(()) }
}
