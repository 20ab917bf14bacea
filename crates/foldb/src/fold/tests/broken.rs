//! The law kit finds operators that answer wrongly in a database, within 10 000 rounds, and says
//! what the database would have answered.
//!
//! A kit whose histories had at most six fresh operands missed four of these operators, and showed
//! the others as lines of escaped bytes.

use std::collections::BTreeMap;

use crate::fold::laws::Check;
use crate::fold::{Full, MergeOperator, Partial, TextForm, list, set, top};

/// Folds operands over a base, and without one.
type FullFn = fn(Option<&[u8]>, &[&[u8]]) -> Vec<u8>;
type PartialFn = fn(&[&[u8]]) -> Vec<u8>;

#[derive(Debug)]
struct Broken {
    text: TextForm,
    full: FullFn,
    partial: PartialFn,
}

impl MergeOperator for Broken {
    fn name(&self) -> &str {
        "test.broken"
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, ops: &[&[u8]], out: &mut Vec<u8>) -> Full {
        out.extend((self.full)(base, ops));
        Full::Value
    }

    fn partial(&self, _: &[u8], ops: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        out.extend((self.partial)(ops));
        Partial::Operand
    }

    fn check_operand(&self, operand: &[u8]) -> Result<(), String> {
        let is_one = match self.text {
            TextForm::U64 | TextForm::I64 | TextForm::F64 => operand.len() == 8,
            TextForm::List => list::elements(operand).is_ok(),
            TextForm::Set => {
                set::changes(operand).is_ok_and(|all| all.iter().all(|it| it.0 == b'+'))
            }
            TextForm::Top => top::items(operand).is_ok(),
            _ => true,
        };
        if is_one { Ok(()) } else { Err("well formed".to_owned()) }
    }

    fn text(&self) -> TextForm {
        self.text
    }
}

/// Returns what the kit says of an operator, without the seed.
fn said_of(broken: &Broken) -> String {
    let check = Check::new(Vec::<Vec<u8>>::new()).rounds(10_000);
    let violation = check.run(broken).expect_err("the operator is broken");
    let replayed = check.seed(violation.seed).rounds(1).run(broken).unwrap_err();
    assert_eq!(replayed, violation, "the seed shows the same case");
    let lines = violation.to_string().lines().count();
    assert!(lines <= 3, "{violation}");
    format!("{}: {}", violation.law, violation.case)
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap())
}

fn sum(all: &[&[u8]]) -> u64 {
    all.iter().fold(0, |sum, one| sum.wrapping_add(number(one)))
}

/// Returns the base and the operands as one row.
fn row<'a>(base: Option<&'a [u8]>, operands: &[&'a [u8]]) -> Vec<&'a [u8]> {
    base.into_iter().chain(operands.iter().copied()).collect()
}

/// Returns each item of these pieces with its highest score, in the order in which they came.
fn items<'a>(pieces: &[&'a [u8]]) -> Vec<(i64, &'a [u8])> {
    let mut all: Vec<(i64, &[u8])> = Vec::new();
    for (score, item) in pieces.iter().flat_map(|piece| top::items(piece).unwrap()) {
        match all.iter_mut().find(|(_, own)| *own == item) {
            Some(own) => own.0 = own.0.max(score),
            None => all.push((score, item)),
        }
    }
    all
}

/// Returns the highest of these items.
fn highest(mut items: Vec<(i64, &[u8])>, count: usize) -> Vec<u8> {
    items.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    top::operand(items.into_iter().take(count))
}

/// The database lost the best items as soon as the memtable folded sixteen operands.
#[test]
fn a_top_ten_whose_partial_keeps_the_oldest_ten() {
    let broken = Broken {
        text: TextForm::Top,
        full: |base, operands| highest(items(&row(base, operands)), 10),
        partial: |operands| top::operand(items(operands).into_iter().take(10)),
    };
    assert_eq!(
        said_of(&broken),
        concat!(
            "partial: test.broken, onto no base\n",
            "  full('0 a', '0 \\x00', '0 a\\x00', '0 +', '0 ', '0 \\x2c', '0 aa', '0 a\\x2c', ",
            "'0 b', '0 \\x00\\x00', '0 -'): the database answers '0 ,0 \\x00,0 \\x00\\x00,0 +,0 ",
            "\\x2c,0 -,0 a,0 a\\x00,0 a\\x2c,0 aa'\n",
            "  full(partial('0 a', '0 \\x00', '0 a\\x00', '0 +', '0 ', '0 \\x2c', '0 aa', '0 ",
            "a\\x2c', '0 b', '0 \\x00\\x00', '0 -')): the database answers '0 ,0 \\x00,0 ",
            "\\x00\\x00,0 +,0 \\x2c,0 a,0 a\\x00,0 a\\x2c,0 aa,0 b'",
        )
    );
}

