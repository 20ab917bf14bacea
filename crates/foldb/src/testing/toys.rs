//! Merge operators whose operands and values are text, one for each answer an operator can give.
//!
//! The first character of an operand names its operator:
//!
//! | operand | operator | onto a base | without one |
//! | --- | --- | --- | --- |
//! | `+1` `-1` | sum | adds; fails if the base is no number | one sum |
//! | `#1` `#-1` | count | adds; at zero the key is deleted | one sum |
//! | `,x` | join | appends | one longer operand |
//! | `~x` | loner | appends | keeps them apart |
//! | `=x` `!` | set | the value is `x`; the key is deleted | a value; a delete |
//! | `.` | same | changes nothing | one of them |
//! | `*` | faulty | fails | keeps them apart |
//! | `%` | panicky | panics | panics |
//! | `^1` | pick | the operand of this index, whatever that is | keeps them apart |
//! | `?` | not registered | unknown | unknown |

use std::sync::Arc;

use crate::fold::{Full, MergeOperator, Partial, Registry};
use crate::key::OperatorId;

/// Signs of the toys, in the order of their ids from 128 on.
const SIGNS: [char; 9] = ['+', '#', ',', '~', '=', '.', '*', '%', '^'];

/// The id of `?` operands. No operator is registered under it.
pub(crate) const UNREGISTERED: OperatorId = 4000;

/// A toy operator.
#[derive(Debug)]
pub(crate) struct Toy {
    sign: char,
    name: String,
}

/// A registry that knows every toy.
pub(crate) fn registry() -> Arc<Registry> {
    let toys = SIGNS.map(|sign| {
        let name = format!("toy.{}", sign as u32);
        Arc::new(Toy { sign, name }) as Arc<dyn MergeOperator>
    });
    let registry = Registry::new(toys.to_vec());
    for toy in &toys {
        registry.adopt(&registry.next_definition(&**toy)).unwrap();
    }
    Arc::new(registry)
}

/// Returns the operator that an operand is for.
pub(crate) fn operator_of(operand: &str) -> OperatorId {
    let sign = match operand.chars().next() {
        Some('-') => '+',
        Some('!') => '=',
        Some(sign) => sign,
        None => panic!("an operand begins with its operator's sign"),
    };
    match SIGNS.iter().position(|&known| known == sign) {
        Some(index) => 128 + index as OperatorId,
        None if sign == '?' => UNREGISTERED,
        None => panic!("no toy has operands like '{operand}'"),
    }
}

fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

impl Toy {
    fn sum(&self, operands: &[&[u8]]) -> Option<i64> {
        let digits = |operand: &[u8]| match self.sign {
            '#' => number(&operand[1..]),
            _ => number(operand),
        };
        operands.iter().try_fold(0i64, |sum, operand| Some(sum.wrapping_add(digits(operand)?)))
    }
}

impl MergeOperator for Toy {
    fn name(&self) -> &str {
        &self.name
    }

    fn full(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full {
        let last = operands[operands.len() - 1];
        match self.sign {
            '+' | '#' => {
                let start = base.map_or(Some(0), number);
                let (Some(start), Some(sum)) = (start, self.sum(operands)) else {
                    out.extend_from_slice(b"half an answer");
                    return Full::Fail;
                };
                let total = start.wrapping_add(sum);
                if self.sign == '#' && total == 0 {
                    return Full::Delete;
                }
                out.extend_from_slice(total.to_string().as_bytes());
                Full::Value
            }
            ',' | '~' => {
                out.extend_from_slice(base.unwrap_or_default());
                operands.iter().for_each(|operand| out.extend_from_slice(operand));
                Full::Value
            }
            '=' if last == b"!" => Full::Delete,
            '=' => {
                out.extend_from_slice(&last[1..]);
                Full::Value
            }
            '.' => Full::Existing,
            '*' => Full::Fail,
            '%' => panic!("a toy that panics when it is asked"),
            _ => Full::Operand(number(&last[1..]).unwrap() as usize),
        }
    }

    fn partial(&self, _: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        let last = operands[operands.len() - 1];
        match self.sign {
            '+' | '#' => match self.sum(operands) {
                Some(sum) if self.sign == '+' => {
                    out.extend_from_slice(format!("{sum:+}").as_bytes())
                }
                Some(sum) => out.extend_from_slice(format!("#{sum}").as_bytes()),
                None => return Partial::Keep,
            },
            ',' => operands.iter().for_each(|operand| out.extend_from_slice(operand)),
            '=' if last == b"!" => return Partial::Delete,
            '=' => {
                out.extend_from_slice(&last[1..]);
                return Partial::Value;
            }
            '.' => out.push(b'.'),
            '%' => panic!("a toy that panics when it is asked"),
            _ => return Partial::Keep,
        }
        Partial::Operand
    }
}
