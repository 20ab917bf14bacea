//! One history, and what each law says of it.

use crate::fold::laws::folder::{Folder, Outcome, Refused};
use crate::fold::laws::grouping::Grouping;
use crate::fold::operator::{Full, MergeOperator, Partial};
use crate::fold::text;
use crate::user_code::guarded;

/// Advice for the author of an operator that accepts an operand and cannot fold it.
const REFUSE: &str = "let MergeOperator::check_operand refuse what full cannot read";

/// Histories up to this length, without results among their operands, must fold onto nothing. A
/// longer one may reach a limit of the operator.
pub(super) const SHORT: usize = 6;

/// A history of one key, and a way to fold it.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) base: Option<Vec<u8>>,
    pub(super) operands: Vec<Vec<u8>>,
    pub(super) grouping: Grouping,
    /// Whether results of folds are among the operands.
    pub(super) has_results: bool,
}

/// What the author of an operator declares.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Declared {
    pub(super) commutative: bool,
    pub(super) idempotent: bool,
}

/// A law that does not hold for a case.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    pub(super) law: &'static str,
    /// The case, and what differs: a few lines.
    pub(super) shown: String,
}

impl Broken {
    /// Returns whether both break one law, perhaps with another grouping.
    pub(super) fn is_like(&self, other: &Broken) -> bool {
        let about = |law| match law {
            "stepwise" | "batches" | "partial" | "grouping" => "partial",
            other => other,
        };
        about(self.law) == about(other.law)
    }
}

type Checked = Result<(), Broken>;

impl Case {
    /// Checks the laws that every operator keeps, and the declared ones.
    ///
    /// # Errors
    /// The first law that does not hold.
    pub(super) fn check(&self, folder: Folder<'_>, declared: Declared) -> Checked {
        let operator = folder.operator;
        // This check comes first: an operand that cannot be folded at all fails the other laws,
        // too.
        self.base.iter().chain(&self.operands).try_for_each(|one| accepted(folder, one))?;
        let (base, operands) = (Outcome::of(self.base.as_deref()), &self.operands[..]);
        let whole = folder.full(&base, operands);
        self.grouped(folder, &whole, &Grouping::one_by_one(operands.len()))?;
        self.grouped(folder, &whole, &self.grouping)?;
        self.word(folder)?;
        let is_short = operands.len() <= SHORT && !self.has_results;
        if is_short
            && operands.iter().all(|one| operator.check_operand(one).is_ok())
            && folder.full(&Outcome::Absent, operands) == Outcome::Failed
        {
            let shown = format!("{} fails: {REFUSE}", self.call(operator, operands));
            return Err(Broken { law: "accepted", shown });
        }
        if declared.commutative {
            let reversed: Vec<_> = operands.iter().rev().cloned().collect();
            self.same_as(folder, "commutative", &whole, &reversed)?;
        }
        if declared.idempotent {
            let twice: Vec<_> =
                operands.iter().flat_map(|one| [one.clone(), one.clone()]).collect();
            self.same_as(folder, "idempotent", &whole, &twice)?;
        }
        Ok(())
    }

    /// Checks that the newer version folds the upgraded operands to the result of the older
    /// version.
    ///
    /// # Errors
    /// The law `upgrade`, if it does not.
    pub(super) fn check_upgrade(&self, older: Folder<'_>, newer: Folder<'_>) -> Checked {
        let version = older.operator.version();
        if self.operands.is_empty() {
            return Ok(());
        }
        let broken = |shown| Err(Broken { law: "upgrade", shown });
        if !newer.operator.reads_version(version) {
            return broken(format!("version {version} is declared, but not read"));
        }
        let base = Outcome::of(self.base.as_deref());
        let whole = older.full(&base, &self.operands);
        if whole == Outcome::Failed {
            return Ok(());
        }
        let upgrade = |operand: &Vec<u8>| {
            let mut out = Vec::new();
            let read = guarded(|| newer.operator.upgrade(version, operand, &mut out));
            read.unwrap_or(false).then_some(out)
        };
        let upgraded: Option<Vec<_>> = self.operands.iter().map(upgrade).collect();
        let Some(upgraded) = upgraded else {
            let operands = self.call(older.operator, &self.operands);
            return broken(format!("{operands}: an operand is not read"));
        };
        let after = newer.full(&base, &upgraded);
        if after == whole {
            return Ok(());
        }
        broken(differing(
            &self.stage(older.operator),
            [(self.call(older.operator, &self.operands), shown(older.operator, &whole)), {
                let (call, answer) =
                    (self.call(newer.operator, &upgraded), shown(newer.operator, &after));
                (format!("upgraded, {call}"), answer)
            }],
        ))
    }

