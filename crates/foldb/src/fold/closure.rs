//! A merge operator made of a closure.

use std::fmt;

use crate::fold::operator::{Full, MergeOperator};

/// Makes a merge operator of a closure that folds all operands of a key at once.
///
/// The closure gets the value below the operands, if there is one, and the operands, oldest first.
/// It returns the new value, or `None` if it cannot read an operand or the value. Reads of that key
/// then fail, and the engine keeps all operands. The same input must always give the same answer.
/// The name must contain a dot. The database stores the name, so every open needs an operator of
/// this name.
///
/// The engine keeps the operands apart until they meet their value. An operator that can fold
/// operands among themselves implements [`MergeOperator`] and its `partial` method instead.
///
/// # Example
/// ```
/// # let dir = tempfile::tempdir().unwrap();
/// use foldb::operators::merge_fn;
/// use foldb::{Db, Options};
///
/// // Keeps the three longest words.
/// let longest = merge_fn("app.longest", |base, operands| {
///     let base = std::str::from_utf8(base.unwrap_or_default()).ok()?;
///     let mut words: Vec<&str> = base.split_terminator(' ').collect();
///     for operand in operands {
///         words.push(std::str::from_utf8(operand).ok()?);
///     }
///     words.sort_by_key(|word| std::cmp::Reverse(word.len()));
///     words.truncate(3);
///     Some(words.join(" ").into_bytes())
/// });
/// let options = Options { create_if_missing: true, ..Options::default() }.operator(longest);
/// let db = Db::open(dir.path().join("db"), options)?;
/// for word in ["a", "merge", "is", "one", "blind", "write"] {
///     db.merge("words", word)?;
/// }
/// assert_eq!(db.get("words")?.unwrap(), b"merge blind write");
/// # Ok::<(), foldb::Error>(())
/// ```
pub fn merge_fn<F>(name: impl Into<String>, fold: F) -> impl MergeOperator
where
    F: Fn(Option<&[u8]>, &[&[u8]]) -> Option<Vec<u8>> + Send + Sync,
{
    Closure { name: name.into(), fold }
}

struct Closure<F> {
    name: String,
    fold: F,
}

impl<F> fmt::Debug for Closure<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "merge_fn({:?})", self.name)
    }
}

impl<F> MergeOperator for Closure<F>
where
    F: Fn(Option<&[u8]>, &[&[u8]]) -> Option<Vec<u8>> + Send + Sync,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn full(
        &self,
        _key: &[u8],
        base: Option<&[u8]>,
        operands: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Full {
        match (self.fold)(base, operands) {
            Some(value) => {
                out.extend_from_slice(&value);
                Full::Value
            }
            None => Full::Fail,
        }
    }
}
