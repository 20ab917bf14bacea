//! The law kit: one call checks whether an operator keeps the laws stated on [`MergeOperator`]. An
//! operator that keeps them may be folded anywhere in the tree, in any grouping.
//!
//! Each round draws a history as a database may hold it: a base and up to 40 operands. They are the
//! given ones, generated ones that the operator's check accepts, and results of folds of both. Such
//! results fold again until a limit of the operator may show. The kit folds the history as a
//! memtable, flushes, compactions and reads may fold it, and compares the results byte for byte:
//!
//! ```text
//! stepwise   full(base, [a b c]) = full(full(full(base, [a]), [b]), [c])
//! batches    full(base, [a b c]) = full(full(base, [a]), [b c])     wherever it is cut
//! partial    full(base, [a b c]) = full(base, [a partial(b c)])     and closed under check_operand
//! grouping   full(base, [a b c]) = full(base, [partial(a partial(b c))])     however deep
//! word       fold_word(a, b), if anything, = partial([a b])
//! accepted   operands that check_operand accepts fold onto nothing
//! upgrade    older.full(base, [a b]) = full(base, [upgrade(a) upgrade(b)])   for given versions
//! ```
//!
//! A delete is an outcome like any other: the next operand folds onto nothing. An operator may fail
//! where a long history passes a limit of its own, if it then fails in every grouping. The kit
//! checks order and repetition where the caller declares that they do not matter.
//!
//! A failing history is shrunk before it is reported. The report has the answers that a database
//! would have given, in the operator's text form:
//!
//! ```text
//! law 'partial' does not hold (seed 3): acme.sum, onto no base
//!   full('9', '1'): the database answers '10'
//!   full(partial('9', '1')): the database answers '9'
//! ```

mod case;
mod draw;
mod folder;
mod grouping;
mod shrink;

use std::sync::Arc;

use fastrand::Rng;

use crate::fold::laws::case::{Broken, Case, Declared};
use crate::fold::laws::draw::Source;
use crate::fold::laws::folder::{Folder, Outcome};
use crate::fold::laws::grouping::Grouping;
use crate::fold::laws::shrink::smallest;
use crate::fold::operator::MergeOperator;

const KEY: &[u8] = b"key";

/// Folds a history that a database holds in another grouping, which `seed` draws. Returns both
/// answers if they differ.
pub(crate) fn difference(
    operator: &dyn MergeOperator,
    key: &[u8],
    base: Option<&[u8]>,
    operands: &[&[u8]],
    seed: u64,
) -> Option<String> {
    let mut rng = Rng::with_seed(seed);
    let at_once = Grouping::at_once(operands.len());
    let mut drawn = || Grouping::drawn(operands.len(), &mut rng);
    let grouping = std::iter::repeat_with(&mut drawn).take(20).find(|drawn| *drawn != at_once)?;
    let operands: Vec<_> = operands.iter().map(|operand| operand.to_vec()).collect();
    let folder = Folder { operator, key };
    let whole = folder.full(&Outcome::of(base), &operands);
    if whole == Outcome::Failed {
        return None;
    }
    let case = Case { base: base.map(<[u8]>::to_vec), operands, grouping, has_results: true };
    case.grouped(folder, &whole, &case.grouping).err().map(|broken| broken.shown)
}

/// The declared laws of an operator and the inputs to check them with.
///
/// A check always includes the laws that hold for every operator.
///
/// # Example
/// ```
/// use foldb::operators::laws::Check;
///
/// let operator = foldb::operators::builtins()[0].instantiate(None)?;
/// Check::new([1u64, 2, u64::MAX].map(u64::to_le_bytes)).commutative().run(&*operator).unwrap();
/// # Ok::<(), foldb::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Check {
    operands: Vec<Vec<u8>>,
    bases: Vec<Vec<u8>>,
    commutative: bool,
    idempotent: bool,
    older: Vec<Arc<dyn MergeOperator>>,
    rounds: u32,
    seed: u64,
}

/// A law that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The name of the law: `stepwise`, `batches`, `partial`, `grouping`, `word`, `accepted`,
    /// `commutative`, `idempotent` or `upgrade`.
    pub law: &'static str,
    /// The seed of the case: [`Check::seed`] with it shows the same case first.
    pub seed: u64,
    /// The history, shrunk, and what the database answers in two groupings: up to three lines.
    pub case: String,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "law '{}' does not hold (seed {}): {}", self.law, self.seed, self.case)
    }
}

impl std::error::Error for Violation {}

impl Check {
    /// Starts a check with these operands, and with generated ones where that is possible.
    pub fn new<O: AsRef<[u8]>>(operands: impl IntoIterator<Item = O>) -> Check {
        let operands = operands.into_iter().map(|operand| operand.as_ref().to_vec()).collect();
        Check {
            operands,
            bases: Vec::new(),
            commutative: false,
            idempotent: false,
            older: Vec::new(),
            rounds: 1000,
            seed: 0,
        }
    }

    /// Adds bases. The kit always tries no base and single operands as bases.
    pub fn bases<B: AsRef<[u8]>>(mut self, bases: impl IntoIterator<Item = B>) -> Check {
        self.bases.extend(bases.into_iter().map(|base| base.as_ref().to_vec()));
        self
    }

    /// Declares that the order of operands does not matter.
    pub fn commutative(mut self) -> Check {
        self.commutative = true;
        self
    }

    /// Declares that merging an operand twice in a row has the same effect as merging it once.
    pub fn idempotent(mut self) -> Check {
        self.idempotent = true;
        self
    }

    /// Declares that the operator upgrades operands of an older version, and checks the upgrade.
    /// The check uses generated operands and the given ones that the older version accepts.
    pub fn upgrades(mut self, older: Arc<dyn MergeOperator>) -> Check {
        self.older.push(older);
        self
    }

    /// Sets how many cases are tried. Default: 1000.
    pub fn rounds(mut self, rounds: u32) -> Check {
        self.rounds = rounds;
        self
    }

    /// Starts with the case of this seed: the seed of a [`Violation`] replays it.
    pub fn seed(mut self, seed: u64) -> Check {
        self.seed = seed;
        self
    }

    /// Checks an operator.
    ///
    /// # Errors
    /// The first violation found.
    pub fn run(&self, operator: &dyn MergeOperator) -> Result<(), Violation> {
        let declared = Declared { commutative: self.commutative, idempotent: self.idempotent };
        let newer = Folder { operator, key: KEY };
        for round in 0..u64::from(self.rounds) {
            let seed = self.seed.wrapping_add(round);
            let violation = |Broken { law, shown }| Violation { law, seed, case: shown };
            let case = self.source(newer, true).case(&mut Rng::with_seed(seed));
            if let Err(broken) = case.check(newer, declared) {
                let fails = |case: &Case| case.check(newer, declared).err();
                return Err(violation(smallest(operator, case, broken, fails)));
            }
            for operator in self.older.iter().map(|older| &**older) {
                let older = Folder { operator, key: KEY };
                // A database upgrades operands, and no values.
                let mut case = self.source(older, false).case(&mut Rng::with_seed(seed));
                case.operands.retain(|operand| operator.check_operand(operand).is_ok());
                if let Err(broken) = case.check_upgrade(older, newer) {
                    let fails = |case: &Case| case.check_upgrade(older, newer).err();
                    return Err(violation(smallest(operator, case, broken, fails)));
                }
            }
        }
        Ok(())
    }

    fn source<'a>(&'a self, folder: Folder<'a>, values_are_operands: bool) -> Source<'a> {
        Source { folder, operands: &self.operands, bases: &self.bases, values_are_operands }
    }
}
