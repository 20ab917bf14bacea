//! What a merge operator is and which laws it keeps.

use std::fmt::Debug;

use crate::fold::builtin::{hyperloglog, list, set};

/// Answer of [`MergeOperator::full`]: what the key's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// What was written to the output buffer.
    Value,
    /// The operand of this index, unchanged and uncopied.
    Operand(usize),
    /// The base, unchanged and uncopied. Over nothing: the key is absent.
    Existing,
    /// The key is gone.
    Delete,
    /// These operands cannot be applied; reads of this key fail, the operands are kept.
    Fail,
}

/// Answer of [`MergeOperator::partial`]: what several operands in a row come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partial {
    /// One operand: what was written to the output buffer.
    Operand,
    /// A value, whatever the base: what was written to the output buffer. It ends the chain.
    Value,
    /// The key is gone, whatever the base. It ends the chain.
    Delete,
    /// They do not compose without the base; keep them as they are.
    Keep,
}

/// How large what [`MergeOperator::partial`] writes is, beside what it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// About as large as one of the operands, however many there were: a sum, a maximum.
    Shrinks,
    /// About as large as all operands together: a list.
    Grows,
}

/// How a read-modify-write is expressed as one blind write.
///
/// `db.merge(key, operand)` stores the operand; the operator says later what base and operands
/// come to. Operands are always handed over oldest first.
///
/// # Limits
/// What `full`, `partial` or `upgrade` writes may have
/// [`MAX_VALUE_BYTES`](crate::limits::MAX_VALUE_BYTES). The engine looks at the length after the
/// call: a longer result of `full` is a failed fold, like [`Full::Fail`], a longer one of `partial`
/// counts as [`Partial::Keep`], one of `upgrade` as `false`. The output buffer grows as the
/// operator writes, so an operator that may make much more should answer [`Full::Fail`] before
/// memory runs out.
///
/// # Laws
/// Byte for byte, for every base (or none) and all operands:
/// - stepwise: `full(base, [a, b]) = full(full(base, [a]), [b])`;
/// - partial: `full(base, [partial(a, b)]) = full(base, [a, b])` unless `partial` says
///   [`Partial::Keep`];
/// - word: what `fold_word(a, b)` answers, if anything, is `partial([a, b])`.
///
/// # Example
/// ```
/// use foldb::{Full, MergeOperator, Partial};
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
    /// The name by which the database remembers it: 255 bytes at most, with a dot and without a
    /// colon. Names without a dot are foldb's. An open with another name is refused.
    fn name(&self) -> &str;

    /// Version of the operand format. A database that holds operands of a version that nobody reads
    /// ([`MergeOperator::reads_version`]) refuses to open.
    fn version(&self) -> u32 {
        0
    }

    /// Whether operands that another version wrote can be taken over by
    /// [`MergeOperator::upgrade`]. Values are not rewritten: what the other version made of its
    /// operands must be a base for this one too.
    fn reads_version(&self, _other: u32) -> bool {
        false
    }

    /// Writes to `out` what an operand of version `other` is in this one; `false` if it cannot be
    /// read, and its key then fails to merge. Reads upgrade on the fly, flushes and compactions for
    /// good.
    ///
    /// # Law
    /// `full_of_other(base, [operand]) = full(base, [upgrade(operand)])`, checked by
    /// [`crate::laws::Check::upgrades`].
    fn upgrade(&self, _other: u32, _operand: &[u8], _out: &mut Vec<u8>) -> bool {
        false
    }

    /// Exact parameter bytes (a separator, say), part of the operator's identity.
    fn parameters(&self) -> &[u8] {
        &[]
    }

    /// The value that `operands` (at least one, oldest first) make of `base`. `out` is empty.
    fn full(&self, key: &[u8], base: Option<&[u8]>, operands: &[&[u8]], out: &mut Vec<u8>) -> Full;

    /// What `operands` (at least two, oldest first) come to without a base. `out` is empty.
    fn partial(&self, _key: &[u8], _operands: &[&[u8]], _out: &mut Vec<u8>) -> Partial {
        Partial::Keep
    }

    /// What an accumulator and one more operand come to, both of 8 bytes: `Some` of exactly what
    /// [`MergeOperator::partial`] makes of the two, if that is an operand of 8 bytes again, or
    /// `None`. With it the memtable folds hot keys in place, by one store a merge. It is called
    /// while other writers wait, so it must be quick.
    ///
    /// # Example
    /// ```
    /// let counter = foldb::builtins()[0].instantiate(None)?;
    /// let (two, three) = (2u64.to_le_bytes(), 3u64.to_le_bytes());
    /// assert_eq!(counter.fold_word(two, three), Some(5u64.to_le_bytes()));
    /// # Ok::<(), foldb::Error>(())
    /// ```
    fn fold_word(&self, _accumulator: [u8; 8], _operand: [u8; 8]) -> Option<[u8; 8]> {
        None
    }

    /// Whether `partial` makes operands smaller. The memtable folds those of operators that shrink
    /// whatever their size, those that grow only while they are small.
    fn growth(&self) -> Growth {
        Growth::Grows
    }

    /// Whether an operand is well formed; a malformed one is refused before it is logged.
    ///
    /// # Errors
    /// What was expected, as the end of a sentence: `8 bytes, not 3`.
    fn check_operand(&self, _operand: &[u8]) -> Result<(), String> {
        Ok(())
    }

    /// How people write operands and values of this operator.
    fn text(&self) -> TextForm {
        TextForm::Bytes
    }
}

/// How operands and values of an operator are written as text.
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
    /// One element of a list ([`crate::list::operand`]).
    List,
    /// One member: `+member` or just `member` adds, `-member` removes ([`crate::set::add`]).
    Set,
    /// One element to count ([`crate::hyperloglog::operand`]).
    Sketch,
}

impl TextForm {
    /// The operand that `text` stands for; nothing if it is no number where one is wanted. Where
    /// operands are made of elements, the text is one element.
    ///
    /// # Example
    /// ```
    /// use foldb::{TextForm, set};
    ///
    /// assert_eq!(TextForm::U64.parse(b"1"), Some(1u64.to_le_bytes().to_vec()));
    /// assert_eq!(TextForm::Set.parse(b"-red"), Some(set::remove("red")));
    /// ```
    pub fn parse(self, text: &[u8]) -> Option<Vec<u8>> {
        Some(match self {
            TextForm::Bytes => text.to_vec(),
            TextForm::U64 => number::<u64>(text)?.to_le_bytes().to_vec(),
            TextForm::I64 => number::<i64>(text)?.to_le_bytes().to_vec(),
            TextForm::F64 => number::<f64>(text)?.to_le_bytes().to_vec(),
            TextForm::List => list::operand([text]),
            TextForm::Set => match text {
                [b'-', member @ ..] => set::remove(member),
                [b'+', member @ ..] | member => set::add(member),
            },
            TextForm::Sketch => hyperloglog::operand([text]),
        })
    }
}

fn number<N: std::str::FromStr>(text: &[u8]) -> Option<N> {
    std::str::from_utf8(text).ok()?.parse().ok()
}
