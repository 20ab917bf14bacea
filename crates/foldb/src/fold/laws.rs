//! The law kit: one call checks whether an operator keeps the laws stated on [`MergeOperator`]. An
//! operator that keeps them may be folded anywhere in the tree, in any grouping.
//!
//! Each round draws a base and operands from the given ones. It also generates operands that the
//! operator's check accepts. It compares results byte for byte:
//!
//! ```text
//! stepwise   full(base, [a b c]) = full(full(full(base, [a]), [b]), [c])
//! batches    full(base, [a b c]) = full(full(base, [a]), [b c])     wherever it is cut
//! partial    full(base, [a partial(b c)]) = full(base, [a b c])     and closed under check_operand
//! grouping   full(base, [partial(partial(a b) c)]) = full(base, [partial(a partial(b c))])
//! word       fold_word(a, b), if anything, = partial([a b])
//! accepted   operands that check_operand accepts fold onto nothing
//! upgrade    older.full(base, [a b]) = full(base, [upgrade(a) upgrade(b)])   for given versions
//! ```
//!
//! A delete is an outcome like any other: the next operand folds onto nothing. The kit checks order
//! and repetition where the caller declares that they do not matter.

use std::sync::Arc;

use fastrand::Rng;

use crate::fold::builtin::{histogram, top};
use crate::fold::operator::{Full, MergeOperator, Partial, TextForm};
use crate::user_code::guarded;

const KEY: &[u8] = b"key";
const LONGEST: usize = 6;

/// Advice for the author of an operator that accepts an operand and cannot fold it.
const REFUSE: &str = "let MergeOperator::check_operand refuse what full cannot read";

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
    /// The base, the operands, and the two answers that differ.
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
        for round in 0..u64::from(self.rounds) {
            let seed = self.seed.wrapping_add(round);
            let case = self.draw(operator, &mut Rng::with_seed(seed));
            case.check(self).map_err(|(law, case)| Violation { law, seed, case })?;
            for older in &self.older {
                let mut case = self.draw(&**older, &mut Rng::with_seed(seed));
                case.operands.retain(|operand| older.check_operand(operand).is_ok());
                case.check_upgrade(operator).map_err(|(law, case)| Violation {
                    law,
                    seed,
                    case,
                })?;
            }
        }
        Ok(())
    }

    fn draw<'a>(&self, operator: &'a dyn MergeOperator, rng: &mut Rng) -> Case<'a> {
        let operands = (0..rng.usize(1..=LONGEST)).map(|_| self.operand(operator, rng)).collect();
        let base = match rng.u8(..3) {
            0 => None,
            1 if !self.bases.is_empty() => Some(self.bases[rng.usize(..self.bases.len())].clone()),
            _ => Some(self.operand(operator, rng)),
        };
        Case { operator, base, operands, cut: rng.usize(..=LONGEST) }
    }

    /// Draws a given operand, or generates one that the operator accepts.
    fn operand(&self, operator: &dyn MergeOperator, rng: &mut Rng) -> Vec<u8> {
        let given = (!self.operands.is_empty())
            .then(|| self.operands[rng.usize(..self.operands.len())].clone());
        match given {
            Some(given) if rng.bool() => given,
            given => {
                let made = generated(operator.text(), rng);
                let made = Some(made).filter(|made| operator.check_operand(made).is_ok());
                made.or(given).unwrap_or_default()
            }
        }
    }
}

/// Generates an operand in the text form of an operator.
fn generated(text: TextForm, rng: &mut Rng) -> Vec<u8> {
    match text {
        // A number is one sample of stats, too.
        TextForm::U64 | TextForm::I64 | TextForm::Stats => {
            let edges = [0, 1, u64::MAX, 1 << 63];
            let number = if rng.bool() { rng.u64(..) } else { edges[rng.usize(..edges.len())] };
            number.to_le_bytes().to_vec()
        }
        TextForm::F64 => {
            [1e16, 1.0, -0.0, 0.1, f64::MAX, f64::INFINITY][rng.usize(..6)].to_le_bytes().to_vec()
        }
        TextForm::Histogram => {
            let edges = [1e-320, -0.0, 0.1, 0.1001, -1e16, f64::MAX];
            histogram::operand((0..rng.usize(..3)).map(|_| edges[rng.usize(..edges.len())]))
        }
        TextForm::Top => top::operand([(rng.i64(-1..2), short(rng))]),
        form => {
            let text = short(rng);
            form.parse(&text).unwrap_or(text)
        }
    }
}

