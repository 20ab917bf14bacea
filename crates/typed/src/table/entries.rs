//! The entries of a range of a table.

use std::fmt;
use std::marker::PhantomData;

use foldb::{Iter, Result, Value};

use crate::key::{Key, decode};
use crate::value::{Format, Postcard};

/// The types of a handle, which holds none of their values.
pub(crate) type Types<T> = PhantomData<fn() -> T>;

/// The entries of a range. Each is decoded when it is its turn; one that cannot be decoded is an
/// error of its own, and the others follow.
pub struct Entries<K, V, F = Postcard> {
    entries: Iter,
    types: Types<(K, V, F)>,
}

impl<K, V, F> Entries<K, V, F> {
    pub(super) fn of(entries: Iter) -> Entries<K, V, F> {
        Entries { entries, types: PhantomData }
    }
}

impl<K: Key, V, F: Format<V>> Entries<K, V, F> {
    fn decoded(entry: Result<(Vec<u8>, Value)>) -> Result<(K, V)> {
        let (key, value) = entry?;
        Ok((decode(&key)?, F::decode(value)?))
    }
}

impl<K: Key, V, F: Format<V>> Iterator for Entries<K, V, F> {
    type Item = Result<(K, V)>;

    fn next(&mut self) -> Option<Result<(K, V)>> {
        self.entries.next().map(Self::decoded)
    }
}

impl<K: Key, V, F: Format<V>> DoubleEndedIterator for Entries<K, V, F> {
    fn next_back(&mut self) -> Option<Result<(K, V)>> {
        self.entries.next_back().map(Self::decoded)
    }
}

impl<K, V, F> fmt::Debug for Entries<K, V, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entries").field(&self.entries).finish()
    }
}
