//! The trait of merge operators, and the laws that they keep.

use std::fmt::Debug;

use crate::fold::builtin::{histogram, hyperloglog, list, set, top};

/// The answer of [`MergeOperator::full`]: the key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The value is in the output buffer.
    Value,
    /// The value is the operand of this index, unchanged and not copied.
    Operand(usize),
    /// The value is the base, unchanged and not copied. Without a base the key is absent.
    Existing,
    /// The key is deleted.
    Delete,
    /// The operands cannot be applied. Reads of this key fail, and the operands are kept.
    Fail,
}

/// The answer of [`MergeOperator::partial`]: the result of several operands in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partial {
    /// One operand, which is in the output buffer.
    Operand,
    /// A value, whatever the base: it is in the output buffer. It ends the chain.
    Value,
    /// A delete, whatever the base. It ends the chain.
    Delete,
    /// The operands do not compose without the base. The engine keeps them unchanged.
    Keep,
}

/// How large the output of [`MergeOperator::partial`] is, compared with its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// About as large as one of the operands, however many there were: a sum, a maximum.
    Shrinks,
    /// About as large as all operands together: a list.
    Grows,
}

/// Expresses a read-modify-write as one blind write.
///
/// `db.merge(key, operand)` stores the operand. Later the operator computes the value from the base
/// and the operands. The engine always passes operands oldest first.
///
/// # Limits
/// The output of `full`, `partial` or `upgrade` may have up to
/// [`MAX_VALUE_BYTES`](crate::limits::MAX_VALUE_BYTES). The engine checks the length after the
/// call: a longer result of `full` is a failed fold, like [`Full::Fail`]. A longer result of
/// `partial` counts as [`Partial::Keep`], a longer one of `upgrade` as `false`. The output buffer
/// grows as the operator writes, so an operator that may write much more should answer
/// [`Full::Fail`] before memory runs out.
///
/// # Calls of the database
/// An operator may run while a writer holds its lock, on any thread. A call of the database inside
/// it should be the exception: other writers wait for it. A read of one key (`get`) always works. A
/// call that would wait for the operator's own return fails with [`crate::ErrorKind::Reentrant`],
/// and so does each read through a snapshot that could not be taken there. Never wait for another
/// thread that calls the database: the engine cannot see that wait.
///
/// # Laws
/// Byte for byte, for every base (or none) and all operands:
/// - stepwise: `full(base, [a, b]) = full(full(base, [a]), [b])`;
/// - partial: `full(base, [partial(a, b)]) = full(base, [a, b])` unless `partial` says
///   [`Partial::Keep`];
/// - word: if `fold_word(a, b)` returns an operand, it equals `partial([a, b])`.
///
/// # Example
/// ```
/// use foldb::operators::{Full, MergeOperator, Partial};
///
/// /// Keeps the longest operand.
/// #[derive(Debug)]
/// struct Longest;
///
/// impl MergeOperator for Longest {
///     fn name(&self) -> &str { "example.longest" }
///     fn full(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]], _: &mut Vec<u8>) -> Full {
///         let mut best = (base.map_or(0, <[u8]>::len), Full::Existing);
///         for (i, operand) in operands.iter().enumerate() {
///             if base.is_none() && i == 0 || operand.len() > best.0 {
///                 best = (operand.len(), Full::Operand(i));
///             }
///         }
///         best.1
///     }
/// }
/// let mut out = Vec::new();
/// assert_eq!(Longest.full(b"key", Some(b"abc"), &[b"ab", b"abcd"], &mut out), Full::Operand(1));
/// ```
pub trait MergeOperator: Debug + Send + Sync {
    /// Returns the name under which the database remembers the operator. It has at most 255 bytes,
    /// a dot and no colon: names without a dot are foldb's. If a name breaks these rules, the open
    /// fails.
    fn name(&self) -> &str;

    /// Returns the version of the operand format. A database refuses to open if it holds operands
    /// of a version that no registered operator reads ([`MergeOperator::reads_version`]).
    fn version(&self) -> u32 {
        0
    }

    /// Returns whether [`MergeOperator::upgrade`] reads operands of another version. The engine
    /// does not rewrite values: a value that the other version made must be a valid base for this
    /// version.
    fn reads_version(&self, _other: u32) -> bool {
        false
    }

    /// Upgrades an operand of version `other`: writes it to `out` in this version's format. Returns
    /// `false` if the operand cannot be read; reads of its key then fail. A read upgrades operands
    /// in memory; flushes and compactions store the upgraded ones.
    ///
    /// # Law
    /// `full_of_other(base, [operand]) = full(base, [upgrade(operand)])`, checked by
    /// [`crate::operators::laws::Check::upgrades`].
    fn upgrade(&self, _other: u32, _operand: &[u8], _out: &mut Vec<u8>) -> bool {
        false
    }

