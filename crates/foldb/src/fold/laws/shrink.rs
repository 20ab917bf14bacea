//! Makes a failing case small: the fewest operands, the plainest grouping, the shortest bytes.

use crate::fold::builtin::{list, set, top};
use crate::fold::laws::case::{Broken, Case};
use crate::fold::operator::{MergeOperator, TextForm};

/// Most cases that a shrink tries.
const MOST_TRIES: usize = 4000;

/// Returns the smallest failing case that it finds. `broken` is what `fails` says of `case`.
pub(super) fn smallest(
    operator: &dyn MergeOperator,
    mut case: Case,
    mut broken: Broken,
    fails: impl Fn(&Case) -> Option<Broken>,
) -> Broken {
    let mut tries = 0;
    while tries < MOST_TRIES {
        let smaller = candidates(operator, &case).take(MOST_TRIES - tries).find_map(|candidate| {
            tries += 1;
            let found = fails(&candidate).filter(|found| found.is_like(&broken))?;
            Some((candidate, found))
        });
        let Some(smaller) = smaller else { break };
        (case, broken) = smaller;
    }
    broken
}

/// Returns cases that are smaller by one step, the largest steps first.
fn candidates<'a>(
    operator: &'a dyn MergeOperator,
    case: &'a Case,
) -> impl Iterator<Item = Case> + 'a {
    let without_base = Case { base: None, ..case.clone() };
    let without_base = case.base.is_some().then_some(without_base);
    let plainer = case.grouping.plainer().into_iter();
    let plainer = plainer.map(|grouping| Case { grouping, ..case.clone() });
    fewer(case).chain(without_base).chain(plainer).chain(shorter(operator, case))
}

/// Returns the case without some neighbouring operands.
fn fewer(case: &Case) -> impl Iterator<Item = Case> + '_ {
    let count = case.operands.len();
    let halves = std::iter::successors(Some(count / 2), |size| Some(size / 2));
    let sizes = halves.take_while(|size| *size > 0).chain((count == 1).then_some(1));
    let ranges = sizes.flat_map(move |size| {
        (0..=count - size).step_by(size).map(move |first| (first, first + size))
    });
    ranges.map(|(first, last)| {
        let mut smaller = Case { grouping: case.grouping.without(first, last), ..case.clone() };
        smaller.operands.drain(first..last);
        smaller
    })
}

/// Returns the case with plainer bytes in place of all equal operands, one operand or the base.
fn shorter<'a>(operator: &'a dyn MergeOperator, case: &'a Case) -> impl Iterator<Item = Case> + 'a {
    let plainer = move |bytes: &[u8]| {
        let is_operand = operator.check_operand(bytes).is_ok();
        let all = plainer(operator.text(), bytes).into_iter();
        all.filter(move |one| is_operand && operator.check_operand(one).is_ok())
    };
    let operands = case.operands.iter().flat_map(move |old| {
        plainer(old).map(move |new| {
            let mut smaller = case.clone();
            smaller
                .operands
                .iter_mut()
                .filter(|one| *one == old)
                .for_each(|one| *one = new.clone());
            smaller
        })
    });
    let one = case.operands.iter().enumerate().flat_map(move |(index, old)| {
        plainer(old).map(move |new| {
            let mut smaller = case.clone();
            smaller.operands[index] = new;
            smaller
        })
    });
    let base = case
        .base
        .iter()
        .flat_map(move |old| plainer(old).map(|new| Case { base: Some(new), ..case.clone() }));
    base.chain(operands).chain(one)
}

/// Returns bytes that are plainer by one step. Each is shorter, or as long and lower.
fn plainer(form: TextForm, bytes: &[u8]) -> Vec<Vec<u8>> {
    let numbers = match (form, <[u8; 8]>::try_from(bytes)) {
        (TextForm::U64, Ok(word)) => plainer_numbers(u64::from_le_bytes(word).into()),
        (TextForm::I64 | TextForm::Stats, Ok(word)) => {
            plainer_numbers(i64::from_le_bytes(word).into())
        }
        (TextForm::F64, Ok(word)) => {
            let number = f64::from_le_bytes(word);
            return [0.0, 1.0, number.trunc()]
                .into_iter()
                .filter(|one| one.abs() < number.abs())
                .map(|one| one.to_le_bytes().to_vec())
                .collect();
        }
        _ => Vec::new(),
    };
    if !numbers.is_empty() || matches!(form, TextForm::U64 | TextForm::I64) {
        return numbers;
    }
    let mut all = with_fewer_elements(form, bytes);
    match form {
        TextForm::Bytes => all.extend(plainer_bytes(bytes)),
        _ => all.extend(with_fewer_bytes(bytes)),
    }
    all
}