    /// Checks that this grouping gives the same answer as one fold.
    ///
    /// # Errors
    /// The law of the grouping.
    pub(super) fn grouped(
        &self,
        folder: Folder<'_>,
        whole: &Outcome,
        grouping: &Grouping,
    ) -> Checked {
        let operator = folder.operator;
        let base = Outcome::of(self.base.as_deref());
        let call = || {
            let mut call = String::new();
            // Writing to a string cannot fail.
            let _ = grouping.write(&self.shown_operands(operator, &self.operands), &mut call);
            call
        };
        match folder.answer(&base, &self.operands, grouping) {
            Ok(answer) if answer == *whole => Ok(()),
            Ok(answer) => Err(Broken {
                law: grouping.law(),
                shown: differing(
                    &self.stage(operator),
                    [
                        (self.call(operator, &self.operands), shown(operator, whole)),
                        (call(), shown(operator, &answer)),
                    ],
                ),
            }),
            Err(Refused { written, expected }) => {
                let written = text::shown(operator.text(), &written);
                let shown = format!("{}: partial wrote {written}, not {expected}", call());
                Err(Broken { law: "partial", shown })
            }
        }
    }

    /// Checks that two operands of 8 bytes fold in place to their partial fold.
    fn word(&self, folder: Folder<'_>) -> Checked {
        let operator = folder.operator;
        for pair in self.operands.windows(2) {
            let (Ok(a), Ok(b)) = (pair[0][..].try_into(), pair[1][..].try_into()) else { continue };
            let Some(word) = guarded(|| operator.fold_word(a, b)).unwrap_or(None) else { continue };
            let (answer, out) = folder.partial(pair);
            if answer == Partial::Operand && out == word {
                continue;
            }
            let shown = |bytes: &[u8]| text::shown(operator.text(), bytes);
            let partial = match answer {
                Partial::Operand | Partial::Value => shown(&out),
                other => format!("{other:?}"),
            };
            let (a, b) = (shown(&a), shown(&b));
            return Err(Broken {
                law: "word",
                shown: format!(
                    "two operands of 8 bytes\n  fold_word({a}, {b}) makes {}\n  \
                     partial({a}, {b}) makes {partial}",
                    shown(&word)
                ),
            });
        }
        Ok(())
    }

    /// Checks that other operands have the same result.
    fn same_as(
        &self,
        folder: Folder<'_>,
        law: &'static str,
        whole: &Outcome,
        others: &[Vec<u8>],
    ) -> Checked {
        let operator = folder.operator;
        let other = folder.full(&Outcome::of(self.base.as_deref()), others);
        if *whole == other {
            return Ok(());
        }
        let ways = [
            (self.call(operator, &self.operands), shown(operator, whole)),
            (self.call(operator, others), shown(operator, &other)),
        ];
        Err(Broken { law, shown: differing(&self.stage(operator), ways) })
    }

    /// Names the operator and the base.
    fn stage(&self, operator: &dyn MergeOperator) -> String {
        let base = match &self.base {
            Some(base) => format!("onto the base {}", text::shown(operator.text(), base)),
            None => "onto no base".to_owned(),
        };
        format!("{}, {base}", operator.name())
    }

    fn shown_operands(&self, operator: &dyn MergeOperator, operands: &[Vec<u8>]) -> Vec<String> {
        operands.iter().map(|one| text::shown(operator.text(), one)).collect()
    }

    /// Shows one fold of operands as a call.
    fn call(&self, operator: &dyn MergeOperator, operands: &[Vec<u8>]) -> String {
        let mut call = String::new();
        let shown = self.shown_operands(operator, operands);
        let _ = Grouping::at_once(operands.len()).write(&shown, &mut call);
        call
    }
}

/// Checks that an operand that `check_operand` accepts folds onto nothing.
fn accepted(Folder { operator, key }: Folder<'_>, operand: &[u8]) -> Checked {
    if operator.check_operand(operand).is_err() {
        return Ok(());
    }
    let folded = guarded(|| operator.full(key, None, &[operand], &mut Vec::new()));
    let how = match folded {
        Ok(Full::Fail) => "cannot be folded".to_owned(),
        Ok(_) => return Ok(()),
        Err(panic) => format!("makes full panic ({panic})"),
    };
    let operand = text::shown(operator.text(), operand);
    let shown = format!("{}: the operand {operand} {how}: {REFUSE}", operator.name());
    Err(Broken { law: "accepted", shown })
}

/// Most characters of a call that a message shows.
const LONGEST_CALL: usize = 300;

/// Shows two ways to fold a history, and what a database answers after each.
fn differing(stage: &str, ways: [(String, String); 2]) -> String {
    let [(one, its), (other, others)] = ways;
    let (its, others) = text::apart(its, others);
    let [one, other] = [one, other].map(|call| text::cut(call, LONGEST_CALL));
    format!(
        "{stage}\n  {one}: the database answers {its}\n  {other}: the database answers {others}"
    )
}

fn shown(operator: &dyn MergeOperator, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Value(value) => text::whole(operator.text(), value),
        Outcome::Absent => "that the key is absent".to_owned(),
        Outcome::Failed => "with MergeFailed".to_owned(),
    }
}