    /// Returns the exact parameter bytes (a separator, say). They are part of the operator's
    /// identity.
    fn parameters(&self) -> &[u8] {
        &[]
    }

    /// Folds `operands` (at least one, oldest first) over `base`. `out` is empty at the call. If
    /// the comparator calls different bytes equal, `key` is any spelling of the key.
    fn full(&self, key: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full;

    /// Folds `operands` (at least two, oldest first) without a base. `out` is empty at the call.
    fn partial(&self, _key: &[u8], _operands: &[&[u8]], _out: &mut Vec<u8>) -> Partial {
        Partial::Keep
    }

    /// Folds an accumulator and one more operand, both of 8 bytes. Returns exactly what
    /// [`MergeOperator::partial`] makes of the two, or `None` if that is not an operand of 8 bytes.
    /// The memtable uses this method to fold operands in place, with one atomic store for each
    /// merge. Other writers wait during the call, so it must be quick.
    ///
    /// # Example
    /// ```
    /// let counter = foldb::operators::builtins()[0].instantiate(None)?;
    /// let (two, three) = (2u64.to_le_bytes(), 3u64.to_le_bytes());
    /// assert_eq!(counter.fold_word(two, three), Some(5u64.to_le_bytes()));
    /// # Ok::<(), foldb::Error>(())
    /// ```
    fn fold_word(&self, _accumulator: [u8; 8], _operand: [u8; 8]) -> Option<[u8; 8]> {
        None
    }

    /// Returns whether `partial` makes operands smaller. The memtable folds operands that shrink at
    /// any size, and operands that grow only while they are small.
    fn growth(&self) -> Growth {
        Growth::Grows
    }

    /// Checks whether an operand is well formed. The engine refuses a malformed operand before it
    /// logs the write.
    ///
    /// # Errors
    /// Text that completes the sentence "an operand must be …", such as `8 bytes, not 3`.
    fn check_operand(&self, _operand: &[u8]) -> Result<(), String> {
        Ok(())
    }

    /// Returns the text form of this operator's operands and values.
    fn text(&self) -> TextForm {
        TextForm::Bytes
    }
}

/// The text form of an operator's operands and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// The bytes themselves.
    Bytes,
    /// An unsigned decimal; 8 bytes little-endian.
    U64,
    /// A signed decimal; 8 bytes little-endian.
    I64,
    /// A decimal fraction; 8 bytes little-endian IEEE 754.
    F64,
    /// One element of a list ([`crate::operators::list::operand`]).
    List,
    /// One member: `+member` or just `member` adds, `-member` removes
    /// ([`crate::operators::set::add`]).
    Set,
    /// One element to count ([`crate::operators::hyperloglog::operand`]).
    Sketch,
    /// One sample, a signed decimal ([`crate::operators::stats::operand`]).
    Stats,
    /// A score, a space and an item ([`crate::operators::top::operand`]).
    Top,
    /// One sample, a finite decimal fraction ([`crate::operators::histogram::operand`]).
    Histogram,
}

impl TextForm {
    /// Parses an operand from text; `None` if the form has a number and the text has none. Where
    /// operands are made of elements, the text is one element.
    ///
    /// # Example
    /// ```
    /// use foldb::operators::{TextForm, set, top};
    ///
    /// assert_eq!(TextForm::U64.parse(b"1"), Some(1u64.to_le_bytes().to_vec()));
    /// assert_eq!(TextForm::Set.parse(b"-red"), Some(set::remove("red")));
    /// assert_eq!(TextForm::Top.parse(b"7 ada"), Some(top::operand([(7, "ada")])));
    /// ```
    pub fn parse(self, text: &[u8]) -> Option<Vec<u8>> {
        Some(match self {
            TextForm::Bytes => text.to_vec(),
            TextForm::U64 => number::<u64>(text)?.to_le_bytes().to_vec(),
            // The form of one sample of `stats` is that of a number.
            TextForm::I64 | TextForm::Stats => number::<i64>(text)?.to_le_bytes().to_vec(),
            TextForm::F64 => number::<f64>(text)?.to_le_bytes().to_vec(),
            TextForm::List => list::operand([text]),
            TextForm::Set => match text {
                [b'-', member @ ..] => set::remove(member),
                [b'+', member @ ..] | member => set::add(member),
            },
            TextForm::Sketch => hyperloglog::operand([text]),
            TextForm::Top => {
                let space = text.iter().position(|byte| *byte == b' ')?;
                top::operand([(number(&text[..space])?, &text[space + 1..])])
            }
            TextForm::Histogram => {
                histogram::operand([number(text).filter(|sample: &f64| sample.is_finite())?])
            }
        })
    }
}

fn number<N: std::str::FromStr>(text: &[u8]) -> Option<N> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