/// Returns numbers nearer to 0. A negative number may become positive.
fn plainer_numbers(number: i128) -> Vec<Vec<u8>> {
    // Half as far, then nearer by a quarter, an eighth, …, at last by 1.
    let by_parts = (1..64).map(|part| number - number / (1 << part));
    let toward = number - number.signum();
    let nearer = [0, 1, -number].into_iter().chain(by_parts).chain([toward]).filter(|nearer| {
        let cost = |number: i128| (number.unsigned_abs(), number < 0);
        let fits = *nearer <= i64::MAX.into() || number > i64::MAX.into();
        cost(*nearer) < cost(number) && (number < 0 || *nearer >= 0) && fits
    });
    // Both types have these bytes for numbers in their ranges.
    nearer.map(|nearer| (nearer as u64).to_le_bytes().to_vec()).collect()
}

/// Returns the bytes without each run of half, a quarter, … of them.
fn with_fewer_bytes(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    let len = bytes.len();
    let halves = std::iter::successors(Some(len), |size| Some(size / 2));
    halves.take_while(|size| *size > 0).flat_map(move |size| {
        (0..=len - size).step_by(size).map(move |at| [&bytes[..at], &bytes[at + size..]].concat())
    })
}

/// Returns a list, a set or items without one of their elements, or with a plainer element.
fn with_fewer_elements(form: TextForm, bytes: &[u8]) -> Vec<Vec<u8>> {
    match form {
        TextForm::List => {
            let elements = list::elements(bytes).unwrap_or_default();
            let elements = elements.into_iter().map(<[u8]>::to_vec).collect();
            steps(elements, |element| plainer_bytes(element)).map(list::operand).collect()
        }
        TextForm::Set => {
            let changes = set::changes(bytes).unwrap_or_default();
            let changes = changes.into_iter().map(|(sign, one)| (sign, one.to_vec())).collect();
            let plainer = |(sign, member): &(u8, Vec<u8>)| {
                plainer_bytes(member).into_iter().map(|plainer| (*sign, plainer)).collect()
            };
            let set_of = |changes: Vec<(u8, Vec<u8>)>| {
                let one = |(sign, member)| match sign {
                    b'-' => set::remove(member),
                    _ => set::add(member),
                };
                changes.into_iter().flat_map(one).collect()
            };
            steps(changes, plainer).map(set_of).collect()
        }
        TextForm::Top => {
            let items = top::items(bytes).unwrap_or_default();
            let items = items.into_iter().map(|(score, item)| (score, item.to_vec())).collect();
            let plainer = |(score, item): &(i64, Vec<u8>)| {
                let shorter = plainer_bytes(item).into_iter().map(|plainer| (*score, plainer));
                let nearer = |one: &i64| one.unsigned_abs() < score.unsigned_abs();
                let scores = [0, 1, score / 2].into_iter().filter(nearer);
                shorter.chain(scores.map(|score| (score, item.clone()))).collect()
            };
            steps(items, plainer).map(top::operand).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the elements without one of them, and with a plainer one in its place.
fn steps<T: Clone>(
    elements: Vec<T>,
    plainer: impl Fn(&T) -> Vec<T>,
) -> impl Iterator<Item = Vec<T>> {
    (0..elements.len()).flat_map(move |at| {
        let replaced = plainer(&elements[at]).into_iter().map(|plainer| {
            let mut all = elements.clone();
            all[at] = plainer;
            all
        });
        let without = [&elements[..at], &elements[at + 1..]].concat();
        std::iter::once(without).chain(replaced).collect::<Vec<_>>()
    })
}

/// Returns shorter bytes, and equally long ones with `a` or 0 in place of a greater byte.
fn plainer_bytes(bytes: &[u8]) -> Vec<Vec<u8>> {
    let lower = |at: usize| {
        [b'a', 0].into_iter().filter(move |new| *new < bytes[at]).map(move |new| {
            let mut lower = bytes.to_vec();
            lower[at] = new;
            lower
        })
    };
    let greater = (0..bytes.len()).filter(|at| bytes[*at] != b'a');
    with_fewer_bytes(bytes).chain(greater.flat_map(lower)).collect()
}
