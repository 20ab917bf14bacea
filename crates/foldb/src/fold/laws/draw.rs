//! Draws histories: operands, bases, and results that are operands and bases again.

use fastrand::Rng;

use crate::fold::builtin::{histogram, top};
use crate::fold::laws::case::{Case, SHORT};
use crate::fold::laws::folder::{Folder, Outcome};
use crate::fold::laws::grouping::Grouping;
use crate::fold::operator::{Partial, TextForm};

/// Most operands of a history. The memtable folds 16.
const LONGEST: usize = 40;

/// Most times that results fold on. A number that doubles so often passes 2^64.
const MOST_STEPS: usize = 70;

/// Most bytes of a result that is used again.
const LARGEST_RESULT: usize = 1 << 10;

/// Where operands and bases come from.
pub(super) struct Source<'a> {
    pub(super) folder: Folder<'a>,
    /// The operands that the caller gives.
    pub(super) operands: &'a [Vec<u8>],
    /// The bases that the caller gives.
    pub(super) bases: &'a [Vec<u8>],
    /// Whether values are operands again, if the operator accepts them.
    pub(super) values_are_operands: bool,
}

/// Results of folds, which are operands or bases of the same history.
#[derive(Default)]
struct Results {
    operands: Vec<Vec<u8>>,
    bases: Vec<Vec<u8>>,
}

impl Source<'_> {
    /// Draws a history and a way to fold it.
    pub(super) fn case(&self, rng: &mut Rng) -> Case {
        let count = match rng.u8(..16) {
            0 => between(rng, 17, LONGEST),
            1..=3 => between(rng, SHORT, 20),
            _ => between(rng, 1, SHORT),
        };
        let results = if rng.u8(..4) == 0 { self.results(rng) } else { Results::default() };
        let has_results = !results.operands.is_empty();
        // Long histories often repeat one operand, as those of hot keys do.
        let repeated = (count > SHORT && rng.bool()).then(|| self.operand(rng));
        let operands = (0..count).map(|_| match (&repeated, drawn_from(&results.operands, rng)) {
            (_, Some(result)) if rng.bool() => result,
            (Some(repeated), _) if rng.bool() => repeated.clone(),
            _ => self.operand(rng),
        });
        let operands = operands.collect();
        let base = match (rng.u8(..3), drawn_from(&results.bases, rng)) {
            (0, _) => None,
            (_, Some(result)) if rng.bool() => Some(result),
            (1, _) => drawn_from(self.bases, rng).or_else(|| Some(self.operand(rng))),
            _ => Some(self.operand(rng)),
        };
        Case { base, operands, grouping: Grouping::drawn(count, rng), has_results }
    }

    /// Folds operands, then results with results, until a limit of the operator may show.
    fn results(&self, rng: &mut Rng) -> Results {
        let mut operands: Vec<_> = (0..between(rng, 2, 4)).map(|_| self.operand(rng)).collect();
        let fresh = operands.len();
        let mut bases = Vec::new();
        let doubles = rng.bool();
        let steps = if rng.u8(..8) == 0 { MOST_STEPS } else { 6 };
        for _ in 0..between(rng, 1, steps) {
            let newest = operands.len() - 1;
            let older = if doubles { newest } else { between(rng, 0, newest) };
            let newer = if doubles || rng.bool() { newest } else { between(rng, 0, newest) };
            let pair = [&operands[older], &operands[newer]];
            match self.folder.partial(&pair) {
                (Partial::Operand, out) if self.takes(&out) => operands.push(out),
                _ => {
                    let Outcome::Value(value) = self.folder.full(&Outcome::Absent, &pair) else {
                        break;
                    };
                    if value.len() > LARGEST_RESULT {
                        break;
                    }
                    if self.values_are_operands && self.takes(&value) {
                        operands.push(value.clone());
                    }
                    bases.push(value);
                }
            }
        }
        if let Outcome::Value(value) = self.folder.full(&Outcome::Absent, &operands[fresh..]) {
            bases.push(value);
        }
        operands.drain(..fresh);
        Results { operands, bases }
    }

    fn takes(&self, result: &[u8]) -> bool {
        result.len() <= LARGEST_RESULT && self.folder.operator.check_operand(result).is_ok()
    }

    /// Draws a given operand, or makes one that the operator accepts.
    fn operand(&self, rng: &mut Rng) -> Vec<u8> {
        let given = drawn_from(self.operands, rng);
        match given {
            Some(given) if rng.bool() => given,
            given => {
                let made = generated(self.folder.operator.text(), rng);
                let accepted = |made: &Vec<u8>| self.folder.operator.check_operand(made).is_ok();
                let made = Some(made).filter(accepted);
                let other = || given.as_ref().map(|given| changed(given, rng)).filter(accepted);
                made.or_else(other).or(given).unwrap_or_default()
            }
        }
    }
}

/// Draws a number below `end`. With 32 bits too, a seed draws the same as with 64.
pub(super) fn below(rng: &mut Rng, end: usize) -> usize {
    rng.u64(..end as u64) as usize
}

/// Draws a number from `first` to `last`, alike.
pub(super) fn between(rng: &mut Rng, first: usize, last: usize) -> usize {
    rng.u64(first as u64..=last as u64) as usize
}

fn drawn_from(all: &[Vec<u8>], rng: &mut Rng) -> Option<Vec<u8>> {
    (!all.is_empty()).then(|| all[below(rng, all.len())].clone())
}

/// Changes one byte.
fn changed(given: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut changed = given.to_vec();
    if let Some(byte) = (!given.is_empty()).then(|| &mut changed[below(rng, given.len())]) {
        *byte = if rng.bool() { rng.u8(..) } else { byte.wrapping_add(1) };
    }
    changed
}

/// Makes an operand in the text form of an operator.
fn generated(text: TextForm, rng: &mut Rng) -> Vec<u8> {
    match text {
        // A number is one sample of stats, too.
        TextForm::U64 | TextForm::I64 | TextForm::Stats => number(rng).to_le_bytes().to_vec(),
        TextForm::F64 => {
            [1e16, 1.0, -0.0, 0.1, f64::MAX, f64::INFINITY][below(rng, 6)].to_le_bytes().to_vec()
        }
        TextForm::Histogram => {
            let edges = [1e-320, -0.0, 0.1, 0.1001, -1e16, f64::MAX];
            histogram::operand((0..below(rng, 3)).map(|_| edges[below(rng, edges.len())]))
        }
        TextForm::Top => top::operand([(rng.i64(-1..2), short(rng))]),
        form => {
            let text = short(rng);
            form.parse(&text).unwrap_or(text)
        }
    }
}

fn number(rng: &mut Rng) -> u64 {
    match rng.u8(..4) {
        0 => rng.u64(..),
        1 => rng.u64(..20),
        _ => [0, 1, u64::MAX, 1 << 63][below(rng, 4)],
    }
}

fn short(rng: &mut Rng) -> Vec<u8> {
    (0..below(rng, 4)).map(|_| b"ab+-,\0\xff"[below(rng, 7)]).collect()
}