#[test]
fn an_average_without_a_count() {
    const AVERAGE: PartialFn = |all| {
        let mut all = all.iter().map(|one| number(one));
        let first = all.next().unwrap_or_default();
        all.fold(first, u64::midpoint).to_le_bytes().to_vec()
    };
    let broken = Broken {
        text: TextForm::U64,
        full: |base, operands| AVERAGE(&row(base, operands)),
        partial: AVERAGE,
    };
    assert_eq!(
        said_of(&broken),
        concat!(
            "partial: test.broken, onto the base '2'\n",
            "  full('0' 2 times): the database answers '0'\n",
            "  full(partial('0' 2 times)): the database answers '1'",
        )
    );
}

#[test]
fn a_capped_sum_whose_partial_alone_is_capped() {
    let broken = Broken {
        text: TextForm::U64,
        full: |base, operands| sum(&row(base, operands)).to_le_bytes().to_vec(),
        partial: |operands| sum(operands).min(1_000_000).to_le_bytes().to_vec(),
    };
    assert_eq!(
        said_of(&broken),
        concat!(
            "partial: test.broken, onto no base\n",
            "  full('0', '1000001'): the database answers '1000001'\n",
            "  full(partial('0', '1000001')): the database answers '1000000'",
        )
    );
}

fn union(pieces: &[&[u8]], most: usize) -> Vec<u8> {
    let members = pieces.iter().flat_map(|piece| set::members(piece).unwrap());
    let members: std::collections::BTreeSet<_> = members.collect();
    members.into_iter().take(most).flat_map(set::add).collect()
}

#[test]
fn a_union_whose_partial_drops_members_beyond_a_limit() {
    let broken = Broken {
        text: TextForm::Set,
        full: |base, operands| union(&row(base, operands), usize::MAX),
        partial: |operands| union(operands, 20),
    };
    assert_eq!(
        said_of(&broken),
        concat!(
            "partial: test.broken, onto no base\n",
            "  full('a', '\\xff', '\\x00\\x00', 'a\\x2c', 'aa', '+', '-', 'b', '\\x00\\x2c', ",
            "'\\x2c', '\\xff\\x00', '\\x00a', '\\x00', '\\x00b', 'b\\x00', '-a', '\\x2ca', ",
            "'+\\x00', '\\x00-', 'a\\x00', '\\e'): the database answers ",
            "…\\x2c,aa,b,b\\x00,\\xff,\\xff\\x00'\n",
            "  full(partial('a', '\\xff', '\\x00\\x00', 'a\\x2c', 'aa', '+', '-', 'b', ",
            "'\\x00\\x2c', '\\x2c', '\\xff\\x00', '\\x00a', '\\x00', '\\x00b', 'b\\x00', '-a', ",
            "'\\x2ca', '+\\x00', '\\x00-', 'a\\x00', '\\e')): the database answers ",
            "…\\x2c,aa,b,b\\x00,\\xff'",
        )
    );
}

fn last<'a>(pieces: &[&'a [u8]], count: usize) -> Vec<&'a [u8]> {
    let all: Vec<_> = pieces.iter().flat_map(|piece| list::elements(piece).unwrap()).collect();
    all[all.len().saturating_sub(count)..].to_vec()
}

/// No history of single elements is so long: only results of folds reach the limit.
#[test]
fn a_list_whose_partial_drops_elements_beyond_a_hundred() {
    let broken = Broken {
        text: TextForm::List,
        full: |base, operands| list::operand(last(&row(base, operands), usize::MAX)),
        partial: |operands| list::operand(last(operands, 100)),
    };
    let said = said_of(&broken);
    assert!(said.starts_with("partial: test.broken, onto no base\n  full('\\e,\\e,"), "{said}");
    assert!(said.contains("… 2 times): the database answers …\\e,"), "{said}");
}

#[test]
fn a_last_three_whose_partial_reverses() {
    let broken = Broken {
        text: TextForm::List,
        full: |base, operands| list::operand(last(&row(base, operands), 3)),
        partial: |operands| list::operand(last(operands, 3).into_iter().rev()),
    };
    assert_eq!(
        said_of(&broken),
        concat!(
            "partial: test.broken, onto no base\n",
            "  full('\\e', 'a'): the database answers '\\e,a'\n",
            "  full(partial('\\e', 'a')): the database answers 'a,\\e'",
        )
    );
}

