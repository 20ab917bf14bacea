//! The merge operators that tests use, and what each does to a value.

use std::borrow::Cow;

/// What a key holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// A value.
    Value(Vec<u8>),
    /// A merge that failed: a read of the key fails.
    Failed,
}

impl Cell {
    /// Returns the value.
    ///
    /// # Panics
    /// When the merge failed.
    pub fn value(&self) -> &Vec<u8> {
        match self {
            Cell::Value(value) => value,
            Cell::Failed => panic!("the merge of a key fails"),
        }
    }
}

/// A merge operator: one of the engine, or one that tests define.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// Adds numbers of eight bytes.
    Add,
    /// Keeps the greatest bytes.
    Max,
    /// Keeps the least bytes.
    Min,
    /// Appends the operand after this byte.
    Append(u8),
    /// Keeps the newest bytes.
    Put,
    /// Adds numbers of eight bytes. The key goes when the sum is 0.
    References,
    /// Keeps the newest bytes. An empty operand deletes the key.
    Register,
    /// Like [`Operator::Register`], but the operand [`Operator::PASS`] changes nothing.
    Replace,
    /// Appends the operand after a comma.
    OwnAppend,
    /// Appends the operand after a comma. Its operands do not fold without a base.
    WholeAppend,
}

impl Operator {
    /// The operand of [`Operator::Replace`] that changes nothing.
    pub const PASS: &[u8] = b"?";

    const NAMED: [Operator; 9] = [
        Operator::Add,
        Operator::Max,
        Operator::Min,
        Operator::Put,
        Operator::References,
        Operator::Register,
        Operator::Replace,
        Operator::OwnAppend,
        Operator::WholeAppend,
    ];

    /// Returns the operator's name in the engine.
    pub fn name(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Operator::Add => "uint64add",
            Operator::Max => "max",
            Operator::Min => "min",
            Operator::Append(byte) => {
                return Cow::Owned(format!("stringappend:{}", char::from(byte)));
            }
            Operator::Put => "put",
            Operator::References => "test.references",
            Operator::Register => "test.register",
            Operator::Replace => "stress.replace",
            Operator::OwnAppend => "stress.append",
            Operator::WholeAppend => "stress.whole-append",
        })
    }

    /// Returns the operator of this name, if tests use one.
    pub fn of_name(name: &str) -> Option<Operator> {
        match name.strip_prefix("stringappend:").map(str::as_bytes) {
            Some([byte]) => Some(Operator::Append(*byte)),
            Some(_) => None,
            None => Operator::NAMED.into_iter().find(|operator| operator.name() == name),
        }
    }

    /// Returns whether operands and values are numbers of eight bytes.
    pub fn is_number(self) -> bool {
        matches!(self, Operator::Add | Operator::References)
    }

    /// Returns whether two operands give the value, whatever the base.
    pub(crate) fn is_absolute(self) -> bool {
        matches!(self, Operator::Put | Operator::Register)
    }

    /// Merges an operand into a value, or into `None` for a missing key. Returns what the key then
    /// holds; `None` if it is gone.
    ///
    /// # Panics
    /// When the operand of an operator for numbers is none: the engine refuses it.
    pub fn merge(self, base: Option<&[u8]>, operand: &[u8]) -> Option<Cell> {
        let appended = |byte: u8| match base {
            None => operand.to_vec(),
            Some(base) => [base, operand].join(&byte),
        };
        Some(Cell::Value(match self {
            Operator::Add | Operator::References => {
                let number = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
                let Some(before) = base.map_or(Some(0), number) else { return Some(Cell::Failed) };
                let sum = before.wrapping_add(number(operand).expect("an operand of 8 bytes"));
                if self == Operator::References && sum == 0 {
                    return None;
                }
                sum.to_le_bytes().to_vec()
            }
            Operator::Max => base.unwrap_or_default().max(operand).to_vec(),
            Operator::Min => base.unwrap_or(operand).min(operand).to_vec(),
            Operator::Append(byte) => appended(byte),
            Operator::OwnAppend | Operator::WholeAppend => appended(b','),
            Operator::Replace if operand == Operator::PASS => base?.to_vec(),
            Operator::Register | Operator::Replace if operand.is_empty() => return None,
            Operator::Put | Operator::Register | Operator::Replace => operand.to_vec(),
        }))
    }
}