fn short(rng: &mut Rng) -> Vec<u8> {
    (0..rng.usize(..4)).map(|_| b"ab+-,\0\xff"[rng.usize(..7)]).collect()
}

/// The result for a key.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Value(Vec<u8>),
    Absent,
    Failed,
}

struct Case<'a> {
    operator: &'a dyn MergeOperator,
    base: Option<Vec<u8>>,
    operands: Vec<Vec<u8>>,
    cut: usize,
}

type Checked = Result<(), (&'static str, String)>;

impl Case<'_> {
    fn check(&self, declared: &Check) -> Checked {
        let (base, operands) = (self.ground(), &self.operands[..]);
        // This check comes first: an operand that cannot be folded at all fails the other laws,
        // too.
        self.base.iter().chain(operands).try_for_each(|one| self.accepted(one))?;
        let whole = self.fold(&base, operands);
        let cut = self.cut.min(operands.len());
        let steps =
            operands.chunks(1).fold(base.clone(), |below, operand| self.fold(&below, operand));
        self.same("stepwise", &whole, &steps)?;
        let (older, newer) = operands.split_at(cut);
        self.same("batches", &whole, &self.fold(&self.fold(&base, older), newer))?;
        self.same("partial", &whole, &self.fold_partially(&base, older, newer)?)?;
        self.grouping(&base)?;
        self.word()?;
        let accepted = operands.iter().all(|one| self.operator.check_operand(one).is_ok());
        if accepted && self.fold(&Outcome::Absent, operands) == Outcome::Failed {
            return Err(("accepted", format!("{} fails: {REFUSE}", self.shown())));
        }
        if declared.commutative {
            let reversed: Vec<_> = operands.iter().rev().cloned().collect();
            self.same("commutative", &whole, &self.fold(&base, &reversed))?;
        }
        if declared.idempotent {
            let twice: Vec<_> =
                operands.iter().flat_map(|one| [one.clone(), one.clone()]).collect();
            self.same("idempotent", &whole, &self.fold(&base, &twice))?;
        }
        Ok(())
    }

    /// Checks that an operand that `check_operand` accepts folds onto nothing.
    fn accepted(&self, operand: &[u8]) -> Checked {
        if self.operator.check_operand(operand).is_err() {
            return Ok(());
        }
        let folded = guarded(|| self.operator.full(KEY, None, &[operand], &mut Vec::new()));
        let how = match folded {
            Ok(Full::Fail) => "cannot be folded".to_owned(),
            Ok(_) => return Ok(()),
            Err(panic) => format!("makes full panic ({panic})"),
        };
        let operand = operand.escape_ascii();
        Err(("accepted", format!("the operand '{operand}' {how}: {REFUSE}")))
    }

    /// Checks that the newer version folds the upgraded operands to the result of the older
    /// version.
    fn check_upgrade(&self, newer: &dyn MergeOperator) -> Checked {
        let version = self.operator.version();
        if self.operands.is_empty() {
            return Ok(());
        }
        if !newer.reads_version(version) {
            return Err(("upgrade", format!("version {version} is declared, but not read")));
        }
        let base = self.ground();
        let whole = self.fold(&base, &self.operands);
        if whole == Outcome::Failed {
            return Ok(());
        }
        let upgrade = |operand: &Vec<u8>| {
            let mut out = Vec::new();
            newer.upgrade(version, operand, &mut out).then_some(out)
        };
        let upgraded: Option<Vec<_>> = self.operands.iter().map(upgrade).collect();
        let operands = upgraded
            .ok_or_else(|| ("upgrade", format!("{}: an operand is not read", self.shown())))?;
        let case = Case { operator: newer, base: self.base.clone(), operands, cut: 0 };
        self.same("upgrade", &whole, &case.fold(&base, &case.operands))
    }

    fn ground(&self) -> Outcome {
        self.base.clone().map_or(Outcome::Absent, Outcome::Value)
    }

    fn fold(&self, below: &Outcome, operands: &[Vec<u8>]) -> Outcome {
        let base = match below {
            _ if operands.is_empty() => return below.clone(),
            Outcome::Value(base) => Some(&base[..]),
            Outcome::Absent => None,
            Outcome::Failed => return Outcome::Failed,
        };
        let slices: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
        let mut out = Vec::new();
        match self.operator.full(KEY, base, &slices, &mut out) {
            Full::Value => Outcome::Value(out),
            Full::Operand(index) => {
                slices.get(index).map_or(Outcome::Failed, |one| Outcome::Value(one.to_vec()))
            }
            Full::Existing => below.clone(),
            Full::Delete => Outcome::Absent,
            Full::Fail => Outcome::Failed,
        }
    }

    fn partial(&self, operands: &[Vec<u8>]) -> (Partial, Vec<u8>) {
        let slices: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
        let mut out = Vec::new();
        (self.operator.partial(KEY, &slices, &mut out), out)
    }

    /// Folds the newer operands among themselves, then all onto the base.
    fn fold_partially(
        &self,
        base: &Outcome,
        older: &[Vec<u8>],
        newer: &[Vec<u8>],
    ) -> Result<Outcome, (&'static str, String)> {
        if newer.len() < 2 {
            return Ok(self.fold(&self.fold(base, older), newer));
        }
        let (answer, out) = self.partial(newer);
        Ok(match answer {
            Partial::Keep => self.fold(base, &[older, newer].concat()),
            Partial::Value => Outcome::Value(out),
            Partial::Delete => Outcome::Absent,
            Partial::Operand => {
                if let Err(expected) = self.operator.check_operand(&out) {
                    let shown = out.escape_ascii();
                    let case = format!("{}: partial wrote '{shown}', not {expected}", self.shown());
                    return Err(("partial", case));
                }
                self.fold(base, &[older, &[out]].concat())
            }
        })
    }

    /// Checks associativity: three neighbours may fold from either side.
    fn grouping(&self, base: &Outcome) -> Checked {
        let [a, b, c, ..] = &self.operands[..] else { return Ok(()) };
        let pair = |x: &Vec<u8>, y: &Vec<u8>| match self.partial(&[x.clone(), y.clone()]) {
            (Partial::Operand, out) => Some(out),
            _ => None,
        };
        let left = pair(a, b).and_then(|ab| pair(&ab, c));
        let right = pair(b, c).and_then(|bc| pair(a, &bc));
        match (left, right) {
            (Some(left), Some(right)) => {
                self.same("grouping", &self.fold(base, &[left]), &self.fold(base, &[right]))
            }
            _ => Ok(()),
        }
    }

    /// Checks that two operands of 8 bytes fold in place to their partial fold.
    fn word(&self) -> Checked {
        for pair in self.operands.windows(2) {
            let (Ok(a), Ok(b)) = (pair[0][..].try_into(), pair[1][..].try_into()) else { continue };
            let Some(word) = self.operator.fold_word(a, b) else { continue };
            let (answer, out) = self.partial(pair);
            if answer != Partial::Operand || out != word {
                let (word, out) = (word.escape_ascii(), out.escape_ascii());
                let case = format!(
                    "{}: fold_word makes '{word}' of two neighbours, partial {answer:?} '{out}'",
                    self.shown()
                );
                return Err(("word", case));
            }
        }
        Ok(())
    }

    fn same(&self, law: &'static str, one: &Outcome, other: &Outcome) -> Checked {
        if one == other {
            return Ok(());
        }
        Err((law, format!("{}: {} is not {}", self.shown(), shown(one), shown(other))))
    }

    fn shown(&self) -> String {
        let operands: Vec<_> =
            self.operands.iter().map(|one| format!("'{}'", one.escape_ascii())).collect();
        format!("base {}, operands [{}]", shown(&self.ground()), operands.join(" "))
    }
}

fn shown(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Value(value) => format!("'{}'", value.escape_ascii()),
        Outcome::Absent => "nothing".to_owned(),
        Outcome::Failed => "a failure".to_owned(),
    }
}