#[test]
fn an_append_whose_partial_loses_the_delimiter() {
    let broken = Broken {
        text: TextForm::Bytes,
        full: |base, operands| row(base, operands).join(&b','),
        partial: |operands| operands.concat(),
    };
    assert_eq!(
        said_of(&broken),
        concat!(
            "partial: test.broken, onto no base\n",
            "  full('' 2 times): the database answers ','\n",
            "  full(partial('' 2 times)): the database answers ''",
        )
    );
}

#[test]
fn a_maximum_whose_partial_compares_without_the_sign() {
    let broken = Broken {
        text: TextForm::I64,
        full: |base, operands| {
            let all = row(base, operands);
            all.into_iter().max_by_key(|one| number(one).cast_signed()).unwrap().to_vec()
        },
        partial: |operands| operands.iter().max_by_key(|one| number(one)).unwrap().to_vec(),
    };
    assert_eq!(
        said_of(&broken),
        concat!(
            "partial: test.broken, onto no base\n",
            "  full('0', '-1'): the database answers '0'\n",
            "  full(partial('0', '-1')): the database answers '-1'",
        )
    );
}

#[test]
fn a_counter_that_begins_at_one_and_whose_partial_begins_so_too() {
    const FULL: FullFn =
        |base, operands| base.map_or(1, number).wrapping_add(sum(operands)).to_le_bytes().to_vec();
    let broken =
        Broken { text: TextForm::U64, full: FULL, partial: |operands| FULL(None, operands) };
    assert_eq!(
        said_of(&broken),
        concat!(
            "partial: test.broken, onto no base\n",
            "  full('0' 2 times): the database answers '1'\n",
            "  full(partial('0' 2 times)): the database answers '2'",
        )
    );
}

/// The result of a partial fold carries a mark, and a second partial fold takes the mark for data.
#[test]
fn a_partial_that_does_not_read_what_it_wrote() {
    fn unmarked(one: &[u8]) -> &[u8] {
        one.strip_prefix(b"folded:").unwrap_or(one)
    }
    let broken = Broken {
        text: TextForm::Bytes,
        full: |base, operands| {
            let operands = operands.iter().map(|one| unmarked(one));
            base.into_iter().chain(operands).collect::<Vec<_>>().concat()
        },
        partial: |operands| [b"folded:", &operands.concat()[..]].concat(),
    };
    assert_eq!(
        said_of(&broken),
        concat!(
            "partial: test.broken, onto no base\n",
            "  full('', 'folded:'): the database answers ''\n",
            "  full(partial('', 'folded:')): the database answers 'folded:'",
        )
    );
}

/// The memtable folds sixteen operands, and a flush may meet more.
#[test]
fn a_sum_that_fails_above_sixteen_operands() {
    let broken = Broken {
        text: TextForm::U64,
        full: |base, operands| sum(&row(base, operands)).to_le_bytes().to_vec(),
        partial: |operands| sum(&operands[..operands.len().min(16)]).to_le_bytes().to_vec(),
    };
    assert_eq!(
        said_of(&broken),
        concat!(
            "partial: test.broken, onto no base\n",
            "  full('0' 16 times, '1'): the database answers '1'\n",
            "  full(partial('0' 16 times, '1')): the database answers '0'",
        )
    );
}

/// Words, the most frequent first. The value does not tell how often each came.
#[test]
fn a_result_that_differs_as_a_base() {
    fn counts<'a>(words: impl Iterator<Item = &'a [u8]>) -> BTreeMap<&'a [u8], usize> {
        let mut counts = BTreeMap::new();
        words.for_each(|word| *counts.entry(word).or_default() += 1);
        counts
    }
    let broken = Broken {
        text: TextForm::List,
        // A word that came twice is one element of the value.
        full: |base, operands| {
            let words = row(base, operands);
            let words = words.iter().flat_map(|piece| list::elements(piece).unwrap());
            let mut counts: Vec<_> = counts(words).into_iter().collect();
            counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            list::operand(counts.into_iter().map(|(word, _)| word))
        },
        partial: |operands| operands.concat(),
    };
    assert_eq!(
        said_of(&broken),
        concat!(
            "stepwise: test.broken, onto the base 'b'\n",
            "  full('b', '\\e'): the database answers 'b,\\e'\n",
            "  full('b') then full('\\e'): the database answers '\\e,b'",
        )
    );
}
